"""JAX on a GPU, without one: XLA's programs for the CPU call the entry that kc has for CUDA. What stands between them copies operands to
the memory of the simulated GPU (`python/kc/libkc_gpu.so`), and results back, and answers what XLA is asked for: stream and GPU. The
structs are those of `xla/ffi/api/c_api.h`, which jaxlib brings.
"""

import contextlib
import ctypes
import functools
import io
import pathlib
import re

import jax
import jax.numpy as jnp
import kc, kc.jax
import numpy as np
import pytest
import test_jax
from jax.interpreters import mlir
from kc import _jax_gpu, _jax_run, _native

# Who loads it first has it, under the name of NVIDIA's.
ctypes.CDLL(str(pathlib.Path(kc.__file__).parent / "libkc_gpu.so"), mode=ctypes.RTLD_GLOBAL)
HEADER = pathlib.Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
SIZES = {1: 1, 2: 1, 6: 1, 3: 2, 7: 2, 10: 2, 16: 2, 4: 4, 8: 4, 11: 4, 5: 8, 9: 8, 12: 8}


class Buffer(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("kind", ctypes.c_int), ("data", ctypes.c_void_p), ("rank", ctypes.c_int64),
        ("extents", ctypes.POINTER(ctypes.c_int64)),
    ]

    @property
    def bytes(self):
        return SIZES[self.kind] * int(np.prod([self.extents[k] for k in range(self.rank)], dtype=np.int64))


class List(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("count", ctypes.c_int64), ("kinds", ctypes.c_void_p),
        ("items", ctypes.POINTER(ctypes.POINTER(Buffer))),
    ]


class Asked(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("context", ctypes.c_void_p), ("found", ctypes.c_uint64)]


#: The functions of XLA's table, in their order.
FUNCTIONS = re.findall(r"_XLA_FFI_API_STRUCT_FIELD\((XLA_FFI_\w+)\);", HEADER.read_text())
Ask = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Asked))


class Api(ctypes.Structure):
    _fields_ = [("head", ctypes.c_uint64 * 2), ("version", ctypes.c_uint64 * 3), ("internal", ctypes.c_void_p)] + [
        (name, Ask if name.endswith(("Stream_Get", "DeviceOrdinal_Get")) else ctypes.c_void_p) for name in FUNCTIONS
    ]


class Frame(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extensions", ctypes.c_void_p), ("api", ctypes.POINTER(Api)), ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int), ("operands", List), ("results", List),
    ]


Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Frame))
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
FAR = Handler(_pointer(_native.xla_target(True), b"xla._CUSTOM_CALL_TARGET"))
CALLS, ORDINAL = [], 0


@Ask
def stream_of(asked):
    # The stream that CUDA calls 1: the default one.
    asked.contents.found = 1
    return None


@Ask
def ordinal_of(asked):
    asked.contents.found = ORDINAL
    return None


def _table(api):
    made = Api.from_buffer_copy(api)
    made.XLA_FFI_Stream_Get, made.XLA_FFI_DeviceOrdinal_Get = stream_of, ordinal_of
    return made


@Handler
def between(frame):
    frame = frame.contents
    if frame.extensions or frame.stage != 3:
        return FAR(ctypes.byref(frame))
    buffers = [list_.items[n].contents for list_ in (frame.operands, frame.results) for n in range(list_.count)]
    there = [kc.zeros(max(buffer.bytes, 1), dtype=kc.uint8, device=f"cuda:{ORDINAL}") for buffer in buffers]
    before, real = [buffer.data for buffer in buffers], frame.api
    addresses = [array.__cuda_array_interface__["data"][0] for array in there]
    try:
        for buffer, address in zip(buffers, addresses):
            # The memory of the simulated GPU can be read and written here, and its work is done at once.
            ctypes.memmove(address, buffer.data, buffer.bytes)
            buffer.data = address
        table = _table(real.contents)
        frame.api = ctypes.pointer(table)
        error = FAR(ctypes.byref(frame))
    finally:
        frame.api = real
        for buffer, address, old in zip(buffers, addresses, before):
            ctypes.memmove(old, address, buffer.bytes)
            buffer.data = old
    CALLS.append(len(buffers))
    return error


_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
jax.ffi.register_ffi_target("kc_between", _capsule(ctypes.cast(between, ctypes.c_void_p), b"xla._CUSTOM_CALL_TARGET", None), platform="cpu")

#: Tests of the CPU that launch nothing, have a process of their own, print, or reach out of arrays, which a GPU does not test.
LEFT_OUT = (
    "test_nothing_and_no_threads", "test_what_does_not_fit", "test_what_a_kernel_prints", "test_programs_that_jax_kept",
    "test_several_outputs_of_which_some_start_with_contents",
)


def lowered(launch, tangents):
    for one, how in ((_jax_run.run, launch), (_jax_run._along, tangents)):
        mlir.register_lowering(one, mlir.lower_fun(how, multiple_results=True), platform="cpu")


@pytest.fixture(autouse=True)
def on_the_gpu(monkeypatch):
    monkeypatch.setattr(kc.jax, "_TARGET", "kc_between")
    lowered(_jax_gpu.ran, _jax_gpu.tangents)
    jax.clear_caches()
    CALLS.clear()
    yield
    jax.clear_caches()
    lowered(_jax_run._ran, _jax_run._tangents)


