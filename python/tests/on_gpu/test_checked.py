"""Launches that test every index: what a thread does wrong is left out, and raised at the next wait, with the Python line."""

import inspect

import kc
import numpy as np
import pytest
from conftest import program


@kc.kernel
def shift(k: int, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = 2.0 * x[i + k]


@kc.kernel
def store(k: int, y: kc.array2d(dtype=float)):
    i, j = kc.tid()
    y[i, j + k] = 1.0


@kc.kernel
def add_up(k: int, x: kc.array(dtype=float), total: kc.array(dtype=float)):
    i = kc.tid()
    kc.atomic_add(total, k, x[i])


@kc.kernel
def one_of(k: int, v: kc.array(dtype=kc.vec3), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = v[i][k + i]


@kc.kernel
def positive(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    assert x[i] > 0.0, "x is not positive"
    y[i] = kc.log(x[i])


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel._kc_kernel)
    return first + next(n for n, line in enumerate(lines) if text in line)


def array(*numbers, **options):
    return kc.array(list(numbers), dtype=float, device="cuda", **options)


def test_an_index_outside_is_raised_at_the_wait():
    x, y = array(1.0, 2.0, 3.0), kc.zeros(3, device="cuda")
    with kc.checked():
        shift(3, 1, x, y)
    with pytest.raises(kc.IndexError) as caught:
        y.numpy()
    error = caught.value
    assert (error.thread, error.array, error.index, error.extent, error.dimension) == ((2,), "x", 3, 3, 0)
    assert error.code == "E1101" and error.filename == __file__ and error.lineno == line_of(shift, "2.0 * x")
    assert "y[i] = 2.0 * x[i + k]" in str(error)
    # The error is raised once. The load gave 0, the other threads ran, and the GPU still works.
    assert y.numpy().tolist() == [4, 6, 0]
    with kc.checked():
        shift(3, -2, x, y)
    assert y.numpy().tolist() == [4, 6, 2], "negative indices count from the end"


@pytest.mark.parametrize("k, index, thread", [(2, 4, (0, 2)), (-6, -6, (0, 0))])
def test_a_store_is_left_out(k, index, thread):
    y = kc.zeros((2, 4), device="cuda")
    with kc.checked():
        store((1, 3), k, y[:1])
        with pytest.raises(kc.IndexError) as caught:
            kc.devices()[0].synchronize()
    assert (caught.value.thread, caught.value.array, caught.value.dimension) == (thread, "y", 1)
    assert (caught.value.index, caught.value.extent) == (index, 4)
    left = [[0, 0, 1, 1], [0] * 4] if k == 2 else [[1, 0, 0, 1], [0] * 4]
    assert y.numpy().tolist() == left if k == 2 else y.numpy()[1].tolist() == [0] * 4


@pytest.mark.parametrize("n", [1, 300, 70_000])
def test_sums_to_a_place_outside(n):
    x, total = kc.ones(n, device="cuda"), kc.zeros(2, device="cuda")
    with kc.checked():
        add_up(n, 1, x, total)
        assert total.numpy().tolist() == [0, n]
        add_up(n, 2, x, total)
        with pytest.raises(kc.IndexError) as caught:
            total.numpy()
    assert (caught.value.array, caught.value.index, caught.value.extent) == ("total", 2, 2)
    assert 0 <= caught.value.thread[0] < n and total.numpy().tolist() == [0, n]


def test_a_component_that_is_not_there():
    v, y = kc.ones(3, dtype=kc.vec3, device="cuda"), kc.zeros(3, device="cuda")
    with kc.checked():
        one_of(3, 1, v, y)
        with pytest.raises(kc.IndexError) as caught:
            y.numpy()
    assert (caught.value.thread, caught.value.index, caught.value.extent, caught.value.dimension) == ((2,), 3, 3, None)
    assert y.numpy().tolist() == [1, 1, 0]


def test_an_assert():
    x, y = array(1.0, -1.0, 4.0), kc.zeros(3, device="cuda")
    with kc.checked():
        positive(3, x, y)
        with pytest.raises(kc.AssertionError, match="x is not positive") as caught:
            y.numpy()
    assert caught.value.thread == (1,) and caught.value.lineno == line_of(positive, "assert")
    np.testing.assert_allclose(y.numpy()[[0, 2]], np.log([1, 4]), rtol=1e-6)


@kc.kernel
def scattered(index: kc.array(dtype=int), x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[index[i]] = x[i] * x[i]


def test_gradients_and_tapes():
    index = kc.array([0, 1, 7], dtype=int, device="cuda")
    x, y = array(1.0, 2.0, 3.0, requires_grad=True), kc.zeros(3, device="cuda", requires_grad=True)
    for run in (
        lambda: scattered.grad(3, index, x, y, grads={"y": 1.0}),
        lambda: scattered.jvp(3, index, x, y, tangents={"x": array(1.0, 1.0, 1.0)}),
    ):
        with kc.checked(), pytest.raises(kc.IndexError) as caught:
            run()
            kc.devices()[0].synchronize()
        assert (caught.value.array, caught.value.index, caught.value.extent) == ("y", 7, 3)
        assert caught.value.lineno == line_of(scattered, "x[i] * x[i]")
    x.grad.zero_()
    tape = kc.Tape()
    with kc.checked():
        with tape:
            scattered(3, index, x, y)
        with pytest.raises(kc.IndexError) as caught:
            kc.devices()[0].synchronize()
        assert caught.value.index == 7
    # The gradient of what was left out is 0, with tests as without an index outside.
    with kc.checked(), pytest.raises(kc.IndexError):
        tape.backward(grads={y: 1.0})
        kc.devices()[0].synchronize()


def test_the_next_launch_raises_it_and_is_not_done():
    x, y = array(1.0, 2.0), kc.zeros(2, device="cuda")
    stream = kc.Stream()
    with kc.checked(), stream:
        shift(2, 1, x, y)
    event = stream.record()
    with pytest.raises(kc.IndexError):
        event.synchronize()
    with kc.checked():
        shift(2, 5, x, y)
        y.fill_(0.0)
        with pytest.raises(kc.IndexError) as caught:
            for _ in range(1000):
                shift(2, 0, x, y)
            kc.devices()[0].synchronize()
    assert caught.value.index in (5, 6)


def test_graphs():
    x, y = array(1.0, 2.0), kc.zeros(2, device="cuda")
    with kc.checked():
        with kc.Graph() as graph:
            shift(2, 1, x, y)
    for _ in range(2):
        graph.replay()
        with pytest.raises(kc.IndexError) as caught:
            y.numpy()
        assert caught.value.index == 2 and y.numpy().tolist() == [4, 0]


def test_without_it_nothing_is_tested():
    x, y = kc.zeros(10, device="cuda"), kc.zeros(10, device="cuda")
    shift(5, 1, x[:5], y)
    assert y.numpy().tolist() == [0] * 10
    with kc.checked():
        with kc.checked(False):
            shift(5, 1, x[:5], y)
        y.numpy()


@kc.kernel
def of_tiles(k: int, x: kc.array2d(dtype=float), s: kc.array(dtype=float)):
    i = kc.tid()
    t = kc.tile_load(x[i], shape=64)
    s[i + k] = kc.tile_sum(t)[0]


def test_tiles(rng):
    x, s = rng.random((3, 64), dtype=np.float32), kc.zeros(3, device="cuda")
    with kc.checked():
        of_tiles(3, 0, kc.array(x, device="cuda"), s)
        np.testing.assert_allclose(s.numpy(), x.sum(axis=1), rtol=1e-6)
        of_tiles(3, 1, kc.array(x, device="cuda"), s)
        with pytest.raises(kc.IndexError) as caught:
            s.numpy()
    assert (caught.value.thread, caught.value.array, caught.value.index) == ((2,), "s", 3)


@kc.kernel
def chase(first: int, next: kc.array(dtype=int), steps: kc.array(dtype=int)):
    i = kc.tid()
    at = first
    n = int(0)
    while at >= 0:
        at = next[at]
        n += 1
    steps[i] = n


def test_a_loop_whose_data_is_missing_ends():
    """What is loaded from outside is 0: the loop would go round for ever."""
    next, steps = kc.array([1, 9, -1], dtype=int, device="cuda"), kc.zeros(2, dtype=int, device="cuda")
    with kc.checked():
        chase(2, 0, next, steps)
        with pytest.raises(kc.IndexError) as caught:
            steps.numpy()
    assert (caught.value.array, caught.value.index) == ("next", 9)


@kc.kernel
def largest(m: kc.array(dtype=kc.mat33), y: kc.array(dtype=kc.mat33)):
    i = kc.tid()
    q, d = kc.eig3(m[i])
    y[i] = q


def test_a_near_degenerate_gradient_is_a_warning():
    m = np.array([np.diag([1.0, 2.0, 4.0]), np.eye(3)], np.float32)
    m, y = (kc.array(a, dtype=kc.mat33, device="cuda", requires_grad=True) for a in (m, np.zeros_like(m)))
    with kc.checked(), pytest.warns(kc.GradientWarning, match="W1120[^$]*thread \\(1\\)"):
        largest.grad(2, m, y, grads={"y": 1.0})
        kc.devices()[0].synchronize()


@kc.kernel
def lengths(v: kc.array(dtype=kc.vec3), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = kc.length(v[i])


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_gradient_that_a_convention_decides_is_a_warning_as_on_the_host(device):
    v = kc.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0]], dtype=kc.vec3, device=device, requires_grad=True)
    y = kc.zeros(2, device=device)
    with kc.checked(), pytest.warns(kc.GradientWarning, match="W1120[^$]*thread \\(1\\): the length of the zero vector"):
        lengths.grad(2, v, y, grads={"y": 1.0})
        kc.devices()[0].synchronize()
    assert np.allclose(v.grad.numpy(), [[0.6, 0.8, 0.0], [0.0, 0.0, 0.0]])


def test_all_launches_of_a_program():
    text = """
import kc
@kc.kernel
def far(x: kc.array(dtype=float)):
    x[kc.tid() + 1000000000] = 1.0
x = kc.zeros(3, device="cuda")
far(3, x)
try:
    x.numpy()
except kc.IndexError as error:
    print(error.index, error.extent, x.numpy().tolist())
"""
    done = program(text, KC_CHECKED="1")
    assert done.returncode == 0 and done.stdout in [f"{10**9 + n} 3 [0.0, 0.0, 0.0]\n" for n in range(3)], done.stderr
    assert "LaunchError" in program(text, KC_CHECKED="0").stderr
