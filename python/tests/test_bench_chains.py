"""Level 2 of `kc.bench`: the facts and references of its chains, the answers to them, and wrong ones.

`make test` runs a sample; with `KC_TESTS=all` everything runs.
"""

import json
import math

import numpy as np
import pytest

from kc.bench import UnknownTask, facts, inputs, level2, limits, reference, task
from kc.bench.new import text_of as naive
from kc.bench.oracle import Oracle
from test_bench import SOLUTIONS, run
from test_bench_oracle import TORCH, WHOLE, some

FOLDER = SOLUTIONS / "level2"


def solution(number):
    return str(next(FOLDER.glob(f"{number:03}_*.py")))


def test_facts_are_whole():
    assert len(level2()) == 20
    for number, one in level2().items():
        assert one.key == f"2/{number}" and one.level == 2 and one.has_gradient and one.bound_tf32_ms <= one.bound_ms
        taken = sum(step.get("takes", 0) for step in one.settings("shipped")["steps"])
        assert taken == len(one.parameters), one
        for sizes in facts.SIZES:
            assert all(n > 0 for shape in one.input_shapes(sizes) for n in shape), (one, sizes)
        assert sum(math.prod(shape) for shape in one.input_shapes("one")) <= 300, one
        assert (FOLDER / solution(number)).exists()
    assert len({one.seed for level in facts.LEVELS for one in facts.tasks(level).values()}) == 120


def test_names():
    assert task("2/99") is task("Matmul GELU Softmax") is task(99, level=2) is level2()[99]
    assert task(99).title == "TripletMarginLoss"
    with pytest.raises(UnknownTask, match="no task 10 on level 2: they are 1, 9, 12"):
        task("2/10")
    with pytest.raises(UnknownTask, match="no tasks of level 3"):
        task("3/1")


@pytest.mark.parametrize("number", sorted(level2()))
def test_gradients_of_references(number):
    """Against central differences in float64, along a random direction, for every input."""
    one = level2()[number]
    settings = one.settings("prime")
    values = limits._cast([*inputs.inputs(one, "prime", "randn", 1), *inputs.parameters(one, "prime", 1)], np.float64)
    g = inputs.generator(5)
    dy = g.standard_normal(np.shape(reference.forward(one.op, values[:1], values[1:], settings)))
    for n, gradient in enumerate(reference.backward(one.op, values[:1], values[1:], settings, dy)):
        assert gradient.shape == values[n].shape
        v = g.standard_normal(gradient.shape)

        def loss(k):
            moved = [x + k * 1e-6 * v if m == n else x for m, x in enumerate(values)]
            return float((dy * reference.forward(one.op, moved[:1], moved[1:], settings)).sum())

        slope, wanted = (loss(1) - loss(-1)) / 2e-6, float((gradient * v).sum())
        assert abs(slope - wanted) <= 1e-5 * max(abs(wanted), 1e-2 * np.abs(gradient * v).sum(), 1e-9), (one, n)


@pytest.mark.parametrize("number", some(level2(), 7))
def test_solutions(number):
    verdict = Oracle(seed=1, sizes=None if WHOLE else ["prime", "one"]).verify(level2()[number], solution(number))
    assert verdict.right, verdict.refusal.text
    assert verdict.gradients == 4


@pytest.mark.parametrize("number", some(level2(), 20, 8))
def test_solutions_on_the_simulator(number):
    sizes = None if WHOLE else ["one"]
    verdict = Oracle(seed=1, device="sim", gradients=False, sizes=sizes).verify(level2()[number], solution(number))
    assert verdict.right, verdict.refusal.text


@pytest.mark.parametrize("number", some(level2(), 10, 6))
def test_new_files_are_right(tmp_path, number):
    path = tmp_path / "answer.py"
    path.write_text(naive(level2()[number]))
    verdict = Oracle(seed=2, sizes=["prime", "one"], gradients=WHOLE).verify(level2()[number], str(path))
    assert verdict.right, verdict.refusal.text


