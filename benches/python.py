"""What does a call from Python cost? Run it with a Python that has the package (`make wheel`, then `pip install out/wheels/*.whl`):

    python benches/python.py

Import and first launch are one measurement of this process, a call is the least mean of 20 rounds of 2,000.
"""

import time

begun = time.perf_counter()
import kc

imported = time.perf_counter()
import numpy as np


@kc.kernel
def multiply_add(
    x: kc.array(dtype=float), y: kc.array(dtype=float), z: kc.array(dtype=float), out: kc.array(dtype=float)
):
    i = kc.tid()
    out[i] = x[i] * y[i] + z[i]


def least(call, rounds=20, calls=2000):
    """Seconds of a call."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def main():
    arrays = [np.ones(1000, np.float32) for _ in range(4)]
    start = time.perf_counter()
    multiply_add(1000, *arrays)
    first = time.perf_counter() - start
    assert (arrays[3] == 2.0).all()
    print(f"import kc                          {1e3 * (imported - begun):8.1f} ms")
    print(f"first launch (compiles)            {1e3 * first:8.1f} ms")
    print(f"call, 4 NumPy arrays, 1000 threads {1e6 * least(lambda: multiply_add(1000, *arrays)):8.2f} us")
    seed = {"out": 1.0}
    gradient = least(lambda: multiply_add.grad(1000, *arrays, grads=seed), calls=200)
    print(f"the same with its gradient         {1e6 * gradient:8.2f} us")


if __name__ == "__main__":
    main()
