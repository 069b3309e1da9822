# Random numbers. A generator is one uint32 that every draw advances by a PCG hash (Jarzynski and
# Olano, Hash Functions for GPU Rendering, Journal of Computer Graphics Techniques 9(3), 2020), so
# sequences are the same on every machine.

_TWO_PI = 6.283185307179586


@func
@no_grad("integers")
def _pcg(state: uint32) -> uint32:
    """The next state of a generator."""
    b = state * uint32(747796405) + uint32(2891336453)
    c = ((b >> ((b >> uint32(28)) + uint32(4))) ^ b) * uint32(277803737)
    return (c >> uint32(22)) ^ c


@func
@no_grad("integers")
def rand_init(seed: int32) -> uint32:
    """A generator that starts from `seed`."""
    return _pcg(uint32(seed))


@func
@no_grad("integers")
def rand_init(seed: int32, offset: int32) -> uint32:
    """A generator that starts from `seed` and `offset`, such as the thread's index."""
    return _pcg(uint32(seed) + _pcg(uint32(offset)))


# ---- Uniform
# ------------------------------------------------------------------------------------------------------------


@func
@no_grad("integers")
def randu(state: ref[uint32]) -> uint32:
    """A random uint32; advances `state`."""
    state = _pcg(state)
    return state


@func
@no_grad("integers")
def randu(state: ref[uint32], low: uint32, high: uint32) -> uint32:
    """A random uint32 from `low` to before `high`; advances `state`."""
    return randu(state) % (high - low) + low


@func
@no_grad("integers")
def randi(state: ref[uint32]) -> int32:
    """A random int32; advances `state`."""
    return int32(randu(state))


@func
@no_grad("integers")
def randi(state: ref[uint32], low: int32, high: int32) -> int32:
    """A random int32 from `low` to before `high`; advances `state`."""
    return int32(randu(state) % uint32(high - low) + uint32(low))


@func
@no_grad("the state is an integer")
def randf(state: ref[uint32]) -> float32:
    """A random number from 0 to 1 - 2**-24, a multiple of 2**-24; advances `state`."""
    return float32(randu(state) >> uint32(8)) * 5.9604644775390625e-8


@func
def randf(state: ref[uint32], low: float32, high: float32) -> float32:
    """A random number from `low` to `high`; advances `state`."""
    return (high - low) * randf(state) + low


# ---- Other distributions
# ------------------------------------------------------------------------------------------------


@func
@no_grad("the state is an integer")
def randn(state: ref[uint32]) -> float32:
    """A normally distributed number with mean 0 and variance 1, by the method of Box and Muller; advances `state`."""
    # The offset keeps the logarithm finite.
    radius = sqrt(-2.0 * log(randf(state) + 5.96e-8))
    return radius * cos(float32(_TWO_PI) * randf(state))


@func
@no_grad("the result is an index")
def sample_cdf(state: ref[uint32], cdf: Array[float32, 1]) -> int32:
    """A random index with the cumulative distribution `cdf`, whose last element is 1; advances `state`."""
    return lower_bound(cdf, randf(state))


@func
@no_grad("the result is an integer")
def poisson(state: ref[uint32], lam: float32) -> uint32:
    """A Poisson distributed count with mean `lam`; advances `state`."""
    if lam >= 10.0:
        return _poisson_rejection(state, lam)
    if lam == 0.0:
        return uint32(0)
    return _poisson_product(state, lam)


@func
@no_grad("the result is an integer")
def _poisson_product(state: ref[uint32], lam: float32) -> uint32:
    """Counts uniform numbers until their product falls to `exp(-lam)` (Knuth)."""
    bound = exp(-lam)
    count = uint32(0)
    product = randf(state)
    while product > bound:
        count += uint32(1)
        product *= randf(state)
    return count


@func
@no_grad("the result is an integer")
def _poisson_rejection(state: ref[uint32], lam: float32) -> uint32:
    """Transformed rejection: algorithm PTRS of Hoermann, Insurance: Mathematics and Economics 12, 1993."""
    log_lam = log(lam)
    b = 0.931 + 2.53 * sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2.0)
    k = float32(0.0)
    while True:
        u = randf(state) - 0.5
        v = randf(state)
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + lam + 0.43)
        if us >= 0.07 and v <= limit:
            break
        if k >= 0.0 and (us >= 0.013 or v <= us):
            if log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -lam + k * log_lam - _log_gamma(k + 1.0):
                break
    return uint32(k)


