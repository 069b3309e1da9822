"""Arrays on a GPU: made, read, written, copied, shared, freed."""

import copy
import gc
import pickle
import random

import kc
import numpy as np
import pytest
from conftest import LAST
from kc import _device

GPU = "cuda:0"


@kc.struct
class Particle:
    position: kc.vec3
    mass: float
    id: int


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "cuda:1", 0, -1])
def test_made_and_read(device):
    device = kc.devices()[device] if isinstance(device, int) else device
    number = getattr(device, "id", device).replace("cuda", "").lstrip(":") or "0"
    x = kc.array([1.0, 2.0, 3.0], device=device)
    assert x.device == f"cuda:{number}" and x.shape == (3,) and len(x) == 3 and x.dtype is kc.float32
    assert x.numpy().tolist() == [1, 2, 3] and type(x.numpy()) is np.ndarray
    assert kc.zeros((2, 3), device=device).numpy().tolist() == [[0] * 3] * 2
    assert kc.ones(3, dtype=int, device=device).numpy().tolist() == [1] * 3
    assert kc.full(2, 7.5, dtype=kc.float64, device=device).numpy().tolist() == [7.5, 7.5]
    assert kc.empty((4, 0), device=device).numpy().shape == (4, 0)
    assert repr(x) == f'kc.array(array([1., 2., 3.], dtype=float32), dtype=float32, device="cuda:{number}")'


NUMBERS = [bool, int, float, kc.int8, kc.uint8, kc.int16, kc.uint16, kc.uint32, kc.int64, kc.uint64, kc.float16, kc.float64]


@pytest.mark.parametrize("dtype", [*NUMBERS, kc.vec3, kc.vec2d, kc.mat22, kc.quat, kc.transform], ids=lambda dtype: dtype.__name__)
def test_every_type_there_and_back(dtype, rng):
    host = kc.zeros((5, 4), dtype=dtype)
    values = rng.integers(0, 100, host.numpy().shape).astype(host.numpy().dtype)
    host.assign(values)
    there = kc.array(values, dtype=dtype, device=GPU)
    assert there.shape == (5, 4) and there.ndim == 2 and there.size == 20 and there.dtype is host.dtype
    for key in [(), 2, -1, slice(None, None, -2), (slice(1, 4), slice(None, None, 3)), (..., 1), (slice(None), 0)]:
        ours, its = there[key] if key != () else there, host[key] if key != () else host
        np.testing.assert_array_equal(ours.numpy(), its.numpy())
        assert ours.shape == its.shape
    np.testing.assert_array_equal(there[3, 2], host[3, 2])
    there[1:3, ::2] = host[:2, :2]
    there[4] = there[0]
    there[0, 1] = host[3, 3]
    host[1:3, ::2] = host[:2, :2].numpy().copy()
    host[4] = host[0].numpy().copy()
    host[0, 1] = host[3, 3]
    np.testing.assert_array_equal(there.numpy(), host.numpy())


def test_structs():
    list = [Particle(position=kc.vec3(1.0, 2.0, 3.0), mass=4.0, id=5), Particle()]
    there, host = kc.array(list, dtype=Particle, device=GPU), kc.array(list, dtype=Particle)
    assert there.numpy().tobytes() == host.numpy().tobytes()
    there[1], host[1] = list[0], list[0]
    assert there.numpy().tobytes() == host.numpy().tobytes() and there[1]["mass"] == 4.0
    there.zero_()
    assert not any(there.numpy().tobytes())

    @kc.struct
    class Holder:
        x: kc.array(dtype=float)

    with pytest.raises(kc.DeviceError, match="E1104.*structs with arrays in them"):
        kc.zeros(2, dtype=Holder, device=GPU)


