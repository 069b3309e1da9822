"""Arrays in the memory of a real GPU, PyTorch's and CuPy's. These tests need one, and run where `make gpu-kit` took them."""

import cupy
import kc, kc.torch
import numpy as np
import pytest
import torch


@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]


@kc.kernel
def row_sums(a: kc.array2d(dtype=float), s: kc.array(dtype=float)):
    i = kc.tid()
    s[i] = kc.tile_sum(kc.tile_load(a[i], shape=256))[0]


@kc.kernel
def blur(u: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        out[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def random(*shape):
    return np.random.default_rng(5).random(shape, dtype=np.float32)


MAKERS = {"torch": lambda a: torch.from_numpy(a.copy()).cuda(), "cupy": cupy.asarray}


def host(array):
    return array.cpu().numpy() if isinstance(array, torch.Tensor) else cupy.asnumpy(array)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("n", [1, 31, 1000, 1_000_003])
def test_a_launch(make, n):
    x, y = random(n), random(n)
    there = make(y)
    saxpy(n, 2.0, make(x), there)
    assert np.allclose(host(there), 2 * x + y, rtol=1e-6)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_strides_and_parts(make):
    x, y = random(64, 10), random(1000)
    first, second = make(x), make(y)
    saxpy(64, 3.0, first[:, 3], second[5:901:7])
    wanted = y.copy()
    wanted[5:901:7][:64] += 3 * x[:, 3]
    assert np.allclose(host(second), wanted, rtol=1e-6)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_two_dimensions(make):
    u = random(300, 200)
    out = make(np.zeros_like(u))
    blur(u.shape, make(u), out)
    wanted = np.zeros_like(u)
    wanted[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    assert np.allclose(host(out), wanted, rtol=1e-6)


@pytest.mark.parametrize("block_dim", [32, 128, 256])
def test_tiles(block_dim):
    a = random(500, 256)
    s = torch.zeros(500, device="cuda")
    row_sums((500, block_dim), torch.from_numpy(a).cuda(), s, block_dim=block_dim)
    assert np.allclose(host(s), a.sum(1), rtol=1e-5)


def test_launches_follow_what_the_stream_does():
    x = torch.ones(1 << 22, device="cuda")
    y = torch.zeros_like(x)
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            stream.wait_stream(torch.cuda.default_stream())
            y.zero_()
            wanted = torch.zeros_like(x)
            for step in range(20):
                y.mul_(0.5)
                saxpy(len(x), float(step), x, y)
                wanted = wanted * 0.5 + step * x
            assert torch.equal(y, wanted)
        stream.synchronize()


def test_on_a_stream_of_cupy():
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x, y = cupy.ones(1 << 22, cupy.float32), cupy.zeros(1 << 22, cupy.float32)
        for _ in range(10):
            y *= 0.5
            saxpy(len(x), 1.0, x, y)
        found = y.get(stream=stream)
        stream.synchronize()
    assert np.allclose(found, 2 - 2.0**-9)


def test_gradients_beside_pytorch():
    """The same energy as tensors, whose gradient is PyTorch's."""
    n, count = 2000, 5000
    ends = np.random.default_rng(1).integers(0, n, (count, 2)).astype(np.int32)
    ends[:, 1] = (ends[:, 0] + 1 + ends[:, 1] % (n - 1)) % n

    @kc.kernel
    def energies(ends: kc.array(dtype=kc.vec2i), rest: kc.array(dtype=float), x: kc.array(dtype=kc.vec3), e: kc.array(dtype=float)):
        i = kc.tid()
        p = ends[i]
        stretch = kc.length(x[p[1]] - x[p[0]]) - rest[i]
        kc.atomic_add(e, 0, 0.5 * stretch * stretch)

    pairs = torch.from_numpy(ends).cuda()
    ours = torch.from_numpy(random(n, 3)).cuda().requires_grad_()
    rest = torch.from_numpy(random(count)).cuda().requires_grad_()
    energy = kc.torch.function(energies, outputs={"e": 1})(count, pairs, rest, ours)
    energy.sum().backward()
    found = ours.grad.clone(), rest.grad.clone()
    ours.grad, rest.grad = None, None
    long = pairs.long()
    stretch = (ours[long[:, 1]] - ours[long[:, 0]]).norm(dim=1) - rest
    (0.5 * stretch**2).sum().backward()
    assert torch.allclose(energy.sum(), (0.5 * stretch**2).sum(), rtol=1e-4)
    assert torch.allclose(found[0], ours.grad, rtol=1e-3, atol=1e-5) and torch.allclose(found[1], rest.grad, rtol=1e-4, atol=1e-6)


def test_what_does_not_fit():
    x = torch.ones(3, device="cuda")
    with pytest.raises(kc.DeviceError, match="memory of the host"):
        saxpy(3, 1.0, x, np.ones(3, np.float32))
    with pytest.raises(kc.DeviceError):
        saxpy.grad(3, 2.0, x, x.clone(), grads={"y": 1.0})
    with pytest.raises(kc.ArgumentError):
        saxpy(3, 1.0, x.double(), x)


def test_blocks_larger_than_a_gpu_has_are_refused():
    x = torch.ones(3, device="cuda")
    with pytest.raises((kc.ArgumentError, kc.DeviceError)):
        saxpy(3, 1.0, x, x.clone(), block_dim=4096)
    # The connection with the GPU is as good as before.
    y = x.clone()
    saxpy(3, 1.0, x, y)
    assert y.tolist() == [2, 2, 2]
