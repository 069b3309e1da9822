"""The oracle of `kc.bench`: wrong answers and attacks are refused, right ones accepted.

`make test` runs a sample; with `KC_TESTS=all` everything runs.
"""

import os
import pathlib
import shlex

import pytest

from bench_answers.attacks import ATTACKS, RIGHT, model
from bench_answers.wrong import WRONG, text_of
from kc.bench import level1, task
from kc.bench.new import text_of as naive
from kc.bench.oracle import Oracle
from kc.bench.process import Limits
from test_bench import ROOT, SOLUTIONS, run

WHOLE = os.environ.get("KC_TESTS") == "all"
SHORT = Limits(seconds=3 if not WHOLE else 10, memory=3 << 30, output=1 << 18)


def some(things, step, first=0):
    """All of them, or one in so many."""
    return list(things) if WHOLE else list(things)[first::step]


def solution(number):
    return next(SOLUTIONS.glob(f"{number:03}_*.py"))


@pytest.mark.parametrize("number, left_out, kind, names, body", some(WRONG, 6))
def test_wrong_answers_are_refused(tmp_path, number, left_out, kind, names, body):
    path = tmp_path / "answer.py"
    path.write_text(text_of(kind, names, body))
    verdict = Oracle(seed=3, sizes=["prime"], gradients=False, process_limits=SHORT).verify(task(number), str(path))
    refusal = verdict.refusal
    assert refusal is not None and refusal.what == "wrong", left_out
    # It says what, where, and how to see it again.
    assert refusal.inputs and refusal.seed == 3 and refusal.expected != refusal.found
    words = shlex.split(refusal.command)
    assert words[:4] == ["python", "-m", "kc.bench", "verify"] and words[words.index("--inputs") + 1] == refusal.inputs


def test_the_command_of_a_refusal_repeats_it(tmp_path):
    path = tmp_path / "answer.py"
    number, _, kind, names, body = WRONG[1]
    path.write_text(text_of(kind, names, body))
    refusal = Oracle(seed=9, gradients=False).verify(task(number), str(path)).refusal
    code, text = run(*shlex.split(refusal.command)[3:])
    assert code == 1 and refusal.text in text


#: Those that are quick, for each part of what looks for them.
QUICK = ["result-reuse", "zeroed-inputs", "empty-output", "later-thread", "does-not-import", "hangs", "a-million-lines", "forks-away", "all-memory"]


@pytest.mark.parametrize("name", list(ATTACKS) if WHOLE else QUICK)
def test_attacks_are_refused(tmp_path, name):
    text, told = ATTACKS[name]
    path = tmp_path / "answer.py"
    path.write_text(text)
    verdict = Oracle(seed=3, sizes=["prime"], kinds=["randn"], gradients=False, process_limits=SHORT).verify(task(19), str(path))
    assert verdict.refusal is not None and told in verdict.refusal.text


def test_a_run_goes_on_behind_what_fails(tmp_path):
    (tmp_path / "019_hangs.py").write_text(ATTACKS["hangs"][0])
    (tmp_path / "020_crashes.py").write_text(ATTACKS["crashes"][0])
    (tmp_path / "032_right.py").write_text(model("return np.clip(x, -1, 1)"))
    words = ["--time-limit", "2", "--sizes", "prime", "--inputs", "randn", "--no-gradients", "--seed", "1"]
    code, text = run("verify", "--all", tmp_path, *words)
    assert code == 1 and "1 of 3 right" in text and "does not come back within 2 s" in text and "SIGSEGV" in text


def test_answers_in_numpy_are_right(tmp_path):
    (tmp_path / "019_relu.py").write_text(model(f"return {RIGHT}"))
    code, text = run("verify", "19", tmp_path / "019_relu.py", "--no-gradients", "--sizes", "prime", "--sizes", "one", "--seed", "4")
    assert code == 0 and "right in 7 cases" in text
    code, text = run("verify", "19", tmp_path / "019_relu.py", "--only-gradients", "--seed", "4")
    assert code == 1 and "gradient" in text


