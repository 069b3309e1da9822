"""Compiled code on the disk: found again, and never trusted blindly."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
import kc

@kc.kernel
def scale(x: kc.array(dtype=float), s: float, out: kc.array(dtype=float)):
    i = kc.tid()
    out[i] = FACTOR * s * x[i]

x, out = np.array([1.0, 2.0], np.float32), np.zeros(2, np.float32)
scale(2, x, 3.0, out)
print(out.tolist(), kc._native.kept_objects())
if "gradient" in sys.argv:
    print(scale.grad(2, x, 3.0, out, grads={"out": 1.0})["x"].tolist(), kc._native.kept_objects())
if "wrong" in sys.argv:
    scale(3, x, 3.0, out)
"""


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "cache"

    def run(*arguments, factor="2.0", cache=folder, fails=False):
        program, text = tmp_path / "program.py", PROGRAM.replace("FACTOR", factor)
        if not program.exists() or program.read_text() != text:
            program.write_text(text)
        environment = dict(os.environ, KC_CACHE_DIR=str(cache), PYTHONPATH=os.pathsep.join(sys.path))
        command = [sys.executable, "program.py", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr.replace(str(tmp_path), "") if fails else done.stdout.splitlines()

    run.folder = folder
    return run


def objects(folder):
    return sorted(path for path in folder.iterdir() if path.suffix == ".object")


def test_code_is_found_again(run):
    assert run() == ["[6.0, 12.0] (0, 1)"]
    assert run() == ["[6.0, 12.0] (1, 0)"]
    # Another value is other code, and the first stays.
    assert run(factor="5.0") == ["[15.0, 30.0] (0, 1)"]
    assert run() == ["[6.0, 12.0] (1, 0)"]
    assert len(objects(run.folder)) == 2
    assert run.folder.stat().st_mode & 0o077 == 0


def test_gradients_are_found_again(run):
    first, second = run("gradient"), run("gradient")
    assert [line.split(" (")[0] for line in first] == [line.split(" (")[0] for line in second] == ["[6.0, 12.0]", "[6.0, 6.0]"]
    assert first[1].endswith("(0, 2)") or first[1].endswith("(0, 3)")
    assert second[1].endswith(first[1].split("(0, ")[1].rstrip(")") + ", 0)")


def test_errors_of_code_from_the_disk_name_their_lines(run):
    first = run("wrong", fails=True)
    assert "E1101" in first and "out[i] =" in first
    assert run("wrong", fails=True) == first


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_damaged_files_are_made_anew(run, damage):
    run()
    run(factor="5.0")
    one, other = objects(run.folder)
    text = one.read_bytes()
    changed = {"cut": text[:-7], "changed": text[:-20] + bytes([text[-20] ^ 1]) + text[-19:], "empty": b"", "other": other.read_bytes()}
    one.write_bytes(changed[damage])
    lines = run() + run(factor="5.0")
    assert [line.split(" (")[0] for line in lines] == ["[6.0, 12.0]", "[15.0, 30.0]"]
    # The damaged one is compiled, the other one read.
    assert sorted(line.split("] ")[1] for line in lines) == ["(0, 1)", "(1, 0)"]
    assert one.read_bytes() == text


def test_without_a_folder(run, tmp_path):
    assert run(cache="") == ["[6.0, 12.0] (0, 0)"]
    file = tmp_path / "file"
    file.write_text("")
    assert run(cache=file / "below") == ["[6.0, 12.0] (0, 0)"]
    # Where others may write, code is neither read nor kept.
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    assert run(cache=open_folder) == ["[6.0, 12.0] (0, 0)"] and not list(open_folder.iterdir())


def test_processes_at_once(run):
    from concurrent.futures import ThreadPoolExecutor

    run(cache=run.folder.parent / "another")  # which writes the program: no process reads it half
    with ThreadPoolExecutor(4) as pool:
        lines = [line for found in pool.map(lambda _: run(), range(8)) for line in found]
    assert all(line.startswith("[6.0, 12.0]") for line in lines)
    assert len(list(run.folder.iterdir())) == 1
