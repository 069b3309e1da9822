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
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    return subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, timeout=600, env=env)


def test_mypy_finds_what_is_wrong_and_nothing_else(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run("-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", "program.py", cwd=tmp_path)
    found = sorted((int(line.split(":")[1]), line.rsplit("[", 1)[1].rstrip("]")) for line in done.stdout.splitlines() if "error" in line)
    lines = PROGRAM.splitlines()
    wanted = [(n, line.split("# E: ")[1]) for n, line in enumerate(lines, 1) if "# E: " in line]
    assert found == wanted, done.stdout + done.stderr


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


@pytest.mark.parametrize("name", ["vec3", "mat22d", "int64", "zeros", "Tape", "array2d", "report"])
def test_the_stub_names_what_there_is(name):
    import kc

    text = (ROOT / "kc" / "__init__.pyi").read_text()
    assert hasattr(kc, name) and (f"def {name}(" in text or f"class {name}" in text)
