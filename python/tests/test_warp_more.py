"""Names of Warp that are cheap to have."""

import numpy as np
import pytest

import kc
import kc.warp as wp


@wp.func
def blend(a: float, b: float, t: float) -> float:
    return a * (1.0 - t) + b * t


def test_map_of_functions_and_built_ins():
    a, b = wp.array([1.0, 2.0, 3.0], dtype=float), wp.array([10.0, 20.0, 30.0], dtype=float)
    assert wp.map(blend, a, b, 0.5).numpy().tolist() == [5.5, 11, 16.5]
    assert wp.map(wp.max, a, wp.array([2.0, 2.0, 2.0], dtype=float)).numpy().tolist() == [2, 2, 3]
    out = wp.zeros(3, dtype=float)
    assert wp.map(blend, a, b, 1.0, out=out) is out and out.numpy().tolist() == [10, 20, 30]
    rows = wp.array(np.ones((2, 3), np.float32), dtype=float)
    assert wp.map(blend, rows, a, 1.0).numpy().tolist() == [[1, 2, 3], [1, 2, 3]]
    with pytest.raises(TypeError):
        wp.map(blend, 1.0, 2.0, 3.0)


def test_loops_in_graphs():
    @wp.kernel
    def down(n: wp.array(dtype=int), x: wp.array(dtype=float)):
        n[0] = n[0] - 1
        x[0] = x[0] + 1.0

    n, x = wp.array([3], dtype=int), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.capture_while(n, lambda: wp.launch(down, dim=1, inputs=[n, x]))
    assert x.numpy().tolist() == [0]
    wp.capture_launch(capture.graph)
    assert (n.numpy().tolist(), x.numpy().tolist()) == ([0], [3])
    n.fill_(2)
    wp.capture_while(n, lambda: wp.launch(down, dim=1, inputs=[n, x]))
    assert x.numpy().tolist() == [5]
    wp.capture_if(n, on_true=lambda: x.fill_(9.0), on_false=lambda: x.fill_(7.0))
    assert x.numpy().tolist() == [7]


def test_what_there_is_one_answer_to():
    assert wp.get_stream().device.is_cpu and not wp.is_mempool_supported("cpu") and not wp.is_mempool_enabled("cpu")
    with pytest.raises(RuntimeError):
        wp.get_mempool_used_mem_current("cpu")
    assert wp.DeterministicMode.RUN_TO_RUN == 1 and isinstance(blend, wp.Function) and "Device" in repr(wp.DeviceLike)
    source = np.arange(3, dtype=np.float32)
    shared = wp.from_dlpack(source)
    shared.fill_(4.0)
    assert source.tolist() == [4, 4, 4] and wp.__version__.count(".") == 2


def test_tensors():
    torch = pytest.importorskip("torch")
    t = torch.zeros(2, 3)
    a = wp.from_torch(t, dtype=wp.vec3)
    a.fill_(wp.vec3(1.0, 2.0, 3.0))
    assert a.shape == (2,) and t.tolist() == [[1, 2, 3]] * 2 and wp.to_torch(a).data_ptr() == t.data_ptr()
    assert wp.dtype_to_torch(wp.float64) is torch.float64 and wp.device_to_torch("cpu") == "cpu"


def test_sorting_pairs(rng):
    for dtype, low in ((wp.int32, -50), (wp.uint32, 0), (wp.int64, -50), (wp.uint64, 0), (wp.float32, -50), (wp.float64, -50)):
        numbers = rng.integers(low, 50, 40).astype(dtype.numpy_dtype)
        numbers = numbers if numbers.dtype.kind != "f" else numbers / 4
        keys, values = wp.zeros(80, dtype=dtype), wp.zeros(80, dtype=int)
        keys.numpy()[:40], values.numpy()[:40] = numbers, np.arange(40)
        wp.utils.radix_sort_pairs(keys, values, 40)
        order = np.argsort(numbers, kind="stable")
        assert keys.numpy()[:40].tolist() == numbers[order].tolist() and values.numpy()[:40].tolist() == order.tolist()
    # The low bits alone.
    keys, values = wp.array([0x21, 0x12, 0x11, 0x22] + [0] * 4, dtype=int), wp.array([0, 1, 2, 3] + [0] * 4, dtype=int)
    wp.utils.radix_sort_pairs(keys, values, 4, 0, 4)
    assert values.numpy()[:4].tolist() == [0, 2, 1, 3]
    for wrong in ((keys, values, 5), (keys, values, 4, 8, 4), (wp.zeros(8, dtype=wp.float16), values, 4), (keys, wp.zeros(8, dtype=wp.vec3), 4)):
        with pytest.raises(RuntimeError):
            wp.utils.radix_sort_pairs(*wrong)


def test_runs():
    values, runs, lengths = wp.array([1, 1, 1, 2, 2, 3], dtype=int), wp.zeros(6, dtype=int), wp.zeros(6, dtype=int)
    assert wp.utils.runlength_encode(values, runs, lengths) == 3
    assert runs.numpy()[:3].tolist() == [1, 2, 3] and lengths.numpy()[:3].tolist() == [3, 2, 1]
    count = wp.zeros(1, dtype=int)
    assert wp.utils.runlength_encode(values, runs, lengths, count, 2) is count and count.numpy()[0] == 1
    assert wp.utils.runlength_encode(values, runs, lengths, value_count=0) == 0
    with pytest.raises(RuntimeError):
        wp.utils.runlength_encode(values, runs[:2], lengths)


@wp.func_native("return x + 1.0f;")
def native_step(x: float) -> float: ...


@wp.kernel
def steps_natively(x: wp.array(dtype=float)):
    x[wp.tid()] = native_step(x[wp.tid()])


@wp.kernel
def steps_plainly(x: wp.array(dtype=float)):
    x[wp.tid()] = x[wp.tid()] + 1.0


def test_functions_in_cpp_stay_out():
    x = wp.zeros(2)
    wp.launch(steps_plainly, 2, [x])
    assert x.numpy().tolist() == [1, 1]
    with pytest.raises(kc.CompileError, match="`native_step`, in C"):
        wp.launch(steps_natively, 2, [x])
    with pytest.raises(NotImplementedError):
        native_step(1.0)