@pytest.fixture
def calls():
    yield
    assert CALLS


def _again(test):
    @functools.wraps(test)
    def run(*given, **named):
        return test(*given, **named)

    return pytest.mark.usefixtures("calls")(run)


#: The tests of the CPU: what they say holds on a GPU.
for _name, _test in list(vars(test_jax).items()):
    if _name.startswith("test_") and _name not in LEFT_OUT:
        globals()[_name] = _again(_test)


def test_the_structs_are_those_of_xla():
    assert FUNCTIONS[0] == "XLA_FFI_Error_Create" and FUNCTIONS[4] == "XLA_FFI_Stream_Get" and FUNCTIONS[17] == "XLA_FFI_DeviceOrdinal_Get"
    assert Api.XLA_FFI_Stream_Get.offset == 80 and Api.XLA_FFI_DeviceOrdinal_Get.offset == 184


def test_races_are_looked_for_once():
    @kc.kernel
    def put(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
        i = kc.tid()
        y[index[i]] = 2.0 * x[i]

    f = kc.jax.function(put, outputs={"y": 4})
    slope = jax.grad(lambda x, index: f(4, x, index).sum())
    x = jnp.arange(4, dtype=jnp.float32)
    for _ in range(2):
        for index in ([0, 1, 2, 3], [3, 2, 0, 1]):
            assert slope(x, jnp.array(index, jnp.int32)).tolist() == [2] * 4
    with pytest.raises(Exception, match="E1108"):
        jax.block_until_ready(slope(x, jnp.array([0, 0, 1, 2], jnp.int32)))


def test_checked_launches_test_every_index_and_print():
    @kc.kernel
    def shift(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = x[i + 1] * x[i + 1]
        if i == 1:
            kc.printf("thread %d\n", i)

    f, x, out = kc.jax.function(shift, outputs="y"), jnp.arange(4, dtype=jnp.float32), io.StringIO()
    run, slope = jax.jit(lambda n, x: f(n, x), static_argnums=0), jax.grad(lambda x: f(4, x).sum())
    with kc.checked():
        with contextlib.redirect_stdout(out):
            assert jax.block_until_ready(run(3, x)).tolist() == [1, 4, 9]
        assert out.getvalue() == "thread 1\n"
        for wrong in (lambda: run(4, x), lambda: slope(x)):
            with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)E1101.*index 4 is out of bounds.*`x`"):
                jax.block_until_ready(wrong())
        # It was told, and the next launch has nothing to do with it.
        assert jax.block_until_ready(run(3, x)).tolist() == [1, 4, 9]


@kc.struct
class Spring:
    stiffness: kc.float64
    rest: kc.float64


@kc.kernel
def mixed(a: float, flag: bool, n: int, v: kc.vec3, h: kc.float16, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    if flag:
        y[i] = a * x[(i + n) % 4] + v[1] * float(h)
    else:
        y[i] = v[2]


def test_numbers_of_python_and_of_jax():
    """Each kind, given in each way: the kernel finds them where XLA has them."""
    f, x = kc.jax.function(mixed, outputs="y"), jnp.arange(4, dtype=jnp.float32)
    one, v = jnp.float32(2.0), jnp.array([1.0, 2.0, 3.0], jnp.float32)
    for a in (2.0, one):
        for flag in (True, jnp.bool_(True)):
            for n in (1, jnp.int32(1)):
                assert f(4, a, flag, n, v, 0.5, x).tolist() == [3, 5, 7, 1]
    for given, wanted in [((one, True, jnp.int32(1)), [3, 5, 7, 1]), ((one, False, jnp.int32(1)), [3, 3, 3, 3])]:
        assert jax.jit(lambda *given: f(4, *given, v, 0.5, x))(*given).tolist() == wanted
        assert jax.jit(lambda x: f(4, *given, v, 0.5, x))(x).tolist() == wanted
    assert f(4, 2.0, True, 1, (1.0, 2.0, 3.0), 0.5, x).tolist() == [3, 5, 7, 1]
    loss = lambda a, v, x: (f(4, a, True, 1, v, 0.5, x) * x).sum()
    da, dv, dx = jax.grad(loss, (0, 1, 2))(one, v, x)
    assert da == 8 and dv.tolist() == [0, 3, 0] and dx.tolist() == [9, 5, 9, 5]
    along = jax.jvp(lambda a, v: loss(a, v, x), (one, v), (jnp.float32(1.0), jnp.array([0.0, 1.0, 0.0], jnp.float32)))[1]
    assert along == 11


def test_numbers_in_structs():
    @kc.kernel
    def stretched(s: Spring, x: kc.array(dtype=kc.float64), e: kc.array(dtype=kc.float64)):
        i = kc.tid()
        d = x[i] - s.rest
        e[i] = 0.5 * s.stiffness * d * d

    f, x = kc.jax.function(stretched, outputs="e"), jnp.array([2.0, 4.0])
    found = jax.grad(lambda k, r: f(2, {"stiffness": k, "rest": r}, x).sum(), (0, 1))(jnp.float64(3.0), jnp.float64(1.0))
    assert [one.item() for one in found] == [5, -12]
