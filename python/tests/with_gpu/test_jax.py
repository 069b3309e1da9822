"""`kc.jax.function` on a real GPU, beside `jax.numpy`: values, `jit`, `grad`, `vmap`, compositions, big arrays."""

import os

import pytest

# JAX would take most of the GPU's memory, which other tests of this process use.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax")

import jax.numpy as jnp
import numpy as np

import kc

pytest.importorskip("kc.jax")
try:
    GPU = jax.devices("gpu")[0]
except RuntimeError as error:
    pytest.skip(f"JAX sees no GPU: {str(error).splitlines()[0]}", allow_module_level=True)


@kc.struct
class Spring:
    stiffness: float
    rest: float


@kc.kernel
def wave(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = kc.sin(a * x[i])


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
def blurred(u: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] * u[i, j + 1])


@kc.kernel
def halves(x: kc.array(dtype=kc.bfloat16), y: kc.array(dtype=kc.bfloat16)):
    i = kc.tid()
    y[i] = x[i] * x[i] + x[i]


@kc.kernel
def add_to(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] += 2.0 * x[i]


def rand(*shape):
    return jax.device_put(np.random.default_rng(sum(shape)).random(shape, dtype=np.float32) + 0.5, GPU)


def close(found, wanted, rtol=1e-4, atol=1e-5):
    np.testing.assert_allclose(np.asarray(found, np.float32), np.asarray(wanted, np.float32), rtol=rtol, atol=atol)


def is_there(array):
    return array.devices() == {GPU}


@pytest.mark.parametrize("n", [1, 31, 1000, 1_000_003])
def test_values(n):
    f = kc.jax.function(wave, outputs="y")
    x = rand(n)
    found = f(n, 1.5, x)
    assert is_there(found)
    close(found, jnp.sin(1.5 * x))
    close(jax.jit(lambda x: f(n, 1.5, x) + 1.0)(x), jnp.sin(1.5 * x) + 1)


def test_gradients():
    f = kc.jax.function(wave, outputs="y")
    x = rand(500)
    ours, theirs = lambda a, x: (f(500, a, x) ** 2).sum(), lambda a, x: (jnp.sin(a * x) ** 2).sum()
    a = jnp.float32(1.5)
    for one in (lambda g: g, jax.jit):
        for found, wanted in zip(one(jax.grad(ours, (0, 1)))(a, x), jax.grad(theirs, (0, 1))(a, x)):
            assert is_there(found)
            close(found, wanted, rtol=1e-3)


def test_vectors():
    f = kc.jax.function(pulled, outputs={"out": 1})
    x, pull = rand(50, 3), rand(3)
    ours, theirs = lambda x, p: f(50, x, p)[0], lambda x, p: ((x - p) ** 2).sum()
    close(ours(x, pull), theirs(x, pull))
    for found, wanted in zip(jax.grad(ours, (0, 1))(x, pull), jax.grad(theirs, (0, 1))(x, pull)):
        close(found, wanted, rtol=1e-3)


def test_structs():
    f = kc.jax.function(stretched, outputs="e")
    x = rand(64)
    ours = lambda k, r, x: f(64, {"stiffness": k, "rest": r}, x).sum()
    theirs = lambda k, r, x: (0.5 * k * (x - r) ** 2).sum()
    given = jnp.float32(3.0), jnp.float32(0.25), x
    close(f(64, {"stiffness": 3.0, "rest": 0.25}, x).sum(), theirs(*given), rtol=1e-3)
    for found, wanted in zip(jax.grad(ours, (0, 1, 2))(*given), jax.grad(theirs, (0, 1, 2))(*given)):
        close(found, wanted, rtol=1e-3)


def test_indices():
    f, g = kc.jax.function(taken, outputs="y"), kc.jax.function(put, outputs={"y": 4})
    x, index = rand(4), jnp.array([3, 0, 0, 1], jnp.int32)
    close(f(4, x, index), 2 * x[index])
    close(jax.grad(lambda x: f(4, x, index).sum())(x), jax.grad(lambda x: (2 * x[index]).sum())(x))
    fine = jnp.array([3, 0, 2, 1], jnp.int32)
    for _ in range(2):
        close(jax.grad(lambda x: g(4, x, fine).sum())(x), [2, 2, 2, 2])
    with pytest.raises(Exception, match="E1108|order"):
        jax.block_until_ready(jax.grad(lambda x: g(4, x, index).sum())(x))


def test_what_is_overwritten():
    f = kc.jax.function(steps, outputs="y")
    x = 0.3 * rand(200)

    def wanted(x):
        y = x
        for _ in range(3):
            y = y * y + x
        return y

    close(f(200, x), wanted(x))
    close(jax.grad(lambda x: f(200, x).sum())(x), jax.grad(lambda x: wanted(x).sum())(x), rtol=1e-3)


