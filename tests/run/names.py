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


@wp.struct
class float2:
    a: float
    b: wp.vec3


@wp.struct
class vec3:
    inner: float2
    scale: float


@wp.struct
class half:
    c: float


@wp.struct
class time:
    steps: int


@wp.func
def advance(now: time, by: half) -> float:
    return float(now.steps) * by.c


@wp.kernel
def structs(pair: vec3, by: half, now: time, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    own = float2()
    own.a = x[i]
    own.b = wp.vec3(x[i], 2.0 * x[i], 1.0)
    y[i] = pair.inner.a + pair.scale * own.a + wp.dot(own.b, pair.inner.b) + advance(now, by)


def cases():
    x = [1.0 // 0.1, -7.5 // 2.0, abs(-0.1) ** 0.3, 3]
    yield case("captured", 1, dict(x=np.zeros(4), y=np.zeros(3)), dict(x=x, y=[21.0, 42.0, 103.0]), rtol=1e-15)
    pair = dict(inner=dict(a=0.5, b=[1.0, 1.0, 2.0]), scale=10.0)
    args = dict(pair=pair, by=dict(c=0.25), now=dict(steps=4), x=[1.0, 2.0], y=np.zeros(2))
    yield case("structs", 2, args, dict(y=[16.5, 29.5]))
