"""Operators of arrays: `kc.warp` beside Warp itself, with the same programs."""

import kc.warp
import numpy as np
import pytest
import warp

PROGRAMS = [
    "a + b", "a - b", "a * b", "b / a", "b // 4.0", "-b % 4.0", "a ** 2.0", "2.0 ** a", "-a", "+a", "2.0 - a", "i + 1", "i / 2", "-i // 2", "-i % 2", "i * i",
    "v * 2.0", "v + v", "-v", "v * a", "a[::2] * 2.0", "rows + a", "rows * rows", "m * v",
]


def values(wp):
    a = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    return {
        "a": a, "b": wp.array([4.0, -5.0, 6.5], dtype=float, device="cpu"), "i": wp.array([1, 2, 3], dtype=int, device="cpu"),
        "v": wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3, device="cpu"), "rows": wp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=float, device="cpu"),
        "m": wp.array([[[1.0, 2.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 1.0]]], dtype=wp.mat33, device="cpu"),
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_operator_gives_what_warp_gives(program):
    warp.config.quiet = True
    found, wanted = (eval(program, values(wp)) for wp in (kc.warp, warp))
    assert found.dtype.__name__ == getattr(wanted.dtype, "__name__", None) or found.numpy().dtype == wanted.numpy().dtype
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)


@pytest.mark.parametrize("program", ["a + i", "a < b", "a + [1.0, 2.0, 3.0]", "a @ b", "i + 1.5", "a + None"])
def test_what_warp_refuses_is_refused(program):
    for wp in (kc.warp, warp):
        with pytest.raises(Exception):
            eval(program, values(wp))
