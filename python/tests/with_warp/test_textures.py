"""Textures in Warp's kernels with kc's code and without: the same bits, and gradients."""

import json
import os
import subprocess
import sys

import kc
import numpy as np
import pytest
import warp as wp

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "texture_programs.py")


def python(*arguments, cwd):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=900, cwd=cwd)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    python(PROGRAM, "plain.npz", cwd=folder)
    python("-m", "kc", "run", "--report", "json", "--report-file", "report.json", PROGRAM, "kc.npz", cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    return dict(np.load(folder / "plain.npz")), dict(np.load(folder / "kc.npz")), report


def test_samples_are_those_of_warp_bit_by_bit(runs):
    plain, accelerated, _ = runs
    assert plain.keys() == accelerated.keys() and len(plain) > 80
    for name, expected in plain.items():
        if not name.startswith("gradient"):
            np.testing.assert_array_equal(accelerated[name], expected, err_msg=name)


def test_gradients_are_those_of_warp(runs):
    for name in ("gradient_True", "gradient_False"):
        assert np.abs(runs[0][name]).max() > 0.5
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=1e-4, atol=1e-4, err_msg=name)


def test_kc_ran_them_all(runs):
    kernels = runs[2]["kernels"]
    assert {kernel["kernel"].split(".")[-1] for kernel in kernels} == {"sample1", "sample2", "sample3", "held", "loss2"}
    assert {kernel["by"] for kernel in kernels} == {"kc"}, kernels
    assert sum(kernel["gradients"] for kernel in kernels) == 2, kernels


@kc.kernel
def sampled(t: kc.Texture2D, x: kc.array(dtype=kc.vec2), out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = kc.texture_sample(t, x[i], dtype=float)


def test_kernels_of_kc_read_textures_of_warp():
    texels = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = np.array([[0.5, 0.5], [0.0, 0.0], [0.99, 0.99]], np.float32)
    found, own = np.zeros(3, np.float32), np.zeros(3, np.float32)
    sampled(3, wp.Texture2D(texels, device="cpu"), x, found)
    sampled(3, kc.Texture2D(texels), x, own)
    assert found.tolist() == own.tolist() == [5.5, 0.0, 11.0]
    with pytest.raises(kc.Error, match="expected a `Texture2D`, found a `Texture1D`"):
        sampled(3, wp.Texture1D(texels[0], device="cpu"), x, found)


def test_levels_of_detail_have_the_texels_of_warp():
    rng = np.random.default_rng(5)
    for dtype in ("uint8", "int16", "float16", "float32", "uint32"):
        texels = (rng.uniform(-100, 100, (7, 6, 5, 2)) if "float" in dtype else rng.integers(0, 100, (7, 6, 5, 2))).astype(dtype)
        theirs, ours = wp.Texture3D(texels, num_mip_levels=0, filter_mode=0, device="cpu"), kc.Texture3D(texels, num_mip_levels=0, filter_mode=0)
        assert theirs.num_mip_levels == ours.num_mip_levels == 3

        @kc.kernel
        def all_of(t: kc.Texture3D, lod: float, out: kc.array(dtype=kc.vec2, ndim=3)):
            i, j, k = kc.tid()
            at = kc.vec3((float(k) + 0.5) / 5.0, (float(j) + 0.5) / 6.0, (float(i) + 0.5) / 7.0)
            out[i, j, k] = kc.texture_sample(t, at, dtype=kc.vec2f, lod=lod)

        for level in range(3):
            both = [np.zeros((7, 6, 5, 2), np.float32) for _ in range(2)]
            for t, out in zip((theirs, ours), both):
                all_of((7, 6, 5), t, float(level), out)
            np.testing.assert_array_equal(*both, err_msg=f"{dtype} {level}")
