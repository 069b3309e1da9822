"""Functions of tensors in the memory of a GPU, on the simulated one (`there.py`)."""

import kc, kc.torch
import pytest
import there
import torch
from torch.autograd import forward_ad


@kc.struct
class Spring:
    stiffness: float
    rest: float


@kc.kernel
def scaled(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] * x[i]


@kc.kernel
def pulled(x: kc.array(dtype=kc.vec3), pull: kc.vec3, out: kc.array(dtype=float)):
    i = kc.tid()
    d = x[i] - pull
    kc.atomic_add(out, 0, kc.dot(d, d))


@kc.kernel
def stretched(s: Spring, x: kc.array(dtype=float), e: kc.array(dtype=float)):
    i = kc.tid()
    d = x[i] - s.rest
    e[i] = 0.5 * s.stiffness * d * d


@kc.kernel
def steps(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]
    for _ in range(2):
        y[i] = y[i] * y[i] + x[i]


@kc.kernel
def settled(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]
    while y[i] < 10.0:
        y[i] = y[i] * y[i] + 1.0


@kc.kernel
def gathered(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    y[index[i]] = x[i]


@pytest.fixture
def gpu(monkeypatch):
    return there.Gpu(monkeypatch)


def test_the_gradient_runs_where_the_tensors_are(gpu):
    f = kc.torch.function(scaled, outputs="y")
    for n, factor in enumerate((3.0, 5.0, 3.0)):
        x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
        y = f(3, factor, x[:3:1])
        y.backward(torch.tensor([1.0, 10.0, 100.0]))
        assert y.tolist() == [factor, 4 * factor, 16 * factor]
        assert x.grad.tolist() == [2 * factor, 40 * factor, 800 * factor]
        # Nothing is copied but for the first look at threads of each form.
        assert gpu.looks == min(n + 1, 2) and gpu.reads == 0


def test_parts_of_tensors(gpu):
    f = kc.torch.function(scaled, outputs="y")
    x = torch.arange(6.0).requires_grad_()
    y = f(3, 1.0, x[::2])
    y.sum().backward()
    assert y.tolist() == [0, 4, 16] and x.grad.tolist() == [0, 0, 4, 0, 8, 0]


def test_numbers_are_read_on_the_gpu(gpu):
    f, g = kc.torch.function(scaled, outputs="y"), kc.torch.function(pulled, outputs={"out": 1})
    for _ in range(3):
        for kind in (torch.float32, torch.float64, torch.int64):
            a, z = torch.tensor(3, dtype=kind), torch.tensor([1.0, 2.0], requires_grad=True)
            if kind.is_floating_point:
                a.requires_grad_()
            y = f(2, a, z)
            y.sum().backward()
            assert y.tolist() == [3, 12] and z.grad.tolist() == [6, 12]
            assert not kind.is_floating_point or a.grad.item() == 5 and a.grad.dtype is kind
        p, x = torch.tensor([1.0, 0.0, 0.0], requires_grad=True), torch.ones(2, 3, requires_grad=True)
        out = g(2, x, p)
        out.backward()
        assert out.tolist() == [4] and p.grad.tolist() == [0, -4, -4] and x.grad.tolist() == [[0, 2, 2]] * 2
    assert gpu.reads == 0 and gpu.looks == 2


def test_numbers_that_may_not_fit_are_read(gpu):
    @kc.kernel
    def counted(n: int, x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = float(n) * x[i]

    f, x = kc.torch.function(counted, outputs="y"), torch.tensor([1.0, 2.0])
    assert f(2, torch.tensor(3, dtype=torch.int32), x).tolist() == [3, 6] and gpu.reads == 0
    assert f(2, torch.tensor(3), x).tolist() == [3, 6] and gpu.reads == 1
    with pytest.raises(kc.ArgumentError):
        f(2, torch.tensor(1 << 40), x)
    with pytest.raises(kc.ArgumentError):
        f(2, torch.tensor(3.5), x)
    with pytest.raises(kc.ArgumentError):
        f(2, torch.tensor([3, 4], dtype=torch.int32), x)
    gpu.captured = True
    with pytest.raises(kc.DeviceError, match="E1104.*value of `n` is read"):
        f(2, torch.tensor(3), x)


def test_numbers_in_structs(gpu):
    f = kc.torch.function(stretched, outputs="e")
    k, rest, x = (torch.tensor(number, requires_grad=True) for number in (3.0, 1.0, [2.0, 4.0]))
    f(2, {"stiffness": k, "rest": rest}, x).sum().backward()
    assert k.grad.item() == 5 and rest.grad.item() == -12 and x.grad.tolist() == [3, 9]


def test_what_is_overwritten_is_kept_there(gpu):
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    kc.torch.function(steps, outputs="y")(2, x).sum().backward()
    # y1 = x * x + x, y2 = y1 * y1 + x.
    assert x.grad.tolist() == pytest.approx([2 * 0.75 * 2 + 1, 2 * 2 * 3 + 1]) and gpu.looks == 1


def test_loops_without_a_bound_run_on_the_host(gpu):
    x = torch.tensor([2.0, 20.0], requires_grad=True)
    kc.torch.function(settled, outputs="y")(2, x).sum().backward()
    # y1 = x * x + 1, y2 = y1 * y1 + 1.
    assert x.grad.tolist() == [2 * 5 * 4, 1] and gpu.looks > 0


def test_threads_that_meet_are_refused(gpu):
    f = kc.torch.function(gathered, outputs={"y": 2})
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    fine, index = torch.tensor([0, 1], dtype=torch.int32), torch.tensor([1, 0], dtype=torch.int32)
    for _ in range(3):
        f(2, x, fine).sum().backward()
        f(2, x, index).sum().backward()
    assert gpu.looks == 2
    # In place: PyTorch counts that.
    index.fill_(1)
    with pytest.raises(kc.Error, match="E1108"):
        f(2, x, index).sum().backward()
    index[0] = 0
    f(2, x, index[:]).sum().backward()
    assert gpu.looks == 4
    # Memory of what is gone is not taken for it.
    del index
    with pytest.raises(kc.Error, match="E1108"):
        f(2, x, torch.tensor([1, 1], dtype=torch.int32)).sum().backward()


def test_sums_that_are_read_meanwhile_are_refused(gpu):
    """Its derivative keeps values: the race check is not that of a run on the host."""

    @kc.kernel
    def total(x: kc.array(dtype=float), s: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(s, 0, x[i])
        y[i] = s[0] * s[0]

    x = torch.ones(4, requires_grad=True)
    f = kc.torch.function(total, outputs={"s": 1, "y": 4})
    for _ in range(2):
        with pytest.raises(kc.Error, match="E1108"):
            f(4, x)[1].sum().backward()


def test_forward_mode(gpu):
    f, g = kc.torch.function(scaled, outputs="y"), kc.torch.function(steps, outputs="y")
    x, dx, a, da = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]), torch.tensor(3.0), torch.tensor(0.5)
    for _ in range(3):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, dx)
            found = [forward_ad.unpack_dual(one).tangent.tolist() for one in (f(2, 3.0, dual), f(2, forward_ad.make_dual(a, da), dual), g(2, dual))]
        # y1 = x * x + x, y2 = y1 * y1 + x.
        assert found == [[6, 120], [6.5, 122], [2 * 2 * 3 + 1, (2 * 6 * 5 + 1) * 10]]
    assert gpu.looks == 3 and gpu.reads == 0


