"""Functions and values that the tests' kernels take from another file."""

import enum

import kc

SCALE = 2.5


class Mode(enum.IntEnum):
    ADD = 1
    DOUBLE = 2


class Settings:
    offset = 4.0

    class inner:
        count = 3


@kc.func
def scaled(x: float):
    return x * SCALE


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]
