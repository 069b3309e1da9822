# Making values of a type: conversions, composites, arrays of one thread, and parts of arrays.


@intrinsic
@zero_grad("the result takes two values")
def bool(x: Scalar) -> bool:
    """Whether `x` is not zero. NaN is not zero.

    ```python
    wp.expect_eq(bool(0.5), True)
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def int8(x: Scalar) -> int8:
    """`x` as an integer from -2^7 to 2^7 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 8 bits.

    ```python
    wp.expect_eq(wp.int8(-2.75), wp.int8(-2))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def uint8(x: Scalar) -> uint8:
    """`x` as an integer from 0 to 2^8 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 8 bits.

    ```python
    wp.expect_eq(wp.uint8(-2.75), wp.uint8(0))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def int16(x: Scalar) -> int16:
    """`x` as an integer from -2^15 to 2^15 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 16 bits.

    ```python
    wp.expect_eq(wp.int16(-2.75), wp.int16(-2))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def uint16(x: Scalar) -> uint16:
    """`x` as an integer from 0 to 2^16 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 16 bits.

    ```python
    wp.expect_eq(wp.uint16(-2.75), wp.uint16(0))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def int32(x: Scalar) -> int32:
    """`x` as an integer from -2^31 to 2^31 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 32 bits.

    ```python
    wp.expect_eq(wp.int32(-2.75), wp.int32(-2))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def uint32(x: Scalar) -> uint32:
    """`x` as an integer from 0 to 2^32 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 32 bits.

    ```python
    wp.expect_eq(wp.uint32(-2.75), wp.uint32(0))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def int64(x: Scalar) -> int64:
    """`x` as an integer from -2^63 to 2^63 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 64 bits.

    ```python
    wp.expect_eq(wp.int64(-2.75), wp.int64(-2))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def uint64(x: Scalar) -> uint64:
    """`x` as an integer from 0 to 2^64 - 1. A float goes toward zero, and to the
    nearest end of the range; NaN gives 0. An integer keeps its low 64 bits.

    ```python
    wp.expect_eq(wp.uint64(-2.75), wp.uint64(0))
    ```
    """


@intrinsic
@zero_grad("piecewise constant")
def int(x: Scalar) -> int32:
    """`int32(x)`. A literal `1` is one already; `n = int(1)` makes a variable of it.

    ```python
    wp.expect_eq(int(2.75), 2)
    ```
    """


@intrinsic
@compiler_grad("that of `x`, for a float; none for an integer")
def float16(x: Scalar) -> float16:
    """`x` rounded to the 11 significant bits of IEEE binary16 (to even in a tie); beyond 65504 infinite.

    ```python
    wp.expect_eq(wp.float32(wp.float16(1.0001)), 1.0)
    ```
    """


@intrinsic
@compiler_grad("that of `x`, for a float; none for an integer")
def bfloat16(x: Scalar) -> bfloat16:
    """`x` rounded to the 8 significant bits of bfloat16 (to even in a tie); the exponents of float32.

    ```python
    wp.expect_eq(wp.float32(wp.bfloat16(1.001)), 1.0)
    ```
    """


@intrinsic
@compiler_grad("that of `x`, for a float; none for an integer")
def float32(x: Scalar) -> float32:
    """`x` rounded to the 24 significant bits of IEEE binary32 (to even in a tie).

    ```python
    wp.expect_eq(wp.float32(16777217), 16777216.0)
    ```
    """


@intrinsic
@compiler_grad("that of `x`, for a float; none for an integer")
def float64(x: Scalar) -> float64:
    """`x` rounded to the 53 significant bits of IEEE binary64; exact for float32. A literal keeps all its digits.

    ```python
    wp.expect_eq(wp.float64(0.5), wp.float64(1) / wp.float64(2))
    ```
    """


@intrinsic
@compiler_grad("that of `x`, for a float; none for an integer")
def float(x: Scalar) -> float32:
    """`float32(x)`. A literal `1.0` is one already; `s = float(0.0)` makes a variable of it.

    ```python
    wp.expect_eq(float(3), 3.0)
    ```
    """


@intrinsic
@no_grad("the bits are taken, not the number")
def cast(a: Scalar, dtype: type) -> Scalar:
    """The bits of `a` as another type of the same size.

    ```python
    wp.expect_eq(wp.cast(1.0, wp.uint32), wp.uint32(0x3F800000))
    ```
    """


@intrinsic
@compiler_grad("that of the value")
def constant(value: Any) -> Any:
    """`value` itself: in Warp's host code a mark for constants that kernels use.

    ```python
    wp.expect_eq(wp.constant(3), 3)
    ```
    """


@intrinsic
@no_grad("a type")
def type(value: Any) -> type:
    """The type of `value`, to make others of it: `type(x)(1)`.

    ```python
    x = wp.float64(2)
    wp.expect_eq(type(x)(1) + type(x)(1), x)
    ```
    """


@intrinsic
@no_grad("an integer")
def len(a: Any) -> int32:
    """The number of components of a vector, quaternion, transform or tuple, of rows of a matrix, or of elements in the
    first dimension of an array. All but the last are constants.

    ```python
    wp.expect_eq(len(wp.vec3()), 3)
    wp.expect_eq(len(data), 8)
    ```
    """


@intrinsic
@compiler_grad("each component gets its own")
def vector(*components: Scalar) -> Vec[N, Scalar]:
    """A vector of these components. `wp.vector(x, length=3)` repeats one; `dtype=` gives the type of literals.

    ```python
    v = wp.vector(1.0, 2.0, 3.0)
    wp.expect_eq(v, wp.vec3(1.0, 2.0, 3.0))
    ```
    """


@intrinsic
@compiler_grad("each entry gets its own")
def matrix(*entries: Scalar, shape: tuple[int32, int32]) -> Mat[R, C, Scalar]:
    """A matrix of these entries, row by row. One entry alone is repeated.

    ```python
    m = wp.matrix(1.0, 2.0, 3.0, 4.0, shape=(2, 2))
    wp.expect_eq(m[1, 0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("each component gets its own")
def quaternion(x: Float, y: Float, z: Float, w: Float) -> Quat[Float]:
    """The quaternion with imaginary part `x`, `y`, `z` and real part `w`. Also of a vector and `w`, and of another
    quaternion with `dtype=`.

    ```python
    q = wp.quaternion(0.0, 0.0, 0.0, 1.0)
    wp.expect_eq(q, wp.quat_identity())
    ```
    """


@intrinsic
@compiler_grad("each component gets its own")
def transformation(p: Vec[3, Float], q: Quat[Float]) -> Transform[Float]:
    """The transform that rotates by `q`, then shifts by `p`. Also of its seven numbers.

    ```python
    t = wp.transformation(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    wp.expect_eq(wp.transform_point(t, wp.vec3(0.0)), wp.vec3(1.0, 2.0, 3.0))
    ```
    """


@intrinsic
@compiler_grad("each component gets its own")
def spatial_vector(w: Vec[3, Float], v: Vec[3, Float]) -> Vec[6, Float]:
    """The six components of `w`, then `v`. Also of six numbers.

    ```python
    s = wp.spatial_vector(wp.vec3(1.0), wp.vec3(2.0))
    wp.expect_eq(wp.spatial_bottom(s), wp.vec3(2.0))
    ```
    """


@intrinsic
@no_grad("a constant")
def identity(n: int32, dtype: type = float32) -> Mat[N, N, Scalar]:
    """The n x n matrix with ones on its diagonal. `n` is a constant.

    ```python
    m = wp.identity(n=3, dtype=float)
    wp.expect_eq(m * wp.vec3(1.0, 2.0, 3.0), wp.vec3(1.0, 2.0, 3.0))
    ```
    """


@intrinsic
@no_grad("a constant")
def quat_identity(dtype: type = float32) -> Quat[Float]:
    """The quaternion (0, 0, 0, 1), which rotates nothing.

    ```python
    wp.expect_eq(wp.quat_rotate(wp.quat_identity(), wp.vec3(1.0)), wp.vec3(1.0))
    ```
    """


@intrinsic
@no_grad("a constant")
def transform_identity(dtype: type = float32) -> Transform[Float]:
    """The transform that moves nothing.

    ```python
    wp.expect_eq(wp.transform_point(wp.transform_identity(), wp.vec3(1.0)), wp.vec3(1.0))
    ```
    """


@intrinsic
@no_grad("a constant")
def zeros(shape: tuple[int32, ...], dtype: type = float32, storage: Any = 0):
    """An array of this thread alone, of constant shape (a number, or up to 4), full of zeros. It is a reference:
    functions that get it change it, and `b = a` names it once more. With `storage="shared"`, which is kc's own, an array of the block:
    a tile, as `tile_zeros` makes it.

    ```python
    a = wp.zeros(shape=(2, 3), dtype=float)
    a[1, 2] = 5.0
    wp.expect_eq(a[1][2], 5.0)
    ```
    """


@intrinsic
@compiler_grad("the part of the array's adjoint")
def view(arr: Array[T], i: Int) -> Array[T]:
    """The part of an array of 2 dimensions or more at index `i` of the first; more indices fix more dimensions.
    `arr[i]` is the same.

    ```python
    for i in range(8):
        data[i] = float(i)
    part = data[2:5]
    wp.expect_eq(part[0], 2.0)
    ```
    """
