"""Launches on arrays of a GPU: as on the host, without a wait; what is wrong is told with its name."""

import ctypes
from typing import Any

import kc
import numpy as np
import pytest
from conftest import LIBRARY, program

GPU = "cuda:0"


@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]


@kc.struct
class Body:
    position: kc.array(dtype=kc.vec3)
    mass: kc.array(dtype=kc.float64)
    drag: float


@kc.kernel
def fall(b: Body, dt: float, more: kc.array2d(dtype=int)):
    i, j = kc.tid()
    p = b.position[i]
    p = p - kc.vec3(0.0, dt * b.drag * float(b.mass[i]), 0.0)
    if j == 0:
        b.position[i] = p
    more[i, j] = more[i, j] + i * 10 + j


@kc.kernel
def row_sums(a: kc.array2d(dtype=float), s: kc.array(dtype=float)):
    i = kc.tid()
    s[i] = kc.tile_sum(kc.tile_load(a[i], shape=64))[0]


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_the_same_as_on_the_host(device, rng):
    x, y = rng.random(1000).astype(np.float32), rng.random(1000).astype(np.float32)
    there = kc.array(y, device=device)
    for _ in range(3):
        saxpy(1000, 0.5, kc.array(x, device=device), there)
        saxpy(1000, 0.5, x, y)
    assert (there.numpy() == y).all()
    position, mass = rng.random((4, 3)).astype(np.float32), rng.random(4)
    more = np.zeros((4, 3), np.int32)
    far = Body(position=kc.array(position, dtype=kc.vec3, device=device), mass=kc.array(mass, device=device), drag=2.0)
    counts = kc.zeros((4, 3), dtype=int, device=device)
    fall((4, 3), far, 0.25, counts)
    fall((4, 3), Body(position=position, mass=mass, drag=2.0), 0.25, more)
    assert (far.position.numpy() == position).all() and (counts.numpy() == more).all()
    a = rng.random((3, 64)).astype(np.float32)
    s = kc.zeros(3, device=device)
    row_sums(3, kc.array(a, device=device), s)
    np.testing.assert_allclose(s.numpy(), a.sum(axis=1), rtol=1e-6)


def test_views_and_empty_launches():
    x, y = kc.array(np.arange(10, dtype=np.float32), device=GPU), kc.zeros((3, 4), device=GPU)
    saxpy(4, 1.0, x[::-2], y[1])
    saxpy(3, 2.0, x[1:4], y[:, 2])
    saxpy(0, 2.0, x, y[0])
    assert y.numpy().tolist() == [[0, 0, 2, 0], [9, 7, 9, 3], [0, 0, 6, 0]]


