"""A cloth hangs at two corners: which wind carries its middle to a target? Gradients through all steps by a tape.

    python cloth.py [cloth.png] [--device cuda]
"""

import kc
import numpy as np
import picture


@kc.func
def spring(x: kc.vec3, y: kc.vec3, v: kc.vec3, w: kc.vec3, rest: float):
    d = y - x
    length = kc.length(d)
    along = d / length
    return along * (400.0 * (length - rest) + 0.5 * kc.dot(w - v, along))


@kc.kernel
def forces(
    x: kc.array2d(dtype=kc.vec3), v: kc.array2d(dtype=kc.vec3), wind: kc.array(dtype=kc.vec3), rest: float,
    f: kc.array2d(dtype=kc.vec3),
):
    i, j = kc.tid()
    total = kc.vec3(0.0, -9.81, 0.0) + 0.5 * (wind[0] - v[i, j])
    for k in range(-2, 3):
        for l in range(-2, 3):
            # Neighbours along the threads, across, and one further, which keeps the cloth from folding.
            if (k * k + l * l == 1 or k * k + l * l == 2 or k * k + l * l == 4):
                a, b = i + k, j + l
                if a >= 0 and b >= 0 and a < x.shape[0] and b < x.shape[1]:
                    apart = rest * kc.sqrt(float(k * k + l * l))
                    total += spring(x[i, j], x[a, b], v[i, j], v[a, b], apart)
    f[i, j] = total


@kc.kernel
def move(dt: float, f: kc.array2d(dtype=kc.vec3), x: kc.array2d(dtype=kc.vec3), v: kc.array2d(dtype=kc.vec3)):
    i, j = kc.tid()
    # Two corners are held.
    if j > 0 or (i > 0 and i < x.shape[0] - 1):
        v[i, j] = v[i, j] + f[i, j] * dt
        x[i, j] = x[i, j] + v[i, j] * dt


@kc.kernel
def miss(x: kc.array2d(dtype=kc.vec3), target: kc.vec3, centre: kc.array(dtype=kc.vec3)):
    i, j = kc.tid()
    kc.atomic_add(centre, 0, (x[i, j] - target) / float(x.shape[0] * x.shape[1]))


@kc.kernel
def square(centre: kc.array(dtype=kc.vec3), loss: kc.array(dtype=float)):
    loss[0] = kc.dot(centre[0], centre[0])


TARGET = kc.vec3(0.15, -0.2, -0.2)


def blow(wind, n=16, steps=150, dt=0.005, device="cpu"):
    """Where the cloth is at the end, how far it misses, and the gradient of that by the wind."""
    rest = 1.0 / (n - 1)
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), axis=-1) * rest - 0.5
    x = np.zeros((n, n, 3), np.float32)
    x[..., 0], x[..., 2] = grid[..., 0], grid[..., 1]
    x = kc.array(x, dtype=kc.vec3, device=device)
    v, f = (kc.zeros((n, n), dtype=kc.vec3, device=device) for _ in range(2))
    wind = kc.array([wind], dtype=kc.vec3, device=device)
    centre, loss = kc.zeros(1, dtype=kc.vec3, device=device), kc.zeros(1, device=device)
    with kc.Tape() as tape:
        # The same arrays in every step: the tape keeps what its derivatives need.
        for _ in range(steps):
            forces((n, n), x, v, wind, rest, f)
            move((n, n), dt, f, x, v)
        miss((n, n), x, TARGET, centre)
        square(1, centre, loss)
    tape.backward(loss)
    return x.numpy(), float(loss.numpy()[0]), tape.gradient(wind).numpy()[0]


def aim(rounds=40, rate=30.0, **options):
    """The wind, and how the miss goes down."""
    wind, losses = np.zeros(3), []
    for _ in range(rounds):
        x, loss, gradient = blow(wind, **options)
        losses.append(loss)
        wind -= rate * gradient
    return wind, losses, x


if __name__ == "__main__":
    file, device = picture.arguments("cloth.png")
    wind, losses, x = aim(device=device)
    print(f"wind {wind.round(2)}: the square of the miss goes from {losses[0]:.3f} to {losses[-1]:.2e}")
    image = np.ones((400, 400))
    # Seen from the side and a little from above.
    flat = np.stack([x[..., 0] + 0.3 * x[..., 2], x[..., 1] - 0.4 * x[..., 2]], axis=-1)
    for along in (flat, flat.transpose(1, 0, 2)):
        line = (along[:-1, None] + np.linspace(0, 1, 20)[None, :, None, None] * (along[1:] - along[:-1])[:, None]).reshape(-1, 2)
        at = (line * 220 + [200, 260]).astype(int).clip(0, 399)
        image[399 - at[:, 1], at[:, 0]] = 0
    picture.save(file, image)
