"""`kc.warp` on a GPU: each test runs on the host, too, and is the same there."""

import pickle
import warnings

import kc
import kc.warp as wp
import kc.warp.sparse
import numpy as np
import pytest

DEVICES = pytest.mark.parametrize("device", ["cpu", "cuda:0", "cuda:1"])


@wp.kernel
def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


def on(array, device):
    """Whether an array is there, and knows it."""
    ordinal = kc._device.place_of(array._data) if device != "cpu" else None
    return array.device == device and (device == "cpu" or ordinal == int(device[-1])) and array.device.is_cuda == (device != "cpu")


@DEVICES
def test_arrays(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = wp.array([1.0, 2.0, 3.0], dtype=float, device=device, requires_grad=True)
        made = [
            x, x.grad, wp.zeros(3, device=device), wp.empty(3, device=device), wp.ones(3, device=device), wp.full(3, 2.5, device=device),
            wp.zeros_like(x), wp.empty_like(x), wp.full_like(x, 7.0), wp.clone(x), x[1:], x.reshape((3, 1)), x.flatten(), x.contiguous(),
            wp.from_numpy(np.ones(3, np.float32), device=device), wp.array(x, dtype=float, device=device),
        ]
    assert all(on(array, device) for array in made)
    assert made[4].numpy().tolist() == [1, 1, 1] and made[5].numpy().tolist() == [2.5] * 3 and made[8].numpy().tolist() == [7.0] * 3
    assert made[9].numpy().tolist() == [1, 2, 3] and made[10].list() == [2, 3]
    y = wp.zeros(3, device=device)
    y.assign([4.0, 5.0, 6.0])
    assert y.numpy().tolist() == [4, 5, 6]
    y[1:] = x[:2]
    assert y.numpy().tolist() == [4, 1, 2] and float(y[1]) == 1.0
    wp.copy(y, x, dest_offset=1, src_offset=0, count=2)
    y.fill_(3.0)
    wp.copy(y, x)
    assert y.numpy().tolist() == [1, 2, 3]
    y.zero_()
    assert not y.numpy().any()
    back = x.to("cpu")
    assert back.device == "cpu" and back.numpy().tolist() == [1, 2, 3] and x.to(device) is x and on(back.to(device), device)
    assert on(pickle.loads(pickle.dumps(x)), device) and on((x + x * 2.0), device) and (x + x * 2.0).numpy().tolist() == [3, 6, 9]
    v = wp.array(np.arange(12).reshape(2, 2, 3), dtype=wp.vec3, device=device)
    assert v.transpose().numpy()[0, 1].tolist() == [6, 7, 8] and v.view(wp.vec3).is_contiguous and v.strides == (24, 12)


@DEVICES
def test_launches_and_tapes(device):
    x = wp.array([1.0, 2.0, 3.0], dtype=float, device=device, requires_grad=True)
    y, z = wp.zeros(3, device=device, requires_grad=True), wp.zeros(3, device=device, requires_grad=True)
    loss = wp.zeros(1, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(cube, 3, [x], [y], device=device)
        wp.copy(z, y)
        wp.launch(total, 3, [z, loss], device=device)
    tape.backward(loss)
    wp.synchronize()
    assert on(x.grad, device) and x.grad.numpy().tolist() == [3, 12, 27] and loss.numpy().tolist() == [36]
    tape.zero()
    assert not x.grad.numpy().any()
    loss.grad.fill_(2.0)
    tape.backward()
    assert x.grad.numpy().tolist() == [6, 24, 54]
    tape.zero()
    command = wp.launch(cube, 3, [x], [y], device=device, record_cmd=True)
    x.fill_(2.0)
    command.launch()
    assert y.numpy().tolist() == [8, 8, 8]
    with wp.ScopedCapture(device) as capture:
        wp.launch(cube, 3, [x, y])
    x.fill_(1.0)
    wp.capture_launch(capture.graph)
    assert y.numpy().tolist() == [1, 1, 1]


@DEVICES
def test_the_device_of_a_scope(device):
    with wp.ScopedDevice(device) as inside:
        assert inside == device and wp.get_device() == device and on(wp.zeros(2), device)
    assert wp.get_device() == "cpu" and on(wp.zeros(2), "cpu")
    wp.set_device(device)
    try:
        assert on(wp.array([1.0], dtype=float), device)
    finally:
        wp.set_device("cpu")


@DEVICES
def test_functions_of_python_on_a_tape(device):
    x, y, loss = (wp.array([n], dtype=float, device=device, requires_grad=True) for n in (0.5, 0.0, 0.0))
    with wp.Tape() as tape:
        y.assign(wp.array(np.exp(x.numpy()), device=device))
        tape.record_func(lambda: x.grad.assign(y.grad.numpy() * np.exp(x.numpy())), [x, y])
        wp.launch(total, 1, [y, loss], device=device)
    tape.backward(loss)
    assert x.grad.numpy()[0] == pytest.approx(np.exp(0.5))


@pytest.mark.parametrize("dtype", [wp.vec2, wp.float64, wp.float16])
@pytest.mark.parametrize("make", [
    lambda x: wp.optim.Adam(x, lr=0.1, betas=(0.8, 0.9)), lambda x: wp.optim.SGD(x, lr=0.1, weight_decay=0.1),
    lambda x: wp.optim.SGD(x, lr=0.1, momentum=0.9, dampening=0.2), lambda x: wp.optim.SGD(x, lr=0.1, momentum=0.9, nesterov=True),
])
def test_optimisers(make, dtype, rng):
    inner = (2,) if dtype is wp.vec2 else ()
    start, steps = rng.random((4, *inner)), rng.random((3, 4, *inner)) - 0.5
    ends = []
    for device in ("cpu", "cuda:0"):
        x = wp.array(start, dtype=dtype, device=device)
        optimizer = make([x])
        for step in steps:
            optimizer.step([wp.array(step, dtype=dtype, device=device)])
        ends.append(x.numpy())
    np.testing.assert_allclose(ends[1], ends[0], rtol=2e-3 if dtype is wp.float16 else 2e-6)
    assert abs(ends[0] - start).min() > 1e-4


def test_devices():
    assert wp.is_cuda_available() and wp.get_cuda_device_count() == 2 and [str(one) for one in wp.get_devices()] == ["cpu", "cuda:0", "cuda:1"]
    assert wp.get_preferred_device() == "cuda:0" and wp.get_device("cuda") == "cuda:0" and wp.get_device() == "cpu"
    assert wp.get_device("cuda:1").ordinal == 1 and wp.get_device("cuda:1").sm_count > 0 and wp.get_device(kc.devices()[1]) == "cuda:1"
    with pytest.raises(ValueError, match="has 2"):
        wp.get_device("cuda:7")


def test_what_is_the_hosts_is_refused():
    x = wp.array([1.0, 2.0], dtype=float, device="cuda:0")
    for wrong in (
        lambda: wp.launch(cube, 2, [wp.zeros(2), wp.zeros(2)], device="cuda:0"),
        lambda: wp.launch(cube, 2, [x, wp.zeros(2, device="cuda:1")], device="cuda:0"),
        lambda: wp.utils.array_scan(x, wp.zeros_like(x)),
        lambda: wp.optim.Adam([wp.zeros(2)]).step([x]),
        lambda: wp.optim.Adam([wp.zeros((2, 2), device="cuda:0").transpose()]).step([wp.zeros((2, 2), device="cuda:0")]),
        lambda: kc.warp.sparse.bsr_diag(x),
        lambda: x[wp.array([0], dtype=int)].numpy(),
    ):
        with pytest.raises(kc.DeviceError, match="E1104"):
            wrong()


def test_a_program_may_ask_for_the_processor():
    wp.config.use_gpus = False
    try:
        with pytest.warns(UserWarning, match="on `cuda:0` runs on the CPU"):
            assert on(wp.zeros(2, device="cuda:0"), "cpu")
        assert not wp.is_cuda_available()
    finally:
        wp.config.use_gpus = True


@DEVICES
def test_surfaces_are_those_of_the_host(device):
    values = np.random.default_rng(5).normal(size=(5, 6, 7)).astype(np.float32)
    found = []
    for place in ("cpu", device):
        field = wp.array(values, dtype=float, device=place, requires_grad=True)
        tape = wp.Tape()
        with tape:
            verts, indices = wp.geometry.IsoSurfaceMarchingCubes.extract(field, 0.2)
        assert on(verts, place) and on(indices, place)
        tape.backward(grads={verts: wp.array(np.ones(verts.shape, np.float32)[:, None].repeat(3, 1), dtype=wp.vec3, device=place)})
        found.append((verts.numpy(), indices.numpy(), field.grad.numpy()))
    for host, there in zip(*found, strict=True):
        np.testing.assert_allclose(there, host, rtol=1e-5, atol=1e-6)
