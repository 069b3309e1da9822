"""Arrays of structs that are made of values, with arrays in them too."""

import gc
import pickle
import weakref

import kc
import kc.warp as wp
import numpy as np
import pytest


@kc.struct
class Part:
    count: kc.int32
    place: kc.vec3
    live: bool


@kc.struct
class Pair:
    left: Part
    right: Part


@wp.struct
class Row:
    n: int
    scale: float
    values: wp.array(dtype=float)


@wp.struct
class Nested:
    v: wp.vec3
    row: Row
    grid: wp.array2d(dtype=wp.vec2)


@wp.struct
class Whole:
    n: int
    scale: float
    values: wp.array(dtype=int)


@wp.struct
class Table:
    rows: wp.array(dtype=Row)


@kc.kernel
def of_parts(parts: kc.array(dtype=Pair), out: kc.array(dtype=float)):
    i = kc.tid()
    if parts[i].left.live:
        out[i] = float(parts[i].left.count) * parts[i].right.place[1]


@wp.kernel
def sums(rows: wp.array(dtype=Row), out: wp.array(dtype=float)):
    i = wp.tid()
    total = float(0.0)
    for j in range(rows[i].n):
        total += rows[i].values[j] * rows[i].scale
    out[i] = total


@wp.kernel
def of_table(tables: wp.array(dtype=Table), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = tables[i].rows[1].values[0]


@wp.kernel
def write(rows: wp.array(dtype=Row), j: int):
    i = wp.tid()
    rows[i].values[j] = 100.0
    rows[i].scale = 2.0


@wp.kernel
def deep(x: wp.array(dtype=Nested), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i].v[1] + x[i].grid[1, 0][1] + x[i].row.values[2]


@wp.kernel
def store(rows: wp.array(dtype=Row), values: wp.array(dtype=float)):
    i = wp.tid()
    rows[i].values = values


def row(*values):
    made = Row()
    made.n, made.scale, made.values = len(values), 10.0, wp.array(values, dtype=float)
    return made


def found(rows):
    out = wp.zeros(len(rows), dtype=float)
    wp.launch(sums, len(rows), [rows], [out])
    return out.numpy().tolist()


def test_lists_of_structs():
    part = Part(count=3, place=kc.vec3(1, 2, 3), live=True)
    pair = Pair(left=part, right=Part(place=kc.vec3(0, 5, 0)))
    pairs, out = kc.array([pair, Pair()], dtype=Pair), kc.zeros(2)
    of_parts(2, pairs, out)
    assert out.numpy().tolist() == [15, 0] and kc.array([pair]).dtype is Pair and kc.array([[pair], [pair]]).shape == (2, 1)
    pairs[1] = pair
    pairs[0] = Pair()
    out.zero_()
    of_parts(2, pairs, out)
    assert out.numpy().tolist() == [0, 15]
    pairs.fill_(pair)
    assert pairs.numpy()["left"]["count"].tolist() == [3, 3]
    pairs.zero_()
    assert not pairs.numpy()["left"]["count"].any()
    assert kc.array([{"count": 1, "place": (1, 2, 3), "live": False}, (2, [4, 5, 6], True)], dtype=Part).numpy()["place"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert kc.array([], dtype=Part).shape == (0,)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: kc.array([Part(), 5], dtype=Part), "expected a struct `Part`, found `5`"),
        (lambda: kc.array([Part()], dtype=Pair), "expected a struct `Pair`, found an object of type `Part`"),
        (lambda: kc.array(Part(), dtype=Part), "a list of structs"),
        (lambda: kc.array([Part(count=1.5)]), "`Part.count` is of type int32"),
        (lambda: kc.array([Part(place=[1, 2])]), "`Part.place` is of type vec3f, and what is given has the shape (2,)"),
        (lambda: kc.array([row(), Part()], dtype=Row), "expected a struct `Row`"),
        (lambda: kc.array([Row(values=wp.zeros(3, dtype=int))]), "1 dimension of float, found one of int32"),
        (lambda: kc.array([Row(values=np.zeros((2, 2), np.float32))]), "found one of float32 with the shape (2, 2)"),
        (lambda: kc.array([Row(values=[1.0, 2.0])]), "`Row.values` is an array, found an object of type `list`"),
        (lambda: kc.array([Row(values=np.broadcast_to(np.float32(1), 3))]), "cannot be written"),
    ],
)
def test_what_is_no_struct(make, words):
    with pytest.raises(kc.ArgumentError) as caught:
        make()
    assert words in str(caught.value)


