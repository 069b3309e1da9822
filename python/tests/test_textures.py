"""Textures: samples in kernels, gradients, what they are made of, and what they refuse."""

import copy
import gc

import kc
import kc.warp as wp
import numpy as np
import pytest
from kc import Texture2D


@kc.struct
class Material:
    image: kc.Texture2D
    scale: float


@kc.kernel
def row(t: kc.Texture1D, u: kc.array(dtype=float), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = kc.texture_sample(t, u[i], dtype=float)


@kc.kernel
def image(t: Texture2D, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=kc.vec2)):
    i = kc.tid()
    out[i] = kc.texture_sample(t, x[i][0], x[i][1], dtype=kc.vec2f, lod=x[i][2])


@kc.kernel
def stack(t: kc.Texture3D, x: kc.array(dtype=kc.vec3), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = kc.texture_sample(t, x[i], dtype=float)


@kc.kernel
def shade(m: Material, many: kc.array(dtype=kc.Texture2D), out: kc.array(dtype=float)):
    i = kc.tid()
    one = many[i]
    out[i] = kc.texture_sample(m.image, 0.5, 0.5, dtype=float) * m.scale
    out[i] += kc.texture_sample(one, 0.5, 0.5, dtype=float) + float(one.width)


@kc.kernel
def squares(v: kc.array(dtype=float), loss: kc.array(dtype=float)):
    i = kc.tid()
    kc.atomic_add(loss, 0, v[i] * v[i])


def sampled(t, u):
    u = np.array(u, np.float32)
    out = np.zeros(len(u), np.float32)
    row(len(u), t, u, out)
    return out.tolist()


def test_what_is_beside_a_texture():
    texels = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
    u = [-0.25, 0.0, 0.5, 1.0, 1.25]
    found = {mode.name: sampled(kc.Texture1D(texels, address_mode=mode), u) for mode in kc.TextureAddressMode}
    assert found["WRAP"] == [2.5, 1.5, 1.5, 1.5, 0.5]
    assert found["CLAMP"] == [0.0, 0.0, 1.5, 3.0, 3.0]
    assert found["MIRROR"] == [0.5, 0.0, 1.5, 3.0, 2.5]
    assert found["BORDER"] == [0.0, 0.0, 1.5, 1.5, 0.0]


def test_coordinates_may_be_in_texels():
    t = kc.Texture1D(np.arange(4, dtype=np.uint8), normalized_coords=False, filter_mode=kc.TextureFilterMode.CLOSEST)
    assert sampled(t, [0.0, 0.99, 1.0, 3.5, 9.0]) == [float(np.float32(n) / np.float32(255)) for n in (0, 0, 1, 3, 3)]


def test_numbers_of_all_types():
    for name, number, worth in (
        ("uint8", 255, 1.0), ("uint16", 65535, 1.0), ("uint32", 7, 7.0), ("int8", -128, -1.0), ("int16", -32768, -1.0), ("int32", -7, -7.0),
        ("float16", 0.5, 0.5), ("float32", -3.25, -3.25),
    ):
        t = kc.Texture1D(np.full(3, number, name))
        assert t.dtype.__name__ == name
        assert sampled(t, [0.4]) == [worth], name


def test_textures_in_structs_and_arrays():
    pictures = [kc.Texture2D(np.full((2, 3 + n), n, np.float32)) for n in range(3)]
    many = kc.array(pictures, dtype=kc.Texture2D)
    m = Material(kc.Texture2D(np.full((2, 2), 10.0, np.float32)), 2.0)
    del pictures
    gc.collect()
    out = np.zeros(3, np.float32)
    shade(3, m, many, out)
    assert out.tolist() == [23.0, 25.0, 27.0]
    shade(3, Material(), many, out)
    assert out.tolist() == [3.0, 5.0, 7.0]
    many[1] = kc.Texture2D(np.full((1, 1), 100.0, np.float32))
    gc.collect()
    shade(3, Material(), many, out)
    assert out.tolist() == [3.0, 101.0, 7.0]


def test_none_is_a_texture_without_texels():
    assert sampled(None, [0.5]) == [0.0]


def test_a_texture_of_another_kind_is_refused():
    with pytest.raises(kc.Error, match="expected a `Texture1D`, found a `Texture2D`") as caught:
        sampled(kc.Texture2D(np.zeros((2, 2), np.float32)), [0.5])
    assert caught.value.code == "E1005"
    with pytest.raises(kc.Error):
        sampled(kc.HashGrid(2, 2, 2), [0.5])


def check(kernel, texture, x, out, step):
    """Gradients beside differences, at places where the samples are polynomials."""
    rng = np.random.default_rng(3)
    seeds = rng.uniform(-1, 1, out).astype(np.float32)

    def total(x):
        found = np.zeros(out, np.float32)
        kernel(len(x), texture, x, found)
        return float((found.astype(np.float64) * seeds).sum())

    with kc.Tape() as tape:
        x, found = kc.array(x, dtype=kc.vec3, requires_grad=True), kc.zeros(out[0], dtype=kc.vec2 if len(out) > 1 else float)
        kernel(len(x.numpy()), texture, x, found)
    tape.backward(grads={found: seeds})
    places = [(x.numpy(), tape.gradient(x))]
    if texture.data is not None:
        places.append((texture.data.numpy(), tape.gradient(texture.data)))
    for numbers, gradient in places:
        gradient = np.asarray(gradient)
        assert np.abs(gradient).max() > 0.01
        for at in np.ndindex(numbers.shape):
            before, ends = numbers[at], []
            for sign in (1, -1):
                numbers[at] = before + np.float32(sign * step)
                ends.append(total(x.numpy()))
            numbers[at] = before
            assert gradient[at] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=5e-3, abs=5e-3), at


