# Tiles: arrays of fixed shape that belong to a block of threads. The compiler itself does these;
# the signatures say how they are called. `Tile` represents a tile, `Shape` for a tuple of constants
# or one.


@intrinsic
@zero_grad("a constant")
def tile_zeros(shape: Any, dtype: Any = 0, storage: Any = 0):
    """A tile of zeros.

    ```python
    t = wp.tile_zeros(shape=(2, 3), dtype=float)
    wp.expect_eq(t[1, 2], 0.0)
    ```
    """


@intrinsic
@zero_grad("a constant")
def tile_empty(shape: Any, dtype: Any = 0, storage: Any = 0):
    """A tile for which no elements are given. Here they are zero.

    ```python
    t = wp.tile_empty(shape=4, dtype=int)
    t[1] = 3
    wp.expect_eq(t[1], 3)
    ```
    """


@intrinsic
@zero_grad("a constant")
def tile_ones(shape: Any, dtype: Any = 0, storage: Any = 0):
    """A tile in which each component of each element is 1; of a quaternion the first one.

    ```python
    t = wp.tile_ones(shape=4, dtype=float)
    wp.expect_eq(wp.tile_sum(t)[0], 4.0)
    ```
    """


@intrinsic
@compiler_grad("the value gets the sum")
def tile_full(shape: Any, value: Any, dtype: Any = 0, storage: Any = 0):
    """A tile in which each element is `value`.

    ```python
    t = wp.tile_full(shape=4, value=2.5)
    wp.expect_eq(t[3], 2.5)
    ```
    """


@intrinsic
@zero_grad("a constant")
def tile_arange(stop: Any, dtype: Any = 0, storage: Any = 0):
    """A tile of one dimension with the numbers from 0, or from a start, to before `stop`; with a third number in steps of it.
    All are constants: `tile_arange(stop)`, `tile_arange(start, stop)`, `tile_arange(start, stop, step)`.

    ```python
    t = wp.tile_arange(2, 10, 3, dtype=int)
    wp.expect_eq(t[2], 8)
    ```
    """


@intrinsic
@compiler_grad("added to that of the array")
def tile_load(a: Any, shape: Any, offset: Any = 0, storage: Any = 0, bounds_check: bool = True, aligned: bool = False):
    """The part of an array that begins at `offset`; what lies outside the array, on either side, is zero.

    ```python
    t = wp.tile_load(data, shape=4, offset=2)
    wp.expect_eq(t[0], data[2])
    ```
    """


@intrinsic
@compiler_grad("added to that of the array")
def tile_load_indexed(a: Any, indices: Any, shape: Any, offset: Any = 0, axis: int = 0, storage: Any = 0):
    """As `tile_load`, with the elements along `axis` where the tile `indices` says; those outside are zero.

    ```python
    picked = wp.tile_arange(6, 2, -2, dtype=int)
    t = wp.tile_load_indexed(data, picked, shape=2)
    wp.expect_eq(t[1], data[4])
    ```
    """


@intrinsic
@compiler_grad("the elements get that of the array, which then is zero")
def tile_store(a: Any, t: Any, offset: Any = 0, bounds_check: bool = True, aligned: bool = False):
    """Stores a tile in an array from `offset` on; what lies outside the array is dropped.

    ```python
    wp.tile_store(data, wp.tile_ones(shape=2, dtype=float), offset=1)
    wp.expect_eq(data[2], 1.0)
    ```
    """


@intrinsic
@compiler_grad("the elements get that of the array, which then is zero")
def tile_store_indexed(a: Any, indices: Any, t: Any, offset: Any = 0, axis: int = 0):
    """As `tile_store`, with the elements along `axis` where the tile `indices` says.

    ```python
    picked = wp.tile_arange(3, 5, dtype=int)
    wp.tile_store_indexed(data, picked, wp.tile_ones(shape=2, dtype=float))
    wp.expect_eq(data[4], 1.0)
    ```
    """


@intrinsic
@compiler_grad("the elements get that of the array")
def tile_atomic_add(a: Any, t: Any, offset: Any = 0, bounds_check: bool = True, aligned: bool = False):
    """Adds a tile to an array, each component indivisibly. Gives the old values as a tile.

    ```python
    data[1] = 2.0
    wp.tile_atomic_add(data, wp.tile_ones(shape=2, dtype=float), offset=1)
    wp.expect_eq(data[1], 3.0)
    ```
    """


