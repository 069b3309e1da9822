"""Arrays of other libraries in launches: where they are, in the stream that their library uses, and what does not fit."""

import ctypes
import sys
import types

import kc
import numpy as np
import pytest
from conftest import LIBRARY, program


@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]


class There:
    """An array that tells by the interface of Numba and CuPy."""

    def __init__(self, values, device="cuda:0", **more):
        self.array, self.more = kc.array(np.array(values, np.float32), device=device), more

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__cuda_array_interface__, **self.more}

    def tolist(self):
        return self.array.numpy().tolist()


class Capsule:
    """One that speaks DLPack."""

    def __init__(self, values, device="cuda:0"):
        self.array, self.asked = kc.array(np.array(values, np.float32), device=device), []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options.get("stream"))
        return self.array.__dlpack__(**{**options, "stream": None})

    def tolist(self):
        return self.array.numpy().tolist()


class Tensor(Capsule):
    """One of PyTorch, which is asked for its stream."""


Tensor.__module__ = "torch"


@pytest.fixture
def torch(monkeypatch):
    """What kc asks PyTorch: the stream of a GPU."""
    streams = {}
    cuda = types.SimpleNamespace(current_stream=lambda ordinal: types.SimpleNamespace(cuda_stream=streams.get(ordinal, 0)))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    return streams


class Driver:
    """A stream that the driver gave to somebody else."""

    def __init__(self):
        self.cuda, self.stream, context = ctypes.CDLL(LIBRARY), ctypes.c_void_p(), ctypes.c_void_p()
        self.do("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.do("cuCtxSetCurrent", context)
        # One that does not wait for the default stream.
        self.do("cuStreamCreate", ctypes.byref(self.stream), 1)

    def do(self, name, *args):
        assert getattr(self.cuda, name)(*args) == 0, name

    def captures(self, work):
        """Whether work goes to this stream: what a stream captures is not done."""
        graph = ctypes.c_void_p()
        self.do("cuStreamBeginCapture_v2", self.stream, 2)
        try:
            work()
        finally:
            self.do("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        count = ctypes.c_size_t()
        self.do("cuGraphGetNodes", graph, None, ctypes.byref(count))
        self.do("cuGraphDestroy", graph)
        return count.value == 1


MAKES = {
    "interface": (lambda values, stream: There(values), None, False),
    "interface with a stream": (lambda values, stream: There(values, stream=stream), None, True),
    "capsule": (lambda values, stream: Capsule(values), 1, False),
    "tensor": (lambda values, stream: Tensor(values), -1, True),
}


@pytest.mark.parametrize("name", MAKES)
def test_a_launch_is_in_the_stream_of_the_arrays(name, torch):
    make, asked, in_stream = MAKES[name]
    driver = Driver()
    torch[0] = driver.stream.value
    x, y = make([1, 2, 3], driver.stream.value), make([10, 20, 30], driver.stream.value)
    saxpy.load("cuda:0")
    free = kc.devices()[0].free
    assert driver.captures(lambda: saxpy(3, 2.0, x, y)) == in_stream
    assert y.tolist() == ([10, 20, 30] if in_stream else [12, 24, 36])
    saxpy(3, 2.0, x, y)
    saxpy(0, 2.0, x, y)
    driver.do("cuStreamSynchronize", driver.stream)
    assert y.tolist() == ([12, 24, 36] if in_stream else [14, 28, 42])
    # No memory of the GPU is asked for.
    assert kc.devices()[0].free == free
    assert set(getattr(x, "asked", [asked])) == {asked}


def test_views():
    x, y = There(np.arange(6)), There([1, 1, 1])
    x.array = x.array[::-2]
    saxpy(3, 1.0, x, y)
    assert y.tolist() == [6, 4, 2]


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_the_context_of_a_thread_stays(device):
    driver, own, found = Driver(), ctypes.c_void_p(), ctypes.c_void_p()
    driver.do("cuCtxCreate_v2", ctypes.byref(own), 0, 0)
    x, y = There([1, 2, 3], device), There([1, 2, 3], device)
    for _ in range(2):
        saxpy(3, 2.0, x, y)
        driver.do("cuCtxGetCurrent", ctypes.byref(found))
        assert found.value == own.value
    assert y.tolist() == [5, 10, 15]
    driver.do("cuCtxDestroy_v2", own)


X, Y, HOST = There([1, 2, 3]), There([1, 2, 3]), np.ones(3, np.float32)
READ_ONLY = There([1, 2, 3])
READ_ONLY.more["data"] = (READ_ONLY.array.__cuda_array_interface__["data"][0], True)


def taped():
    with kc.Tape():
        saxpy(3, 2.0, X, Y)


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: saxpy(3, 2.0, X, HOST), kc.DeviceError, "`y` of kernel `saxpy`: is in the memory of the host, and `x` is in the memory of a GPU"),
        (lambda: saxpy(3, 2.0, HOST, Tensor([1, 2, 3])), kc.DeviceError, "`y` of kernel `saxpy`: is in the memory of GPU 0, and `x` is in the memory of the host"),
        pytest.param(
            lambda: saxpy(3, 2.0, Tensor([1], "cuda:0"), Tensor([1], "cuda:1")),
            kc.DeviceError,
            "is in the memory of GPU 1, and `x` is in the memory of GPU 0",
            marks=pytest.mark.two_gpus,
        ),
        (lambda: saxpy(3, 2.0, X, There([1, 2, 3], stream=9)), kc.DeviceError, "`y` of kernel `saxpy`: its library uses another stream than that of `x`"),
        (lambda: saxpy(3, 2.0, X, READ_ONLY), kc.ArgumentError, "`y` of kernel `saxpy`: the kernel writes to it, and it is read-only"),
        (lambda: saxpy(3, 2.0, X, There([1, 2, 3], typestr="<f8")), kc.ArgumentError, "found elements of float64"),
        (lambda: saxpy(3, 2.0, X, There([1, 2, 3], typestr="<c8")), kc.ArgumentError, "has elements of type `<c8`"),
        (lambda: saxpy(3, 2.0, X, There([1, 2, 3], mask=X)), kc.ArgumentError, "has a mask"),
        (lambda: saxpy(3, 2.0, X, There([1, 2, 3], shape=None)), kc.ArgumentError, "has no `shape`"),
        (lambda: saxpy(3, 2.0, X, There([1, 2, 3], strides=(4, 4))), kc.ArgumentError, "shape and strides that do not fit"),
        (lambda: saxpy.grad(3, 2.0, X, Y, grads={"y": 1.0}), kc.DeviceError, "in the memory of a GPU, and this runs on the host"),
        (lambda: saxpy.jvp(3, 2.0, X, Y, tangents={"a": 1.0}), kc.DeviceError, "in the memory of a GPU, and this runs on the host"),
        (taped, kc.DeviceError, "in the memory of a GPU, and this runs on the host"),
    ],
)
def test_what_does_not_fit(call, kind, words, torch):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind and words in str(caught.value)
    assert Y.tolist() == [1, 2, 3]


