"""Warp's CUDA build runs unchanged; what is wrong is found at the line of Python."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import KC, ROOT, line_of

WARP = ROOT / ".env-warp/bin/python"
COMPARED = """bodies / smooth / tape / noise / rotate / widen / row_sums / utilities / sparse / copies / graph / graph of a tape / streams""".split(" / ")


def test_kernels_tapes_and_graphs_give_what_the_cpu_gives(tmp_path):
    program = Path(__file__).with_name("warp_programs.py")
    command = [KC, "gpu", "--report", str(tmp_path / "report.json"), "--", str(WARP), str(program), str(tmp_path / "cache")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ)
    lines = ran.stdout.splitlines()
    assert lines[:-2] == [f"{name} as on the cpu" for name in COMPARED], ran.stdout + ran.stderr
    assert lines[-2] == "thread 3 has 6" and "Warp does this (mesh create)" in lines[-1], lines
    assert (ran.returncode, ran.stderr) == (0, f"wrote {tmp_path / 'report.json'}\n")


PROGRAM = """
import sys
import numpy as np
import warp as wp

wp.config.kernel_cache_dir = {cache!r}
wp.config.log_level = wp.LOG_ERROR


@wp.kernel
def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1]  # read


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[0] = out[0] + x[i]  # add


x, y = (wp.array(np.ones(1000, np.float32), device="cuda:0") for _ in range(2))
wp.launch({kernel}, dim={dim}, inputs=[x, y], device="cuda:0")
wp.synchronize()
"""


@pytest.mark.parametrize(
    "kernel, dim, found", [("shift", 1000, ("E1101", "# read")), ("shift", 999, None), ("total", 64, ("E1113", "# add"))]
)
def test_faults_are_found_at_lines_of_python(gpu, tmp_path, kernel, dim, found):
    text = PROGRAM.format(kernel=kernel, dim=dim, cache=str(tmp_path / "cache"))
    ran = gpu(text, python=WARP)
    expected = {(found[0], line_of(text, found[1]))} if found else set()
    assert set(ran.findings()) == expected, ran.said
    assert (ran.code != 0) == bool(found), ran.said
