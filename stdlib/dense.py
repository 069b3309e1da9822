# Dense linear algebra of one thread on arrays that hold matrices row by row. Each thread does the
# whole of it alone.


@func
def dense_gemm(
    m: int32,
    n: int32,
    p: int32,
    t1: int32,
    t2: int32,
    A: Array[float32, 1],
    B: Array[float32, 1],
    C: Array[float32, 1],
):
    """Sets the m x n matrix `C` to the product of the m x p matrix `A` and the p x n matrix `B`.

    With `t1` (`t2`) not 0, `A` (`B`) is stored by columns: its transpose stands in the array.
    """
    for i in range(m):
        for j in range(n):
            sum = float32(0.0)
            for k in range(p):
                a = where(t1 != 0, k * m + i, i * p + k)
                b = where(t2 != 0, j * p + k, k * n + j)
                sum += A[a] * B[b]
            C[i * n + j] = sum


@func
def dense_chol(n: int32, A: Array[float32, 1], regularization: float32, L: Array[float32, 1]):
    """Sets `L` to the lower triangular Cholesky factor of the symmetric positive definite n x n matrix `A`, with
    `regularization` added to its diagonal. What stands above the diagonal of `L` stays.
    """
    for j in range(n):
        s = A[j * n + j] + regularization
        for k in range(j):
            s -= L[j * n + k] * L[j * n + k]
        s = sqrt(s)
        L[j * n + j] = s
        for i in range(j + 1, n):
            t = A[i * n + j]
            for k in range(j):
                t -= L[i * n + k] * L[j * n + k]
            L[i * n + j] = t * (1.0 / s)


@func
def dense_subs(n: int32, L: Array[float32, 1], b: Array[float32, 1], x: Array[float32, 1]):
    """Sets `x` to the solution of `L * transpose(L) * x = b`, where `L` is a Cholesky factor from `dense_chol`."""
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i * n + j] * x[j]
        x[i] = s / L[i * n + i]
    for k in range(n):
        i = n - 1 - k
        s = x[i]
        for j in range(i + 1, n):
            s -= L[j * n + i] * x[j]
        x[i] = s / L[i * n + i]


@func
def dense_solve(
    n: int32, A: Array[float32, 1], L: Array[float32, 1], b: Array[float32, 1], x: Array[float32, 1]
):
    """Sets `x` to the solution of `A * x = b`, where `L` is the Cholesky factor of `A` from `dense_chol`.

    The gradient goes through `L`, and from there through `dense_chol` to `A`.
    """
    dense_subs(n, L, b, x)
