"""`kc.bench`: facts, references, limits, and the commands. `test_bench_oracle.py` has the answers.

`make test` runs a sample; with `KC_TESTS=all` everything runs.
"""

import contextlib
import io
import json
import math
import os
import pathlib

import numpy as np
import pytest

import kc
from kc.bench import UnknownTask, _children, facts, inputs, level1, limits, reference, task
from kc.bench.__main__ import main

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "examples" / "kernelbench"


def run(*words):
    """The exit code of a command and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, out.getvalue() + err.getvalue()


def test_facts_are_whole():
    tasks = level1()
    assert sorted(tasks) == list(range(1, 101))
    for one in tasks.values():
        assert one.op in reference.OPERATIONS, one
        for sizes in facts.SIZES:
            assert all(all(n > 0 for n in shape) for shape in one.input_shapes(sizes)), (one, sizes)
        # The smallest ones are that: no input has more than a few hundred elements.
        assert sum(math.prod(shape) for shape in one.input_shapes("one")) <= 300, one
    assert sum(one.has_gradient for one in tasks.values()) == 98
    assert task(23).input_shapes("shipped") == [(4096, 393216)]
    assert task("softmax") is task("23_Softmax") is task("23")


def test_every_task_has_a_solution():
    numbers = [int(path.name.split("_")[0]) for path in SOLUTIONS.glob("*.py")]
    assert sorted(numbers) == list(range(1, 101))


def test_unknown_tasks_say_which_there_are():
    with pytest.raises(UnknownTask, match="1 to 100"):
        task(101)
    with pytest.raises(UnknownTask, match="did you mean `softmax`"):
        task("softmxa")


@pytest.mark.parametrize("family", sorted({one.family for one in level1().values()}))
def test_gradients_of_references(family):
    """Against central differences in float64, along a random direction, for every input."""
    for one in level1().values():
        if one.family != family or not one.has_gradient:
            continue
        values = limits._cast(inputs.inputs(one, "prime", "randn", 1), np.float64)
        weights = limits._cast(inputs.parameters(one, "prime", 1), np.float64)
        settings, count = one.settings("prime"), len(values)
        g = inputs.generator(5)
        dy = g.standard_normal(np.shape(reference.forward(one.op, values, weights, settings)))
        found = reference.backward(one.op, values, weights, settings, dy)
        everything = [*values, *weights]
        for n, gradient in enumerate(found):
            if gradient is None:
                continue
            assert gradient.shape == everything[n].shape
            v = g.standard_normal(gradient.shape)
            # Probabilities stay positive.
            v = v * everything[n] if one.op == "kl_div" else v

            def loss(k):
                moved = [x + k * 1e-6 * v if m == n else x for m, x in enumerate(everything)]
                return float((dy * reference.forward(one.op, moved[:count], moved[count:], settings)).sum())

            slope, wanted = (loss(1) - loss(-1)) / 2e-6, float((gradient * v).sum())
            assert abs(slope - wanted) <= 1e-5 * max(abs(wanted), 1e-2 * np.abs(gradient * v).sum(), 1e-9), (one, n)


def test_error_function():
    from kc.bench.reference.elementwise import _erf

    x = np.concatenate([np.linspace(-7, 7, 9001), [0.0, 1e-9]])
    assert np.abs(_erf(x) - [math.erf(v) for v in x]).max() < 4e-16


def test_inputs_are_of_a_seed():
    one = task(95)
    first, again = (inputs.inputs(one, "prime", "randn", 7) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not np.array_equal(first[0], inputs.inputs(one, "prime", "randn", 8)[0])
    assert first[1].dtype == np.int64 and first[1].max() < one.input_shapes("prime")[0][1]
    assert np.array_equal(*(x if n == 0 else x.T for n, x in enumerate(inputs.inputs(task(13), "prime", "rand", 1)[:1] * 2)))
    assert len(inputs.KINDS) >= 7


def test_rounding_to_short_floats():
    x = np.array([1.0, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, 3.14159265, -2.5e-30], np.float32)
    assert inputs.bfloat16(x)[:3].tolist() == [1.0, 1.0, 1.0 + 2.0**-6]
    assert abs(inputs.bfloat16(x)[3] - 3.14159265) <= 2.0**-7 and inputs.tf32(x)[1] == 1.0 + 2.0**-8
    assert inputs.tf32(np.float32([1.0 + 2.0**-11]))[0] == 1.0


@pytest.mark.parametrize("number", [1, 23, 33, 55, 90, 97])
def test_float32_by_the_book_is_within_its_limits(number):
    one = task(number)
    for kind in inputs.KINDS:
        values, weights = inputs.inputs(one, "prime", kind, 3), inputs.parameters(one, "prime", 3)
        exact = limits.result(one, "prime", values, weights, equal=kind == "equal")
        with np.errstate(all="ignore"):
            found = reference.forward(one.op, values, weights, one.settings("prime"))
        at, worst = limits.first_wrong(exact, found)
        assert at is None and worst <= 0.26, (kind, worst)


def test_tf32_is_refused_unless_allowed():
    one = task(1)
    values = inputs.inputs(one, "scaled", "randn", 3)
    found = reference.forward(one.op, [inputs.tf32(x) for x in values], [], one.settings("scaled"))
    assert limits.first_wrong(limits.result(one, "scaled", values, []), found)[0] is not None
    assert limits.first_wrong(limits.result(one, "scaled", values, [], allow_tf32=True), found)[0] is None


@pytest.mark.parametrize("number", [23, 24, 33, 34, 35, 40, 97])
def test_wrong_gradients_are_refused(number):
    """Those that lack a term, and those that are off by one part in a thousand."""
    one = task(number)
    settings = one.settings("prime")
    for kind in ("randn", "rand"):
        values, weights = inputs.inputs(one, "prime", kind, 3), inputs.parameters(one, "prime", 3)
        dy = inputs.generator(6).standard_normal(reference.forward(one.op, values, weights, settings).shape).astype(np.float32)
        exact = limits.gradients(one, "prime", values, weights, dy)[0]
        found = reference.backward(one.op, values, weights, settings, dy)[0]
        assert limits.first_wrong(exact, found)[0] is None, kind
        for wrong in [found * np.float32(1.001), *_lacking(one, values, weights, dy)]:
            assert wrong.shape == found.shape and limits.first_wrong(exact, wrong)[0] is not None, kind


def _lacking(one, values, weights, dy):
    """Gradients without what goes through a sum: the exponentials', the mean's, the variance's."""
    from kc.bench.reference import products, rows

    x = values[0]
    if one.op in ("softmax", "log_softmax"):
        return [rows.softmax(x) * dy if one.op == "softmax" else dy]
    if one.op == "attention":
        q, k, v = values
        dp = np.matmul(dy, np.swapaxes(v, -1, -2))
        return [np.matmul(products.weights(q, k) * dp / math.sqrt(q.shape[-1]), k).astype(np.float32)]
    y, r, axes = rows.normalised(one.op, x, one.settings("prime"))
    g = (dy * rows.affine(one.op, weights)[0] if weights else dy).reshape(y.shape)
    mean, along = g.mean(axis=axes, keepdims=True), y * (g * y).mean(axis=axes, keepdims=True)
    return [(r * part).reshape(x.shape) for part in (g, g - mean, g - along)]


