# What the threads of a block have each for themselves: as tiles, from tiles, into tiles, and on
# stacks.


@intrinsic
@compiler_grad("each thread's value gets that of its elements")
def tile(x: Any, preserve_type: bool = False):
    """The values that the threads of a block have for `x`, along the last dimension; components of vectors and matrices along those
    before it, unless `preserve_type`.

    ```python
    t = wp.tile(wp.vec3(1.0, 2.0, 3.0))
    wp.expect_eq(t[2, 0], 3.0)
    ```
    """


@intrinsic
@compiler_grad("each element gets that of its thread")
def untile(a: Any):
    """What `tile(x)` was made of, for each thread: the last dimension is that of the threads.

    ```python
    wp.expect_eq(wp.untile(wp.tile(5.0)), 5.0)
    ```
    """


@intrinsic
@compiler_grad("the value of that thread gets the sum")
def tile_from_thread(shape: Any, value: Any, thread_idx: int, storage: Any = 0):
    """A tile in which each element is the `value` of one thread of the block.

    ```python
    t = wp.tile_from_thread(shape=4, value=2.0, thread_idx=0)
    wp.expect_eq(t[3], 2.0)
    ```
    """


@intrinsic
@compiler_grad("the value gets that of the element")
def tile_scatter_add(a: Any, i: int, value: Any, has_value: bool, atomic: bool = True):
    """Each thread with a value adds it to the element at its index: `tile_scatter_add(t, i, j, value, True)`.

    ```python
    t = wp.tile_ones(shape=4, dtype=float)
    wp.tile_scatter_add(t, 2, 3.0, True)
    wp.expect_eq(t[2], 4.0)
    ```
    """


@intrinsic
@compiler_grad("the value gets that of the element, the old one none")
def tile_scatter_masked(a: Any, i: int, value: Any, has_value: bool):
    """Each thread with a value sets the element at its index.

    ```python
    t = wp.tile_zeros(shape=4, dtype=float)
    wp.tile_scatter_masked(t, 1, 3.0, True)
    wp.expect_eq(t[1], 3.0)
    ```
    """


@intrinsic
@no_grad("a stack has no gradient of its own")
def tile_stack(capacity: Any, dtype: Any):
    """An empty stack of the threads of a block, with room for `capacity` elements, a constant.

    ```python
    s = wp.tile_stack(capacity=4, dtype=int)
    wp.expect_eq(wp.tile_stack_count(s), 0)
    ```
    """


@intrinsic
@compiler_grad("the value gets that of the element")
def tile_stack_push(s: Any, value: Any, has_value: bool):
    """Each thread that has a value pushes it, one after the other. Gives the slot of each, or -1 where there was no room, or no value.

    ```python
    s = wp.tile_stack(capacity=4, dtype=int)
    wp.expect_eq(wp.tile_stack_push(s, 7, True), 0)
    ```
    """


@intrinsic
@compiler_grad("the element gets that of the value")
def tile_stack_pop(s: Any):
    """Each thread pops an element, one after the other: the value and its slot, or zero and -1 where nothing is left.

    ```python
    s = wp.tile_stack(capacity=4, dtype=int)
    wp.tile_stack_push(s, 7, True)
    value, slot = wp.tile_stack_pop(s)
    wp.expect_eq(value, 7)
    ```
    """


@intrinsic
@no_grad("integers")
def tile_stack_clear(s: Any):
    """Takes all elements off the stack.

    ```python
    s = wp.tile_stack(capacity=4, dtype=int)
    wp.tile_stack_push(s, 7, True)
    wp.tile_stack_clear(s)
    wp.expect_eq(wp.tile_stack_count(s), 0)
    ```
    """


@intrinsic
@no_grad("integers")
def tile_stack_count(s: Any):
    """How many elements there are.

    ```python
    s = wp.tile_stack(capacity=4, dtype=int)
    wp.tile_stack_push(s, 7, True)
    wp.expect_eq(wp.tile_stack_count(s), 1)
    ```
    """


@intrinsic
@no_grad("an integer")
def lane() -> int32:
    """The number of the thread in its block. kc's own: Warp has no such name.

    ```python
    wp.expect_eq(wp.lane() < wp.block_dim(), True)
    ```
    """


@intrinsic
@no_grad("it has no value")
def sync():
    """All threads of a block come here before one goes on: what they stored in arrays and tiles, the others see then. kc's own.

    ```python
    data[0] = 1.0
    wp.sync()
    wp.expect_eq(data[0], 1.0)
    ```
    """


@intrinsic
@compiler_grad("the thread that the value is of gets it")
def shuffle(value: Any, source: int32):
    """The `value` of thread `source % 32` of the warp, for each thread; its own where the block has no such thread. kc's own.

    ```python
    wp.expect_eq(wp.shuffle(5.0, 0), 5.0)
    ```
    """


@intrinsic
@compiler_grad("the thread that the value is of gets it")
def shuffle_up(value: Any, delta: int32):
    """The `value` of the thread `delta` before this one in its warp; its own where there is none. kc's own.

    ```python
    wp.expect_eq(wp.shuffle_up(5.0, 1), 5.0)
    ```
    """


@intrinsic
@compiler_grad("the thread that the value is of gets it")
def shuffle_down(value: Any, delta: int32):
    """The `value` of the thread `delta` behind this one in its warp; its own where there is none. kc's own.

    ```python
    wp.expect_eq(wp.shuffle_down(5.0, 1), 5.0)
    ```
    """


@intrinsic
@compiler_grad("the thread that the value is of gets it")
def shuffle_xor(value: Any, mask: int32):
    """The `value` of the thread of the warp whose number differs in the bits of `mask`; its own where there is none. kc's own.

    ```python
    wp.expect_eq(wp.shuffle_xor(5.0, 1), 5.0)
    ```
    """


@intrinsic
@no_grad("an integer")
def ballot(predicate: bool) -> uint32:
    """The threads of the warp for which the condition holds, bit 0 for the first of them. kc's own.

    ```python
    wp.expect_eq(wp.ballot(True) & wp.uint32(1), wp.uint32(1))
    ```
    """


@intrinsic
@no_grad("an integer")
def match(value: Int) -> uint32:
    """The threads of the warp with the same integer as this one, as bits. kc's own.

    ```python
    wp.expect_eq(wp.match(3) & wp.uint32(1), wp.uint32(1))
    ```
    """
