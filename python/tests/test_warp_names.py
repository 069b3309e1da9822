"""Programs of Warp without Warp."""

import pickle
import subprocess
import sys
from typing import Any

import kc
import kc.warp as wp
import numpy as np
import pytest


@wp.struct
class Ball:
    position: wp.vec3
    mass: float


@wp.kernel
def fall(position: wp.array[wp.vec3], velocity: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    velocity[i] = velocity[i] + wp.vec3(0.0, -9.81, 0.0) * dt
    position[i] = position[i] + velocity[i] * dt


@wp.kernel
def add(x: wp.array(dtype=float), y: float):
    i = wp.tid()
    x[i] = x[i] + y


@wp.kernel
def distance(x: wp.array(dtype=wp.vec2), target: wp.vec2, loss: wp.array(dtype=float)):
    d = x[wp.tid()] - target
    wp.atomic_add(loss, 0, wp.dot(d, d))


@wp.kernel
def center(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] - wp.tile_sum(wp.tile(x[i]))[0]


@wp.kernel
def block_sums(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    wp.tile_store(y, wp.tile_sum(wp.tile(x[i, lane])), offset=i)


@pytest.fixture
def cpu_blocks():
    wp.config.enable_cpu_blocks = True
    yield
    wp.config.enable_cpu_blocks = False


def test_blocks_have_one_thread():
    x, y = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.zeros(4)
    wp.launch(center, dim=4, inputs=[x, y], block_dim=2)
    assert y.numpy().tolist() == [0, 2, 6, 12]
    wp.launch_tiled(block_sums, dim=2, inputs=[x.reshape((2, 2)), y], block_dim=2)
    assert y.numpy().tolist() == [1, 3, 6, 12]


def test_blocks_of_several_threads(cpu_blocks):
    x, y = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float, requires_grad=True), wp.zeros(4, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(center, dim=4, inputs=[x], outputs=[y], block_dim=2)
    assert y.numpy().tolist() == [-2, 1, 2, 9]
    tape.backward(grads={y: wp.array([1.0, 0.0, 0.0, 2.0], dtype=float)})
    assert x.grad.numpy().tolist() == [1, -1, -2, 14]
    x.grad.zero_()
    wp.launch(center, dim=4, inputs=[x], outputs=[y], adj_inputs=[x.grad], adj_outputs=[wp.array([1.0, 0.0, 0.0, 2.0], dtype=float)], adjoint=True, block_dim=2)
    assert x.grad.numpy().tolist() == [1, -1, -2, 14]
    sums = wp.zeros(2)
    wp.launch_tiled(block_sums, dim=2, inputs=[x.reshape((2, 2)), sums], block_dim=2)
    assert sums.numpy().tolist() == [3, 7]
    again = wp.launch(center, dim=4, inputs=[x, y], block_dim=4, record_cmd=True)
    again.launch()
    assert y.numpy().tolist() == [-9, -6, -1, 6]
    # A block has 256 threads if nothing is said; the last one has those that are left.
    y.zero_()
    wp.launch(center, dim=4, inputs=[x, y])
    assert y.numpy().tolist() == [-9, -6, -1, 6]


def test_a_program(capsys):
    wp.init()
    wp.set_device("cpu")
    wp.config.quiet = True
    with wp.ScopedDevice("cpu") as device:
        assert device.is_cpu and str(device) == "cpu" and device == "cpu"
        position = wp.array([[0.0, 10.0, 0.0]] * 4, dtype=wp.vec3, device=device)
        velocity = wp.zeros_like(position)
        results = {}
        with wp.ScopedTimer("step", dict=results) as timer:
            for _ in range(10):
                wp.launch(fall, dim=4, inputs=[position, velocity, 0.1], device="cpu")
        wp.synchronize_device()
    assert timer.elapsed > 0 and results["step"] == [timer.elapsed] and "step took" in capsys.readouterr().out
    np.testing.assert_allclose(velocity.numpy()[:, 1], -9.81, rtol=1e-5)
    np.testing.assert_allclose(position.numpy()[:, 1], 10 - 9.81 * 0.55, rtol=1e-5)
    assert position.shape == (4,) and position.dtype is wp.vec3 and len(position.list()) == 4


def test_training_with_adam():
    x = wp.array([[3.0, -2.0], [0.0, 1.0]], dtype=wp.vec2, requires_grad=True)
    loss = wp.zeros(1, requires_grad=True)
    optimizer = wp.optim.Adam([x], lr=0.1)
    tape = wp.Tape()
    values = []
    for _ in range(100):
        loss.zero_()
        with tape:
            wp.launch(distance, dim=2, inputs=[x, wp.vec2(1.0, 2.0)], outputs=[loss])
        values.append(loss.numpy()[0])
        tape.backward(loss)
        optimizer.step([x.grad])
        tape.reset()
        x.grad.zero_()
    np.testing.assert_allclose(x.numpy(), [[1, 2], [1, 2]], atol=0.1)
    assert values[-1] < 1e-2 * values[0]
    sgd = wp.optim.SGD([x], lr=0.5, momentum=0.9)
    before = x.numpy().copy()
    sgd.step([np.ones_like(before)])
    np.testing.assert_allclose(x.numpy(), before - 0.5)


def test_adam_is_adam():
    x = wp.array([1.0, 2.0], dtype=float)
    adam, m, v, expected = wp.optim.Adam([x], lr=0.1, betas=(0.9, 0.99)), 0.0, 0.0, np.array([1.0, 2.0])
    for t in range(1, 6):
        g = np.array([0.5, -3.0]) * t
        adam.step([wp.array(g, dtype=float)])
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        expected = expected - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5)
    with pytest.raises(ValueError):
        adam.step([])
    with pytest.raises(TypeError):
        wp.optim.Adam([wp.zeros(3, dtype=int)])


def test_adam_of_halves_has_averages_of_floats():
    # Squares of these gradients are 0 in float16, and so is `eps`.
    x = wp.array([1.0, 2.0, 3.0], dtype=wp.float16)
    adam = wp.optim.Adam([x], lr=0.25)
    for _ in range(2):
        adam.step([wp.array([1e-5, -2e-5, 0.0], dtype=wp.float16)])
    np.testing.assert_allclose(x.numpy().astype(float), [0.5, 2.5, 3.0], atol=2e-3)


def test_tapes_take_the_gradients_that_arrays_have():
    x, y = wp.array([1.0, 2.0], dtype=float, requires_grad=True), wp.zeros(2, requires_grad=True)
    z = wp.zeros(2, requires_grad=True)

    @wp.kernel
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    with wp.Tape() as tape:
        wp.launch(square, dim=2, inputs=[x], outputs=[y])
        wp.copy(z, y)
        y.zero_()
    z.grad.fill_(1.0)
    tape.backward()
    assert x.grad.numpy().tolist() == [2, 4] and tape.gradients[x].numpy().tolist() == [2, 4]
    tape.zero()
    assert not x.grad.numpy().any()
    wp.launch(square, dim=2, inputs=[x], outputs=[y])
    y.grad.fill_(1.0)
    wp.launch(square, 2, [x], [y], adj_inputs=[x.grad], adj_outputs=[y.grad], adjoint=True)
    assert x.grad.numpy().tolist() == [2, 4] and y.grad.numpy().tolist() == [0, 0]
    seed, found = wp.ones(2), wp.zeros(2)
    wp.launch(square, 2, [wp.array([1.0, 2.0], dtype=float)], [y], adj_inputs=[found], adj_outputs=[seed], adjoint=True)
    assert found.numpy().tolist() == [2, 4] and seed.numpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda data: wp.array(data, dtype=float, requires_grad=True),
        lambda data: wp.array(data.astype(np.float64), dtype=float, requires_grad=True),
        lambda data: wp.array(wp.array(data, dtype=float), dtype=float, requires_grad=True),
        lambda data: wp.array(data.tolist(), dtype=float, requires_grad=True),
        lambda data: wp.from_numpy(data, dtype=float, requires_grad=True),
        lambda data: wp.clone(wp.array(data, dtype=float), requires_grad=True),
        lambda data: wp.array(np.repeat(data, 2), dtype=float, requires_grad=True)[::2].contiguous(),
    ],
)
def test_arrays_that_are_made_inside_of_a_tape_have_gradients(make):
    loss = wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        x = make(np.array([1.0, 2.0], np.float32))
        wp.launch(product, dim=2, inputs=[x, x], outputs=[loss])
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [2, 4] == tape.gradients[x].numpy().tolist()