def test_other_pythons_find_kc_and_nothing_beside_it():
    first = _children.environment()["PYTHONPATH"].split(os.pathsep)[0]
    assert os.listdir(first) == ["kc"] and os.path.samefile(os.path.join(first, "kc"), os.path.dirname(kc.__file__))


def test_list():
    code, text = run("list", "--family", "softmax")
    assert code == 0 and len(text.splitlines()) == 2 and "4096x393216" in text
    code, text = run("list", "1-3", "--json")
    assert code == 0 and [one["id"] for one in json.loads(text)] == [1, 2, 3]
    code, text = run("list", "no such task")
    assert code == 2 and "there is no task" in text


UPSTREAM = """import torch
import torch.nn as nn

batch_size, dim = 4096, 393216


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
"""


def test_a_checkout_is_compared(tmp_path):
    """Its files run without PyTorch."""
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    assert run("list", "23", "--tasks", tmp_path)[0] == 2
    (folder / "1_Square_matrix_multiplication_.py").write_text("raise ValueError('no')\n")
    (folder / "23_Softmax.py").write_text(UPSTREAM)
    assert run("list", "23", "--tasks", tmp_path) == (0, "1 tasks are as kc describes them\n")
    (folder / "23_Softmax.py").write_text(UPSTREAM.replace("4096", "16"))
    code, text = run("list", "23", "1", "2", "--tasks", tmp_path)
    assert code == 1 and "inputs are [[16, 393216]] there" in text and "does not run: ValueError" in text
    assert "2_Standard_matrix_multiplication_ is not in the checkout" in text


