"""Notebooks: their cells run as a notebook runs them, and that of the repository shows what is stored in it."""

import ast
import json
import linecache
import os
import pathlib
import subprocess
import sys
import types

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "heat.ipynb"

ROOT = NOTEBOOK.parents[2]
sys.path.append(str(ROOT / "scripts" / "site"))
import notebooks  # noqa: E402

#: The notebooks of docs/examples.md, as the site offers them.
MADE = {name: notebook for _, name, notebook in notebooks.notebooks()}
#: Those that take seconds; `KC_TESTS=all` runs all.
SAMPLE = ["filter", "monte_carlo", "raymarch"]


def run_cell(text, number, names):
    """What a cell shows: its last expression, if it is one. The text is found by its file's name, as IPython has it."""
    path = f"<ipython-input-{number}-{os.getpid()}>"
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    tree = ast.parse(text, path)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, path, "exec"), names)
    return eval(compile(ast.Expression(last.value), path, "eval"), names) if last else None


def test_cells(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(NOTEBOOK.parent))
    names, pictures = {"__name__": "__main__"}, 0
    known = set(sys.modules)
    try:
        for number, cell in enumerate(json.loads(NOTEBOOK.read_text())["cells"], 1):
            if cell["cell_type"] != "code":
                continue
            shown = run_cell("".join(cell["source"]), number, names)
            printed = [line for output in cell["outputs"] if output["output_type"] == "stream" for line in output["text"]]
            assert capsys.readouterr().out == "".join(printed)
            if shown is not None:
                pictures += 1
                assert shown._repr_png_().startswith(b"\x89PNG")
                assert any("image/png" in output.get("data", {}) for output in cell["outputs"])
    finally:
        for name in set(sys.modules) - known:
            if str(NOTEBOOK.parent) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
    assert pictures == 2 and "gradient" in names


def test_in_jupyter(tmp_path):
    """Where Jupyter is installed."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    for cell, stored in zip(notebook.cells, json.loads(NOTEBOOK.read_text())["cells"]):
        kinds = [output["output_type"] for output in cell.get("outputs", [])]
        assert kinds == [output["output_type"] for output in stored.get("outputs", [])]


class Image:
    """Stands for that of IPython."""

    def __init__(self, path):
        self.pixels = pathlib.Path(path).read_bytes()


def test_gallery_has_notebooks():
    assert len(MADE) >= 12 and set(SAMPLE) <= set(MADE)
    for name, notebook in MADE.items():
        kinds = [cell["cell_type"] for cell in notebook["cells"]]
        assert kinds[:2] == ["markdown", "code"] and kinds.count("code") >= 4, name
        written = [cell for cell in notebook["cells"] if "".join(cell["source"]).startswith("%%writefile")]
        assert all("/" not in cell["source"][0] for cell in written), name


@pytest.mark.parametrize("name", MADE if os.environ.get("KC_TESTS") == "all" else SAMPLE)
def test_gallery(name, tmp_path, monkeypatch):
    if name == "inverse":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["ipykernel"])
    display = types.ModuleType("IPython.display")
    display.Image = Image
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    for known in ("picture", "shapes"):
        monkeypatch.delitem(sys.modules, known, raising=False)
    command = f"{sys.executable} -m kc"
    names, shown, ran = {"__name__": "__main__"}, None, 0
    for number, cell in enumerate(MADE[name]["cells"], 1):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" or "%pip" in text:
            continue
        if text.startswith("%%writefile "):
            head, body = text.split("\n", 1)
            pathlib.Path(head.split()[1]).write_text(body)
        elif text.startswith("!kc "):
            subprocess.run(command + text[3:], shell=True, check=True)
            ran += 1
        else:
            shown = run_cell(text, number, names)
            ran += 1
    assert ran >= 1
    if "display" in "".join(MADE[name]["cells"][-1]["source"]):
        assert shown.pixels.startswith(b"\x89PNG") and len(shown.pixels) > 200
    else:
        assert any(path.suffix in (".html", ".npz") or path.is_dir() for path in tmp_path.iterdir())
