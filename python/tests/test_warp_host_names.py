"""Names of Warp that programs use beside kernels: options of decorators, types, events, graph colours, sorting."""

import numpy as np
import pytest

import kc
import kc.warp as wp


def test_decorators_take_warps_options():
    @wp.struct(module="scene")
    class Pair:
        a: float
        b: float

    @wp.func(module="scene", inline=True)
    def total(pair: Pair) -> float:
        return pair.a + pair.b

    options = {"launch_bounds": (128, 2), "name": "shown", "module": "unique", "grid_stride": False, "cluster_dim": 1}

    @wp.kernel(module_options={"fast_math": True}, **options)
    def k(pair: Pair, x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = x[i] * total(pair)

    pair = Pair()
    pair.a, pair.b = 1.0, 2.0
    x = wp.ones(3, dtype=float)
    wp.launch(k, dim=3, inputs=[pair, x])
    assert x.numpy().tolist() == [3, 3, 3]
    with pytest.raises(TypeError, match="has no option enable_backwards"):
        wp.kernel(enable_backwards=False)
    with pytest.raises(TypeError, match="module_options"):
        wp.kernel(module_options=["fast_math"])


@pytest.mark.parametrize("options", [{"enable_backward": False}, {"module_options": {"enable_backward": False}}])
def test_options_switch_gradients_off(options):
    @wp.kernel(**options)
    def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i]

    with pytest.raises(kc.GradientError, match="enable_backward=False"):
        k.grad(1, np.ones(1, np.float32), np.zeros(1, np.float32), grads={"y": 1.0})


def _exponential(**options):
    @wp.kernel(**options)
    def k(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = wp.exp(x[i])

    return k


def test_gpu_code_approximates_where_a_module_says_so():
    import sys

    before, after = _exponential(), _exponential()
    assert "__expf(" not in before.cuda
    wp.set_module_options({"fast_math": True, "mode": "debug"})
    try:
        assert wp.get_module_options(sys.modules[__name__]) == {"fast_math": True, "mode": "debug"}
        assert "__expf(" in after.cuda, "it is compiled when it is first asked for"
        own = _exponential(module_options={"fast_math": False})
        assert "__expf(" not in own.cuda, "its own options come first"
        x = np.linspace(-2.0, 2.0, 9, dtype=np.float32)
        exact, same = x.copy(), x.copy()
        before(9, exact)
        after(9, same)
        assert exact.tobytes() == same.tobytes(), "the host stays exact"
    finally:
        wp.set_module_options({"fast_math": False})
    assert "__expf(" in _exponential(module_options={"fast_math": True}).cuda
    with pytest.raises(kc.ArgumentError, match="E0401"):
        wp.set_module_options({"fast_math": "off"})
    with pytest.raises(kc.ArgumentError, match="E0401"):
        _exponential(module_options={"fast_math": 1})


def test_overloads_of_functions_with_options():
    @wp.func(module="shared")
    def twice(x: float) -> float:
        return 2.0 * x

    @wp.func(module="shared")
    def twice(x: int) -> int:  # noqa: F811
        return 2 * x + 100

    @wp.kernel
    def k(x: wp.array(dtype=float), n: wp.array(dtype=int)):
        x[0] = twice(x[0])
        n[0] = twice(n[0])

    x, n = wp.ones(1, dtype=float), wp.ones(1, dtype=int)
    wp.launch(k, dim=1, inputs=[x, n])
    assert (x.numpy()[0], n.numpy()[0]) == (2, 102)


def test_static_has_its_value_in_python():
    assert wp.static(2.0 * 3.0) == 6.0
    with pytest.raises(TypeError, match="in kernels"):
        wp.static(1, 2)


T = wp.types

#: Type, name, components, bytes, and what it is.
TYPES = [
    (float, "float", 1, 4, {"scalar", "float"}),
    (int, "int", 1, 4, {"scalar", "int"}),
    (wp.uint64, "uint64", 1, 8, {"scalar", "int"}),
    (wp.float16, "float16", 1, 2, {"scalar", "float"}),
    (wp.bool, "bool", 1, 1, {"scalar"}),
    (wp.vec3, "vec3f", 3, 12, {"vector"}),
    (wp.types.vector(5, wp.float64), None, 5, 40, {"vector"}),
    (wp.mat33d, "mat33d", 9, 72, {"matrix"}),
    (wp.quat, "quatf", 4, 16, {"quaternion"}),
    (wp.transform, "transformf", 7, 28, {"transformation"}),
]


@pytest.mark.parametrize("kind, name, size, width, kinds", TYPES)
def test_kinds_of_types(kind, name, size, width, kinds):
    assert name is None or T.type_repr(kind) == name
    assert (T.type_size(kind), T.type_size_in_bytes(kind)) == (size, width)
    every = {"scalar", "int", "float", "vector", "matrix", "quaternion", "transformation", "struct", "array"}
    assert {one for one in every if getattr(T, f"type_is_{one}")(kind)} == kinds


def test_kinds_of_arrays_structs_and_values():
    @wp.struct
    class Body:
        at: wp.vec3
        mass: wp.float64

    assert T.type_is_struct(Body) and not T.type_is_scalar(Body) and (T.type_size(Body), T.type_size_in_bytes(Body)) == (1, 24)
    annotation = wp.array2d(dtype=wp.vec3)
    assert T.type_is_array(annotation) and T.is_array(annotation) and T.is_array(wp.zeros(2, dtype=float)) and not T.is_array([1.0])
    assert T.type_repr(annotation) == "array(ndim=2, dtype=vec3f)" and T.type_repr(wp.array(dtype=float)) == "array(ndim=1, dtype=float32)"
    assert T.is_int(3) and T.is_float(2.5) and not T.is_int(2.5) and not T.is_float(wp.vec3())


def test_events_say_how_long():
    start, end = wp.record_event(), wp.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="never recorded"):
        wp.get_event_elapsed_time(start, end)
    np.sort(np.random.default_rng(0).random(100_000))
    assert wp.Stream().record_event(end) is end and end.is_complete
    wp.wait_event(end)
    assert 0.1 < wp.get_event_elapsed_time(start, end) < 10_000


