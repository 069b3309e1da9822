"""`wp.launch` under `kc.accelerate()`: the short way does what Warp's way does, or leaves it to that."""

import pickle
import subprocess
import sys

import pytest

PROGRAM = """
import pickle, sys
import numpy as np
import warp as wp
wp.config.log_level = wp.LOG_ERROR
WITH_KC = sys.argv[1] == "kc"
if WITH_KC:
    import kc
    from kc import _warp_launch
    assert kc.accelerate()
    SHORT = [0]
    def counted(native):
        def launch(*arguments):
            done = native(*arguments)
            SHORT[0] += done
            return done
        return launch
    init = _warp_launch._Short.__init__
    def count(self, *arguments):
        init(self, *arguments)
        self.launch, self.adjoint = counted(self.launch), counted(self.adjoint)
    _warp_launch._Short.__init__ = count
wp.init()
wp.set_device("cpu")


@wp.struct
class Pair:
    a: float
    x: wp.array(dtype=float)


@wp.kernel
def mixed(x: wp.array(dtype=float), n: int, s: float, flag: bool, v: wp.vec3, small: wp.uint8, wide: wp.float64, p: Pair, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    value = s * float(n) + v[j % 3] + float(small) + float(wide) + p.a + p.x[0]
    if flag:
        value = -value
    if x:
        value += x[i]
    out[i, j] = value


@wp.kernel
def one(x: wp.array(dtype=float), s: float):
    wp.atomic_add(x, wp.tid(), s)


@wp.kernel
def spring(x: wp.array(dtype=wp.vec3), rest: wp.array(dtype=float), index: wp.array(dtype=int), k: float, p: Pair, out: wp.array(dtype=float)):
    i = wp.tid()
    d = x[i] - x[index[i]]
    stretch = wp.length(d) - rest[i]
    out[i] = k * p.a * p.x[0] * stretch * stretch


def make():
    x = wp.array([1.0, 2.0, 3.0], dtype=float)
    p = Pair()
    p.a, p.x = 7.0, wp.array([100.0], dtype=float)
    return x, p, wp.zeros((3, 2), dtype=float)


x, p, out = make()
good = [x, 2, 1.5, True, wp.vec3(1.0, 2.0, 3.0), 3, 0.25, p]
found = {}


def run(name, dim=(3, 2), arguments=good, result=None, **more):
    out.zero_()
    before = SHORT[0] if WITH_KC else 0
    try:
        wp.launch(mixed, dim, [*arguments, *([] if result else [out])], **more)
    except Exception as error:
        found[name] = (type(error).__name__, None)
    else:
        found[name] = (None, out.numpy().copy())
    shorts[name] = SHORT[0] - before if WITH_KC else None


shorts = {}
run("first")
run("again")
run("tuple", arguments=tuple(good))
run("list of extents", [3, 2])
run("outputs", arguments=good, result=True, outputs=[out])
run("on the cpu", device="cpu")
run("on the device", device=wp.get_device("cpu"))
run("null array", arguments=[None, *good[1:]])
run("whole number for a float", arguments=[x, 2, 3, *good[3:]])
# What Warp converts.
run("NumPy numbers", arguments=[x, np.int32(2), np.float32(1.5), *good[3:]])
run("NumPy array", arguments=[x.numpy(), *good[1:]])
run("tuple for a vector", arguments=[*good[:4], (1.0, 2.0, 3.0), *good[5:]])
run("Warp's scalars", arguments=[x, wp.int32(2), wp.float32(1.5), *good[3:]])
run("too large", arguments=[x, 2**40 + 2, *good[2:]])
run("negative for unsigned", arguments=[*good[:5], -1, *good[6:]])
run("number for a flag", arguments=[*good[:3], 1, *good[4:]])
run("view", arguments=[wp.array([1.0, 9.0, 2.0, 9.0, 3.0, 9.0], dtype=float)[::2], *good[1:]])
# What is wrong.
run("wrong type", arguments=[wp.zeros(3, dtype=wp.float64), *good[1:]])
run("wrong dimensions", arguments=[wp.zeros((3, 1), dtype=float), *good[1:]])
run("too few", arguments=good[:-1])
run("too many", arguments=[*good, x])
run("text", arguments=["x", *good[1:]])
run("other struct", arguments=[*good[:-1], None])
run("negative extent", (3, -2))
run("no threads", (0, 2))
run("extents of floats", (3.0, 2.0))
run("more dimensions", (3, 2, 2))
run("fewer dimensions", 3)
p.a = 8.0
run("struct was changed")
x.assign([4.0, 5.0, 6.0])
run("array was changed")
good[0] = x = wp.array([4.0, 5.0, 6.0], dtype=float)
run("other array")

# A tape, a recorded launch, a graph.
y = wp.zeros(3, dtype=float, requires_grad=True)
for _ in range(3):
    wp.launch(one, 3, [y, 2.0])
with wp.Tape() as tape:
    wp.launch(one, 3, [y, 2.0])
found["tape"] = (len(tape.launches), y.numpy())
command = wp.launch(one, 3, [y, 2.0], record_cmd=True)
command.launch()
with wp.ScopedCapture() as capture:
    wp.launch(one, 3, [y, 2.0])
for _ in range(3):
    wp.capture_launch(capture.graph)
found["graph"] = (None, y.numpy())


def define(factor):
    @wp.kernel
    def again(x: wp.array(dtype=float)):
        x[wp.tid()] = wp.static(factor) * x[wp.tid()]
    return again


# Gradients.
def gradients():
    x = wp.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [4.0, 0.5, 1.0]], dtype=wp.vec3, requires_grad=True)
    rest = wp.array([0.5, 1.0, 2.0], dtype=float, requires_grad=True)
    index = wp.array([1, 2, 0], dtype=int)
    p = Pair()
    p.a, p.x = 2.0, wp.array([3.0], dtype=float, requires_grad=True)
    out = wp.zeros(3, dtype=float, requires_grad=True)
    return [x, rest, index, 1.5, p, out]


def differentiate(name, change=lambda a: None, runs=1, together=False, **more):
    a = gradients()
    change(a)
    lists = {"inputs": a} if together else {"inputs": a[:5], "outputs": a[5:]}
    wp.launch(spring, 3, **lists, **more)
    before = SHORT[0] if WITH_KC else 0
    tape = wp.Tape()
    with tape:
        for _ in range(runs):
            wp.launch(spring, 3, **lists, **more)
    for _ in range(runs):
        a[5].grad.fill_(1.0)
        tape.backward()
    shorts[name] = SHORT[0] - before if WITH_KC else None
    grads = [array.grad for array in (a[0], a[1], a[4].x, a[5])]
    caller = tape.launches[0][7]["caller"]
    assert caller["func"] == "differentiate", caller
    found[name] = (tape.launches[0][1], np.concatenate([np.zeros(1) if g is None else g.numpy().ravel() for g in grads]))


def drop(n):
    def change(a):
        a[n].requires_grad = False
    return change


differentiate("a tape")
differentiate("a tape of two launches", runs=2)
differentiate("a tape of one list", together=True)
differentiate("a tape and a block", block_dim=128)
differentiate("a tape and a block of one", block_dim=1)
differentiate("a tape; no gradient of x", drop(0))
differentiate("a tape; no gradient of rest", drop(1))
differentiate("a tape; no array", lambda a: setattr(a[4], "x", wp.array([3.0], dtype=float)))


def derive(name, adjoints, dim=3):
    a = gradients()
    wp.launch(spring, dim, a)
    a[5].grad.fill_(1.0)
    before = SHORT[0] if WITH_KC else 0
    try:
        wp.launch(spring, dim, a[:5], a[5:], adj_inputs=adjoints(a), adj_outputs=[a[5].grad], adjoint=True)
    except Exception as error:
        found[name] = (type(error).__name__, None)
    else:
        found[name] = (None, np.concatenate([a[0].grad.numpy().ravel(), a[1].grad.numpy()]))
    shorts[name] = SHORT[0] - before if WITH_KC else None


derive("adjoint", lambda a: [a[0].grad, a[1].grad, None, None, Pair()])
derive("adjoint of a part", lambda a: [a[0].grad, a[1].grad, None, None, Pair()], 2)
derive("adjoint with a number", lambda a: [a[0].grad, a[1].grad, None, 0.0, Pair()])
derive("adjoint without a list", lambda a: [])
derive("adjoint of another type", lambda a: [a[1].grad, a[1].grad, None, None, Pair()])
derive("adjoint of its own", lambda a: [wp.zeros(3, dtype=wp.vec3), a[1].grad, None, None, Pair()])

# A kernel that is defined anew, in a module that is loaded already.
values = []
for factor in (2.0, 3.0):
    kernel = define(factor)
    z = wp.array([1.0], dtype=float)
    for _ in range(3):
        wp.launch(kernel, 1, [z])
    values.append(z.numpy()[0])
wp.set_module_options({"enable_backward": False})
wp.launch(one, 3, [y, 2.0])
found["defined anew"] = (values, y.numpy())
sys.stdout = sys.__stdout__
with open(sys.argv[2], "wb") as file:
    pickle.dump((found, shorts), file)
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("launch")
    (folder / "program.py").write_text(PROGRAM)
    made = []
    for who in ("plain", "kc"):
        command = [sys.executable, "program.py", who, f"{who}.pickle"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        made.append(pickle.loads((folder / f"{who}.pickle").read_bytes()))
    return made


def test_results_and_errors_are_those_of_warp(runs):
    (plain, _), (with_kc, _) = runs
    assert plain.keys() == with_kc.keys() and len(plain) > 30
    for name, (what, array) in plain.items():
        assert with_kc[name][0] == what, name
        if array is not None:
            # The sums of gradients are in another order.
            wide = 1e-6 * abs(array).max() if name.startswith(("a tape", "adjoint")) else 0
            assert (abs(array - with_kc[name][1]) <= wide).all(), (name, array, with_kc[name][1])
    assert sum(what is not None for what, _ in plain.values()) >= 8


SHORT = """again, tuple, list of extents, outputs, on the cpu, on the device, null array, whole number for a float, view,
    struct was changed, array was changed, other array, fewer dimensions, a tape, a tape of two launches, a tape of one list,
    a tape and a block, a tape and a block of one, a tape; no gradient of x, a tape; no gradient of rest, a tape; no array, adjoint, adjoint of a part,
    adjoint with a number, adjoint of its own"""


def test_who_goes_the_short_way(runs):
    shorts = runs[1][1]
    expected = {name.strip() for name in SHORT.split(",")}
    assert {name for name, count in shorts.items() if count} == expected
