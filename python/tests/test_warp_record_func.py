"""Functions of Python on a tape of `kc.warp`: `record_func`, and launches that no tape records."""

import kc
import kc.warp as wp
import numpy as np
import pytest


@wp.kernel
def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


@wp.kernel
def total(y: wp.array(dtype=float), loss: wp.array(dtype=float)):
    wp.atomic_add(loss, 0, y[wp.tid()])


def arrays(*values):
    return [wp.array(np.asarray(value, np.float32), dtype=float, requires_grad=True) for value in values]


def exponential(tape, x, y):
    """NumPy's, with its derivative."""
    y.assign(np.exp(x.numpy()))

    def backward():
        x.grad.assign(x.grad.numpy() + y.grad.numpy() * np.exp(x.numpy()))

    tape.record_func(backward, [x, y])


def test_a_function_between_launches():
    start = [0.1, 0.2, 0.3]
    x, a, b, c, loss = arrays(start, [0] * 3, [0] * 3, [0] * 3, [0])
    with wp.Tape() as tape:
        wp.launch(cube, 3, [x, a])
        wp.launch(double, 3, [a, c])
    exponential(tape, a, b)
    with tape:
        wp.launch(total, 3, [b, loss])
        wp.launch(total, 3, [c, loss])
    tape.backward(loss)
    cubes = np.array(start) ** 3
    assert loss.numpy()[0] == pytest.approx((np.exp(cubes) + 2 * cubes).sum(), rel=1e-5)
    wanted = (np.exp(cubes) + 2) * 3 * np.array(start) ** 2
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-5)
    # Again, on top of what is there.
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(), 2 * wanted, rtol=1e-5)
    tape.zero()
    assert not x.grad.numpy().any() and not b.grad.numpy().any()


def test_an_array_that_is_written_to_again():
    x, y, loss = arrays([0.5], [0], [0])
    with wp.Tape() as tape:
        wp.launch(double, 1, [x, y])
        wp.launch(total, 1, [y, loss])
        exponential_of = y.numpy()[0]
        y.numpy()[0] = np.exp(exponential_of)

        def backward():
            # Of the old contents: y = exp(y), which is what y holds now.
            y.grad.assign(y.grad.numpy() * np.exp(exponential_of))

        tape.record_func(backward, [x, y])
        wp.launch(total, 1, [y, loss])
    tape.backward(loss)
    # What the function says of an array that it overwrote is not taken: by `x` the first sum alone counts.
    assert x.grad.numpy()[0] == pytest.approx(2.0)


def test_what_the_derivative_reads_must_stay():
    x, y, z, loss = arrays([0.5], [0], [0], [0])
    with wp.Tape() as tape:
        wp.launch(cube, 1, [x, y])
        wp.launch(cube, 1, [y, z])
        y.numpy()[0] = 7.0
        with pytest.raises(kc.GradientError, match="was changed"):
            tape.record_func(lambda: None, [y, z])


def test_launches_without_a_tape():
    x, y, loss = arrays([0.5], [0], [0])
    with wp.Tape() as tape:
        wp.launch(cube, 1, [x, y], record_tape=False)
        assert y.numpy()[0] == 0.125
        tape.record_func(lambda: wp.launch(double, 1, [y.grad, x.grad], record_tape=False), [x, y])
        wp.launch(total, 1, [y, loss])
    tape.backward(loss)
    assert x.grad.numpy()[0] == 2.0
    with wp.Tape() as tape:
        wp.launch(double, 1, [x, y])
        wp.launch(cube, 1, [x, y], record_tape=False)
        with pytest.raises(kc.GradientError, match="was changed"):
            wp.launch(total, 1, [y, loss])


def test_mistakes():
    x, y = arrays([1], [1])
    tape = wp.Tape()
    for wrong in ([x, wp.zeros(1)], [x, np.zeros(1)], [], [wp.zeros(1, dtype=int, requires_grad=True)]):
        with pytest.raises(RuntimeError):
            tape.record_func(lambda: None, wrong)
    tape.record_func(lambda: 1 / 0, [x, y])
    y.grad.fill_(5.0)
    with pytest.raises(ZeroDivisionError):
        tape.backward(grads={y: np.ones(1, np.float32)})
    assert y.grad.numpy()[0] == 5.0
