"""Tapes of launches on a GPU: each test runs on the host, too, and is the same there."""

import gc

import kc
import numpy as np
import pytest
from kc import _native

DEVICES = pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda:1"])


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def scale(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i]


@kc.kernel
def total(x: kc.array(dtype=float), out: kc.array(dtype=float)):
    kc.atomic_add(out, 0, x[kc.tid()])


@kc.kernel
def grow(x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = x[i] * x[i]


def floats(device, *values, **more):
    return kc.array(values, dtype=float, device=device, **more)


@DEVICES
def test_a_chain(device):
    x, y, z, loss = floats(device, 1, 2, 3), floats(device, 0, 0, 0), floats(device, 0, 0, 0), floats(device, 0)
    with kc.Tape() as tape:
        square(3, x, y)
        scale(3, 10.0, y, z)
        total(3, z, loss)
    tape.backward(loss)
    assert tape.gradient(x).device == device and tape.gradient(x).numpy().tolist() == [20, 40, 60]
    assert tape.gradients[x].numpy().tolist() == [20, 40, 60] and x in tape.gradients
    tape.backward(loss)
    assert tape.gradient(x).numpy().tolist() == [40, 80, 120] and tape.gradient(x[1:]).numpy().tolist() == [80, 120]
    tape.zero()
    tape.backward(grads=[(z, floats(device, 1, 0, 0)), (y, 5.0)])
    assert tape.gradient(x).numpy().tolist() == [2 * 15, 4 * 5, 6 * 5]
    with pytest.raises(kc.ArgumentError, match="from an array of one element, not from an array of shape \\(3,\\)"):
        tape.backward(x)


@DEVICES
def test_one_buffer_for_all_steps(device):
    x, y, loss = floats(device, 1, 2, 3), floats(device, 0, 0, 0), floats(device, 0)
    with kc.Tape() as tape:
        square(3, x, y)
        square(3, y, x)
        square(3, x, y)
        total(3, y, loss)
    assert loss.numpy()[0] == 1 + 2.0**8 + 3.0**8
    tape.backward(loss)
    assert tape.gradient(x).numpy().tolist() == [8, 8 * 2**7, 8 * 3**7]


@DEVICES
def test_in_place(device):
    x, loss = floats(device, 1, 2, 3), floats(device, 0)
    with kc.Tape() as tape:
        for _ in range(3):
            grow(3, x)
        total(3, x, loss)
    for n in (1, 2):
        tape.backward(loss)
        assert tape.gradient(x).numpy().tolist() == [n * 8, n * 8 * 2**7, n * 8 * 3**7]
    assert x.numpy().tolist() == [1, 2**8, 3**8]


@DEVICES
def test_gradients_of_arrays_that_have_one(device):
    x, loss = floats(device, 1, 2, 3, requires_grad=True), floats(device, 0, requires_grad=True)
    y = kc.zeros(3, device=device)
    with kc.Tape() as tape:
        square(3, x, y)
        total(3, y, loss)
        total(2, x[1:], loss)
    tape.backward(loss)
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [4, 10, 14]
    tape.zero()
    assert x.grad.numpy().tolist() == [0, 0, 0]


@DEVICES
def test_parts(device):
    x, y, loss = floats(device, *range(8)), kc.zeros(8, device=device), floats(device, 0)
    with kc.Tape() as tape:
        square(4, x[::2], y[:4])
        square(3, x[5:], y[4:7])
        total(8, y, loss)
    tape.backward(loss)
    assert tape.gradient(x).numpy().tolist() == [0, 0, 4, 0, 8, 10, 24, 14]
    assert tape.gradient(x[5:]).numpy().tolist() == [10, 24, 14]
    # Of memory that steps used parts of alone.
    a, loss = kc.ones(10, device=device), floats(device, 0)
    with kc.Tape() as tape:
        total(2, a[1:3], loss)
        total(3, a[6:9], loss)
    tape.backward(loss)
    assert tape.gradient(a).numpy().tolist() == [0, 1, 1, 0, 0, 0, 1, 1, 1, 0]


@DEVICES
def test_what_python_writes_is_recorded(device):
    x, y, z, loss = floats(device, 1, 2, 3, 4), kc.zeros(4, device=device), kc.zeros(4, device=device), floats(device, 0)
    with kc.Tape() as tape:
        square(4, x, y)
        z.assign(y)
        z[1:3] = x[:2]
        y.fill_(7.0)
        y[3] = 2.0
        square(4, z, y)
        y[0] = 0.0
        total(4, y, loss)
    assert y.numpy().tolist() == [0, 1, 4, 256] and loss.numpy()[0] == 261
    tape.backward(loss)
    # z = (x0^2, x0, x1, x3^2)
    assert tape.gradient(x).numpy().tolist() == [2, 4, 0, 4 * 4**3]
    with kc.Tape() as tape:
        square(4, x, y)
        tape.assign(z, y)
        total(4, z, loss)
    tape.backward(loss)
    assert tape.gradient(x).numpy().tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize("way", [("cuda:0", "cuda:1"), ("cpu", "cuda:0"), ("cuda:1", "cpu")])
def test_copies_between_devices_are_recorded(way):
    here, there = way
    x, y, loss = floats(here, 1, 2, 3), kc.zeros(3, device=here), floats(here, 0)
    with kc.Tape() as tape:
        square(3, x, y)
        z = y.to(there)
        w = kc.zeros(3, device=there)
        square(3, z, w)
        y.assign(w)
        made = kc.array(w, device=here)
        total(3, y, loss)
        total(3, made, loss)
    tape.backward(loss)
    assert tape.gradient(x).device == here and tape.gradient(x).numpy().tolist() == [8, 8 * 2**3, 8 * 3**3]
    assert tape.gradient(z).device == there and tape.gradient(z).numpy().tolist() == [4, 16, 36]


@DEVICES
@pytest.mark.parametrize("change", ["fill", "launch", "gradient"])
def test_what_is_changed_outside_is_an_error(device, change):
    x, y, loss = floats(device, 1, 2, 3, requires_grad=True), kc.zeros(3, device=device), floats(device, 0)
    with kc.Tape() as tape:
        square(3, x, y)
        total(3, y, loss)
    if change == "fill":
        x[1] = 5.0
    elif change == "launch":
        grow(3, x)
        grow(3, x)
    else:
        scale.grad(3, 2.0, floats(device, 5, 6, 7), x, grads={"y": 1.0})
    with pytest.raises(kc.GradientError, match="E1103.*that the derivative reads was changed"):
        tape.backward(loss)


@DEVICES
def test_parts_that_are_changed_are_no_change_of_others(device):
    x, y, loss = floats(device, *range(8)), kc.zeros(4, device=device), floats(device, 0)
    with kc.Tape() as tape:
        square(4, x[:4], y)
        total(4, y, loss)
    x[4:] = 9.0
    grow(4, x[4:])
    tape.backward(loss)
    assert tape.gradient(x[:4]).numpy().tolist() == [0, 2, 4, 6]


class Other:
    """A library that has the memory of an array, too."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def test_what_other_libraries_change_is_an_error():
    x, y, loss = floats("cuda", 1, 2, 3), kc.zeros(3, device="cuda"), floats("cuda", 0)
    other = kc.array(Other(x))
    with kc.Tape() as tape:
        square(3, x, y)
        total(3, y, loss)
    other.assign(x)
    tape.backward(loss)
    assert tape.gradient(x).numpy().tolist() == [2, 4, 6]
    other[0] = 9.0
    with pytest.raises(kc.GradientError, match="E1103.*was changed"):
        tape.backward(loss)


def test_what_no_tape_differentiates():
    x, y = floats("cuda", 1, 2, 3), kc.zeros((2, 3), device="cuda")
    with kc.Tape(), pytest.raises(kc.GradientError, match="E1103.*with another shape or type, has no gradient where arrays are on a GPU"):
        y[:] = x
    with kc.Tape(), pytest.raises(kc.GradientError, match="no tape differentiates kernel.grad"):
        square.grad(3, x, x, grads={"y": 1.0})
    host = kc.zeros(3)
    with kc.Tape(), pytest.raises(kc.DeviceError, match="`y` of kernel `square`: is in the memory of the host, and `x`"):
        square(3, x, host)
    # A failed launch does not spoil the arrays.
    assert x.numpy().tolist() == [1, 2, 3]


@pytest.mark.simulated
def test_a_tape_gives_its_memory_back():
    def run():
        x, y, loss = kc.ones(100_000, device="cuda"), kc.ones(100_000, device="cuda"), floats("cuda", 0)
        with kc.Tape() as tape:
            for _ in range(5):
                square(100_000, x, y)
                square(100_000, y, x)
            total(100_000, x, loss)
        tape.backward(loss)
        assert tape.gradient(x).numpy()[0] == 2**10

    run()
    gc.collect()
    before = kc.devices()[0].free
    for _ in range(3):
        run()
    gc.collect()
    assert kc.devices()[0].free == before


def test_nothing_is_read_on_the_host(monkeypatch):
    """What derivatives need stays on the GPU, once the form of a launch was looked at."""
    x, y, loss = floats("cuda", 1, 2, 3, requires_grad=True), kc.zeros(3, device="cuda"), floats("cuda", 0)

    def run():
        with kc.Tape() as tape:
            for _ in range(3):
                grow(3, y)
                square(3, x, y)
            total(3, y, loss)
        tape.backward(loss)

    run()
    from kc import _device

    def refuse(data):
        raise AssertionError("the host reads an array")

    monkeypatch.setattr(_device, "read", refuse)
    run()
    square.grad(3, x, y, grads={"y": 1.0})
