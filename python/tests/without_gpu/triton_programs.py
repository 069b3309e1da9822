"""What programs with Triton begin with: buffers of the driver in the place of PyTorch's."""

HEAD = """
import ctypes
import numpy as np
import triton
import triton.language as tl

lib = ctypes.CDLL("libcuda.so.1")
lib.cuInit(0)
context = ctypes.c_void_p()
lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
lib.cuCtxSetCurrent(context)


class Buffer:
    def __init__(self, array, copy=True):
        self.array, self.dtype, at = array, str(array.dtype), ctypes.c_uint64()
        assert lib.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(array.nbytes)) == 0
        self.at = at.value
        if copy:
            lib.cuMemcpyHtoD_v2(at, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))

    def data_ptr(self):
        return self.at

    def numpy(self):
        a = self.array
        status = lib.cuMemcpyDtoH_v2(ctypes.c_void_p(a.ctypes.data), ctypes.c_uint64(self.at), ctypes.c_size_t(a.nbytes))
        assert status == 0, status
        return a


def zeros(*shape):
    return Buffer(np.zeros(shape, np.float32))
"""
