"""Warp's kernels that sample textures, in every way: run by the tests with Warp, and with Warp and kc."""

import sys

import numpy as np
import warp as wp

wp.config.quiet = True
wp.init()
wp.set_device("cpu")

N = 400
rng = np.random.default_rng(11)
results = {}


@wp.struct
class Material:
    image: wp.Texture2D
    scale: float


@wp.kernel
def sample1(t: wp.Texture1D, x: wp.array(dtype=wp.vec4), out: wp.array2d(dtype=float)):
    i = wp.tid()
    p = x[i]
    out[i, 0] = wp.texture_sample(t, p[0], dtype=float)
    two = wp.texture_sample(t, p[0], dtype=wp.vec2f, lod=p[3])
    four = wp.texture_sample(t, p[0], dtype=wp.vec4f, lod=p[3])
    for k in range(2):
        out[i, 1 + k] = two[k]
    for k in range(4):
        out[i, 3 + k] = four[k]


@wp.kernel
def sample2(t: wp.Texture2D, x: wp.array(dtype=wp.vec4), out: wp.array2d(dtype=float)):
    i = wp.tid()
    p = x[i]
    out[i, 0] = wp.texture_sample(t, p[0], p[1], dtype=float)
    two = wp.texture_sample(t, wp.vec2(p[0], p[1]), dtype=wp.vec2f, lod=p[3])
    four = wp.texture_sample(t, p[0], p[1], dtype=wp.vec4f, lod=p[3])
    for k in range(2):
        out[i, 1 + k] = two[k]
    for k in range(4):
        out[i, 3 + k] = four[k]


@wp.kernel
def sample3(t: wp.Texture3D, x: wp.array(dtype=wp.vec4), out: wp.array2d(dtype=float)):
    i = wp.tid()
    p = x[i]
    out[i, 0] = wp.texture_sample(t, p[0], p[1], p[2], dtype=float)
    two = wp.texture_sample(t, wp.vec3(p[0], p[1], p[2]), dtype=wp.vec2f, lod=p[3])
    four = wp.texture_sample(t, p[0], p[1], p[2], dtype=wp.vec4f, lod=p[3])
    for k in range(2):
        out[i, 1 + k] = two[k]
    for k in range(4):
        out[i, 3 + k] = four[k]


@wp.kernel
def held(m: Material, many: wp.array(dtype=wp.Texture2D), x: wp.array(dtype=wp.vec4), out: wp.array(dtype=float)):
    i = wp.tid()
    t = many[i % 3]
    out[i] = wp.texture_sample(m.image, x[i][0], x[i][1], dtype=float) * m.scale
    out[i] += wp.texture_sample(t, x[i][0], x[i][1], dtype=float) + float(t.width * t.height)


@wp.kernel
def loss2(t: wp.Texture2D, x: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.texture_sample(t, x[i][0], x[i][1], dtype=wp.vec2f, lod=x[i][2])
    wp.atomic_add(loss, 0, v[0] + 2.0 * v[1])


SAMPLES = {1: (wp.Texture1D, sample1), 2: (wp.Texture2D, sample2), 3: (wp.Texture3D, sample3)}
TYPES = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "float32")


def texels(dtype, shape):
    if dtype.startswith("float"):
        return rng.uniform(-3, 3, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def coordinates(normalized, size):
    x = rng.uniform(-2.5, 3.5, (N, 4))
    x[:60, :3] = rng.integers(-4, 5, (60, 3)) * 0.5
    x[60:100] *= 1e6
    x[:, 3] = rng.uniform(-1, 5, N)
    x[::7, 3] = rng.integers(-1, 5, len(x[::7]))
    if not normalized:
        x[:, :3] *= size
    x[100:106, 0] = [np.nan, np.inf, -np.inf, -1e-40, -0.0, 3e38]
    x[106, 3] = np.inf
    return wp.array(x.astype(np.float32), dtype=wp.vec4)


def run():
    number = 0
    for ndim, (Texture, kernel) in SAMPLES.items():
        for normalized in (True, False):
            for dtype in TYPES:
                for filter in (0, 1) if dtype not in ("uint32", "int32") else (0,):
                    modes = [int(m) for m in rng.integers(0, 4, 3)[:ndim]]
                    shape = [int(n) for n in rng.integers(1, 9, ndim)]
                    channels = int(rng.choice([1, 2, 4]))
                    data = texels(dtype, (*shape, channels) if channels > 1 else shape)
                    levels = int(rng.integers(0, int(np.log2(max(shape))) + 2))
                    between = 0 if dtype in ("uint32", "int32") else int(rng.integers(0, 2))
                    named = {f"address_mode_{axis}": mode for axis, mode in zip("uvw", modes)}
                    t = Texture(
                        data, filter_mode=filter, normalized_coords=normalized, num_mip_levels=levels, mip_filter_mode=between, device="cpu",
                        **named,
                    )
                    out = wp.zeros((N, 7), dtype=float)
                    x = coordinates(normalized, max(shape))
                    wp.launch(kernel, dim=N, inputs=[t, x], outputs=[out])
                    found = out.numpy()
                    if filter == 0:
                        # Where it is not a number no texel is the nearest: in C that is not defined.
                        found = found[~np.isin(np.arange(N), range(100, 103))]
                    results[f"{number}_{ndim}d_{dtype}_{filter}_{modes}_{normalized}_{levels}"] = found
                    number += 1


run()
many = [wp.Texture2D(texels("float32", (3 + n, 4)), device="cpu") for n in range(3)]
m = Material()
m.image, m.scale = wp.Texture2D(texels("uint8", (5, 5)), device="cpu", address_mode=wp.TextureAddressMode.WRAP), 2.0
out = wp.zeros(N, dtype=float)
wp.launch(held, dim=N, inputs=[m, wp.array(many, dtype=wp.Texture2D), coordinates(True, 1)], outputs=[out])
results["held"] = out.numpy()

for normalized in (True, False):
    t = wp.Texture2D(texels("float32", (6, 5, 2)), device="cpu", num_mip_levels=0, normalized_coords=normalized, address_mode=(2, 3))
    x = rng.uniform(-1, 2, (N, 3)) * [1 if normalized else 5, 1 if normalized else 6, 1]
    x[:40, 2] = 1.0
    x = wp.array(x.astype(np.float32), dtype=wp.vec3, requires_grad=True)
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(loss2, dim=N, inputs=[t, x], outputs=[loss])
    tape.backward(loss)
    results[f"gradient_{normalized}"] = x.grad.numpy()

np.savez(sys.argv[1], **results)
