"""The notebook: its cells run as a notebook runs them, and show what is stored in it."""

import ast
import json
import linecache
import os
import pathlib
import sys

import pytest

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "heat.ipynb"


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
