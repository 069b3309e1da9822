"""Arrays in the memory of a GPU, on the simulated driver of `kc gpu`: who loads it first has it, under the name of NVIDIA's."""

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
os.environ.setdefault("KC_SIM_DEVICES", "2")
os.environ.setdefault("KC_SIM_MEMORY", "64M")
ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def program(text, driver=True, **environment):
    """Runs a program in a process of its own, which a fault may cost its GPU; with a driver, or as on a machine that has none."""
    load = f"import ctypes\nctypes.CDLL({LIBRARY!r}, mode=ctypes.RTLD_GLOBAL)\n" if driver else ""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.py"
        path.write_text(load + text)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        return subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment)