@intrinsic
@compiler_grad("the elements get that of the array")
def tile_atomic_add_indexed(a: Any, indices: Any, t: Any, offset: Any = 0, axis: int = 0):
    """As `tile_atomic_add`, with the elements along `axis` where the tile `indices` says.

    ```python
    data[5] = 2.0
    picked = wp.tile_arange(5, 6, dtype=int)
    wp.tile_atomic_add_indexed(data, picked, wp.tile_ones(shape=1, dtype=float))
    wp.expect_eq(data[5], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of the function")
def tile_map(op: Any, a: Any):
    """The function of each element: `tile_map(f, a)`, `tile_map(f, a, b)` and so on, with tiles of one shape, and numbers that are the
    same for all.

    ```python
    t = wp.tile_map(wp.sqrt, wp.tile_full(shape=4, value=9.0))
    wp.expect_eq(t[2], 3.0)
    ```
    """


@intrinsic
@compiler_grad("converted back")
def tile_astype(t: Any, dtype: Any):
    """The tile with its numbers converted to `dtype`.

    ```python
    t = wp.tile_astype(wp.tile_arange(4, dtype=int), dtype=float)
    wp.expect_eq(t[3], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of the sum and the product")
def tile_axpy(alpha: Any, src: Any, dest: Any):
    """Adds `alpha * src` to the tile `dest`.

    ```python
    t = wp.tile_ones(shape=4, dtype=float)
    wp.tile_axpy(2.0, t, t)
    wp.expect_eq(t[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of the elements")
def tile_view(t: Any, offset: Any, shape: Any = 0):
    """The part of a tile at `offset`, as another name for the same elements: of that shape, or without one what is left when the
    first dimensions are fixed. Slices, `t[1:3]`, do the same.

    ```python
    t = wp.tile_zeros(shape=(2, 3), dtype=float)
    row = wp.tile_view(t, offset=1)
    row[2] = 5.0
    wp.expect_eq(t[1, 2], 5.0)
    ```
    """


@intrinsic
@compiler_grad("that of the elements")
def tile_squeeze(t: Any, axis: Any = 0):
    """The same elements without dimensions of 1: all of them, or the ones named.

    ```python
    t = wp.tile_squeeze(wp.tile_ones(shape=(1, 3), dtype=float))
    wp.expect_eq(t[2], 1.0)
    ```
    """


@intrinsic
@compiler_grad("that of the elements")
def tile_reshape(t: Any, shape: Any):
    """The same elements in the same order in another shape; one extent may be -1.

    ```python
    t = wp.tile_reshape(wp.tile_arange(6, dtype=int), shape=(2, -1))
    wp.expect_eq(t[1, 0], 3)
    ```
    """


@intrinsic
@compiler_grad("that of the elements")
def tile_transpose(t: Any):
    """The same elements with rows and columns swapped.

    ```python
    t = wp.tile_zeros(shape=(2, 3), dtype=float)
    t[1, 2] = 5.0
    wp.expect_eq(wp.tile_transpose(t)[2, 1], 5.0)
    ```
    """


@intrinsic
@compiler_grad("the sum over what is repeated")
def tile_broadcast(t: Any, shape: Any):
    """The tile repeated along dimensions of 1 and in front; dimensions pair up from the last one.

    ```python
    t = wp.tile_broadcast(wp.tile_arange(3, dtype=int), shape=(2, 3))
    wp.expect_eq(t[1, 2], 2)
    ```
    """


@intrinsic
@compiler_grad("the source gets it, the old elements none")
def tile_assign(dst: Any, src: Any, offset: Any = 0):
    """Sets the part of `dst` at `offset` to the elements of `src`.

    ```python
    t = wp.tile_zeros(shape=4, dtype=float)
    wp.tile_assign(t, wp.tile_ones(shape=2, dtype=float), offset=1)
    wp.expect_eq(wp.tile_sum(t)[0], 2.0)
    ```
    """


@intrinsic
@compiler_grad("the element gets it")
def tile_extract(t: Any, i: int):
    """An element, with one index for each dimension; further ones choose a component of it. `t[i]` does the same.

    ```python
    wp.expect_eq(wp.tile_extract(wp.tile_arange(6, dtype=int), 4), 4)
    ```
    """


@intrinsic
@compiler_grad("each element gets it")
def tile_sum(a: Any, axis: int = 0):
    """The sum of all elements as a tile of one, or with an axis that along it. Added in row-major order.

    ```python
    wp.expect_eq(wp.tile_sum(wp.tile_arange(5, dtype=int))[0], 10)
    ```
    """


@intrinsic
@compiler_grad("that of the products")
def tile_dot(a: Any, b: Any):
    """The sum of the products of the elements, of vectors and matrices that of their dot products, as a tile of one.

    ```python
    t = wp.tile_full(shape=4, value=2.0)
    wp.expect_eq(wp.tile_dot(t, t)[0], 16.0)
    ```
    """


@intrinsic
@compiler_grad("that of the function")
def tile_reduce(op: Any, a: Any, axis: int = 0):
    """`op(op(a0, a1), a2)` and so on over all elements as a tile of one, or with an axis along it.

    ```python
    t = wp.tile_reduce(wp.mul, wp.tile_full(shape=3, value=2.0))
    wp.expect_eq(t[0], 8.0)
    ```
    """


@intrinsic
@compiler_grad("the element gets it")
def tile_min(a: Any):
    """The least element as a tile of one. NaN does not count.

    ```python
    wp.expect_eq(wp.tile_min(wp.tile_arange(3, 7, dtype=int))[0], 3)
    ```
    """


@intrinsic
@compiler_grad("the element gets it")
def tile_max(a: Any):
    """The greatest element as a tile of one. NaN does not count.

    ```python
    wp.expect_eq(wp.tile_max(wp.tile_arange(3, 7, dtype=int))[0], 6)
    ```
    """


@intrinsic
@no_grad("the result is an index")
def tile_argmin(a: Any):
    """The number of the least element in row-major order as a tile of one; of equal ones the first.

    ```python
    wp.expect_eq(wp.tile_argmin(wp.tile_arange(7, 3, -1, dtype=int))[0], 3)
    ```
    """


@intrinsic
@no_grad("the result is an index")
def tile_argmax(a: Any):
    """The number of the greatest element in row-major order as a tile of one; of equal ones the first.

    ```python
    wp.expect_eq(wp.tile_argmax(wp.tile_ones(shape=4, dtype=int))[0], 0)
    ```
    """


@intrinsic
@compiler_grad("the running sum from the end")
def tile_scan_inclusive(a: Any):
    """Running sums in row-major order: element n is the sum of those to n.

    ```python
    wp.expect_eq(wp.tile_scan_inclusive(wp.tile_ones(shape=4, dtype=int))[2], 3)
    ```
    """


@intrinsic
@compiler_grad("the running sum from the end")
def tile_scan_exclusive(a: Any):
    """Running sums in row-major order: element n is the sum of those before n.

    ```python
    wp.expect_eq(wp.tile_scan_exclusive(wp.tile_ones(shape=4, dtype=int))[2], 2)
    ```
    """


@intrinsic
@compiler_grad("the least element so far gets it")
def tile_scan_min_inclusive(a: Any):
    """The least of the elements to each one, in row-major order.

    ```python
    wp.expect_eq(wp.tile_scan_min_inclusive(wp.tile_arange(4, dtype=int))[3], 0)
    ```
    """


@intrinsic
@compiler_grad("the greatest element so far gets it")
def tile_scan_max_inclusive(a: Any):
    """The greatest of the elements to each one, in row-major order.

    ```python
    wp.expect_eq(wp.tile_scan_max_inclusive(wp.tile_arange(4, dtype=int))[3], 3)
    ```
    """


@intrinsic
@compiler_grad("two products of matrices")
def tile_matmul(a: Any, b: Any, out: Any = 0, alpha: Any = 1.0, beta: Any = 1.0, precision: Any = 0):
    """`out = alpha * a @ b + beta * out` with three tiles; the product `alpha * a @ b` with two. Each element is a chain of fused
    multiply-adds over the inner index, upward; half floats are added in `float32`. `precision` is "default" or "tf32", which allows a GPU to
    round the factors of `float32` tiles to 11 bits.

    ```python
    a = wp.tile_full(shape=(2, 3), value=2.0)
    b = wp.tile_ones(shape=(3, 4), dtype=float)
    wp.expect_eq(wp.tile_matmul(a, b)[1, 3], 6.0)
    ```
    """


@intrinsic
@compiler_grad("the values get it in their old order")
def tile_sort(keys: Any, values: Any):
    """Sorts the tile `keys` upward, and `values` with it; equal keys stay in order, as do -0 and 0. NaN comes last.

    ```python
    keys = wp.tile_arange(3, 0, -1, dtype=int)
    values = wp.tile_arange(3, dtype=int)
    wp.tile_sort(keys, values)
    wp.expect_eq(values[0], 2)
    ```
    """


@intrinsic
@compiler_grad("that of its steps, for the triangle that is read")
def tile_cholesky(A: Any, fill_mode: Any = 0):
    """The lower triangular factor of a symmetric positive definite matrix; with `fill_mode="upper"` the upper one. One triangle is read, the
    other one of the result is zero.

    ```python
    L = wp.tile_cholesky(wp.tile_full(shape=(1, 1), value=9.0))
    wp.expect_eq(L[0, 0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("as of `tile_cholesky`")
def tile_cholesky_inplace(A: Any, fill_mode: Any = 0):
    """Makes the tile `A` its factor.

    ```python
    a = wp.tile_full(shape=(1, 1), value=9.0)
    wp.tile_cholesky_inplace(a)
    wp.expect_eq(a[0, 0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of its steps")
def tile_lower_solve(L: Any, y: Any):
    """The solution of `L x = y` with a lower triangular matrix; `y` is a vector, or a matrix of several in its columns.

    ```python
    x = wp.tile_lower_solve(wp.tile_full(shape=(1, 1), value=2.0), wp.tile_full(shape=1, value=6.0))
    wp.expect_eq(x[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("as of `tile_lower_solve`")
def tile_lower_solve_inplace(L: Any, y: Any):
    """Makes the tile `y` the solution.

    ```python
    y = wp.tile_full(shape=1, value=6.0)
    wp.tile_lower_solve_inplace(wp.tile_full(shape=(1, 1), value=2.0), y)
    wp.expect_eq(y[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of its steps")
def tile_upper_solve(L: Any, y: Any):
    """The solution of `U x = y` with an upper triangular matrix.

    ```python
    x = wp.tile_upper_solve(wp.tile_full(shape=(1, 1), value=2.0), wp.tile_full(shape=1, value=6.0))
    wp.expect_eq(x[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("as of `tile_upper_solve`")
def tile_upper_solve_inplace(L: Any, y: Any):
    """Makes the tile `y` the solution.

    ```python
    y = wp.tile_full(shape=1, value=6.0)
    wp.tile_upper_solve_inplace(wp.tile_full(shape=(1, 1), value=2.0), y)
    wp.expect_eq(y[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of its steps")
def tile_cholesky_solve(L: Any, y: Any, fill_mode: Any = 0):
    """The solution of `A x = y`, where `L` is the factor of `A` from `tile_cholesky`.

    ```python
    x = wp.tile_cholesky_solve(wp.tile_full(shape=(1, 1), value=2.0), wp.tile_full(shape=1, value=12.0))
    wp.expect_eq(x[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("as of `tile_cholesky_solve`")
def tile_cholesky_solve_inplace(L: Any, y: Any, fill_mode: Any = 0):
    """Makes the tile `y` the solution.

    ```python
    y = wp.tile_full(shape=1, value=12.0)
    wp.tile_cholesky_solve_inplace(wp.tile_full(shape=(1, 1), value=2.0), y)
    wp.expect_eq(y[0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("that of the sum")
def tile_diag_add(a: Any, d: Any):
    """A square matrix with the vector `d` added to its diagonal.

    ```python
    t = wp.tile_diag_add(wp.tile_ones(shape=(2, 2), dtype=float), wp.tile_ones(shape=2, dtype=float))
    wp.expect_eq(t[1, 1], 2.0)
    ```
    """


@intrinsic
@compiler_grad("that of the transform, transformed back")
def tile_fft(inout: Any):
    """Makes each line along the last dimension of a tile of `vec2f` or `vec2d`, real and imaginary parts, its Fourier transform.
    The sum has no factor.

    ```python
    t = wp.tile_full(shape=(1, 4), value=wp.vec2(1.0, 0.0))
    wp.tile_fft(t)
    wp.expect_near(t[0, 0][0], 4.0, 1.0e-6)
    ```
    """


@intrinsic
@compiler_grad("as of `tile_fft`")
def tile_ifft(inout: Any):
    """The inverse of `tile_fft`, but for the factor 1 / n.

    ```python
    t = wp.tile_full(shape=(1, 4), value=wp.vec2(0.0, 1.0))
    wp.tile_ifft(t)
    wp.expect_near(t[0, 0][1], 4.0, 1.0e-6)
    ```
    """


@intrinsic
@no_grad("integers")
def tile_randi(shape: Any, rng: uint32, min: int32 = 0, max: int32 = 0, storage: Any = 0):
    """A tile of random integers, from `min` to before `max` if these are given, drawn in row-major order. `rng` stays as it is.

    ```python
    t = wp.tile_randi(shape=4, rng=wp.rand_init(7), min=3, max=4)
    wp.expect_eq(t[2], 3)
    ```
    """


@intrinsic
@no_grad("the generator is an integer")
def tile_randf(shape: Any, rng: uint32, min: float32 = 0.0, max: float32 = 1.0, storage: Any = 0):
    """A tile of random numbers from 0 to 1, or from `min` to `max`, drawn in row-major order. `rng` stays as it is.

    ```python
    t = wp.tile_randf(shape=4, rng=wp.rand_init(7), min=2.0, max=3.0)
    wp.expect_near(t[1], 2.5, 0.5)
    ```
    """


@func
@zero_grad("a truth value")
def _in_order(a: Int, b: Int) -> bool:
    """Whether the key `a` stays before the key `b`."""
    return a <= b


@func
@zero_grad("a truth value")
def _in_order(a: Float, b: Float) -> bool:
    return a <= b or isnan(b)


@func
def _tile_sort(keys: Array[Scalar, 1], values: Array[Any, 1], next_keys: Array[Scalar, 1], next_values: Array[Any, 1]):
    """Merges sorted runs of 1, 2, 4, ... elements; of equal keys the left one comes first."""
    n = keys.shape[0]
    width = int(1)
    while width < n:
        start = int(0)
        while start < n:
            middle = min(start + width, n)
            end = min(middle + width, n)
            a = start
            b = middle
            for k in range(start, end):
                left = a < middle
                if left and b < end:
                    left = _in_order(keys[a], keys[b])
                if left:
                    next_keys[k] = keys[a]
                    next_values[k] = values[a]
                    a += 1
                else:
                    next_keys[k] = keys[b]
                    next_values[k] = values[b]
                    b += 1
            start = end
        for k in range(n):
            keys[k] = next_keys[k]
            values[k] = next_values[k]
        width *= 2


@func
def _tile_cholesky(a: Array[Float, 2], factor: Array[Float, 2]):
    n = a.shape[0]
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= factor[j, k] * factor[j, k]
        d = sqrt(s)
        factor[j, j] = d
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= factor[i, k] * factor[j, k]
            factor[i, j] = t / d


@func
def _tile_lower_solve(matrix: Array[Float, 2], right: Array[Float, 2], x: Array[Float, 2]):
    for column in range(x.shape[1]):
        for i in range(x.shape[0]):
            s = right[i, column]
            for k in range(i):
                s -= matrix[i, k] * x[k, column]
            x[i, column] = s / matrix[i, i]


@func
def _tile_upper_solve(matrix: Array[Float, 2], right: Array[Float, 2], x: Array[Float, 2]):
    n = x.shape[0]
    for column in range(x.shape[1]):
        for r in range(n):
            i = n - 1 - r
            s = right[i, column]
            for k in range(i + 1, n):
                s -= matrix[i, k] * x[k, column]
            x[i, column] = s / matrix[i, i]


@func
def _tile_randi(t: Array[int32, 1], rng: uint32):
    state = _pcg(rng)
    for k in range(t.shape[0]):
        t[k] = randi(state)


@func
def _tile_randi(t: Array[int32, 1], rng: uint32, low: int32, high: int32):
    state = _pcg(rng)
    for k in range(t.shape[0]):
        t[k] = randi(state, low, high)


@func
def _tile_randf(t: Array[float32, 1], rng: uint32):
    state = _pcg(rng)
    for k in range(t.shape[0]):
        t[k] = randf(state)


@func
def _tile_randf(t: Array[float32, 1], rng: uint32, low: float32, high: float32):
    state = _pcg(rng)
    for k in range(t.shape[0]):
        t[k] = randf(state, low, high)