def test_modules_by_name():
    assert wp.get_module("a") is wp.get_module("a") and wp.get_module("a").name == "a"
    function, module = wp.utils.create_warp_function(_half)
    assert module is wp.get_module(__name__) and function(4.0) == 2.0
    assert wp.transform_expand([1, 2, 3, 0, 0, 0, 1]) == wp.transform(wp.vec3(1, 2, 3), wp.quat(0, 0, 0, 1))


def _half(x: float) -> float:
    return 0.5 * x


def _graph(nodes, edges, seed):
    pairs = np.random.default_rng(seed).integers(0, nodes, (edges, 2)).astype(np.int32)
    return pairs, wp.array(pairs, dtype=wp.int32), wp.zeros(nodes, dtype=wp.int32)


@pytest.mark.parametrize("algorithm", wp.utils.GraphColoringAlgorithm)
@pytest.mark.parametrize("nodes, edges", [(1, 0), (7, 3), (50, 200), (400, 300), (30, 2000)])
def test_neighbours_have_different_colours(algorithm, nodes, edges):
    pairs, given, colors = _graph(nodes, edges, nodes)
    count = wp.utils.graph_coloring_assign(given, colors, algorithm)
    found = colors.numpy()
    apart = pairs[pairs[:, 0] != pairs[:, 1]]
    assert (found[apart[:, 0]] != found[apart[:, 1]]).all() and set(found) == set(range(count))
    ratio = wp.utils.graph_coloring_balance(given, colors, count, 1.2)
    found = colors.numpy()
    assert (found[apart[:, 0]] != found[apart[:, 1]]).all()
    sizes = np.bincount(found, minlength=count)
    assert ratio == pytest.approx(sizes.max() / max(sizes.min(), 1))
    groups = wp.utils.graph_coloring_get_groups(colors, count, return_wp_array=False)
    assert [len(group) for group in groups] == sizes.tolist() and (found[groups[0]] == 0).all()
    assert [one.numpy().tolist() for one in wp.utils.graph_coloring_get_groups(colors, count)] == [group.tolist() for group in groups]


