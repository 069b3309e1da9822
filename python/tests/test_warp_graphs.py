"""Tapes inside of captured graphs of `kc.warp`: a graph does what the same code does without one."""

import kc.warp as wp
import numpy as np
import pytest


@wp.kernel
def cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i] * x[i]


@wp.kernel
def distance(y: wp.array(dtype=float), wanted: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    d = y[i] - wanted[i]
    wp.atomic_add(loss, 0, d * d)


class Fit:
    def __init__(self):
        self.x = wp.array([0.5, 1.0, 1.5], dtype=float, requires_grad=True)
        self.y, self.loss = wp.zeros(3, requires_grad=True), wp.zeros(1, requires_grad=True)
        self.wanted = wp.array([1.0, 2.0, 3.0], dtype=float)
        self.optimizer = wp.optim.Adam([self.x], lr=0.05)
        self.tape = wp.Tape()

    def step(self):
        self.loss.zero_()
        with self.tape:
            wp.launch(cube, 3, [self.x], [self.y])
            wp.launch(distance, 3, [self.y, self.wanted, self.loss])
        self.tape.backward(self.loss)
        self.optimizer.step([self.x.grad])
        self.tape.zero()


def test_a_step_of_training_is_a_graph():
    plain, captured = Fit(), Fit()
    with wp.ScopedCapture() as capture:
        captured.step()
    assert captured.x.numpy().tolist() == [0.5, 1.0, 1.5] and not captured.loss.numpy().any() and len(captured.tape) == 0
    for _ in range(5):
        plain.step()
        plain.tape.reset()
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(captured.x.numpy(), plain.x.numpy())
        assert captured.loss.numpy()[0] == plain.loss.numpy()[0] > 0 and len(captured.tape) == 2
    assert abs(captured.x.numpy() - [0.5, 1.0, 1.5]).min() > 0.05


def test_gradients_stay_and_add():
    fit = Fit()
    with wp.ScopedCapture() as capture:
        with fit.tape:
            wp.launch(cube, 3, [fit.x], [fit.y])
        with fit.tape:
            fit.tape.record_func(lambda: fit.x.grad.assign(fit.x.grad.numpy() + 1.0), [fit.x])
        fit.tape.backward(grads={fit.y: wp.ones(3)})
    for n in (1, 2):
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(fit.x.grad.numpy(), n * (3 * fit.x.numpy() ** 2 + 1), rtol=1e-6)
    np.testing.assert_allclose(fit.tape.gradient(fit.x).numpy(), 3 * fit.x.numpy() ** 2 + 1, rtol=1e-6)


def test_what_no_tape_sees():
    fit = Fit()
    with wp.ScopedCapture() as capture:
        with fit.tape:
            wp.launch(cube, 3, [fit.x], [fit.y])
            wp.launch(cube, 3, [fit.wanted], [fit.wanted], record_tape=False)
    wp.capture_launch(capture.graph)
    assert len(fit.tape) == 1 and fit.wanted.numpy().tolist() == [1, 8, 27]
    with pytest.raises(Exception, match="no tape differentiates the step of an optimiser"), wp.ScopedCapture(), wp.Tape():
        fit.optimizer.step([fit.x])


def test_mistakes():
    fit, other = Fit(), wp.Tape()
    with wp.Tape(), pytest.raises(NotImplementedError, match="begin it inside"), wp.ScopedCapture():
        wp.launch(cube, 3, [fit.x], [fit.y])
    with other:
        wp.launch(cube, 3, [fit.x], [fit.y])
    with pytest.raises(NotImplementedError, match="use another one"), wp.ScopedCapture(), other:
        pass
    with pytest.raises(RuntimeError, match="still records"), wp.ScopedCapture(), fit.tape:
        fit.tape.backward(fit.loss)
    with pytest.raises(RuntimeError, match="records already"), wp.ScopedCapture(), fit.tape, wp.Tape():
        pass
    wp.capture_begin()
    fit.tape.__enter__()
    with pytest.raises(RuntimeError, match="end the graph after"):
        wp.capture_end()
    # A step that fails leaves no tape that records.
    with wp.ScopedCapture() as capture:
        with wp.Tape():
            wp.launch(cube, 3, [fit.x], [fit.y])
            wp.launch(cube, 3, [fit.x], [wp.zeros(2, dtype=int)])
    with pytest.raises(Exception):
        wp.capture_launch(capture.graph)
    with wp.Tape() as tape:
        wp.launch(cube, 3, [fit.x], [fit.y])
    assert len(tape) == 1
