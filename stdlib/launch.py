# What a thread knows of its launch, and loops, decisions and printing. The compiler itself does
# these; the signatures say how they are called.


@intrinsic
@no_grad("an integer")
def tid() -> int32:
    """The index of this thread in the first dimension of the launch. Only in kernels.

    With several names on the left it gives the indices of several dimensions, up to 4; the last one changes fastest.

    ```python
    i = wp.tid()
    data[i] = float(i)
    wp.expect_eq(data[0], 0.0)
    ```
    """


@intrinsic
@no_grad("an integer")
def block_dim() -> int32:
    """The number of threads in this thread's block; 1 where there are no blocks (on the host).

    ```python
    wp.expect_eq(wp.block_dim() > 0, True)
    ```
    """


@intrinsic
@no_grad("it has no value")
def grid_sync():
    """All threads of the launch come here before one goes on: what they stored in arrays, the others see then. kc's own.

    On GPUs (cooperative launches, which have room for all threads at once), the simulator and the interpreter.

    ```python
    i = wp.tid()
    data[i] = 1.0
    wp.grid_sync()
    wp.expect_eq(data[0], 1.0)
    ```
    """


@intrinsic
@no_grad("integers")
def range(stop: int32):
    """In `for i in range(stop)`: the integers from 0 to before `stop`.

    ```python
    for i in range(8):
        data[i] = float(i)
    wp.expect_eq(data[7], 7.0)
    ```
    """


@intrinsic
@no_grad("integers")
def range(start: int32, stop: int32):
    """In a `for`: the integers from `start` to before `stop`."""


@intrinsic
@no_grad("integers")
def range(start: int32, stop: int32, step: int32):
    """In a `for`: `start`, `start + step`, ... to before `stop`; downwards when `step` is below 0.

    ```python
    n = int(0)
    for i in range(6, 0, -2):
        n = 10 * n + i
    wp.expect_eq(n, 642)
    ```
    """


@intrinsic
@no_grad("integers")
def reversed(numbers: range):
    """In `for i in reversed(range(...))`: the numbers of the range, last one first.

    ```python
    n = int(0)
    for i in reversed(range(3)):
        n = 10 * n + i
    wp.expect_eq(n, 210)
    ```
    """


@intrinsic
@compiler_grad("the chosen value gets all of it")
def select(cond: Any, value_if_false: T, value_if_true: T) -> T:
    """As `where`, with the values the other way round: an older name.

    ```python
    wp.expect_eq(wp.select(True, 1.0, 2.0), 2.0)
    ```
    """


@intrinsic
@compiler_grad("that of the value")
def static(expression: Any) -> Any:
    """The value of `expression`, computed when the kernel is compiled: numbers, composites, structs, functions.

    ```python
    n = wp.static(2 * 3)
    wp.expect_eq(n, 6)
    ```
    """


@intrinsic
@compiler_grad("that of the gradient code: a second derivative")
def grad(function: Function) -> Function:
    """A function that gives the derivatives of the sum of what `function` returns, one for each argument.

    ```python
    wp.expect_near(wp.grad(wp.sin)(0.0), 1.0)
    ```
    """


@intrinsic
@no_grad("output")
def print(value: Any):
    """Writes `value` and a line end: a string, a scalar, or the components of a vector, matrix, quaternion or
    transform.

    ```python
    print("an example prints this")
    ```
    """


@intrinsic
@no_grad("output")
def printf(format: str, *values: Scalar):
    """Writes scalars as C's `printf` does; they follow the format one by one. A conversion too many, too few or for
    strings is an error of the file.

    ```python
    wp.printf("an example prints %d and %.1f\\n", 1, 2.5)
    ```
    """
