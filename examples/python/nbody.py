"""A disc of bodies around a heavy one, each pulled by all others.

    python nbody.py [bodies.png] [--device cuda]
"""

import kc
import numpy as np
import picture


@kc.kernel
def kick(dt: float, mass: kc.array(dtype=float), x: kc.array(dtype=kc.vec3), v: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    total = kc.vec3()
    for j in range(x.shape[0]):
        d = x[j] - x[i]
        r2 = kc.dot(d, d) + 1.0e-4
        total += d * (mass[j] / (r2 * kc.sqrt(r2)))
    v[i] = v[i] + total * dt


@kc.kernel
def drift(dt: float, v: kc.array(dtype=kc.vec3), x: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    x[i] = x[i] + v[i] * dt


@kc.kernel
def energy(
    mass: kc.array(dtype=float), x: kc.array(dtype=kc.vec3), v: kc.array(dtype=kc.vec3), out: kc.array(dtype=kc.float64)
):
    i = kc.tid()
    potential = float(0.0)
    for j in range(x.shape[0]):
        if j != i:
            d = x[j] - x[i]
            potential -= 0.5 * mass[i] * mass[j] / kc.sqrt(kc.dot(d, d) + 1.0e-4)
    kc.atomic_add(out, 0, kc.float64(potential + 0.5 * mass[i] * kc.dot(v[i], v[i])))


def start(n, seed=0):
    rng = np.random.default_rng(seed)
    r, angle = 0.3 + rng.random(n), 2 * np.pi * rng.random(n)
    x = np.stack([r * np.cos(angle), r * np.sin(angle), 0.02 * rng.standard_normal(n)], axis=-1)
    v = np.stack([-np.sin(angle), np.cos(angle), 0 * r], axis=-1) / np.sqrt(r)[:, None]
    mass = np.full(n, 0.05 / n)
    x[0], v[0], mass[0] = 0, 0, 1
    return mass.astype(np.float32), x.astype(np.float32), v.astype(np.float32)


def total(mass, x, v):
    out = kc.zeros(1, dtype=kc.float64, device=x.device)
    energy(len(mass), mass, x, v, out)
    return float(out.numpy()[0])


def simulate(n=2000, steps=200, dt=0.005, device="cpu"):
    """Where the bodies are at the end, and the energy at first and at last."""
    mass, *others = start(n)
    mass = kc.array(mass, device=device)
    x, v = (kc.array(vectors, dtype=kc.vec3, device=device) for vectors in others)
    first = total(mass, x, v)
    for _ in range(steps):
        drift(n, 0.5 * dt, v, x)
        kick(n, dt, mass, x, v)
        drift(n, 0.5 * dt, v, x)
    return x.numpy(), first, total(mass, x, v)


if __name__ == "__main__":
    file, device = picture.arguments("bodies.png")
    x, first, last = simulate(device=device)
    print(f"energy {first:.5f} at first, {last:.5f} at last")
    image, at = np.zeros((512, 512)), ((x[:, :2] + 1.5) * 170).astype(int).clip(0, 511)
    np.add.at(image, (at[:, 1], at[:, 0]), 0.5)
    picture.save(file, image)
