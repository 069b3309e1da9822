"""kc compiles kernels written in a subset of Python, and their gradients, and runs them on all cores.

    import kc, numpy as np

    @kc.kernel
    def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = a * x[i] + y[i]

    saxpy(1000, 3.0, x, y)                       # x, y: NumPy arrays
    saxpy.grad(1000, 3.0, x, y, grads={"y": 1.0})["x"]
"""

from ._errors import (
    ArgumentError,
    AssertionError,
    CompileError,
    DeviceError,
    Error,
    GradientError,
    GradientWarning,
    IndexError,
    InternalError,
    LaunchError,
    SourceError,
)
from ._kernel import Func, Kernel, Module, compile, func, func_grad, func_replay, kernel, overload
from ._array import OfRank, array, empty, full, zeros
from . import _native

__version__ = _native.version()


array1d, array2d, array3d, array4d = (OfRank(array, n) for n in (1, 2, 3, 4))


def struct(cls):
    """Makes a struct of kernels of a class with annotated fields: ``@kc.struct``."""
    from . import _types

    return _types.struct(cls)


def constant(value):
    """The value itself: kernels see what their names mean."""
    return value


def accelerate() -> bool:
    """Lets kc run the CPU kernels of Warp, which is installed, from now on; False where it does not know this Warp."""
    from . import _accelerate

    return _accelerate.accelerate()


def report() -> dict:
    """Who ran which kernel of Warp since ``kc.accelerate()``, how often, and why."""
    from . import _accelerate

    return _accelerate.report()


class _Word:
    """A function of the kernel language, such as ``kc.sin``. From Python it takes numbers, vectors and matrices."""

    def __init__(self, name):
        self._kc_word = self.__name__ = name

    def __call__(self, *arguments, **named):
        if self.__name__ == "fixedarray":
            # The type of what a function gives, in its annotation.
            return self
        if self.__name__ in ("tid", "static"):
            raise TypeError(f"kc.{self.__name__} is called in kernels, not from Python")
        from . import _host

        return _host.call(self.__name__, arguments)

    def __getitem__(self, parameters):
        # `kc.tile[float, 4, 4]` in annotations.
        if self.__name__ != "tile":
            raise TypeError(f"kc.{self.__name__} is no type with parameters")
        return self

    def __repr__(self):
        return f"<kc built-in {self.__name__}>"


_words = None


def __getattr__(name):
    # Types need NumPy, which takes long to import: only where they are used.
    if name.startswith("_"):
        raise AttributeError(name)
    if name in ("types", "torch", "jax"):
        import importlib

        return importlib.import_module(f"kc.{name}")
    if name == "Tape":
        from ._tape import Tape

        return Tape
    global _words
    from . import _types

    found = _types.NAMED.get(name)
    if found is None:
        if _words is None:
            _words = frozenset(_native.builtins()) | {"static", "tid", "fixedarray"}
        if name not in _words:
            raise AttributeError(f"module 'kc' has no attribute {name!r}")
        found = _Word(name)
    globals()[name] = found
    return found


def __dir__():
    from . import _types

    return sorted({*globals(), *_types.NAMED, *_native.builtins()})
