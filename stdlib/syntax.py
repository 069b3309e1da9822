# Built-ins of Warp that are no functions to call but what its compiler makes of statements. Here
# the statements are the way to write them: `@syntax` says which.


@intrinsic
@syntax("x[i] += value")
@compiler_grad("that of addition")
def add_inplace(a: Any, i: Int, value: Any):
    """Adds to a component of a variable, or to a field.

    ```python
    v = wp.vec3(1.0)
    v[1] += 2.0
    wp.expect_eq(v, wp.vec3(1.0, 3.0, 1.0))
    ```
    """


@intrinsic
@syntax("x[i] -= value")
@compiler_grad("that of subtraction")
def sub_inplace(a: Any, i: Int, value: Any):
    """Subtracts from a component of a variable, or from a field.

    ```python
    v = wp.vec3(1.0)
    v.y -= 2.0
    wp.expect_eq(v, wp.vec3(1.0, -1.0, 1.0))
    ```
    """


@intrinsic
@syntax("x[i] &= value")
@no_grad("integers")
def bit_and_inplace(a: Any, i: Int, value: Any):
    """A bit operation on a component of a variable.

    ```python
    v = wp.vec2i(7, 7)
    v[1] &= 5
    wp.expect_eq(v, wp.vec2i(7, 5))
    ```
    """


@intrinsic
@syntax("x[i] |= value")
@no_grad("integers")
def bit_or_inplace(a: Any, i: Int, value: Any):
    """A bit operation on a component of a variable.

    ```python
    v = wp.vec2i(2, 2)
    v[1] |= 5
    wp.expect_eq(v, wp.vec2i(2, 7))
    ```
    """


@intrinsic
@syntax("x[i] ^= value")
@no_grad("integers")
def bit_xor_inplace(a: Any, i: Int, value: Any):
    """A bit operation on a component of a variable.

    ```python
    v = wp.vec2i(7, 7)
    v[1] ^= 5
    wp.expect_eq(v, wp.vec2i(7, 2))
    ```
    """


@intrinsic
@syntax("x[i] = value")
@compiler_grad("the old component gets none")
def assign_inplace(a: Any, i: Int, value: Any):
    """Sets a component of a variable.

    ```python
    v = wp.vec3(1.0)
    v[-1] = 2.0
    wp.expect_eq(v, wp.vec3(1.0, 1.0, 2.0))
    ```
    """


@intrinsic
@syntax("x[i] = value")
@compiler_grad("the old component gets none")
def assign_copy(a: Any, i: Int, value: Any):
    """Sets a component; other variables keep theirs, because `b = a` copies composites.

    ```python
    v = wp.vec3(1.0)
    w = v
    w[0] = 2.0
    wp.expect_eq(v[0], 1.0)
    ```
    """


@intrinsic
@syntax("y = x")
@compiler_grad("that of the value")
def copy(a: Any):
    """Copies a scalar, composite or struct. Arrays are references.

    ```python
    v = wp.vec3(1.0)
    w = v
    w.x = 2.0
    wp.expect_eq(v.x, 1.0)
    ```
    """


@intrinsic
@syntax("x[i]")
@compiler_grad("the component gets it")
def extract(a: Any, i: Int):
    """A component of a vector, quaternion or transform, an entry or row of a matrix. An index
    below 0 counts from the end.

    ```python
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    wp.expect_eq(m[1, 0], 3.0)
    wp.expect_eq(m[1], wp.vec2(3.0, 4.0))
    ```
    """


@intrinsic
@syntax("x[i]")
@compiler_grad("the component gets it")
def index(a: Any, i: Int):
    """A component, by reference where it is changed.

    ```python
    v = wp.vec3(1.0, 2.0, 3.0)
    wp.expect_eq(v[1], 2.0)
    ```
    """


@intrinsic
@syntax("x[i]")
@compiler_grad("the component gets it")
def indexref(a: Any, i: Int):
    """A component, by reference where it is changed.

    ```python
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    m[1][0] = 5.0
    wp.expect_eq(m[1, 0], 5.0)
    ```
    """


@intrinsic
@syntax("x[a:b:c]")
@compiler_grad("that of the part")
def slice(start: Int, stop: Int, step: Int):
    """A part of an array, a vector or a matrix; constant bounds for composites.

    ```python
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    wp.expect_eq(v[1:3], wp.vec2(2.0, 3.0))
    ```
    """


@intrinsic
@syntax("a[i]")
@compiler_grad("that of the element")
def address(arr: Array[T], i: Int):
    """The place of an element.

    ```python
    data[3] = 1.0
    wp.expect_eq(data[3], 1.0)
    ```
    """


@intrinsic
@syntax("a[i]")
@compiler_grad("that of the element")
def load(address: Any):
    """The value at a place.

    ```python
    data[3] = 1.0
    x = data[3]
    wp.expect_eq(x, 1.0)
    ```
    """


@intrinsic
@syntax("a[i] = value")
@compiler_grad("the old element gets none")
def store(address: Any, value: Any):
    """Sets the value at a place.

    ```python
    data[3] = 1.0
    wp.expect_eq(data[3], 1.0)
    ```
    """


@intrinsic
@syntax("a[i] = value")
@compiler_grad("the old element gets none")
def array_store(arr: Array[T], i: Int, value: T):
    """Sets an element of an array.

    ```python
    data[-1] = 1.0
    wp.expect_eq(data[7], 1.0)
    ```
    """


@intrinsic
@syntax("for i in range(n):")
@no_grad("integers")
def iter_next(range: Any):
    """The next number of a loop.

    ```python
    n = int(0)
    for i in range(4):
        n += i
    wp.expect_eq(n, 6)
    ```
    """


@intrinsic
@syntax("(a, b)")
@compiler_grad("each gets its own")
def tuple(*values: Any):
    """Values together; the index is a constant.

    ```python
    t = (1, 2.0)
    wp.expect_eq(t[1], 2.0)
    ```
    """


@intrinsic
@syntax("t[i] += value")
@compiler_grad("that of addition")
def transform_add_inplace(a: Transform[Float], b: Transform[Float]):
    """Adds to a transform or its parts.

    ```python
    t = wp.transform_identity()
    t.p += wp.vec3(1.0)
    wp.expect_eq(t.p, wp.vec3(1.0))
    ```
    """


@intrinsic
@syntax("t[i] -= value")
@compiler_grad("that of subtraction")
def transform_sub_inplace(a: Transform[Float], b: Transform[Float]):
    """Subtracts from a transform or its parts.

    ```python
    t = wp.transform_identity()
    t.p -= wp.vec3(1.0)
    wp.expect_eq(t.p, wp.vec3(-1.0))
    ```
    """


@intrinsic
@syntax("t.p = value")
@compiler_grad("the old part gets none")
def transform_set_translation_copy(xform: Transform[Float], p: Vec[3, Float]):
    """Sets the translation of a transform.

    ```python
    t = wp.transform_identity()
    t.p = wp.vec3(1.0)
    wp.expect_eq(wp.transform_get_translation(t), wp.vec3(1.0))
    ```
    """


@intrinsic
@syntax("t.q = value")
@compiler_grad("the old part gets none")
def transform_set_rotation_copy(xform: Transform[Float], q: Quat[Float]):
    """Sets the rotation of a transform.

    ```python
    t = wp.transform_identity()
    t.q = wp.quat(1.0, 0.0, 0.0, 0.0)
    wp.expect_eq(wp.transform_get_rotation(t)[0], 1.0)
    ```
    """
