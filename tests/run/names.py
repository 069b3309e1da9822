"""Names of the file that kernels capture: against Python."""

import math

import numpy as np
import warp as wp

STEPS = int(1.0 // 0.1)
BELOW = -7.5 // 2.0
ROOT = abs(-0.1) ** 0.3
WHOLE = abs(-3)
double5 = wp.types.vector(length=5, dtype=wp.float64)
double11 = wp.types.vector(length=11, dtype=wp.float64)
OF_PYTHON = (abs(-3000000000), max(0.1, math.nan), min(math.nan, 0.1) > 0.0, float(math.isinf(1e39)), math.floor(-0.5))
OF_NUMPY = (
    np.mod(-7, 3), np.mod(7.5, -2.0), np.fmod(-7, 3), np.sign(0.0), np.sign(-0.3), np.sign(-3), np.clip(0.1, 0.0, 2.0),
    np.where(WHOLE > 5, 2.0, 0.1), np.minimum(0.1, 0.2), np.square(0.1), np.power(3, 4),
)


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


@wp.kernel
def left_to_python(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    for i in range(wp.static(len(OF_PYTHON))):
        x[i] = wp.static(double5(*OF_PYTHON))[i]
    for i in range(wp.static(len(OF_NUMPY))):
        y[i] = wp.static(double11(*OF_NUMPY))[i]


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
    args = dict(x=np.zeros(len(OF_PYTHON)), y=np.zeros(len(OF_NUMPY)))
    expected = dict(x=[float(value) for value in OF_PYTHON], y=[float(value) for value in OF_NUMPY])
    yield case("left_to_python", 1, args, expected, rtol=0)
    pair = dict(inner=dict(a=0.5, b=[1.0, 1.0, 2.0]), scale=10.0)
    args = dict(pair=pair, by=dict(c=0.25), now=dict(steps=4), x=[1.0, 2.0], y=np.zeros(2))
    yield case("structs", 2, args, dict(y=[16.5, 29.5]))
