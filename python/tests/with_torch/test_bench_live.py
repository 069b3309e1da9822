"""`kc.bench time` beside PyTorch: all but the GPU, for which the processor stands in."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

from kc.bench import cards, facts, inputs, live_report, reference, torch_models

SOLUTIONS = pathlib.Path(__file__).resolve().parents[3] / "examples" / "kernelbench"
HEAD = "import os, time, torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        "


@pytest.mark.parametrize("task", [t for level in facts.LEVELS for t in facts.tasks(level).values()], ids=str)
def test_models_are_the_references(task):
    values, weights = inputs.inputs(task, "prime", "randn", 1), inputs.parameters(task, "prime", 1)
    exact = [x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x for x in values]
    wanted = np.asarray(reference.forward(task.op, exact, [w.astype(np.float64) for w in weights], task.settings("prime")))
    given = [torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in values]
    found = torch_models.model(task, "prime")(given, [torch.from_numpy(w) for w in weights]).numpy()
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 2e-5 * max(np.abs(wanted).max(), 1e-30)
    drawn = torch_models.inputs(task, "prime", "cpu")
    assert [tuple(getattr(x, "shape", ())) for x in drawn] == [tuple(s) for s in task.input_shapes("prime")]
    assert all(x.dtype == y.dtype for x, y in zip(drawn, given) if isinstance(y, torch.Tensor))


def timed(tmp_path, *words):
    out = tmp_path / "times.json"
    command = [sys.executable, "-m", "kc.bench", "time", "--stand-in", "cpu", "--seconds", "0.02", "--json", out, *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    data = json.loads(out.read_text()) if out.exists() else None
    return done.returncode, done.stdout + done.stderr, data


def test_answers_of_kc(tmp_path):
    code, text, data = timed(tmp_path, "--all", SOLUTIONS, "--only", "1", "12", "33", "46", "95", "--sizes", "prime", "--jobs", "2", "--report", tmp_path / "r.md", "--report", tmp_path / "r.html")
    assert code == 0, text
    assert [one["task"] for one in data["times"]] == [1, 12, 33, 46, 95]
    for one in data["times"]:
        assert one["agrees"] and one["difference"] < 1e-4 and one["ms"] > 0 and one["eager_ms"] > 0
        assert one["speedup"] == one["speedup_tf32"] == one["eager_ms"] / one["ms"]
    assert "5 of 5 tasks timed, 5 agree with PyTorch" in text
    assert (tmp_path / "r.md").read_text().count("\n| ") == 6
    page = (tmp_path / "r.html").read_text()
    assert page.count("<tr>") == 6 and "BatchNorm" in page


def test_what_goes_wrong_is_told_and_the_others_are_timed(tmp_path):
    answers = {
        "019_right": "return torch.relu(x)", "020_wrong": "return torch.nn.functional.leaky_relu(x, 0.01) + 0.01",
        "021_ends": "os.abort() if x.numel() > 1 else None; return x", "022_hangs": "time.sleep(1e3) if x.numel() > 1 else None; return x",
        "025_raises": "return x.nothing", "032_right": "return torch.clamp(x, -1, 1)",
    }
    for name, line in answers.items():
        (tmp_path / f"{name}.py").write_text(HEAD + line + "\n")
    (tmp_path / "027_import.py").write_text("import nothing_of_this_name\n")
    code, text, data = timed(tmp_path, "--all", tmp_path, "--sizes", "prime", "--jobs", "1", "--longest", "3")
    assert code == 1, text
    found = {one["task"]: one for one in data["times"]}
    assert found[19]["agrees"] and found[32]["agrees"], text
    assert not found[20]["agrees"] and found[20]["difference"] > 1e-3 and "DIFFERS" in text
    assert "SIGABRT" in found[21]["failed"] and "within 3 s" in found[22]["failed"]
    assert "AttributeError at line 6" in found[25]["failed"] and "nothing_of_this_name" in found[27]["failed"]
    assert "3 of 7 tasks timed, 2 agree with PyTorch; 4 failed, 0 left out" in text


def test_the_budget_ends_it(tmp_path):
    for number in (19, 25, 32):
        (tmp_path / f"{number:03}_slow.py").write_text(HEAD + "time.sleep(2.5 if x.numel() > 1 else 0); return x\n")
    code, text, data = timed(tmp_path, "--all", tmp_path, "--sizes", "prime", "--jobs", "1", "--budget", "16")
    assert len(data["times"]) == 3, text
    out = [one for one in data["times"] if "left_out" in one]
    assert out and "the budget of 16 s" in out[0]["left_out"] and f"{len(out)} left out" in text


def test_bounds_of_other_cards():
    copy, product = facts.task(19), facts.task(1)
    assert cards.bound_ms(copy, "NVIDIA H100 80GB HBM3") == pytest.approx(copy.bound_ms)
    assert cards.bound_ms(copy, "NVIDIA H200") == pytest.approx(copy.bound_ms * 3.35 / 4.8)
    assert cards.bound_ms(product, "NVIDIA H200") == pytest.approx(product.bound_ms)
    assert cards.bound_ms(product, "Tesla T4") == pytest.approx(product.bound_ms * 66.9 / 8.1)
    assert cards.bound_ms(product, "a card that nobody knows") is None


def test_columns_of_the_summary():
    one = {"task": 50, "name": "50_conv", "ms": 1.0, "eager_ms": 1.5, "eager_tf32_ms": 0.5, "speedup": 1.5, "speedup_tf32": 0.5, "agrees": True, "difference": 0.0}
    wrong = {**one, "task": 54, "agrees": False}
    told = "\n".join(live_report.summary({"about": {"card": "a card", "torch": "2"}, "times": [one, wrong]}))
    assert "2 of 2 tasks timed, 1 agree with PyTorch" in told
    assert "strict float32: 1 above 0.5x, 1 above 0.8x, 1 above 1x, 0 above 1.5x" in told
    assert "unless told otherwise: 0 above 0.5x" in told
