"""Names of the file that kernels capture: against Python."""

import numpy as np
import warp as wp

STEPS = int(1.0 // 0.1)
BELOW = -7.5 // 2.0
ROOT = abs(-0.1) ** 0.3
WHOLE = abs(-3)


@wp.func
def shifted(x: float):
    return x + 10.0


@wp.func
def twice(x: float):
    return shifted(x) * 2.0


@wp.func
def shifted(x: float, by: float = 5.0):
    return x + by + 100.0


@wp.func
def shifted(x: float):
    return x + 20.0


@wp.kernel
def captured(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float32)):
    x[0] = wp.float64(STEPS)
    x[1] = wp.float64(BELOW)
    x[2] = wp.float64(ROOT)
    x[3] = wp.float64(WHOLE)
    y[0] = shifted(1.0)
    y[1] = twice(1.0)
    y[2] = shifted(1.0, 2.0)


def cases():
    x = [1.0 // 0.1, -7.5 // 2.0, abs(-0.1) ** 0.3, 3]
    yield case("captured", 1, dict(x=np.zeros(4), y=np.zeros(3)), dict(x=x, y=[21.0, 42.0, 103.0]), rtol=1e-15)
