"""Every form of `range`, at the extremes of every integer type, against Python's own."""

import itertools
from typing import Any

import numpy as np
import warp as wp

MOST = 300


@wp.func
def note(numbers: wp.array2d(dtype=wp.int64), form: int, k: wp.int64):
    """Counts a turn, and notes its number: the first, the last, and a sum in which the order shows."""
    n = numbers[form, 0] + wp.int64(1)
    numbers[form, 0] = n
    if n == wp.int64(1):
        numbers[form, 1] = k
    numbers[form, 2] = k
    numbers[form, 3] = numbers[form, 3] * wp.int64(31) + k
    return n >= wp.int64(300)


@wp.func
def forms(a: Any, b: Any, s: Any, out: wp.array2d(dtype=wp.int64)):
    for k in range(b):
        if note(out, 0, wp.int64(k)):
            break
    for k in range(a, b):
        if note(out, 1, wp.int64(k)):
            break
    for k in range(a, b, s):
        if note(out, 2, wp.int64(k)):
            break
    for k in reversed(range(b)):
        if note(out, 3, wp.int64(k)):
            break
    for k in reversed(range(a, b)):
        if note(out, 4, wp.int64(k)):
            break
    for k in reversed(range(a, b, s)):
        if note(out, 5, wp.int64(k)):
            break
    for k in reversed(reversed(range(a, b, s))):
        if note(out, 6, wp.int64(k)):
            break


def python_forms(a, b, s):
    return [range(b), range(a, b), range(a, b, s), range(b)[::-1], range(a, b)[::-1], range(a, b, s)[::-1], range(a, b, s)]


@wp.kernel
def ranges_int8(a: wp.array(dtype=wp.int8), b: wp.array(dtype=wp.int8), s: wp.array(dtype=wp.int8), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_int16(a: wp.array(dtype=wp.int16), b: wp.array(dtype=wp.int16), s: wp.array(dtype=wp.int16), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_int32(a: wp.array(dtype=wp.int32), b: wp.array(dtype=wp.int32), s: wp.array(dtype=wp.int32), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_int64(a: wp.array(dtype=wp.int64), b: wp.array(dtype=wp.int64), s: wp.array(dtype=wp.int64), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_uint8(a: wp.array(dtype=wp.uint8), b: wp.array(dtype=wp.uint8), s: wp.array(dtype=wp.uint8), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_uint16(a: wp.array(dtype=wp.uint16), b: wp.array(dtype=wp.uint16), s: wp.array(dtype=wp.uint16), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_uint32(a: wp.array(dtype=wp.uint32), b: wp.array(dtype=wp.uint32), s: wp.array(dtype=wp.uint32), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def ranges_uint64(a: wp.array(dtype=wp.uint64), b: wp.array(dtype=wp.uint64), s: wp.array(dtype=wp.uint64), out: wp.array3d(dtype=wp.int64)):
    i = wp.tid()
    forms(a[i], b[i], s[i], out[i])


@wp.kernel
def constant_starts(b: wp.array(dtype=int), out: wp.array3d(dtype=wp.int64)):
    """Starts and steps that are written out, as they mostly are."""
    i = wp.tid()
    for k in reversed(range(2, b[i], 3)):
        if note(out[i], 0, wp.int64(k)):
            break
    for k in reversed(range(0, b[i], 2147483647)):
        if note(out[i], 1, wp.int64(k)):
            break
    for k in reversed(range(2147483647, b[i], 2)):
        if note(out[i], 2, wp.int64(k)):
            break
    for k in reversed(range(-5, b[i], 7)):
        if note(out[i], 3, wp.int64(k)):
            break
    for k in reversed(range(-2147483647 - 1, b[i], 16777216)):
        if note(out[i], 4, wp.int64(k)):
            break
    for k in reversed(range(5, b[i], -1)):
        if note(out[i], 5, wp.int64(k)):
            break


def python_constant_starts(b):
    low, high = -(2**31), 2**31 - 1
    arguments = [(2, b, 3), (0, b, high), (high, b, 2), (-5, b, 7), (low, b, 2**24), (5, b, -1)]
    return [range(*a)[::-1] for a in arguments]


@wp.kernel
def constant_ranges(out: wp.array2d(dtype=wp.int64)):
    for k in reversed(range(-2147483648)):
        if note(out, 0, wp.int64(k)):
            break
    for k in range(2147483640, 2147483647, 5):
        if note(out, 1, wp.int64(k)):
            break
    for k in reversed(range(-2147483648, -2147483640)):
        if note(out, 2, wp.int64(k)):
            break
    for k in reversed(range(2147483647, 2147483640, -3)):
        if note(out, 3, wp.int64(k)):
            break
    for k in reversed(range(4)):
        if note(out, 4, wp.int64(k)):
            break
    for byte in reversed(range(wp.uint8(3), wp.uint8(255), wp.uint8(100))):
        if note(out, 5, wp.int64(byte)):
            break


def python_constant_ranges():
    return [
        range(-(2**31)), range(2**31 - 8, 2**31 - 1, 5), range(-(2**31), 8 - 2**31)[::-1],
        range(2**31 - 1, 2**31 - 8, -3)[::-1], range(4)[::-1], range(3, 255, 100)[::-1],
    ]


def noted(numbers):
    count, first, last, order = 0, 0, 0, 0
    for k in itertools.islice(numbers, MOST):
        count, last, order = count + 1, k, order * 31 + k
        first = k if count == 1 else first
    return [(n + 2**63) % 2**64 - 2**63 for n in (count, first, last, order)]


def cases():
    random = np.random.default_rng(5)
    for name in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]:
        info = np.iinfo(name)
        low, high = int(info.min), int(info.max)
        ends = sorted({low, low + 1, low + 7, -1 if low else 1, 0, 1, 5, high - 7, high - 1, high, high // 2})
        steps = sorted({low, low + 1, -3 if low else 3, -1 if low else 1, 1, 2, high // 2, high, high // 50} - {0})
        rows = list(itertools.product(ends, ends, steps))
        rows = [rows[k] for k in random.permutation(len(rows))[:200]] + [(low, high, 1), (high, low, steps[0]), (low, low, 1)]
        a, b, s = zip(*rows)
        expect = [[noted(numbers) for numbers in python_forms(*row)] for row in rows]
        args = {"a": a, "b": b, "s": s, "out": np.zeros((len(rows), 7, 4))}
        yield case(f"ranges_{name}", len(rows), args, {"out": np.array(expect, np.int64)})
    low, high = -(2**31), 2**31 - 1
    ends = [low, low + 1, -6, -5, -1, 0, 1, 2, 3, 8, high - 1, high]
    expect = np.array([[noted(numbers) for numbers in python_constant_starts(b)] for b in ends], np.int64)
    yield case("constant_starts", len(ends), {"b": ends, "out": np.zeros(expect.shape)}, {"out": expect})
    expect = np.array([noted(numbers) for numbers in python_constant_ranges()], np.int64)
    yield case("constant_ranges", 1, {"out": np.zeros(expect.shape)}, {"out": expect})