@wp.kernel
def product(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i] * y[i])


def test_captured_copies():
    x, out = wp.array([1.0, 2.0, 3.0, 4.0], dtype=float), wp.zeros(1)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=4, inputs=[x, 1.0])
        wp.launch(product, dim=2, inputs=[x[::2].contiguous(), x[1::2].contiguous()], outputs=[out])
        total = wp.utils.array_sum(x.reshape((2, 2)), axis=1)
        with pytest.raises(NotImplementedError, match="which no captured graph has"):
            wp.utils.array_sum(x)
    wp.capture_launch(capture.graph)
    assert out.numpy().tolist() == [2 * 3 + 4 * 5] and total.numpy().tolist() == [[5], [9]]


def test_graphs_and_commands():
    x = wp.zeros(3)
    with wp.ScopedCapture() as capture:
        wp.launch(add, dim=3, inputs=[x, 1.0])
        wp.launch(add, dim=2, inputs=[x, 10.0])
    assert x.numpy().tolist() == [0, 0, 0]
    wp.capture_launch(capture.graph)
    wp.capture_launch(capture.graph)
    assert x.numpy().tolist() == [22, 22, 2]
    command = wp.launch(add, dim=3, inputs=[x, 1.0], record_cmd=True)
    assert x.numpy().tolist() == [22, 22, 2]
    command.launch()
    command.set_param_at_index(1, 100.0)
    command.set_dim(1)
    command.launch()
    assert x.numpy().tolist() == [123, 23, 3]
    with pytest.raises(RuntimeError):
        wp.capture_end()


