"""Tests of indices that a launch answers for all of its threads: with one thread, element or step too many, each is made again.

Every launch is one that plain loops in numpy tell apart: what they may not touch is raised and left out, all else is there.
"""

import kc
import numpy as np
import pytest


def on(device, *arrays):
    return [kc.array(array, device=device) for array in arrays]


def numbers(*shape, kind=np.float32):
    return (np.arange(np.prod(shape)).reshape(shape) % 7 + 1).astype(kind)


def raised(wait):
    """The array, index and extent of the error that a wait raises; None without."""
    try:
        wait()
    except kc.IndexError as error:
        return error.array, error.index, error.extent
    return None


@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]


@pytest.mark.parametrize("nx, ny", [(600, 600), (599, 600), (600, 599), (900, 700)])
def test_threads_and_elements(nx, ny):
    x, y = on("cuda", numbers(nx), numbers(ny))
    with kc.checked():
        saxpy(600, 3.0, x, y)
        found = raised(kc.devices()[0].synchronize)
    wanted = numbers(ny)
    inside = min(nx, ny, 600)
    wanted[:inside] += 3 * numbers(nx)[:inside]
    assert y.numpy().tolist() == wanted.tolist()
    assert found == {599 - (nx < 600): None, 598: (("x" if nx < 600 else "y"), 599, 599)}[inside - 1]


