"""What do optimisers do to arrays on a GPU? The steps of `optim.py` as kernels, on the numbers of an array in a row."""

from typing import Any

import kc.warp as wp


@wp.kernel(enable_backward=False)
def adam(
    param: wp.array(dtype=Any), gradient: wp.array(dtype=Any), mean: wp.array(dtype=Any), square: wp.array(dtype=Any), lr: Any,
    beta1: Any, beta2: Any, eps: Any, of_mean: Any, of_square: Any,
):
    """`of_mean` and `of_square`: by what the averages are too small in the first steps."""
    i = wp.tid()
    one = mean.dtype(1)
    g = mean.dtype(gradient[i])
    m = mean[i] + (one - beta1) * (g - mean[i])
    s = square[i] + (one - beta2) * (g * g - square[i])
    mean[i] = m
    square[i] = s
    param[i] = param[i] - param.dtype(lr * (m / of_mean) / (wp.sqrt(s / of_square) + eps))


@wp.kernel(enable_backward=False)
def sgd(
    param: wp.array(dtype=Any), gradient: wp.array(dtype=Any), velocity: wp.array(dtype=Any), lr: Any, momentum: Any, dampening: Any,
    weight_decay: Any, nesterov: int, is_first: int,
):
    i = wp.tid()
    one = param.dtype(1)
    g = gradient[i] + weight_decay * param[i]
    if momentum != param.dtype(0):
        v = g
        if is_first == 0:
            v = momentum * velocity[i] + (one - dampening) * g
        velocity[i] = v
        if nesterov != 0:
            g = g + momentum * v
        else:
            g = v
    param[i] = param[i] - lr * g