@pytest.mark.two_gpus
def test_copies_between_devices():
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    host, one, two = kc.array(values.copy()), kc.array(values, device="cuda:0"), kc.zeros((4, 6), device="cuda:1")
    assert one.to("cuda:0") is one and host.to("cpu") is host
    two.assign(one)
    assert (two.numpy() == values).all()
    two[::2, ::-2] = one[1::2, :3]
    expected = values.copy()
    expected[::2, ::-2] = values[1::2, :3]
    assert (two.numpy() == expected).all()
    back = two.to("cpu")
    assert back.device == "cpu" and (back.numpy() == expected).all()
    host[:, 1:3] = one[:, 4:]
    assert (host.numpy()[:, 1:3] == values[:, 4:]).all()
    again = one[:, ::2].to("cuda:1")
    assert again.device == "cuda:1" and (again.numpy() == values[:, ::2]).all()
    moved = kc.array(two, device="cuda:0")
    assert moved.device == "cuda:0" and (moved.numpy() == expected).all()
    # The same memory.
    same = kc.array(one)
    same.fill_(3.0)
    assert one.numpy().min() == 3 and kc.array(one, copy=True).fill_(0.0) is None and one.numpy().min() == 3


def test_a_copy_within_one_array():
    x, host = kc.array(np.arange(10), device=GPU), np.arange(10)
    x[1:] = x[:-1]
    host[1:] = host[:-1].copy()
    assert x.numpy().tolist() == host.tolist()
    x[::2] = x[::-2]
    host[::2] = host[::-2].copy()
    assert x.numpy().tolist() == host.tolist()


def test_many_dimensions_with_gaps(rng):
    values = rng.random((3, 4, 5, 6, 2)).astype(np.float32)
    x = kc.array(values, dtype=kc.vec2, device=GPU)
    part = x[::2, ::-1, 1::2, ::3]
    assert (part.numpy() == values[::2, ::-1, 1::2, ::3]).all()
    y = kc.zeros((3, 4, 5, 6), dtype=kc.mat22, device=GPU)
    m = rng.random((2, 4, 2, 2, 2, 2)).astype(np.float32)
    y[::2, ::-1, 1::2, ::3] = m
    host = np.zeros((3, 4, 5, 6, 2, 2), np.float32)
    host[::2, ::-1, 1::2, ::3] = m
    assert (y.numpy() == host).all()


def test_gradients_are_where_the_array_is():
    x = kc.array([1.0, 2.0], requires_grad=True, device=GPU)
    assert x.grad.device == GPU and x.grad.numpy().tolist() == [0, 0] and x[1:].grad.shape == (1,)
    x.grad.fill_(2.0)
    moved = x.to("cpu")
    assert moved.grad.numpy().tolist() == [2, 2] and moved.grad.device == "cpu"
    x.grad = kc.ones(2, device=GPU)
    with pytest.raises(kc.DeviceError, match='a gradient on cpu for an array on cuda:0\n.*g.to\\("cuda:0"\\)'):
        x.grad = np.ones(2, np.float32)
    assert x.grad.numpy().tolist() == [1, 1]
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        made.grad.zero_()
        assert made.device == GPU and made.numpy().tolist() == [1, 2] and x.grad.numpy().tolist() == [1, 1]


class ByInterface:
    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


class ByCapsule:
    def __init__(self, array, old=False):
        self.array, self.old = array, old

    def __dlpack__(self, *, stream=None, **options):
        if self.old and options:
            raise TypeError("an old protocol")
        return self.array.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("other", [ByInterface, ByCapsule, lambda x: ByCapsule(x, old=True)], ids=["interface", "capsule", "old capsule"])
@pytest.mark.parametrize("dtype", [float, int, kc.float64, kc.vec3, kc.float16, bool])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_other_libraries_share_the_memory(other, dtype, device):
    x = kc.ones((3, 4), dtype=dtype, device=device)
    y = kc.array(other(x[::2, 1:]), dtype=dtype)
    assert y.device == x.device and y.shape == (2, 3) and y.dtype is x.dtype
    y.zero_()
    assert not x.numpy()[::2, 1:].any() and x.numpy()[:, 0].all() and x.numpy()[1].all()
    del x
    gc.collect()
    assert not y.numpy().any()


