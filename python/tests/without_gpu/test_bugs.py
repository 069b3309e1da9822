"""The bugs of `bugs.py` are found, each at its line, and nothing is found in their twins. Every
fourth of them here; all with `KC_WHOLE=1`."""

import json
import os

import pytest
from bugs import BOUNDS, BUGS, DIVERGENCE, LIFETIMES, RACES, STREAMS, UNINITIALISED
from conftest import line_of
from cpp_programs import HEAD as CPP
from triton_programs import HEAD as TRITON

NUMBA = """
import numpy as np
from numba import cuda, float32

def ones(*shape):
    return cuda.to_device(np.ones(shape, np.float32))
"""

HEADS = {"numba": NUMBA, "triton": TRITON, "c++": CPP}
WHOLE = os.environ.get("KC_WHOLE") == "1"
CHOSEN = [name for n, name in enumerate(BUGS) if WHOLE or n % 4 == 0]


def test_there_are_as_many_as_it_says():
    counts = [len(kind) for kind in (RACES, BOUNDS, UNINITIALISED, STREAMS, LIFETIMES, DIVERGENCE)]
    assert counts == [10, 8, 6, 6, 5, 5] and len(BUGS) == 40


def ran(gpu, tmp_path, bug, part):
    """Runs a bug or its twin: how it ended, what it reports, and the place that is to be named."""
    kernel, text = (written.replace("FAULT", part) for written in (bug.kernel, bug.text))
    (tmp_path / "k.cu").write_text(kernel)
    text = HEADS[bug.head].replace("FILE", str(tmp_path / "k.cu")) + text
    done = gpu(text, "--report", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    in_kernel = "// here" in kernel
    place = ("k.cu", line_of(kernel, "// here")) if in_kernel else ("program.py", line_of(text, "# here"))
    return done, report, place


@pytest.mark.parametrize("name", CHOSEN)
def test_it_is_found_at_its_line(gpu, tmp_path, name):
    bug = BUGS[name]
    done, report, (file, line) = ran(gpu, tmp_path, bug, bug.fault)
    found = [(f["code"], os.path.basename(f["file"] or ""), f["line"]) for f in report["findings"]]
    assert (bug.code, file, line) in found, done.said
    assert done.code != 0


@pytest.mark.parametrize("name", CHOSEN)
def test_its_twin_is_silent(gpu, tmp_path, name):
    bug = BUGS[name]
    done, report, _ = ran(gpu, tmp_path, bug, bug.right)
    assert (done.code, report["findings"]) == (0, []), done.said
    assert done.out == "" and done.said.replace("wrote report.json\n", "") == "", done.said
