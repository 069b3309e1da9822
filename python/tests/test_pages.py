"""The programs of README.md and docs/python.md run, and print what the pages show.

A program begins with its name (`# tape.py`); the `console` block behind it says how it is run and what comes of it, where `...`
stands for any lines. Those that import PyTorch, JAX or Warp are run by the tests of these, in `with_torch` and so on.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ["torch", "jax", "warp"]


def programs(other=None):
    """Name, text, command and output of the programs that import `other`, or none of the others."""
    text = (ROOT / "docs/python.md").read_text()
    found = re.findall(r"```python\n# (\S+)\n(.*?)```.*?```console\n\$ (.*?)\n(.*?)```", text, re.DOTALL)
    assert len(found) >= 7
    for name, code, command, output in found:
        uses = [lib for lib in OTHERS if re.search(rf"^import {lib}\b", code, re.MULTILINE)]
        if uses == ([other] if other else []):
            yield pytest.param(code, name, command, output, id=name)


def check(folder, code, name, command, output):
    (folder / name).write_text(f"# {name}\n{code}")
    assert command.startswith("python ")
    paths = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, *command.split()[1:]],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr if "..." in output else done.stdout
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in output.splitlines())
    assert re.fullmatch(pattern, said), said


@pytest.mark.parametrize("code, name, command, output", programs())
def test_a_program_prints_what_the_page_shows(tmp_path, code, name, command, output):
    check(tmp_path, code, name, command, output)


def test_the_program_of_the_readme(tmp_path):
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    shown = re.search(r'(square\.grad\(.*\)\["x"\]) +# (.*)', code)
    code = code.replace(shown[1], f"print({shown[1]})")
    check(tmp_path, code, "readme.py", "python readme.py", f"[{shown[2].replace(', ', '. ')}.]\n")
