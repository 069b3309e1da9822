import warp as wp


@wp.struct
class Material:
    stiffness: float
    damping: float
    rest: wp.array(dtype=float)


@wp.kernel
def struct_params(x: wp.array(dtype=float), v: wp.array(dtype=float), m: Material, f: wp.array(dtype=float)):
    i = wp.tid()
    f[i] = m.stiffness * (m.rest[i] - x[i]) - m.damping * v[i]
