"""The tutorial of `docs/kernelbench.md`, and the notebook about it: what they show is what comes."""

import contextlib
import io
import json
import pathlib
import re
import shlex

from test_bench import ROOT, SOLUTIONS, run
from test_notebook import run_cell

PAGE = ROOT / "docs" / "kernelbench.md"


def plain(text):
    """Without what differs between machines: seconds, and how far an error is from its limit."""
    return re.sub(r"error \d+\.\d+ of", "error N of", re.sub(r"\d+\.\d+ s\)", "N s)", text)).strip()


def test_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = 0
    for language, block in re.findall(r"```(python|console)\n(.*?)```", PAGE.read_text(), re.S):
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", block)
            assert name, "a file of the tutorial begins with its name"
            pathlib.Path(name.group(1)).write_text(block)
            continue
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, shown = part.partition("\n")
            words = shlex.split(line)
            assert words[:3] == ["python", "-m", "kc.bench"]
            _, told = run(*words[3:])
            assert plain(told) == plain(shown), line
            commands += 1
    assert commands >= 5


def test_every_solution_is_in_the_table():
    rows = re.findall(r"^\| (\d+) \| .*$", PAGE.read_text(), re.M)
    assert [int(number) for number in rows] == list(range(1, 101))


def test_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    shown = 0
    for number, cell in enumerate(json.loads((SOLUTIONS / "basic.ipynb").read_text())["cells"], 1):
        if cell["cell_type"] != "code":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run_cell("".join(cell["source"]), number, names)
        stored = "".join(line for output in cell["outputs"] for line in output["text"])
        assert out.getvalue() == stored
        shown += bool(stored)
    assert shown >= 6 and names["wrong"].refusal and names["right"].right
