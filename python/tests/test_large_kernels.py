"""Kernels so large that the host calls their functions, which is seen in nothing that they compute: results, errors, gradients."""

import numpy as np
import pytest

import kc

N = 53
FUNCTIONS, STEPS = 12, 60

HEAD = """
import warp as wp
"""

FUNCTION = """
@wp.func
def part{k}(i: int, scale: float, ids: wp.array(dtype=int), x: wp.array(dtype=float), grid: wp.array2d(dtype=float), sums: wp.array(dtype=float), v: wp.vec3):
    a = v
{steps}
    if ids[i] % 7 == {k}:
        return wp.vec3(x[ids[i] + {k}], 0.0, 0.0)
    wp.atomic_add(sums, {k}, 1.0)
    return a
"""

STEP = "    a = wp.vec3(a[1] * 0.5 + x[i] * scale, a[2] * 0.25 + grid[i, {c}], a[0] * 0.125 + float({n}))\n"

KERNEL = """
@wp.kernel
def large(scale: float, ids: wp.array(dtype=int), x: wp.array(dtype=float), grid: wp.array2d(dtype=float), sums: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = wp.vec3(1.0, 2.0, 3.0)
    for turn in range(2):
{calls}
    y[i] = v
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    steps = "".join(STEP.format(c=n % 3, n=n) for n in range(STEPS))
    functions = "".join(FUNCTION.format(k=k, steps=steps) for k in range(FUNCTIONS))
    calls = "".join(f"        v = part{k}(i, scale, ids, x, grid, sums, v)\n" for k in range(FUNCTIONS))
    path = tmp_path_factory.mktemp("large") / "large.py"
    path.write_text(HEAD + functions + KERNEL.format(calls=calls))
    return kc.compile(path)


def given(rng):
    ids = rng.integers(0, N - FUNCTIONS, N).astype(np.int32)
    x = rng.normal(size=N).astype(np.float32)
    return 0.75, ids, x, rng.normal(size=(N, 3)).astype(np.float32), np.zeros(FUNCTIONS, np.float32), np.zeros((N, 3), np.float32)


def expected(scale, ids, x, grid):
    f = np.float32
    y, sums = np.zeros((N, 3), f), np.zeros(FUNCTIONS, f)
    for i in range(N):
        v = np.array([1, 2, 3], f)
        for _ in range(2):
            for k in range(FUNCTIONS):
                a = v
                for n in range(STEPS):
                    a = np.array([a[1] * f(0.5) + x[i] * f(scale), a[2] * f(0.25) + grid[i, n % 3], a[0] * f(0.125) + f(n)], f)
                if ids[i] % 7 == k:
                    v = np.array([x[ids[i] + k], 0, 0], f)
                else:
                    sums[k] += 1
                    v = a
        y[i] = v
    return y, sums


def test_the_results_are_those_of_numpy(large, rng):
    scale, ids, x, grid, sums, y = given(rng)
    large.large(N, scale, ids, x, grid, sums, y)
    by_numpy, counts = expected(scale, ids, x, grid)
    assert np.array_equal(y, by_numpy) and np.array_equal(sums, counts)


def test_an_error_within_a_function_names_thread_and_array(large, rng):
    scale, ids, x, grid, sums, y = given(rng)
    ids[17] = 7 * N + 2
    with pytest.raises(kc.IndexError) as told:
        large.large(N, scale, ids, x, grid, sums, y)
    assert told.value.thread == (17,) and told.value.array == "x" and told.value.index == 7 * N + 4


def test_gradients_go_through_the_calls(large, rng):
    scale, ids, x, grid, sums, y = given(rng)
    weights = rng.normal(size=(N, 3)).astype(np.float32)
    found = large.large.grad(N, scale, ids, x, grid, sums, y, grads={"y": weights})["grid"]
    step = 0.5
    for i, c in [(0, 0), (7, 1), (N - 1, 2)]:
        ends = []
        for sign in (1, -1):
            moved = grid.copy()
            moved[i, c] += sign * step
            ends.append(expected(scale, ids, x, moved)[0])
        # The result is linear in the grid.
        difference = float(((ends[0] - ends[1]) * weights).sum()) / (2 * step)
        assert abs(found[i, c] - difference) <= 1e-3 * max(1.0, abs(difference))
