"""What type checkers make of programs that use the package."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]

PROGRAM = """
import kc
import numpy as np

@kc.func
def twice(x: float) -> float:
    return 2.0 * x

@kc.kernel
def scale(x: kc.array[float], v: kc.array2d[kc.vec3], n: kc.int64, s: float) -> None:
    i = kc.tid()
    x[i] = kc.sin(x[i]) * twice(s)

@kc.kernel(enable_backward=False)
def other(x: kc.array[float]) -> None:
    x[kc.tid()] = 0.0

x = np.zeros(3, np.float32)
scale(3, x, None, 1, 2.0)
scale((3, 4), x, None, n=1, s=2.0)
found = scale.grad(3, x, None, 1, 2.0, grads={"x": 1.0})
text: str = scale.cuda + scale.ptx("sm_90")
module = kc.compile("kernels.py")
names: list[str] = module.names
again: kc.Kernel = module.scale
with kc.Tape() as tape:
    other(3, x)
tape.backward(grads=[(x, 1.0)])
a = kc.zeros(3, kc.vec3, requires_grad=True)
b = kc.array([1.0, 2.0], dtype=float)
shape: tuple[int, ...] = a.shape + b.shape
v = kc.vec3(1.0, 2.0, 3.0)
try:
    other("no", x)  # E: arg-type
except kc.IndexError as error:
    code: str = error.code
scale.cuda()  # E: operator
scale.jvp(3, x)  # E: call-arg
kc.kernel(3)  # E: call-overload
tape.nothing()  # E: attr-defined
wrong: int = scale.ir  # E: assignment
"""


def run(*command, cwd):
    env = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, timeout=600, env=env)


def test_mypy_finds_what_is_wrong_and_nothing_else(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", "program.py", cwd=tmp_path)
    found = sorted((int(line.split(":")[1]), line.rsplit("[", 1)[1].rstrip("]")) for line in done.stdout.splitlines() if "error" in line)
    lines = PROGRAM.splitlines()
    wanted = [(n, line.split("# E: ")[1]) for n, line in enumerate(lines, 1) if "# E: " in line]
    assert found == wanted, done.stdout + done.stderr


CALLS = """
from __future__ import annotations

from dataclasses import dataclass

import kc
import kc as k
import numpy as np
from kc import array2d as grid


@dataclass
class State:
    x: kc.array(dtype=float)
    n: int


@kc.func
def twice(x: kc.array(dtype=float), i: int) -> float:
    return 2.0 * float(x[i])


@kc.kernel
def saxpy(
    a: float, x: kc.array(dtype=float), v: k.array(dtype=kc.vec3, ndim=2), m: grid(kc.types.vector(length=3, dtype=float)),
    y: "kc.array(dtype=float)", z: kc.array[float],
) -> None:
    i = kc.tid()
    y[i] = a * x[i] + twice(x, i) + z[i]


def host(x: kc.array(dtype=float), *more: kc.array2d(dtype=kc.vec3)) -> kc.array(dtype=float):
    def inner(y: kc.array(dtype=float)) -> int:
        return y.shape[0]

    first: kc.array(dtype=float) = x
    reveal_type(first)  # N: kc.array[float]
    reveal_type(more)  # N: tuple[kc.array2d[Any], ...]
    inner(3)  # E: arg-type
    return x.shape  # E: return-value


def other(x: np.zeros(3), y: nothing(3)) -> None:  # E: valid-type
    pass
"""


@pytest.mark.parametrize("options", [[], ["--no-native-parser"]])
def test_mypy_reads_annotations_that_are_calls(tmp_path, options):
    """With the plugin, and without it `[valid-type]`."""
    text = CALLS.replace(", y: nothing(3)", "")
    (tmp_path / "program.py").write_text(text)
    (tmp_path / "with.ini").write_text("[mypy]\nplugins = kc.mypy\n")
    command = ["-m", "mypy", "--strict", "--no-error-summary", "--no-incremental", "--follow-imports=silent", *options]
    done = run(*command, "--config-file", "with.ini", "program.py", cwd=tmp_path)
    lines, told = text.splitlines(), done.stdout.splitlines()
    wanted = {(n, line.split("# E: ")[1]) for n, line in enumerate(lines, 1) if "# E: " in line}
    assert {(int(line.split(":")[1]), line.rsplit("[", 1)[1].rstrip("]")) for line in told if " error: " in line} == wanted, done.stdout + done.stderr
    for n, line in enumerate(lines, 1):
        if "# N: kc.array[float]" in line:
            assert any(f"program.py:{n}: note:" in one and "kc.array[" in one and "float]" in one for one in told)
    assert "[valid-type]" in run(*command, "--config-file=", "program.py", cwd=tmp_path).stdout


def test_pyright_finds_the_same_lines(tmp_path):
    """Where pyright is installed (`pip install "pyright[nodejs]"`)."""
    import json

    import numpy

    pytest.importorskip("pyright")
    (tmp_path / "program.py").write_text(PROGRAM)
    paths = [str(ROOT), os.path.dirname(os.path.dirname(numpy.__file__))]
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": paths, "typeCheckingMode": "strict"}))
    done = run("-m", "pyright", "--outputjson", "program.py", cwd=tmp_path)
    found = {finding["range"]["start"]["line"] + 1 for finding in json.loads(done.stdout)["generalDiagnostics"]}
    assert found == {n for n, line in enumerate(PROGRAM.splitlines(), 1) if "# E: " in line}, done.stdout


def test_the_stub_is_up_to_date():
    done = run(str(ROOT / "stubs.py"), "--check", cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["vec3", "mat22d", "int64", "zeros", "Tape", "array2d", "report", "checked", "deterministic", "Split"])
def test_the_stub_names_what_there_is(name):
    import kc

    text = (ROOT / "kc" / "__init__.pyi").read_text()
    assert hasattr(kc, name) and (f"def {name}(" in text or f"class {name}" in text)


def test_unions_in_annotations_of_python():
    import typing

    import kc.warp as wp

    assert typing.get_args(wp.float32 | wp.float64) == (wp.float32, wp.float64)
    assert typing.get_args(wp.array(dtype=float) | None)[1] is type(None) and typing.get_args(None | wp.Float)[0] is type(None)
    assert typing.get_args(int | wp.int64) == (int, wp.int64)

    def made(x: wp.array(dtype=float) | list[wp.float32] | None = None):
        return x

    assert made() is None
