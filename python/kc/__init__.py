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
    LintWarning,
    SourceError,
)
from ._kernel import Func, Kernel, Module, compile, func, func_grad, func_replay, kernel, overload
from ._array import OfRank, array, empty, full, ones, zeros
from . import _native

__version__ = _native.version()


array1d, array2d, array3d, array4d = (OfRank(array, n) for n in (1, 2, 3, 4))


def devices() -> list:
    """The GPUs of this machine: objects with ``id`` (``"cuda:0"``), ``name``, ``memory`` and ``free`` in bytes, and ``synchronize()``."""
    from . import _device

    return _device.devices()


class checked:
    """Launches on a GPU within ``with kc.checked():`` test every index, as those on the host do, and every ``assert``.

    A faulty access is skipped and recorded. The next wait or call raises ``kc.IndexError`` with the thread, the array and the line.
    ``KC_CHECKED=1`` in the environment checks all launches. Checks hold for all threads of the program.
    """

    def __init__(self, on: bool = True):
        self._on = on

    def __enter__(self):
        self._before = _native.check_launches(self._on)
        return self

    def __exit__(self, *_):
        _native.check_launches(self._before)


class deterministic:
    """Launches and gradients within ``with kc.deterministic():`` give the same bits each time.

    Floats are added by atomics in the order in which threads come, and sums round by their order. Here the host runs launches on one
    core, in the order of the threads. On a GPU one block adds up sums to one place, and one thread runs other kernels and derivatives
    in which that order shows, which takes long; those with tiles are an error there (E1104). It holds for all threads of the program.
    """

    def __init__(self, on: bool = True):
        self._on = on

    def __enter__(self):
        self._before = _native.order_launches(self._on)
        return self

    def __exit__(self, *_):
        _native.order_launches(self._before)


class record:
    """Launches and gradients on the host within ``with kc.record(folder):`` are kept as launch files, with what their arrays held.

    Of each kernel, direction and size of launch the first ``each`` are kept, if their arrays have at most ``most`` bytes; the folder is
    new or empty. Each launch has a folder of its own with ``launch.json``, ``inputs.npz`` and the kernel's text: ``kc run``,
    ``kc verify``, ``kc bench`` and ``kc profile`` read them. Kernels of Warp that kc runs (``kc.accelerate()``) are kept, too.
    Afterwards ``files`` has the paths, and ``left`` the kernels with launches that were not kept, each with the reason.

        with kc.record("launches") as recorded:
            simulation.step()
        print(recorded.files, recorded.left)
    """

    def __init__(self, folder, each: int = 1, most: int = 1 << 28):
        self._given = folder, each, most
        self.files, self.left = [], {}

    def __enter__(self):
        _native.recording_start(*self._given)
        return self

    def __exit__(self, *_):
        self.files, self.left = _native.recording_stop()


def struct(cls):
    """Makes a struct of kernels of a class with annotated fields: ``@kc.struct``."""
    from . import _types

    return _types.struct(cls)


def constant(value):
    """The value itself: kernels see what their names mean."""
    return value


def check(source, *, name: str = "kernels.py", strict_warp: bool = False):
    """What the compiler says of kernels, without running them: a list of findings, empty where there is nothing to say.

    ``source`` is a path, a text with line ends (which messages call ``name``), a function, a kernel or a module. A finding has
    ``code``, ``message``, ``filename``, ``lineno``, ``column``, ``help`` and ``level`` (``"error"`` or ``"warning"``); ``str(finding)``
    has the source lines. ``strict_warp=True`` tells as well what would not run under Warp, whose literals have their own types.

        for finding in kc.check("kernels.py"):
            print(finding)
    """
    from . import _check

    return _check.check(source, name=name, strict_warp=strict_warp)


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
        if self.__name__ == "static" and len(arguments) == 1 and not named:
            # What Python computes, Python has.
            return arguments[0]
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


