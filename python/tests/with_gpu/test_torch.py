"""`kc.torch.function` on a real GPU, beside PyTorch's own operations: values, gradients, streams, graphs, `torch.compile`."""

import contextlib

import kc
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("kc.torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch sees no GPU", allow_module_level=True)

from torch.autograd import forward_ad, gradcheck, gradgradcheck


@kc.struct
class Spring:
    stiffness: float
    rest: float


@kc.kernel
def wave(a: float, x: kc.array(dtype=float), w: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = kc.sin(a * x[i]) * w[i]


@kc.kernel
def waved(a: kc.float64, x: kc.array(dtype=kc.float64), w: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = kc.sin(a * x[i]) * w[i]


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
def taken(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = 2.0 * x[index[i]]


@kc.kernel
def put(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    y[index[i]] = 2.0 * x[i]


@kc.kernel
def steps(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]
    for _ in range(3):
        y[i] = y[i] * y[i] + x[i]


@kc.kernel
def settled(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]
    while y[i] < 100.0:
        y[i] = y[i] * y[i] + 1.0


@kc.kernel
def odd(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    if i % 2 == 1:
        y[i] = x[i] * x[i]


@kc.kernel
def squared(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def halves(x: kc.array(dtype=kc.float16), y: kc.array(dtype=kc.float16)):
    i = kc.tid()
    y[i] = x[i] * x[i] + x[i]


@kc.kernel
def brains(x: kc.array(dtype=kc.bfloat16), y: kc.array(dtype=kc.bfloat16)):
    i = kc.tid()
    y[i] = x[i] * x[i] + x[i]


@kc.kernel
def blurred(u: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] * u[i, j + 1])


def rand(*shape, dtype=torch.float32):
    made = torch.rand(*shape, dtype=torch.float64, generator=torch.Generator("cpu").manual_seed(1 + sum(shape)))
    return (made + 0.5).to("cuda", dtype)


def leaf(*shape, dtype=torch.float32):
    return rand(*shape, dtype=dtype).requires_grad_()


@contextlib.contextmanager
def no_waits():
    """PyTorch raises where the host waits for the GPU, as `.tolist()` and `.cpu()` do."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def close(found, wanted, rtol=1e-4, atol=1e-5):
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=atol)


def both(f, g, inputs):
    """Values and gradients of a function of kc and of one of PyTorch."""
    found, wanted = f(*inputs), g(*inputs)
    close(found.detach(), wanted.detach())
    seed = torch.rand_like(wanted)
    leaves = [one for one in inputs if isinstance(one, torch.Tensor) and one.requires_grad]
    for one, two in zip(torch.autograd.grad(found, leaves, seed), torch.autograd.grad(wanted, leaves, seed)):
        close(one, two)


@pytest.mark.parametrize("n", [1, 31, 1000, 1_000_003])
def test_gradients_beside_pytorch(n):
    f = kc.torch.function(wave, outputs="y")
    both(lambda x, w: f(n, 1.5, x, w), lambda x, w: torch.sin(1.5 * x) * w, [leaf(n), leaf(n)])


def test_gradcheck():
    f = kc.torch.function(waved, outputs="y")
    a, x, w = torch.tensor(1.5, dtype=torch.float64, device="cuda", requires_grad=True), leaf(6, dtype=torch.float64), leaf(6, dtype=torch.float64)
    assert gradcheck(lambda a, x, w: f(6, a, x, w), (a, x, w), nondet_tol=1e-12)
    assert gradcheck(lambda x, w: f(6, 1.5, x, w), (x, w), check_forward_ad=True)
    assert gradcheck(lambda x: f(3, 2.0, x[::2], x[3:]), (x,))


def test_double_backward():
    f = kc.torch.function(waved, outputs="y")
    assert gradgradcheck(lambda x, w: f(5, 1.5, x, w), (leaf(5, dtype=torch.float64), leaf(5, dtype=torch.float64)))
    a = torch.tensor(1.5, dtype=torch.float64, device="cuda", requires_grad=True)
    assert gradgradcheck(lambda a, x: f(5, a, x, x), (a, leaf(5, dtype=torch.float64)))


def test_numbers_in_tensors():
    """They are read on the GPU, and their gradients are made there."""
    f = kc.torch.function(wave, outputs="y")
    a = torch.tensor(1.5, device="cuda", requires_grad=True)
    both(lambda a, x, w: f(999, a, x, w), lambda a, x, w: torch.sin(a * x) * w, [a, leaf(999), leaf(999)])
    # Of another type.
    wide = torch.tensor(1.5, device="cuda", dtype=torch.float64, requires_grad=True)
    both(lambda a, x, w: f(999, a, x, w), lambda a, x, w: torch.sin(a.float() * x) * w, [wide, leaf(999), leaf(999)])
    pull = leaf(3)
    g = kc.torch.function(pulled, outputs={"out": 1})
    both(lambda x, p: g(50, x, p), lambda x, p: ((x - p) ** 2).sum().reshape(1), [leaf(50, 3), pull])


def test_numbers_in_structs():
    f = kc.torch.function(stretched, outputs="e")
    k, rest = torch.tensor(3.0, device="cuda", requires_grad=True), torch.tensor(0.25, device="cuda", requires_grad=True)
    both(lambda k, r, x: f(64, {"stiffness": k, "rest": r}, x), lambda k, r, x: 0.5 * k * (x - r) ** 2, [k, rest, leaf(64)])


def test_nothing_waits():
    f, g = kc.torch.function(wave, outputs="y"), kc.torch.function(taken, outputs="y")
    a, x, w = torch.tensor(1.5, device="cuda", requires_grad=True), leaf(1000), leaf(1000)
    index = torch.randint(0, 1000, (1000,), dtype=torch.int32, device="cuda")

    def step():
        y = g(1000, f(1000, a, x, w), index)
        torch.autograd.grad(y.sum(), [a, x, w])

    # What looks for races looks once.
    step()
    with no_waits():
        for _ in range(100):
            step()


def test_indices_that_change():
    f = kc.torch.function(put, outputs={"y": 8})
    index = torch.arange(4, dtype=torch.int32, device="cuda")
    for _ in range(2):
        x = leaf(4)
        f(4, x, index).sum().backward()
        assert x.grad.tolist() == [2.0] * 4
    # Two threads write to one place now, and whose value stays is open.
    index.fill_(3)
    x = leaf(4)
    y = f(4, x, index)
    with pytest.raises(kc.Error) as caught:
        y.sum().backward()
    assert caught.value.code == "E1108"
    index.copy_(torch.arange(4, device="cuda"))
    f(4, x, index).sum().backward()
    assert x.grad.tolist() == [2.0] * 4


def test_indices_that_a_kernel_changes():
    @kc.kernel
    def same(index: kc.array(dtype=int)):
        index[kc.tid()] = 2

    f, x = kc.torch.function(put, outputs={"y": 8}), leaf(4)
    index = torch.arange(4, dtype=torch.int32, device="cuda")
    f(4, x, index).sum().backward()
    same(4, index)
    y = f(4, x, index)
    with pytest.raises(kc.Error, match="E1108"):
        y.sum().backward()


def test_sums_that_are_read_meanwhile_are_refused():
    @kc.kernel
    def total(x: kc.array(dtype=float), s: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(s, 0, x[i])
        y[i] = s[0] * s[0]

    f, x = kc.torch.function(total, outputs={"s": 1, "y": 4}), leaf(4)
    for _ in range(2):
        with pytest.raises(kc.Error, match="E1108"):
            f(4, x)[1].sum().backward()


def test_what_is_overwritten():
    f = kc.torch.function(steps, outputs="y")

    def wanted(x):
        y = x
        for _ in range(3):
            y = y * y + x
        return y

    both(lambda x: f(500, x), wanted, [(0.3 * rand(500)).requires_grad_()])


def test_loops_without_a_bound():
    f = kc.torch.function(settled, outputs="y")
    x = leaf(7)
    f(7, x).sum().backward()
    host = x.detach().cpu().requires_grad_()
    f(7, host).sum().backward()
    close(x.grad.cpu(), host.grad)


def test_outputs_are_zeros_where_nothing_is_written():
    """The memory held something else before."""
    f, g = kc.torch.function(odd, outputs="y"), kc.torch.function(squared, outputs="y")
    h = kc.torch.function(squared, outputs={"y": 4096})
    x = leaf(2048)
    for _ in range(4):
        dirt = [torch.full((n,), float("nan"), device="cuda") for n in (2048, 2048, 4096)]
        del dirt
        y = f(2048, x)
        assert not y[::2].any() and torch.equal(y[1::2], (x * x)[1::2])
        assert torch.equal(g(2048, x), x * x)
        longer = h(2048, x)
        assert torch.equal(longer[:2048], x * x) and not longer[2048:].any()
    (slope,) = torch.autograd.grad(h(2048, x).sum(), x)
    close(slope, 2 * x.detach())


def test_outputs_that_start_with_contents():
    @kc.kernel
    def add_to(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] += 2.0 * x[i]

    f = kc.torch.function(add_to, outputs="y")
    both(lambda x, y: f(100, x, y=y), lambda x, y: y + 2 * x, [leaf(100), leaf(100)])


@pytest.mark.parametrize("kernel, dtype", [(halves, torch.float16), (brains, torch.bfloat16)], ids=["float16", "bfloat16"])
def test_small_floats(kernel, dtype):
    f = kc.torch.function(kernel, outputs="y")
    x = leaf(777, dtype=dtype)
    y = f(777, x)
    assert y.dtype is dtype
    wide = x.detach().float()
    close(y.detach().float(), wide * wide + wide, rtol=0.02, atol=0.02)
    y.backward(torch.ones_like(y))
    assert x.grad.dtype is dtype
    close(x.grad.float(), 2 * wide + 1, rtol=0.02, atol=0.02)


def test_strides():
    f = kc.torch.function(blurred, outputs={"out": lambda dim, u: u.shape})

    def wanted(u):
        out = torch.zeros_like(u, memory_format=torch.contiguous_format)
        out[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] * u[1:-1, 2:])
        return out

    for view in (lambda u: u, lambda u: u.t(), lambda u: u[::2, 1::3], lambda u: u[5:6].expand(40, -1), lambda u: u.flip(0)):
        both(lambda u: f(tuple(view(u).shape), view(u)), lambda u: wanted(view(u)), [leaf(40, 60)])
    g = kc.torch.function(squared, outputs="y")
    x = leaf(50)
    y = g(50, x)
    # A gradient of which all elements are one.
    y.sum().backward()
    close(x.grad, 2 * x.detach())


def test_other_devices():
    f = kc.torch.function(wave, outputs="y")
    x, w = rand(5), rand(5)
    with pytest.raises(kc.Error) as caught:
        f(5, 1.0, x, w.cpu())
    assert caught.value.code == "E1104"
    # A number may be anywhere.
    assert torch.equal(f(5, torch.tensor(2.0), x, w), f(5, 2.0, x, w))
    close(f(5, 1.0, x.cpu(), w.cpu()), f(5, 1.0, x, w).cpu())
    if torch.cuda.device_count() > 1:
        with pytest.raises(kc.Error):
            f(5, 1.0, x, w.to("cuda:1"))
        close(f(5, 1.0, x.to("cuda:1"), w.to("cuda:1")).cpu(), f(5, 1.0, x, w).cpu())


def test_streams():
    f = kc.torch.function(squared, outputs="y")
    stream = torch.cuda.Stream()
    slow = torch.rand(3000, 3000, device="cuda")
    x = torch.zeros(1 << 20, device="cuda", requires_grad=True)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            slow = slow @ slow
            slow = slow / slow.max()
        with torch.no_grad():
            x.add_(3.0 + 0.0 * slow[0, 0])
        y = f(len(x), x)
        y.sum().backward()
        assert y[0].item() == 9 and x.grad[-1].item() == 6
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(y, x * x)


def test_forward_mode():
    f = kc.torch.function(wave, outputs="y")
    x, w, dx = rand(100), rand(100), rand(100)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(f(100, 1.5, forward_ad.make_dual(x, dx), w)).tangent
        wanted = forward_ad.unpack_dual(torch.sin(1.5 * forward_ad.make_dual(x, dx)) * w).tangent
    assert found.is_cuda
    close(found, wanted)
    found = torch.func.jvp(lambda x: f(100, 1.5, x, w), (x,), (dx,))[1]
    close(found, wanted)
    a, da = torch.tensor(1.5, device="cuda"), torch.tensor(0.5, device="cuda")
    found = torch.func.jvp(lambda a, x: f(100, a, x, w), (a, x), (da, dx))[1]
    close(found, torch.func.jvp(lambda a, x: torch.sin(a * x) * w, (a, x), (da, dx))[1])


def test_transforms():
    f = kc.torch.function(wave, outputs="y")
    x, w = rand(6, 50), rand(50)
    found = torch.func.vmap(lambda x: f(50, 1.5, x, w))(x)
    close(found, torch.sin(1.5 * x) * w)
    slope = torch.func.vmap(torch.func.grad(lambda x: f(50, 1.5, x, w).sum()))(x)
    close(slope, 1.5 * torch.cos(1.5 * x) * w)


# Graphs.


def warmed(step):
    """PyTorch's advice: run it on another stream before it is captured."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)


def test_a_graph_after_load():
    @kc.kernel
    def scaled(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = a * x[i] + 1.0

    f = kc.torch.function(scaled, outputs="y")
    scaled.load("cuda:0")
    x = rand(1000)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = f(1000, 3.0, x)
        z = f(1000, 2.0, y)
    for step in range(3):
        x.fill_(step)
        graph.replay()
        assert torch.equal(z, 2 * (3 * x + 1) + 1)


def test_a_graph_reads_numbers_from_tensors():
    f = kc.torch.function(wave, outputs="y")
    a, x, w = torch.tensor(1.5, device="cuda"), rand(1000), rand(1000)
    warmed(lambda: f(1000, a, x, w))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = f(1000, a, x, w)
    for number in (0.5, 2.5):
        a.fill_(number)
        graph.replay()
        close(y, torch.sin(number * x) * w)


def test_a_graph_with_gradients():
    f = kc.torch.function(wave, outputs="y")
    a, x, w = torch.tensor(1.5, device="cuda", requires_grad=True), leaf(1000), rand(1000)
    found = []

    def step():
        found[:] = torch.autograd.grad((f(1000, a, x, w) ** 2).sum(), [a, x])

    warmed(step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for number in (0.5, 2.5):
        with torch.no_grad():
            a.fill_(number)
            x.mul_(0.9)
        graph.replay()
        wanted = torch.autograd.grad(((torch.sin(a * x) * w) ** 2).sum(), [a, x])
        close(found[0], wanted[0], rtol=1e-3)
        close(found[1], wanted[1])


def test_a_model_in_a_graph():
    f = kc.torch.function(squared, outputs="y")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(32, 32)

        def forward(self, x):
            return f(32 * len(x), self.inner(x).reshape(-1)).reshape(len(x), 32)

    model = Model().cuda()
    x = leaf(8, 32)
    graphed = torch.cuda.make_graphed_callables(model, (x,))
    other = leaf(8, 32)
    graphed(other).sum().backward()
    found = model.inner.weight.grad.clone()
    model.inner.weight.grad = None
    (model.inner(other) ** 2).sum().backward()
    close(found, model.inner.weight.grad, rtol=1e-3, atol=1e-4)


def test_what_is_not_loaded_is_refused_while_a_graph_is_captured():
    @kc.kernel
    def fresh(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = 5.0 * x[i]

    f = kc.torch.function(fresh, outputs="y")
    x = rand(10)
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(kc.Error) as caught:
        with torch.cuda.graph(graph):
            f(10, x)
    assert caught.value.code == "E1104" and "load" in str(caught.value)
    close(f(10, x), 5 * x)


def test_what_waits_is_refused_while_a_graph_is_captured():
    f = kc.torch.function(stretched, outputs="e")
    k, x = torch.tensor(3.0, device="cuda"), rand(64)
    f(64, {"stiffness": k, "rest": 0.0}, x)
    with pytest.raises(kc.Error) as caught:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            f(64, {"stiffness": k, "rest": 0.0}, x)
    assert caught.value.code == "E1104"
    close(f(64, {"stiffness": k, "rest": 0.0}, x), 1.5 * x * x)


# torch.compile.


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = kc.torch.function(wave, outputs="y")
        self.a = torch.nn.Parameter(torch.tensor(1.5))
        self.inner = torch.nn.Linear(16, 16)

    def forward(self, x):
        h = self.inner(x).reshape(-1)
        return self.f(h.shape[0], self.a, h, torch.ones_like(h)).reshape(x.shape)

    def wanted(self, x):
        return torch.sin(self.a * self.inner(x))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_without_a_break(backend):
    torch.manual_seed(1)
    net, x = Net().cuda(), rand(4, 16)
    run = torch.compile(net, fullgraph=True, backend=backend)
    run(x).sum().backward()
    found = [one.grad.clone() for one in net.parameters()]
    net.zero_grad()
    net.wanted(x).sum().backward()
    close(run(x).detach(), net.wanted(x).detach())
    for one, two in zip(found, net.parameters()):
        close(one, two.grad, rtol=1e-3, atol=1e-4)


def test_training():
    torch.manual_seed(1)
    net, x = Net().cuda(), rand(64, 16)
    target = torch.sin(2.0 * x)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for n in range(120):
        optimizer.zero_grad()
        loss = ((net(x) - target) ** 2).mean()
        if n == 0:
            first = loss.detach()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2 * first.item()
