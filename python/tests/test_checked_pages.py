"""The programs of the pages, as users of type checkers write them: mypy (`--strict`) and pyright (`strict`) find nothing."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/python.md", "docs/engines.md", "docs/gpu.md", "docs/tutorials/first-kernel.md", "docs/tutorials/gradients.md")

MORE = '''
import kc.warp as wp
import kc.warp.sparse as sparse
import numpy as np


@wp.struct
class Body:
    mass: float
    at: wp.vec3


@wp.func
def twice(x: float) -> float:
    return 2.0 * x


@wp.kernel
def scale(x: wp.array[float], y: wp.array[float]) -> None:
    i = wp.tid()
    y[i] = twice(x[i]) + wp.sin(x[i])


@wp.kernel(enable_backward=False)
def other(x: wp.array2d[float]) -> None:
    i, j = wp.tid()
    x[i, j] = 0.0


with wp.ScopedDevice("cpu"):
    x = wp.array(np.ones(4), dtype=float, requires_grad=True)
    y = wp.zeros(4, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(scale, dim=4, inputs=[x], outputs=[y])
tape.record_func(lambda: None, [x, y])
tape.backward(grads={y: wp.ones_like(y)})
print(x.grad.numpy(), (x + y * 2.0).numpy(), x.shape[0] + 1)
x.grad.zero_()
A = sparse.bsr_from_triplets(2, 2, wp.array([0], dtype=int), wp.array([1], dtype=int), wp.array([1.0], dtype=float))
print((A @ x).numpy(), A.nnz, sparse.bsr_mm(A, A).shape)
wp.optim.Adam([x], lr=0.1).step([x.grad])
volume = wp.Volume.load_from_numpy(np.zeros((8, 8, 8)), voxel_size=0.5)
print(volume.get_voxel_count() + 1, wp.utils.array_sum(x), wp.vec3(1.0, 2.0, 3.0).x, wp.pi + 1.0)
with wp.ScopedTimer("it", active=False) as timer:
    wp.synchronize()
'''


def programs():
    """Each page's programs, with annotations in the form that checkers take."""
    for page in PAGES:
        blocks = re.findall(r"```python\n(.*?)```", (ROOT.parent / page).read_text(), flags=re.S)
        for n, block in enumerate(one for one in blocks if re.search(r"^import kc", one, flags=re.M)):
            # What this environment does not have.
            if re.search(r"^import (torch|jax|warp)", block, flags=re.M):
                continue
            block = re.sub(r"\b(kc|wp)\.array(\dd)?\(dtype=([\w.]+)\)", r"\1.array\2[\3]", block)
            yield f"{page.replace('/', '_').removesuffix('.md').replace('-', '_')}_{n}.py", block


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    for name, text in programs():
        (folder / name).write_text(text)
    (folder / "more.py").write_text(MORE)
    assert len(list(folder.iterdir())) > 8
    return folder


def run(*command, cwd):
    env = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, timeout=900, env=env)


#: Kernels need no annotation of what they give, and pages leave it out.
LEFT = ("no-untyped-def", "no-untyped-call")


def test_mypy(folder):
    names = sorted(path.name for path in folder.glob("*.py"))
    done = run("-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", *names, cwd=folder)
    found = [line for line in done.stdout.splitlines() if "error" in line and not any(f"[{code}]" in line for code in LEFT)]
    assert not found and (done.returncode in (0, 1)), done.stdout + done.stderr
    (folder / "wrong.txt").write_text("import kc.warp as wp\nwp.zerros(3)\nwp.launch()\nwp.Volume.allocate(1)\n")
    assert run("-m", "mypy", "--strict", "--follow-imports=silent", "wrong.txt", cwd=folder).stdout.count("error: ") == 3


def test_pyright(folder):
    """Where it is installed: `pip install basedpyright`, which brings its own Node, or `pip install "pyright[nodejs]"`."""
    found = [name for name in ("basedpyright", "pyright") if __import__("importlib.util").util.find_spec(name)]
    if not found:
        pytest.skip("there is no pyright")
    paths = [str(ROOT), os.path.dirname(os.path.dirname(numpy.__file__))]
    stubs = [str(ROOT / "kc" / "**" / "*.pyi")]
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": paths, "typeCheckingMode": "strict", "include": [".", *stubs]}))
    done = run("-m", found[0], "--outputjson", cwd=folder)
    told = [(one["file"], one["range"]["start"]["line"] + 1, one["message"]) for one in json.loads(done.stdout)["generalDiagnostics"]]
    assert not told
