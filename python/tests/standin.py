"""The stand-in for NVIDIA's driver (`standin.c`): for it all memory is a GPU's, and C code stands for a kernel's GPU code."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def made(folder, host):
    """The folder of the driver, with the C code of kernels in it."""
    (folder / "host").mkdir()
    (folder / "host.c").write_text(host)
    compile = ["cc", "-O1", "-shared", "-fPIC", "-o"]
    subprocess.run([*compile, folder / "libcuda.so", ROOT / "python/tests/standin.c", "-ldl"], check=True)
    subprocess.run([*compile, folder / "host/libhost.so", folder / "host.c"], check=True)
    return folder


def run(program, folder, driver=None, **environment):
    """What a program printed, as JSON, and what the stand-in noted."""
    (folder / "program.py").write_text(program)
    environment = {**os.environ, **environment, "STANDIN_LOG": str(folder / "log")}
    if driver is not None:
        environment |= {"LD_LIBRARY_PATH": str(driver), "STANDIN_HOST": str(driver / "host")}
    done = subprocess.run([sys.executable, folder / "program.py"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    log = folder / "log"
    return json.loads(done.stdout), log.read_text() if log.exists() else ""
