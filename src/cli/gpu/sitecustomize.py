"""What `kc gpu` asks of libraries for Python, at the start of every interpreter: PTX that knows its source lines.

numba-cuda and cuda.core link by the driver where nvJitLink, which gives machine code, is not found; and numba's kernels
have source lines where `lineinfo` asks for them.
"""

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def with_lines(module):
    """`numba.cuda.jit` has `lineinfo=True` where nothing else is said."""
    jit = module.jit

    @functools.wraps(jit)
    def with_lines_of_source(*args, **kwargs):
        if not kwargs.get("debug"):
            kwargs.setdefault("lineinfo", True)
        return jit(*args, **kwargs)

    module.jit = with_lines_of_source


def without_linker(module):
    """nvJitLink is not there."""
    load = module.load_nvidia_dynamic_lib

    @functools.wraps(load)
    def load_all_but_one(libname):
        if libname == "nvJitLink":
            raise module.DynamicLibNotFoundError("nvJitLink is hidden by `kc gpu`: it links to machine code")
        return load(libname)

    module.load_nvidia_dynamic_lib = load_all_but_one


def on_driver(module):
    """Warp's library goes by the driver."""
    file = importlib.util.spec_from_file_location("kc_warp", os.path.join(HERE, "kc_warp.py"))
    change = importlib.util.module_from_spec(file)
    file.loader.exec_module(change)
    change.change(module)


CHANGES = {"numba.cuda.decorators": with_lines, "cuda.pathfinder": without_linker, "warp._src.context": on_driver}


class Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and then changes it."""

    def __init__(self, loader, change):
        self.loader = loader
        self.change = change

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        self.change(module)

    def __getattr__(self, name):
        return getattr(self.loader, name)


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self):
        self.inside = False

    def find_spec(self, name, path, target=None):
        if name not in CHANGES or self.inside:
            return None
        self.inside = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.inside = False
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader, CHANGES[name])
        return spec


sys.meta_path.insert(0, Finder())

# The one that would have been found without this.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
_own = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
if _own is not None and _own.loader is not None:
    _module = importlib.util.module_from_spec(_own)
    _own.loader.exec_module(_module)
