"""Scalar arithmetic: what integers and floats do at their edges."""

import numpy as np
import warp as wp


@wp.kernel
def integer_ops(a: wp.array(dtype=int), b: wp.array(dtype=int), out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = a[i] + b[i]
    out[i, 1] = a[i] - b[i]
    out[i, 2] = a[i] * b[i]
    out[i, 3] = a[i] // b[i]
    out[i, 4] = a[i] % b[i]
    out[i, 5] = a[i] & b[i]
    out[i, 6] = a[i] | b[i]
    out[i, 7] = a[i] ^ b[i]
    out[i, 8] = wp.min(a[i], b[i])
    out[i, 9] = wp.max(a[i], b[i])
    out[i, 10] = wp.abs(a[i])
    out[i, 11] = -a[i]


@wp.kernel
def float_to_int(x: wp.array(dtype=float), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = int(x[i])


@wp.kernel
def float_ops(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[i, 0] = x[i] + y[i]
    out[i, 1] = x[i] * y[i]
    out[i, 2] = x[i] / y[i]
    out[i, 3] = wp.sqrt(wp.abs(x[i]))
    out[i, 4] = wp.floor(x[i])
    out[i, 5] = wp.ceil(x[i])
    out[i, 6] = wp.min(x[i], y[i])
    out[i, 7] = wp.max(x[i], y[i])
    out[i, 8] = wp.where(x[i] < y[i], 1.0, 0.0)


@wp.kernel
def wide_shifts(a: wp.array(dtype=wp.uint64), n: wp.array(dtype=wp.uint64), out: wp.array2d(dtype=wp.uint64)):
    i = wp.tid()
    out[i, 0] = a[i] << n[i]
    out[i, 1] = a[i] >> n[i]
    out[i, 2] = wp.uint64(wp.int64(a[i]) >> wp.int64(n[i]))


@wp.kernel
def narrow_choice(x: wp.array(dtype=wp.bool), out: wp.array(dtype=int)):
    i = wp.tid()
    if wp.int16(4) if x[i] else wp.int16(0):
        out[i] = 1


@wp.kernel
def distances(a: wp.array(dtype=wp.int64), b: wp.array(dtype=wp.int64), out: wp.array2d(dtype=wp.int64)):
    """In every type of integers, wrapped to it."""
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = wp.int64(wp.abs_diff(wp.int8(x), wp.int8(y)))
    out[i, 1] = wp.int64(wp.abs_diff(wp.uint8(x), wp.uint8(y)))
    out[i, 2] = wp.int64(wp.abs_diff(wp.int16(x), wp.int16(y)))
    out[i, 3] = wp.int64(wp.abs_diff(wp.uint16(x), wp.uint16(y)))
    out[i, 4] = wp.int64(wp.abs_diff(wp.int32(x), wp.int32(y)))
    out[i, 5] = wp.int64(wp.abs_diff(wp.uint32(x), wp.uint32(y)))
    out[i, 6] = wp.abs_diff(x, y)
    out[i, 7] = wp.int64(wp.abs_diff(wp.uint64(x), wp.uint64(y)))
    out[i, 8] = wp.abs_diff(x, x) + wp.abs_diff(wp.int64(-7), wp.int64(5))
    out[i, 9] = wp.abs_diff(x, wp.int64(0))


@wp.kernel
def distances_of_bytes(
    a: wp.array(dtype=wp.int8),
    b: wp.array(dtype=wp.int8),
    u: wp.array(dtype=wp.uint8),
    v: wp.array(dtype=wp.uint8),
    out: wp.array(dtype=wp.int8),
    unsigned: wp.array(dtype=wp.uint8),
):
    i = wp.tid()
    out[i] = wp.abs_diff(a[i], b[i])
    unsigned[i] = wp.abs_diff(u[i], v[i])


@wp.kernel
def steps(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """The distance of integers is a step function of what they are rounded from."""
    i = wp.tid()
    y[i] = float(wp.abs_diff(int(x[i]), 3)) * x[i]


TINY = 1e-46
BIG = 16777217.0


@wp.kernel
def literals(a: wp.array(dtype=wp.uint8), out: wp.array(dtype=int), digits: wp.array(dtype=wp.float64)):
    """Literals beside small integers are int32, and float32 beside each other; conversions take all digits."""
    x = a[0]
    if x < 256:
        out[0] = 1
    if x == 456:
        out[1] = 1
    if x > -1:
        out[2] = 1
    if wp.int8(100) < 200:
        out[3] = 1
    if TINY > 0.0 or TINY:
        out[4] = 1
    if BIG == 16777216.0:
        out[5] = 1
    out[6] = int(2.9999999999)
    if not TINY and not wp.bool(1e-46):
        out[7] = 1
    w = 0.1
    for k in range(2):
        digits[k] = wp.float64(w)
    digits[2] = wp.float64(w)


def cases():
    edge = np.array([0, 1, -1, 2, -7, 7, 2**31 - 1, -(2**31), 12345, -12345], dtype=np.int32)
    a, b = (m.ravel().astype(np.int32) for m in np.meshgrid(edge, edge[edge != 0]))
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    # The sign of the remainder is the dividend's, as in C.
    remainder = np.sign(wide_a) * (np.abs(wide_a) % np.abs(wide_b))
    columns = [wide_a + wide_b, wide_a - wide_b, wide_a * wide_b, wide_a // wide_b, remainder, wide_a & wide_b,
               wide_a | wide_b, wide_a ^ wide_b, np.minimum(a, b), np.maximum(a, b), np.abs(wide_a), -wide_a]
    want = np.stack([c.astype(np.int64).astype(np.uint32).astype(np.int32) for c in columns], axis=1)
    out = np.zeros((len(a), 12), dtype=np.int32)
    yield case("integer_ops", len(a), dict(a=a, b=b, out=out), dict(out=want))

    x = np.array([0.0, -0.0, 0.9, -0.9, 1e9, -1e9, 3e9, -3e9, 1e38, np.inf, -np.inf, np.nan], dtype=np.float32)
    clipped = np.clip(np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0), -(2.0**31), 2.0**31 - 1)
    yield case("float_to_int", len(x), dict(x=x, out=np.zeros(len(x), np.int32)), dict(out=clipped.astype(np.int32)))

    edge = np.array([0.5, -1.5, 3.25, 1e-40, -1e30, 1e30, np.inf, 2.0], dtype=np.float32)
    x, y = (m.ravel() for m in np.meshgrid(edge, edge))
    with np.errstate(all="ignore"):
        columns = [x + y, x * y, x / y, np.sqrt(np.abs(x)), np.floor(x), np.ceil(x), np.fmin(x, y), np.fmax(x, y),
                   (x < y).astype(np.float32)]
    yield case("float_ops", len(x), dict(x=x, y=y, out=np.zeros((len(x), 9))), dict(out=np.stack(columns, 1)), rtol=0, atol=0)

    # Counts whose low half is small: the whole count decides.
    counts = [0, 1, 63, 64, 65, 2**32, 2**32 + 1, 2**63 + 3, 2**64 - 1]
    a, n = (m.ravel() for m in np.meshgrid(np.array([1, 2**64 - 1, 2**63 - 1, 2**63], np.uint64), np.array(counts, np.uint64)))
    pairs = [(int(x), int(k)) for x, k in zip(a, n)]
    signed = [(x - 2**64 if x >= 2**63 else x) >> min(k, 63) for x, k in pairs]
    rows = [[(x << k) % 2**64 if k < 64 else 0, x >> k if k < 64 else 0, s % 2**64] for (x, k), s in zip(pairs, signed)]
    yield case("wide_shifts", len(a), dict(a=a, n=n, out=np.zeros((len(a), 3), np.uint64)), dict(out=np.array(rows, np.uint64)))

    # Python's integers have no bounds.
    edge = [0, 1, -1, 3, 127, 128, -128, -129, 255, 256, 2**15, -(2**15), 2**16 - 1, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63)]
    wrapped = lambda value, bits, signed: (value + (h := 2 ** (bits - 1) if signed else 0)) % 2**bits - h  # noqa: E731
    rows = []
    for x in edge:
        for y in edge:
            row = []
            for bits in [8, 16, 32, 64]:
                for signed in [True, False]:
                    distance = abs(wrapped(x, bits, signed) - wrapped(y, bits, signed))
                    row.append(wrapped(wrapped(distance, bits, signed), 64, True))
            rows.append(row + [12, wrapped(abs(x), 64, True)])
    a, b = (m.ravel() for m in np.meshgrid(edge, edge, indexing="ij"))
    args = dict(a=a, b=b, out=np.zeros((len(a), 10), np.int64))
    yield case("distances", len(a), args, dict(out=np.array(rows, np.int64)))

    a, b = (m.ravel() for m in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
    args = dict(a=a.astype(np.int8), b=b.astype(np.int8), u=(a + 128).astype(np.uint8), v=(b + 128).astype(np.uint8))
    distance = np.abs(a - b)
    expect = dict(out=np.where(distance > 127, distance - 256, distance).astype(np.int8), unsigned=distance.astype(np.uint8))
    yield case("distances_of_bytes", len(a), args | dict(out=np.zeros(len(a), np.int8), unsigned=np.zeros(len(a), np.uint8)), expect)

    x = np.array([0.5, 2.75, 3.5, -4.25, 9.0], np.float32)
    size = np.array([3.0, 1.0, 0.0, 7.0, 6.0])
    args = {"x": x, "y": np.zeros(5), "y.grad": np.ones(5)}
    yield case("steps", 5, args, {"y": size * x, "x.grad": size})

    x = np.array([True, False, True])
    yield case("narrow_choice", 3, dict(x=x, out=np.zeros(3, np.int32)), dict(out=x.astype(np.int32)))

    args = dict(a=np.array([200], np.uint8), out=np.zeros(8, np.int32), digits=np.zeros(3))
    yield case("literals", 1, args, dict(out=[1, 0, 1, 1, 0, 1, 3, 1], digits=[0.1] * 3), rtol=1e-15)