@kc.kernel
def turned(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
    i, j = kc.tid()
    y[i, j] = x[j, i] + x[j, i]


@pytest.mark.parametrize("shape", [(40, 33), (33, 40)])
def test_coordinates_have_extents_of_their_own(shape):
    x, y = on("cuda", numbers(33, 40), np.zeros((40, 33), np.float32))
    with kc.checked():
        turned(shape, x, y)
        found = raised(kc.devices()[0].synchronize)
    if shape == (40, 33):
        assert found is None
        assert (y.numpy() == 2 * numbers(33, 40).T).all()
    else:
        assert found is not None and found[1] >= found[2] == 33
        assert (y.numpy()[:33] == 2 * numbers(33, 40).T[:33]).all() and not y.numpy()[33:].any()


@kc.kernel
def reflected(x: kc.array(dtype=int), y: kc.array(dtype=int), z: kc.array(dtype=int)):
    i = kc.tid()
    n = x.shape[0]
    left = kc.clamp(i - 1, 0, n - 1)
    right = kc.min(kc.max(0, i + 1), n - 1)
    z[i] = x[left] + x[right] + y[kc.clamp(i, 0, n - 1)]


@pytest.mark.parametrize("n, m", [(50, 50), (50, 49), (20, 20), (1, 1), (0, 1)])
def test_an_index_is_held_inside_by_extents(n, m):
    x, y, z = on("cuda", numbers(n, kind=np.int32), numbers(m, kind=np.int32), np.full(50, -1, np.int32))
    with kc.checked():
        reflected(50, x, y, z)
        found = raised(kc.devices()[0].synchronize)
    # With no element n - 1 is -1, which is y's last one.
    at = lambda a, k: a[k] if -len(a) <= k < len(a) else 0
    clamp = lambda k: min(max(k, 0), n - 1)
    of = numbers(n, kind=np.int32), numbers(m, kind=np.int32)
    wanted = [at(of[0], clamp(i - 1)) + at(of[0], clamp(i + 1)) + at(of[1], clamp(i)) for i in range(50)]
    assert z.numpy().tolist() == wanted
    assert found == (("y", 49, 49) if m == 49 else ("x", -1, 0) if n == 0 else None)


@kc.kernel
def strips(x: kc.array(dtype=float), step: int, first: int, total: kc.array(dtype=float)):
    t = kc.tid()
    s = float(0.0)
    for i in range(t, x.shape[0], step):
        s += x[i] * x[i]
    for k in range(first, 5):
        s += x[k]
    total[t] = s


@pytest.mark.parametrize("step", [1, 3, 1000, 0, -1, -4])
@pytest.mark.parametrize("n, first", [(40, 0), (40, 3), (4, 0), (4, 9), (40, -2)])
def test_loops_go_up_to_an_extent_or_down_from_it(step, n, first):
    x, total = on("cuda", numbers(n), np.zeros(8, np.float32))
    with kc.checked():
        strips(8, x, step, first, total)
        found = raised(kc.devices()[0].synchronize)
    wanted, missed = [], set()
    for t in range(8):
        read = [(i, 2) for i in (range(t, n, step) if step else ())] + [(k, 1) for k in range(first, 5)]
        missed |= {i for i, _ in read if not -n <= i < n}
        wanted.append(sum(float(numbers(n)[i]) ** power for i, power in read if -n <= i < n))
    assert total.numpy().tolist() == wanted
    assert (found is not None) == bool(missed)
    assert found is None or found[0] == "x" and found[1] in missed and found[2] == n


@kc.kernel
def three(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]
    kc.atomic_add(y, 0, x[i])
    kc.atomic_add(y, 2, x[i])


@pytest.mark.parametrize("n", [1, 2, 3, 64])
def test_elements_with_a_number(n):
    x, y = on("cuda", np.zeros(n, np.float32), numbers(n))
    with kc.checked():
        three(n, x, y)
        found = raised(kc.devices()[0].synchronize)
    assert found == (None if n > 2 else ("y", 2, n))
    assert not y.numpy().any()


@kc.kernel
def again(at: kc.array(dtype=int), x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    k = at[i]
    a = x[k]
    b = x[k]
    x[k] = a + b
    y[i] = x[k]


def test_a_load_behind_a_store_is_made_again():
    at, x, y = on("cuda", np.array([2, 9, 0], np.int32), numbers(3), np.full(3, -1, np.float32))
    with kc.checked():
        again(3, at, x, y)
        found = raised(kc.devices()[0].synchronize)
    assert found == ("x", 9, 3)
    assert x.numpy().tolist() == [2, 2, 6] and y.numpy().tolist() == [6, 0, 2]


@kc.kernel
def both(x: kc.array(dtype=float), y: kc.array(dtype=float), z: kc.array(dtype=float)):
    i = kc.tid()
    a = x[i]
    y[i] = 10.0
    z[i] = a + x[i]


def test_one_array_twice_is_read_again():
    x, z = on("cuda", numbers(5), np.zeros(5, np.float32))
    with kc.checked():
        both(5, x, x, z)
    assert z.numpy().tolist() == (numbers(5) + 10).tolist()


@kc.kernel
def some(n: int, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    if i >= n:
        return
    y[i] = x[i] + y[i] + x[i] * y[i]


@pytest.mark.parametrize("n, elements", [(10, 10), (10, 12), (12, 10)])
def test_more_threads_than_elements(n, elements):
    x, y = on("cuda", numbers(elements), numbers(elements))
    with kc.checked():
        some(64, n, x, y)
        found = raised(kc.devices()[0].synchronize)
    inside = min(n, elements)
    v = numbers(elements)
    v[:inside] = 2 * v[:inside] + v[:inside] ** 2
    assert y.numpy().tolist() == v.tolist()
    assert (found is None) == (n <= elements)


@pytest.mark.parametrize("n", [300, 299])
def test_gradients_in_both_forms(n):
    x, y = (kc.array(numbers(k), device="cuda", requires_grad=True) for k in (300, n))
    y.grad.copy_(np.ones(n, np.float32))
    wait = kc.devices()[0].synchronize
    with kc.checked():
        saxpy.grad(300, 3.0, x, y)
        # Of the way there and the way back.
        found = raised(wait), raised(wait)
    assert [bool(error) for error in found] == [n == 299] * 2
    assert x.grad.numpy().tolist() == [3.0] * n + [0.0] * (300 - n)
