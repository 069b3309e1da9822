"""Meshes, trees of boxes and hash grids: one program under Warp, under Warp with kc's code, and under `kc.warp`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "engines.py")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("engines"), {}
    for how in ("warp", "accelerated", "kc"):
        out = folder / f"{how}.npz"
        done = subprocess.run([sys.executable, PROGRAM, how, str(out)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        found[how] = dict(np.load(out)), done.stdout
    return found


@pytest.mark.parametrize("how", ["accelerated", "kc"])
def test_results_are_those_of_warp(runs, how):
    wanted, found = dict(runs["warp"][0]), runs[how][0]
    assert wanted.keys() == found.keys() and len(wanted) == 19
    assert (wanted["mesh_sign"] < 0).any() and (wanted["mesh_face"] >= 0).any()
    # Warp gives no gradients of corners: there kc is compared with itself.
    assert not wanted.pop("points_grad").any()
    for name, expected in wanted.items():
        np.testing.assert_allclose(found[name], expected, rtol=1e-4, atol=2e-5, err_msg=name)


def test_gradients_of_corners_are_those_of_accelerate(runs):
    found, wanted = (runs[how][0]["points_grad"] for how in ("kc", "accelerated"))
    assert np.abs(wanted).max() > 1.0
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-5)


def test_kc_ran_them(runs):
    report = json.loads(runs["accelerated"][1].splitlines()[-1])
    assert {name: by for name, (by, _, _) in report.items()} == dict.fromkeys(["closest", "shoot", "touching", "crowd", "measure"], "kc"), report
    assert report["measure"][1] == 1, report
