"""Values outside of kernels, beside Warp's: all kinds, all operators, from both sides."""

import operator

import kc.warp
import numpy as np
import pytest
import warp

OPERATORS = "add sub mul truediv mod matmul floordiv pow eq ne lt".split()
INTEGERS = ("int8", "uint8", "int32", "int64")
FLOATS = ("float16", "float32", "float64")


def made(wp):
    """Values of all kinds; the numbers are small enough for all types to be exact."""
    quat = wp.quat(1.0, 2.0, -3.0, 4.0)
    return {
        "int": 3, "float": 2.0,
        **{name: getattr(wp, name)(5 if name[0] == "u" else -5) for name in INTEGERS},
        **{name: getattr(wp, name)(-2.5) for name in FLOATS},
        "vec2": wp.vec2(3.0, 4.0), "vec3": wp.vec3(7.0, 5.0, -3.0), "vec3 again": wp.vec3(2.0, -2.0, 4.0),
        "vec3d": wp.vec3d(7.0, 5.0, -3.0), "vec2i": wp.vec2i(7, -5), "vec2i again": wp.vec2i(-2, 3), "vec2l": wp.vec2l(7, -5),
        "vec4": wp.vec4(1.0, 2.0, 3.0, 4.0), "spatial_vector": wp.spatial_vector(*map(float, range(1, 7))),
        "mat22": wp.mat22(1.0, 2.0, 3.0, 4.0), "mat33": wp.mat33(*map(float, range(1, 10))), "mat22d": wp.mat22d(1.0, 2.0, 3.0, 4.0),
        "quat": quat, "quat i": wp.quat(1.0, 0.0, 0.0, 0.0), "quatd": wp.quatd(2.0, 1.0, 0.0, 5.0),
        "transform": wp.transform(wp.vec3(1.0, 2.0, 3.0), quat), "transform again": wp.transform(wp.vec3(3.0, -1.0, 2.0), wp.quat(0.0, 2.0, 0.0, 1.0)),
    }


WARP, KC = made(warp), made(kc.warp)


def described(value):
    """The type of the numbers, the shape, and the numbers."""
    for shape, scalar in (("_shape_", "_wp_scalar_type_"), ("_shape", "_scalar")):
        if hasattr(type(value), shape):
            name = getattr(value, scalar).__name__
            return {"float": "float32", "int": "int32"}.get(name, name), getattr(value, shape), flat(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    name = type(value).__name__
    return {"float": "float32", "int": "int32"}.get(name, name), (), flat(getattr(value, "value", value))


def flat(value):
    return [None if np.isnan(x) else x for x in np.asarray(value, np.float64).ravel().tolist()]


def outcome(compute, *values):
    try:
        return described(compute(*values))
    except (TypeError, RuntimeError):
        return "refused"


def expected(compute, left, right):
    """What Warp gives. Of numbers it takes some on one side, and some of Python alone: kc takes all that have the other's type."""
    pair = [WARP[left], WARP[right]]
    found = outcome(compute, *pair)
    numbers = [kind in ("int", "float", *INTEGERS, *FLOATS) for kind in (left, right)]
    if found != "refused" or not any(numbers):
        return found
    at = 1 if all(numbers) and right in ("int", "float") else numbers.index(True)
    number, other, typed = KC[(left, right)[at]], pair[1 - at], described(pair[1 - at])[0]
    if type(number) is float and "float" not in typed or isinstance(number, np.generic) and number.dtype.name != typed:
        return found
    forms = [getattr(warp, typed)(number.item() if isinstance(number, np.generic) else number)]
    if typed == "float32":
        forms.append(float(number))
    if compute.__name__ in ("add", "sub", "mod") and all("mat" not in kind for kind in (left, right)) and not all(numbers):
        forms.append(type(other)(*[number.item() if isinstance(number, np.generic) else number] * len(other)))
    for pair[at] in forms:
        if (found := outcome(compute, *pair)) != "refused":
            return found
    return found


#: Pairs that Warp takes for vectors, of which their classes are made.
AS_VECTORS = {("quat", "vec4"), ("vec4", "quat"), ("quat i", "vec4"), ("vec4", "quat i")}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    compute, wrong = getattr(operator, name), []
    for left in WARP:
        for right in WARP:
            if left in ("int", "float") and right in ("int", "float") or (left, right) in AS_VECTORS and name in ("add", "sub", "mod"):
                continue
            if name == "mod" and right == "quatd" and left in ("int", "float", "float64"):
                # Warp has the rest of numbers by quaternions of float32 alone.
                continue
            if name in ("floordiv", "pow") and not any(hasattr(type(KC[kind]), "_shape") for kind in (left, right)):
                # Warp has them for some numbers; kc has NumPy's.
                continue
            wanted, found = expected(compute, left, right), outcome(compute, KC[left], KC[right])
            if found != wanted:
                wrong.append((left, right, wanted, found))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("compute", [operator.neg, operator.pos, len, bool, operator.invert, abs, operator.not_], ids=lambda f: f.__name__)
def test_of_one_value(compute):
    wrong = []
    for kind in list(WARP)[2:]:
        is_vector = hasattr(type(KC[kind]), "_shape")
        if is_vector and compute in (abs, operator.invert) or not is_vector and compute in (len, operator.invert):
            # NumPy's.
            continue
        wanted, found = outcome(compute, WARP[kind]), outcome(compute, KC[kind])
        if found != wanted:
            wrong.append((kind, wanted, found))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    "text",
    """v[0:2]; v[::2]; v[-1]; w[1]; m[0]; m[-1]; m[0, 1]; m[:, 0]; m[0, :]; m[0:1]; m[0:2, 1:3]; m[0:2, 1]; q[0:3]; q.w; v.y; t[0:3]
    len(m); tuple(v)[2]; put(v, slice(0, 2), 5.0); put(v, slice(0, 2), (8.0, 9.0)); put(v, slice(0, 2), wp.vec2(8.0, 9.0))
    put(m, 0, v); put(m, (slice(None), 0), v); put(m[0], 0, 9.0); m; v == (7.0, 5.0, -3.0); v == 7.0; wp.vec4(1.0) == wp.mat22(1.0)
    iadd(v, v); v; wp.rand_init(42); wp.rand_init(42, 7); wp.randf(wp.rand_init(42)); wp.randi(wp.rand_init(42), 1, 20)
    wp.randu(wp.rand_init(42)); wp.length(wp.vec3d(3.0, 4.0, 0.0)); hasattr(v, 'w'); hasattr(m, 'x')
    wp.float64(2.5).value; wp.int8(-3).value""".replace("\n", ";").split(";"),
)
def test_parts_and_functions(text):
    def evaluated(wp, values):
        def put(value, key, item):
            value[key] = item
            return value

        v, m, q, t = (type(values[name])(*np.asarray(values[name]).ravel().tolist()) for name in ("vec3", "mat33", "quat", "transform"))
        names = {"wp": wp, "v": v, "m": m, "w": wp.vec2i(7, -5), "q": q, "t": t, "put": put, "iadd": operator.iadd}
        return described(eval(text.strip(), names))

    assert evaluated(kc.warp, KC) == evaluated(warp, WARP)
