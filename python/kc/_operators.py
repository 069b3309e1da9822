"""The operators of values outside of kernels: which kinds each one takes, and what comes of it, as in kernels.

A number of Python takes the type of the other side: an integer any, a float one of floats. All else is of one type. With an array
of NumPy on a side the operator is NumPy's.
"""

from __future__ import annotations

import operator

import numpy as np


def result(symbol, left, right):
    """What comes of two values: the kind, or None for a plain array, and the numbers. NotImplemented: one is no value of kernels."""
    left, right = _number(left), _number(right)
    if _is_array(left) or _is_array(right):
        return None, _PYTHON[symbol](_plain(left), _plain(right))
    rules = _RULES.get(symbol)
    if rules is None:
        return NotImplemented
    a, b = _kind(left), _kind(right)
    if a is None or b is None:
        return NotImplemented
    rule = rules.get((a, b))
    if rule is None:
        raise TypeError(_refused(symbol, left, right, _NO_PRODUCT.get((symbol, a, b), "kernels have no such operator")))
    kind, compute = rule
    x, y = _alike(symbol, left, right)
    if compute is np.matmul:
        if x.shape[-1] != y.shape[0]:
            raise TypeError(_refused(symbol, left, right, f"a row of {x.shape[-1]} numbers has no product with {y.shape[0]}"))
    elif "number" not in (a, b) and x.shape != y.shape:
        raise TypeError(_refused(symbol, left, right, "both are to have one size"))
    # Infinities and NaN are what they are in kernels, too.
    with np.errstate(all="ignore"):
        return kind, compute(x, y)


def _is_array(value) -> bool:
    """Whether it is an array of NumPy, and no value of kernels; what NumPy made of a value in another shape is an array, too."""
    return isinstance(value, np.ndarray) and not _is_value(value)


def _number(value):
    """NumPy's numbers come as arrays without dimensions, too."""
    return value[()] if type(value) is np.ndarray and value.shape == () else value


def _is_value(value) -> bool:
    kind = getattr(type(value), "_key", None)
    return kind is not None and value.shape == kind[1] and value.dtype == value._scalar.numpy_dtype


def _plain(value):
    return value.view(np.ndarray) if isinstance(value, np.ndarray) else value


def _kind(value):
    if _is_value(value):
        return type(value)._key[0]
    is_number = isinstance(value, (int, float, np.generic)) and not isinstance(value, (bool, np.bool_, np.flexible))
    return "number" if is_number else None


def _alike(symbol, left, right):
    """Both as NumPy has them, of one type of numbers."""
    types = [getattr(value, "dtype", None) for value in (left, right)]
    known = [dtype for dtype in types if dtype is not None]
    if len(known) == 2 and known[0] != known[1]:
        advice = f"convert one: they are of {known[0].name} and {known[1].name}"
        raise TypeError(_refused(symbol, left, right, advice))
    dtype = known[0]
    for value, given in zip((left, right), types):
        if given is None and isinstance(value, float) and np.issubdtype(dtype, np.integer):
            raise TypeError(_refused(symbol, left, right, f"a float is no {dtype.name}"))
    return [_plain(value) if given is not None else dtype.type(value) for value, given in zip((left, right), types)]


def _refused(symbol, left, right, why) -> str:
    return f"{_named(left)} {symbol} {_named(right)}: {why}"


def _named(value) -> str:
    return getattr(value, "_text", "") or type(value).__name__


def _divided(x, y):
    """The quotient; of integers, rounded towards zero."""
    if not np.issubdtype(np.result_type(x, y), np.integer):
        return np.true_divide(x, y)
    _no_zeros(y)
    down = np.floor_divide(x, y)
    return down + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0))).astype(np.result_type(down))


def _rest(x, y):
    """The rest of a division, with the sign of the dividend."""
    if np.issubdtype(np.result_type(x, y), np.integer):
        _no_zeros(y)
    return np.fmod(x, y)


def _no_zeros(y):
    if not np.all(y):
        raise ZeroDivisionError("division of integers by zero")