def test_a_gpu_that_is_not_there(torch):
    class Farther(Tensor):
        def __dlpack_device__(self):
            return (2, 7)

    Farther.__module__ = "torch"
    with pytest.raises(kc.DeviceError, match="the driver knows no GPU"):
        saxpy(3, 2.0, Farther([1, 2, 3]), Farther([1, 2, 3]))


# An array by its address alone: kc makes none before it starts the driver.
BARE = """
import kc, numpy as np

@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]

class There:
    __cuda_array_interface__ = {"data": (1 << 40, False), "shape": (3,), "typestr": "<f4", "strides": None, "version": 3}

try:
    saxpy(3, 2.0, There(), There())
except kc.Error as error:
    print(type(error).__name__, error)
"""


@pytest.mark.simulated
@pytest.mark.parametrize(
    "failure, kind, words",
    [
        ("cuInit:100", "DeviceError", "the driver refuses to start"),
        ("cuModuleLoadDataEx:222", "LaunchError", "the driver is too old"),
        ("cuLaunchKernel:1", "LaunchError", "the GPU did not run the launch"),
    ],
)
def test_drivers_that_refuse(failure, kind, words):
    text = BARE if failure.startswith("cuInit") else BARE.replace("There()", 'kc.ones(3, device="cuda:0")')
    done = program(text, KC_SIM_FAIL=failure)
    assert done.returncode == 0 and done.stdout.startswith(kind) and words in done.stdout, done.stdout + done.stderr


def test_memory_without_a_driver():
    done = program(BARE, driver=False)
    # Where there is one, it does not know the memory.
    assert done.stdout.startswith("DeviceError") and "the device `cuda` is not available" in done.stdout, done.stdout + done.stderr


@pytest.mark.simulated
@pytest.mark.parametrize("stream, found", [("stream.value", False), ("1", True)])
def test_a_launch_comes_after_the_work_of_its_stream(stream, found):
    """In another stream than that of the work before, nothing orders the two, which the simulated driver finds."""
    done = program(BARE.partition("class")[0] + f"""
import ctypes
x, y = kc.zeros(3, device="cuda:0"), kc.zeros(3, device="cuda:0")
cuda, stream = ctypes.CDLL({LIBRARY!r}), ctypes.c_void_p()
assert cuda.cuCtxSynchronize() in (0, 201)
context = ctypes.c_void_p()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cuda.cuMemsetD32Async(ctypes.c_uint64(x.__cuda_array_interface__["data"][0]), 0x3f800000, ctypes.c_size_t(3), stream) == 0
class There:
    def __init__(self, array):
        self.__cuda_array_interface__ = {{**array.__cuda_array_interface__, "stream": {stream}}}
saxpy(3, 2.0, There(x), There(y))
assert cuda.cuCtxSynchronize() == 0
print(y.numpy().tolist())
""", KC_SIM_CHECKS="races,uninitialised")
    assert done.returncode == 0 and done.stdout == "[2.0, 2.0, 2.0]\n", done.stdout + done.stderr
    assert ("E1126" in done.stderr) == found, done.stderr
