"""What the package tells installers about itself: python/pyproject.toml."""

import importlib
import importlib.util
import pathlib
import re
import tomllib

import kc
import kc.warp

FOLDER = pathlib.Path(__file__).parents[1]
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]


def test_the_files_and_entries_that_it_names_are_there():
    assert all((FOLDER / name).is_file() for name in [PROJECT["readme"], *PROJECT["license-files"]])
    for entry in PROJECT["scripts"].values():
        module, name = entry.split(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_licence_is_the_one_of_the_files():
    assert PROJECT["license"] == "Apache-2.0" and "Apache License" in (FOLDER / "LICENSE").read_text()
    # A licence expression stands alone: classifiers of licences are refused beside it.
    assert not [one for one in PROJECT["classifiers"] if one.startswith("License")]
    linked = (FOLDER / "THIRD-PARTY.md").read_text()
    assert "LLVM" in linked and "Zstandard" in linked and "GNU C++" in linked


def test_classifiers_are_those_of_the_oldest_python_and_later_ones():
    oldest = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1]
    named = [int(one.rsplit(".", 1)[1]) for one in PROJECT["classifiers"] if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)]
    assert named == list(range(int(oldest), max(named) + 1)) and "Programming Language :: Python :: Implementation :: CPython" in PROJECT["classifiers"]
    assert (FOLDER / "kc" / "py.typed").is_file() and "Typing :: Typed" in PROJECT["classifiers"]


def test_versions_are_versions():
    for module in (kc, kc.warp):
        assert re.fullmatch(r"\d+\.\d+\.\d+", module.__version__)


def test_nothing_of_a_machine_is_named():
    text = (FOLDER / "pyproject.toml").read_text()
    assert not re.search(r"/work|/home|/root|localhost|file:", text)
    # Links are public addresses, where there are any.
    assert all(link.startswith("https://") for link in PROJECT.get("urls", {}).values())
