"""The examples with `--device cuda`, in small: they leave what they leave on the host. Two of them run on two devices."""

import pathlib
import sys

import kc
import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    # `filter` and the like are names that others may have.
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_fluid():
    import fluid

    here, there = (fluid.simulate(n=32, steps=8, sweeps=10, device=device) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there[0], here[0], atol=1e-6)
    assert there[1:] == pytest.approx(here[1:], rel=1e-3)


def test_cloth():
    import cloth

    here, there = (cloth.blow([1.0, 0.5, -0.5], n=6, steps=30, device=device) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there[0], here[0], atol=1e-5)
    assert there[1] == pytest.approx(here[1], rel=1e-4)
    np.testing.assert_allclose(there[2], here[2], rtol=1e-3, atol=1e-6)


def test_nbody():
    import nbody

    here, there = (nbody.simulate(n=64, steps=20, device=device) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(there[0], here[0], atol=1e-4)
    assert there[1:] == pytest.approx(here[1:], rel=1e-5)


def test_monte_carlo():
    import monte_carlo

    here, there = (monte_carlo.simulate(paths=5_000, device=device) for device in ("cpu", "cuda"))
    assert there[0] == pytest.approx(here[0], rel=1e-9)
    assert there[1] == pytest.approx(here[1], rel=1e-9)


def test_rod():
    import rod

    # NumPy rounds as often, and no product is fused with a sum.
    np.testing.assert_allclose(rod.simulate(n=500, steps=20, threads=300), rod.by_launches(n=500, steps=20), atol=1e-6)


@pytest.mark.two_gpus
@pytest.mark.parametrize("devices", [["cuda"], ["cuda:0", "cuda:1"], ["cpu", "cuda:1"]])
def test_filter(devices):
    import filter

    _, noisy = filter.scene(48, 0.08)
    np.testing.assert_allclose(filter.smooth(noisy, devices=devices), filter.smooth(noisy), rtol=1e-5)


@pytest.mark.two_gpus
@pytest.mark.parametrize("devices", [["cuda"], ["cuda:0", "cuda:1"]])
def test_plate(devices):
    import plate

    found = plate.solve(n=24, steps=60, devices=devices)
    assert found.tobytes() == plate.solve(n=24, steps=60).tobytes() and 0 < found[12, 12] < 1


def test_what_programs_are_called_with(monkeypatch):
    import picture

    monkeypatch.setattr(sys, "argv", ["plate.py", "a.png", "--device", "cuda:0,cuda:1"])
    assert picture.arguments("plate.png", devices=True) == ("a.png", ["cuda:0", "cuda:1"])
    monkeypatch.setattr(sys, "argv", ["nbody.py", "--device", "cuda"])
    assert picture.arguments("bodies.png") == ("bodies.png", "cuda")
    monkeypatch.setattr(sys, "argv", ["nbody.py"])
    assert picture.arguments("bodies.png") == ("bodies.png", "cpu")
