"""One step of the heat equation on a rod, and how far it is from a measured one."""

import warp as wp


@wp.kernel
def step(old: wp.array(dtype=float), rate: float, new: wp.array(dtype=float)):
    i = wp.tid()
    left = old[wp.max(i - 1, 0)]
    right = old[wp.min(i + 1, old.shape[0] - 1)]
    new[i] = old[i] + rate * (left - 2.0 * old[i] + right)


@wp.kernel
def misfit(new: wp.array(dtype=float), measured: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    d = new[i] - measured[i]
    wp.atomic_add(loss, 0, d * d)
