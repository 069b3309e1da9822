"""PTX that a program loads by itself through NVIDIA's driver: grids of any size, and blocks of another size than it was made for.
`KC` names the `kc` that compiles it."""

import ctypes
import os
import subprocess

import numpy as np
import pytest
import torch

PROGRAM = """
import warp as wp


@wp.kernel
def scaled(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i]


@wp.kernel
def centred(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    mean = wp.tile_sum(wp.tile(v))[0] / float(wp.block_dim())
    y[i] = v - mean
"""

REFUSED = 1  # CUDA_ERROR_INVALID_VALUE


class Module:
    def __init__(self, folder, *options):
        (folder / "program.py").write_text(PROGRAM)
        command = [os.environ.get("KC", "target/release/kc"), "compile", folder / "program.py", "--emit", "ptx", "--arch", "sm_75", "-o", folder, "-q"]
        subprocess.run([*command, *options], check=True)
        self.driver, self.module = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        # PyTorch makes the context.
        torch.zeros(1, device="cuda")
        assert self.driver.cuModuleLoadData(ctypes.byref(self.module), (folder / "program.ptx").read_bytes() + b"\0") == 0

    def launch(self, kernel, tasks, grid, block, *arguments):
        """The driver's answer; `tasks` of a kernel of threads are blocks."""
        function = ctypes.c_void_p()
        assert self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, f"{kernel}_cuda_kernel_forward".encode()) == 0
        bounds = np.array([tasks, 1, 1, 1], "<u4").tobytes() + np.array(tasks, "<u8").tobytes()
        values = [ctypes.create_string_buffer(value, len(value)) for value in [bounds, *arguments]]
        places = (ctypes.c_void_p * len(values))(*(ctypes.cast(value, ctypes.c_void_p) for value in values))
        answer = self.driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, None, places, None)
        assert self.driver.cuCtxSynchronize() == 0
        return answer


def descriptor(tensor):
    numbers = np.array([len(tensor), 0, 0, 0, 4, 0, 0, 0, 1, 0], "<i4")
    return np.array([tensor.data_ptr(), 0], "<u8").tobytes() + numbers.tobytes()


@pytest.mark.parametrize("grid, block", [(1, 32), (7, 96), (300, 256), (4000, 1024)])
def test_any_grid_does_the_whole_launch(tmp_path, grid, block):
    x = torch.rand(100_003, device="cuda")
    y = torch.zeros_like(x)
    assert Module(tmp_path).launch("scaled", len(x), grid, block, np.float32(3).tobytes(), descriptor(x), descriptor(y)) == 0
    assert torch.equal(y, 3 * x)


def test_a_kernel_of_threads_is_for_one_size_of_blocks(tmp_path):
    module = Module(tmp_path, "--block-dim", "64", "--no-backward")
    x = torch.rand(640, device="cuda")
    y = torch.zeros_like(x)
    for block in (32, 128):
        assert module.launch("centred", 10, 10, block, descriptor(x), descriptor(y)) == REFUSED
        assert not y.any()
    assert module.launch("centred", 10, 10, 64, descriptor(x), descriptor(y)) == 0
    assert torch.allclose(y, x - x.view(10, 64).mean(1).repeat_interleave(64), atol=1e-6)
