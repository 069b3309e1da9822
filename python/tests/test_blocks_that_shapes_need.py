"""Kernels whose shapes fit for blocks of some sizes alone: a launch says how many threads there are."""

import numpy as np
import pytest

import kc
import kc.warp as wp

THREADS = 32


@kc.func
def relu(x: float):
    return kc.max(x, 0.0)


@kc.kernel
def layer(w: kc.array2d(dtype=float), b: kc.array2d(dtype=float), x: kc.array(dtype=float), y: kc.array2d(dtype=float)):
    i = kc.tid()
    v = kc.vector(x[i], 2.0 * x[i])
    f = kc.untile(kc.tile_matmul(kc.tile_load(w, shape=(4, 2)), kc.tile(v)) + kc.tile_broadcast(kc.tile_load(b, shape=(4, 1)), shape=(4, THREADS)))
    for k in range(4):
        y[k, i] = relu(f[k])


def given(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(4, 2)).astype(np.float32), rng.normal(size=(4, 1)).astype(np.float32), rng.normal(size=n).astype(np.float32)


def expected(w, b, x):
    return np.maximum(w.astype(float) @ np.stack([x, 2.0 * x]) + b, 0.0)


def test_a_launch_says_how_many():
    w, b, x = given(96)
    y = np.zeros((4, 96), np.float32)
    layer(96, w, b, x, y, block_dim=THREADS)
    np.testing.assert_allclose(y, expected(w, b, x), rtol=1e-5, atol=1e-6)
    with pytest.raises(kc.CompileError, match="E0319"):
        layer(96, w, b, x, y)
    with pytest.raises(kc.CompileError, match="E0319"):
        layer(96, w, b, x, y, block_dim=16)


def test_each_size_is_compiled_once(monkeypatch):
    w, b, x = given(64)
    y = np.zeros((4, 64), np.float32)
    layer(64, w, b, x, y, block_dim=THREADS)

    def compiled(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(kc._native, "compile", compiled)
    layer(64, w, b, x, y, block_dim=THREADS)
    layer.grad(64, w, b, x, y, block_dim=THREADS, grads={"y": 1.0})


def test_its_gradient():
    w, b, x = given(64)
    y = np.zeros((4, 64), np.float32)
    found = layer.grad(64, w, b, x, y, block_dim=THREADS, grads={"y": 1.0})
    used = (expected(w, b, x) > 0.0).astype(float)
    np.testing.assert_allclose(found["x"], (used * (w[:, :1] + 2.0 * w[:, 1:])).sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found["b"], used.sum(1, keepdims=True), rtol=1e-5)


@wp.kernel
def other(w: wp.array2d(dtype=float), b: wp.array2d(dtype=float), x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    v = wp.vector(x[i], 2.0 * x[i])
    f = wp.untile(wp.tile_matmul(wp.tile_load(w, shape=(4, 2)), wp.tile(v)) + wp.tile_broadcast(wp.tile_load(b, shape=(4, 1)), shape=(4, THREADS)))
    for k in range(4):
        y[k, i] = f[k]


def test_launches_of_warp(monkeypatch):
    monkeypatch.setattr(wp.config, "enable_cpu_blocks", True)
    w, b, x = given(64)
    y = wp.zeros((4, 64), dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(other, dim=64, inputs=[wp.array(w), wp.array(b), wp.array(x)], outputs=[y], block_dim=THREADS)
    wp.capture_launch(capture.graph)
    np.testing.assert_allclose(y.numpy(), w.astype(float) @ np.stack([x, 2.0 * x]) + b, rtol=1e-5, atol=1e-6)
