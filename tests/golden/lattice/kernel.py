import warp as wp

vec9i = wp.types.vector(length=9, dtype=int)
vec9f = wp.types.vector(length=9, dtype=float)

WIDTH = wp.constant(256)
HEIGHT = wp.constant(128)
OMEGA = wp.constant(1.85)
cx = wp.constant(vec9i(0, 1, 0, -1, 0, 1, -1, -1, 1))
cy = wp.constant(vec9i(0, 0, 1, 0, -1, 1, 1, -1, -1))
# fmt: off
weights = wp.constant(vec9f(4.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0))
# fmt: on


@wp.func
def equilibrium(q: int, rho: float, u: wp.vec2):
    cu = 3.0 * (float(cx[q]) * u[0] + float(cy[q]) * u[1])
    return weights[q] * rho * (1.0 + cu + 0.5 * cu * cu - 1.5 * wp.dot(u, u))


@wp.kernel
def lattice(f: wp.array3d(dtype=float), f_out: wp.array3d(dtype=float)):
    """A step of a lattice-Boltzmann flow (D2Q9, BGK): the loops stay for readers, and are written out for processors."""
    x, y = wp.tid()
    rho = float(0.0)
    momentum = wp.vec2(0.0, 0.0)
    for q in range(9):
        fq = f[q, (x - cx[q] + WIDTH) % WIDTH, (y - cy[q] + HEIGHT) % HEIGHT]
        rho += fq
        momentum += fq * wp.vec2(float(cx[q]), float(cy[q]))
    u = momentum / rho
    for q in range(9):
        fq = f[q, (x - cx[q] + WIDTH) % WIDTH, (y - cy[q] + HEIGHT) % HEIGHT]
        f_out[q, x, y] = fq + OMEGA * (equilibrium(q, rho, u) - fq)
