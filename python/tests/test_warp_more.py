"""Names of Warp that are cheap to have."""

import numpy as np
import pytest

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
