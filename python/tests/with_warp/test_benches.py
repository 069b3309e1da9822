"""The benches that time programs of Warp start, and find the kernels."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_kernels_of_a_frame_are_timed(tmp_path):
    command = [sys.executable, str(ROOT / "benches/real.py"), "wave", "--each", "1", "--top", "2", "--json", str(tmp_path / "rows.json")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "KC_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "failed" not in done.stdout, done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| wave_")]
    assert {row.split(" | ")[0] for row in rows} == {"| wave_solve", "| wave_displace"}, done.stdout
    assert all(" | yes | " in row for row in rows), done.stdout
    assert re.search(r"A frame: [\d.]+ ms by kc, [\d.]+ by Warp; \d+ launches; outside of kernels", done.stdout), done.stdout
