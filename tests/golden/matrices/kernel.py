import warp as wp


@wp.kernel
def matrices(f: wp.array(dtype=wp.mat33), energy: wp.array(dtype=float), stress: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    m = f[i]
    j = wp.determinant(m)
    energy[i] = 0.5 * (wp.trace(wp.transpose(m) * m) - 3.0) - wp.log(j)
    stress[i] = m - wp.transpose(wp.inverse(m))