@pytest.mark.parametrize("mode", list(kc.TextureAddressMode))
@pytest.mark.parametrize("normalized", [True, False])
def test_gradients_of_coordinates_and_texels(mode, normalized):
    rng = np.random.default_rng(7)
    # Away from the borders of cells, and beside the texture, too.
    cells = rng.integers(-5, 9, (30, 3)) + rng.choice([0.2, 0.3, 0.7, 0.8], (30, 3))
    size = np.array([4, 4, 4]) if normalized else 1
    x = (cells + 0.5) / size
    texels = rng.uniform(-1, 1, (4, 4, 4)).astype(np.float32)
    t = kc.Texture3D(texels, address_mode=mode, normalized_coords=normalized, requires_grad=True)
    check(stack, t, x.astype(np.float32), (30,), 2.0**-6 / 4)
    x[:, 2] = 0.0
    t = kc.Texture2D(rng.uniform(-1, 1, (4, 4, 2)).astype(np.float32), address_mode=mode, normalized_coords=normalized, requires_grad=True)
    check(image, t, x.astype(np.float32), (30, 2), 2.0**-6 / 4)


def test_gradients_of_the_level_of_detail():
    rng = np.random.default_rng(9)
    x = ((rng.integers(-3, 12, (30, 3)) + 0.5) / 8.0 + rng.choice([0.01, 0.02], (30, 3))).astype(np.float32)
    x[:, 2] = rng.choice([-1.0, 0.3, 0.6, 1.4, 1.8, 7.0], 30)
    t = kc.Texture2D(rng.uniform(-1, 1, (8, 8, 2)).astype(np.float32), num_mip_levels=0, address_mode=kc.TextureAddressMode.WRAP)
    assert t.num_mip_levels == 4 and t.data is None
    check(image, t, x, (30, 2), 2.0**-9)


def test_the_nearest_texel_has_gradients_and_coordinates_have_none():
    t = kc.Texture1D(np.arange(4, dtype=np.float32), filter_mode=kc.TextureFilterMode.CLOSEST, requires_grad=True)
    u, v, loss = kc.array([0.1, 0.6, 0.7], dtype=float, requires_grad=True), kc.zeros(3), kc.zeros(1)
    with kc.Tape() as tape:
        row(3, t, u, v)
        squares(3, v, loss)
    tape.backward(loss)
    assert np.asarray(tape.gradient(u)).tolist() == [0.0] * 3
    assert np.asarray(tape.gradient(t.data)).tolist() == [0.0, 0.0, 8.0, 0.0]


@kc.func
def between(t: kc.Texture1D, i: int) -> float:
    return kc.texture_sample(t, (float(i) + 0.75) / 4.0, dtype=float)


