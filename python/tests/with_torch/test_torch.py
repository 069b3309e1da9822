"""Functions of PyTorch: `torch.autograd.gradcheck` is the judge."""

import os

import kc
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd import forward_ad

DEVICE = os.environ.get("KC_TEST_DEVICE", "cpu")

#: What the memory of a GPU cannot do yet.
host_only = pytest.mark.skipif(DEVICE != "cpu", reason="on the host only")


@kc.kernel
def wave(a: kc.float64, x: kc.array(dtype=kc.float64), w: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = kc.sin(a * x[i]) * w[i]


@kc.kernel
def energy(x: kc.array(dtype=kc.vec3d), pull: kc.vec3d, index: kc.array(dtype=int), out: kc.array(dtype=kc.float64)):
    i = kc.tid()
    d = x[index[i]] - pull
    kc.atomic_add(out, 0, kc.dot(d, d) * kc.length(d))


@kc.kernel
def steps(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = x[i]
    for _ in range(3):
        y[i] = y[i] * y[i] + x[i]


def double(*shape):
    made = torch.rand(*shape, dtype=torch.float64, generator=torch.Generator("cpu").manual_seed(1), device="cpu") + 0.5
    return made.to(DEVICE)


def leaf(*shape):
    return double(*shape).requires_grad_()


def test_gradcheck():
    f = kc.torch.function(wave, outputs=["y"])
    a = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    x, w = leaf(6), leaf(6)
    assert torch.allclose(f(6, a, x, w), torch.sin(a * x) * w)
    assert gradcheck(lambda a, x, w: f(6, a, x, w), (a, x, w), check_forward_ad=True)
    # One tensor for two arguments, parts of tensors, and spread ones.
    assert gradcheck(lambda x: f(6, 2.0, x, x), (x,), check_forward_ad=True)
    assert gradcheck(lambda x: f(3, 2.0, x[::2], x[3:]), (x,), check_forward_ad=True)
    assert gradcheck(lambda x: f(6, 2.0, x.expand(6), x.flip(0).expand(6)), (leaf(1),), check_forward_ad=True)


def test_vectors_and_integers():
    f = kc.torch.function(energy, outputs={"out": 1})
    index = torch.tensor([0, 2, 2, 1], dtype=torch.int32)
    assert gradcheck(lambda x, pull: f(4, x, pull, index), (leaf(3, 3), leaf(3)), check_forward_ad=True)


@kc.kernel
def copied(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i]


def test_tensors_whose_numbers_have_the_other_sign():
    """PyTorch keeps a bit for that, which neither DLPack nor its `data_ptr` tells."""
    negated = torch.tensor([1 + 2j, 3 + 4j], device=DEVICE).conj().imag
    assert negated.is_neg()
    plain = torch.zeros(2, device=DEVICE)
    f = kc.torch.function(copied, outputs="y")
    for call in [
        lambda: copied(2, negated, plain),
        lambda: copied(2, plain, negated),
        lambda: copied.grad(2, negated, plain),
        lambda: f(2, negated),
        lambda: kc.array(negated),
    ]:
        with pytest.raises(kc.ArgumentError, match="resolve_neg") as caught:
            call()
        assert caught.value.code == "E1005"
    copied(2, negated.resolve_neg(), plain)
    assert plain.tolist() == f(2, negated.resolve_neg()).tolist() == [-2.0, -4.0]
    # Gradients and tangents that come in are resolved.
    x = torch.zeros(2, device=DEVICE, requires_grad=True)
    f(2, x).backward(negated)
    assert x.grad.tolist() == [-2.0, -4.0]
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(f(2, forward_ad.make_dual(torch.zeros(2, device=DEVICE), negated))).tangent
    assert found.tolist() == [-2.0, -4.0]


def test_kernels_that_overwrite_what_they_read():
    f = kc.torch.function(steps, outputs="y")
    assert gradcheck(lambda x: f(4, x), (leaf(4),), check_forward_ad=True)


def test_shapes_of_outputs():
    @kc.kernel
    def outer(x: kc.array(dtype=kc.vec3d), y: kc.array2d(dtype=kc.vec3d), n: kc.array(dtype=int)):
        i, j = kc.tid()
        y[i, j] = kc.cross(x[i], x[j])
        kc.atomic_add(n, 0, 1)

    x = leaf(2, 3)
    for shape in [None, (2, 2), lambda dim, x: (len(x), len(x)), lambda dim, x: (2, 2, 3)]:
        f = kc.torch.function(outer, outputs={"y": shape, "n": 1})
        y, n = f((2, 2), x)
        assert y.shape == (2, 2, 3) and n.tolist() == [4] and not n.requires_grad
        assert gradcheck(lambda x: f((2, 2), x)[0], (x,))
    with pytest.raises(kc.ArgumentError, match="2 dimensions"):
        kc.torch.function(outer, outputs={"y": 4, "n": 1})((2, 2), x)


def test_retained_graphs_and_incoming_gradients_stay():
    f = kc.torch.function(wave, outputs=["y"])
    x = leaf(5)
    y = f(5, 1.0, x, torch.ones(5, dtype=torch.float64))
    seed = torch.ones(5, dtype=torch.float64)
    y.backward(seed, retain_graph=True)
    first = x.grad.clone()
    y.backward(seed)
    assert torch.allclose(first, torch.cos(x)) and torch.equal(x.grad, 2 * first) and torch.equal(seed, torch.ones_like(seed))


@kc.kernel
def local_steps(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64), z: kc.array(dtype=kc.float64)):
    i = kc.tid()
    s = x[i]
    for _ in range(3):
        s = s * s + kc.sin(x[i])
    y[i] = s
    z[i] = y[i] * kc.exp(y[i] * 0.1)


@kc.kernel
def cubes(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] += x[i] * x[i] * x[i]


@kc.kernel
def spread(x: kc.array(dtype=kc.float64), m: kc.array2d(dtype=kc.float64), total: kc.array(dtype=kc.float64)):
    i, j = kc.tid()
    kc.atomic_add(total, j, x[i] * m[i, j] * x[i])


def test_double_backward():
    f, e = kc.torch.function(wave, outputs=["y"]), kc.torch.function(energy, outputs={"out": 1})
    index, pull = torch.tensor([0, 2, 2, 1], dtype=torch.int32), double(3)
    add, local, sums = (kc.torch.function(k, outputs=o) for k, o in ((cubes, "y"), (local_steps, ["y", "z"]), (spread, {"total": 3})))
    for g, arguments in [
        (lambda x, w: f(4, 1.5, x, w), (leaf(4), leaf(4))),
        (lambda x: f(4, 1.5, x, x), (leaf(4),)),
        (lambda x: f(3, 1.5, x[::2], x[3:]), (leaf(6),)),
        (lambda x: f(4, 1.5, x.expand(4), double(4)), (leaf(1),)),
        (lambda x: e(4, x, pull, index), (leaf(3, 3),)),
        (lambda x: local(4, x), (leaf(4),)),
        (lambda x, y: add(4, x, y), (leaf(4), leaf(4))),
        (lambda x, m: sums((2, 3), x, m), (leaf(2), leaf(2, 3))),
        (lambda x: f(0, 1.5, x, x), (leaf(0),)),
    ]:
        assert gradgradcheck(g, arguments)
    # A penalty on the gradient, as PyTorch has it.
    grads = []
    for g in (lambda x: f(4, 1.5, x, x), lambda x: torch.sin(1.5 * x) * x):
        x = leaf(4)
        (slope,) = torch.autograd.grad(g(x).sum(), x, create_graph=True)
        (slope**2).sum().backward()
        grads.append(x.grad)
    assert torch.allclose(*grads)
    # Not asked for, nothing is kept.
    x = leaf(5)
    assert not torch.autograd.grad(f(5, 1.0, x, x).sum(), x)[0].requires_grad


def test_second_derivatives_that_kc_lacks_are_refused():
    f, x = kc.torch.function(wave, outputs=["y"]), leaf(4)
    first = lambda g, x: torch.autograd.grad(g(x).sum(), x, create_graph=True)[0]
    second = first(lambda x: first(lambda x: f(4, 1.0, x, x), x), x)
    with pytest.raises(kc.GradientError, match="the second derivative of kernel `wave` has no derivative of its own"):
        second.sum().backward()
    # Of a GPU's tensors it is read there, from an array of one element.
    a = torch.tensor(1.5, dtype=torch.float64, requires_grad=True, device="cpu")
    with pytest.raises(kc.GradientError, match="no gradient of its own by the value `a`"):
        first(lambda a: f(4, a, x, x), a).backward()
    # What keeps values of the launch, and what the order of threads is part of.
    g = kc.torch.function(steps, outputs="y")
    with pytest.raises(kc.GradientError, match="kernel `steps` has no second derivatives: its derivative keeps values"):
        first(lambda x: g(4, x), x).sum().backward()


def test_threads_that_meet():
    """What the order of threads decides has no gradient that is right."""

    @kc.kernel
    def total(x: kc.array(dtype=float), s: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(s, 0, x[i])
        y[i] = s[0] * s[0]

    @kc.kernel
    def neighbour(x: kc.array(dtype=float), s: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        s[i] = x[i] * x[i]
        if i > 0:
            y[i] = s[i - 1]

    for kernel in (total, neighbour):
        x = torch.ones(4, requires_grad=True)
        _, y = kc.torch.function(kernel, outputs={"s": 4, "y": 4})(4, x)
        with pytest.raises(kc.GradientError, match="E1108"):
            y.sum().backward()


def test_changes_between_forward_and_backward():
    f = kc.torch.function(wave, outputs=["y"])
    x, w = leaf(5), double(5)
    y = f(5, 1.0, x, w)
    w += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@host_only
def test_changes_of_arrays_of_numpy():
    f = kc.torch.function(wave, outputs=["y"])
    x, w = leaf(5), np.ones(5)
    y = f(5, 1.0, x, w)
    w[2] = 4
    with pytest.raises(kc.GradientError, match="`w` of kernel `wave` was changed"):
        y.sum().backward()
    y = f(5, 1.0, x, w)
    y.sum().backward()
    assert torch.allclose(x.grad, torch.cos(x) * torch.tensor([1, 1, 4, 1, 1]))


def test_structs():
    @kc.struct
    class Settings:
        scale: kc.float64
        weights: kc.array(dtype=kc.float64)

    @kc.kernel
    def weigh(s: Settings, x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
        i = kc.tid()
        y[i] = s.scale * s.weights[i] * x[i]

    f = kc.torch.function(weigh, outputs=["y"])
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda s, w, x: f(3, {"scale": s, "weights": w}, x), (scale, leaf(3), leaf(3)), check_forward_ad=True)


def test_forward_mode():
    f = kc.torch.function(wave, outputs=["y"])
    x, v = double(5), double(5)
    with forward_ad.dual_level():
        y = f(5, 1.0, forward_ad.make_dual(x, v), torch.ones(5, dtype=torch.float64))
        assert torch.allclose(forward_ad.unpack_dual(y).tangent, torch.cos(x) * v)


def test_training():
    f = kc.torch.function(wave, outputs=["y"])
    x = torch.linspace(0.1, 1.5, 20, dtype=torch.float64)
    target = torch.sin(1.7 * x) * 0.6
    a = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    w = torch.ones(20, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([a, w], lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        error = ((f(20, a, x, w) - target) ** 2).mean()
        error.backward()
        optimizer.step()
    assert error < 1e-3


def test_calls_in_place():
    x = torch.zeros(4, 2)[:, 1]
    assert x.stride() == (2,)

    @kc.kernel
    def one(x: kc.array(dtype=float)):
        x[kc.tid()] = 1.0

    one(4, x)
    assert x.tolist() == [1, 1, 1, 1]


@host_only
def test_tapes():
    x = torch.rand(4, requires_grad=True)
    found = kc.compile("import kc\n@kc.kernel\ndef sq(x: kc.array(dtype=float), y: kc.array(dtype=float)):\n    y[kc.tid()] = x[kc.tid()] * x[kc.tid()]\n").sq
    with kc.Tape() as tape:
        y = torch.zeros(4)
        found(4, x.detach(), y)
    tape.backward(grads=[(y, 1.0)])
    np.testing.assert_allclose(tape.gradient(x.detach()), 2 * x.detach().numpy())


def test_refusals():
    with pytest.raises(TypeError):
        kc.torch.function(print, outputs=["y"])
    with pytest.raises(ValueError):
        kc.torch.function(wave, outputs=[])
    with pytest.raises(kc.ArgumentError, match="no array of numbers `z`"):
        kc.torch.function(wave, outputs=["z"])(3, 1.0, leaf(3), leaf(3))

    @kc.kernel
    def both(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
        i = kc.tid()
        y[i] = x[i]
        x[i] = y[i]

    with pytest.raises(kc.ArgumentError, match="writes to `x`, which is no output"):
        kc.torch.function(both, outputs=["y"])(3, leaf(3))
    f = kc.torch.function(wave, outputs=["y"])
    for arguments in [(3, 1.0, leaf(3)), (3, 1.0, leaf(3), leaf(3), leaf(3), leaf(3)), (3, 1.0, leaf(3).float(), leaf(3))]:
        with pytest.raises(kc.ArgumentError):
            f(*arguments)
    with pytest.raises(kc.ArgumentError, match="given twice"):
        f(3, 1.0, leaf(3), leaf(3), leaf(3), y=leaf(3))


@kc.kernel
def accumulate(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = y[i] * y[i] + 3 * x[i]


@kc.kernel
def add_to(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] += 2 * x[i]


@kc.kernel
def scaled(a, x, y):
    i = kc.tid()
    y[i] = a * x[i]


@pytest.mark.parametrize("kernel, slope", [(accumulate, lambda y: 2 * y), (add_to, lambda y: 1 + 0 * y)])
def test_outputs_that_start_with_contents(kernel, slope):
    f = kc.torch.function(kernel, outputs=["y"])
    x, y = leaf(3), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    before = y.detach().clone()
    for call in (lambda: f(3, x, y), lambda: f(3, x, y=y)):
        x.grad = y.grad = None
        found = call()
        assert torch.equal(y, before) and found.data_ptr() != y.data_ptr()
        found.sum().backward()
        assert torch.equal(y.grad, slope(before)) and x.grad.tolist() == [3.0 if kernel is accumulate else 2.0] * 3
    assert torch.autograd.gradcheck(lambda x, y: f(3, x, y), (x, y))
    # Without contents they start with zeros.
    assert torch.equal(f(3, x), (3 if kernel is accumulate else 2) * x)


def test_generic_kernels():
    f = kc.torch.function(scaled, outputs=["y"])
    for dtype in (torch.float32, torch.float64):
        x = torch.ones(3, dtype=dtype, requires_grad=True)
        found = f(3, 0.1, x)
        assert found.dtype == dtype and torch.equal(found, 0.1 * x)
        found.sum().backward()
        assert torch.allclose(x.grad, torch.full((3,), 0.1, dtype=dtype))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.launch = kc.torch.function(add_to, outputs=["y"])

    def forward(self, x):
        return self.launch(len(x), x)


def test_modules_are_pickled_and_copied():
    import copy
    import pickle

    x = leaf(3)
    for layer in (pickle.loads(pickle.dumps(Layer())), copy.deepcopy(Layer())):
        assert torch.equal(layer(x), 2 * x)


def test_tensors_with_gradients_are_refused_in_words():
    with pytest.raises(kc.ArgumentError, match="requires_grad") as caught:
        add_to(3, leaf(3), torch.zeros(3, dtype=torch.float64))
    assert "kc.torch.function" in str(caught.value) and "x.detach()" in str(caught.value)
    with pytest.raises(kc.ArgumentError) as caught:
        add_to(3, torch.zeros(3), torch.zeros(3, dtype=torch.float64))
    assert "`x.to(torch.float64)`" in str(caught.value)


@host_only
def test_indices_are_tested():
    with pytest.raises(kc.IndexError):
        kc.torch.function(wave, outputs=["y"])(3, 1.0, leaf(2), leaf(3))


@kc.kernel
def center(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i] - kc.tile_sum(kc.tile(x[i]))[0]


def test_blocks_of_threads():
    f = kc.torch.function(center, outputs=["y"])
    for block in (2, 4, 2):
        x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        y = f(4, x, block_dim=block)
        sums = x.detach().reshape(-1, block).sum(1, keepdim=True).expand(-1, block).reshape(-1)
        assert torch.equal(y, x.detach() ** 2 - sums)
        y.sum().backward()
        assert torch.equal(x.grad, 2 * x.detach() - block)


def test_complex_tensors_are_refused_in_words_and_pass_as_pairs():
    f = kc.torch.function(wave, outputs=["y"])
    for kind, vector in ((torch.complex64, "vec2"), (torch.complex128, "vec2d")):
        with pytest.raises(kc.ArgumentError, match=rf"`x`.*{str(kind)[6:]}(.|\n)*`torch.view_as_real.x.`, which has gradients, and declare `kc.{vector}`"):
            f(3, 1.0, torch.ones(3, dtype=kind, device=DEVICE), double(3))

    # Also where a kernel is called with them, and where it is generic.
    for call in (lambda x: wave(3, 1.0, x, double(3), double(3)), lambda x: kc.torch.function(scaled, outputs="y")(3, 1.0, x)):
        with pytest.raises(kc.ArgumentError, match="has complex numbers of 64 bits(.|\n)*`torch.view_as_real"):
            call(torch.ones(3, dtype=torch.complex64, device=DEVICE))

    @kc.kernel
    def product(a: kc.array(dtype=kc.vec2d), b: kc.array(dtype=kc.vec2d), c: kc.array(dtype=kc.vec2d)):
        i = kc.tid()
        u, v = a[i], b[i]
        c[i] = kc.vec2d(u[0] * v[0] - u[1] * v[1], u[0] * v[1] + u[1] * v[0])

    g, pair = kc.torch.function(product, outputs="c"), torch.view_as_real
    a, b = (torch.complex(double(4), double(4) + n).requires_grad_() for n in (0, 1))
    times = lambda a, b: torch.view_as_complex(g(4, pair(a), pair(b)))
    assert torch.allclose(times(a, b), a * b) and gradcheck(times, (a, b))


def test_generic_kernels_take_numbers_in_tensors():
    f = kc.torch.function(scaled, outputs=["y"])
    a, x = torch.tensor(2.0, device=DEVICE, requires_grad=True), torch.ones(3, device=DEVICE)
    f(3, a, x).sum().backward()
    assert a.grad.item() == 3


def test_what_numpy_lacks_is_refused_by_the_launch():
    f = kc.torch.function(wave, outputs=["y"])
    with pytest.raises(kc.ArgumentError, match="E1005.*`x`"):
        f(4, 2.0, torch.ones(4, dtype=torch.bfloat16), double(4))


def test_outputs_that_launches_do_not_fill_start_with_zeros(monkeypatch):
    """Those that a launch fills for certain are not cleared before."""

    @kc.kernel
    def both(x: kc.array(dtype=float), y: kc.array(dtype=float), z: kc.array(dtype=float), n: kc.array(dtype=int)):
        i = kc.tid()
        y[i] = x[i] + 1.0
        if x[i] > 0.0:
            z[i] = x[i]
        kc.atomic_add(n, 0, 1)

    @kc.kernel
    def early(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        if x[i] < 0.0:
            return
        y[i] = x[i]

    @kc.kernel
    def turned(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
        i, j = kc.tid()
        y[j, i] = x[i, j]

    @kc.kernel
    def vectors(x: kc.array(dtype=kc.vec2), y: kc.array(dtype=kc.vec2), z: kc.array(dtype=kc.vec2)):
        i = kc.tid()
        y[i] = x[i]
        z[i][0] = x[i][1]

    made, real = [], torch.empty

    def empty(*given, **named):
        found = real(*given, **named)
        if found.is_floating_point():
            made.append(found.fill_(float("nan")))
        return found

    monkeypatch.setattr(torch, "empty", empty)
    x = torch.tensor([1.0, -2.0, 3.0], device=DEVICE)
    y, z, n = kc.torch.function(both, outputs={"y": None, "z": None, "n": 1})(3, x)
    assert (y.tolist(), z.tolist(), n.tolist()) == ([2, -1, 4], [1, 0, 3], [3]) and len(made) == 1
    assert kc.torch.function(both, outputs={"y": 5, "z": 3, "n": 1})(3, x)[0].tolist() == [2, -1, 4, 0, 0] and len(made) == 1
    assert kc.torch.function(early, outputs="y")(3, x).tolist() == [1, 0, 3] and len(made) == 1
    assert kc.torch.function(turned, outputs="y")((2, 2), x[:2].expand(2, 2)).tolist() == [[1, 1], [-2, -2]] and len(made) == 1
    y, z = kc.torch.function(vectors, outputs=["y", "z"])(1, x[:2].reshape(1, 2))
    assert (y.tolist(), z.tolist()) == ([[1, -2]], [[-2, 0]]) and len(made) == 2