def test_arrays():
    a = wp.array(np.arange(12.0), dtype=float)
    assert a.reshape((3, -1)).shape == (3, 4) and a.reshape((3, 4)).flatten().shape == (12,) and a.dtype is float
    a.reshape((3, 4)).fill_(1.0)
    assert a.numpy().sum() == 12 and a.size == 12 and a.ptr and a.strides == (4,) and a.is_contiguous
    assert not a[::2].is_contiguous and a[::2].contiguous().is_contiguous
    v = wp.array(np.arange(12.0), dtype=wp.vec3)
    assert v.shape == (4,) and v[1:].numpy().tolist()[0] == [3, 4, 5] and v.list()[1] == wp.vec3(3.0, 4.0, 5.0)
    assert wp.array([wp.vec3(1.0, 2.0, 3.0)], dtype=wp.vec3).shape == (1,) and wp.array([wp.vec3(1.0, 2.0, 3.0)]).shape == (1, 3)
    balls = wp.array([Ball(position=wp.vec3(1.0, 2.0, 3.0), mass=2.0)] * 2, dtype=Ball)
    assert balls.numpy()["mass"].tolist() == [2, 2] and balls.numpy()["position"][1].tolist() == [1, 2, 3]
    assert wp.full(3, 7).dtype is int and wp.ones((2, 2)).numpy().sum() == 4
    assert wp.empty(shape=(2, 3), dtype=wp.mat22).numpy().shape == (2, 3, 2, 2)
    b = wp.clone(a)
    b.assign(np.arange(12.0))
    wp.copy(a, b, dest_offset=2, src_offset=5, count=3)
    assert a.numpy().tolist() == [1, 1, 5, 6, 7] + [1] * 7
    assert a.view(wp.uint32).numpy()[0] == np.float32(1).view(np.uint32)
    assert pickle.loads(pickle.dumps(v)).numpy().tolist() == v.numpy().tolist()
    out = wp.zeros(12)
    wp.utils.array_scan(b, out, inclusive=False)
    assert out.numpy()[-1] == 55 and wp.utils.array_sum(b) == 66
    whole = wp.zeros(12, dtype=wp.int32)
    wp.utils.array_cast(b, whole)
    assert whole.numpy().tolist() == list(range(12))
    assert wp.array2d(np.zeros((2, 2)), dtype=float).ndim == 2 and wp.zeros(0).shape == (0,)
    for wrong in [
        lambda: wp.array(np.zeros(4), dtype=wp.vec3),
        lambda: wp.array2d(np.zeros(4), dtype=float),
        lambda: wp.array(ptr=8, shape=3, dtype=float),
        lambda: wp.zeros(3, device="opencl:0"),
        lambda: wp.zeros(-1),
        lambda: wp.copy(wp.zeros(2), wp.zeros(3)),
        lambda: wp.copy(wp.zeros(3), wp.zeros(3, dtype=int)),
        lambda: a[::2].reshape(6),
        lambda: wp.launch(print, dim=1),
        lambda: wp.launch(add, dim=1, inputs=[a]),
        lambda: wp.launch(add, dim=1, inputs=[a, 1.0], device="opencl:0"),
    ]:
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            wrong()


