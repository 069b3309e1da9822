"""Gradients of launches on a GPU: those of the host, or an error that says why not."""

import functools
import json
import types

import kc
import numpy as np
import pytest
from conftest import LAST, program

GPU = LAST


@kc.struct
class Spring:
    stiffness: kc.float64
    rest: kc.float64
    anchor: kc.vec3d
    count: int


@kc.struct
class Body:
    position: kc.array(dtype=kc.vec3)
    mass: kc.array(dtype=float)
    drag: float


@kc.struct
class State:
    p: kc.vec3
    k: int


@kc.func
def smooth(x: float):
    return kc.sin(x) * kc.exp(-x * x)


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def loss(x: kc.array(dtype=kc.float64), w: kc.array(dtype=kc.float64), out: kc.array(dtype=kc.float64)):
    i = kc.tid()
    kc.atomic_add(out, 0, w[i] * kc.sin(x[i]) * x[i])


@kc.kernel
def springs(s: Spring, scale: kc.float64, x: kc.array(dtype=kc.vec3d), out: kc.array(dtype=kc.float64)):
    i = kc.tid()
    d = x[i] - s.anchor
    stretch = kc.length(d) - s.rest
    kc.atomic_add(out, 0, scale * s.stiffness * stretch * stretch)


@kc.kernel
def energy(b: Body, out: kc.array(dtype=float)):
    i = kc.tid()
    kc.atomic_add(out, 0, b.drag * b.mass[i] * kc.dot(b.position[i], b.position[i]))


