"""What the package asks of a system: no more than docs/python.md says."""

import pathlib
import subprocess
import sys

import kc._native
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1]))
import needs

SOURCE = '#include <math.h>\n#include <stdio.h>\nint main_of_it(double x) { return puts("") + (int)sinh(x); }\n'


def built(folder, source):
    """A shared library of C code."""
    (folder / "part.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "part.so", folder / "part.c", "-lm"], check=True)
    return folder / "part.so"


def test_the_compiled_half():
    # LLVM is linked here as the system has it; `make wheel` looks at the one inside of a wheel.
    wrong, newest = needs.faults(kc._native.__file__, linked=None)
    assert wrong == [] and (2, 14) <= newest["GLIBC"] <= (2, 28)


def test_versions_are_read(tmp_path):
    assert needs.faults(built(tmp_path, SOURCE))[0] == []
    # Versions that are the default, and those that are not, as `objdump` writes them.
    text = "0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34) puts\n0000000000000000  w   DF *UND*\t0000000000000000  GLIBCXX_3.4.30 wait\n"
    assert needs.symbols(text) == [("GLIBC", (2, 34), "puts"), ("GLIBCXX", (3, 4, 30), "wait")]


def test_what_is_too_new_is_found(tmp_path, monkeypatch):
    library = built(tmp_path, SOURCE)
    monkeypatch.setitem(needs.MOST, "GLIBC", (2, 2, 4))
    wrong, _ = needs.faults(library, linked={"libm.so.6"})
    assert "it is linked to libc.so.6" in wrong and any(fault.startswith("puts is of GLIBC_2.2.5") for fault in wrong)
    with pytest.raises(SystemExit) as ended:
        needs.main([str(library)])
    assert ended.value.code is True


def test_the_program_for_other_systems_runs():
    program = pathlib.Path(__file__).parent / "smoke.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("kc "), done.stderr
