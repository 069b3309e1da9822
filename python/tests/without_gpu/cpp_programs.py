"""What programs with CUDA C++ begin with: `k.cu` by NVRTC, and the calls of the driver in short. `FILE` is how NVRTC calls
the text."""

HEAD = """
import ctypes
import numpy as np
from cuda.bindings import driver as cu, nvrtc

def checked(answer):
    assert int(answer[0]) == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]

checked(cu.cuInit(0))
checked(cu.cuCtxSetCurrent(checked(cu.cuDevicePrimaryCtxRetain(0))))

loaded = []

def module():
    if not loaded:
        made = checked(nvrtc.nvrtcCreateProgram(open("k.cu", "rb").read(), b"FILE", 0, [], []))
        checked(nvrtc.nvrtcCompileProgram(made, 2, [b"--gpu-architecture=compute_80", b"-lineinfo"]))
        ptx = b" " * checked(nvrtc.nvrtcGetPTXSize(made))
        checked(nvrtc.nvrtcGetPTX(made, ptx))
        loaded.append(checked(cu.cuModuleLoadData(ptx)))
    return loaded[0]

def unload():
    checked(cu.cuModuleUnload(loaded.pop()))

def kernel(name):
    return checked(cu.cuModuleGetFunction(module(), name.encode()))

def allocated(bytes):
    return checked(cu.cuMemAlloc(bytes))

def given(values):
    at = allocated(values.nbytes)
    checked(cu.cuMemcpyHtoD(at, values.ctypes.data, values.nbytes))
    return int(at)

def ones(n):
    return given(np.ones(n, np.float32))

def arguments(kernel, grid, block, *args, shared=0, stream=0):
    kinds = {int: ctypes.c_uint64, np.float32: ctypes.c_float, np.int32: ctypes.c_int}
    args = tuple(args), tuple(kinds[type(value)] for value in args)
    x, y = block if isinstance(block, tuple) else (block, 1)
    return kernel, grid, 1, 1, x, y, 1, shared, stream, args, 0

def launch(*args, **options):
    cu.cuLaunchKernel(*arguments(*args, **options))

def stream():
    return checked(cu.cuStreamCreate(1))

def event():
    return checked(cu.cuEventCreate(0))

def record(event, stream):
    checked(cu.cuEventRecord(event, stream))

def wait():
    cu.cuCtxSynchronize()
"""