def _quaternions(a, b):
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return np.array(
        [
            aw * bx + bw * ax + ay * bz - by * az,
            aw * by + bw * ay + az * bx - bz * ax,
            aw * bz + bw * az + ax * by - bx * ay,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        a.dtype,
    )


def _transforms(a, b):
    q, p = a[3:], b[:3]
    two = a.dtype.type(2)
    turned = p * (two * q[3] * q[3] - a.dtype.type(1)) + np.cross(q[:3], p) * q[3] * two + q[:3] * np.dot(q[:3], p) * two
    return np.concatenate([a[:3] + turned, _quaternions(q, b[3:])]).astype(a.dtype)


def _rules():
    """By operator and kinds of both sides: the kind of the result, and how it is computed."""
    kinds = ("number", "vec", "mat", "quat", "transform")
    sums = {"+": np.add, "-": np.subtract}
    rules = {symbol: {(kind, kind): (kind, compute) for kind in kinds} for symbol, compute in sums.items()}
    rules["*"] = {
        ("mat", "mat"): ("mat", np.matmul), ("mat", "vec"): ("vec", np.matmul), ("vec", "mat"): ("vec", np.matmul),
        ("quat", "quat"): ("quat", _quaternions), ("transform", "transform"): ("transform", _transforms),
    }
    rules["/"] = {}
    rules["%"] = {("vec", "vec"): ("vec", _rest)}
    for symbol, compute in [*sums.items(), ("*", np.multiply), ("/", _divided), ("%", _rest)]:
        for kind in kinds:
            # A matrix and a number have neither a sum nor a rest.
            if kind != "mat" or symbol in "*/":
                rules[symbol] |= {(kind, "number"): (kind, compute), ("number", kind): (kind, compute)}
    rules["@"] = {pair: rule for pair, rule in rules["*"].items() if "mat" in pair}
    return rules


_RULES = _rules()
_NO_PRODUCT = {
    ("*", "vec", "vec"): "two vectors have no product; kc.cw_mul multiplies their components, kc.dot sums the products",
    ("/", "vec", "vec"): "vectors are not divided; kc.cw_div divides their components",
    ("*", "quat", "vec"): "to rotate a vector use kc.quat_rotate",
    ("*", "transform", "vec"): "to move a point use kc.transform_point",
}
_PYTHON = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod, "@": operator.matmul,
    "//": operator.floordiv, "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}
_OF_UFUNC = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.remainder: "%", np.matmul: "@", np.floor_divide: "//",
    np.power: "**", np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=", np.equal: "==", np.not_equal: "!=",
    np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^", np.left_shift: "<<", np.right_shift: ">>",
}
#: All operators, and those in which numbers differ from NumPy's.
ALL, OF_NUMBERS = tuple(_PYTHON), ("+", "-", "*", "/", "%")


def methods(symbols, made):
    """The methods of a class for some operators: of each from both sides and in place. ``made(kind, numbers)`` makes results."""

    def method(symbol, swapped):
        def call(self, other):
            found = result(symbol, other, self) if swapped else result(symbol, self, other)
            return found if found is NotImplemented else made(*found)

        return call

    found = {}
    for symbol in symbols:
        name = _PYTHON[symbol].__name__.strip("_")
        found[f"__{name}__"] = method(symbol, False)
        if name not in ("lt", "le", "gt", "ge"):
            found[f"__r{name}__"] = method(symbol, True)
            # `+=` makes a value, as in Warp: another name may have the same one.
            found[f"__i{name}__"] = found[f"__{name}__"]
    return found


def of_number(ufunc, method, inputs):
    """The operator of a NumPy number and a value, which NumPy takes for one of arrays; None: it is none."""
    is_operator = method == "__call__" and len(inputs) == 2 and any(isinstance(_number(item), np.generic) for item in inputs)
    return _OF_UFUNC.get(ufunc) if is_operator else None


def plain(value):
    """What NumPy's own functions get: arrays, also in lists and keywords."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(plain, value)) if type(value) in (tuple, list) else value
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return _plain(value) if hasattr(type(value), "_key") else value
