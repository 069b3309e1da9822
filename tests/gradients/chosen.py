"""Arrays that branches, loops and functions choose, and large local arrays. See loops_and_overwrites.py."""
import warp as wp


@wp.kernel
def swapped(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    """Two arrays that a loop swaps."""
    i = wp.tid()
    a = x
    b = y
    s = float(1.0)
    for k in range(n):
        s = s * a[i] + b[i]
        t = a
        a = b
        b = t
    out[i] = s


@wp.func
def pick(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int):
    if i % 2 == 0:
        return x
    return y


@wp.kernel
def picked(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A function that returns one of two arrays."""
    i = wp.tid()
    a = pick(x, y, i)
    out[i] = a[i] * a[i] + x[i]


@wp.kernel
def row(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), n: int, out: wp.array(dtype=float)):
    """A row that a branch in a loop chooses."""
    i = wp.tid()
    r = x[i]
    s = float(0.0)
    for k in range(n):
        if k % 2 == 0:
            r = x[i]
        else:
            r = y[i]
        s += r[k % 3] * r[0]
    out[i] = s


@wp.kernel
def stored(x: wp.array(dtype=float), p: wp.array(dtype=float), q: wp.array(dtype=float)):
    """A store into one of two arrays."""
    i = wp.tid()
    a = p
    if i % 3 == 0:
        a = q
    a[i] = x[i] * x[i] * x[i]


@wp.kernel
def large_state(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    """A large local array that a loop overwrites."""
    i = wp.tid()
    t = wp.zeros(shape=300, dtype=float)
    for j in range(0, 300, 20):
        t[j] = x[i] + 0.001 * float(j)
    for r in range(n):
        for j in range(20, 300, 20):
            t[j] = t[j] * wp.sin(t[j - 20])
    s = float(0.0)
    for j in range(0, 300, 20):
        s += t[j]
    out[i] = s


@wp.struct
class Three:
    a: wp.array(dtype=float)
    b: wp.array(dtype=float)
    m: wp.array2d(dtype=float)


@wp.kernel
def fields(p: Three, n: int, out: wp.array(dtype=float)):
    """Arrays in a struct, and a row of one."""
    i = wp.tid()
    q = p.a
    s = float(0.0)
    for k in range(n):
        if k % 3 == 0:
            q = p.b
        elif k % 3 == 1:
            q = p.m[k % 2]
        else:
            q = p.a
        s += q[i % 3] * q[0]
    out[i] = s


@wp.kernel
def slice_choice(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    """Slices with steps, chosen by a loop."""
    i = wp.tid()
    r = x[0:3]
    s = float(1.0)
    for k in range(n):
        s = s * r[1] + r[0]
        r = x[k % 2 : 5 : 2]
    out[i] = s


@wp.kernel
def writes(x: wp.array(dtype=float), p: wp.array(dtype=float), q: wp.array(dtype=float), n: int):
    """A store into arrays that a loop swaps, which are read too."""
    i = wp.tid()
    a = p
    b = q
    for k in range(n):
        a[i] = b[i] * x[i] + a[i]
        t = a
        a = b
        b = t


@wp.kernel
def atomics(x: wp.array(dtype=float), p: wp.array(dtype=float), q: wp.array(dtype=float)):
    """Atomic additions to one of two arrays."""
    i = wp.tid()
    a = p
    if i % 3 == 0:
        a = q
    wp.atomic_add(a, i % 2, x[i] * x[i])


@wp.func
def pair(u: wp.array(dtype=float), v: wp.array(dtype=float), i: int):
    return u[i] * v[i]


@wp.kernel
def calls(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    """Three arrays that go round, in calls; a loop with a `break`."""
    i = wp.tid()
    a = x
    b = y
    c = z
    s = float(0.0)
    k = int(0)
    while k < n:
        s += pair(a, b, i) * c[i]
        t = a
        a = b
        b = c
        c = t
        k += 1
        if s > 100.0:
            break
    out[i] = s


@wp.func
def deep(u: wp.array(dtype=float), v: wp.array(dtype=float), i: int):
    if i > 2:
        return u
    for k in range(3):
        if v[k] > 0.5:
            return v
    return u


@wp.kernel
def returned(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    """A function that returns an array out of a loop; one is given what the other gave."""
    i = wp.tid()
    a = deep(x, y, i)
    b = deep(y, a, i + 1)
    out[i] = a[i] * b[i]


@wp.kernel
def selects(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    """`where`, and a conditional expression."""
    i = wp.tid()
    out[i] = wp.where(i % 2 == 0, x, y)[i] * (x if i > 2 else y)[0]


@wp.kernel
def many(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), d: wp.array(dtype=float), e: wp.array(dtype=float), f: wp.array(dtype=float), g: wp.array(dtype=float), h: wp.array(dtype=float), k: wp.array(dtype=float), out: wp.array(dtype=float)):
    """As many arrays as may be."""
    i = wp.tid()
    r = a
    for n in range(8):
        if n == 0:
            r = b
        elif n == 1:
            r = c
        elif n == 2:
            r = d
        elif n == 3:
            r = e
        elif n == 4:
            r = f
        elif n == 5:
            r = g
        elif n == 6:
            r = h
        else:
            r = k
        out[i] += r[i] * r[i]


@wp.kernel
def local_swap(x: wp.array(dtype=float), n: int, out: wp.array(dtype=float)):
    """Two local arrays that a loop swaps."""
    i = wp.tid()
    a = wp.zeros(shape=4, dtype=float)
    b = wp.zeros(shape=4, dtype=float)
    for j in range(4):
        a[j] = wp.sin(x[i] * float(j + 1))
    for r in range(n):
        for j in range(4):
            b[j] = a[j] * a[(j + 1) % 4]
        t = a
        a = b
        b = t
    out[i] = a[0] + a[3]


@wp.kernel
def large(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """More scalars than become values."""
    i = wp.tid()
    t = wp.zeros(shape=400, dtype=float)
    for j in range(0, 400, 21):
        t[j] = 0.01 * x[i] * float(j)
    s = float(0.0)
    for j in range(0, 400, 21):
        s += t[j] * t[399 - j]
    out[i] = 0.001 * s


@wp.kernel
def large_vec(x: wp.array(dtype=wp.vec3), n: int, out: wp.array(dtype=float)):
    """A large array of vectors in a loop, parts of which are set; `break` and `continue`."""
    i = wp.tid()
    for r in range(n):
        t = wp.zeros(shape=100, dtype=wp.vec3)
        for j in range(0, 100, 6):
            t[j] = x[i] * (0.01 * float(j))
            t[j][1] += t[wp.max(j - 6, 0)][2]
        for j in range(0, 100, 6):
            if j % 7 == 4:
                continue
            if t[j][0] > 0.8:
                break
            out[i] += wp.dot(t[j], t[99 - j]) * 0.01


@wp.kernel
def large_atomic(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """Atomic operations on a large local array."""
    i = wp.tid()
    t = wp.zeros(shape=300, dtype=float)
    for j in range(0, 300, 20):
        wp.atomic_add(t, (j * 7) % 5, x[i] * wp.sin(float(j)))
    out[i] = t[0] * t[1] + t[4]


@wp.kernel
def large_mat(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    """Rows of a large local array."""
    i = wp.tid()
    t = wp.zeros(shape=(20, 20), dtype=float)
    for j in range(0, 20, 3):
        for k in range(0, 20, 3):
            t[j, k] = x[i] * 0.1 * float(j - k)
    for j in range(0, 19, 3):
        row = t[j]
        for k in range(0, 20, 3):
            row[k] = row[k] * t[j + 1, k] + x[i]
    s = float(0.0)
    for j in range(0, 20, 3):
        s += t[j, j] * t[j, 19 - j]
    out[i] = s * 0.01


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    b: float


@wp.kernel
def structs(p: Pair, q: Pair, n: int, out: wp.array(dtype=float)):
    """A struct with an array, which a loop chooses."""
    i = wp.tid()
    r = p
    s = float(0.0)
    for k in range(n):
        s += r.a[i] * r.b
        if k % 2 == 0:
            r = q
        else:
            r = p
    out[i] = s


@wp.func
def pair_product(p: Pair, i: int):
    return p.a[i] * p.b


@wp.kernel
def made_struct(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    """An array in a struct that the kernel makes, given to a function."""
    i = wp.tid()
    s = Pair()
    s.a = x
    s.b = y[i]
    if i % 2 == 0:
        s.a = y
    out[i] = pair_product(s, i) * s.a[0]


@wp.kernel
def chosen_struct(p: Pair, q: Pair, n: int, out: wp.array(dtype=float)):
    """A struct that a loop chooses, given to a function."""
    i = wp.tid()
    r = p
    s = float(0.0)
    for k in range(n):
        s += pair_product(r, i)
        if k % 2 == 0:
            r = q
        else:
            r = p
    out[i] = s


@wp.struct
class Beside:
    v: wp.vec3
    values: wp.array(dtype=float)


@wp.kernel
def component_beside(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    """An array in a struct of which a loop sets a component of another field: it stays the same array."""
    i = wp.tid()
    s = Beside()
    s.values = x
    for q in range(n):
        s.v[q % 3] += x[i] * float(q)
    y[i] = s.values[i] * s.v[1]
