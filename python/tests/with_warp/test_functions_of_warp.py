"""Functions of Warp in kernels of kc: their overloads, and their rules of derivatives."""

import kc
import numpy as np
import pytest
import warp as wp


@wp.func
def cubed(x: float):
    return x * x * x


@wp.func_grad(cubed)
def adj_cubed(x: float, adj_ret: float):
    wp.adjoint[x] += 100.0 * adj_ret


@wp.func
def halved(x: float):
    return 0.5 * x


@wp.func_replay(halved)
def replay_halved(x: float):
    return -0.5 * x


@wp.func_grad(halved)
def adj_halved(x: float, adj_ret: float):
    wp.adjoint[x] += adj_ret


@wp.func
def scaled(x: float, y: float):
    return x * y


@wp.func
def scaled(x: wp.vec2, y: float):  # noqa: F811
    return x * y


@wp.func_grad(scaled)
def adj_scaled(x: wp.vec2, y: float, adj_ret: wp.vec2):
    wp.adjoint[x] += 7.0 * adj_ret


@wp.func_native("return 3.0f * x;")
def native(x: float) -> float: ...


def written_twice():
    # Other functions under the same names, with other rules.
    @wp.func
    def cubed(x: float):
        return x * x

    @wp.func_grad(cubed)
    def adj_cubed(x: float, adj_ret: float):
        wp.adjoint[x] += 5.0 * adj_ret

    return cubed


def kernel_of(f):
    @kc.kernel
    def apply(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = f(x[i])

    return apply


def gradient(kernel):
    x, y = np.array([2.0, 3.0], np.float32), np.zeros(2, np.float32)
    return kernel.grad(2, x, y, grads={"y": 1.0})["x"].tolist(), y.tolist()


def test_rules_of_derivatives_are_taken():
    assert gradient(kernel_of(cubed)) == ([100.0, 100.0], [8.0, 27.0])
    assert gradient(kernel_of(written_twice())) == ([5.0, 5.0], [4.0, 9.0])
    assert gradient(kernel_of(cubed)) == ([100.0, 100.0], [8.0, 27.0])


def test_replacements_are_taken():
    @kc.kernel
    def both(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        h = halved(x[i])
        y[i] = h * h

    # The derivative computes with the replacement's value.
    assert gradient(both) == ([-2.0, -3.0], [1.0, 2.25])


def test_overloads_have_their_own_rules():
    @kc.kernel
    def both(x: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = scaled(x[i], 2.0) + scaled(wp.vec2(x[i], 0.0), 3.0)[0]

    assert gradient(both) == ([9.0, 9.0], [10.0, 15.0])


def test_functions_in_cpp_are_refused():
    with pytest.raises(kc.CompileError, match="`f`, in C\\+\\+, is a value of type `Function`") as error:
        gradient(kernel_of(native))
    assert error.value.code == "E0502"
