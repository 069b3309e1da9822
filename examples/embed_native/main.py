"""Kernels of wave2d.py through ctypes: wave2d.o as a shared library, and wave2d.json, which says how its arguments lie in memory."""

import array
import ctypes
import json
import sys
from concurrent.futures import ThreadPoolExecutor

library, description = ctypes.CDLL(sys.argv[1]), json.load(open(sys.argv[2]))


class Bounds(ctypes.Structure):
    _fields_ = [("shape", ctypes.c_uint32 * 4), ("size", ctypes.c_uint64)]


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("grad", ctypes.c_void_p),
        ("shape", ctypes.c_int32 * 4),
        ("strides", ctypes.c_int32 * 4),
        ("ndim", ctypes.c_int32),
        ("flags", ctypes.c_int32),
    ]

    @classmethod
    def of(cls, data, rows, columns):
        size = data.itemsize
        return cls(data.buffer_info()[0], None, (rows, columns), (columns * size, size), 2, 0)


kernel = next(kernel for kernel in description["kernels"] if kernel["name"] == "step")
entry = kernel["entries"]["forward"]
run = getattr(library, entry["cpu"])
run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
run.restype = None


def arguments(**values):
    """The struct of arguments, as the description says it lies in memory."""
    memory = ctypes.create_string_buffer(entry["args_size"])
    for param in entry["params"]:
        value = values[param["name"]]
        value = value if isinstance(value, Array) else ctypes.c_float(value)
        assert ctypes.sizeof(value) == param["size"]
        ctypes.memmove(ctypes.byref(memory, param["offset"]), ctypes.byref(value), param["size"])
    return memory


n, middle = 200, 100 * 200 + 100
now = array.array("f", bytes(4 * n * n))
now[middle] = 1.0
before = array.array("f", now)
bounds = Bounds((n, n, 1, 1), n * n)
piece = max(entry["host"]["grain"], n * n // 8)
assert entry["host"]["parallel"]
with ThreadPoolExecutor() as pool:
    for _ in range(10):
        args = arguments(now=Array.of(now, n, n), before=Array.of(before, n, n), courant=0.25, damping=0.0)
        # ctypes lets other Python threads run while a kernel does.
        call = lambda begin: run(ctypes.byref(bounds), args, begin, min(begin + piece, n * n), None)
        list(pool.map(call, range(0, n * n, piece)))
        now, before = before, now
print(f"sum {sum(now):.6f}, in the middle {now[middle]:.6f}")