def test_half_floats_are_compared_with_rounded_inputs(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(model("return x / (1 + np.abs(x))"))
    verdict = Oracle(seed=3, dtype="float16", gradients=False, sizes=["prime"]).verify(task(30), str(path))
    assert verdict.right, verdict.refusal
    path.write_text(model("return (x / (1 + np.abs(x)) * np.float16(0.99)).astype(x.dtype)"))
    assert not Oracle(seed=3, dtype="float16", gradients=False, sizes=["prime"]).verify(task(30), str(path)).right


@pytest.mark.parametrize("number", some(level1(), 14, 4))
def test_solutions(number):
    sizes = None if WHOLE else ["prime", "one"]
    verdict = Oracle(seed=1, sizes=sizes).verify(task(number), str(solution(number)))
    assert verdict.right, verdict.refusal.text
    assert verdict.gradients == (4 if task(number).has_gradient else 0)


@pytest.mark.parametrize("number", some(level1(), 100, 18))
def test_solutions_on_the_simulator(number):
    verdict = Oracle(seed=1, device="sim", gradients=False).verify(task(number), str(solution(number)))
    assert verdict.right, verdict.refusal.text
    assert verdict.launches >= 2
    verdict = Oracle(seed=1, device="sim", sizes=["one"]).verify(task(number), str(solution(number)))
    assert verdict.right and verdict.gradients == task(number).has_gradient, verdict.refusal


def test_races_are_found_on_the_simulator(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(
        "import kc\nfrom kc.bench import Model, empty\n\n\n@kc.kernel\n"
        "def relu(x: kc.array(dtype=float), y: kc.array(dtype=float)):\n    i = kc.tid()\n"
        # In order, the next thread makes it right; on a GPU there is no order.
        "    y[i] = kc.where(i == x.shape[0] - 1, kc.max(x[i], 0.0), -1.0)\n"
        "    if i > 0:\n        y[i - 1] = kc.max(x[i - 1], 0.0)\n\n\n"
        "class ModelNew(Model):\n    def forward(self, x):\n        y = empty(x.shape, like=x)\n"
        "        relu(x.shape[0] * x.shape[1], x.reshape(-1), y.reshape(-1))\n        return y\n"
    )
    verdict = Oracle(seed=1, device="sim", gradients=False, sizes=["prime"]).verify(task(19), str(path))
    told = verdict.refusal.text if verdict.refusal else ""
    assert "E1108" in told or "E1113" in told
    path.write_text(model(f"return {RIGHT}"))
    verdict = Oracle(seed=1, device="sim").verify(task(19), str(path))
    assert verdict.refusal is not None and "launches no kernel of kc" in verdict.refusal.text


@pytest.mark.parametrize("number", some(level1(), 33, 2))
def test_new_files_are_right(tmp_path, number):
    path = tmp_path / "answer.py"
    path.write_text(naive(task(number)))
    verdict = Oracle(seed=2, sizes=["prime", "one"], gradients=WHOLE).verify(task(number), str(path))
    assert verdict.right, verdict.refusal.text


#: Environments with what is not in this one; `make test` has them.
TORCH, GPU = (ROOT / f".env-{name}" / "bin" / "python" for name in ("torch", "gpu"))

SOFTMAX = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, *settings):
        super().__init__()

    def forward(self, x):
        return torch.softmax(x, dim=1)
"""


@pytest.mark.torch
@pytest.mark.skipif(not TORCH.exists(), reason="no environment with PyTorch: scripts/setup.sh python makes it")
def test_answers_in_torch(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(SOFTMAX)
    words = ["verify", "23", path, "--python", TORCH, "--sizes", "prime", "--inputs", "randn", "--seed", "5"]
    code, text = run(*words)
    assert code == 0 and "right in 1 cases, 1 gradients" in text
    path.write_text(SOFTMAX.replace("torch.softmax(x, dim=1)", "torch.softmax(x, dim=0)"))
    assert run(*words)[0] == 1
    # Half floats that NumPy lacks.
    path.write_text(SOFTMAX)
    assert run(*words, "--dtype", "bfloat16", "--no-gradients")[0] == 0


NUMBA = """import numpy as np
from numba import cuda


@cuda.jit
def relu(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], np.float32(0))


class ModelNew:
    def __call__(self, x):
        y = np.empty_like(x)
        flat = x.reshape(-1)
        dx, dy = cuda.to_device(flat), cuda.to_device(y.reshape(-1))
        relu[(flat.size + 255) // 256, 256](dx, dy)
        return dy.copy_to_host().reshape(x.shape)
"""


@pytest.mark.skipif(not GPU.exists(), reason="no environment with numba-cuda: scripts/setup.sh python makes it")
def test_kernels_of_numba_run_on_a_simulated_gpu(tmp_path):
    path = tmp_path / "answer.py"
    words = ["verify", "19", path, "--python", GPU, "--device", "gpu", "--sizes", "prime", "--inputs", "randn", "--seed", "5"]
    path.write_text(NUMBA)
    code, text = run(*words)
    assert code == 0, text
    if WHOLE:
        path.write_text(NUMBA.replace("i < x.size", "i <= x.size"))
        code, text = run(*words)
        assert code == 1 and "ILLEGAL_ADDRESS" in text
        # Nothing goes wrong in a run in order, but threads meet.
        path.write_text(NUMBA.replace("        y[i] =", "        y[i] = -1\n        y[max(i - 1, 0)] = max(x[max(i - 1, 0)], np.float32(0))\n        y[i] ="))
        code, text = run(*words)
        assert code == 1 and "E1113" in text
