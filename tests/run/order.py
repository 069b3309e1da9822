"""Augmented assignments evaluate their target before their right-hand side, as Python does."""

import numpy as np
import warp as wp


@wp.func
def bump(i: wp.ref[int]) -> int:
    i = i + 1
    return 10 * i


@wp.func
def next_of(c: wp.array(dtype=int)) -> int:
    c[0] = c[0] + 1
    return c[0]


@wp.func
def grow(a: wp.array(dtype=int), k: int) -> int:
    a[k] = a[k] * 2 + 7
    return a[k]


@wp.kernel
def changed_variables(a: wp.array(dtype=int), v: wp.array(dtype=int), variable: wp.array(dtype=int)):
    i = int(1)
    a[i] += bump(i)
    a[i] *= bump(i)
    a[i] -= bump(i)
    i += bump(i)
    variable[0] = i
    w = wp.vec4i(1, 2, 3, 4)
    k = int(0)
    w[k] += bump(k)
    w[k] *= bump(k)
    for j in range(4):
        v[j] = w[j]


@wp.kernel
def changed_elements(c: wp.array(dtype=int), a: wp.array(dtype=int), small: wp.array(dtype=wp.int8)):
    a[next_of(c)] += 100 * next_of(c)
    a[next_of(c)] *= next_of(c)
    a[next_of(c)] = next_of(c)
    wp.atomic_max(a, next_of(c), 10 * next_of(c))
    a[0] *= grow(a, 0)
    small[next_of(c)] += wp.int8(next_of(c))


def cases():
    expect = {"a": [0, 1 + 20, 2 * 30, 3 - 40, 4, 5], "variable": [4 + 50], "v": [1 + 10, 2 * 20, 3, 4]}
    args = {"a": np.arange(6), "v": np.zeros(4), "variable": [0]}
    yield case("changed_variables", 1, args, expect)
    # The value of a plain assignment comes before its target.
    a = 10 + np.arange(12)
    expect = a.copy()
    expect[1] += 200
    expect[3] *= 4
    expect[6] = 5
    expect[7] = 80
    expect[0] *= 27
    args = {"c": [0], "a": a, "small": np.arange(12)}
    small = np.arange(12)
    small[9] += 10
    yield case("changed_elements", 1, args, {"c": [10], "a": expect, "small": small})
