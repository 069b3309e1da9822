"""Settings of Warp."""

import kc as _kc

LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40


class _Config:
    """Settings of Warp, which may be set and read. kc follows two: with `enable_cpu_blocks` blocks have as many threads as launches say, and without `use_gpus` a
    program that names a GPU runs on the processor."""

    version = f"kc {_kc.__version__}"
    mode = "release"
    quiet = verbose = print_launches = verify_fp = verify_cuda = verify_autograd_array_access = False
    enable_cpu_blocks = track_memory = False
    #: kc's own: whether what a program wants on a GPU runs there.
    use_gpus = True
    enable_backward = cache_kernels = True
    kernel_cache_dir = None
    log_level = LOG_INFO
    deterministic = deterministic_max_records = 0


config = _Config()
