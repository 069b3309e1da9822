"""A stand-in for `warp` under which the host part of a run test is executed: decorators leave functions alone, and the
types in annotations are plain descriptions. No kernel runs here."""

import sys

_SCALARS = {
    "bool": "bool", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "float64": "float64",
}
_LETTERS = {"h": "float16", "f": "float32", "d": "float64", "b": "int8", "ub": "uint8", "s": "int16", "us": "uint16",
            "i": "int32", "ui": "uint32", "l": "int64", "ul": "uint64", "": "float32"}
_COMPOSITES = {"vec2": ("vec", [2]), "vec3": ("vec", [3]), "vec4": ("vec", [4]), "mat22": ("mat", [2, 2]),
               "mat33": ("mat", [3, 3]), "mat44": ("mat", [4, 4]), "quat": ("quat", [4]), "transform": ("transform", [7]),
               "spatial_vector": ("vec", [6])}


class Type:
    """A scalar or composite type as a launch file describes it."""

    def __init__(self, kind, scalar, shape):
        self.description = {"class": kind, "scalar": scalar, "shape": shape}

    def __call__(self, *args, **named):
        return args


class Array:
    def __init__(self, dtype=None, ndim=1):
        self.dtype, self.ndim = dtype, ndim

    def __class_getitem__(cls, dtype):
        return Array(dtype)


def array(dtype=None, ndim=1):
    return Array(dtype, ndim)


class ref:
    """Of a function's parameter, which no launch has."""

    def __class_getitem__(cls, dtype):
        return dtype


class _Ranked:
    def __init__(self, ndim):
        self.ndim = ndim

    def __call__(self, dtype=None):
        return Array(dtype, self.ndim)

    def __getitem__(self, dtype):
        return Array(dtype, self.ndim)


array1d, array2d, array3d, array4d = (_Ranked(n) for n in (1, 2, 3, 4))


def _indexed(dtype, ndim):
    rank = "" if ndim == 1 else f"{ndim}d"
    lists = {f"indices_{d}": Array(int) for d in range(ndim)}
    return type(f"indexedarray{rank}_{describe(dtype)['scalar']}", (), {"__annotations__": {"data": Array(dtype, ndim), **lists}})


def indexedarray(dtype=None, ndim=1):
    return _indexed(dtype, ndim)


def indexedarray2d(dtype=None):
    return _indexed(dtype, 2)


def _decorator(thing=None, **options):
    return thing if thing is not None else _decorator


kernel = func = struct = _decorator


def func_grad(target):
    return _decorator


def _library(*args, **named):
    raise RuntimeError("a kernel built-in was called on the host")


def __getattr__(name):
    if name in _SCALARS:
        return Type("scalar", _SCALARS[name], [])
    for stem, (kind, shape) in _COMPOSITES.items():
        if name.startswith(stem) and name[len(stem):] in _LETTERS:
            return Type(kind, _LETTERS[name[len(stem):]], shape)
    if name.startswith("__"):
        raise AttributeError(name)
    return _library


def describe(annotation):
    """The launch-file form of an annotation's element type."""
    builtin = {float: "float32", int: "int32", bool: "bool"}
    if annotation in builtin:
        return {"class": "scalar", "scalar": builtin[annotation], "shape": []}
    return annotation.description


sys.modules.setdefault("warp", sys.modules[__name__])
