"""Smoke in a box: advection, and a pressure that keeps the velocity free of divergence.

    python fluid.py [smoke.png] [--device cuda]
"""

import kc
import numpy as np
import picture


@kc.func
def sample(f: kc.array2d(dtype=float), x: float, y: float):
    """Between the four nearest cells."""
    x = kc.clamp(x, 0.0, float(f.shape[0] - 1))
    y = kc.clamp(y, 0.0, float(f.shape[1] - 1))
    i, j = int(x), int(y)
    k, l = kc.min(i + 1, f.shape[0] - 1), kc.min(j + 1, f.shape[1] - 1)
    s, t = x - float(i), y - float(j)
    return kc.lerp(kc.lerp(f[i, j], f[i, l], t), kc.lerp(f[k, j], f[k, l], t), s)


@kc.kernel
def advect(
    dt: float, u: kc.array2d(dtype=float), v: kc.array2d(dtype=float), f: kc.array2d(dtype=float), out: kc.array2d(dtype=float)
):
    i, j = kc.tid()
    out[i, j] = sample(f, float(i) - dt * u[i, j], float(j) - dt * v[i, j])


@kc.kernel
def heat(dt: float, smoke: kc.array2d(dtype=float), u: kc.array2d(dtype=float)):
    i, j = kc.tid()
    n = smoke.shape[1]
    if i > smoke.shape[0] - 8 and kc.abs(j - n // 2) < n // 12:
        smoke[i, j] = 1.0
    u[i, j] = u[i, j] - dt * smoke[i, j]


@kc.kernel
def divergence(u: kc.array2d(dtype=float), v: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        out[i, j] = 0.5 * (u[i + 1, j] - u[i - 1, j] + v[i, j + 1] - v[i, j - 1])


@kc.kernel
def relax(p: kc.array2d(dtype=float), d: kc.array2d(dtype=float), out: kc.array2d(dtype=float)):
    i, j = kc.tid()
    m, n = p.shape[0] - 1, p.shape[1] - 1
    around = p[kc.max(i - 1, 0), j] + p[kc.min(i + 1, m), j] + p[i, kc.max(j - 1, 0)] + p[i, kc.min(j + 1, n)]
    out[i, j] = 0.25 * (around - d[i, j])


@kc.kernel
def project(p: kc.array2d(dtype=float), u: kc.array2d(dtype=float), v: kc.array2d(dtype=float)):
    i, j = kc.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        u[i, j] = u[i, j] - 0.5 * (p[i + 1, j] - p[i - 1, j])
        v[i, j] = v[i, j] - 0.5 * (p[i, j + 1] - p[i, j - 1])
    else:
        u[i, j] = 0.0
        v[i, j] = 0.0


def simulate(n=256, steps=200, dt=1.0, sweeps=40, device="cpu"):
    """The smoke after so many steps, and the greatest divergence before and after the last projection."""
    shape = (n, n)
    smoke, u, v, p, d, other = (kc.zeros(shape, device=device) for _ in range(6))
    before = 0.0
    for step in range(steps):
        heat(shape, 0.1 * dt, smoke, u)
        next_u, next_v, next_smoke = (kc.empty(shape, device=device) for _ in range(3))
        advect(shape, dt, u, v, u, next_u)
        advect(shape, dt, u, v, v, next_v)
        advect(shape, dt, u, v, smoke, next_smoke)
        u, v, smoke = next_u, next_v, next_smoke
        divergence(shape, u, v, d)
        if step == steps - 1:
            before = float(np.abs(d.numpy()).mean())
        for _ in range(sweeps):
            relax(shape, p, d, other)
            p, other = other, p
        project(shape, p, u, v)
    divergence(shape, u, v, d)
    return smoke.numpy(), before, float(np.abs(d.numpy()).mean())


if __name__ == "__main__":
    file, device = picture.arguments("smoke.png")
    smoke, before, after = simulate(device=device)
    print(f"mean divergence {before:.2e} before the last projection, {after:.2e} after it")
    picture.save(file, smoke)
