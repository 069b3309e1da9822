"""Functions of JAX: its own check of gradients is the judge."""

import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import kc
import kc.jax
import numpy as np
import pytest
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)


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


@kc.kernel
def single(n: int, s: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[(i + 1) % n] * s


def double(*shape):
    return jnp.asarray(np.random.default_rng(1).random(shape) + 0.5)


def derivatives(f, *arguments):
    """The derivatives of f in both modes, as it is called and compiled."""
    for g in (f, jax.jit(f)):
        check_grads(g, arguments, order=1, modes=["fwd", "rev"])


def test_gradients():
    f = kc.jax.function(wave, outputs=["y"])
    a, x, w = jnp.float64(1.5), double(6), double(6)
    for g in (f, jax.jit(f, static_argnums=0)):
        assert jnp.allclose(g(6, a, x, w), jnp.sin(a * x) * w)
    derivatives(lambda a, x, w: f(6, a, x, w), a, x, w)
    # One array for two arguments, parts of arrays, and spread ones.
    derivatives(lambda x: f(6, 2.0, x, x), x)
    derivatives(lambda x: f(3, 2.0, x[::2], x[3:]), x)
    derivatives(lambda x: f(6, 2.0, jnp.broadcast_to(x, 6), x[0] * w), double(1))
    # A number of Python and one that a program computes.
    assert jnp.allclose(jax.jit(lambda x: f(6, x.sum(), x, w))(x), jnp.sin(x.sum() * x) * w)
    assert jnp.allclose(jax.grad(lambda a: f(6, a, x, w).sum())(1.5), (x * jnp.cos(1.5 * x) * w).sum())


def test_vectors_and_integers():
    f = kc.jax.function(energy, outputs={"out": 1})
    index = jnp.array([0, 2, 2, 1], jnp.int32)
    derivatives(lambda x, pull: f(4, x, pull, index), double(3, 3), double(3))
    # Beside an array that has no gradient.
    gradient = jax.grad(lambda x, index: f(4, x, jnp.zeros(3), index)[0], allow_int=True, argnums=(0, 1))
    assert gradient(double(3, 3), index)[1].dtype == jax.dtypes.float0


def test_kernels_that_overwrite_what_they_read():
    f = kc.jax.function(steps, outputs="y")
    derivatives(lambda x: f(4, x), double(4))


def test_matrices_and_booleans():
    @kc.kernel
    def turn(m: kc.mat22d, back: bool, x: kc.array(dtype=kc.vec2d), k: kc.int8, y: kc.array(dtype=kc.vec2d), n: kc.array(dtype=kc.int64)):
        i = kc.tid()
        if back:
            y[i] = kc.transpose(m) * x[i]
        else:
            y[i] = m * x[i]
        kc.atomic_add(n, 0, kc.int64(k))

    f = kc.jax.function(turn, outputs={"n": 1, "y": None})
    m, x = double(2, 2), double(5, 2)
    for back in (False, True):
        want = x @ (m if back else m.T)
        for k in (3, jnp.int8(3)):
            n, y = jax.jit(lambda m, back, x, k=k: f(5, m, back, x, k))(m, back, x)
            assert jnp.allclose(y, want) and n.tolist() == [15]
            assert jnp.allclose(f(5, m, back, x, k)[1], want)
        derivatives(lambda m, x, back=back: f(5, m, back, x, 1)[1], m, x)


def test_structs():
    @kc.struct
    class Settings:
        scale: kc.float64
        weights: kc.array(dtype=kc.float64)
        missing: kc.array(dtype=kc.float64)

    @kc.kernel
    def weigh(s: Settings, x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
        i = kc.tid()
        y[i] = s.scale * s.weights[i] * x[i]
        if s.missing:
            y[i] = kc.float64(0.0)

    f = kc.jax.function(weigh, outputs=["y"])
    derivatives(lambda s, w, x: f(3, {"scale": s, "weights": w, "missing": None}, x), jnp.float64(2.0), double(3), double(3))


def test_forward_mode():
    f = kc.jax.function(wave, outputs=["y"])
    a, x, w, d = jnp.float64(1.5), double(6), double(6) + 1, double(6) - 1
    slope = a * jnp.cos(a * x) * w
    for along in (lambda x: f(6, a, x, w), jax.jit(lambda x: f(6, a, x, w))):
        value, tangent = jax.jvp(along, (x,), (d,))
        assert jnp.allclose(value, jnp.sin(a * x) * w) and jnp.allclose(tangent, slope * d)
        value, linear = jax.linearize(along, x)
        assert jnp.allclose(linear(d), slope * d) and jnp.allclose(linear(2 * d), 2 * slope * d)
        assert jnp.allclose(jax.linear_transpose(linear, x)(d)[0], slope * d)
        # What is linear is its own derivative.
        assert jnp.allclose(jax.jvp(linear, (d,), (x,))[1], slope * x)
        assert jnp.allclose(jax.jacfwd(along)(x), jnp.diag(slope)) and jnp.allclose(jax.jacrev(along)(x), jnp.diag(slope))
    # Of a number and of one array for two arguments, and through what JAX computes before and after it.
    assert jnp.allclose(jax.jvp(lambda a: f(6, a, x, w), (a,), (2.0,))[1], 2 * x * jnp.cos(a * x) * w)
    assert jnp.allclose(jax.jacfwd(lambda x: (f(6, 1.0, x * x, x) ** 2).sum())(x), jax.grad(lambda x: ((jnp.sin(x * x) * x) ** 2).sum())(x))
    # A loop, and one direction after the other.
    turned = lambda x: jax.lax.fori_loop(0, 3, lambda _, x: f(6, 1.0, x, w), x)
    same = lambda x: jax.lax.fori_loop(0, 3, lambda _, x: jnp.sin(x) * w, x)
    assert jnp.allclose(jax.jvp(turned, (x,), (d,))[1], jax.jvp(same, (x,), (d,))[1])
    many = jax.vmap(lambda x, d: jax.jvp(lambda x: f(6, a, x, w), (x,), (d,))[1])
    assert jnp.allclose(many(jnp.stack([x, x]), jnp.stack([d, 2 * d])), jnp.stack([slope * d, 2 * slope * d]))
    # Nothing changes along whole numbers, and where nothing changes nothing is run.
    g = kc.jax.function(energy, outputs={"out": 1})
    x, pull, index = double(3, 3), double(3) + 1, jnp.array([0, 2], jnp.int32)
    along = lambda x, pull: g(2, x, pull, index)[0]
    norm = lambda x, pull: (jnp.linalg.norm(x[index] - pull, axis=1) ** 3).sum()
    assert jnp.allclose(jax.jvp(along, (x, pull), (x, pull + 1))[1], jax.jvp(norm, (x, pull), (x, pull + 1))[1])
    assert "kc_along" not in str(jax.make_jaxpr(lambda t: jax.jvp(lambda t: (t, along(x, pull)), (t,), (t,)))(1.0))


def test_loops_maps_and_threads():
    f = kc.jax.function(single, outputs=["y"])
    x = jnp.arange(1000, dtype=jnp.float32)

    @jax.jit
    def turned(x, times):
        return jax.lax.fori_loop(0, times, lambda k, x: f(1000, 1000, 1.0, x), x)

    assert jnp.array_equal(turned(x, 250), jnp.roll(x, -250))
    many = jax.vmap(lambda s, x: f(8, 8, s, x))(jnp.arange(3, dtype=jnp.float32), jnp.ones((3, 8), jnp.float32))
    assert many.tolist() == [[float(k)] * 8 for k in range(3)]
    scanned = jax.grad(lambda x: jax.lax.scan(lambda x, _: (f(4, 4, 2.0, x), None), x, length=3)[0][1])
    assert scanned(jnp.ones(4, jnp.float32)).tolist() == [8.0, 0.0, 0.0, 0.0]
    found = {}

    def run(k):
        found[k] = turned(x + k, 10)

    workers = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    [one.start() for one in workers]
    [one.join() for one in workers]
    assert all(jnp.array_equal(found[k], jnp.roll(x + k, -10)) for k in range(8))


def test_nothing_and_no_threads():
    f = kc.jax.function(wave, outputs=["y"])
    nothing = jnp.zeros(0)
    assert f(0, 1.0, nothing, nothing).shape == (0,)
    assert jax.grad(lambda x: f(0, 1.0, x, x).sum())(nothing).shape == (0,)


def test_what_a_kernel_prints(capfd):
    @kc.kernel
    def says(x: kc.array(dtype=int), y: kc.array(dtype=int)):
        print(x[0])
        y[0] = x[0]

    f = kc.jax.function(says, outputs=["y"])
    jax.jit(lambda x: f(1, x))(jnp.array([41], jnp.int32)).block_until_ready()
    assert "41" in capfd.readouterr().out


def test_what_does_not_fit():
    f = kc.jax.function(wave, outputs=["y"])
    x = double(4)
    with pytest.raises(kc.ArgumentError, match="`x` of kernel `wave`: expected `array.dtype=float64.`.*float32"):
        f(4, 1.0, x.astype(jnp.float32), x)
    with pytest.raises(kc.ArgumentError, match="1 dimension.*shape"):
        jax.jit(lambda x: f(4, 1.0, x.reshape(2, 2), x))(x)
    with pytest.raises(kc.ArgumentError, match="`a` of kernel `wave`: expected `float64`, found an array of shape"):
        f(4, x, x, x)
    with pytest.raises(kc.ArgumentError, match="`n` of kernel `single`: expected `int32`, found float32"):
        kc.jax.function(single, outputs="y")(4, jnp.float32(4), 1.0, x.astype(jnp.float32))
    with pytest.raises(kc.ArgumentError, match="3 arguments besides its outputs, and 5 are given"):
        f(4, 1.0, x, x, x, x)
    with pytest.raises(kc.ArgumentError, match="`y` of kernel `wave` is given twice"):
        f(4, 1.0, x, x, x, y=x)
    with pytest.raises(kc.ArgumentError, match="writes to `y`, which is no output"):
        kc.jax.function(steps, outputs=["x"])(4, x)
    with pytest.raises(jax.errors.JaxRuntimeError, match="(?s)E1101.*index 4 is out of bounds.*`x`"):
        f(5, 1.0, x, double(5)).block_until_ready()
    with pytest.raises(kc.ArgumentError, match="E1006.*Tracer(.|\n)*Python's numbers"):
        jax.jit(lambda n: f(n, 1.0, x, x))(4)
    for n in (np.int64(4), jnp.int32(4), (np.int32(4),)):
        assert f(n, 1.0, x, x).shape == (4,)
    # What failed leaves the next launch alone.
    assert f(4, 1.0, x, x).shape == (4,)


def test_whole_numbers_are_to_fit():
    f, x = kc.jax.function(single, outputs="y"), jnp.arange(4, dtype=jnp.float32)
    assert f(4, jnp.int64(4), 1.0, x).tolist() == f(4, jnp.uint8(4), 1.0, x).tolist() == [1, 2, 3, 0]
    with pytest.raises(kc.ArgumentError, match="`n` of kernel `single`: expected `int32`, and 1099511627776 does not fit"):
        f(4, jnp.int64(2**40), 1.0, x)
    # Its number is not known before the program runs.
    with pytest.raises(kc.ArgumentError, match="found int64, which may not fit\n.*`n.astype\\(jax.numpy.int32\\)`"):
        jax.jit(lambda n: f(4, n, 1.0, x))(jnp.int64(4))
    assert jax.jit(lambda n: f(4, n.astype(jnp.int32), 1.0, x))(jnp.int64(4)).tolist() == [1, 2, 3, 0]


def test_gradients_that_would_be_wrong_are_refused():
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
        f = kc.jax.function(kernel, outputs={"s": 4, "y": 4})
        gradient = jax.grad(lambda x, f=f: f(4, x)[1].sum())
        for g in (gradient, jax.jit(gradient)):
            with pytest.raises(jax.errors.JaxRuntimeError, match="E1108"):
                g(jnp.ones(4, jnp.float32)).block_until_ready()
        with pytest.raises(jax.errors.JaxRuntimeError, match="E1108"):
            jax.block_until_ready(jax.jvp(lambda x: f(4, x)[1], (jnp.ones(4, jnp.float32),), (jnp.ones(4, jnp.float32),)))


@kc.kernel
def accumulate(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = y[i] + x[i] * x[i] * x[i]


@kc.kernel
def overwrite(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    y[i] = y[i] * y[i] + 3.0 * x[i]


@kc.kernel
def counts(x: kc.array(dtype=kc.float64), n: kc.array(dtype=int), y: kc.array(dtype=kc.float64)):
    i = kc.tid()
    n[i] += 1
    y[i] += 2.0 * x[i]


@pytest.mark.parametrize("kernel, same", [(accumulate, lambda x, y: y + x**3), (overwrite, lambda x, y: y * y + 3 * x)])
def test_outputs_that_start_with_contents(kernel, same):
    f = kc.jax.function(kernel, outputs=["y"])
    x, y = double(4), double(4) + 1
    before = np.array(y)
    for g in (lambda x, y: f(4, x, y), lambda x, y: f(4, x, y=y), jax.jit(lambda x, y: f(4, x, y=y))):
        assert jnp.allclose(g(x, y), same(x, y)) and np.array_equal(y, before)
        check_grads(g, (x, y), order=1, modes=["fwd", "rev"])
    # Without contents they start with zeros; an array of NumPy is as good.
    assert jnp.allclose(f(4, x), same(x, 0 * y)) and jnp.allclose(f(4, x, y=before), same(x, y))
    # Along the contents alone, and one batch of them.
    assert jnp.allclose(jax.jvp(lambda y: f(4, x, y), (y,), (x,))[1], jax.jvp(lambda y: same(x, y), (y,), (x,))[1])
    many = jnp.stack([y, 2 * y, x])
    assert jnp.allclose(jax.vmap(lambda y: f(4, x, y))(many), same(x, many))
    assert jnp.allclose(jax.vmap(lambda x: f(4, x, y))(many), same(many, y))
    slopes = lambda f: jax.vmap(jax.grad(lambda y: f(x, y).sum()))(many)
    assert jnp.allclose(slopes(lambda x, y: f(4, x, y)), slopes(same))


def test_several_outputs_of_which_some_start_with_contents():
    f = kc.jax.function(counts, outputs=["y", "n"])
    x = double(3)
    y, n = f(3, x, n=jnp.array([4, 5, 6], jnp.int32))
    assert n.tolist() == [5, 6, 7] and jnp.allclose(y, 2 * x)
    y, n = jax.jit(lambda x, y: f(3, x, y=y))(x, x)
    assert n.tolist() == [1, 1, 1] and jnp.allclose(y, 3 * x)
    assert jnp.allclose(jax.grad(lambda x: f(3, x, y=x, n=jnp.zeros(3, jnp.int32))[0].sum())(x), 3)
    for wrong in (x[:2], x.astype(jnp.float32), x.reshape(3, 1)):
        with pytest.raises((kc.ArgumentError, kc.IndexError, jax.errors.JaxRuntimeError)):
            jax.block_until_ready(f(3, x, y=wrong))


def test_maps_are_one_launch():
    f = kc.jax.function(wave, outputs=["y"])
    true = lambda a, x, w: jnp.sin(a * x) * w
    ours = lambda a, x, w: f(5, a, x, w)
    a, many, x, w = double(3), double(3, 5), double(5), double(5) + 1
    for arguments, axes in [((2.0, many, w), (None, 0, None)), ((a, x, many), (0, None, 0)), ((a, many, many), 0)]:
        assert jnp.allclose(jax.vmap(ours, axes)(*arguments), jax.vmap(true, axes)(*arguments))
        program = str(jax.make_jaxpr(jax.vmap(ours, axes))(*arguments))
        assert program.count("kc_run") == 1 and "scan" not in program and "while" not in program
        slopes = lambda g: jax.vmap(jax.grad(lambda a, x, w: g(a, x, w).sum(), (0, 1, 2)), axes)
        assert all(map(jnp.allclose, slopes(ours)(*arguments), slopes(true)(*arguments)))
        program = str(jax.make_jaxpr(slopes(ours))(*arguments))
        assert "scan" not in program and "while" not in program
    assert jnp.allclose(jax.jit(jax.vmap(lambda x: ours(2.0, x, w), 1, 1))(many.T), true(2.0, many, w).T)
    assert jnp.allclose(jax.jacfwd(lambda x: ours(2.0, x, w))(x), jax.jacfwd(lambda x: true(2.0, x, w))(x))
    # Vectors, integers, an atomic sum; maps of maps.
    g = kc.jax.function(energy, outputs={"out": 1})
    x, pull, index = double(2, 3, 3), double(2, 3) + 1, jnp.array([0, 2, 1], jnp.int32)
    norm = lambda x, pull: (jnp.linalg.norm(x[index] - pull, axis=1) ** 3).sum()
    assert jnp.allclose(jax.vmap(lambda x, p: g(3, x, p, index)[0])(x, pull), jax.vmap(norm)(x, pull))
    cube = double(2, 3, 5)
    assert jnp.allclose(jax.vmap(jax.vmap(lambda x: ours(2.0, x, w)))(cube), true(2.0, cube, w))


def test_maps_of_what_has_no_kernel_of_a_batch():
    @kc.kernel
    def odd(x: kc.array(dtype=kc.float64), y: kc.array(dtype=kc.float64)):
        y[kc.tid()] = x[kc.tid()] * x[kc.tid()]

    f, many = kc.jax.function(odd, outputs=["y"]), double(3, 4)
    assert jnp.allclose(jax.vmap(lambda x: f(4, x))(many), many**2)
    assert jnp.allclose(jax.vmap(jax.grad(lambda x: f(4, x).sum()))(many), 2 * many)


def test_second_derivatives():
    f, g = kc.jax.function(wave, outputs=["y"]), kc.jax.function(accumulate, outputs=["y"])
    x, w = double(4), double(4) + 1
    pairs = [
        (lambda x: (f(4, 1.5, x, x) * w).sum(), lambda x: (jnp.sin(1.5 * x) * x * w).sum()),
        (lambda x: (g(4, x, y=x * x) ** 2).sum(), lambda x: ((x * x + x**3) ** 2).sum()),
    ]
    for ours, true in pairs:
        wanted = jax.hessian(true)(x)
        for second in (jax.hessian, lambda f: jax.jacrev(jax.jacrev(f)), lambda f: jax.jit(jax.hessian(f)), lambda f: jax.jacrev(jax.grad(f))):
            assert jnp.allclose(second(ours)(x), wanted)
        many = jnp.stack([x, w])
        assert jnp.allclose(jax.vmap(jax.hessian(ours))(many), jax.vmap(jax.hessian(true))(many))
        check_grads(jax.grad(ours), (x,), order=1, modes=["fwd", "rev"])
        # Of forward mode, and third derivatives, there are none.
        for more in (jax.jacfwd(jax.jacfwd(ours)), jax.jacrev(jax.jacfwd(ours)), jax.grad(lambda x: jax.hessian(ours)(x).sum())):
            with pytest.raises(kc.GradientError, match="E1103.*has no derivative of its own here"):
                more(x)
    # By values, too; but not where kc makes no kernel of a batch.
    ours, true = (lambda a, x: (f(4, a, x, w) ** 2).sum()), (lambda a, x: ((jnp.sin(a * x) * w) ** 2).sum())
    for second in (lambda f: jax.grad(jax.grad(f)), jax.hessian, lambda f: jax.jit(jax.grad(lambda a, x: (jax.grad(f, 1)(a, x) ** 2).sum(), (0, 1)))):
        assert all(map(jnp.allclose, *([jax.tree.leaves(second(f)(1.5, x)) for f in (ours, true)])))

    @kc.kernel
    def odd(a: kc.float64, y: kc.array(dtype=kc.float64)):
        y[kc.tid()] = a * a * a * kc.float64(kc.tid())

    g = kc.jax.function(odd, outputs=["y"])
    with pytest.raises(kc.GradientError, match="the derivative by a value of kernel `odd`"):
        jax.grad(jax.grad(lambda a: g(4, a).sum()))(1.5)
    # And none of what keeps values of the launch.
    h = kc.jax.function(steps, outputs=["y"])
    with pytest.raises(kc.GradientError, match="kernel `steps` has no second derivatives: its derivative keeps values"):
        jax.hessian(lambda x: h(4, x).sum())(x)


PROGRAM = """
import sys
import jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
import jax.numpy as jnp
import kc, kc.jax

@kc.kernel
def first(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    y[kc.tid()] = x[kc.tid()] + 1.0

@kc.kernel
def second(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    y[kc.tid()] = x[kc.tid()] + 2.0

for kernel in {"a": [first, second], "b": [second, first]}[sys.argv[2]]:
    f = kc.jax.function(kernel, outputs="y")
    print(jax.jit(lambda x: f(2, x))(jnp.zeros(2)).tolist())
"""


def test_programs_that_jax_kept(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = []
    for order in "aab":
        done = subprocess.run([sys.executable, program, tmp_path / "cache", order], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split("\n")[:2])
    assert any((tmp_path / "cache").iterdir())
    assert found[0] == found[1] == ["[1.0, 1.0]", "[2.0, 2.0]"] == found[2][::-1]


@kc.kernel
def center(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i] - kc.tile_sum(kc.tile(x[i]))[0]


def test_blocks_of_threads():
    f = kc.jax.function(center, outputs=["y"])
    x = jnp.array([1.0, 2.0, 3.0, 4.0], jnp.float32)
    for block in (2, 4, 2):
        g = jax.jit(lambda x: f(4, x, block_dim=block))
        sums = x.reshape(-1, block).sum(1, keepdims=True).repeat(block, 1).reshape(-1)
        assert (g(x) == x**2 - sums).all()
        assert (jax.grad(lambda x: g(x).sum())(x) == 2 * x - block).all()


@kc.kernel
def scaled(a, x, y):
    i = kc.tid()
    y[i] = a * x[i]


def test_generic_kernels_and_pickling():
    import pickle

    f = pickle.loads(pickle.dumps(kc.jax.function(scaled, outputs=["y"])))
    for dtype in (jnp.float32, jnp.float64):
        x = jnp.arange(3, dtype=dtype)
        assert f(3, 0.5, x).dtype == dtype and f(3, 0.5, x).tolist() == [0, 0.5, 1]
        assert jax.grad(lambda x: f(3, 0.5, x).sum())(x).tolist() == [0.5] * 3