class Tensor:
    """As PyTorch's: one that requires a gradient is only shared by what it is detached to."""

    def __init__(self, array, requires_grad=True):
        self.array, self.requires_grad = array, requires_grad

    def detach(self):
        return Tensor(self.array, False)

    def __dlpack__(self, **options):
        if self.requires_grad:
            raise BufferError("it requires a gradient")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("device", ["cpu", LAST])
def test_tensors_that_require_a_gradient(device):
    x = kc.ones(3, device=device)
    y = kc.array(Tensor(x))
    y.fill_(2.0)
    assert y.device == device and x.numpy().tolist() == [2, 2, 2]
    if device != "cpu":
        x.assign(Tensor(kc.array([4.0, 5.0, 6.0], device=device)))
        assert y.numpy().tolist() == [4, 5, 6]


def test_what_others_are_told():
    x = kc.zeros((3, 4), dtype=kc.vec2, device=LAST)
    about = x.__cuda_array_interface__
    assert about["shape"] == (3, 4, 2) and about["typestr"] == "<f4" and about["version"] == 3 and about["stream"] == 1
    assert about["strides"] is None and about["data"][1] is False and x[:, ::2].__cuda_array_interface__["strides"] == (32, 16, 4)
    assert x[1:].__cuda_array_interface__["data"][0] == about["data"][0] + 32
    assert x.__dlpack_device__() == (2, int(LAST[-1]))
    assert not hasattr(kc.zeros(3), "__cuda_array_interface__") and not hasattr(x, "__array_interface__")
    with pytest.raises(BufferError, match=f"the array is on {LAST}"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="DLPack has no word"):
        kc.zeros(2, dtype=Particle, device=GPU).__dlpack__()
    for take in (np.asarray, np.array, memoryview):
        with pytest.raises(TypeError):
            take(x)


def used():
    gc.collect()
    return kc.devices()[0].memory - kc.devices()[0].free


@pytest.mark.simulated
def test_memory_is_given_back():
    kept, before = kc.zeros(10, device=GPU), used()
    for _ in range(100):
        # All at once there is no room for them.
        x = kc.zeros(1 << 20, device=GPU)
        part = x[5:]
    assert used() >= before + (4 << 20)
    del x
    assert used() >= before + (4 << 20), "a part keeps the memory"
    del part
    assert used() <= before and kept.numpy().tolist() == [0] * 10


@pytest.mark.simulated
def test_no_room():
    before = used()
    with pytest.raises(kc.LaunchError, match=r"E1107.*`cuda:0` \(.*\) has no 80000000 bytes free; \d+ of 67108864 are free") as caught:
        kc.zeros(20_000_000, device=GPU)
    assert "drop arrays" in str(caught.value) and caught.value.code == "E1107"
    with pytest.raises((ValueError, kc.Error)):
        kc.zeros((1 << 40, 1 << 40), device=GPU)
    assert used() == before and kc.ones(3, device=GPU).numpy().tolist() == [1, 1, 1]


def test_pinned():
    x = kc.array(np.arange(5, dtype=np.float32), pinned=True)
    assert x.device == "cpu" and x.numpy().tolist() == [0, 1, 2, 3, 4]
    z = kc.zeros((2, 3), dtype=kc.vec3, pinned=True)
    assert z.numpy().shape == (2, 3, 3) and not z.numpy().any()
    assert kc.full(4, 2.0, pinned=True).to(GPU).numpy().tolist() == [2] * 4
    there = kc.array([1.0, 2.0], device=GPU)
    x[:2] = there
    assert x.numpy()[:2].tolist() == [1, 2] and kc.array(there, device="cpu", pinned=True).numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="pinned memory is the host's"):
        kc.zeros(3, pinned=True, device=GPU)
    view = x.numpy()
    del x
    gc.collect()
    assert view.tolist() == [1, 2, 2, 3, 4]


@pytest.mark.simulated
def test_devices():
    one, two = kc.devices()
    assert one.id == "cuda:0" and two.id == "cuda:1" and one != two and one == kc.devices()[0] and len({one, two, one}) == 2
    assert one.memory == 64 << 20 and 0 < one.free <= one.memory and one.name in repr(one) and one.capability == (9, 0)
    one.synchronize()


