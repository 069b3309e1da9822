"""Does NVIDIA's compiler take what `kc.bench export` writes, and does upstream's static checker?

    python -m kc.bench export --all examples/kernelbench -o out/export
    python3 benches/kernelbench_export.py out/export [--upstream CHECKOUT] [--arch sm_75,sm_90]

NVRTC compiles the CUDA text of each file for each architecture: kernels, and the functions of the
host that launch them, with a few declarations in the place of PyTorch's headers; those functions count as the device's. With a checkout of
KernelBench its `kernel_static_checker.py` judges each file as float32 in CUDA. The exit status is 1
where a file is refused.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import importlib.util
import pathlib
import sys

from cuda_sweep import Nvrtc, tool

#: What the functions of the host need of PyTorch and of C++.
_HEADERS = {
    "torch/extension.h": """
typedef long long int64_t;
typedef unsigned long size_type;
namespace std { template <typename T> struct vector { const T &operator[](size_type) const; size_type size() const; }; }
namespace torch { struct Tensor { void *data_ptr() const; int64_t dim() const; int64_t size(int64_t) const; int64_t stride(int64_t) const; }; }
""",
    "ATen/cuda/CUDAContext.h": "namespace at { namespace cuda { cudaStream_t getCurrentCUDAStream(); } }\n",
}


class WithHeaders(Nvrtc):
    """NVRTC that finds these headers."""

    def fault(self, text: str, arch: str) -> str | None:
        lib, program, size = self.library, ctypes.c_void_p(), ctypes.c_size_t()
        names, texts = ((ctypes.c_char_p * len(_HEADERS))(*(part.encode() for part in parts)) for parts in (_HEADERS, _HEADERS.values()))
        if lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"export.cu", len(_HEADERS), texts, names):
            return "nvrtcCreateProgram failed"
        words = (f"--gpu-architecture={arch}", "--device-as-default-execution-space", "--relocatable-device-code=true")
        options = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
        status = lib.nvrtcCompileProgram(program, len(words), options)
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        return log.value.decode(errors="replace").strip() or f"status {status}" if status else None


def cuda_of(text: str) -> str:
    """The CUDA text of an exported file: the longest string in it."""
    strings = [n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return max(strings, key=len)


def checker(checkout: pathlib.Path):
    """Upstream's function that judges a file."""
    path = checkout / "src" / "kernelbench" / "kernel_static_checker.py"
    spec = importlib.util.spec_from_file_location("kernel_static_checker", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.validate_kernel_static


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--arch", default="sm_75,sm_90")
    parser.add_argument("--upstream", type=pathlib.Path, metavar="CHECKOUT")
    given = parser.parse_args()
    files = sorted(given.folder.glob("level_*_kernel.py"))
    if not files:
        sys.exit(f"{given.folder} has no exported files")
    nvrtc = WithHeaders(tool("KC_NVRTC", "lib/libnvrtc.so.13"))
    judge = checker(given.upstream) if given.upstream else None
    compiled = passed = warned = 0
    for path in files:
        text = path.read_text()
        faults = {arch: nvrtc.fault(cuda_of(text), arch) for arch in given.arch.split(",")}
        compiled += not any(faults.values())
        for arch, fault in faults.items():
            if fault:
                print(f"{path.name}: NVRTC {arch}: {fault[:600]}")
        if judge:
            valid, errors, warnings = judge(text, backend="cuda", precision="fp32")
            passed += valid
            warned += bool(warnings)
            for one in errors:
                print(f"{path.name}: static checker: {one}")
    print(f"NVRTC takes {compiled} of {len(files)} for {given.arch}")
    if judge:
        print(f"upstream's static checker passes {passed} of {len(files)}, {warned} with warnings")
    return int(compiled < len(files) or judge is not None and passed < len(files))


if __name__ == "__main__":
    sys.exit(main())
