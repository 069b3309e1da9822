"""Programs run under `kc gpu`, and what it says of them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
KC = os.environ.get("KC", str(ROOT / "target/debug/kc"))


@dataclass
class Ran:
    """How a program ended: its exit code, what it printed, and what was found."""

    code: int
    out: str
    said: str
    file: Path

    def findings(self):
        """Code and line of each finding that names a line of the program."""
        shape = re.compile(r"error\[(E\d+)\][^\n]*\n\s*╭─\[ " + re.escape(str(self.file)) + r":(\d+):")
        return [(code, int(line)) for code, line in shape.findall(self.said)]

    def codes(self):
        return re.findall(r"(?:error|warning)\[([EW]\d+)\]", self.said)


@pytest.fixture
def gpu(tmp_path):
    """Runs the text of a program of Python under `kc gpu`, with more variables of the environment."""

    def run(text, *options, name="program.py", python=sys.executable, **variables):
        file = tmp_path / name
        file.write_text(text)
        command = [KC, "gpu", *options, "--", str(python), "-W", "ignore", str(file)]
        own = os.environ | variables
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600, env=own)
        return Ran(done.returncode, done.stdout, done.stderr, file)

    return run


def line_of(text, mark):
    """The number of the line that ends with the mark."""
    found = [n for n, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith(mark)]
    assert len(found) == 1, (mark, found)
    return found[0]
