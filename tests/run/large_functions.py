"""Functions so large that machine code calls them: without results, with one, and with several."""

import numpy as np
import warp as wp


@wp.func
def order(rows: wp.array2d(dtype=float), i: int, a: int, b: int):
    low = wp.min(rows[i, a], rows[i, b])
    high = wp.max(rows[i, a], rows[i, b])
    rows[i, a] = low
    rows[i, b] = high


# Batcher's network for eight numbers.
@wp.func
def sort8(rows: wp.array2d(dtype=float), i: int):
    order(rows, i, 0, 1)
    order(rows, i, 2, 3)
    order(rows, i, 4, 5)
    order(rows, i, 6, 7)
    order(rows, i, 0, 2)
    order(rows, i, 1, 3)
    order(rows, i, 4, 6)
    order(rows, i, 5, 7)
    order(rows, i, 1, 2)
    order(rows, i, 5, 6)
    order(rows, i, 0, 4)
    order(rows, i, 1, 5)
    order(rows, i, 2, 6)
    order(rows, i, 3, 7)
    order(rows, i, 2, 4)
    order(rows, i, 3, 5)
    order(rows, i, 1, 2)
    order(rows, i, 3, 4)
    order(rows, i, 5, 6)


@wp.func
def middle(rows: wp.array2d(dtype=float), i: int) -> float:
    sort8(rows, i)
    return 0.5 * (rows[i, 3] + rows[i, 4])


@wp.func
def ends(rows: wp.array2d(dtype=float), i: int):
    sort8(rows, i)
    return rows[i, 0], rows[i, 7], rows[i, 3] < 0.0


@wp.func
def shifted(rows: wp.array2d(dtype=float), i: int, by: float):
    for k in range(8):
        rows[i, k] = wp.sin(rows[i, k] + by)
    sort8(rows, i)


# Ten in each, so that a kernel with nine of these is too large to have all of it in one function.
@wp.func
def ten(rows: wp.array2d(dtype=float), i: int, by: float):
    shifted(rows, i, by)
    shifted(rows, i, by + 0.1)
    shifted(rows, i, by - 0.2)
    shifted(rows, i, by + 0.3)
    shifted(rows, i, by - 0.4)
    shifted(rows, i, by + 0.5)
    shifted(rows, i, by - 0.6)
    shifted(rows, i, by + 0.7)
    shifted(rows, i, by - 0.8)
    shifted(rows, i, by + 0.9)


# Its gradient would be fifty times the text.
@wp.kernel(enable_backward=False)
def medians(rows: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    sort8(rows, i)
    if rows[i, 0] < 0.0:
        ten(rows, i, 0.25)
    ten(rows, i, 0.5)
    out[i, 0] = middle(rows, i)
    for k in range(i + 1):
        ten(rows, i, float(k))
    ten(rows, i, 0.75)
    ten(rows, i, 1.25)
    low, high, negative = ends(rows, i)
    out[i, 1] = low
    out[i, 2] = high
    out[i, 3] = wp.where(negative, 1.0, 0.0)
    ten(rows, i, 1.75)
    ten(rows, i, 2.0)
    ten(rows, i, 2.5)
    ten(rows, i, 3.0)
    out[i, 4] = middle(rows, i)


STEPS = [0.0, 0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.9]


def expected(rows):
    after, out = np.zeros_like(rows), np.zeros((len(rows), 5), np.float32)

    def ten(row, by):
        for step in STEPS:
            row = np.sort(np.sin(row + (by + step)))
        return row

    for i, row in enumerate(rows.astype(np.float64)):
        row = np.sort(row)
        if row[0] < 0.0:
            row = ten(row, 0.25)
        row = ten(row, 0.5)
        out[i, 0] = 0.5 * (row[3] + row[4])
        for k in range(i + 1):
            row = ten(row, float(k))
        row = ten(ten(row, 0.75), 1.25)
        out[i, 1:4] = row[0], row[7], row[3] < 0.0
        for by in (1.75, 2.0, 2.5, 3.0):
            row = ten(row, by)
        out[i, 4] = 0.5 * (row[3] + row[4])
        after[i] = row
    return {"rows": after, "out": out}


def cases():
    rng = np.random.default_rng(5)
    rows = rng.uniform(-0.5, 1.0, (4, 8)).astype(np.float32)
    yield case("medians", 4, {"rows": rows, "out": np.zeros((4, 5), np.float32)}, expected(rows))
