"""Tapes: the gradient of several launches, or an exception."""

import copy
import gc
import threading
import weakref

import kc
import numpy as np
import pytest
from kernels import square


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


def floats(*values):
    return np.array(values, np.float32)


def test_a_chain():
    x, y, z, loss = floats(1, 2, 3), floats(0, 0, 0), floats(0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(3, x, y)
        scale(3, 10.0, y, z)
        total(3, z, loss)
    tape.backward(loss)
    assert kc.Tape() and len(kc.Tape()) == 0
    assert tape.gradient(x).tolist() == [20, 40, 60] and tape.gradients[x].tolist() == [20, 40, 60]
    # Again: gradients add up.
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [40, 80, 120] and tape.gradient(x[1:]).tolist() == [80, 120]
    tape.zero()
    tape.backward(grads=[(z, floats(1, 0, 0)), (y, 5.0)])
    assert tape.gradient(x).tolist() == [2 * 15, 4 * 5, 6 * 5]
    # Outside of the tape nothing is recorded.
    assert len(tape) == 3
    square(3, x, y)
    assert len(tape) == 3


def test_one_buffer_for_all_steps():
    x, y, loss = floats(1, 2, 3), floats(0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(3, x, y)
        square(3, y, x)
        square(3, x, y)
        total(3, y, loss)
    assert loss[0] == 1 + 2.0**8 + 3.0**8
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [8, 8 * 2**7, 8 * 3**7]


def test_in_place():
    x, loss = floats(1, 2, 3), floats(0)
    with kc.Tape() as tape:
        for _ in range(3):
            grow(3, x)
        total(3, x, loss)
    for n in (1, 2):
        tape.backward(loss)
        assert tape.gradient(x).tolist() == [n * 8, n * 8 * 2**7, n * 8 * 3**7]
    assert x.tolist() == [1, 2**8, 3**8]
    x = floats(1, 2, 3)
    with kc.Tape() as tape:
        square(3, x, x)
    tape.backward(grads=[(x, 1.0)])
    assert tape.gradient(x).tolist() == [2, 4, 6]


def test_an_input_that_a_later_launch_overwrites():
    x, y, loss = floats(1, 2, 3), floats(0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(3, x, y)
        scale(3, 100.0, y, x)
        total(3, y, loss)
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [2, 4, 6]


def test_changes_by_python_are_found():
    x, y, loss = floats(1, 2, 3), floats(0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(3, x, y)
        total(3, y, loss)
    x[1] = 7
    with pytest.raises(kc.GradientError, match="was changed since it was recorded"):
        tape.backward(loss)
    x[1] = 2
    y[:] = 9  # No derivative reads it.
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [2, 4, 6]
    y, z = floats(0, 0, 0), floats(0, 0, 0)
    with kc.Tape() as tape:
        scale(3, 2.0, x, y)
        y *= 3  # The gradient would miss it.
        with pytest.raises(kc.GradientError, match="gradients do not flow"):
            scale(3, 5.0, y, z)
    # Of a part that another view has, too.
    big = np.zeros(10, np.float32)
    with kc.Tape() as tape:
        scale(10, 2.0, np.ones(10, np.float32), big)
        scale(3, 2.0, x, big[:3])
        big[7] = 1
        with pytest.raises(kc.GradientError):
            total(10, big, loss)


def test_assign():
    x, y, z, loss = floats(1, 2, 3), floats(0, 0, 0), floats(0, 0, 0), floats(0)
    with kc.Tape() as tape:
        scale(3, 2.0, x, y)
        tape.assign(z, y)
        tape.assign(y, 1.0)
        tape.assign(y[1:], [5.0, 6.0])
        scale(3, 10.0, y, y)
        total(3, y, loss)
        total(3, z, loss)
    assert y.tolist() == [10, 50, 60] and loss[0] == 120 + 12
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [2, 2, 2] and tape.gradient(y).tolist() == [0, 0, 0]


def test_views_have_parts_of_one_gradient():
    data = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    out = np.zeros((3, 2), np.float32)

    @kc.kernel
    def rows(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
        i, j = kc.tid()
        y[i, j] = x[i, j] * x[i, j]

    with kc.Tape() as tape:
        rows((3, 2), data[::-1, 1:3], out)
        scale(4, 3.0, data[0], data[2])
    tape.backward(grads=[(out, 1.0), (data[2], 1.0)])
    # The last row went into `out` before it was overwritten.
    expected = 2 * np.arange(1, 13, dtype=np.float32).reshape(3, 4) * [0, 1, 1, 0]
    expected[0] += 3
    np.testing.assert_array_equal(tape.gradient(data), expected)
    wide = np.broadcast_to(floats(3), (4,))
    y = np.zeros(4, np.float32)
    with kc.Tape() as tape:
        square(4, wide, y)
    tape.backward(grads=[(y, 1.0)])
    assert tape.gradient(wide)[0] == 24
    with pytest.raises(kc.ArgumentError, match="no recorded launch"):
        tape.gradient(np.zeros(3, np.float32))


def test_arrays_of_kc_get_their_gradient():
    x = kc.array([1.0, 2.0, 3.0], requires_grad=True)
    y, loss = kc.zeros(3), kc.zeros(1)
    with kc.Tape() as tape:
        square(2, x[1:], y[:2])
        square(2, x[:2], y[1:])
        total(3, y, loss)
    tape.backward(loss)
    # loss = x1 * x1 + x0 * x0 + x1 * x1: the second launch overwrites what the first made of x2.
    assert x.grad.numpy().tolist() == [2, 8, 0] and tape.gradient(x).numpy().tolist() == [2, 8, 0]
    tape.backward(loss)
    assert x.grad.numpy().tolist() == [4, 16, 0] and tape.gradients[x][1:].numpy().tolist() == [16, 0]
    tape.zero()
    assert not x.grad.numpy().any()


def test_structs_vectors_and_branches(rng):
    @kc.struct
    class State:
        position: kc.array(dtype=kc.vec3)
        velocity: kc.array(dtype=kc.vec3)
        dt: float

    @kc.kernel
    def step(s: State, pull: float):
        i = kc.tid()
        if s.position[i][1] > 0.0:
            s.velocity[i] = s.velocity[i] - pull * s.position[i] * s.dt
        s.position[i] = s.position[i] + s.velocity[i] * s.dt

    @kc.kernel
    def energy(s: State, out: kc.array(dtype=float)):
        kc.atomic_add(out, 0, kc.dot(s.position[kc.tid()], s.position[kc.tid()]))

    start = rng.random((4, 3)).astype(np.float32) + 0.5

    def run(position):
        s = State(position=position.copy(), velocity=np.zeros((4, 3), np.float32), dt=0.1)
        out = floats(0)
        with kc.Tape() as tape:
            for _ in range(5):
                step(4, s, 0.7)
            s.dt = 100.0  # Launches that were recorded keep what they were given.
            energy(4, s, out)
        return tape, s, out

    tape, s, out = run(start)
    tape.backward(out)
    found = tape.gradient(s.position)
    for k in [(0, 0), (3, 2)]:
        moved = start.copy()
        moved[k] += 1e-2
        up = run(moved)[2][0]
        moved[k] -= 2e-2
        assert found[k] == pytest.approx((up - run(moved)[2][0]) / 2e-2, rel=2e-3)


def test_refusals():
    x, y, loss = floats(1, 2, 3), floats(0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(3, x, y)
        with pytest.raises(RuntimeError, match="records already"):
            kc.Tape().__enter__()
        with pytest.raises(RuntimeError, match="still records"):
            tape.backward(loss)
    for arguments, words in [
        ({}, "no gradient to start from"),
        ({"loss": y}, "one element"),
        ({"loss": loss}, "no recorded launch uses"),
        ({"grads": [(y, floats(1, 2))]}, "shape (2,)"),
        ({"grads": [(y, np.ones(3))]}, "float64"),
    ]:
        with pytest.raises(kc.ArgumentError) as caught:
            tape.backward(**arguments)
        assert words in str(caught.value)

    @kc.kernel(enable_backward=False)
    def no_gradient(x: kc.array(dtype=float)):
        x[kc.tid()] = 1.0

    with kc.Tape() as tape:
        with pytest.raises(kc.GradientError):
            no_gradient(3, x)
        with pytest.raises(kc.ArgumentError, match="share memory"):
            square(2, x[1:], x[:2])
    with kc.Tape() as tape:
        with pytest.raises(kc.IndexError):
            square(4, x, y)
    with pytest.raises(kc.GradientError, match="failed while it was recorded"):
        tape.backward(grads=[(y, 1.0)])
    # The tape is closed by an error, too.
    with pytest.raises(ZeroDivisionError):
        with kc.Tape():
            1 / 0
    with kc.Tape():
        pass


def test_threads_have_tapes_of_their_own():
    x, y = floats(1, 2, 3), floats(0, 0, 0)

    def other():
        square(3, floats(1, 2, 3), floats(0, 0, 0))

    with kc.Tape() as tape:
        square(3, x, y)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(tape) == 1


def test_what_backward_prints_is_printed_once(capsys):
    @kc.kernel
    def talk(x: kc.array(dtype=float)):
        i = kc.tid()
        print("here")
        x[i] = x[i] * x[i]

    x = floats(2)
    with kc.Tape() as tape:
        talk(1, x)
    tape.backward(x)
    assert capsys.readouterr().out == "here\n" and tape.gradient(x)[0] == 4


def test_integers_have_versions_too():
    @kc.kernel
    def gather(x: kc.array(dtype=float), index: kc.array(dtype=int), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = x[index[i]] * x[index[i]]

    @kc.kernel
    def turn(index: kc.array(dtype=int)):
        i = kc.tid()
        index[i] = 2 - index[i]

    x, index, y = floats(1, 2, 3), np.array([0, 0, 1], np.int32), floats(0, 0, 0)
    with kc.Tape() as tape:
        gather(3, x, index, y)
        turn(3, index)
    tape.backward(grads=[(y, 1.0)])
    assert tape.gradient(x).tolist() == [4, 4, 0] and index.tolist() == [2, 2, 1]
    index[0] = 1
    with kc.Tape() as tape:
        gather(3, x, index, y)
    index[0] = 0
    with pytest.raises(kc.GradientError):
        tape.backward(grads=[(y, 1.0)])


def test_views_of_one_element_and_of_none():
    x, y = np.arange(10, dtype=np.float32), np.ones(8, np.float32)
    for n in (1, 0):
        part, out = x[4::3][:n], y[::2][:n]
        assert square.grad(n, part, out, grads={"y": 1.0})["x"].tolist() == [8.0][:n]
        with kc.Tape() as tape:
            square(n, part, out)
        tape.backward(grads=[(out, 1.0)])
        assert tape.gradient(part).tolist() == [8.0][:n]


def test_one_tape_in_several_threads():
    x, y = floats(1, 2, 3), floats(0, 0, 0)
    with kc.Tape() as tape:
        square(3, x, y)
    errors = []

    def run():
        try:
            for _ in range(20):
                tape.backward(grads=[(y, 0.5)])
                tape.gradient(x)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert errors == [] and tape.gradient(x).tolist() == [80, 160, 240]


def test_arrays_that_know_their_tape_are_freed():
    class Array(kc.array):
        pass

    x, y = Array([1.0, 2.0, 3.0]), kc.zeros(3)
    with kc.Tape() as tape:
        square(3, x, y)
    tape.backward(grads=[(y, 1.0)])
    x.tape = tape
    left = weakref.ref(x), weakref.ref(tape)
    del x, tape
    gc.collect()
    assert [one() for one in left] == [None, None]


def test_launches_while_one_is_recorded(monkeypatch):
    @kc.kernel
    def talk(x: kc.array(dtype=float)):
        print("here")
        x[0] = x[0] * x[0]

    x, y, z = floats(3), floats(2, 3), floats(0, 0)

    class Out:
        def write(self, text):
            square(2, y, z)

    monkeypatch.setattr("sys.stdout", Out())
    with kc.Tape() as tape:
        talk(1, x)
    monkeypatch.undo()
    assert len(tape) == 2
    tape.backward(grads=[(x, 1.0), (z, 1.0)])
    assert tape.gradient(x).tolist() == [6] and tape.gradient(y).tolist() == [4, 6]


def test_values_are_those_of_the_launch():
    @kc.kernel
    def along(d: kc.vec3, x: kc.array(dtype=kc.vec3), y: kc.array(dtype=float)):
        y[kc.tid()] = kc.dot(d, x[kc.tid()])

    x, y = np.ones((2, 3), np.float32), floats(0, 0)
    for values in ([1.0, 2.0, 3.0], floats(1, 2, 3), kc.vec3(1, 2, 3)):
        with kc.Tape() as tape:
            along(2, values, x, y)
        values[0] = 100.0
        tape.backward(grads=[(y, 1.0)])
        assert tape.gradient(x).tolist() == [[1, 2, 3], [1, 2, 3]]


@kc.kernel
def set_bits(x: kc.array(dtype=int), value: int):
    x[kc.tid()] = value


@kc.kernel
def copy_bits(x: kc.array(dtype=int), y: kc.array(dtype=int)):
    i = kc.tid()
    y[i] = x[i]


@kc.kernel
def squares_of(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@pytest.mark.parametrize(
    "steps",
    [
        lambda x, y, z, tape: (squares_of(4, x, y), set_bits(4, y.view(np.int32), 0), squares_of(4, y, z)),
        lambda x, y, z, tape: (squares_of(4, x, y), set_bits(2, y[1:3].view(np.int32), 0), squares_of(4, y, z)),
        lambda x, y, z, tape: (squares_of(4, x, y), copy_bits(4, np.ones(4, np.int32), y.view(np.int32)), squares_of(4, y, z)),
        lambda x, y, z, tape: (squares_of(4, x, y), tape.assign(y.view(np.int32), 0), squares_of(4, y, z)),
        lambda x, y, z, tape: (set_bits(4, x.view(np.int32), 0), squares_of(4, x, y), squares_of(4, y, z)),
    ],
)
def test_floats_that_are_overwritten_as_integers(steps):
    x, y, z = np.full(4, 3.0, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(kc.GradientError, match="memory of floats is written to as other numbers"):
        with kc.Tape() as tape:
            steps(x, y, z, tape)


def test_floats_that_are_read_as_integers():
    x, y, z, bits = np.full(4, 3.0, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32), np.zeros(4, np.int32)
    with kc.Tape() as tape:
        set_bits(4, bits, 1)
        squares_of(4, x, y)
        copy_bits(4, y.view(np.int32), bits)
        set_bits(4, bits, 2)
        squares_of(4, y, z)
    tape.backward(grads=[(z, 1.0)])
    assert tape.gradient(x).tolist() == [108.0] * 4


def test_parts_and_whole_arrays_in_one_tape():
    # One slice, two slices, and the whole with its parts; gradients are asked of what no step used as it is.
    x, y, loss = floats(1, 2, 3, 4), floats(0, 0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(2, x[:2], y[:2])
        total(2, y[:2], loss)
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [2, 4, 0, 0] and tape.gradient(x[1:3]).tolist() == [4, 0] and tape.gradient(x[::-1]).tolist() == [0, 0, 4, 2]
    with pytest.raises(kc.ArgumentError, match="no recorded launch"):
        tape.gradient(x[2:])
    assert x in tape.gradients and x[1:] in tape.gradients and x[2:] not in tape.gradients and floats(1) not in tape.gradients and 3 not in tape.gradients
    x, y, loss = floats(1, 2, 3, 4), floats(0, 0, 0, 0), floats(0)
    with kc.Tape() as tape:
        square(2, x[:2], y[:2])
        square(2, x[2:], y[2:])
        total(4, y, loss)
        total(2, y[1:3], loss)
    tape.backward(loss)
    assert tape.gradient(x).tolist() == [2, 8, 12, 8] and tape.gradient(x[1:3]).tolist() == [8, 12]
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    with kc.Tape() as tape:
        square(2, rows[:, 0], y[:2])
        square(2, rows[:, 2], y[2:])
    tape.backward(grads=[(y, floats(1, 2, 3, 4))])
    assert tape.gradient(rows).tolist() == [[0, 0, 12], [12, 0, 40]]


def test_gradients_to_start_from_of_arrays_of_which_parts_are_used():
    x, y = floats(1, 2, 3, 4), floats(0, 0, 0, 0)
    with kc.Tape() as tape:
        square(2, x[:2], y[1:3])
    tape.backward(grads=[(y, floats(1, 2, 3, 4))])
    # What no step wrote to is as it was.
    assert tape.gradient(x).tolist() == [4, 12, 0, 0] and tape.gradient(y).tolist() == [1, 0, 0, 4]


def test_gradients_by_array():
    x, y, loss = kc.array([1.0, 2.0, 3.0], requires_grad=True), kc.zeros(3), kc.zeros(1)
    with kc.Tape() as tape:
        square(3, x, y)
        y[0] = 7.0
        total(3, y, loss)
    assert x not in tape.gradients and len(tape.gradients) == 0
    tape.backward(loss)
    found = dict(tape.gradients.items())
    assert set(found) == {x, y, loss} and found[x].numpy().tolist() == [0, 4, 6] and tape.gradients.get(kc.zeros(1)) is None


@pytest.mark.parametrize(
    "change, gradient",
    [
        (lambda y, z: z.__setitem__(slice(1, 3), y[0:2]), [2 * 10, 4 * 100, 0]),
        (lambda y, z: z.__setitem__(slice(0, 3), y.numpy()), [2, 40, 600]),
        (lambda y, z: z.__setitem__(slice(None), y[1:2]), [0, 4 * 111, 0]),
        (lambda y, z: z.__setitem__(1, y[0:1]), [20, 0, 0]),
        (lambda y, z: z.__setitem__(np.array([2, 0, 2]), y), [0, 4, 600]),
        (lambda y, z: z.__setitem__(np.array([False, True, True]), y[::2]), [20, 0, 600]),
        (lambda y, z: (z.assign(y), z.fill_(1.0)), [0, 0, 0]),
        (lambda y, z: (z.assign(y), z[1:].zero_()), [2, 0, 0]),
        (lambda y, z: (z.assign(y), z.__setitem__(slice(1, 3), z[0:2])), [2 * 11, 4 * 100, 0]),
        (lambda y, z: z.assign(kc.array(y, dtype=kc.float64).numpy().astype(np.float32) * 0), [0, 0, 0]),
        (lambda y, z: z.assign(kc.array(y, copy=True)), [2, 40, 600]),
        (lambda y, z: z.assign(kc.array(kc.array(y, dtype=kc.float64), dtype=float)), [2, 40, 600]),
        (lambda y, z: z.assign(kc.array([y[2:], y[:1], y[1:2]]).numpy()[:, 0]), [20, 400, 6]),
        (lambda y, z: z.assign(copy.deepcopy(y)), [2, 40, 600]),
    ],
)
def test_what_methods_of_arrays_write_is_recorded(change, gradient):
    x, y, z = kc.array([1.0, 2.0, 3.0]), kc.zeros(3), kc.zeros(3)
    with kc.Tape() as tape:
        square(3, x, y)
        change(y, z)
    tape.backward(grads=[(z, floats(1, 10, 100))])
    assert tape.gradient(x, allow_unused=True).numpy().tolist() == gradient


def test_arrays_of_the_same_memory_have_the_same_gradient():
    x, y = kc.array([1.0, 2.0], requires_grad=True), kc.zeros(2)
    with kc.Tape() as tape:
        square(2, kc.array(x), y)
    tape.backward(grads=[(y, 1.0)])
    assert x.grad.numpy().tolist() == [2, 4] and kc.array(x, requires_grad=True).grad is x.grad and kc.array(x, copy=True).grad is None


def test_a_buffer_that_python_code_fills_again():
    x, y, buffer = kc.array([1.0, 2.0]), kc.zeros(2), floats(0, 0)
    with kc.Tape() as tape:
        for n in range(3):
            buffer[:] = n
            y.assign(buffer)
            scale(2, 2.0, x, x)
    tape.backward(grads=[(x, 1.0), (y, 1.0)])
    # What Python code wrote to it are numbers; the first contents were there before.
    assert tape.gradient(x).numpy().tolist() == [8, 8] and tape.gradient(buffer).tolist() == [0, 0]


def test_arrays_that_nothing_joins_to_the_result():
    x, y, loss, other = floats(4, 9, 16), floats(0, 0, 0), floats(0), floats(1, 1, 1)
    with kc.Tape() as tape:
        square(3, x, y)
        z = np.sqrt(y)
        total(3, z, loss)
        scale(3, 2.0, other, floats(0, 0, 0))
    tape.backward(loss)
    assert tape.gradient(z).tolist() == [1, 1, 1] and z in tape.gradients and x not in tape.gradients
    with pytest.raises(kc.GradientError) as caught:
        tape.gradient(x)
    shown = str(caught.value)
    assert caught.value.code == "E1103" and "`total` wrote last; joined to it are `x` of `total` with the shape (3,)" in shown and "allow_unused=True" in shown
    assert tape.gradient(x, allow_unused=True).tolist() == [0, 0, 0] == tape.gradient(floats(1, 2, 3), allow_unused=True).tolist()
    # Another run joins it.
    tape.backward(grads=[(y, 1.0)])
    assert tape.gradient(x).tolist() == [8, 18, 32]
    with pytest.raises(kc.GradientError, match="no recorded step joins"):
        tape.gradient(other)
    with kc.Tape() as tape:
        square(3, x, y)
    tape.backward(grads=[(x, 1.0)])
    assert tape.gradient(x).tolist() == [1, 1, 1]
    with pytest.raises(kc.GradientError, match="to which none wrote"):
        tape.gradient(y)


def test_derivatives_of_a_kernel_inside_of_a_tape():
    x, y = floats(1, 2, 3), floats(0, 0, 0)
    for derive in (lambda: square.grad(3, x, y, grads={"y": 1.0}), lambda: square.jvp(3, x, y, tangents={"x": x})):
        with kc.Tape(), pytest.raises(kc.GradientError, match="no tape differentiates kernel"):
            derive()