@kc.kernel
def mixtures(t: kc.Texture1D, out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = between(t, i)


def test_texels_have_gradients_in_functions_of_integers():
    t = kc.Texture1D(np.array([2, 3, 5, 7], np.float32), requires_grad=True)
    with kc.Tape() as tape:
        out = kc.zeros(3, requires_grad=True)
        mixtures(3, t, out)
    assert out.numpy().tolist() == [2.25, 3.5, 5.5]
    tape.backward(grads={out: np.array([1, 2, 4], np.float32)})
    assert np.asarray(tape.gradient(t.data)).tolist() == [0.75, 1.75, 3.5, 1.0]


def test_tapes_know_the_texels_of_a_launch():
    t, u, v, loss = kc.Texture1D(np.array([0, 255], np.uint8)), kc.array([0.5], dtype=float, requires_grad=True), kc.zeros(1), kc.zeros(1)
    with kc.Tape() as tape:
        row(1, t, u, v)
        squares(1, v, loss)
        t.copy_from(np.array([255, 255], np.uint8))
    tape.backward(loss)
    # 2 v dv/du: v is a half, and dv/du two texels.
    assert np.asarray(tape.gradient(u)).tolist() == [2.0]


def test_copies():
    rng = np.random.default_rng(1)
    for dtype in ("uint8", "float32"):
        texels = rng.integers(0, 200, (3, 4, 2)).astype(dtype)
        t = kc.Texture2D(width=4, height=3, num_channels=2, dtype=getattr(kc, dtype))
        assert not t.numpy().any()
        t.copy_from(texels)
        texels[:] = 1
        assert t.numpy().shape == (3, 4, 2) and t.numpy().any()
        out = np.zeros((3, 4, 2), dtype)
        t.copy_to(out)
        np.testing.assert_array_equal(out, t.numpy())
        other = kc.Texture2D(texels)
        other.copy_from(t)
        np.testing.assert_array_equal(other.numpy(), out)
        with pytest.raises(kc.Error, match="of shape"):
            t.copy_from(texels[:2])


def test_kc_warp_has_them():
    t = wp.Texture2D(wp.array(np.ones((2, 3, 4), np.float32), dtype=wp.vec4), address_mode=(wp.TextureAddressMode.WRAP, 2))
    facts = (t.width, t.height, t.depth, t.num_channels, t.ndim, t.is_mipmapped, t.filter_mode, t.address_mode_u, t.address_mode_v)
    assert facts == (3, 2, 1, 4, 2, False, 1, 0, 2)
    x, out = wp.array([[0.5, 0.5, 0.0]], dtype=wp.vec3), wp.zeros(1, dtype=wp.vec2)
    wp.launch(image, dim=1, inputs=[t, x], outputs=[out])
    assert out.numpy().tolist() == [[1.0, 1.0]]
    assert isinstance(t, wp.Texture) and wp.Texture2D is kc.Texture2D


NUMBERS = np.zeros((4, 4), np.float32)
WRONG = {
    "E1011: a texture cannot be built: its height is 0": lambda: kc.Texture2D(np.zeros((0, 4), np.float32)),
    "E1011: a texture cannot be built: its width is 3000000000": lambda: kc.Texture1D(width=3_000_000_000, num_channels=1, dtype=kc.uint8),
    "E1011: a texture cannot be built: it has 3 channels": lambda: kc.Texture1D(np.zeros((4, 3), np.uint8)),
    "E1011: a texture cannot be built: it has 0 channels": lambda: kc.Texture1D(width=4, dtype=float),
    "E1011: a texture cannot be built: there is no memory for": lambda: kc.Texture3D(width=2**30, height=2**30, depth=2**30, num_channels=4, dtype=kc.uint8),
    "E1011: a texture cannot be built: it is to have 9 levels": lambda: kc.Texture2D(NUMBERS, num_mip_levels=9),
    "E1011: a texture cannot be built: texels of type int32": lambda: kc.Texture1D(np.zeros(4, np.int32), filter_mode=1),
    "E1011: there is no memory for": lambda: kc.Texture3D(width=2**30, height=2**30, depth=2**30, num_channels=4, dtype=float),
    "E1011: there is no TextureAddressMode 7": lambda: kc.Texture2D(NUMBERS, address_mode_v=7),
    "E1011: there is no TextureFilterMode 2": lambda: kc.Texture2D(NUMBERS, filter_mode=2),
    "E1011: the width is to be 5, and that of the texels is 4": lambda: kc.Texture2D(NUMBERS, width=5),
    "E1011: the texels are of type float32": lambda: kc.Texture2D(NUMBERS, dtype=kc.uint8),
    "E1011: a texture without texels needs a type": lambda: kc.Texture2D(width=4, height=4, num_channels=1),
    "E1011: a texture with levels of detail needs its texels": lambda: kc.Texture1D(width=4, num_channels=1, dtype=float, num_mip_levels=0),
    "E1005: the texels of a Texture1D are an array of 1 dimensions": lambda: kc.Texture1D(np.zeros((2, 2, 2), np.uint8)),
    "E1005: texels are of uint8": lambda: kc.Texture2D(np.zeros((2, 2))),
    "E1005: the texels are to be an array": lambda: kc.Texture2D("x"),
    "E1005: the width is a whole number": lambda: kc.Texture1D(width=1.5, num_channels=1, dtype=float),
    "E1005: a texture of kc is in the memory of the host": lambda: kc.Texture2D(NUMBERS, surface_access=True),
    "E1103: gradients of texels": lambda: kc.Texture2D(NUMBERS.astype(np.uint8), requires_grad=True),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be(text):
    code, text = text.split(": ", 1)
    with pytest.raises(kc.Error) as caught:
        WRONG[f"{code}: {text}"]()
    assert caught.value.code == code and caught.value.message.startswith(text), caught.value.message


def test_textures_are_not_copied():
    with pytest.raises(TypeError, match="a Texture1D is not copied"):
        copy.copy(kc.Texture1D(np.zeros(2, np.float32)))
