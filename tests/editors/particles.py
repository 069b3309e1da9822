import warp as wp


@wp.struct
class Particle:
    position: wp.vec3
    mass: float


@wp.func
def weight(r: float, h: float):
    """A smooth weight that ends at `h`."""
    q = wp.max(0.0, 1.0 - r / h)
    return q * q * q


@wp.kernel
def density(particles: wp.array(dtype=Particle), n: int, h: float, out: wp.array(dtype=float)):
    i = wp.tid()
    here = particles[i].position
    total = float(0.0)
    for j in range(n):
        distance = wp.length(here - particles[j].position)
        total += weight(distance, h) * particles[j].mass
    out[i] = total


@wp.kernel
def broken(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * i
    total[0] = total[0] + x[i]
    speed = wp.sine(x[i])