@kc.kernel
def grow(x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = x[i] * x[i]


@kc.kernel
def steps(x: kc.array(dtype=float), v: kc.array(dtype=float), dt: float):
    i = kc.tid()
    for _ in range(7):
        v[i] = v[i] - dt * kc.sin(x[i])
        x[i] = x[i] + dt * v[i]


@kc.kernel
def chain(x: kc.array(dtype=float), a: float, y: kc.array(dtype=float)):
    i = kc.tid()
    s = x[i]
    for k in range(12):
        s = smooth(s) + a * float(k)
    y[i] = s


@kc.kernel
def gather(x: kc.array(dtype=float), at: kc.array2d(dtype=int), y: kc.array(dtype=float)):
    i, j = kc.tid()
    kc.atomic_add(y, i, x[at[i, j]] * x[i])


@kc.kernel
def turned(q: kc.array(dtype=kc.quat), m: kc.array(dtype=kc.mat33), v: kc.array(dtype=kc.vec3), out: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    out[i] = m[i] * kc.quat_rotate(kc.normalize(q[i]), v[i])


@kc.kernel
def halves(x: kc.array(dtype=kc.float16), y: kc.array(dtype=kc.float16)):
    i = kc.tid()
    y[i] = x[i] * x[i] + x[i]


@kc.kernel
def stencil(u: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        out[i, j] = u[i - 1, j] * u[i + 1, j] + u[i, j - 1] * u[i, j + 1]


@kc.kernel
def row_norms(a: kc.array2d(dtype=float), s: kc.array(dtype=float)):
    i = kc.tid()
    t = kc.tile_load(a[i], shape=64)
    s[i] = kc.tile_sum(kc.tile_map(kc.sin, t))[0]


@kc.kernel
def drift(s: kc.array(dtype=State), by: kc.vec3):
    i = kc.tid()
    t = s[i]
    t.p = t.p * 2.0 + by
    s[i] = t


@kc.kernel
def settled(x: kc.array(dtype=float), n: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    s = x[i]
    while s < 100.0:
        s = s * s + 1.0
    for _ in range(n[i]):
        s = kc.sin(s) * s + 1.0
    y[i] = s


@kc.kernel
def endless(x: kc.array(dtype=float), n: kc.array(dtype=int)):
    i = kc.tid()
    for _ in range(n[i]):
        x[i] = kc.sin(x[i]) * x[i] + 1.0


@kc.kernel
def softmax(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
    i = kc.tid()
    most, total = float(-1.0e30), float(0.0)
    for k in range((x.shape[1] + 31) // 32):
        t = kc.tile_load(x[i], shape=32, offset=k * 32)
        more = kc.max(most, kc.tile_max(t)[0])
        total = total * kc.exp(most - more) + kc.tile_sum(kc.tile_map(kc.exp, t - kc.tile_full(shape=32, value=more)))[0]
        most = more
    for k in range((x.shape[1] + 31) // 32):
        t = kc.tile_load(x[i], shape=32, offset=k * 32)
        kc.tile_store(y[i], kc.tile_map(kc.exp, t - kc.tile_full(shape=32, value=most)) / total, offset=k * 32)


@kc.kernel
def largest(x: kc.array(dtype=float), out: kc.array(dtype=float)):
    kc.atomic_max(out, 0, x[kc.tid()])


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).random(shape).astype(dtype)


def places(device):
    return types.SimpleNamespace(array=functools.partial(kc.array, device=device), zeros=functools.partial(kc.zeros, device=device))


HOST = places("cpu")


def bodies(on):
    return Body(position=on.array(numbers(5, 3), dtype=kc.vec3), mass=on.array(numbers(5)), drag=0.75)


def states(on):
    return on.array([State(p=kc.vec3(1.0, 2.0, float(n)), k=n) for n in range(4)], dtype=State)


CASES = {
    "square": (square, 40, lambda on: (on.array(numbers(40)), on.zeros(40)), {"y": 1.0}),
    "square of one array": (square, 40, lambda on: (x := on.array(numbers(40)), x), {"y": 1.0}),
    "views": (square, 4, lambda on: (on.array(numbers(12))[::-3], on.zeros((4, 3))[:, 1]), {"y": numbers(4)}),
    "parts of one array": (square, 4, lambda on: (w := on.array(numbers(8)), (w[::2], w[1::2]))[1], {"y": 1.0}),
    "loss": (loss, 20, lambda on: (on.array(numbers(20, dtype=float), dtype=kc.float64), on.array(numbers(20, dtype=float), dtype=kc.float64), on.zeros(1, dtype=kc.float64)), {"out": 2.0}),
    "springs": (springs, 5, lambda on: (Spring(stiffness=2.0, rest=0.5, anchor=kc.vec3d(0.1, 0.2, 0.3), count=1), 3.0, on.array(numbers(5, 3, dtype=float), dtype=kc.vec3d), on.zeros(1, dtype=kc.float64)), {"out": 1.0}),
    "energy": (energy, 5, lambda on: (bodies(on), on.zeros(1)), {"out": 1.0}),
    "grow": (grow, 33, lambda on: (on.array(numbers(33)),), {"x": numbers(33)}),
    "steps": (steps, 33, lambda on: (on.array(numbers(33)), on.array(numbers(33)), 0.125), {"x": 1.0, "v": numbers(33)}),
    "chain": (chain, 33, lambda on: (on.array(numbers(33)), 0.25, on.zeros(33)), {"y": 1.0}),
    "gather": (gather, (6, 3), lambda on: (on.array(numbers(6)), on.array(np.arange(18).reshape(6, 3) % 5, dtype=int), on.zeros(6)), {"y": numbers(6)}),
    "turned": (turned, 4, lambda on: (on.array(numbers(4, 4), dtype=kc.quat), on.array(numbers(4, 3, 3), dtype=kc.mat33), on.array(numbers(4, 3), dtype=kc.vec3), on.zeros(4, dtype=kc.vec3)), {"out": 1.0}),
    "halves": (halves, 9, lambda on: (on.array(numbers(9, dtype=np.float16), dtype=kc.float16), on.zeros(9, dtype=kc.float16)), {"y": 1.0}),
    "stencil": (stencil, (6, 7), lambda on: (on.array(numbers(6, 7)), on.zeros((6, 7))), {"out": numbers(6, 7)}),
    "tiles": (row_norms, 3, lambda on: (on.array(numbers(3, 64)), on.zeros(3)), {"s": 1.0}),
    "structs": (drift, 4, lambda on: (states(on), kc.vec3(1.0, 0.0, 0.5)), {"s": states(HOST).numpy()}),
    "loops without a bound": (settled, 3, lambda on: (on.array([0.5, 1.0, 2.0]), on.array([3, 40, 500]), on.zeros(3)), {"y": 1.0}),
    "overwritten in a loop without a bound": (endless, 4, lambda on: (on.array([0.5, 1.0, 2.0, 3.0]), on.array([3, 0, 40, 300])), {"x": numbers(4)}),
    "softmax in parts": (softmax, 3, lambda on: (on.array(numbers(3, 320)), on.zeros((3, 320))), {"y": numbers(3, 320)}),
    "largest": (largest, 50, lambda on: (on.array(numbers(50)), on.zeros(1)), {"out": 1.0}),
    "no threads": (square, 0, lambda on: (on.array(numbers(3)), on.zeros(3)), {"y": 1.0}),
    "no elements": (square, 0, lambda on: (on.zeros(0), on.zeros(0)), {"y": 1.0}),
}


def arrays(arguments):
    fields = [(a.position, a.mass) if isinstance(a, Body) else (a,) for a in arguments]
    return [a for some in fields for a in some if isinstance(a, kc.array)]


def same(ours, its, exact=False):
    ours = ours.numpy() if isinstance(ours, kc.array) else np.asarray(ours)
    if ours.dtype.names:
        return all(same(ours[name], its[name], exact) for name in ours.dtype.names)
    if exact:
        return (ours == its).all()
    # Sums of threads come in another order.
    np.testing.assert_allclose(ours, its, rtol=2e-3 if ours.dtype == np.float16 else 1e-5, atol=1e-6)
    return True


@pytest.mark.parametrize("name", CASES)
def test_kernel_grad_is_that_of_the_host(name):
    kernel, dim, make, grads = CASES[name]
    host, there = make(HOST), make(places(GPU))
    expected = kernel.grad(dim, *host, grads=grads)
    moved = {key: kc.array(value, dtype=kc.float32, device=GPU) if isinstance(value, np.ndarray) and not value.dtype.names else value for key, value in grads.items()}
    found = kernel.grad(dim, *there, grads=moved)
    assert set(found) == set(expected)
    for key, value in expected.items():
        is_array = isinstance(value, np.ndarray) and isinstance(found[key], kc.array)
        assert not is_array or found[key].device == GPU
        same(found[key], value)
    for ours, its in zip(arrays(there), arrays(host), strict=True):
        assert ours.device == GPU
        same(ours, its.numpy())


@pytest.mark.parametrize("name", CASES)
def test_a_tape_is_that_of_the_host(name):
    kernel, dim, make, grads = CASES[name]
    found = []
    for on in (HOST, places(GPU)):
        arguments = make(on)
        with kc.Tape() as tape:
            kernel(dim, *arguments)
            kernel(dim, *arguments)
        slots = kc._native.Arguments(kernel, list(arguments)).slots
        given = {slot.name: slot.given for slot in slots}
        tape.backward(grads=[(given[key], value) for key, value in grads.items()])
        found.append([tape.gradient(given[slot.name], allow_unused=True) for slot in slots if slot.floats])
    for its, ours in zip(*found, strict=True):
        assert ours.device == GPU
        same(ours, its.numpy())


@pytest.mark.parametrize("name", [name for name in CASES if name != "largest"])
def test_forward_mode_is_that_of_the_host(name):
    kernel, dim, make, _ = CASES[name]
    host, there = make(HOST), make(places(GPU))
    slots = [slot for slot in kc._native.Arguments(kernel, list(host)).slots if slot.floats and slot.first == slot.name]
    tangents = {slot.name: 0.5 if slot.array.dtype.names is None else np.ones_like(slot.array) for slot in slots[:1]}
    expected = kernel.jvp(dim, *host, tangents=tangents)
    found = kernel.jvp(dim, *there, tangents=tangents)
    assert set(found) == set(expected)
    for key, value in expected.items():
        assert found[key].device == GPU
        same(found[key], value)
    for ours, its in zip(arrays(there), arrays(host), strict=True):
        same(ours, its.numpy())


@kc.kernel
def clash(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i // 2] = x[i]


@kc.kernel
def scatter(x: kc.array(dtype=float), to: kc.array(dtype=int), y: kc.array(dtype=float)):
    i = kc.tid()
    y[to[i]] = x[i] * x[i]


def record(kernel, dim, *arguments):
    with kc.Tape():
        kernel(dim, *arguments)


def ways(kernel, dim, *arguments):
    name = "y"
    yield lambda: kernel.grad(dim, *arguments, grads={name: 1.0})
    yield lambda: kernel.jvp(dim, *arguments, tangents={"x": 1.0})
    yield lambda: record(kernel, dim, *arguments)


def test_races_are_looked_for():
    x, y = kc.array([1.0, 2.0, 3.0], device=GPU), kc.zeros(3, device=GPU)
    for run in ways(clash, 3, x, y):
        with pytest.raises(kc.GradientError, match="E1108"):
            run()
    assert y.numpy().tolist() == [0, 0, 0], "nothing ran"


def test_races_are_looked_for_again_where_indices_are_others():
    x, y, to = kc.array([1.0, 2.0, 3.0], device=GPU), kc.zeros(3, device=GPU), kc.array([2, 0, 1], device=GPU)
    for run in ways(scatter, 3, x, to, y):
        to.assign([2, 0, 1])
        run()
        run()
        to.assign([2, 0, 2])
        with pytest.raises(kc.GradientError, match="E1108"):
            run()
        to[2] = 1
        run()
    assert y.numpy().tolist() == [4, 9, 1]


@kc.kernel
def repeated(x: kc.array(dtype=float), n: int):
    i = kc.tid()
    for _ in range(n):
        x[i] = kc.sin(x[i]) * x[i] + 1.0


def test_what_a_run_has_to_find_is_no_part_of_a_graph():
    x = kc.array([1.0, 2.0], device=GPU)
    repeated.grad(2, x, 70, grads={"x": 1.0})
    before = x.numpy()
    with pytest.raises(kc.DeviceError, match="E1104.*a graph is captured"):
        with kc.Graph(GPU):
            repeated.grad(2, x, 70, grads={"x": 1.0})
    assert (x.numpy() == before).all()
    host = repeated.grad(2, before, 70, grads={"x": 1.0})["x"]
    assert (repeated.grad(2, x, 70, grads={"x": 1.0})["x"].numpy() == host).all()


def test_what_is_kept_goes_back():
    x, n = kc.array(numbers(2000), device=GPU), kc.array(np.arange(2000) % 97, dtype=int, device=GPU)
    used = []
    for _ in range(4):
        endless.grad(2000, x, n, grads={"x": 1.0})
        used.append(next(device for device in kc.devices() if device.id == GPU).free)
    assert used[1] == used[3]


def test_forward_mode_of_extremes_is_that_of_the_host_alone():
    x = kc.ones(2, device=GPU)
    with pytest.raises(kc.DeviceError, match="E1104.*one after the other, on the host") as caught:
        largest.jvp(2, x, kc.zeros(1, device=GPU), tangents={"x": 1.0})
    assert 'x.to("cpu")' in str(caught.value)


def test_seeds_and_tangents_that_do_not_fit():
    x, y = kc.ones(3, device=GPU), kc.zeros(3, device=GPU)
    for grads, words in [
        ({}, "no gradient to start from"),
        ({"z": 1.0}, "no array of floats `z`"),
        ({"y": np.ones(2, np.float32)}, "shape (2,)"),
        ({"y": kc.ones(2, device=GPU)}, "shape (2,)"),
        ({"y": kc.ones(3, dtype=kc.float64, device=GPU)}, "float64"),
        ({"y": None}, "is None"),
    ]:
        with pytest.raises(kc.ArgumentError) as caught:
            square.grad(3, x, y, grads=grads)
        assert words in str(caught.value)
    for one, two in [(1.0, 5.0), (1.0, 1.0)]:
        with pytest.raises(kc.ArgumentError, match="E1010.*`x` and `y` are one array, with two"):
            square.grad(3, x, x, grads={"x": one, "y": two})
        with pytest.raises(kc.ArgumentError, match="E1010.*`x` and `y` are one array, with two tangents"):
            square.jvp(3, x, x, tangents={"x": one, "y": two})
    with pytest.raises(kc.ArgumentError, match="share memory"):
        square.grad(2, x[:2], x[1:], grads={"y": 1.0})
    # From the host, and from another GPU.
    for seed in (np.float32([1, 2, 3]), kc.array([1.0, 2.0, 3.0]), kc.array([1.0, 2.0, 3.0], device="cuda:0"), kc.array([1.0, 2.0, 3.0], device=GPU)):
        assert square.grad(3, x, y, grads={"y": seed})["x"].numpy().tolist() == [2, 4, 6]


def test_arrays_with_gradients():
    x, y = kc.array([1.0, 2.0, 3.0], requires_grad=True, device=GPU), kc.zeros(3, requires_grad=True, device=GPU)
    y.grad.fill_(1.0)
    found = square.grad(3, x, y)
    assert x.grad.numpy().tolist() == [2, 4, 6] and found["x"].numpy().tolist() == [2, 4, 6] and not y.grad.numpy().any()
    square.grad(3, x, y, grads={"y": 10.0})
    assert x.grad.numpy().tolist() == [22, 44, 66]
    wide = kc.array(numbers(8), requires_grad=True, device=GPU)
    square.grad(4, wide[::2], kc.zeros(4, device=GPU), grads={"y": 1.0})
    np.testing.assert_allclose(wide.grad.numpy()[::2], 2 * numbers(8)[::2])
    assert not wide.grad.numpy()[1::2].any()

    @kc.kernel
    def products(a: kc.array(dtype=float), b: kc.array(dtype=float), out: kc.array(dtype=float)):
        i = kc.tid()
        kc.atomic_add(out, 0, a[i] * b[i])

    w, out = kc.array([1.0, 2.0, 3.0], requires_grad=True, device=GPU), kc.zeros(1, device=GPU)
    products.grad(2, w[1:], w[:2], out, grads={"out": 1.0})
    assert w.grad.numpy().tolist() == [2, 4, 2]
    products.grad(2, w[::-1][:2], w[:2], out, grads={"out": 1.0})
    assert w.grad.numpy().tolist() == [2 + 3, 4 + 4, 2 + 1]


def test_a_descent_stays_on_the_gpu():
    """A whole fit: gradients, steps by a kernel, and a loss that is read at the end."""

    @kc.kernel
    def error(p: kc.array(dtype=float), t: kc.array(dtype=float), y: kc.array(dtype=float), out: kc.array(dtype=float)):
        i = kc.tid()
        d = p[0] * t[i] + p[1] - y[i]
        kc.atomic_add(out, 0, d * d / 20.0)

    @kc.kernel
    def step(p: kc.array(dtype=float), g: kc.array(dtype=float), rate: float):
        i = kc.tid()
        p[i] = p[i] - rate * g[i]

    t = np.linspace(0, 1, 20, dtype=np.float32)
    p, out = kc.zeros(2, requires_grad=True, device=GPU), kc.zeros(1, device=GPU)
    x, y = kc.array(t, device=GPU), kc.array(3 * t - 1, device=GPU)
    for _ in range(200):
        p.grad.zero_()
        out.zero_()
        error.grad(20, p, x, y, out, grads={"out": 1.0}, parameters=False)
        step(2, p, p.grad, 0.5)
    np.testing.assert_allclose(p.numpy(), [3, -1], atol=0.02)
    assert out.numpy()[0] < 1e-4


PRODUCTS = """
import kc, numpy as np

@kc.kernel
def products(x: kc.array(dtype=float), y: kc.array(dtype=float), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = x[i] * y[i]

def gradient(device):
    x = kc.array(np.arange(1, 302, dtype=np.float32), requires_grad=True, device=device)
    y = kc.array(np.arange(2, 303, dtype=np.float32), requires_grad=True, device=device)
    out = kc.zeros(300, requires_grad=True, device=device)
    found = []
    for one, two in [(x[:300], y[:300]), (x[:300], x[1:]), (x[:300:2], y[:300:2])]:
        out.grad.fill_(1.0)
        products.grad(len(one), one, two, out[:len(one)], parameters=False)
        found += [x.grad.numpy().copy(), y.grad.numpy().copy()]
    return found

print(all((a == b).all() for a, b in zip(gradient("cpu"), gradient("cuda"))))
"""


@pytest.mark.simulated
def test_gradients_that_lie_apart_are_added_to_plainly(tmp_path):
    """Those of arrays with gaps atomically. Where arrays overlap, each has a gradient of its own first."""
    log = tmp_path / "log"
    done = program(PRODUCTS, KC_SIM_LOG=str(log), KC_SIM_COUNT="1")
    assert done.returncode == 0 and done.stdout == "True\n", done.stdout + done.stderr
    launches = [json.loads(line) for line in log.read_text().splitlines()]
    backward = [launch for launch in launches if launch.get("entry") == "products_cuda_kernel_backward"]
    atomics = [any(name.endswith("global_op_atom.sum") and count["value"] for name, count in launch["metrics"].items()) for launch in backward]
    assert atomics == [False, False, True]


def test_gradients_with_indices_neither_wait_nor_copy_once_they_were_looked_at():
    """A graph that is captured refuses both; what kc writes to the indices is a new form, and what others may write is looked at always."""

    @kc.kernel
    def put(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
        i = kc.tid()
        y[index[i]] = 2.0 * x[i]

    @kc.kernel
    def turned(index: kc.array(dtype=int)):
        i = kc.tid()
        index[i] = index.shape[0] - 1 - index[i]

    x, y, index = kc.array(numbers(4), requires_grad=True, device=GPU), kc.zeros(4, device=GPU), kc.array([0, 1, 2, 3], device=GPU)
    gradient = lambda: put.grad(4, x, index, y, grads={"y": seeds}, parameters=False)
    seeds = kc.array([1.0, 10.0, 100.0, 1000.0], device=GPU)
    put.load(GPU)
    turned.load(GPU)

    def captured():
        with kc.Graph(GPU):
            gradient()

    with pytest.raises(kc.DeviceError, match="E1104"):
        captured()
    assert gradient()["x"].numpy().tolist() == [2, 20, 200, 2000]
    captured()
    # A launch, a copy and an assignment change them.
    for change in (lambda: turned(4, index), lambda: index.copy_(kc.array([0, 2, 1, 3], device=GPU)), lambda: index.fill_(0)):
        change()
        with pytest.raises(kc.DeviceError, match="E1104"):
            captured()
        if index.numpy().any():
            gradient()
            captured()
    with pytest.raises(kc.Error, match="E1108"):
        gradient()
    # Others know of it now.
    index.copy_(kc.array([3, 2, 1, 0], device=GPU))
    index.__cuda_array_interface__
    x.grad.zero_()
    assert gradient()["x"].numpy().tolist() == [2000, 200, 20, 2]
    with pytest.raises(kc.DeviceError, match="E1104"):
        captured()
