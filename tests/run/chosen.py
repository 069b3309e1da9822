"""Gradients of what is read from one of two arrays, which a branch chooses."""

import numpy as np
import warp as wp


@wp.kernel
def branched(x: wp.array(dtype=float), z: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a = x
    if z[i] > 1.0:
        a = z
    for k in range(3):
        y[i] += a[(i + k) % 4] * x[k]


def cases():
    x, z = np.array([1.0, 2.0, -3.0, 0.5]), np.array([4.0, -1.0, 2.0, 0.25])
    w = np.array([1.0, -2.0, 3.0, 5.0])
    y, by_x, by_z = np.zeros(4), np.zeros(4), np.zeros(4)
    for i in range(4):
        a, by_a = (z, by_z) if z[i] > 1 else (x, by_x)
        for k in range(3):
            y[i] += a[(i + k) % 4] * x[k]
            by_a[(i + k) % 4] += w[i] * x[k]
            by_x[k] += w[i] * a[(i + k) % 4]
    args = {"x": x, "z": z, "y": np.zeros(4), "y.grad": w}
    # What accumulates keeps the gradient of what was there.
    yield case("branched", 4, args, {"y": y, "x.grad": by_x, "z.grad": by_z, "y.grad": w})