def test_functions_of_kernels_from_python():
    assert wp.sin(0.5) == pytest.approx(np.sin(0.5)) and wp.min(3, 4) == 3 and wp.isfinite(1.0) is True
    assert wp.normalize(wp.vec3(0.0, 3.0, 4.0)).tolist() == pytest.approx([0, 0.6, 0.8])
    turned = wp.quat_rotate(wp.quat_from_axis_angle(wp.vec3(0.0, 0.0, 1.0), wp.half_pi), wp.vec3(1.0, 0.0, 0.0))
    assert type(turned) is wp.vec3 and turned.tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    assert wp.transpose(wp.mat22(1.0, 2.0, 3.0, 4.0)).tolist() == [[1, 3], [2, 4]]
    for wrong in [lambda: wp.sin("a"), lambda: wp.normalize(1.0), lambda: wp.tid(), lambda: wp.sin()]:
        with pytest.raises(TypeError):
            wrong()

    @kc.func
    def both(x: float):
        return kc.sin(x) + kc.cos(x)

    assert both(0.3) == pytest.approx(np.sin(0.3) + np.cos(0.3))


def test_names_that_are_not_there():
    for name in ("fem", "accelerate", "jax_experimental"):
        with pytest.raises(AttributeError, match=f"kc.warp has no `{name}`"):
            getattr(wp, name)
    with pytest.raises(TypeError, match="takes a generic kernel"):
        wp.overload(add, [wp.array(dtype=float), float])
    with pytest.raises(ValueError, match="no device `opencl`"):
        wp.get_device("opencl")
    assert wp.get_cuda_device_count() == len(kc.devices()) and wp.is_cuda_available() == bool(kc.devices())


def test_warp_is_not_imported():
    text = "import kc.warp, sys; print('warp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout == "False\n"


@wp.kernel
def pick(s: float, x: wp.indexedarray2d(dtype=wp.vec2), y: wp.indexedarray(dtype=wp.vec2)):
    i, j = wp.tid()
    wp.atomic_add(y, i, s * x[i, j] + wp.vec2(float(x.shape[0]), float(y.shape[0])))


