"""A program of Warp, as users write them: run by the tests with kc and without."""

import sys
from typing import Any

import numpy as np
import warp as wp

wp.config.quiet = True
wp.config.log_level = wp.LOG_WARNING
wp.init()
wp.set_device(sys.argv[2] if len(sys.argv) > 2 else "cpu")

SCALE = wp.constant(2.5)


@wp.struct
class Body:
    position: wp.vec3
    mass: float
    flags: wp.uint8
    neighbours: wp.array(dtype=wp.int32)


@wp.func
def pull(a: wp.vec3, b: wp.vec3):
    d = b - a
    return d / (wp.dot(d, d) + 0.01)


@wp.func
def twice(x: float):
    return 2.0 * x


@wp.func
def twice(x: wp.vec3):  # noqa: F811
    return 2.0 * x


@wp.kernel
def forces(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    total = wp.vec3()
    for j in range(x.shape[0]):
        total += pull(x[i], x[j])
    f[i] = twice(total) * twice(SCALE)


@wp.kernel
def bodies(b: Body, many: wp.array(dtype=Body), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = b.mass * float(b.neighbours[j]) + many[i].position[1] * float(many[i].flags)


@wp.kernel
def generic(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = x[i] * s


def make(n, op):
    @wp.kernel(module="unique")
    def closure(x: wp.array(dtype=float)):
        i = wp.tid()
        for k in range(wp.static(n)):
            x[i] = op(x[i]) + wp.static(float(n) * 0.5)

    return closure


@wp.kernel
def indexed(x: wp.indexedarray(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]


@wp.kernel
def indexed_rows(n: wp.int8, x: wp.indexedarray2d(dtype=wp.vec2), s: float, y: wp.indexedarray(dtype=wp.vec2)):
    i, j = wp.tid()
    wp.atomic_add(y, i, s * x[i, j] + wp.vec2(float(x.shape[0]), float(int(n) + y.shape[0])))


@wp.kernel
def tiled(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=32)
    wp.tile_store(y, wp.tile_sum(t), offset=i)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
__syncthreads(); // the others, too
#endif
""")
def barrier(): ...


def times(n):
    @wp.func
    def scaled(a: float):
        return a * n

    return scaled


def one_of_each(functions, weights):
    @wp.kernel
    def chosen(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        SIZE = wp.static(len(weights))
        for k in range(wp.static(len(functions))):
            weight = wp.static(weights[k])
            if x[i] > float(k):
                y[i] += weight * wp.static(functions[k])(x[i])
            barrier()
        y[i] += wp.static(functions[SIZE - 1])(x[i])

    return chosen


def with_or_without(function=None):
    HAS = function is not None

    @wp.kernel
    def perhaps(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        if HAS:
            y[i] = function(x[i])
        elif not HAS:
            y[i] = x[i] + 1.0
        if not wp.static(HAS):
            y[i] *= 2.0

    return perhaps


turn = 999


@wp.kernel
def counted_twice(y: wp.array(dtype=int)):
    at = int(0)
    for turn in range(2):
        for turn in range(3):
            pass
        y[at] = wp.static(turn)
        at += 1
    for turn in range(2):
        for inner in range(2):
            y[2 + 2 * turn + inner] = wp.static(10 * turn + inner)


@wp.func
def total(t: wp.tile(dtype=float, shape=(32,))):
    return wp.tile_sum(t)[0]


@wp.kernel
def tiled_total(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = total(wp.tile_load(x[i], shape=32))


@wp.kernel
def loss_of(x: wp.array(dtype=float), target: float, loss: wp.array(dtype=float)):
    i = wp.tid()
    d = wp.sin(x[i]) - target
    wp.atomic_add(loss, 0, d * d)


@wp.kernel
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = a[i] * b[i]


@wp.kernel
def square_in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def folded(x: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(x, i, 1.0)


def main():
    out = {}
    rng = np.random.default_rng(3)
    x = wp.array(rng.random((50, 3)), dtype=wp.vec3)
    f = wp.zeros_like(x)
    wp.launch(forces, dim=50, inputs=[x], outputs=[f])
    out["forces"] = f.numpy()

    b = Body()
    b.position, b.mass, b.flags = wp.vec3(1.0, 2.0, 3.0), 3.0, 7
    b.neighbours = wp.array([4, 5, 6], dtype=wp.int32)
    many = wp.array([b, b], dtype=Body)
    y = wp.zeros((2, 3), dtype=float)
    wp.launch(bodies, dim=(2, 3), inputs=[b, many, y])
    out["bodies"] = y.numpy()

    for dtype in (wp.float32, wp.float64, wp.int32):
        g = wp.array([1, 2, 3], dtype=dtype)
        wp.launch(generic, dim=3, inputs=[g, dtype(3)])
        out[f"generic_{dtype.__name__}"] = g.numpy()
    for n in (2, 5):
        c = wp.array([1.0, 2.0, 3.0], dtype=float)
        wp.launch(make(n, twice), dim=3, inputs=[c])
        out[f"closure_{n}"] = c.numpy()

    base = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float)
    y = wp.zeros(2, dtype=float)
    wp.launch(indexed, dim=2, inputs=[base[wp.array([3, 1], dtype=int)], y])
    out["indexed"] = y.numpy()
    grid = wp.array(np.arange(24.0).reshape(3, 4, 2), dtype=wp.vec2)
    sums = wp.zeros(5, dtype=wp.vec2)
    rows, last = grid[wp.array([2, 0], dtype=int)], sums[wp.array([4, 1], dtype=int)]
    wp.launch(indexed_rows, dim=(2, 4), inputs=[7, rows, 0.5, last])
    wp.launch(indexed_rows, dim=(2, 2), inputs=[-7, grid[wp.array([1, 2], dtype=int), wp.array([3, 2], dtype=int)], 0.25, last])
    out["indexed_rows"] = sums.numpy()
    y = wp.zeros(2, dtype=float)
    rows, block = wp.array(np.arange(64.0).reshape(2, 32), dtype=float), 1 if wp.get_device().is_cpu else 32
    wp.launch_tiled(tiled, dim=2, inputs=[rows, y], block_dim=block)
    out["tiled"] = y.numpy()
    x = wp.array(np.arange(64.0).reshape(2, 32), dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(tiled_total, dim=2, inputs=[x, y], block_dim=64)
    tape.backward(grads={y: wp.array([1.0, 2.0], dtype=float)})
    out["tiled_total"], out["tiled_total.grad"] = y.numpy(), x.grad.numpy()
    functions = [times(n) for n in (2.0, 3.0, 5.0)]
    y = wp.zeros(4, dtype=float)
    chosen = one_of_each(functions, (0.5, 0.25, 0.125))
    wp.launch(chosen, dim=4, inputs=[wp.array([0.5, 1.5, 2.5, -1.0], dtype=float), y])
    out["chosen"] = y.numpy()
    for n, function in enumerate((None, functions[0])):
        wp.launch(with_or_without(function), dim=4, inputs=[wp.array([0.5, 1.5, 2.5, -1.0], dtype=float), y])
        out[f"perhaps {n}"] = y.numpy()
    numbers = wp.zeros(6, dtype=int)
    wp.launch(counted_twice, dim=1, inputs=[numbers])
    out["counted twice"] = numbers.numpy()

    # Views, empty arrays, recorded launches.
    view = wp.array(np.arange(6.0), dtype=float)
    wp.launch(generic, dim=3, inputs=[view[::2], 10.0])
    out["view"] = view.numpy()
    command = wp.launch(generic, dim=6, inputs=[view, 2.0], record_cmd=True)
    command.launch()
    command.launch()
    out["recorded"] = view.numpy()
    repeated = wp.zeros(3, dtype=float)
    wp.launch(folded, dim=(3, 4), inputs=[repeated])
    out["folded"] = repeated.numpy()

    # Gradients.
    x = wp.array([0.1, 0.2, 0.3], dtype=float, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(loss_of, dim=3, inputs=[x, 0.5], outputs=[loss])
    tape.backward(loss)
    out["gradient"] = x.grad.numpy()
    tape.zero()
    a = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    c = wp.zeros(3, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(add, dim=3, inputs=[a, a], outputs=[c])
    tape.backward(grads={c: wp.array([1.0, 10.0, 100.0], dtype=float)})
    out["same_array"] = a.grad.numpy()
    external = wp.zeros(3, dtype=float)
    wp.launch(
        add, dim=3, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), a, c], adjoint=True,
        adj_inputs=[external, None, wp.ones(3, dtype=float)], adj_outputs=[],
    )
    out["external"] = external.numpy()
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    with wp.Tape():
        wp.launch(square_in_place, dim=3, inputs=[x])
    out["in_place"] = x.numpy()

    # A graph of launches, replayed without Python.
    g = wp.array([1.0, 2.0, 3.0], dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(generic, dim=3, inputs=[g, 2.0])
        wp.launch(generic, dim=3, inputs=[g, 1.5])
    before = g.numpy().copy()
    for _ in range(2):
        wp.capture_launch(capture.graph)
    out["graph"] = g.numpy() / before
    np.savez(sys.argv[1], **out)


if __name__ == "__main__":
    main()
