import warp as wp


@wp.kernel
def spmv(
    rows: wp.array(dtype=int), columns: wp.array(dtype=int), values: wp.array(dtype=float), x: wp.array(dtype=float),
    y: wp.array(dtype=float),
):
    i = wp.tid()
    total = float(0.0)
    for k in range(rows[i], rows[i + 1]):
        total += values[k] * x[columns[k]]
    y[i] = total
