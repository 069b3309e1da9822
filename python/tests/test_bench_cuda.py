"""`--device cuda` of `kc.bench`: models with their arrays on a GPU, here the simulated one of `kc gpu`."""

import json
import os
import subprocess
import sys

import pytest

from test_bench import SOLUTIONS


def on_gpu(*words):
    command = [sys.executable, "-m", "kc", "gpu", "--memory", "2G", "--", sys.executable, "-m", "kc.bench", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def solution(number):
    return next(SOLUTIONS.glob(f"{number:03}_*.py"))


# A product with parameters; parts of an array, and its rows one by one.
@pytest.mark.parametrize("number", [33, 40])
def test_solutions(number):
    code, text = on_gpu("verify", number, solution(number), "--device", "cuda", "--sizes", "one", "--inputs", "randn", "--seed", "1")
    assert code == 0 and "right in 1 cases, 1 gradients" in text, text


WRONG = """import kc
from kc.bench import Model, empty


@kc.kernel
def relu(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    if i > 0:
        y[i] = kc.max(x[i], 0.0)


class ModelNew(Model):
    def forward(self, x):
        y = empty(x.shape, like=x)
        relu(x.size, x.reshape(-1), y.reshape(-1))
        return y
"""


def test_what_is_not_written_is_refused(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(WRONG)
    words = ["verify", "19", path, "--device", "cuda", "--sizes", "prime", "--inputs", "randn", "--seed", "1", "--no-gradients"]
    code, text = on_gpu(*words)
    assert code == 1 and "element [0, 0] of the result is nan" in text, text
    path.write_text("class ModelNew:\n    def __call__(self, x):\n        return x\n")
    code, text = on_gpu(*words)
    assert code == 1 and "is no `kc.bench.Model`" in text, text


def test_times(tmp_path):
    words = ["time", "19", solution(19), "--device", "cuda", "--sizes", "one", "--seconds", "0.05", "--json", tmp_path / "t.json"]
    code, text = on_gpu(*words)
    assert code == 0 and "NumPy" not in text, text
    (one,) = json.loads((tmp_path / "t.json").read_text())["times"]
    assert one["device"] == "cuda" and one["sizes"] == "one" and one["ms"] > 0 and "speedup" not in one


def test_without_a_gpu():
    done = subprocess.run(
        [sys.executable, "-m", "kc.bench", "verify", "19", solution(19), "--device", "cuda", "--sizes", "one", "--seed", "1"], capture_output=True, text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 1 and "E1104" in done.stdout, done.stdout