def test_a_graph(gpu):
    f = kc.torch.function(scaled, outputs="y")
    scaled.load("cuda:0")
    x = torch.tensor([1.0, 2.0])
    with gpu.capture() as graph:
        y = f(2, 3.0, x)
        z = f(2, 2.0, y)
    for number in (1.0, 2.0):
        x.fill_(number)
        graph.run()
        assert z.tolist() == [2 * (3 * number**2) ** 2] * 2


def test_a_graph_with_a_gradient(gpu):
    f = kc.torch.function(scaled, outputs="y")
    x, a = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    found = []

    def step():
        found[:] = torch.autograd.grad(f(2, a, x), [a, x], torch.ones(2))

    step()
    looks = gpu.looks
    with gpu.capture():
        step()
    assert gpu.looks == looks and gpu.reads == 0


def test_what_a_graph_cannot_hold_is_refused(gpu):
    @kc.kernel
    def fresh(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = 5.0 * x[i]

    f, g = kc.torch.function(fresh, outputs="y"), kc.torch.function(steps, outputs="y")
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with gpu.capture():
        with pytest.raises(kc.DeviceError, match=r'E1104.*code of kernel `fresh`(.|\n)*fresh.load\("cuda:0"\)'):
            f(2, x)
    fresh.load()
    steps.load()
    with gpu.capture():
        y, z = f(2, x), g(2, x)
        with pytest.raises(kc.DeviceError, match="E1104.*looks for races"):
            y.sum().backward()
        with pytest.raises(kc.DeviceError, match="E1104.*memory of its own"):
            z.sum().backward()
    f(2, x).sum().backward()
    assert x.grad.tolist() == [5, 5]


@kc.kernel
def waved(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    kc.atomic_add(y, i % 2, kc.sin(a * x[i]) * x[(i + 1) % 4])


@kc.kernel
def bent(x: kc.array(dtype=kc.float64), s: kc.array(dtype=kc.vec3d), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = kc.exp(x[i] * x[i]) * kc.dot(s[i], s[0]) + x[i] * s[i][1]


@pytest.fixture
def no_host(monkeypatch):
    def refuse(*_):
        raise AssertionError("a second derivative runs on the host")

    monkeypatch.setattr(kc.torch, "_second_on_host", refuse)


def test_second_derivatives_run_where_the_tensors_are(gpu, no_host):
    f = kc.torch.function(waved, outputs={"y": 2})
    theirs = lambda x: (torch.sin(2.0 * x) * x[[1, 2, 3, 0]]).reshape(2, 2).sum(0)
    along, found = torch.tensor([1.0, -2.0, 0.5, 3.0]), []
    for run in (lambda x: f(4, 2.0, x), theirs):
        x = torch.tensor([0.3, 1.0, -0.7, 2.0], requires_grad=True)
        first, = torch.autograd.grad(run(x)[0] + 3.0 * run(x)[1], x, create_graph=True)
        second, = torch.autograd.grad((first * along).sum(), x)
        found.append((first.detach(), second))
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(*found))
    assert gpu.reads == 0


def test_second_derivatives_are_right_by_all_arguments_and_gradients(gpu, no_host):
    f = kc.torch.function(bent, outputs="y")
    x = torch.tensor([0.3, -0.5, 0.2], dtype=torch.float64, requires_grad=True)
    s = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.1, -1.0], [2.0, 0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x, s: f(3, x, s), (x, s))
    # Of parts of tensors, too.
    assert torch.autograd.gradgradcheck(lambda x, s: f(3, x[::2], s), (torch.rand(6, dtype=torch.float64).requires_grad_(), s))


def test_a_second_derivative_that_kc_lacks_is_refused(gpu):
    f = kc.torch.function(steps, outputs="y")
    x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    first, = torch.autograd.grad(f(3, x).sum(), x, create_graph=True)
    with pytest.raises(kc.GradientError, match="kernel `steps` has no second derivatives: its derivative keeps values"):
        first.sum().backward()


def test_a_graph_has_a_second_derivative_whose_code_is_there(gpu, no_host):
    @kc.kernel
    def fresh(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(y, i % 2, kc.sin(a * x[i]) * x[(i + 1) % 4])

    f = kc.torch.function(fresh, outputs={"y": 2})
    x = torch.tensor([0.3, 1.0, -0.7, 2.0], requires_grad=True)
    first = lambda: torch.autograd.grad(f(4, 0.5, x)[0], x, create_graph=True)[0]
    first()
    tangent = forward_ad.make_dual
    with forward_ad.dual_level():
        f(4, 0.5, tangent(x, torch.ones(4)))
    with gpu.capture():
        with pytest.raises(kc.DeviceError, match="E1104.*code of the second derivative of kernel `fresh` is not loaded"):
            first().sum().backward()
    first().sum().backward()
    looks = gpu.looks
    with gpu.capture():
        first().sum().backward()
    assert gpu.looks == looks and gpu.reads == 0
