"""The wave equation on a square grid with reflecting walls, by the leapfrog method.

One launch of `step` moves the height field by one time step: `before` holds the field one step ago and receives the
next one, so the host swaps the two arrays after each launch. `courant` is (c dt / dx)^2 and must stay below 0.5.
"""

import warp as wp


@wp.func
def reflect(i: int, n: int) -> int:
    """Index of the mirror image of a cell just outside the grid."""
    return wp.clamp(i, 0, n - 1)


@wp.func
def laplacian(field: wp.array2d(dtype=float), i: int, j: int) -> float:
    rows = field.shape[0]
    columns = field.shape[1]
    around = (
        field[reflect(i - 1, rows), j]
        + field[reflect(i + 1, rows), j]
        + field[i, reflect(j - 1, columns)]
        + field[i, reflect(j + 1, columns)]
    )
    return around - 4.0 * field[i, j]


@wp.kernel
def drop(field: wp.array2d(dtype=float), center: wp.vec2, radius: float, height: float):
    """Adds a smooth bump to the field."""
    i, j = wp.tid()
    offset = wp.vec2(float(i), float(j)) - center
    r = wp.length(offset) / radius
    if r < 1.0:
        field[i, j] = field[i, j] + height * (1.0 - r * r) * (1.0 - r * r)


@wp.kernel
def step(now: wp.array2d(dtype=float), before: wp.array2d(dtype=float), courant: float, damping: float):
    i, j = wp.tid()
    velocity = now[i, j] - before[i, j]
    before[i, j] = now[i, j] + (1.0 - damping) * velocity + courant * laplacian(now, i, j)
