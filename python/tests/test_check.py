"""What `kc.check` says of files, texts, functions and kernels, and that nothing is run or compiled for it."""

import enum
import subprocess
import sys
from pathlib import Path

import kc
import pytest

TEXT = '''import kc

@kc.kernel
def halve(n: kc.array(dtype=int), x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = float(n[i] / 2)
    y = q + 1.0
'''


def without_errors():
    return TEXT.replace("    y = q + 1.0\n", "")


def test_a_text_has_findings_with_places():
    (error,) = kc.check(TEXT, name="halves.py")
    assert repr(error) == "<kc error E0201 at halves.py:7: `q` is not defined>" and isinstance(error, kc.Finding)
    (first,) = kc.check(without_errors(), name="halves.py")
    assert (first.code, first.level, first.name) == ("W1201", "warning", "integer-division") and "drops the fraction" in first.message
    assert (first.filename, first.lineno, first.column) == ("halves.py", 6, 18)
    assert "`float(n[i]) / 2.0`" in first.help and first.notes
    assert "x[i] = float(n[i] / 2)" in str(first) and str(first).startswith("warning[W1201]")
    assert kc.check(without_errors().replace("float(n[i] / 2)", "1.0")) == []
    assert {first} == {*kc.check(without_errors(), name="halves.py")}
    with pytest.raises(AttributeError):
        first.code = "W1"


def test_files_are_checked_as_the_command_does(tmp_path):
    path = tmp_path / "halves.py"
    for text, codes in ((TEXT, ["E0201"]), (without_errors(), ["W1201"])):
        path.write_text(text)
        for given in (path, str(path)):
            found = kc.check(given)
            assert [one.code for one in found] == codes and found[0].filename == str(path)
        said = subprocess.run([sys.executable, "-m", "kc", "check", str(path)], capture_output=True, text=True)
        assert said.returncode == (codes[0][0] == "E") and found[0].message in said.stdout
        assert f"{path}:{found[0].lineno}:{found[0].column}" in said.stdout and said.stdout.count(found[0].code) == len(found)
    # Imports are looked for beside the file.
    (tmp_path / "shared.py").write_text("import kc\n@kc.func\ndef twice(x: float):\n    return 2.0 * x\n")
    path.write_text("import kc\nfrom shared import twice\n@kc.kernel\ndef k(x: kc.array(dtype=float)):\n    x[kc.tid()] = twice(x[kc.tid()])\n")
    assert kc.check(path) == []
    with pytest.raises(FileNotFoundError):
        kc.check(tmp_path / "none.py")


def test_what_would_not_run_under_warp():
    text = "import kc\n\n@kc.kernel\ndef k(x: kc.array(dtype=kc.float64)):\n    i = kc.tid()\n    x[i] = 0.5 * x[i]\n"
    assert kc.check(text) == []
    found = kc.check(text, strict_warp=True)
    assert [one.code for one in found] == ["E0301"] and found[0].lineno == 6 and "kc.float64(0.5)" in found[0].help

    @kc.kernel
    def scale(x: kc.array(dtype=kc.float64)):
        i = kc.tid()
        x[i] = 0.5 * x[i]

    assert kc.check(scale) == []
    (finding,) = kc.check(scale, strict_warp=True)
    assert finding.filename == __file__ and "x[i] = 0.5 * x[i]" in Path(__file__).read_text().splitlines()[finding.lineno - 1]


class Mode(enum.IntEnum):
    FAST = 1


def test_kernels_and_functions_with_what_is_around_them():
    factor = 3.0

    @kc.kernel
    def uses(x: kc.array(dtype=float)):
        i = kc.tid()
        if Mode.FAST == 1:
            x[i] = factor * x[i]

    assert kc.check(uses) == []

    def wrong(x: kc.array(dtype=float)):
        i = kc.tid()
        x[i] = missing_name  # noqa: F821

    for given in (wrong, kc.kernel(wrong)):
        (finding,) = kc.check(given)
        assert finding.code == "E0201" and finding.filename == __file__ and "missing_name" in finding.message
    # Of modules, their kernels, and generic kernels.
    module = kc.compile(TEXT.replace("    y = q + 1.0\n", "    y = 1.0\n"), name="halves.py")
    for given in (module, module.halve):
        assert [one.code for one in kc.check(given)] == ["W1201", "W1301"]

    @kc.kernel
    def any_type(a, x):
        i = kc.tid()
        x[i] = a * x[i]

    assert [one for one in kc.check(any_type) if one.level == "error"] == []


def test_what_is_no_source():
    for wrong in (3, None, [TEXT], Mode):
        with pytest.raises(TypeError, match="kc.check takes a path, a text, a function or a kernel, not a"):
            kc.check(wrong)
    assert [one.level for one in kc.check("def k(:\n    pass\n")] == ["error"]
    assert kc.check("\n") == [] or kc.check("\n")[0].level == "warning"


def test_nothing_is_compiled_or_run(tmp_path, monkeypatch):
    text = TEXT.replace("    y = q + 1.0\n", "") + f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n"
    assert [one.code for one in kc.check(text)] == ["W1201"]
    assert not (tmp_path / "ran").exists()