def test_indexed_arrays():
    data = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    grid, sums = wp.array(data, dtype=wp.vec2, requires_grad=True), wp.zeros(5, dtype=wp.vec2)
    index = lambda *numbers: wp.array(numbers, dtype=int)
    rows, chosen = grid[index(2, 0)], sums[index(4, 1)]
    assert isinstance(rows, wp.indexedarray) and rows.shape == (2, 4) and rows.size == 8 and rows.dtype is wp.vec2
    assert (rows.numpy() == data[[2, 0]]).all() and len(rows.contiguous().list()) == 8
    wp.launch(pick, dim=(2, 4), inputs=[0.5, rows, chosen])
    expected = np.zeros((5, 2), np.float32)
    expected[[4, 1]] = 0.5 * data[[2, 0]].sum(axis=1) + 4 * 2
    np.testing.assert_allclose(sums.numpy(), expected)
    part = grid[1:, index(3, 1)]
    assert part.shape == (2, 2) and (part.numpy() == data[1:][:, [3, 1]]).all()
    with wp.Tape() as tape:
        wp.launch(pick, dim=(2, 2), inputs=[2.0, part, chosen])
    tape.backward(grads={sums: wp.array(np.ones((5, 2)), dtype=wp.vec2)})
    wanted = np.zeros_like(data)
    wanted[1:, [1, 3]] = 2
    assert (grid.grad.numpy() == wanted).all()
    chosen.fill_(7.0)
    assert (sums.numpy()[[1, 4]] == 7).all() and not sums.numpy()[[0, 2, 3]].any()
    with pytest.raises(kc.IndexError, match="index 9"):
        wp.launch(pick, dim=(2, 1), inputs=[1.0, grid[index(0, 9)], chosen])
    for wrong in (lambda: grid[index(1), index(1), index(1)], lambda: grid[..., index(1)], lambda: grid[wp.array([1.0], dtype=float)]):
        with pytest.raises((TypeError, ValueError, IndexError)):
            wrong()
    with pytest.raises(kc.ArgumentError, match="no field `data`"):
        wp.launch(pick, dim=(2, 1), inputs=[1.0, grid, chosen])


@wp.kernel
def square_sum(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i] * x[i])


def test_gradients_of_copies_of_some_elements():
    few, many, total = wp.array([3.0, 4.0], dtype=float, requires_grad=True), wp.ones(4, requires_grad=True), wp.zeros(1, requires_grad=True)
    with wp.Tape() as tape:
        wp.copy(many, few)
        many.transpose().view(wp.types.vector(1, float)).assign([5.0])
        wp.launch(square_sum, dim=4, inputs=[many, total])
    tape.backward(total)
    assert many.numpy().tolist() == [5, 4, 1, 1] and total.numpy()[0] == 43
    assert few.grad.numpy().tolist() == [0, 8]


@wp.kernel
def of_arguments(a: wp.array(dtype=Any), b: wp.array2d(dtype=wp.vec3), n: int, s: "wp.float64"):
    i = wp.tid()
    if i < n:
        a[i] += a.dtype(b[i, 0][0] * float(s))


def test_arguments_of_kernels():
    args = of_arguments.adj.args
    assert [arg.label for arg in args] == ["a", "b", "n", "s"]
    assert [wp.types.is_array(arg.type) for arg in args] == [True, True, False, False]
    assert args[0].type.dtype is Any and args[1].type.ndim == 2 and args[1].type.dtype is wp.vec3
    assert args[2].type is int and args[3].type is wp.float64
    made = wp.overload(of_arguments, {arg.label: wp.array(dtype=wp.float32) for arg in args if wp.types.is_array(arg.type) and arg.type.dtype is Any})
    assert [arg.label for arg in made.adj.args] == ["a", "b", "n", "s"]


def test_finite_elements_are_refused_where_they_are_used():
    import kc.warp.fem as fem
    from kc.warp.fem.linalg import symmetric_eigenvalues_qr

    @fem.integrand
    def form(s: fem.Sample, u: fem.Field | None):
        return u(s)

    class Quadrature(fem.Quadrature):
        pass

    assert not isinstance(1, fem.Field) and "does not have" in repr(form)
    for use in (Quadrature, lambda: fem.Grid3D(lambda x: x), lambda: fem.Grid3D((1, 2, 3)), lambda: form(1), lambda: symmetric_eigenvalues_qr(1, 2)):
        with pytest.raises(NotImplementedError, match="kc.accelerate"):
            use()
