"""Warp's finite elements, which kc does not have: programs that import them load, and what uses them is refused.

Functions may stand behind the decorators of this module, and its names in annotations. Everything else raises, and says what to do.
"""

from __future__ import annotations

import functools
import sys
import types
import typing


#: What stands before functions of a program.
_DECORATORS = ("fem.integrand", "fem.cache.dynamic_func", "fem.cache.dynamic_kernel")


class Absent:
    """A name of Warp's ``fem``."""

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *arguments, **options):
        if self.__name__ in _DECORATORS and len(arguments) == 1 and isinstance(arguments[0], types.FunctionType):
            return Absent(arguments[0].__name__)
        raise NotImplementedError(
            f"`{self.__name__}`: kc.warp has no finite elements. Import Warp, whose `fem` runs on kc's kernels behind kc.accelerate()"
        )

    def __mro_entries__(self, bases):
        # A class with such a base has no values.
        return (type(self.__name__, (), {"__new__": lambda cls, *arguments, **options: self()}),)

    def __instancecheck__(self, value):
        return False

    def __or__(self, other):
        return typing.Any

    __ror__ = __or__

    def __repr__(self):
        return f"<{self.__name__}, which kc.warp does not have>"


def _module(name):
    """A module of absent names."""
    made = sys.modules[f"{__name__}.{name}"] = types.ModuleType(f"{__name__}.{name}", __doc__)
    made.__getattr__ = functools.partial(_named, f"fem.{name}")
    return made


def _named(module, name):
    if name.startswith("__"):
        raise AttributeError(f"module `{module}` has no attribute {name!r}")
    return Absent(f"{module}.{name}")


__getattr__ = functools.partial(_named, "fem")
#: Its modules are imported by name, too.
__path__ = []
cache, linalg, operator, utils = map(_module, ("cache", "linalg", "operator", "utils"))
