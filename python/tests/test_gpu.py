"""Arrays in the memory of a GPU: all of the way there but the GPU itself, with the stand-in for NVIDIA's driver (`python/tests/standin.c`), for
which all memory is a GPU's. What stands for the kernel's GPU code is C code here.
"""

import pytest
import standin

HOST = """
#include <stdint.h>
typedef struct { uint64_t data, grad; int32_t shape[4], strides[4], ndim, flags; } Array;
typedef struct { float a; Array x, y; } Arguments;
void saxpy_cpu_kernel_forward(const void *launch, const Arguments *at, uint64_t begin, uint64_t end, void *status) {
    for (uint64_t i = begin; i < end; i++) {
        float *y = (float *)(at->y.data + i * at->y.strides[0]);
        *y += at->a * *(float *)(at->x.data + i * at->x.strides[0]);
    }
}
"""

COMMON = """
import json, sys, types
import kc
import numpy as np

@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]

class There:
    '''An array that tells by the interface of Numba and CuPy.'''
    def __init__(self, values, **more):
        self.data, self.more = np.array(values, np.float32), more
    @property
    def __cuda_array_interface__(self):
        own = self.data.__array_interface__
        about = {"data": own["data"], "shape": own["shape"], "typestr": own["typestr"], "strides": own["strides"], "version": 3}
        return {**about, **self.more}

class Capsule:
    '''One that speaks DLPack.'''
    def __init__(self, data, ordinal=0):
        self.data, self.ordinal, self.asked = np.array(data, np.float32), ordinal, []
    def __dlpack_device__(self):
        return (2, self.ordinal)
    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.data.__dlpack__(max_version=options["max_version"])

class Tensor(Capsule):
    pass

# As PyTorch is asked for its stream.
Tensor.__module__ = "torch"
stream = lambda ordinal: types.SimpleNamespace(cuda_stream=7000 + ordinal)
sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(current_stream=stream))

def told(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return standin.made(tmp_path_factory.mktemp("driver"), HOST)


def run(program, *places, **environment):
    return standin.run(COMMON + program, *places, **environment)


@pytest.mark.parametrize(
    "make, stream, asked",
    [
        ("There", 1, None),
        ("lambda data: There(data, stream=5)", 5, None),
        ("Capsule", 1, 1),
        ("Tensor", 7000, -1),
    ],
)
def test_a_launch_where_the_arrays_are(driver, tmp_path, make, stream, asked):
    program = f"""
make = {make}
x, y = make([1, 2, 3]), make([10, 20, 30])
saxpy(3, 2.0, x, y)
saxpy(0, 2.0, x, y)
print(json.dumps([y.data.tolist(), [options.get("stream") for options in getattr(x, "asked", [])]]))
"""
    (found, streams), log = run(program, tmp_path, driver)
    assert found == [12, 24, 36] and (asked is None or set(streams) == {asked})
    # No memory of the GPU is asked for, nothing is waited for.
    assert f"launches=1 peak=0 stream={stream} " in log and "events=0 blocks=0" in log


def test_views(driver, tmp_path):
    program = """
x, y = There(np.arange(6)), There([1, 1, 1])
x.data = x.data[::-2]
saxpy(3, 1.0, x, y)
print(json.dumps(y.data.tolist()))
"""
    assert run(program, tmp_path, driver)[0] == [6, 4, 2]


def test_the_context_of_a_thread_stays(driver, tmp_path):
    program = """
import ctypes
driver, found = ctypes.CDLL("libcuda.so"), ctypes.c_void_p()
driver.cuCtxSetCurrent(ctypes.c_void_p(77))
x, y = There([1, 2, 3]), There([1, 2, 3])
contexts = []
for _ in range(2):
    saxpy(3, 2.0, x, y)
    driver.cuCtxGetCurrent(ctypes.byref(found))
    contexts.append(found.value)
print(json.dumps([contexts, y.data.tolist()]))
"""
    assert run(program, tmp_path, driver)[0] == [[77, 77], [5, 10, 15]]


def test_what_does_not_fit(driver, tmp_path):
    program = """
x, y, host = There([1, 2, 3]), There([1, 2, 3]), np.ones(3, np.float32)
def taped():
    with kc.Tape():
        saxpy(3, 2.0, x, y)
print(json.dumps([told(call) for call in [
    lambda: saxpy(3, 2.0, x, host),
    lambda: saxpy(3, 2.0, host, Tensor([1, 2, 3])),
    lambda: saxpy(3, 2.0, Tensor([1], 0), Tensor([1], 1)),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], stream=9)),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], data=(y.data.ctypes.data, True))),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], typestr="<f8")),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], typestr="<c8")),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], mask=x)),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], shape=None)),
    lambda: saxpy(3, 2.0, x, There([1, 2, 3], strides=(4, 4))),
    lambda: saxpy.grad(3, 2.0, x, y, grads={"y": 1.0}),
    lambda: saxpy.jvp(3, 2.0, x, y, tangents={"a": 1.0}),
    taped,
    lambda: saxpy(3, 2.0, Tensor([1], 3), Tensor([1], 3)),
]]))
"""
    found, log = run(program, tmp_path, driver)
    assert "launches=0" in log
    words = [
        ("DeviceError", "`y` of kernel `saxpy`: is in the memory of the host, and `x` is in the memory of a GPU"),
        ("DeviceError", "`y` of kernel `saxpy`: is in the memory of GPU 0, and `x` is in the memory of the host"),
        ("DeviceError", "is in the memory of GPU 1, and `x` is in the memory of GPU 0"),
        ("DeviceError", "`y` of kernel `saxpy`: its library uses another stream than that of `x`"),
        ("ArgumentError", "`y` of kernel `saxpy`: the kernel writes to it, and it is read-only"),
        ("ArgumentError", "found elements of float64"),
        ("ArgumentError", "has elements of type `<c8`"),
        ("ArgumentError", "has a mask"),
        ("ArgumentError", "has no `shape`"),
        ("ArgumentError", "shape and strides that do not fit"),
        ("DeviceError", "in the memory of a GPU, and this runs on the host"),
        ("DeviceError", "in the memory of a GPU, and this runs on the host"),
        ("DeviceError", "in the memory of a GPU, and this runs on the host"),
        ("DeviceError", "the driver knows no GPU"),
    ]
    for (kind, text), (wanted, part) in zip(found, words, strict=True):
        assert kind == wanted and part in text, (kind, text)


def test_drivers_that_refuse(driver, tmp_path):
    program = "x = There([1, 2, 3])\nprint(json.dumps(told(lambda: saxpy(3, 2.0, x, There([1, 2, 3])))))"
    for name, kind, words in [
        ("cuInit:100", "DeviceError", "the driver refuses to start"),
        ("cuModuleLoadDataEx:222", "LaunchError", "the driver is too old"),
        ("cuLaunchKernel:1", "LaunchError", "the GPU did not run the launch"),
    ]:
        found, _ = run(program, tmp_path, driver, STANDIN_FAIL=name)
        assert found[0] == kind and words in found[1], found


def test_no_driver(tmp_path):
    program = "x = There([1, 2, 3])\nprint(json.dumps(told(lambda: saxpy(3, 2.0, x, There([1, 2, 3])))))"
    found, _ = run(program, tmp_path)
    # Where there is one, it does not know the memory.
    assert found[0] == "DeviceError" and "the device `cuda` is not available" in found[1]
