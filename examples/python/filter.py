"""A bilateral filter: smooths a picture, and leaves its edges.

    python filter.py [before_after.png] [--device cuda:0,cuda:1]

Several devices share the rows of the picture, and each has some rows of its neighbours.
"""

import kc
import numpy as np
import picture


@kc.kernel
def bilateral(
    first: int, image: kc.array2d(dtype=kc.vec3), out: kc.array2d(dtype=kc.vec3), radius: int, space: float = 3.0,
    colour: float = 0.15,
):
    k, j = kc.tid()
    i = first + k
    here = image[i, j]
    total, weights = kc.vec3(), float(0.0)
    for a in range(kc.max(i - radius, 0), kc.min(i + radius + 1, image.shape[0])):
        for b in range(kc.max(j - radius, 0), kc.min(j + radius + 1, image.shape[1])):
            other = image[a, b]
            d = other - here
            r2 = float((a - i) * (a - i) + (b - j) * (b - j))
            w = kc.exp(-0.5 * (r2 / (space * space) + kc.dot(d, d) / (colour * colour)))
            total += w * other
            weights += w
    out[i, j] = total / weights


def scene(n, noise, seed=0):
    """A disc on a slope of colours, and the same with noise."""
    y, x = np.mgrid[0:n, 0:n] / n
    clean = np.stack([x, 0.5 * y, 1 - x], axis=-1)
    clean[(x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.08] = [1.0, 0.9, 0.3]
    noisy = clean + noise * np.random.default_rng(seed).standard_normal(clean.shape)
    return clean.astype(np.float32), noisy.astype(np.float32)


def smooth(noisy, radius=5, devices=("cpu",)):
    split = kc.Split(len(noisy), devices, halo=radius)
    image, out = (split.scatter(noisy, dtype=kc.vec3) for _ in range(2))
    split.launch(bilateral, noisy.shape[:2], split.first, image, out, radius)
    return split.gather(out)


if __name__ == "__main__":
    file, devices = picture.arguments("before_after.png", devices=True)
    clean, noisy = scene(512, 0.08)
    done = smooth(noisy, devices=devices)
    print(f"distance from the clean picture: {np.std(noisy - clean):.3f} before, {np.std(done - clean):.3f} after")
    picture.save(file, np.hstack([noisy, done]))
