"""Loops, branches and early exits."""

import numpy as np
import warp as wp


@wp.kernel
def collatz(start: wp.array(dtype=int), steps: wp.array(dtype=int)):
    i = wp.tid()
    n = start[i]
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    steps[i] = count


@wp.kernel
def first_above(x: wp.array(dtype=float), limit: wp.array(dtype=float), found: wp.array(dtype=int)):
    i = wp.tid()
    found[i] = -1
    for k in range(x.shape[0]):
        if x[k] < 0.0:
            continue
        if x[k] > limit[i]:
            found[i] = k
            break


@wp.kernel
def primes(out: wp.array(dtype=int)):
    n = wp.tid()
    if n < 2:
        out[n] = 0
        return
    d = 2
    while d * d <= n:
        if n % d == 0:
            out[n] = 0
            return
        d += 1
    out[n] = 1


@wp.kernel
def triangle(n: int, out: wp.array(dtype=int)):
    i = wp.tid()
    total = 0
    for a in range(i):
        for b in range(a, n, 2):
            total += a * b
    out[i] = total


@wp.kernel
def countdown(out: wp.array(dtype=int)):
    i = wp.tid()
    digits = 0
    for k in range(i, 0, -3):
        digits = digits * 10 + k % 10
    out[i] = digits


def cases():
    def collatz_steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    start = np.arange(1, 300, dtype=np.int32)
    yield case("collatz", len(start), dict(start=start, steps=np.zeros(len(start))), dict(steps=[collatz_steps(int(n)) for n in start]))

    rng = np.random.default_rng(1)
    x = rng.normal(size=50).astype(np.float32)
    limit = np.linspace(-1, 3, 20).astype(np.float32)
    found = [next((k for k, v in enumerate(x) if v >= 0 and v > m), -1) for m in limit]
    yield case("first_above", 20, dict(x=x, limit=limit, found=np.zeros(20)), dict(found=found))

    is_prime = [int(n > 1 and all(n % d for d in range(2, n))) for n in range(200)]
    yield case("primes", 200, dict(out=np.full(200, 9)), dict(out=is_prime))

    want = [sum(a * b for a in range(i) for b in range(a, 40, 2)) for i in range(30)]
    yield case("triangle", 30, dict(n=40, out=np.zeros(30)), dict(out=want))

    want = []
    for i in range(12):
        digits = 0
        for k in range(i, 0, -3):
            digits = digits * 10 + k % 10
        want.append(digits)
    yield case("countdown", 12, dict(out=np.zeros(12)), dict(out=want))
