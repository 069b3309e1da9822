"""Loops that carry state, and launches that overwrite what their gradient needs: one kernel for each way to get it wrong.

Each kernel takes `x`, and gives `out`; the others are as its signature says. All run with 6 threads and arrays of 6.
"""
import warp as wp


@wp.struct
class Body:
    position: float
    velocity: wp.vec3


@wp.kernel
def product(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A product carried by a loop that ends at run time."""
    i = wp.tid()
    p = float(1.0)
    for k in range(n):
        p = p * (x[i] + 0.25 * float(k))
    out[i] = p


@wp.kernel
def leave(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A `break` that depends on the data."""
    i = wp.tid()
    s = float(1.0)
    for k in range(n):
        if s > 1.5:
            break
        s = s * (1.25 + 0.25 * x[i])
    out[i] = s * s


@wp.kernel
def newton(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A `while` with as many iterations as each thread needs."""
    i = wp.tid()
    r = float(1.0)
    while wp.abs(r * r - x[i] * x[i] - 1.0) > 1.0e-4:
        r = 0.5 * (r + (x[i] * x[i] + 1.0) / r)
    out[i] = r


@wp.kernel
def static_range(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A constant number of iterations, more than are unrolled."""
    i = wp.tid()
    s = float(0.5)
    for k in range(40):
        s = s * (1.0 - 0.1 * x[i]) + 0.01 * s * s
    out[i] = s


@wp.kernel
def chase(x: wp.array(dtype=float), link: wp.array(dtype=int), out: wp.array(dtype=float), n: int):
    """An index carried by a loop."""
    i = wp.tid()
    j = int(i)
    s = float(1.0)
    for k in range(n):
        s = s * x[j] + 0.5
        j = link[j]
    out[i] = s


@wp.kernel
def times(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """`*=` in place."""
    i = wp.tid()
    out[i] *= x[i]


@wp.kernel
def over(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """`/=` in place."""
    i = wp.tid()
    out[i] /= x[i] * x[i] + 1.0


@wp.kernel
def read_store_read(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """An element that is read, stored, and read again."""
    i = wp.tid()
    a = x[i]
    x[i] = a * a - 0.5
    out[i] = x[i] * a


@wp.kernel
def recurrence(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A recurrence through an element of an array."""
    i = wp.tid()
    for k in range(n):
        out[i] = out[i] * x[i] + 0.25 * out[i] * out[i]


@wp.kernel
def skip(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """Nested loops with `continue`."""
    i = wp.tid()
    s = float(0.5)
    for k in range(n):
        for j in range(k + 1):
            if (k + j) % 2 == 0:
                continue
            s = s * (1.0 + 0.25 * x[i]) + 0.125 * x[i]
    out[i] = s


@wp.kernel
def component_twice(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A component of a vector that is assigned twice."""
    i = wp.tid()
    v = wp.vec3(x[i], 2.0 * x[i], 1.0)
    v[0] = v[0] * v[1]
    v[0] = v[0] * v[0] + v[1]
    out[i] = v[0] * v[2]


@wp.kernel
def struct_state(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """Fields of a struct carried by a loop."""
    i = wp.tid()
    b = Body()
    b.position = x[i]
    b.velocity = wp.vec3(0.5, x[i], 0.25)
    for k in range(n):
        b.position = b.position + 0.125 * b.velocity[0] * b.position
        b.velocity = b.velocity * (1.0 - 0.125 * b.position)
    out[i] = b.position * b.velocity[1]


@wp.kernel
def slots(x: wp.array(dtype=float), count: wp.array(dtype=int), out: wp.array(dtype=float)):
    """A slot from the value that an atomic returns."""
    i = wp.tid()
    slot = wp.atomic_add(count, 0, 1)
    out[slot] = x[i] * x[i]


@wp.kernel
def least(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """`atomic_min`: who gets the gradient of the initial content?"""
    i = wp.tid()
    wp.atomic_min(out, i % 2, x[i] * x[i])


@wp.func
def averaged(a: float, n: int):
    s = float(1.0)
    for k in range(n):
        s = 0.5 * (s + a / s)
    return s


@wp.kernel
def in_function(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A loop and a division inside a function."""
    i = wp.tid()
    out[i] = averaged(x[i] * x[i] + 0.5, n)


@wp.func
def first_above(a: float, n: int):
    s = float(a)
    for k in range(n):
        s = s * s + 0.25
        if s > 0.5:
            return s * a
    return s


@wp.kernel
def early(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """`return` inside a loop."""
    i = wp.tid()
    out[i] = first_above(x[i], n)


@wp.kernel
def guarded(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A guard against a derivative that is not finite."""
    i = wp.tid()
    v = x[i] * float(i % 2)
    out[i] = wp.where(v > 0.0, wp.sqrt(v), 0.0) + x[i]


@wp.kernel
def swap(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """Two carried values that change places."""
    i = wp.tid()
    a = float(x[i])
    b = float(1.0)
    for k in range(n):
        t = a
        a = b
        b = 0.5 * t * b + 0.25 * t
    out[i] = a * b


@wp.kernel
def own_condition(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A branch whose condition its own body changes."""
    i = wp.tid()
    s = float(x[i])
    for k in range(n):
        if s > 0.25:
            s = s * s * 0.5
        else:
            s = s + 0.5 * x[i] * x[i] + 0.25
    out[i] = s


@wp.func
def scale(a: wp.array(dtype=float), i: int, by: float):
    a[i] = a[i] * by + 0.25


@wp.kernel
def callee_stores(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A function that stores to an array, and a caller that reads it again."""
    i = wp.tid()
    before = out[i]
    scale(out, i, x[i])
    out[i] = out[i] * before


@wp.kernel
def work_vector(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A vector as work array, with slots that are computed."""
    i = wp.tid()
    v = wp.vec4(x[i], 0.5, 0.25, 1.0)
    for k in range(n):
        v[(k + 1) % 4] = v[k % 4] * v[(k + 1) % 4] + x[i]
    out[i] = v[0] * v[1] + v[2] * v[3]


@wp.kernel
def bound_overwritten(x: wp.array(dtype=float), turns: wp.array(dtype=int), out: wp.array(dtype=float)):
    """A loop bound that is read from memory, and overwritten later."""
    i = wp.tid()
    s = float(1.0)
    for k in range(turns[i]):
        s = s * (x[i] + 0.25)
    turns[i] = 0
    out[i] = s


@wp.kernel
def clamped(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """`clamp` and `max` on a carried value."""
    i = wp.tid()
    s = float(x[i])
    for k in range(n):
        s = wp.clamp(s * (1.0 + x[i]), -0.75, 0.75)
        s = wp.max(s, 0.5 * s + 0.125)
    out[i] = s * x[i]


@wp.kernel
def remainder(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """The remainder also depends on the divisor."""
    i = wp.tid()
    out[i] = wp.mod(5.3125, x[i] * x[i] + 0.5)


@wp.kernel
def nested_result(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """The result of an inner loop carried by an outer one."""
    i = wp.tid()
    s = float(0.5)
    for k in range(n):
        t = float(1.0)
        for j in range(k):
            t = t * (0.75 + 0.125 * s * x[i])
        s = s * t + 0.125 * x[i]
    out[i] = s


@wp.kernel
def kernel_returns(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A kernel that returns from inside its loop, after stores."""
    i = wp.tid()
    for k in range(n):
        out[i] = out[i] * out[i] + x[i]
        if out[i] > 1.0:
            return
    out[i] = out[i] * x[i]


@wp.kernel
def searches(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """The largest and the smallest of one loop with steps, of products with a value from outside."""
    i = wp.tid()
    w = x[i] * 0.5
    high = float(0.1)
    low = x[1]
    k = int(3)
    for j in range(0, n, 2):
        k += 2
        high = wp.max(high, wp.sin(x[j % 6] * w) * float(k))
        low = wp.min(low, x[j % 6] * x[j % 6] - w)
    out[i] = high * low + low


@wp.kernel
def search_down(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """Searches inside a loop, one from its end to its start, one that finds nothing, one over numbers without a sign."""
    i = wp.tid()
    total = float(0.0)
    for a in range(2):
        m = float(-10.0)
        none = x[0]
        for j in range(n - 1, -1, -1):
            m = wp.max(m, x[j % 6] * x[i] + total)
            none = wp.max(none, -100.0 * x[j % 6] * x[j % 6] - 100.0)
        u = float(-10.0)
        for q in range(wp.uint32(2), wp.uint32(n)):
            u = wp.max(u, x[int(q) % 6] * x[i])
        total += m * m + none * u
    out[i] = total


@wp.func
def squared(a: wp.array(dtype=float), i: int):
    a[i] = a[i] * a[i]
    return a[i] > 0.001


@wp.kernel
def shrinks(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A condition that writes, beside one that does not."""
    i = wp.tid()
    out[i] = 0.9 * x[i] / (1.0 + x[i] * x[i])
    k = int(0)
    while k < n and squared(out, i):
        out[i] = out[i] + 0.01 * x[i]
        k += 1
    out[i] = out[i] * float(k)


@wp.func
def square_and_next(a: float):
    return a * a, a + 1.0


@wp.kernel
def tuple_in_loop(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """A tuple that a loop and a condition assign, all its elements at once."""
    i = wp.tid()
    t = (x[i], 1.0)
    for k in range(n):
        t = (0.5 * t[1] * x[i], t[0] + 0.5 * t[1])
        if k == 1:
            t = square_and_next(t[1])
    u = square_and_next(t[0]) if x[i] > 0.0 else (t[1], x[i] * x[i])
    while t[0] > 2.0:
        t = (t[0] * 0.5, t[1] + t[0])
    out[i] = t[0] * u[1] + t[1] * u[0]


@wp.kernel
def component_of_transform(x: wp.array(dtype=float), out: wp.array(dtype=float), n: int):
    """Components of a transform at indices that are known at run time."""
    i = wp.tid()
    t = wp.transform(wp.vec3(1.0, x[i], 2.0), wp.quat(x[i] * x[i], 1.0, 2.0, 3.0))
    t[i] = t[(i + n) % 7] * x[i]
    t[i + 1] += x[i] * x[i]
    for k in range(7):
        out[i] = out[i] + t[k] * t[k] * float(k + 1)
