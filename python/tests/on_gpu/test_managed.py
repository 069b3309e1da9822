"""Memory that the host and the GPUs use, and memory of one GPU that another one reaches."""

import kc
import numpy as np
import pytest
from conftest import LAST


@kc.kernel
def scale(a: float, x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = a * x[i]


@kc.kernel
def add(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i] + y[i]


def test_one_array_for_host_and_gpu():
    x = kc.zeros(4, device="managed")
    assert x.device == "managed" and x.numpy().tolist() == [0] * 4
    host = x.numpy()
    host[:] = [1, 2, 3, 4]
    scale(4, 2.0, x)
    assert x.numpy().tolist() == [2, 4, 6, 8]
    assert host.tolist() == [2, 4, 6, 8], "it is the same memory"
    # On the host, in the same memory.
    scale(4, 10.0, x.numpy())
    scale(2, 0.5, x[1:3])
    assert x.numpy().tolist() == [20, 20, 30, 80]
    assert x[::2].numpy().tolist() == [20, 30] and x[3] == 80


def test_beside_arrays_of_a_gpu(rng):
    values = rng.random(100, dtype=np.float32)
    x, y = kc.array(values, device="managed", requires_grad=True), kc.zeros(100, device="cuda")
    add(100, x, y)
    np.testing.assert_array_equal(y.numpy(), values * values)
    found = add.grad(100, x, y, grads={"y": 1.0})
    np.testing.assert_allclose(x.grad.numpy(), 2 * values)
    assert set(found) >= {"x"}
    with kc.Tape() as tape:
        add(100, x, y)
    x.numpy()[:] = 0.0
    with pytest.raises(kc.GradientError):
        tape.backward(grads=[(y, np.ones(100, np.float32))])


def test_copies_and_moves():
    x = kc.array([1.0, 2.0], device="managed")
    there, here = x.to("cuda"), x.to("cpu")
    assert (there.device, here.device) == ("cuda:0", "cpu") and x.to("managed") is x
    scale(2, 3.0, x)
    assert there.numpy().tolist() == here.numpy().tolist() == [1, 2] and here.to("managed").device == "managed"
    for where in ("cuda", "cpu", LAST):
        x.prefetch(where)
    assert x.numpy().tolist() == [3, 6]
    with pytest.raises(kc.DeviceError, match="E1104.*does not move"):
        there.prefetch("cpu")
    del x
    assert kc.zeros(0, device="managed").numpy().size == 0


@pytest.mark.two_gpus
@pytest.mark.parametrize("device", ["cuda:0", "managed"])
def test_launches_of_another_gpu(device):
    x, y = kc.array([1.0, 2.0, 3.0], device=device), kc.zeros(3, device="cuda:1")
    scale(3, 2.0, x)
    with pytest.raises(kc.DeviceError, match="`y` of kernel `add`: is in the memory of GPU 1, and `x` is in the memory of GPU 0"):
        add(3, x, y)
    add(3, x.on("cuda:1"), y)
    assert y.numpy().tolist() == [4, 16, 36]
    add(2, y[1:], x[:2].on("cuda:1"))
    kc.devices()[1].synchronize()
    assert x.numpy().tolist() == [2 + 256, 4 + 1296, 6]
    assert x.on("cuda:0") is x or device == "managed"


def test_what_cannot_be_reached():
    for array in (kc.zeros(2), kc.zeros(2, device="cuda")):
        with pytest.raises(kc.DeviceError, match="E1104.*managed"):
            array.on("cuda" if array.device == "cpu" else "cpu")
