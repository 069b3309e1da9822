"""Arrays that functions take by reference, with gradients of their own."""

import numpy as np
import warp as wp


@wp.func
def second(values: wp.ref[wp.array2d(dtype=float)], row_index: int) -> float:
    alias = values
    row = alias[row_index]
    return row[1]


@wp.func_grad(second)
def adj_second(values: wp.ref[wp.array2d(dtype=float)], row_index: int, adj_ret: float):
    alias = values
    row = alias[row_index]
    wp.adjoint[values][row_index, 1] += adj_ret + row[0] * 0.0


@wp.kernel
def seconds(values: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = second(values, i)


def cases():
    values = np.array([[2.0, 3.0], [4.0, 5.0]], dtype=np.float32)
    adj = np.array([7.0, -1.5], dtype=np.float32)
    args = {"values": values, "out": np.zeros(2, np.float32), "out.grad": adj}
    by_values = np.array([[0.0, 7.0], [0.0, -1.5]], dtype=np.float32)
    yield case("seconds", 2, args, {"out": values[:, 1], "values.grad": by_values})
    # No gradient of the array is wanted.
    args = {"values": values, "out": np.zeros(2, np.float32)}
    yield case("seconds", 2, args, {"out": values[:, 1]}, id="seconds_without_gradient")
