"""Functions of CUDA text: the CUDA output has them, the others refuse their kernels."""

import warp as wp

snippet = """
    out[tid] = a * x[tid] + y[tid];
    """
adj_snippet = """
    adj_a += x[tid] * adj_out[tid];
    adj_x[tid] += a * adj_out[tid];
    adj_y[tid] += adj_out[tid];
    """


@wp.func_native(snippet, adj_snippet)
def saxpy(a: wp.float32, x: wp.array(dtype=wp.float32), y: wp.array(dtype=float), out: wp.array(dtype=float), tid: int):
    ...


@wp.func_native("return x * x;", "adj_x += 2.0f * x * adj_ret;")
def square(x: float) -> float: ...


@wp.func_native("return x * y;", adj_snippet="adj_x += y * adj_ret;\nadj_y += x * adj_ret;")
def mul2(x: float, y: float) -> float: ...


@wp.func_native("return x + 1;")
def inc(x: int) -> int: ...


@wp.kernel
def ks(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    saxpy(2.0, x, y, out, i)


@wp.kernel
def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = mul2(square(x[i]), x[i])


@wp.kernel
def k2(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = inc(x[i])
    inc(3)
