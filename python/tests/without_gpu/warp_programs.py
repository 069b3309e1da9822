"""Kernels of Warp on its CPU and on the simulated GPU: prints how each compares."""

import sys

import numpy as np
import warp as wp
import warp.sparse

wp.config.kernel_cache_dir = sys.argv[1]
wp.config.log_level = wp.LOG_ERROR


@wp.struct
class Body:
    v: wp.vec3
    m: float


@wp.func
def kinetic(b: Body):
    return 0.5 * b.m * wp.dot(b.v, b.v)


@wp.kernel
def bodies(b: wp.array(dtype=Body), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, kinetic(b[i]))


@wp.kernel
def smooth(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(-1, 2):
        s += x[i, wp.clamp(j + k, 0, x.shape[1] - 1)]
    y[i, j] = s / 3.0


@wp.kernel
def loss(x: wp.array(dtype=float), l: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(l, 0, wp.sin(x[i]) * x[i])


@wp.kernel
def noise(seed: int, out: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(seed, i)
    out[i] = wp.randf(s) + wp.noise(s, float(i) * 0.1)


@wp.kernel
def rotate(q: wp.array(dtype=wp.quat), m: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.quat_rotate(q[i], m[i] * wp.vec3(1.0, 2.0, 3.0))


@wp.kernel
def widen(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    y[i] = wp.float64(x[i]) * wp.float64(2.0)


@wp.kernel
def says(x: wp.array(dtype=int)):
    i = wp.tid()
    if i == 3:
        wp.printf("thread %d has %d\n", i, x[i])


@wp.kernel(module="unique")
def row_sums(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=64)
    wp.tile_store(out, wp.tile_sum(wp.tile_map(wp.sin, t)), offset=i)


rng = np.random.default_rng(1)
X = rng.random((33, 70)).astype(np.float32)


def compared(name, f):
    out, of_cpu = (np.asarray(f(device), float) for device in ("cuda:0", "cpu"))
    print(name, "as on the cpu" if np.allclose(out, of_cpu, rtol=1e-5, atol=1e-5) else f"{out} {of_cpu}", flush=True)


@lambda f: compared("bodies", f)
def _(d):
    b = np.zeros(100, dtype=Body.numpy_dtype())
    b["m"], b["v"] = np.arange(100), rng.random((100, 3)) * 0 + [1, 2, 3]
    out = wp.zeros(1, dtype=float, device=d)
    wp.launch(bodies, 100, [wp.array(b, dtype=Body, device=d), out], device=d)
    return out.numpy()


@lambda f: compared("smooth", f)
def _(d):
    x = wp.array(X, device=d)
    y = wp.empty_like(x)
    wp.launch(smooth, X.shape, [x, y], device=d)
    return y.numpy()


@lambda f: compared("tape", f)
def _(d):
    x = wp.array(X[0], device=d, requires_grad=True)
    l = wp.zeros(1, dtype=float, device=d, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(loss, 70, [x, l], device=d)
    tape.backward(l)
    return [*x.grad.numpy(), *l.numpy()]


@lambda f: compared("noise", f)
def _(d):
    out = wp.empty(1000, dtype=float, device=d)
    wp.launch(noise, 1000, [7, out], device=d)
    return out.numpy()


@lambda f: compared("rotate", f)
def _(d):
    q = wp.array(np.tile([0, 0, 0.6, 0.8], (10, 1)).astype(np.float32), dtype=wp.quat, device=d)
    m = wp.array(np.arange(90, dtype=np.float32).reshape(10, 3, 3), dtype=wp.mat33, device=d)
    out = wp.zeros(10, dtype=wp.vec3, device=d)
    wp.launch(rotate, 10, [q, m, out], device=d)
    return out.numpy()


@lambda f: compared("widen", f)
def _(d):
    y = wp.zeros(9, dtype=wp.float64, device=d)
    wp.launch(widen, 9, [wp.array(np.arange(9, dtype=np.float16), device=d), y], device=d)
    return y.numpy()


@lambda f: compared("row_sums", f)
def _(d):
    x, out = wp.array(X[:4, :64].copy(), device=d), wp.zeros(4, dtype=float, device=d)
    wp.launch_tiled(row_sums, dim=[4], inputs=[x, out], block_dim=64, device=d)
    return out.numpy()


@lambda f: compared("utilities", f)
def _(d):
    x = wp.array(np.arange(1, 101, dtype=np.int32), device=d)
    sums = wp.zeros_like(x)
    wp.utils.array_scan(x, sums, inclusive=False)
    values = wp.array(X[0], device=d)
    keys = wp.array([*range(50, 0, -1), *[0] * 50], dtype=int, device=d)
    order = wp.array(np.arange(100, dtype=np.int32), device=d)
    wp.utils.radix_sort_pairs(keys, order, 50)
    both = [wp.utils.array_sum(values), wp.utils.array_inner(values, values)]
    return [*sums.numpy(), *both, *keys.numpy()[:50], *order.numpy()[:50]]


@lambda f: compared("sparse", f)
def _(d):
    rows, columns = (wp.array(numbers, dtype=int, device=d) for numbers in ([0, 1, 1, 3, 0], [1, 0, 2, 3, 1]))
    values = wp.array([1.0, 2.0, 3.0, 4.0, 5.0], dtype=float, device=d)
    m = wp.sparse.bsr_from_triplets(4, 4, rows, columns, values)
    return [*m.offsets.numpy(), *m.columns.numpy()[:4], *m.values.numpy()[:4]]


@lambda f: compared("copies", f)
def _(d):
    x = wp.array(X, device=d)
    z = wp.zeros((33, 70), dtype=float, device=d)
    wp.copy(z[:, ::2], x[:, ::2])
    z[3].fill_(9.0)
    z[:, 1].fill_(2.0)
    full = wp.full((5, 2), wp.vec3(1.0, 2.0, 3.0), dtype=wp.vec3, device=d)
    pinned = wp.clone(wp.array(X, device="cpu", pinned=d != "cpu"), device=d)
    wp.synchronize()
    return [*z.numpy().ravel(), *full.numpy().ravel(), *pinned.numpy().ravel(), *x.numpy().ravel()]


@lambda f: compared("graph", f)
def _(d):
    x, y = wp.full(10, 1.0, device=d), wp.zeros(1, dtype=float, device=d)
    if d == "cpu":
        for _ in range(3):
            wp.launch(loss, 10, [x, y], device=d)
    else:
        with wp.ScopedCapture(device=d) as capture:
            wp.launch(loss, 10, [x, y], device=d)
        for _ in range(3):
            wp.capture_launch(capture.graph)
    return y.numpy()


@lambda f: compared("graph of a tape", f)
def _(d):
    x = wp.full(10, 2.0, device=d, requires_grad=True)
    l = wp.zeros(1, dtype=float, device=d, requires_grad=True)

    def steps():
        # Memory that the graph asks for, and gradients that it sets.
        more = wp.full(10, 1.0, device=d)
        with wp.Tape() as tape:
            wp.launch(loss, 10, [x, l], device=d)
        tape.backward(l)
        wp.launch(loss, 10, [more, l], device=d)

    if d == "cpu":
        steps()
    else:
        with wp.ScopedCapture(device=d) as capture:
            steps()
        wp.capture_launch(capture.graph)
    return [*x.grad.numpy(), *l.numpy()]


@lambda f: compared("streams", f)
def _(d):
    x, y = wp.full(10, 1.0, device=d), wp.zeros(1, dtype=float, device=d)
    if d == "cpu":
        wp.launch(loss, 10, [x, y], device=d)
    else:
        stream, event = wp.Stream(d), wp.Event(d)
        wp.get_stream(d).record_event(event)
        stream.wait_event(event)
        wp.launch(loss, 10, [x, y], device=d, stream=stream)
        wp.synchronize_stream(stream)
    return y.numpy()


wp.launch(says, 5, [wp.array(np.arange(5, dtype=np.int32) * 2, device="cuda:0")], device="cuda:0")
wp.synchronize()
try:
    wp.Mesh(wp.array(np.eye(3, dtype=np.float32), dtype=wp.vec3, device="cuda:0"), wp.array([0, 1, 2], dtype=int, device="cuda:0"))
except RuntimeError as error:
    print(error)
