"""How do processes of other Pythons find kc?"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile


@functools.cache
def _alone():
    """A folder with kc, and with nothing that is installed beside it: another Python has its own NumPy."""
    import kc

    folder = tempfile.mkdtemp(prefix="kc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.symlink(os.path.dirname(os.path.abspath(kc.__file__)), os.path.join(folder, "kc"))
    return folder


def environment(**more):
    """The environment of a process that imports this kc, with more variables."""
    path = os.pathsep.join(p for p in (_alone(), os.environ.get("PYTHONPATH")) if p)
    return {**os.environ, "PYTHONPATH": path, **more}
