"""Heat along a rod, in one launch: all threads wait for each other between two steps (`kc.grid_sync`).

Each thread keeps several elements, so that all threads fit on the GPU at once."""

import sys

import kc
import numpy as np


@kc.kernel
def spread(u: kc.array(dtype=float), v: kc.array(dtype=float), rate: float, steps: int, threads: int):
    t = kc.tid()
    n = u.shape[0]
    for step in range(steps):
        i = t + 1
        while i < n - 1:
            v[i] = u[i] + rate * (u[i - 1] - 2.0 * u[i] + u[i + 1])
            i += threads
        kc.grid_sync()
        i = t + 1
        while i < n - 1:
            u[i] = v[i] + rate * (v[i - 1] - 2.0 * v[i] + v[i + 1])
            i += threads
        kc.grid_sync()


def simulate(n=4096, steps=100, threads=1024, device="cuda"):
    """The temperatures after twice as many steps, from 1 at the left end and 0 elsewhere."""
    start = np.zeros(n, np.float32)
    start[0] = 1.0
    u, v = kc.array(start, device=device), kc.array(start, device=device)
    spread(threads, u, v, 0.25, steps, threads)
    return u.numpy()


def by_launches(n=4096, steps=100):
    """The same by NumPy, a step at a time."""
    u = np.zeros(n, np.float32)
    u[0] = 1.0
    for _ in range(2 * steps):
        u[1:-1] += np.float32(0.25) * (u[:-2] - np.float32(2.0) * u[1:-1] + u[2:])
    return u


if __name__ == "__main__":
    rod = simulate(device=sys.argv[1] if len(sys.argv) > 1 else "cuda")
    print(f"after 200 steps: {rod[10]:.4f} at 10, {rod[40]:.4f} at 40")
