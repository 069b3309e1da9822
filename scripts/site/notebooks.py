#!/usr/bin/env python3
"""Notebooks of the examples in docs/examples.md, for Colab or Jupyter: no GPU is needed.

    python3 scripts/site/notebooks.py FOLDER

A section that starts a program of examples/python becomes that program in cells. One that starts `kc` becomes the files that the
command names, written by cells, and the command. What a section draws is shown by the last cell.
"""

import ast
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "examples/python"
#: Cells end after so many lines, where another definition begins.
LINES = 24
#: Colab has no kc; the file of a release is dropped into its folder first.
INSTALL = "# Drop the wheel of a kc release into the folder of this notebook first.\n%pip install -q kc_compiler-*.whl"


def sections():
    """Title, words and command of each example of the page."""
    page = (ROOT / "docs/examples.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, body = section.split("\n", 1)
        words, code = body.split("```sh\n", 1)
        words = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", words)
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
        yield title, words.strip(), code.split("\n```")[0].split()


def markdown(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def code(text):
    return {
        "cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [],
        "source": text.strip("\n").splitlines(keepends=True),
    }


def file(name, text):
    return code(f"%%writefile {name}\n{text}")


def shown(picture):
    return code(f'from IPython.display import Image\n\nImage("{picture}")')


def program(path, picture):
    """The program in cells: its imports, its definitions, and what it does when it is run."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    body = ast.parse(text).body
    if isinstance(body[0], ast.Expr):
        body = body[1:]
    imported = {alias.name for one in body if isinstance(one, ast.Import) for alias in one.names}
    for name in sorted(imported):
        if (PYTHON / f"{name}.py").exists():
            yield file(f"{name}.py", (PYTHON / f"{name}.py").read_text(encoding="utf-8"))
    cell, start = [], body[0].lineno - 1
    for at, one in enumerate(body):
        definition = isinstance(one, (ast.FunctionDef, ast.ClassDef))
        is_main = isinstance(one, ast.If) and "__main__" in ast.unparse(one.test)
        own = lines[start: one.end_lineno]
        start = one.end_lineno
        begins = at > 0 and (definition or is_main) and not isinstance(body[at - 1], (ast.FunctionDef, ast.ClassDef))
        if cell and (is_main or begins or len(cell) + len(own) > LINES):
            yield code("\n".join(cell))
            cell = []
        if is_main:
            first = one.body[0].lineno - 1
            main = textwrap.dedent("\n".join(lines[first: one.end_lineno]))
            yield code(f'import sys\n\nsys.argv = ["{path.name}", "{picture}"]\n{main}')
        else:
            cell += own
    if cell:
        yield code("\n".join(cell))
    yield shown(picture)


def needed(path):
    """A file of a command, and those that it names: each with its text, in one folder."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        source = (path.parent / json.loads(text)["source"]).resolve()
        yield from needed(source)
        text = text.replace(json.loads(text)["source"], source.name)
    yield path.name, text


def command(words):
    files = [ROOT / word for word in words if word.startswith("examples/")]
    for path in files:
        for name, text in needed(path):
            yield file(name, text)
    line = " ".join(Path(word).name if word.startswith("examples/") else word for word in words)
    yield code(f"!{line}")
    drawn = re.search(r"--png \w+=(\S+)", line)
    if drawn:
        yield shown(drawn[1])


def notebooks():
    """Title of the example, name of the notebook, and the notebook."""
    for title, words, line in sections():
        paths = [ROOT / word for word in line if word.startswith("examples/")]
        if not paths:
            continue
        cells = [markdown(f"# {title}\n\n{words}"), code(INSTALL)]
        cells += program(paths[0], line[-1]) if line[0] == "python" else command(line)
        for number, cell in enumerate(cells):
            cell["id"] = f"cell-{number}"
        yield title, paths[0].stem, {
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for _, name, notebook in notebooks():
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
