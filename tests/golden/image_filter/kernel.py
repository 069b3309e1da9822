import warp as wp

WEIGHTS = wp.constant(wp.vec3(0.25, 0.5, 0.25))


@wp.func
def clamped(image: wp.array2d(dtype=float), i: int, j: int):
    return image[wp.clamp(i, 0, image.shape[0] - 1), wp.clamp(j, 0, image.shape[1] - 1)]


@wp.kernel
def image_filter(image: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    total = float(0.0)
    for a in range(3):
        for b in range(3):
            total += WEIGHTS[a] * WEIGHTS[b] * clamped(image, i + a - 1, j + b - 1)
    out[i, j] = total
