"""The programs of docs/python.md that import warp: tests/test_pages.py says how."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("pages_of_docs", Path(__file__).resolve().parents[1] / "test_pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)


@pytest.mark.parametrize("code, name, command, output", pages.programs("warp"))
def test_a_program_prints_what_the_page_shows(tmp_path, code, name, command, output):
    pages.check(tmp_path, code, name, command, output)
