"""`docs/tutorials/numpy.md`: its blocks are typed into a notebook, one cell each, and show what the page shows."""

import contextlib
import io
import re

from test_bench import ROOT
from test_notebook import run_cell

PAGE = ROOT / "docs" / "tutorials" / "numpy.md"


def cells():
    """Each cell, and what the page shows of it."""
    blocks = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.S)
    for (kind, text), (after, shown) in zip(blocks, [*blocks[1:], ("", "")]):
        assert kind in ("python", "text")
        if kind == "python":
            yield text, shown if after == "text" else ""


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, count = {"__name__": "__main__"}, 0
    for number, (text, shown) in enumerate(cells(), 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            value = run_cell(text, number, names)
        found = out.getvalue() + (f"{value!r}\n" if value is not None else "")
        assert found == shown, text
        count += bool(shown)
    assert count >= 9
    html = names["step"]._repr_html_()
    assert all(f">{tab}</label>" in html for tab in ("Source", "Plan", "CUDA", "PTX")) and "<script" not in html
