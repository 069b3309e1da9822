"""Functions of PyTorch where it traces or transforms them: `torch.compile`, `torch.export`, `torch.func`. PyTorch's own functions are the
judge. Older versions refuse in words.
"""

import subprocess
import sys
import threading

import kc
import pytest
import torch
from kc import _torch_form

new_only = pytest.mark.skipif(not _torch_form.HAS_OPERATORS, reason="PyTorch 2.4 or later")
old_only = pytest.mark.skipif(_torch_form.HAS_OPERATORS, reason="before PyTorch 2.4")


@kc.kernel
def wave(a: kc.float64, x: kc.array(dtype=kc.float64), w: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = kc.sin(a * x[i]) * w[i]


@kc.kernel
def add_to(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] += 2 * x[i]


@kc.kernel
def doubled(x, y, n):
    i, j = kc.tid()
    y[i, j] = 2 * x[i, j]
    kc.atomic_add(n, 0, 1)


@kc.kernel
def norms(v: kc.array(dtype=kc.vec3d), scale: kc.float64, total: kc.array(dtype=kc.float64)):
    i = kc.tid()
    kc.atomic_add(total, 0, scale * kc.length(v[i]))


@kc.kernel
def odd(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    # Coordinates without a name: kc makes no kernel of a batch of it.
    y[kc.tid()] = x[kc.tid()] * x[kc.tid()]


def double(*shape):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator("cpu").manual_seed(len(shape) + 1)) + 0.5


def true(a, x, w):
    return torch.sin(a * x) * w


f = kc.torch.function(wave, outputs=["y"])


@pytest.fixture
def launches(monkeypatch):
    """The dimensions of each launch."""
    found, run = [], kc.torch._Call.run

    def counted(call, tensors):
        found.append(call.dim)
        return run(call, tensors)

    monkeypatch.setattr(kc.torch._Call, "run", counted)
    return found


@new_only
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_programs(backend, dynamic):
    def program(a, x, w):
        return (f(len(x), a, 2 * x, w) ** 2).sum() + a

    compiled = torch.compile(program, fullgraph=True, backend=backend, dynamic=dynamic)
    for n in (5, 7, 11):
        found, wanted = [], []
        for run, kept in ((compiled, found), (lambda a, x, w: (true(a, 2 * x, w) ** 2).sum() + a, wanted)):
            a, x, w = torch.tensor(1.5, dtype=torch.float64, requires_grad=True), double(n).requires_grad_(), double(n)
            value = run(a, x, w)
            value.backward()
            kept += [value.detach(), a.grad, x.grad]
        assert all(map(torch.allclose, found, wanted))
    torch.compiler.reset()


@new_only
def test_compiled_calls_with_names_numbers_and_contents():
    add = kc.torch.function(add_to, outputs=["y"])
    two = kc.torch.function(doubled, outputs={"y": None, "n": 1})

    @torch.compile(fullgraph=True, backend="aot_eager")
    def program(x, y, s):
        z, n = two((2, len(x)), torch.stack([x, y]), n=torch.zeros(1, dtype=torch.int32))
        return add(len(x), x, y=y), f(len(x), 0.5, w=x, x=y), f(len(x), s, x, y), z, n

    x, y = double(4), double(4) + 1
    before = y.clone()
    for s in (1.25, 2.5):
        found = program(x, y, s)
        assert torch.allclose(found[0], y + 2 * x) and torch.allclose(found[1], true(0.5, y, x)) and torch.allclose(found[2], true(s, x, y))
        assert torch.equal(found[3], 2 * torch.stack([x, y])) and found[4].tolist() == [8]
    assert torch.equal(y, before)
    # Parts of tensors, and an error of a run.
    part = torch.compile(lambda x: f(3, 1.0, x[::2], x[3:]), fullgraph=True, backend="aot_eager")
    x = double(6)
    assert torch.allclose(part(x), true(1.0, x[::2], x[3:]))
    with pytest.raises(kc.IndexError, match="out of bounds"):
        torch.compile(lambda x: f(9, 1.0, x, x), fullgraph=True, backend="aot_eager")(x)
    torch.compiler.reset()


@new_only
def test_a_compiled_program_takes_dicts():
    @kc.struct
    class Settings:
        scale: kc.float64
        weights: kc.array(dtype=kc.float64)

    @kc.kernel
    def weigh(s: Settings, x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
        i = kc.tid()
        y[i] = s.scale * s.weights[i] * x[i]

    g = kc.torch.function(weigh, outputs=["y"])
    x, w = double(3).requires_grad_(), double(3).requires_grad_()
    torch.compile(lambda x, w: g(3, {"scale": 3.0, "weights": w}, x).sum(), fullgraph=True, backend="aot_eager")(x, w).backward()
    assert torch.allclose(x.grad, 3 * w) and torch.allclose(w.grad, 3 * x)
    assert torch.allclose(torch.func.grad(lambda w: g(3, {"scale": 3.0, "weights": w}, x.detach()).sum())(w.detach()), 3 * x)
    with pytest.raises(TypeError, match="takes tensors, numbers, tuples and dicts, not a Settings"):
        torch.func.grad(lambda w: g(3, Settings(), w).sum())(w.detach())


class Module(torch.nn.Module):
    def forward(self, x, w):
        return f(x.shape[0], 1.5, x, w) + 1


@new_only
@pytest.mark.parametrize("strict", [False, True])
def test_exported_programs(strict):
    n = torch.export.Dim("n")
    x, w = double(6), double(6)
    exported = torch.export.export(Module(), (x, w), dynamic_shapes={"x": {0: n}, "w": {0: n}}, strict=strict)
    assert [node for node in exported.graph.nodes if node.target is torch.ops.kc.launch.default]
    assert torch.allclose(exported.module()(x[:4], w[:4]), true(1.5, x[:4], w[:4]) + 1)


PROGRAM = """
import sys, torch
import kc, kc.torch

@kc.kernel
def triple(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = 3.0 * x[i]

class Module(torch.nn.Module):
    def forward(self, x):
        return f(x.shape[0], x)

if sys.argv[2] != "without":
    f = kc.torch.function(triple, outputs=["y"])
if sys.argv[2] == "save":
    torch.export.save(torch.export.export(Module(), (torch.ones(3),)), sys.argv[1])
else:
    print(torch.export.load(sys.argv[1]).module()(torch.ones(3)).tolist())
"""


@new_only
def test_exported_programs_in_another_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def run(how):
        return subprocess.run([sys.executable, program, tmp_path / "kept.pt2", how], capture_output=True, text=True)

    assert run("save").returncode == 0
    assert run("load").stdout.strip() == "[3.0, 3.0, 3.0]"
    # Nothing makes the function here.
    assert "this process has no such function" in run("without").stderr


@new_only
def test_derivatives_of_torch_func():
    from torch.func import grad, grad_and_value, jacfwd, jacrev, jvp, linearize, vjp

    a, x, w = torch.tensor(1.5, dtype=torch.float64), double(6), double(6)
    calls = [lambda g: lambda a, x: g(a, x, w), lambda g: lambda a, x: g(a, x, x), lambda g: lambda a, x: g(a, x.flip(0)[::1], w)]
    for make in calls:
        ours, theirs = make(lambda a, x, w: f(6, a, x, w)), make(true)
        for transform in (
            lambda g: grad(lambda a, x: g(a, x).sum(), argnums=(0, 1))(a, x),
            lambda g: (*grad_and_value(lambda x: g(a, x).sum())(x),),
            lambda g: (jacrev(g, argnums=1)(a, x), jacfwd(g, argnums=1)(a, x), jacfwd(g)(a, x)),
            lambda g: jvp(g, (a, x), (2 * a, x + 1)),
            lambda g: vjp(g, a, x)[1](x),
            lambda g: (linearize(lambda x: g(a, x), x)[1](x + 1),),
        ):
            found, wanted = transform(ours), transform(theirs)
            assert all(map(torch.allclose, found, wanted))


@new_only
def test_second_derivatives_of_torch_func():
    from torch.func import grad, hessian, jacrev, vmap

    x, w = double(4), double(4)
    ours, theirs = (lambda x: (f(4, 1.5, x, x) * w).sum()), (lambda x: (true(1.5, x, x) * w).sum())
    assert torch.allclose(hessian(ours)(x), hessian(theirs)(x))
    assert torch.allclose(jacrev(jacrev(ours))(x), hessian(theirs)(x))
    assert torch.allclose(grad(lambda x: (grad(ours)(x) ** 2).sum())(x), grad(lambda x: (grad(theirs)(x) ** 2).sum())(x))
    many = torch.stack([x, w])
    assert torch.allclose(vmap(hessian(ours))(many), vmap(hessian(theirs))(many))
    with pytest.raises(kc.GradientError, match="no derivative of its own"):
        grad(lambda x: hessian(ours)(x).sum())(x)


@new_only
def test_maps_are_one_launch(launches):
    from torch.func import grad, vmap

    many, x, w = double(3, 5), double(5), double(5)
    a = double(3)
    assert torch.allclose(vmap(lambda x: f(5, 1.5, x, w))(many), true(1.5, many, w))
    assert torch.allclose(vmap(lambda x: f(5, 1.5, x, w), in_dims=1, out_dims=1)(many.T), true(1.5, many, w).T)
    assert torch.allclose(vmap(lambda a, w: f(5, a, x, w))(a, many), true(a[:, None], x, many))
    assert launches == [(3, 5)] * 3
    launches.clear()
    # A gradient for each example, of what all share, too.
    sums = lambda g: vmap(grad(lambda a, x, w: g(a, x, w).sum(), argnums=(0, 1, 2)), in_dims=(None, 0, None))(a[0], many, w)
    assert all(map(torch.allclose, sums(lambda a, x, w: f(5, a, x, w)), sums(true)))
    assert launches == [(3, 5)]
    # Gradients through a map, and outputs that start with contents.
    many.requires_grad_()
    vmap(lambda x: f(5, 1.5, x, w))(many).sum().backward()
    assert torch.allclose(many.grad, 1.5 * torch.cos(1.5 * many.detach()) * w)
    add, many = kc.torch.function(add_to, outputs=["y"]), many.detach()
    assert torch.equal(vmap(lambda x: add(5, x, w))(many), 2 * many + w)
    assert torch.equal(vmap(lambda y: add(5, w, y=y))(many), 2 * w + many)
    # Shapes of outputs, of components, and functions of the arguments.
    v = double(3, 4, 3)
    for shape in (1, lambda dim, v, scale: (1,)):
        g = kc.torch.function(norms, outputs={"total": shape})
        assert torch.allclose(vmap(lambda v, s: g(4, v, s))(v, a)[:, 0], a * v.norm(dim=2).sum(1))
    two = kc.torch.function(doubled, outputs={"y": None, "n": 1})
    for dtype in (torch.float32, torch.float64):
        y, n = vmap(lambda x: two((2, 3), x))(torch.ones(5, 2, 3, dtype=dtype))
        assert y.dtype == dtype and torch.equal(y, torch.full((5, 2, 3), 2.0, dtype=dtype)) and n.tolist() == [[6]] * 5
    # No example at all.
    none = torch.zeros(0, 5, dtype=torch.float64)
    for transform in (lambda g: vmap(lambda x: g(1.5, x, w)), lambda g: vmap(grad(lambda x: g(1.5, x, w).sum()))):
        assert transform(lambda a, x, w: f(5, a, x, w))(none).shape == (0, 5)


@new_only
def test_maps_of_what_has_no_kernel_of_a_batch(launches):
    from torch.func import grad, vmap

    g, many = kc.torch.function(odd, outputs=["y"]), double(3, 4)
    assert torch.allclose(vmap(lambda x: g(4, x))(many), many**2) and launches == [(4,)] * 3
    assert torch.allclose(vmap(grad(lambda x: g(4, x).sum()))(many), 2 * many)
    # Maps of maps.
    cube, w = double(2, 3, 5), double(5)
    assert torch.allclose(vmap(vmap(lambda x: f(5, 1.5, x, w)))(cube), true(1.5, cube, w))
    assert torch.allclose(vmap(vmap(grad(lambda x: f(5, 1.5, x, w).sum())))(cube), 1.5 * torch.cos(1.5 * cube) * w)
    # A fifth dimension.
    @kc.kernel
    def deep(x: kc.array4d(dtype=kc.float64), y: kc.array4d(dtype=kc.float64)):
        i, j, k, l = kc.tid()
        y[i, j, k, l] = x[i, j, k, l] + 1.0

    h = kc.torch.function(deep, outputs=["y"])
    assert torch.equal(vmap(lambda x: h((1, 1, 1, 2), x))(torch.zeros(3, 1, 1, 1, 2, dtype=torch.float64)), torch.ones(3, 1, 1, 1, 2))


@new_only
def test_compiled_programs_with_torch_func():
    from torch.func import grad, vmap

    many, w = double(3, 5), double(5)
    program = lambda many: vmap(lambda x: f(5, 1.5, x, w))(many)
    assert torch.allclose(torch.compile(program, backend="aot_eager")(many), true(1.5, many, w))
    slope = lambda x: grad(lambda x: f(5, 1.5, x, w).sum())(x)
    assert torch.allclose(torch.compile(slope, backend="aot_eager")(many[0]), 1.5 * torch.cos(1.5 * many[0]) * w)
    torch.compiler.reset()


@new_only
def test_operators_keep_pytorchs_rules():
    name = next(name for name, function in _torch_form.FUNCTIONS.items() if function.kernel is wave)
    found = torch.library.opcheck(torch.ops.kc.launch.default, (f"{name}|s|f,t,t", [6], [double(6).requires_grad_(), double(6)], [], [1.5]))
    assert set(found.values()) == {"SUCCESS"}


@new_only
def test_gradients_that_would_be_wrong_are_refused_there_too():
    @kc.kernel
    def neighbour(x: kc.array(dtype=kc.float64), s: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
        i = kc.tid()
        s[i] = x[i] * x[i]
        if i > 0:
            y[i] = s[i - 1]

    g = kc.torch.function(neighbour, outputs={"s": 4, "y": 4})
    with pytest.raises(kc.GradientError, match="E1108"):
        torch.func.grad(lambda x: g(4, x)[1].sum())(double(4))
    with pytest.raises(kc.GradientError, match="E1108"):
        torch.compile(lambda x: g(4, x)[1].sum(), fullgraph=True, backend="aot_eager")(double(4).requires_grad_()).backward()
    torch.compiler.reset()


@new_only
def test_threads_map_at_once():
    many, w, found = double(3, 5), double(5), {}

    def run(k):
        found[k] = torch.func.vmap(lambda x: f(5, float(k), x, w))(many)

    workers = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    [one.start() for one in workers]
    [one.join() for one in workers]
    assert all(torch.allclose(found[k], true(float(k), many, w)) for k in range(8))


def test_traces_are_refused():
    """Numbers that a kernel computed would be constants of the traced program."""
    with pytest.raises(kc.ArgumentError, match="torch.jit.trace does not see" if _torch_form.HAS_OPERATORS else "needs PyTorch 2.4"):
        torch.jit.trace(lambda x: f(4, 1.0, x, x), double(4))


@old_only
def test_older_versions_refuse_in_words():
    import functorch

    x = double(4)
    for transform in (lambda g: functorch.grad(lambda x: g(x).sum())(x), lambda g: functorch.vmap(g)(x[None]), lambda g: functorch.make_fx(g)(x)):
        with pytest.raises(kc.ArgumentError, match="kc.torch needs PyTorch 2.4 where a program is traced or transformed"):
            transform(lambda x: f(4, 1.0, x, x))