def test_forward_mode():
    f = kc.jax.function(wave, outputs="y")
    x, dx = rand(100), rand(100)
    found = jax.jit(lambda x, dx: jax.jvp(lambda x: f(100, 1.5, x), (x,), (dx,)))(x, dx)
    for one, two in zip(found, jax.jvp(lambda x: jnp.sin(1.5 * x), (x,), (dx,))):
        close(one, two)
    given = (jnp.float32(1.5), x), (jnp.float32(0.5), dx)
    for one, two in zip(jax.jvp(lambda a, x: f(100, a, x), *given), jax.jvp(lambda a, x: jnp.sin(a * x), *given)):
        close(one, two)


def test_second_derivatives():
    f = kc.jax.function(wave, outputs="y")
    x = rand(6)
    close(jax.hessian(lambda x: f(6, 1.5, x).sum())(x), jax.hessian(lambda x: jnp.sin(1.5 * x).sum())(x), rtol=1e-3, atol=1e-4)


def test_maps():
    f = kc.jax.function(wave, outputs="y")
    x, a = rand(6, 50), rand(6)
    close(jax.vmap(lambda x: f(50, 1.5, x))(x), jnp.sin(1.5 * x))
    close(jax.jit(jax.vmap(lambda a, x: f(50, a, x)))(a, x), jnp.sin(a[:, None] * x))
    slope = jax.vmap(jax.grad(lambda x: f(50, 1.5, x).sum()))(x)
    close(slope, 1.5 * jnp.cos(1.5 * x))


def test_compositions():
    f, g = kc.jax.function(wave, outputs="y"), kc.jax.function(blurred, outputs={"out": lambda dim, u: u.shape})
    x = rand(64 * 32)

    def ours(x):
        u = jnp.cumsum(f(len(x), 1.5, x)).reshape(64, 32)
        return (g((64, 32), u / 10.0) * f(len(x), 2.0, x).reshape(64, 32)).sum()

    def theirs(x):
        u = jnp.cumsum(jnp.sin(1.5 * x)).reshape(64, 32) / 10.0
        inner = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] * u[1:-1, 2:])
        return (jnp.zeros((64, 32)).at[1:-1, 1:-1].set(inner) * jnp.sin(2.0 * x).reshape(64, 32)).sum()

    close(jax.jit(ours)(x), theirs(x), rtol=1e-3)
    # Sums of a thousand terms on both sides.
    close(jax.jit(jax.grad(ours))(x), jax.grad(theirs)(x), rtol=2e-3, atol=2e-2)


def test_loops():
    f = kc.jax.function(wave, outputs="y")
    x = rand(100)
    found = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, x: f(100, 1.1, x), x))(x)
    wanted = x
    for _ in range(20):
        wanted = jnp.sin(1.1 * wanted)
    close(found, wanted)


def test_big_arrays():
    f = kc.jax.function(wave, outputs="y")
    n = 30_000_000
    x = jnp.linspace(0, 1, n, dtype=jnp.float32)
    close(f(n, 2.0, x)[:: n // 100], jnp.sin(2 * x)[:: n // 100])
    g = jax.grad(lambda x: f(n, 2.0, x).sum())(x)
    close(g[:: n // 100], 2 * jnp.cos(2 * x)[:: n // 100])


def test_small_floats():
    f = kc.jax.function(halves, outputs="y")
    x = rand(333).astype(jnp.bfloat16)
    found = f(333, x)
    assert found.dtype == jnp.bfloat16
    wide = x.astype(jnp.float32)
    close(found, wide * wide + wide, rtol=0.02, atol=0.02)
    slope = jax.grad(lambda x: f(333, x).astype(jnp.float32).sum())(x)
    close(slope, 2 * wide + 1, rtol=0.02, atol=0.02)


def test_outputs_that_start_with_contents():
    f = kc.jax.function(add_to, outputs="y")
    x, y = rand(100), rand(101)[1:]
    close(jax.jit(lambda x, y: f(100, x, y=y))(x, y), y + 2 * x)
    for found, slope in zip(jax.grad(lambda x, y: f(100, x, y=y).sum(), (0, 1))(x, y), (2, 1)):
        close(found, np.full(100, slope))


def test_numbers_that_change():
    """Each call has its own, though the program is compiled once."""
    f = kc.jax.function(wave, outputs="y")
    x = rand(100)
    for a in (0.5, 1.0, 1.5):
        close(f(100, a, x), jnp.sin(a * x))
    run = jax.jit(lambda a, x: f(100, a, x))
    for a in (0.5, 1.0, 1.5):
        close(run(jnp.float32(a), x), jnp.sin(a * x))


def test_on_the_host_beside_it():
    f = kc.jax.function(wave, outputs="y")
    host = jax.devices("cpu")[0]
    x = jax.device_put(np.linspace(0, 1, 50, dtype=np.float32), host)
    found = jax.jit(lambda x: f(50, 1.5, x))(x)
    assert found.devices() == {host}
    close(found, np.sin(1.5 * np.asarray(x)))