def test_by_name_and_with_none():
    @kc.kernel
    def maybe(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = 1.0
        if x:
            y[i] = x[i]

    y = kc.zeros(2, device=GPU)
    maybe(2, x=None, y=y)
    assert y.numpy().tolist() == [1, 1]
    maybe(2, y=y, x=kc.array([5.0, 6.0], device=GPU))
    assert y.numpy().tolist() == [5, 6]


def test_generic_kernels():
    @kc.kernel
    def twice(x: kc.array(dtype=Any)):
        i = kc.tid()
        x[i] = x[i] + x[i]

    for dtype in (int, kc.float64, kc.vec3):
        x = kc.ones(3, dtype=dtype, device=GPU)
        twice(3, x)
        assert (x.numpy() == 2).all()


@kc.kernel
def directions(x: kc.array(dtype=kc.vec3), s: kc.array2d(dtype=float), out: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    out[i] = kc.normalize(x[i]) * s[i, 1]


@pytest.mark.parametrize("n", [1, 270_336, 270_337, 1_000_003, 1_081_344])
def test_a_thread_does_four_tasks(n, rng):
    """Such a launch has a thread for four tasks once the GPU is full."""
    x, s = rng.random((n, 3), dtype=np.float32), rng.random((n, 2), dtype=np.float32)
    there, host = kc.zeros(n, dtype=kc.vec3, device=GPU), kc.zeros(n, dtype=kc.vec3)
    directions(n, kc.array(x, dtype=kc.vec3, device=GPU), kc.array(s, device=GPU), there)
    directions(n, kc.array(x, dtype=kc.vec3), kc.array(s), host)
    assert there.numpy().tobytes() == host.numpy().tobytes()


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_four_tasks_of_arrays_that_overlap(shift, rng):
    """Each task reads what it writes, or what another one reads alone: the launch has no race, and arrays overlap."""

    @kc.kernel
    def double(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[2 * i] = 2.0 * x[2 * i]

    n = 600_000
    values = rng.random(2 * n + 4, dtype=np.float32)
    x = kc.array(values, device=GPU)
    double(n, x[:2 * n], x[shift:2 * n + shift])
    expected = values.copy()
    expected[shift:2 * n + shift:2] = 2 * values[:2 * n:2]
    assert (x.numpy() == expected).all()


@pytest.mark.two_gpus
def test_arrays_that_are_elsewhere():
    x, y, host = kc.ones(3, device="cuda:0"), kc.ones(3, device="cuda:1"), np.ones(3, np.float32)
    for arguments, first, second in [
        ((x, host), "`y` of kernel `saxpy`: is in the memory of the host", "`x` is in the memory of GPU 0"),
        ((host, x), "`y` of kernel `saxpy`: is in the memory of GPU 0", "`x` is in the memory of the host"),
        ((x, y), "`y` of kernel `saxpy`: is in the memory of GPU 1", "`x` is in the memory of GPU 0"),
    ]:
        for run in (
            lambda: saxpy(3, 2.0, *arguments),
            lambda: saxpy.grad(3, 2.0, *arguments, grads={"y": 1.0}),
            lambda: saxpy.jvp(3, 2.0, *arguments, tangents={"a": 1.0}),
        ):
            with pytest.raises(kc.DeviceError, match="E1104") as caught:
                run()
            assert first in str(caught.value) and second in str(caught.value) and "help: copy one of them" in str(caught.value)
    body = Body(position=kc.zeros(1, dtype=kc.vec3, device=GPU), mass=np.zeros(1), drag=1.0)
    with pytest.raises(kc.DeviceError, match="`b.mass` of kernel `fall`: is in the memory of the host, and `b.position`"):
        fall((1, 1), body, 1.0, kc.zeros((1, 1), dtype=int, device=GPU))
    assert x.numpy().tolist() == [1, 1, 1] and host.tolist() == [1, 1, 1]


def test_what_no_gpu_has():
    @kc.kernel
    def near(mesh: kc.uint64, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
        i = kc.tid()
        query = kc.mesh_query_point(mesh, x[i], 10.0)
        if query.result:
            out[i] = query.u

    mesh = kc.Mesh(np.eye(3, dtype=np.float32), np.arange(3, dtype=np.int32))
    x, out = kc.zeros(2, dtype=kc.vec3, device=GPU), kc.zeros(2, device=GPU)
    for run in (lambda: near(2, mesh.id, x, out), lambda: near.grad(2, mesh.id, x, out, grads={"out": 1.0})):
        with pytest.raises(kc.DeviceError, match="E1104.*`mesh` of kernel `near`: is in the memory of the host, and `x`"):
            run()


SAXPY = """
import gc
import kc, numpy as np

@kc.kernel
def saxpy(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * x[i] + y[i]

@kc.kernel
def outside(x: kc.array(dtype=float)):
    x[kc.tid() + 1000000000] = 1.0

def told(run):
    try:
        return run()
    except kc.Error as error:
        return f"{type(error).__name__} {error}"
"""


def test_an_error_names_the_launch():
    """A fault shows at a later call: it names the launch, and the process goes on."""
    done = program(SAXPY + """
x, y, host = kc.ones(300, device="cuda"), kc.ones(300, device="cuda"), np.ones(300, np.float32)
saxpy(300, 2.0, x, y)
print(y.numpy()[0])
print(told(lambda: (outside(300, x), y.numpy())))
print(told(lambda: saxpy(300, 2.0, x, y)))
print(told(lambda: kc.zeros(3, device="cuda")))
saxpy(300, 2.0, host, host)
print(host[0])
del x, y
gc.collect()
""")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "3.0" and lines[-1] == "3.0", done.stderr
    assert lines[1].startswith("LaunchError error[E1107]") and "`outside` (300 threads in blocks of" in lines[1]
    assert "saxpy" not in done.stdout and done.stdout.count("E1107") == 3
    assert done.stdout.count("this process cannot use the GPU any more") == 3


def test_without_a_driver():
    done = program(SAXPY + """
print(kc.devices())
print(told(lambda: kc.zeros(3, device="cuda")))
print(told(lambda: kc.zeros(3, pinned=True)))
print(kc.zeros(3, device="cpu").numpy().tolist())
""", driver=False)
    if "libcuda" not in done.stdout:
        pytest.skip("this machine has a driver")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "[]" and lines[-1] == "[0.0, 0.0, 0.0]", done.stderr
    assert done.stdout.count("DeviceError error[E1104]: the device `cuda` is not available: no NVIDIA driver (libcuda) was found") == 2


@pytest.mark.simulated
def test_nothing_is_wrong_with_the_driver():
    """The simulated driver finds accesses to memory that was given back, races of streams, and memory that is lost."""
    done = program(SAXPY + """
def work():
    x, y = kc.array(np.arange(300, dtype=np.float32), device="cuda:0"), kc.zeros(300, device="cuda:0")
    z = kc.zeros(300, device="cuda:1")
    saxpy(300, 2.0, x, y)
    z.assign(y)
    x = None
    gc.collect()
    saxpy(100, 2.0, z[::3], z[1::3])
    return z
z = work()
w = z.to("cuda:0")
saxpy(300, 1.0, w, kc.ones(300, device="cuda:0"))
print(z.numpy()[:4].tolist())
""", KC_SIM_CHECKS="races,uninitialised")
    assert done.returncode == 0 and done.stdout == "[0.0, 2.0, 4.0, 6.0]\n" and "error" not in done.stderr, done.stderr


class Told:
    """An array of another library, which uses a stream of its own."""

    def __init__(self, array, stream):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": stream}


def test_nothing_is_loaded_while_another_library_captures_a_graph():
    @kc.kernel
    def tripled(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = 3.0 * x[i]

    driver = ctypes.CDLL(LIBRARY)
    x, y = kc.array([1.0, 2.0], device="cuda:0"), kc.zeros(2, device="cuda:0")
    stream, graph, context = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0 and driver.cuCtxSetCurrent(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0

    def captured():
        assert driver.cuStreamBeginCapture_v2(stream, 0) == 0
        try:
            tripled(2, Told(x, stream.value), Told(y, stream.value))
        finally:
            assert driver.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0

    with pytest.raises(kc.DeviceError) as caught:
        captured()
    assert caught.value.code == "E1104" and 'tripled.load("cuda:0")' in str(caught.value)
    # On another GPU only.
    tripled.load("cuda:1")
    with pytest.raises(kc.DeviceError):
        captured()
    tripled.load()
    captured()
    made = ctypes.c_void_p()
    assert driver.cuGraphInstantiateWithFlags(ctypes.byref(made), graph, ctypes.c_ulonglong(0)) == 0
    assert y.numpy().tolist() == [0, 0]
    assert driver.cuGraphLaunch(made, stream) == 0 and driver.cuStreamSynchronize(stream) == 0
    assert y.numpy().tolist() == [3, 6]


def test_loads_that_do_not_fit():
    @kc.kernel(enable_backward=False)
    def plain(x: kc.array(dtype=float)):
        x[kc.tid()] = 1.0

    plain.load("cuda:1")
    for device in ("cpu", "cuda:7", "metal"):
        with pytest.raises(kc.DeviceError) as caught:
            plain.load(device)
        assert caught.value.code == "E1104"