def test_a_tree_takes_two_colours_and_balances():
    # A star: the middle and its leaves; then leaves alone can't move.
    edges = wp.array([[0, n] for n in range(1, 9)], dtype=wp.int32, ndim=2)
    colors = wp.zeros(9, dtype=wp.int32)
    assert wp.utils.graph_coloring_assign(edges, colors) == 2
    assert wp.utils.graph_coloring_balance(edges, colors, 2, 1.0) == 8
    # Without edges all nodes move.
    none, colors = wp.zeros((0, 2), dtype=wp.int32), wp.zeros(9, dtype=wp.int32)
    with pytest.warns(UserWarning, match="1 moves"):
        assert wp.utils.graph_coloring_balance(none, colors, 3, 1.0, max_iterations=1) > 1
    assert wp.utils.graph_coloring_balance(none, colors, 3, 1.0) == 1


def test_graphs_that_are_none():
    _, edges, colors = _graph(5, 4, 1)
    for wrong, kind in [(wp.array([[0, 5]], dtype=wp.int32, ndim=2), ValueError), (wp.array([[0.0, 1.0]], dtype=float, ndim=2), RuntimeError)]:
        with pytest.raises(kind, match="graph_coloring_assign"):
            wp.utils.graph_coloring_assign(wrong, colors)
    colors.fill_(7)
    with pytest.raises(ValueError, match="colours are from 0 to 1"):
        wp.utils.graph_coloring_balance(edges, colors, 2, 1.0)


@pytest.mark.parametrize("kind", [np.int32, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_segments_are_sorted(kind, seed):
    rng = np.random.default_rng(seed)
    count = 40
    keys = rng.integers(-5, 5, 2 * count).astype(kind)
    if kind is np.float32:
        keys[:4] = [-0.0, np.inf, -np.inf, 1e-40]
    values = np.arange(2 * count, dtype=np.int32)
    cuts = np.sort(rng.integers(0, count + 1, 6)).astype(np.int32)
    starts, ends = cuts[0::2], cuts[1::2]
    wanted_keys, wanted_values = keys.copy(), values.copy()
    for begin, end in zip(starts, ends):
        order = sorted(range(begin, end), key=lambda n: (keys[n], n))
        wanted_keys[begin:end], wanted_values[begin:end] = keys[order], values[order]
    k, v = wp.array(keys), wp.array(values)
    wp.utils.segmented_sort_pairs(k, v, count, wp.array(starts), wp.array(ends))
    assert k.numpy().tolist() == wanted_keys.tolist() and v.numpy().tolist() == wanted_values.tolist()
    # Starts alone: each segment ends where the next begins.
    k, v = wp.array(keys), wp.array(values)
    wp.utils.segmented_sort_pairs(k, v, count, wp.array(np.array([0, 10, 10, count], np.int32)))
    for begin, end in [(0, 10), (10, count)]:
        assert (np.diff(k.numpy()[begin:end]) >= 0).all()


def test_segments_out_of_range():
    k, v = wp.zeros(12, dtype=wp.int32), wp.zeros(12, dtype=wp.int32)
    for starts, ends in [([0, 7], None), ([3], [2]), ([-1], [2])]:
        given = [wp.array(one, dtype=wp.int32) for one in (starts, ends) if one]
        with pytest.raises(ValueError, match="segment 0 is"):
            wp.utils.segmented_sort_pairs(k, v, 6, *given)
    with pytest.raises(RuntimeError, match="needs room for 2"):
        wp.utils.segmented_sort_pairs(k, v, 7, wp.array([0, 1], dtype=wp.int32))
