"""Arrays in the memory of a GPU, on the simulated driver of `kc gpu`: who loads it first has it, under the name of NVIDIA's.

`KC_GPU=real` takes the GPUs of this machine. Tests of what the simulated driver alone finds, or of a second GPU where there is
one, are skipped then."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = str(ROOT / "kc/libkc_gpu.so")
REAL = os.environ.get("KC_GPU") == "real"
if not REAL:
    os.environ.setdefault("KC_SIM_DEVICES", "2")
    os.environ.setdefault("KC_SIM_MEMORY", "64M")
    ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)

import kc

# Another GPU than the first, where there is one.
LAST = kc.devices()[-1].id


def pytest_configure(config):
    config.addinivalue_line("markers", "simulated: of what the simulated driver does, and no GPU")
    config.addinivalue_line("markers", "two_gpus: needs two GPUs")


def pytest_collection_modifyitems(items):
    one = len(kc.devices()) < 2
    for item in items:
        if REAL and list(item.iter_markers("simulated")):
            item.add_marker(pytest.mark.skip(reason="of the simulated driver"))
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        second = any("cuda:1" in (value if isinstance(value, tuple) else (value,)) for value in values)
        if one and (second or list(item.iter_markers("two_gpus"))):
            item.add_marker(pytest.mark.skip(reason="needs two GPUs"))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def program(text, driver=True, prepare=None, **environment):
    """Runs a program in a process of its own, which a fault may cost its GPU; with a driver, or as on a machine that has none. ``prepare``
    runs in that process first.
    """
    load = f"import ctypes\nctypes.CDLL({LIBRARY!r}, mode=ctypes.RTLD_GLOBAL)\n" if driver and not REAL else ""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.py"
        path.write_text(load + text)
        environment = {**os.environ, **({} if REAL else {"PYTHONPATH": str(ROOT)}), **environment}
        return subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, preexec_fn=prepare)
