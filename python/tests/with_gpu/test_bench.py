"""`kc.bench` on a GPU: answers are right there, and their times are set beside the bound."""

import json
import pathlib
import subprocess
import sys

import pytest

SOLUTIONS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "kernelbench"


def bench(*words):
    done = subprocess.run([sys.executable, "-m", "kc.bench", *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("number", range(1, 101, 9))
def test_solutions(number):
    path = next(SOLUTIONS.glob(f"{number:03}_*.py"))
    code, text = bench("verify", number, path, "--device", "cuda", "--no-gradients", "--seed", "1")
    assert code == 0, text


def test_times(tmp_path):
    path = next(SOLUTIONS.glob("040_*.py"))
    code, text = bench("time", 40, path, "--device", "cuda", "--sizes", "shipped", "--json", tmp_path / "t.json")
    assert code == 0, text
    (one,) = json.loads((tmp_path / "t.json").read_text())["times"]
    # Nothing is faster than the memory of the newest cards allows.
    assert one["over_bound"] > 0.3 and one["speedup"] > 0
