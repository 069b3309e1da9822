"""`kc.warp.autograd`: Jacobians by gradients and by differences."""

import kc.warp as wp
import kc.warp.autograd
import numpy as np
import pytest


@wp.kernel
def mix(x: wp.array(dtype=wp.float64), v: wp.array(dtype=wp.vec2d), n: wp.array(dtype=int), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.vec2d)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * v[i][0] + y[i]
    z[i] = v[i] * x[n[i]]


def arguments():
    x = wp.array([0.5, 1.0, 2.0], dtype=wp.float64, requires_grad=True)
    v = wp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=wp.vec2d, requires_grad=True)
    n = wp.array([2, 0, 1], dtype=int)
    y, z = wp.ones(3, dtype=wp.float64, requires_grad=True), wp.zeros(3, dtype=wp.vec2d, requires_grad=True)
    return [x, v, n], [y, z]


def test_jacobians_of_a_kernel():
    inputs, outputs = arguments()
    exact = wp.autograd.jacobian(mix, 3, inputs, outputs)
    rough = wp.autograd.jacobian_fd(mix, 3, inputs, outputs, eps=1e-5)
    assert exact.keys() == rough.keys() == {(0, 0), (1, 0), (0, 1), (1, 1)}
    assert exact[1, 1].shape == (6, 6) and exact[0, 1].shape == (6, 3)
    x, v = (one.numpy() for one in inputs[:2])
    np.testing.assert_allclose(exact[0, 0].numpy(), np.diag(np.cos(x) * v[:, 0]))
    for pair in exact:
        np.testing.assert_allclose(exact[pair].numpy(), rough[pair].numpy(), atol=1e-8)
    # Nothing that was given has changed.
    assert outputs[0].numpy().tolist() == [1, 1, 1] and not outputs[1].numpy().any() and not inputs[0].grad.numpy().any()
    assert wp.autograd.jacobian(mix, 3, inputs, outputs, input_output_mask=[("x", "z")]).keys() == {(0, 1)}
    assert wp.autograd.jacobian(mix, 3, inputs, outputs, input_output_mask=[(1, 0)]).keys() == {(1, 0)}


def test_checks(capsys):
    inputs, outputs = arguments()
    assert wp.autograd.gradcheck(mix, 3, inputs, outputs)
    assert capsys.readouterr().out.count("right") == 4

    def several(x, scale):
        y = wp.map(wp.sin, x)
        return y * scale, y * y

    x = wp.array([0.5, 1.0], dtype=wp.float64, requires_grad=True)
    assert wp.autograd.gradcheck(several, inputs=[x, 3.0], show_summary=False)
    np.testing.assert_allclose(wp.autograd.jacobian(several, inputs=[x, 3.0])[0, 0].numpy(), np.diag(3 * np.cos([0.5, 1.0])))
    # A function whose numbers leave the tape has another gradient.
    leaves = lambda x: wp.array(x.numpy() ** 2, dtype=wp.float64) + x
    with pytest.raises(ValueError, match="output 0, number 0, by input 0, number 0: the gradient is 1, and differences give 2"):
        wp.autograd.gradcheck(leaves, inputs=[x], show_summary=False)
    assert not wp.autograd.gradcheck(leaves, inputs=[x], raise_exception=False, show_summary=False)


def test_what_is_not_there():
    inputs, outputs = arguments()
    for call in (
        lambda: wp.autograd.gradcheck(mix, 3), lambda: wp.autograd.gradcheck(mix, 3, inputs), lambda: wp.autograd.jacobian(mix, 3, inputs[2:], outputs),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(NotImplementedError):
        wp.autograd.jacobian(mix, 3, inputs, outputs, plot_jacobians=True)
    with pytest.raises(NotImplementedError):
        wp.autograd.gradcheck(mix, 3, inputs, outputs, max_inputs_per_var=2)
