"""Slices of arrays, local arrays, matrices and transforms; local arrays that functions take and return."""

import numpy as np
import warp as wp


@wp.kernel
def backwards(x: wp.array(dtype=int), out: wp.array2d(dtype=int), first: int, last: int, step: int):
    i = wp.tid()
    part = x[first + i : last : step]
    out[i, 0] = part.shape[0]
    out[i, 1] = part.shape[1]
    for k in range(part.shape[0]):
        out[i, 2 + k] = part[k]


@wp.kernel
def matrix_slices(m: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33), rows: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = m[i]
    rows[i] = a[:, 1]
    top = a[:2]
    b = wp.mat33(0.0)
    b[0:2, 1:3] = top[:, 0:2]
    b[2] = a[i % 3]
    b[1:, 0] = wp.vec2(7.0, 8.0)
    b[:, 2] += a[::-1, 0]
    out[i] = b
    out[i][2, :2] += wp.vec2(100.0, 200.0)


@wp.kernel
def transform_slices(t: wp.array(dtype=wp.transform), out: wp.array(dtype=wp.transform)):
    i = wp.tid()
    a = t[i]
    b = wp.transform(1.5)
    b[:3] = a[4:]
    b[-2:] -= a[0:2]
    out[i] = b


@wp.func
def triangle(n: int):
    table = wp.zeros(shape=(4, 3), dtype=int)
    for r in range(table.shape[0]):
        for c in range(table.shape[1]):
            if c <= r:
                table[r][c] = n * 10 * (r + 1) + c
    return table


@wp.func
def total(values: wp.array2d(dtype=int)):
    s = 0
    for r in range(values.shape[0]):
        for c in range(values.shape[1]):
            s += values[r, c]
    values[0, 0] = s
    return s


@wp.kernel
def local_arrays(sums: wp.array2d(dtype=int), x: wp.array2d(dtype=int)):
    i = wp.tid()
    table = triangle(i)
    row = table[i]
    part = table[1:, ::-2]
    sums[i, 0] = row[-1] + row[0]
    sums[i, 1] = part[i % 3, 0] * 1000 + part[-1][1]
    sums[i, 2] = total(table)
    sums[i, 3] = table[0][0] + part.shape[0] * 10 + part.shape[1] + part.shape[2]
    sums[i, 4] = total(x) + wp.max(*x[0][1:3])


@wp.kernel
def own_places(x: wp.array(dtype=float), sums: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=8, dtype=float)
    a[i] = x[i]
    for j in range(8):
        wp.atomic_add(sums, j, a[j])


@wp.kernel
def literals(out: wp.array(dtype=wp.float64), n: wp.array(dtype=int)):
    x = 0.1
    out[0] = wp.float64(x)
    if n[0] > 0:
        x = 0.2
    out[1] = wp.float64(x)
    count = 3
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    w = v[0:count]
    out[2] = wp.float64(w[count - 1]) + wp.float64(wp.static(len(v) + count))
    turn = wp.transform_identity()
    out[3] = wp.float64(wp.static(len(turn) + len(turn.q)))


def cases():
    x = np.arange(10, dtype=np.int32)
    for first, last, step in [(2, 8, 1), (8, 1, -2), (-4, -11, -3), (0, 10, 3)]:
        want = np.zeros((2, 12), dtype=np.int32)
        for i in range(2):
            part = x[first + i : last : step]
            want[i, 0] = len(part)
            want[i, 2 : 2 + len(part)] = part
        yield case("backwards", 2, dict(x=x, out=np.zeros((2, 12)), first=first, last=last, step=step), dict(out=want), id=f"backwards_{step}".replace("-", "m"))

    m = np.random.default_rng(3).normal(size=(4, 3, 3)).astype(np.float32)
    want = np.zeros((4, 3, 3), dtype=np.float32)
    for i, (a, b) in enumerate(zip(m, want)):
        b[0:2, 1:3] = a[:2][:, 0:2]
        b[2] = a[i % 3]
        b[1:, 0] = (7.0, 8.0)
        b[:, 2] += a[::-1, 0]
        b[2, :2] += np.float32([100.0, 200.0])
    yield case("matrix_slices", 4, dict(m=m, out=np.zeros_like(m), rows=np.zeros((4, 3))), dict(out=want, rows=m[:, :, 1]))

    t = np.random.default_rng(4).normal(size=(3, 7)).astype(np.float32)
    want = np.full((3, 7), 1.5, dtype=np.float32)
    want[:, :3] = t[:, 4:]
    want[:, -2:] -= t[:, 0:2]
    yield case("transform_slices", 3, dict(t=t, out=np.zeros_like(t)), dict(out=want))

    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    sums = []
    for i in range(4):
        table = np.array([[i * 10 * (r + 1) + c if c <= r else 0 for c in range(3)] for r in range(4)])
        part = table[1:, ::-2]
        sums.append([table[i][-1] + table[i][0], part[i % 3, 0] * 1000 + part[-1][1], table.sum(), table.sum() + 32])
    yield case(
        "local_arrays", 1, dict(sums=np.zeros((4, 5)), x=x), dict(sums=[[*sums[0], x.sum() + 2], *[[0] * 5] * 3])
    )
    x = np.arange(1.0, 9.0, dtype=np.float32)
    yield case("own_places", 8, dict(x=x, sums=np.zeros(8)), dict(sums=x))
    yield case("literals", 1, dict(out=np.zeros(4), n=[0]), dict(out=[0.1, np.float64(np.float32(0.1)), 10.0, 11.0]))
