"""Kernels that do not ask for a coordinate: what one thread leaves is what all would."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kc


@kc.kernel
def first(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i, j, k = kc.tid()
    y[i] = 2.0 * x[i]


@kc.kernel
def middle(x: kc.array(dtype=float), y: kc.array2d(dtype=float)):
    i, j, k = kc.tid()
    y[i, k] = x[i] + float(k)


@kc.kernel
def last(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i, j = kc.tid()
    y[j] = 2.0 * x[j]


@kc.kernel
def counts(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i, j = kc.tid()
    kc.atomic_add(y, i, x[i])


@kc.kernel
def adds(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i, j = kc.tid()
    y[i] = y[i] + x[i]


@kc.kernel
def of_tiles(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
    i, b, t = kc.tid()
    a = kc.tile_load(x[i], shape=8, offset=b * 8)
    kc.tile_store(y[i], kc.tile_sum(a), offset=b)


def numbers(n):
    return np.random.default_rng(5).standard_normal(n, dtype=np.float32)


@pytest.mark.parametrize("extents", [(7, 5), (1, 1), (3, 1), (1, 4000)])
def test_each_place_of_the_idle_coordinate(extents):
    a, b = extents
    x = numbers(6)
    y, pairs = np.zeros(6, np.float32), np.zeros((6, b), np.float32)
    first((6, a, b), x, y)
    assert np.array_equal(y, 2 * x)
    middle((6, a, b), x, pairs)
    assert np.array_equal(pairs, x[:, None] + np.arange(b, dtype=np.float32))
    y[:] = 0
    last((a * b, 6), x, y)
    assert np.array_equal(y, 2 * x)


def test_a_launch_without_threads_does_nothing():
    x, y = numbers(6), np.zeros(6, np.float32)
    first((6, 0, 4), x, y)
    assert not y.any()


def test_what_shows_how_often_a_thread_runs():
    x = np.ones(4, np.float32)
    for kernel in (counts, adds):
        y = np.zeros(4, np.float32)
        kernel((4, 9), x, y)
        assert np.array_equal(y, np.full(4, 9, np.float32)), kernel


def test_one_array_twice():
    # Each thread doubles what the one before it left.
    x = np.ones(4, np.float32)
    last((5, 4), x, x)
    assert np.array_equal(x, np.full(4, 32, np.float32))
    both = np.ones(6, np.float32)
    last((3, 4), both[:4], both[2:])
    expected = np.ones(6, np.float32)
    for _ in range(3):
        for j in range(4):
            expected[2 + j] = 2 * expected[j]
    assert np.array_equal(both, expected)


def test_tiles_of_a_block():
    x, y = numbers((3, 40)), np.zeros((3, 5), np.float32)
    of_tiles((3, 5, 64), x, y)
    assert np.allclose(y, x.reshape(3, 5, 8).sum(axis=2), rtol=1e-5, atol=1e-5)


def test_an_error_names_the_first_thread():
    x, y = numbers(3), np.zeros(8, np.float32)
    with pytest.raises(kc.Error) as told:
        last((5, 8), x, y)
    assert told.value.code == "E1101" and told.value.thread == (0, 3)
    with pytest.raises(kc.Error) as told:
        middle((4, 2, 3), x, np.zeros((4, 3), np.float32))
    assert told.value.code == "E1101" and told.value.thread == (3, 0, 0)


def test_idle_threads_do_not_run(tmp_path):
    program = tmp_path / "many.py"
    program.write_text(
        textwrap.dedent("""
            import numpy as np
            import kc

            @kc.kernel
            def first(x: kc.array(dtype=float), y: kc.array(dtype=float)):
                i, j, k = kc.tid()
                y[i] = 2.0 * x[i]

            x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
            first((4, 2**30, 2**28), x, y)
            assert (y == 2).all()
        """)
    )
    subprocess.run([sys.executable, program], check=True, timeout=120)
