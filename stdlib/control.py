# Choosing between values.


@op("select")
def where(cond: Any, value_if_true: T, value_if_false: T) -> T:
    """`value_if_true` where `cond` holds (is not zero), `value_if_false` elsewhere. Both are evaluated."""


@func_grad(where)
def _(cond: Any, value_if_true: T, value_if_false: T, adj_ret: T):
    adjoint[value_if_true] += where(cond, adj_ret, T())
    adjoint[value_if_false] += where(cond, T(), adj_ret)


@func
@no_grad("it has no value")
def breakpoint():
    """Nothing: a kernel has no debugger to stop in."""
    pass