#: What is computed of the product ``v``, and the same with something left out.
_SIGMOID = "1 / (1 + np.exp(-{}))"
_GELU = "0.5 * {0} * (1 + np.tanh(0.7978845608 * ({0} + 0.044715 * {0} ** 3)))"
_SOFTMAX = "(lambda e: e / e.sum(axis=1, keepdims=True))(np.exp({0} - {0}.max(axis=1, keepdims=True)))"
WRONG = [
    (9, "the subtraction", "np.maximum(v * 1.5, 0)"),
    (9, "the order", "np.maximum(v, 0) * 1.5 - 3"),
    (12, "the slope", "np.maximum(v * 2, 0)"),
    (22, "the clamp", "(lambda u: u * u * np.tanh(np.log1p(np.exp(u))))(np.log(np.exp(np.minimum(v * 4, 80)).sum(axis=1, keepdims=True)))"),
    (53, "the clamp", _GELU.format("(v * 0.5)")),
    (56, "the bias", f"({_SIGMOID.format('(v - b)')}).sum(axis=1, keepdims=True)"),
    (63, "the ReLU", "v / 2"),
    (64, "the maximum, which keeps it finite", "np.log(np.exp(v).sum(axis=1, keepdims=True))"),
    (70, "the residual", f"2 * {_SIGMOID.format('v')}"),
    (81, "the clamp", f"np.tanh(v * {_SIGMOID.format('v')} / 2)"),
    (86, "the error function", _GELU.format("(v / 10)")),
    (99, "the order", _GELU.format(f"({_SOFTMAX.format('v')})")),
    (99, "GELU", _SOFTMAX.format("v")),
]


@pytest.mark.parametrize("number, left_out, body", some(WRONG, 4))
def test_wrong_answers_are_refused(tmp_path, number, left_out, body):
    path = tmp_path / "answer.py"
    path.write_text(
        "import numpy as np\nfrom kc.bench import Model\n\n\nclass ModelNew(Model):\n    def __init__(self, k, o, *_):\n"
        "        self.w, self.b = self.parameter(o, k), self.parameter(o)\n\n    def forward(self, x):\n        b = self.b\n"
        f"        v = x @ self.w.T + b\n        return ({body}).astype(np.float32)\n"
    )
    verdict = Oracle(seed=3, sizes=["prime"], gradients=False).verify(level2()[number], str(path))
    assert verdict.refusal is not None and verdict.refusal.what == "wrong", left_out
    assert verdict.refusal.command.split()[4] == f"2/{number}"


TORCH_76 = """import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, bias_shape):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return torch.relu(self.gemm(x) + self.bias)
"""


@pytest.mark.torch
@pytest.mark.skipif(not TORCH.exists(), reason="no environment with PyTorch: scripts/setup.sh python makes it")
def test_modules_list_their_own_parameters_first(tmp_path):
    """Which is another order than that in which they are made."""
    path = tmp_path / "answer.py"
    words = ["verify", "2/76", path, "--python", TORCH, "--sizes", "prime", "--inputs", "randn", "--seed", "5"]
    path.write_text(TORCH_76)
    code, text = run(*words)
    assert code == 0 and "right in 1 cases, 1 gradients" in text, text
    path.write_text(TORCH_76.replace("+ self.bias", "- self.bias"))
    assert run(*words)[0] == 1


def test_commands(tmp_path):
    code, text = run("list", "--level", "2", "--json")
    assert code == 0 and [one["level"] for one in json.loads(text)] == [2] * 20
    code, text = run("verify", "--all", SOLUTIONS, "--only", "2/9")
    assert code == 2 and "is of level 2" in text
    code, text = run("verify", "--level", "2", "--all", FOLDER, "--only", "63", "--sizes", "one", "--no-gradients", "--seed", "1", "--json", tmp_path / "two.json")
    assert code == 0 and text.startswith("2/63 Gemm ReLU Divide: right in 2 cases")
    (tmp_path / "one.json").write_text(json.dumps({"verdicts": [{**json.loads((tmp_path / "two.json").read_text())["verdicts"][0], "task": 19}]}))
    assert run("report", tmp_path / "two.json", "-o", tmp_path / "eval_results.json")[0] == 0
    assert list(json.loads((tmp_path / "eval_results.json").read_text())) == ["63"]
    code, text = run("report", tmp_path / "one.json", tmp_path / "two.json", "-o", tmp_path / "eval_results.json")
    assert code == 2 and "one level" in text
    assert run("report", tmp_path / "one.json", tmp_path / "two.json", "-o", tmp_path / "r.md")[0] == 0
    assert [line.split("|")[1].strip() for line in (tmp_path / "r.md").read_text().splitlines()[2:]] == ["19", "2/63"]
    code, text = run("export", "2/63", solution(63), "-o", tmp_path)
    made = (tmp_path / "level_2_problem_63_sample_0_kernel.py").read_text()
    assert code == 0 and "__global__" in made and "import kc" not in made


def test_parameters_that_are_normal(tmp_path):
    code, text = run("export", "2/76", solution(76), "-o", tmp_path)
    assert code == 0 and "torch.randn(shape)" in (tmp_path / "level_2_problem_76_sample_0_kernel.py").read_text()
