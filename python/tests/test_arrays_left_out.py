"""Arrays that a launch leaves out, or that have no elements: kernels that use them in some threads alone run as they do elsewhere, and
an access is still told."""

import numpy as np
import pytest

import kc

N = 203


@kc.kernel
def relax(ids: kc.array(dtype=int), counts: kc.array(dtype=int), ends: kc.array2d(dtype=int), tets: kc.array2d(dtype=int),
          mass: kc.array(dtype=float), x: kc.array(dtype=kc.vec3), out: kc.array(dtype=kc.vec3)):
    i = ids[kc.tid()]
    sum = x[i] * 0.5
    for k in range(counts[i]):
        if tets:
            sum = sum + x[tets[k, 3]]
        sum = sum + x[ends[k, 1]] - x[ends[k, 0]]
    if mass:
        sum = sum * mass[i]
    out[i] = sum


@kc.kernel
def shifted(bias: kc.array(dtype=float), rows: kc.array2d(dtype=float), which: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    if which[i] == 1:
        y[i] = y[i] + bias[i]
    if which[i] == 2:
        y[i] = y[i] + rows[i, 2]


def made():
    rng = np.random.default_rng(3)
    ids = rng.permutation(N).astype(np.int32)
    counts = rng.integers(0, 4, N).astype(np.int32)
    ends = rng.integers(0, N, (4, 2)).astype(np.int32)
    x = rng.normal(size=(N, 3)).astype(np.float32)
    return ids, counts, ends, x


@pytest.mark.parametrize("tets", [None, np.zeros((0, 4), np.int32), np.zeros((0, 0), np.int32)])
@pytest.mark.parametrize("given", [False, True])
def test_no_array_is_as_good_as_one(tets, given):
    ids, counts, ends, x = made()
    if tets is not None:
        counts[:] = 0  # An array without elements is there: `if tets` holds.
    mass = np.linspace(1, 2, N, dtype=np.float32) if given else None
    out = np.zeros_like(x)
    relax(N, ids, counts, ends, tets, mass, x, out)
    for i in range(N):
        expected = x[i] * np.float32(0.5)
        for k in range(counts[i]):
            expected = expected + x[ends[k, 1]] - x[ends[k, 0]]
        assert np.array_equal(out[i], expected * mass[i] if given else expected), i


@pytest.mark.parametrize("at", [0, 1, 17, 100, 202])
@pytest.mark.parametrize("what, name, shape", [(1, "bias", (0,)), (2, "rows", (0, 3)), (2, "rows", (N, 0)), (2, "rows", (N, 2))])
def test_an_access_is_told(at, what, name, shape):
    which = np.zeros(N, np.int32)
    which[at] = what
    y = np.ones(N, np.float32)
    bias, rows = np.ones(N, np.float32), np.ones((N, 3), np.float32)
    given = {"bias": bias, "rows": rows, name: np.zeros(shape, np.float32)}
    with pytest.raises(kc.Error) as told:
        shifted(N, given["bias"], given["rows"], which, y)
    assert told.value.code == "E1101"
    assert name in str(told.value) and f"{at}" in str(told.value)
    assert np.array_equal(np.delete(y, at), np.ones(N - 1, np.float32))


def test_neighbours_of_threads_that_have_none():
    which = np.full(N, 0, np.int32)
    which[::3] = 2
    y, rows = np.zeros(N, np.float32), np.arange(3 * N, dtype=np.float32).reshape(N, 3)
    shifted(N, np.zeros(0, np.float32), rows, which, y)
    assert np.array_equal(y, np.where(which == 2, rows[:, 2], 0))