@func
@no_grad("used for choices only")
def _log_gamma(x: float32) -> float32:
    """Logarithm of the gamma function for `x >= 1`: Stirling's series above 7, the recurrence below."""
    if x == 1.0 or x == 2.0:
        return 0.0
    shift = 0
    if x < 7.0:
        shift = int32(7.0 - x)
    y = x + float32(shift)
    z = (1.0 / y) * (1.0 / y)
    # B(2n) / (2n (2n - 1)) for n = 10 .. 1, B the Bernoulli numbers.
    s = float32(-1.392432216905901)
    s = s * z + 0.1796443723688307
    s = s * z - 0.02955065359477124
    s = s * z + 0.00641025641025641
    s = s * z - 0.001917526917526918
    s = s * z + 0.0008417508417508418
    s = s * z - 0.0005952380952380953
    s = s * z + 0.0007936507936507937
    s = s * z - 0.002777777777777778
    s = s * z + 0.08333333333333333
    result = s / y + 0.9189385332046727 + (y - 0.5) * log(y) - y
    for i in range(shift):
        y -= 1.0
        result -= log(y)
    return result


# ---- Points in shapes
# ---------------------------------------------------------------------------------------------------


@func
@no_grad("the state is an integer")
def _angle(state: ref[uint32]) -> float32:
    """A uniformly distributed angle from 0 to 2 pi."""
    return float32(_TWO_PI) * randf(state)


@func
@no_grad("the state is an integer")
def _direction(phi: float32, theta: float32) -> Vec[3, float32]:
    """The unit vector at angle `phi` from z and `theta` about z."""
    return Vec[3, float32](cos(theta) * sin(phi), sin(theta) * sin(phi), cos(phi))


@func
@no_grad("the state is an integer")
def _inside(state: ref[uint32], phi: float32) -> Vec[3, float32]:
    """A point of the unit ball in a direction at angle `phi` from z; its radius has the density of the volume."""
    theta = _angle(state)
    r = pow(randf(state), float32(0.3333333333333333))
    return Vec[3, float32](r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi))


@func
@no_grad("the state is an integer")
def sample_triangle(state: ref[uint32]) -> Vec[2, float32]:
    """Barycentric coordinates `(u, v)` of a random point of a triangle, with even density; advances `state`."""
    r = sqrt(randf(state))
    return Vec[2, float32](1.0 - r, randf(state) * r)


@func
@no_grad("the state is an integer")
def sample_unit_ring(state: ref[uint32]) -> Vec[2, float32]:
    """A random point of the unit circle's line; advances `state`."""
    theta = _angle(state)
    return Vec[2, float32](cos(theta), sin(theta))


@func
@no_grad("the state is an integer")
def sample_unit_disk(state: ref[uint32]) -> Vec[2, float32]:
    """A random point of the unit disk, with even density; advances `state`."""
    r = sqrt(randf(state))
    theta = _angle(state)
    return Vec[2, float32](r * cos(theta), r * sin(theta))


@func
@no_grad("the state is an integer")
def sample_unit_sphere_surface(state: ref[uint32]) -> Vec[3, float32]:
    """A random point of the unit sphere's surface, with even density; advances `state`."""
    phi = acos(1.0 - 2.0 * randf(state))
    return _direction(phi, _angle(state))


@func
@no_grad("the state is an integer")
def sample_unit_sphere(state: ref[uint32]) -> Vec[3, float32]:
    """A random point of the unit ball, with even density; advances `state`."""
    phi = acos(1.0 - 2.0 * randf(state))
    return _inside(state, phi)


@func
@no_grad("the state is an integer")
def sample_unit_hemisphere_surface(state: ref[uint32]) -> Vec[3, float32]:
    """A random point of the unit sphere's surface with `z >= 0`, with even density; advances `state`."""
    phi = acos(1.0 - randf(state))
    return _direction(phi, _angle(state))


@func
@no_grad("the state is an integer")
def sample_unit_hemisphere(state: ref[uint32]) -> Vec[3, float32]:
    """A random point of the unit ball with `z >= 0`, with even density in angle and volume; advances `state`."""
    phi = acos(1.0 - randf(state))
    return _inside(state, phi)


@func
@no_grad("the state is an integer")
def sample_unit_square(state: ref[uint32]) -> Vec[2, float32]:
    """A random point of the square of side 1 about the origin; advances `state`."""
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    return Vec[2, float32](x, y)


@func
@no_grad("the state is an integer")
def sample_unit_cube(state: ref[uint32]) -> Vec[3, float32]:
    """A random point of the cube of side 1 about the origin; advances `state`."""
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    z = randf(state) - 0.5
    return Vec[3, float32](x, y, z)


@func
@no_grad("the state is an integer")
def sample_unit_hypercube(state: ref[uint32]) -> Vec[4, float32]:
    """A random point of the 4-cube of side 1 about the origin; advances `state`."""
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    z = randf(state) - 0.5
    w = randf(state) - 0.5
    return Vec[4, float32](x, y, z, w)
