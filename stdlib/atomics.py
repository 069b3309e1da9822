# Operations on one element of an array that no other thread can come between. All give the
# element's value from before. With more dimensions the other indices follow `i`. The order in which
# threads take their turns is open.


@intrinsic
@compiler_grad("the adjoint of the element goes to `value`; there is none through the result")
def atomic_add(arr: Array[T], i: Int, value: T) -> T:
    """Adds `value` to `arr[i]`; so does `arr[i] += value`. Composites add component by component, each for itself.

    ```python
    before = wp.atomic_add(data, 0, 2.0)
    wp.expect_eq(before, 0.0)
    wp.expect_eq(data[0], 2.0)
    ```
    """


@intrinsic
@compiler_grad("minus the adjoint of the element goes to `value`; there is none through the result")
def atomic_sub(arr: Array[T], i: Int, value: T) -> T:
    """Subtracts `value` from `arr[i]`; so does `arr[i] -= value`.

    ```python
    wp.atomic_sub(data, 0, 2.0)
    wp.expect_eq(data[0], -2.0)
    ```
    """


@intrinsic
@compiler_grad("the adjoint of the element goes to the value that it holds in the end, and to all that tie")
def atomic_min(arr: Array[T], i: Int, value: T) -> T:
    """Sets `arr[i]` to the smaller of itself and `value`, component by component.

    ```python
    wp.atomic_min(data, 0, -3.0)
    wp.atomic_min(data, 0, 1.0)
    wp.expect_eq(data[0], -3.0)
    ```
    """


@intrinsic
@compiler_grad("the adjoint of the element goes to the value that it holds in the end, and to all that tie")
def atomic_max(arr: Array[T], i: Int, value: T) -> T:
    """Sets `arr[i]` to the larger of itself and `value`, component by component.

    ```python
    wp.atomic_max(data, 0, 3.0)
    wp.atomic_max(data, 0, 1.0)
    wp.expect_eq(data[0], 3.0)
    ```
    """


@intrinsic
@no_grad("integers")
def atomic_and(arr: Array[T], i: Int, value: T) -> T:
    """Sets `arr[i]` to `arr[i] & value`; so does `arr[i] &= value`. Integers and vectors of them.

    ```python
    bits = wp.zeros(shape=1, dtype=wp.uint32)
    bits[0] = wp.uint32(7)
    bits[0] &= wp.uint32(5)
    wp.expect_eq(bits[0], wp.uint32(5))
    ```
    """


@intrinsic
@no_grad("integers")
def atomic_or(arr: Array[T], i: Int, value: T) -> T:
    """Sets `arr[i]` to `arr[i] | value`; so does `arr[i] |= value`. Integers and vectors of them.

    ```python
    bits = wp.zeros(shape=1, dtype=wp.uint32)
    bits[0] |= wp.uint32(5)
    wp.expect_eq(bits[0], wp.uint32(5))
    ```
    """


@intrinsic
@no_grad("integers")
def atomic_xor(arr: Array[T], i: Int, value: T) -> T:
    """Sets `arr[i]` to `arr[i] ^ value`; so does `arr[i] ^= value`. Integers and vectors of them.

    ```python
    bits = wp.zeros(shape=1, dtype=wp.uint32)
    bits[0] = wp.uint32(7)
    bits[0] ^= wp.uint32(5)
    wp.expect_eq(bits[0], wp.uint32(2))
    ```
    """


@intrinsic
@no_grad("which thread comes last is open")
def atomic_exch(arr: Array[T], i: Int, value: T) -> T:
    """Sets `arr[i]` to `value`.

    ```python
    wp.atomic_exch(data, 0, 4.0)
    wp.expect_eq(data[0], 4.0)
    ```
    """


@intrinsic
@no_grad("which thread succeeds is open")
def atomic_cas(arr: Array[Scalar], i: Int, compare: Scalar, value: Scalar) -> Scalar:
    """Sets `arr[i]` to `value` if it equals `compare`, and leaves it otherwise.

    ```python
    wp.atomic_cas(data, 0, 0.0, 4.0)
    wp.atomic_cas(data, 0, 0.0, 5.0)
    wp.expect_eq(data[0], 4.0)
    ```
    """
