"""The example with PyTorch, in small."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"


def test_inverse(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import inverse

    true, found, losses = inverse.recover(n=12, steps=8, rounds=80)
    assert losses[-1] < 0.02 * losses[0]
    assert (found - true).abs().mean() < 0.5 * (0.6 - true).abs().mean()