def test_arrays_in_elements():
    rows = wp.array([row(1, 2, 7), row(5, 6)], dtype=Row)
    gc.collect()
    assert found(rows) == [100, 110] and found(rows[::-1]) == [110, 100] and found(wp.clone(rows)) == [100, 110]
    other = wp.zeros(2, dtype=Row)
    assert found(other) == [0, 0]
    other.assign(rows)
    rows[0] = row(4)
    gc.collect()
    assert found(rows) == [40, 110] and found(other) == [100, 110]
    rows.fill_(row(9))
    wp.copy(rows, other, count=1)
    assert found(rows) == [100, 90]
    wp.launch(write, 2, [rows, 0])
    assert found(rows) == [(100 + 2 + 7) * 2, 100 * 2]
    with pytest.raises(kc.IndexError):
        wp.launch(write, 2, [rows, 1])
    rows[1] = other[0]
    assert found(rows)[1] == (100 + 100 + 7) * 10
    rows.zero_()
    assert found(rows) == [0, 0]
    x = Nested(v=wp.vec3(1, 2, 3), row=row(1, 2, 7), grid=wp.array(np.arange(8).reshape(2, 2, 2), dtype=wp.vec2))
    out = wp.zeros(1, dtype=float)
    wp.launch(deep, 1, [wp.array([x], dtype=Nested)], [out])
    assert out.numpy()[0] == 2 + 5 + 7
    wp.launch(of_table, 1, [wp.array([Table(rows=wp.array([row(1), row(8)]))])], [out])
    assert out.numpy()[0] == 8


def test_arrays_in_elements_live_as_long_as_these():
    rows = wp.array([row(1), row(2)], dtype=Row)
    kept = wp.array([3.0], dtype=float)
    left = weakref.ref(kept)
    rows[0] = Row(n=1, scale=1.0, values=kept)
    del kept
    gc.collect()
    assert left() is not None and found(rows) == [3, 20]
    # Those that were replaced do not pile up.
    for n in range(1000):
        rows[0] = row(n)
    gc.collect()
    assert left() is None and found(rows) == [9990, 20]


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: wp.array([row(1)], dtype=Row).numpy(), "nobody is known to keep these"),
        (lambda: pickle.loads(pickle.dumps(wp.array([row(1)], dtype=Row))), "`values` of an element is an array that no Python code put there"),
        (lambda: kc.array(np.array(wp.array([row(1)], dtype=Row).numpy()), dtype=Row), "no Python code put there"),
        (lambda: wp.array([Whole(n=1, values=wp.zeros(1, dtype=int))], dtype=Whole), "structs `Whole`, whose fields are not those"),
    ],
)
def test_arrays_in_elements_of_which_nothing_is_known(make, words):
    with pytest.raises(kc.ArgumentError) as caught:
        sums(1, make(), np.zeros(1, np.float32))
    assert words in str(caught.value) and caught.value.code == "E1005"


def test_arrays_that_a_kernel_puts_into_elements():
    rows = wp.array([row(1)], dtype=Row)
    wp.launch(store, 1, [rows, wp.array([5.0], dtype=float)])
    with pytest.raises(kc.ArgumentError, match="no Python code put there"):
        found(rows)
    rows[0] = row(3)
    assert found(rows) == [30]


def test_derivatives_of_arrays_in_elements_are_refused():
    rows, out = wp.array([row(1)], dtype=Row), wp.zeros(1, dtype=float)
    with pytest.raises(kc.GradientError, match="E1103"):
        with wp.Tape():
            wp.launch(sums, 1, [rows], [out])
    for derive in (lambda: sums.grad(1, rows, out, grads={"out": 1.0}), lambda: sums.jvp(1, rows, out, tangents={})):
        with pytest.raises(kc.GradientError, match="its elements hold arrays"):
            derive()
