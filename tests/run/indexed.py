"""Indexed arrays: an array seen through lists of indices."""

from typing import Any

import numpy as np
import warp as wp


@wp.struct
class Holder:
    scale: float
    part: wp.indexedarray(dtype=float)


@wp.func
def twice(a: wp.indexedarray(dtype=float), i: int):
    return a[i] * 2.0


@wp.kernel
def pick(a: wp.indexedarray(dtype=float), out: wp.array(dtype=float), sizes: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = twice(a, i) + a[-1]
    a[i] = -1.0
    if i == 0:
        sizes[0] = a.shape[0]
        sizes[1] = len(a)
        sizes[2] = a.size + a.ndim


@wp.kernel
def rows(a: wp.indexedarray2d(dtype=float), out: wp.array2d(dtype=float), total: wp.array(dtype=float)):
    i, j = wp.tid()
    row = a[i]
    out[i, j] = row[j] + a[i][j] + a[i, j]
    wp.atomic_add(a, i, j, 100.0)
    wp.atomic_add(total, 0, float(a.shape[0] * 10 + row.shape[0]))


@wp.kernel
def held(h: Holder, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = h.part[i] * h.scale
    h.part[i] += 1.0


@wp.func
def doubled(a: "wp.indexedarray(dtype=Any)", i: int):
    return a[i] + a[i]


@wp.kernel
def of_any(a: wp.indexedarray(dtype=float), n: wp.indexedarray(dtype=int), out: wp.array(dtype=float), whole: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = doubled(a, i)
    whole[i] = doubled(n, i)


def cases():
    data = np.arange(8, dtype=np.float32) + np.float32(0.5)
    chosen = np.array([6, 0, 3], dtype=np.int32)
    after = data.copy()
    after[chosen] = -1
    # Threads run one after the other: the last one reads what it wrote itself.
    yield case(
        "pick", 1, dict(a=dict(data=data, indices_0=chosen), out=np.zeros(3), sizes=np.zeros(3)),
        dict(out=np.float32([data[6] * 2 + data[3], 0, 0]), sizes=[3, 3, 4]),
    )
    yield case(
        "pick", 1, dict(a=dict(data=data, indices_0=None), out=np.zeros(8), sizes=np.zeros(3)),
        dict(out=np.float32([data[0] * 2 + data[7]] + [0] * 7), sizes=[8, 8, 9]), id="pick_all",
    )
    counts = np.arange(8, dtype=np.int32) * 7
    yield case(
        "of_any", 3, dict(a=dict(data=data, indices_0=chosen), n=dict(data=counts, indices_0=None), out=np.zeros(3), whole=np.zeros(3)),
        dict(out=data[chosen] * np.float32(2), whole=counts[:3] * 2),
    )
    grid = np.arange(20, dtype=np.float32).reshape(4, 5)
    columns = np.array([4, 1], dtype=np.int32)
    yield case(
        "rows", (4, 2), dict(a=dict(data=grid, indices_0=None, indices_1=columns), out=np.zeros((4, 2)), total=np.zeros(1)),
        dict(out=grid[:, columns] * 3, total=np.float32([42 * 8])),
    )
    yield case(
        "held", 3, dict(h=dict(scale=0.5, part=dict(data=data, indices_0=chosen)), out=np.zeros(3)),
        dict(out=data[chosen] * np.float32(0.5)),
    )
