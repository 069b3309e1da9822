"""Results that are the same each time: what the order of threads shows in is refused on a GPU, and has one core on the host."""

import kc
import numpy as np
import pytest


@kc.kernel
def total(x: kc.array(dtype=float), out: kc.array(dtype=float)):
    kc.atomic_add(out, 0, x[kc.tid()])


@kc.kernel
def count(x: kc.array(dtype=float), out: kc.array(dtype=int)):
    if x[kc.tid()] > 0.5:
        kc.atomic_add(out, 0, 1)


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def gather(index: kc.array(dtype=int), x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[index[i]] * 2.0


def test_sums_of_floats_are_refused_on_a_gpu(rng):
    x, out = kc.array(rng.random(100, dtype=np.float32), device="cuda", requires_grad=True), kc.zeros(1, device="cuda")
    with kc.deterministic():
        with pytest.raises(kc.DeviceError, match="E1104.*atomics of kernel `total` show the order of its threads, and `cuda:0`"):
            total(100, x, out)
        assert out.numpy()[0] == 0
    total(100, x, out)
    assert out.numpy()[0] == pytest.approx(x.numpy().sum(), rel=1e-5)


def test_whole_numbers_and_elements_of_their_own_run(rng):
    values = rng.random(1000, dtype=np.float32)
    x, y, n = kc.array(values, device="cuda", requires_grad=True), kc.zeros(1000, device="cuda"), kc.zeros(1, dtype=int, device="cuda")
    with kc.deterministic():
        count(1000, x, n)
        square(1000, x, y)
    assert n.numpy()[0] == (values > 0.5).sum() and (y.numpy() == values * values).all()


def test_gradients(rng):
    index = kc.array(np.zeros(8, np.int32), device="cuda")
    x, y = kc.zeros(3, device="cuda", requires_grad=True), kc.zeros(8, device="cuda", requires_grad=True)
    with kc.deterministic(), pytest.raises(kc.DeviceError, match="E1104.*`gather`"):
        gather.grad(8, index, x, y, grads={"y": 1.0})
    x.grad.zero_()
    gather.grad(8, index, x, y, grads={"y": 1.0})
    assert x.grad.numpy().tolist() == [16, 0, 0]


def test_the_host_adds_in_the_order_of_threads(rng):
    x = rng.random(200_000, dtype=np.float32)
    results = set()
    with kc.deterministic():
        for _ in range(3):
            out = np.zeros(1, np.float32)
            total(len(x), x, out)
            results.add(out.tobytes())
            with kc.deterministic(False):
                total(len(x), x, out)
    assert len(results) == 1
