"""A launch that is shared among devices: what comes of it is what one device computes."""

import kc
import numpy as np
import pytest


@kc.kernel
def jacobi(first: int, u: kc.array2d(dtype=float), v: kc.array2d(dtype=float)):
    k, j = kc.tid()
    i = first + k
    v[i, j] = u[i, j]
    if i > 0 and i < u.shape[0] - 1 and j > 0 and j < u.shape[1] - 1:
        v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


@kc.kernel
def smooth(first: int, w: int, u: kc.array(dtype=kc.vec3), v: kc.array(dtype=kc.vec3)):
    i = first + kc.tid()
    total = kc.vec3(0.0)
    for d in range(-w, w + 1):
        if i + d >= 0 and i + d < u.shape[0]:
            total += u[i + d]
    v[i] = total


def alone(kernel, dim, steps, u, *numbers):
    u, v = kc.array(u.copy()) if u.ndim == 2 else kc.array(u.copy(), dtype=kc.vec3), None
    v = kc.array(u.numpy().copy(), dtype=u.dtype)
    for _ in range(steps):
        kernel(dim, 0, *numbers, u, v)
        u, v = v, u
    return u.numpy()


@pytest.mark.two_gpus
@pytest.mark.parametrize("devices", [["cuda:0", "cuda:1"], ["cuda:1"], ["cpu", "cuda:0"], ["cuda:0"] * 3])
@pytest.mark.parametrize("rows", [3, 10, 33])
def test_jacobi_on_several_devices(devices, rows, rng):
    plate = rng.random((rows, 7), dtype=np.float32)
    split = kc.Split(rows, devices=devices, halo=1)
    assert split.ranges[0][0] == 0 and split.ranges[-1][1] == rows
    u, v = split.scatter(plate), split.scatter(plate)
    for _ in range(9):
        split.launch(jacobi, (rows, 7), split.first, u, v)
        split.exchange(v)
        u, v = v, u
    assert split.gather(u).tobytes() == alone(jacobi, (rows, 7), 9, plate).tobytes()


@pytest.mark.two_gpus
@pytest.mark.parametrize("halo", [2, 3])
def test_halos_of_several_rows(halo, rng):
    x = rng.random((20, 3), dtype=np.float32)
    split = kc.Split(20, devices=["cuda:0", "cuda:1", "cuda:0"], halo=halo)
    u, v = split.scatter(x, dtype=kc.vec3), split.scatter(x, dtype=kc.vec3)
    for _ in range(4):
        split.launch(smooth, 20, first=split.first, w=halo, u=u, v=v)
        split.exchange(v)
        u, v = v, u
    np.testing.assert_array_equal(split.gather(u), alone(smooth, 20, 4, x, halo))


@pytest.mark.two_gpus
def test_an_exchange_of_the_users(rng):
    """Without a halo of kc's: each device is given the row above and below in arrays of their own."""

    @kc.kernel
    def between(above: kc.array(dtype=float), x: kc.array(dtype=float), below: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        a, b = above[0], below[0]
        if i > 0:
            a = x[i - 1]
        if i < x.shape[0] - 1:
            b = x[i + 1]
        y[i] = a + b

    x = rng.random(10, dtype=np.float32)
    split = kc.Split(10, devices=["cuda:0", "cuda:1"])
    parts, y = split.scatter(x), split.scatter(x)
    zero = lambda k: kc.zeros(1, device=split.devices[k])
    above, below = zero(0), zero(1)
    edges = {"above": [above, parts.parts[0][-1:].to("cuda:1")], "below": [parts.parts[1][:1].to("cuda:0"), below]}
    for k, (first, last) in enumerate(split.ranges):
        between(last - first, edges["above"][k], parts.parts[k], edges["below"][k], y.parts[k])
    padded = np.concatenate([[0], x, [0]]).astype(np.float32)
    np.testing.assert_array_equal(split.gather(y), padded[:-2] + padded[2:])


def test_what_does_not_fit():
    with pytest.raises(kc.DeviceError, match="E1104.*2 rows for 3 devices"):
        kc.Split(2, devices=["cuda:0"] * 3)
    with pytest.raises(kc.DeviceError, match="5 rows for 2 devices are fewer than 3"):
        kc.Split(5, devices=["cuda:0"] * 2, halo=3)
    with pytest.raises(kc.DeviceError):
        kc.Split(5, devices=["cuda:9x"])
    split = kc.Split(4, devices=["cuda:0", "cuda:0"])
    with pytest.raises(ValueError, match="4 rows"):
        split.scatter(np.zeros(5, np.float32))
    with pytest.raises(ValueError, match="4 rows"):
        split.launch(smooth, 5, 0, 1, None, None)
    other = kc.Split(4, devices=["cuda:0", "cuda:0"]).scatter(np.zeros((4, 3), np.float32), dtype=kc.vec3)
    with pytest.raises(ValueError, match="another split"):
        split.launch(smooth, 4, split.first, 1, other, other)
