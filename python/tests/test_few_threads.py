"""Launches whose rows have a few threads: each thread runs once, with its own coordinates."""

import numpy as np
import pytest

import kc


@kc.kernel
def mark2(out: kc.array2d(dtype=int)):
    i, j = kc.tid()
    out[i, j] = out[i, j] + 1000 * i + j + 1


@kc.kernel
def mark3(out: kc.array3d(dtype=int)):
    i, j, k = kc.tid()
    out[i, j, k] = out[i, j, k] + 1000000 * i + 1000 * j + k + 1


@kc.kernel
def mark4(out: kc.array4d(dtype=int), at: kc.array(dtype=int)):
    i, j, k, l = kc.tid()
    out[i, j, k, l] = out[i, j, k, l] + 1000000 * i + 10000 * j + 100 * k + l + at[i + l]


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4097, 1), (1000, 2), (37, 3), (33, 4), (9, 17)])
def test_two_dimensions(shape):
    out = np.zeros(shape, np.int32)
    mark2(shape, out)
    i, j = np.indices(shape)
    assert np.array_equal(out, 1000 * i + j + 1)


@pytest.mark.parametrize("shape", [(5, 1, 1), (64, 64, 1), (3, 70, 2), (40, 2, 3), (2, 1, 40)])
def test_three_dimensions(shape):
    out = np.zeros(shape, np.int32)
    mark3(shape, out)
    i, j, k = np.indices(shape)
    assert np.array_equal(out, 1000000 * i + 1000 * j + k + 1)


@pytest.mark.parametrize("shape", [(2, 3, 4, 1), (7, 1, 2, 3), (20, 20, 20, 2), (1, 1, 1, 1)])
def test_four_dimensions(shape):
    out, at = np.zeros(shape, np.int32), np.ones(shape[0] + shape[3], np.int32)
    mark4(shape, out, at)
    i, j, k, l = np.indices(shape)
    assert np.array_equal(out, 1000000 * i + 10000 * j + 100 * k + l + 1)


def test_an_error_names_the_thread():
    shape = (50, 4, 3, 2)
    with pytest.raises(kc.Error) as told:
        mark4(shape, np.zeros(shape, np.int32), np.ones(50, np.int32))
    assert told.value.code == "E1101" and told.value.thread == (49, 0, 0, 1)