def test_report_and_gate(tmp_path):
    refusal = {"what": "wrong", "text": "element [0] is <1>", "command": "python -m kc.bench verify 19 x.py"}
    one = {"task": 19, "name": "19_ReLU", "right": True, "cases": 16, "gradients": 4, "worst": 0.1, "worst_gradient": 0.2, "refusal": None}
    wrong = {**one, "right": False, "refusal": refusal}
    time = {"task": 19, "name": "19_ReLU", "ms": 2.0, "numpy_ms": 3.0, "speedup": 1.5, "runs": 9}
    files = {
        "before.json": {"device": "host", "verdicts": [one]}, "now.json": {"device": "host", "verdicts": [wrong]},
        "t0.json": {"times": [time]}, "t1.json": {"times": [{**time, "ms": 2.2}]}, "none.json": {"x": 1},
    }
    paths = {name: tmp_path / name for name in files}
    for name, data in files.items():
        paths[name].write_text(json.dumps(data))
    (tmp_path / "broken.json").write_text("{")
    assert run("gate", paths["before.json"], "--baseline", paths["before.json"])[0] == 0
    code, text = run("gate", paths["now.json"], "--baseline", paths["before.json"])
    assert code == 1 and "19_ReLU was right, and is not: element [0]" in text
    assert run("gate", paths["t1.json"], "--baseline", paths["t0.json"], "--slower", "20%")[0] == 0
    code, text = run("gate", paths["t1.json"], "--baseline", paths["t0.json"])
    assert code == 1 and "10 % more" in text
    for bad in ("none.json", "broken.json"):
        code, text = run("report", tmp_path / bad, "-o", tmp_path / "r.html")
        assert code == 2 and bad in text
    assert run("report", paths["now.json"], paths["t0.json"], "-o", tmp_path / "r.html")[0] == 0
    page = (tmp_path / "r.html").read_text()
    assert "element [0] is &lt;1&gt;" in page and "0 of 1 tasks right" in page
    assert run("report", paths["before.json"], "-o", tmp_path / "r.md")[0] == 0
    assert "| 19 | `ReLU` | `activation` | right in 16 | 4 |  | 0.20 | 3.85 |" in (tmp_path / "r.md").read_text()
    assert run("report", paths["before.json"], paths["t0.json"], "-o", tmp_path / "eval_results.json")[0] == 0
    found = json.loads((tmp_path / "eval_results.json").read_text())["19"][0]
    assert found["sample_id"] == 0 and found["correctness"] is True and found["runtime"] == 2.0


def test_export(tmp_path):
    code, text = run("export", "--all", SOLUTIONS, "--only", "23", "75", "-o", tmp_path)
    assert code == 0, text
    for number in (23, 75):
        text = (tmp_path / f"level_1_problem_{number}_sample_0_kernel.py").read_text()
        compile(text, "kernel.py", "exec")
        assert "__global__" in text and "load_inline" in text and "class ModelNew(Model)" in text
        assert "import kc" not in text and "kc." not in text.split("class ModelNew")[1]
    product = ["export", "--all", SOLUTIONS, "--only", "1", "-o", tmp_path]
    for words, rounds in ((product, False), ([*product, "--tf32"], True)):
        assert run(*words)[0] == 0
        assert ("mma_tf32" in (tmp_path / "level_1_problem_1_sample_0_kernel.py").read_text()) == rounds
    made = tmp_path / "x.py"
    made.write_text("import kc\n\nclass ModelNew:\n    def __call__(self, x):\n        return kc.zeros(3)\n")
    code, text = run("export", "23", made, "-o", tmp_path)
    assert code == 1 and "not exported" in text
