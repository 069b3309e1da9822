# Choosing between values.


@op("select")
def where(cond: Any, value_if_true: T, value_if_false: T) -> T:
    """`value_if_true` where `cond` holds (is not zero), `value_if_false` elsewhere. Both are evaluated."""


@func_grad(where)
def _(cond: Any, value_if_true: T, value_if_false: T, adj_ret: T):
    adjoint[value_if_true] += where(cond, adj_ret, T())
    adjoint[value_if_false] += where(cond, T(), adj_ret)


@func
@zero_grad("a stop-gradient, which is what it is for")
def detach(x: T) -> T:
    """`x`, as a constant for gradients: nothing flows back through it. (kc's own: Warp has no name for it.)"""
    return x


@func
@no_grad("it has no value")
def breakpoint():
    """Nothing: a kernel has no debugger to stop in."""
    pass
