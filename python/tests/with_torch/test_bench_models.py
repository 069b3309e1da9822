"""Models of `kc.bench` inside PyTorch: results and gradients are PyTorch's own."""

import importlib.util
import pathlib

import numpy as np
import pytest
import torch

from kc.bench import Model

ROOT = pathlib.Path(__file__).resolve().parents[3]
SOLUTIONS = ROOT / "examples" / "kernelbench"


def solution(folder, number):
    path = next(folder.glob(f"{number:03}_*.py"))
    spec = importlib.util.spec_from_file_location(f"solution{number}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelNew


def same(found, wanted, off=2e-5):
    assert found.shape == wanted.shape
    assert (found - wanted).abs().max() <= off * wanted.abs().max()


def test_layer_norm_with_its_parameters():
    module = solution(SOLUTIONS, 40)((7, 5, 3)).torch()
    assert [name for name, _ in module.named_parameters()] == ["weight", "bias"]
    x = torch.randn(4, 7, 5, 3, requires_grad=True)
    dy = torch.randn(4, 7, 5, 3)
    with torch.no_grad():
        module.weight.copy_(torch.randn(7, 5, 3))
    y = module(x)
    y.backward(dy)
    other = x.detach().clone().requires_grad_()
    weight, bias = (p.detach().clone().requires_grad_() for p in module.parameters())
    wanted = torch.nn.functional.layer_norm(other, (7, 5, 3), weight, bias)
    wanted.backward(dy)
    same(y, wanted)
    for found, known in ((x.grad, other.grad), (module.weight.grad, weight.grad), (module.bias.grad, bias.grad)):
        same(found, known)


def test_a_chain_between_layers_of_pytorch():
    """Level 2's task 86 between two layers: gradients go through it."""
    torch.manual_seed(3)
    made = solution(SOLUTIONS / "level2", 86)(11, 13, 10.0)
    module, before, after = made.torch(), torch.nn.Linear(5, 11), torch.nn.Linear(13, 2)
    x = torch.randn(17, 5)

    def run(middle):
        for p in (*before.parameters(), *after.parameters()):
            p.grad = None
        after(middle(before(x))).square().sum().backward()
        return [p.grad.clone() for p in (*before.parameters(), *after.parameters())]

    linear = torch.nn.Linear(11, 13)
    with torch.no_grad():
        for mine, given in zip(linear.parameters(), module.parameters()):
            mine.copy_(given)
    for found, wanted in zip(run(module), run(lambda h: torch.nn.functional.gelu(linear(h) / 10.0))):
        same(found, wanted)
    same(module.weight.grad, linear.weight.grad)


def test_training_changes_the_model():
    module = solution(SOLUTIONS / "level2", 63)(6, 3, 2.0).torch()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.2)
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))
    goal = torch.relu(x @ torch.linspace(-1, 1, 18).reshape(6, 3)) / 2
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (module(x) - goal).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0]
    np.testing.assert_array_equal(module.model.weight, module.weight.detach().numpy())


def test_losses_and_integer_targets():
    """Task 95: predictions have a gradient, classes have none."""
    module = solution(SOLUTIONS, 95)().torch()
    x, classes = torch.randn(9, 21, requires_grad=True), torch.randint(0, 21, (9,))
    loss = module(x, classes)
    loss.backward()
    other = x.detach().clone().requires_grad_()
    wanted = torch.nn.functional.cross_entropy(other, classes)
    wanted.backward()
    same(loss.reshape(()), wanted)
    same(x.grad, other.grad)


def test_what_would_be_wrong_is_refused():
    module = solution(SOLUTIONS / "level2", 63)(6, 3, 2.0).torch()
    x = torch.randn(4, 6)
    y = module(x)
    with torch.no_grad():
        module.weight.mul_(2.0)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()
    module.weight = torch.nn.Parameter(torch.zeros(3, 6))
    with pytest.raises(ValueError, match="other memory"):
        module(x)

    class Listed(Model):
        def forward(self, x):
            return [x]

    with pytest.raises(TypeError, match="gives a list"):
        Listed().torch()(x)


def test_a_graph_that_is_kept():
    module = solution(SOLUTIONS, 19)().torch()
    x = torch.tensor([[-1.0, 2.0, 3.0]], requires_grad=True)
    y = module(x)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 2.0]]