#: Words that annotations use as types.
_TYPES = ("tile", "fixedarray", "tile_stack")


def _function_of(name):
    """A built-in as a function of Python, with the documentation of the library."""
    forms = [] if name in _TYPES else _native.described(name)
    if not forms:
        return _Word(name)
    word = _Word(name)

    def call(*arguments, **named):
        return word(*arguments, **named)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "kc"
    call.__doc__ = _documentation(forms)
    call.__signature__ = _signature_of([form[1] for form in forms])
    call._kc_word = name
    return call


def _documentation(forms):
    """The forms of a built-in with their types and shapes, what it does, and an example."""
    told = []
    for signature, _, doc in forms:
        doc = doc.replace("wp.", "kc.")
        text = f"kc.{signature}\n\n    " + doc.replace("\n", "\n    ").replace("\n    \n", "\n\n")
        told.append(text)
    return "\n\n".join(told)


def _signature_of(forms):
    """Of the forms together: their parameters where all have the same, else any."""
    import inspect

    kinds = inspect.Parameter
    names = [[parameter.split(":")[0].split("=")[0].strip() for parameter in form] for form in forms]
    if any(other != names[0] for other in names) or not all(name.isidentifier() for name in names[0]):
        return inspect.Signature([kinds("arguments", kinds.VAR_POSITIONAL), kinds("named", kinds.VAR_KEYWORD)])

    def made(n):
        wanted = dict.fromkeys(form[n].split(":")[-1].split("=")[0].strip() for form in forms)
        default = ... if any("=" in form[n] for form in forms) else kinds.empty
        return kinds(names[0][n], kinds.POSITIONAL_OR_KEYWORD, default=default, annotation=" | ".join(wanted))

    return inspect.Signature([made(n) for n in range(len(names[0]))])


_words = None


def __getattr__(name):
    # Types need NumPy, which takes long to import: only where they are used.
    if name.startswith("_"):
        raise AttributeError(name)
    if name in ("types", "torch", "jax"):
        import importlib

        return importlib.import_module(f"kc.{name}")
    if name == "Finding":
        from ._check import Finding

        return Finding
    if name == "Tape":
        from ._tape import Tape

        return Tape
    if name in ("Stream", "Event", "Graph"):
        from . import _streams

        return getattr(_streams, name)
    if name == "Split":
        from ._split import Split

        return Split
    if name in ("Mesh", "Bvh", "HashGrid"):
        from . import _engines

        return getattr(_engines, name)
    if name == "Volume":
        from . import _volumes

        return _volumes.Volume
    if name in ("Texture1D", "Texture2D", "Texture3D", "TextureFilterMode", "TextureAddressMode"):
        from . import _textures

        return getattr(_textures, name)
    global _words
    from . import _types

    found = _types.NAMED.get(name)
    if found is None:
        if _words is None:
            _words = frozenset(_native.builtins()) | {"static", "tid", "fixedarray"}
        if name not in _words:
            raise AttributeError(f"module 'kc' has no attribute {name!r}")
        found = _function_of(name)
    globals()[name] = found
    return found


def __dir__():
    from . import _types

    return sorted({*globals(), *_types.NAMED, *_native.builtins()})


def _after_fork():
    _native.forked()


def _at_exit():
    # What nobody waits for any more is in the compiler, which must not lose the process under
    # its feet.
    import sys
    import time

    while _native.abandoned():
        time.sleep(0.01)
    # What kernels print comes, and what nobody waited for is told.
    for ordinal in _native.cards_opened():
        try:
            _native.card_wait(ordinal)
        except LaunchError as error:
            if error.thread is not None:
                print(error, file=sys.stderr)
        except Error:
            pass


def _register():
    import atexit
    import os

    _native.check_launches(os.environ.get("KC_CHECKED", "0") not in ("", "0"))
    os.register_at_fork(after_in_child=_after_fork)
    atexit.register(_at_exit)


_register()
