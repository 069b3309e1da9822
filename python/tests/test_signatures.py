"""Annotations and defaults mean what Python took them for."""

from typing import Any

import kc
import numpy as np
import pytest

T = int
N = 100.0
Floats = kc.array(dtype=float)


def result(kernel, *arguments, n=1):
    out = np.zeros(n, np.float32)
    kernel(1, *arguments, out)
    return out.tolist()


def test_functions_of_one_line_keep_their_end():
    # fmt: off
    @kc.kernel
    def k(o: Floats): o[0] = 1.0; o[1] = 2.0; o[2] = 3.0
    @kc.kernel
    def any_of(o: kc.array(dtype=Any)): o[0] = 2.0; o[1] = 8.0
    # fmt: on
    assert result(k, n=3) == [1, 2, 3] and result(any_of, n=2) == [2, 8]


def test_names_of_annotations_are_of_the_scope_around():
    def make(T):
        @kc.kernel
        def square(s: T, y: kc.array(dtype=float)):
            y[0] = float(s * s)

        return square

    def plain(T):
        def square(s: "T", y: kc.array(dtype=T)):
            y[0] = s * s

        return square

    assert result(make(kc.int64), 100000) == [1e10] and result(make(float), 1.5) == [2.25]
    square = plain(kc.float32)
    square.__annotations__["s"] = kc.float32
    assert result(kc.kernel(square), 1.5) == [2.25]


def test_array_types_may_be_attributes():
    class shared:
        Vectors = kc.array(dtype=kc.vec3)

    @kc.kernel
    def ones(x: shared.Vectors, o: Floats):
        x[kc.tid()] = kc.vec3(1.0)
        o[0] = 3.0

    x = np.zeros((1, 3), np.float32)
    assert result(ones, x) == [3] and x.sum() == 3


def test_defaults_are_those_of_the_definition():
    def make(N):
        @kc.func
        def f(x: float, s: float = N):
            return x * s

        return f

    class Settings:
        N = 2.0

        @kc.func
        def scaled(x: float, s: float = N, *, t: float = N + 1.0):
            return x * s * t

    several = []
    for n in (1, 2, 3):

        @kc.func
        def f(x: float, n: int = n):
            return x * float(n)

        several.append(f)
    for f in (make(5.0), Settings.scaled, *several):

        @kc.kernel
        def k(y: kc.array(dtype=float)):
            y[0] = f(1.0)

        assert result(k) == [f(1.0)]
    values = [object()]

    @kc.func
    def unknown(x: float, s: float = values.pop()):
        return x

    @kc.kernel
    def uses(y: kc.array(dtype=float)):
        y[0] = unknown(1.0)

    with pytest.raises(kc.CompileError, match="the default of `s` is a value of type `object`"):
        result(uses)


def point(fields):
    return kc.struct(type("P", (), {"__annotations__": fields, "__module__": __name__}))


def test_structs_of_one_name_stay_apart():
    A, B = point({"a": float, "b": float}), point({"b": float, "a": float})
    Both = kc.struct(type("Both", (), {"__annotations__": {"x": A, "y": B}, "__module__": __name__}))

    @kc.kernel
    def fields(s: kc.array(dtype=Both), o: kc.array(dtype=float)):
        o[0] = s[0].x.a + 10.0 * s[0].x.b + 100.0 * s[0].y.a + 1000.0 * s[0].y.b

    @kc.kernel
    def generic(s: kc.array(dtype=Any), t: kc.array(dtype=Any), o: kc.array(dtype=float)):
        o[0] = s[0].a + 10.0 * s[0].b + 100.0 * t[0].a + 1000.0 * t[0].b

    s, x, y = kc.zeros(1, Both), kc.zeros(1, A), kc.zeros(1, B)
    for a, b in ((s.numpy()["x"], s.numpy()["y"]), (x.numpy(), y.numpy())):
        a["a"], a["b"], b["a"], b["b"] = 1, 2, 3, 4
    assert result(fields, s) == [4321] and result(generic, x, y) == [4321]


def test_names_of_types_and_values_stay_apart():
    Params, P = point({"a": float}), 7.0
    wp = np.float32(3.0)

    @kc.kernel
    def k(s: Any, o: kc.array(dtype=float)):
        o[0] = s.a + P + wp

    assert result(k, Params(a=1.0)) == [11]


def test_parameters_by_position():
    @kc.kernel
    def k(s: float, /, o: kc.array(dtype=float)):
        o[0] = s

    assert result(k, 2.5) == [2.5]