def test_words_that_are_no_device():
    for word in ("gpu", "cuda:", "cuda:x", "cuda1", "cuda:-1", ""):
        with pytest.raises(kc.DeviceError, match=f"E1104.*there is no device `{word}`\n.*cuda:1"):
            kc.zeros(1, device=word)
    with pytest.raises(kc.DeviceError, match=f"E1104.*the driver knows no GPU 7, and {len(kc.devices())} before it"):
        kc.zeros(1, device="cuda:7")


def test_data_that_does_not_fit():
    x = kc.ones(3, device=GPU)
    with pytest.raises(kc.DeviceError, match="E1104.*elements of float32 in the memory of a GPU are not converted to float64"):
        kc.array(x, dtype=kc.float64)
    with pytest.raises(ValueError, match="elements of vec3f have the shape"):
        kc.array(kc.ones((2, 2), device=GPU), dtype=kc.vec3)
    with pytest.raises(ValueError, match="1 dimensions, and not 2"):
        kc.array(x, ndim=2)
    with pytest.raises(ValueError, match="could not be broadcast|broadcast"):
        x[:] = np.ones(4, np.float32)
    with pytest.raises(ValueError):
        x[:] = kc.ones(2, device=GPU)
    with pytest.raises(kc.DeviceError, match="are not converted to float32"):
        x.assign(kc.ones(3, dtype=int, device=GPU))
    with pytest.raises(OverflowError):
        kc.zeros(2, dtype=kc.int8, device=GPU).fill_(300)
    with pytest.raises(TypeError, match="indexed by integers and slices"):
        x[[0, 1]]
    with pytest.raises(kc.ArgumentError, match="E1005.*chooses"):
        x[np.array([0, 1])] = 1.0
    with pytest.raises(IndexError):
        x[3]
    assert x.numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("take", [
    lambda x: kc.Mesh(x, kc.zeros(3, dtype=int)),
    lambda x: kc.HashGrid(8, 8, 8).build(x, 1.0),
    lambda x: kc.Bvh(x, x),
    lambda x: kc.Texture2D(kc.ones((4, 4), device=GPU)),
], ids=["Mesh", "HashGrid", "Bvh", "Texture2D"])
def test_what_is_the_hosts(take):
    with pytest.raises(kc.DeviceError, match="E1104.*in the memory of a GPU"):
        take(kc.zeros(3, dtype=kc.vec3, device=GPU))


def test_reshape_is_the_same_memory():
    x = kc.zeros((3, 4), device="cuda:0")
    y = x.reshape(2, -1)
    assert y.shape == (2, 6) and y.device == "cuda:0"
    y.fill_(2)
    assert (x.numpy() == 2).all()
    with pytest.raises(ValueError, match="have gaps"):
        x[:, 1:].reshape(-1)


def test_reshape_finds_the_strides_that_numpy_finds():
    """Without a look at elements: the host cannot read a GPU's."""
    rng, base = random.Random(3), np.arange(5 * 7 * 6 * 8).reshape(5, 7, 6, 8)
    views = 0
    for _ in range(2000):
        part = base[tuple(slice(rng.randrange(3), rng.randrange(1, 9), rng.choice([1, 1, 1, 2, 3, -1])) for _ in range(4))]
        part = part.transpose(rng.sample(range(4), 4)) if rng.random() < 0.3 else part
        left, shape = part.size, []
        while left > 1 and rng.random() < 0.8:
            shape.append(rng.choice([n for n in range(1, left + 1) if left % n == 0]))
            left //= shape[-1]
        shape = (*shape, left)
        expected, found = part.view(), _device.reshaped(part, shape)
        try:
            expected.shape = shape
        except AttributeError:
            assert found is None, (part.shape, part.strides, shape)
            continue
        views += 1
        assert found.shape == shape and found.ctypes.data == expected.ctypes.data and (found == expected).all()
    assert 500 < views < 1900
