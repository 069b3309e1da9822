"""The examples, in small."""

import pathlib
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    # `filter` and the like are names that others may have.
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_fluid(tmp_path):
    import fluid
    import picture

    smoke, before, after = fluid.simulate(n=48, steps=30)
    assert 0 < smoke.sum() and smoke.max() <= 1.0 and after < 0.6 * before
    # It rises.
    assert smoke[: 48 - 10].sum() > 1.0
    picture.save(tmp_path / "smoke.png", smoke)
    assert (tmp_path / "smoke.png").read_bytes().startswith(b"\x89PNG")


def test_cloth():
    import cloth

    _, loss, gradient = cloth.blow([1.0, 0.5, -0.5], n=6, steps=40)
    for k in range(3):
        step = np.eye(3)[k] * 0.5
        up, down = (cloth.blow(np.array([1.0, 0.5, -0.5]) + s, n=6, steps=40)[1] for s in (step, -step))
        assert gradient[k] == pytest.approx(up - down, rel=2e-2, abs=1e-4)
    _, losses, _ = cloth.aim(n=8)
    assert losses[-1] < 0.05 * losses[0]


def test_filter():
    import filter

    clean, noisy = filter.scene(64, 0.08)
    done = filter.smooth(noisy)
    assert np.std(done - clean) < 0.5 * np.std(noisy - clean)
    # The edge of the disc stays an edge.
    assert abs(done[32, 32] - done[32, 4]).max() > 0.5


def test_nbody():
    import nbody

    x, first, last = nbody.simulate(n=200, steps=50)
    assert np.isfinite(x).all() and last == pytest.approx(first, rel=1e-3)


def test_monte_carlo():
    import monte_carlo

    value, slopes = monte_carlo.simulate(paths=100_000)
    known, formula = monte_carlo.exact()
    assert value == pytest.approx(known, rel=0.02)
    for name, slope in formula.items():
        assert slopes[name] == pytest.approx(slope, rel=0.03), name
