"""``python -m kc check PACKAGE``: kernels with the types that Python gives them, beside what reading their files tells."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy
import pytest

PYTHON = pathlib.Path(__file__).resolve().parents[2]

FILES = {
    "__init__.py": "",
    "overloads.py": """
        from typing import Any
        import warp as wp

        @wp.kernel
        def scale(x: wp.array(dtype=Any), by: Any):
            i = wp.tid()
            x[i] = x[i] * by

        @wp.kernel
        def wrong(x: wp.array(dtype=Any), y: wp.array(dtype=Any)):
            i = wp.tid()
            x[i] = x[i] + y[i]

        @wp.kernel
        def unused(x: wp.array(dtype=Any)):
            x[0] = x[0]

        table = {}
        for t in (wp.float32, wp.float64, wp.vec3):
            table[t] = wp.overload(scale, [wp.array(dtype=t), t if t != wp.vec3 else wp.float32])
        register = lambda k, types: wp.overload(k, types(wp.float32, wp.float64))
        register(wrong, lambda a, b: [wp.array(dtype=a), wp.array(dtype=b)])
    """,
    "factories.py": """
        import enum
        import math
        import warp as wp

        class Kind(enum.IntEnum):
            # A value of a C extension.
            SLIDE = int(math.trunc(2.5))

        def make(order: int, weight):
            @wp.func
            def f(x: float):
                return weight(x) if wp.static(order > 1) else x

            @wp.kernel(module="unique")
            def apply(x: wp.array(dtype=float)):
                i = wp.tid()
                if Kind.SLIDE == 2:
                    x[i] = f(x[i]) * float(order)

            return apply

        @wp.func
        def square(x: float):
            return x * x

        kernels = [make(n, square) for n in (1, 2)]
    """,
    "later.py": """
        import warp as wp

        def make():
            n = int(input())

            @wp.kernel
            def late(x: wp.array(dtype=float)):
                x[wp.tid()] = float(n)

            @wp.kernel
            def plain(x: wp.array(dtype=float)):
                x[wp.tid()] = 1.0

            return late
    """,
    "read.py": """
        from typing import Any
        import warp as wp

        wp.set_module_options({"enable_backward": False})

        @wp.func_native("return __float_as_int(x);")
        def bits(x: float) -> int: ...

        @wp.kernel
        def native(x: wp.array(dtype=float), y: wp.array(dtype=int)):
            y[wp.tid()] = bits(x[wp.tid()])

        @wp.kernel
        def swaps(x: wp.array(dtype=float)):
            wp.atomic_cas(x, 0, 1.0, 2.0)

        @wp.kernel
        def in_a_function(x: wp.array(dtype=Any)):
            x[wp.tid()] = x[wp.tid()] + x[wp.tid()]

        def run():
            wp.launch(in_a_function, dim=2, inputs=[wp.zeros(2, dtype=wp.float64)])
    """,
    "broken.py": "import a_module_that_is_not_there\n",
    "ends.py": "import sys\nsys.exit(4)\n",
    "dies.py": "import os\nos.abort()\n",
    "circle_a.py": "from . import circle_b\nA = 1\n",
    "circle_b.py": "from . import circle_a\nB = 1\n",
    "inner/deep.py": "import warp as wp\n@wp.kernel\ndef deep(x: wp.array(dtype=float)):\n    x[0] = 2.0\n",
    "launches.py": """
        from typing import Any
        import warp as wp

        @wp.kernel
        def launched(x: wp.array(dtype=Any)):
            x[wp.tid()] = x[wp.tid()] * x[wp.tid()]

        wp.launch(launched, dim=2, inputs=[wp.zeros(2, dtype=wp.float64, device="cpu")])
    """,
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages") / "many"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def kc(*arguments, cwd, without_warp=False):
    environment = os.environ | {"PYTHONPATH": str(PYTHON), "KC_CACHE": ""}
    words = [sys.executable, "-m", "kc", *map(str, arguments)]
    return subprocess.run(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def checked(package, tmp_path_factory):
    report = tmp_path_factory.mktemp("report") / "report.json"
    ran = kc("check", "many", "--report", report, cwd=package.parent)
    return ran, json.loads(report.read_text())


def states(report):
    return {one["kernel"]: one["state"] for one in report["kernels"]}


def test_kernels_have_the_types_that_python_gives_them(checked):
    ran, report = checked
    assert states(report) == {
        "scale": "compiles", "wrong": "error", "unused": "types unknown", "apply": "compiles", "late": "types unknown",
        "plain": "compiles by reading", "deep": "compiles", "launched": "compiles", "native": "compiles by reading",
        "swaps": "compiles", "in_a_function": "compiles by reading",
    }
    assert "many: 11 kernels: 8 compile (3 of them by reading), 1 have errors, 2 have no types before they are launched" in ran.stdout


def test_errors_are_at_the_lines_of_the_package(checked, package):
    ran, _ = checked
    assert ran.returncode == 1
    line = next(n for n, text in enumerate((package / "overloads.py").read_text().splitlines(), 1) if "x[i] + y[i]" in text)
    assert "E0301" in ran.stdout and f"overloads.py:{line}" in ran.stdout, ran.stdout


def test_modules_that_fail_are_told_and_the_others_go_on(checked):
    ran, report = checked
    why = {one["module"]: one["why"] for one in report["failed"]}
    assert why["many.broken"] == "ModuleNotFoundError: No module named 'a_module_that_is_not_there'"
    assert why["many.ends"] == "SystemExit: 4"
    assert why["many.dies"] == "its import ended the process (signal 6)"
    assert set(why) == {"many.broken", "many.ends", "many.dies"}
    assert "not imported: many.broken: ModuleNotFoundError" in ran.stderr


def test_a_program_that_runs_gives_more_types(package, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import io, sys, warp as wp\nfrom many import later\nsys.stdin = io.StringIO('3')\n"
        "x = wp.zeros(1, dtype=float, device='cpu')\nwp.launch(later.make(), dim=1, inputs=[x])\n"
    )
    report = tmp_path / "report.json"
    ran = kc("check", "many", "--run", program, "--report", report, cwd=package.parent)
    assert states(json.loads(report.read_text()))["late"] == "compiles", ran.stderr


def test_a_package_is_compiled_and_its_texts_are_kept(package, tmp_path):
    ran = kc(
        "compile", package, "--skip", "many.overloads", "--record", tmp_path / "texts", "-o", tmp_path / "out", "--emit", "ptx",
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    texts = {path.relative_to(tmp_path / "texts").as_posix() for path in (tmp_path / "texts").rglob("*.py")}
    assert {"many/inner/deep/deep.py", "many/launches/launched.py"} <= texts
    assert sum("apply" in name for name in texts) == 2, texts
    assert len(list((tmp_path / "out").rglob("*.ptx"))) == len(texts)
    # What was recorded needs no Python, and is not written over.
    again = kc("compile", package, "--record", tmp_path / "texts", "-o", tmp_path / "other", cwd=tmp_path)
    assert again.returncode == 1 and "is not empty" in again.stderr


def test_a_run_records_its_kernels(package, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import io, sys, warp as wp\nfrom many import later\nsys.stdin = io.StringIO('3')\n"
        "x = wp.zeros(1, dtype=float, device='cpu')\nwp.launch(later.make(), dim=1, inputs=[x])\nprint(x.numpy())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "kc", "run", "--record", tmp_path / "texts", program], cwd=package.parent, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PYTHON), str(package.parent)])}, timeout=300,
    )
    assert "[3.]" in ran.stdout, ran.stderr
    text = (tmp_path / "texts/many/later/late.py").read_text()
    assert "float(3)" in text
    assert "kc: recorded 2 kernels" in ran.stderr


def test_a_run_records_its_launches(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import warp as wp

            @wp.kernel
            def smooth(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                i = wp.tid()
                y[i] = 0.5 * x[i] + 0.5 * x[wp.max(i - 1, 0)]

            @wp.kernel
            def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
                i = wp.tid()
                y[i] = x[i] + x[i]

            @wp.kernel
            def closest(mesh: wp.uint64, x: wp.array(dtype=float)):
                x[wp.tid()] = wp.mesh_query_point_no_sign(mesh, wp.vec3(), 5.0).u

            x = wp.array(np.arange(8, dtype=np.float32), device="cpu", requires_grad=True)
            y = wp.zeros_like(x)
            with wp.Tape() as tape:
                for _ in range(3):
                    wp.launch(smooth, dim=8, inputs=[x], outputs=[y], device="cpu")
            tape.backward(grads={y: wp.ones_like(y)})
            wp.launch(twice, dim=8, inputs=[y, y], device="cpu")
            points = wp.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=wp.vec3, device="cpu")
            mesh = wp.Mesh(points, wp.array([0, 1, 2], dtype=int, device="cpu"))
            wp.launch(closest, dim=1, inputs=[mesh.id, y], device="cpu")
            print("gradient", x.grad.numpy().tolist())
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, "-m", "kc", "run", "--record-launches", tmp_path / "launches", program], cwd=tmp_path, capture_output=True,
        text=True, env=os.environ | {"PYTHONPATH": str(PYTHON)}, timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert "kc: recorded 3 launches" in ran.stderr and "closest: it asks a mesh" in ran.stderr
    folders = sorted((tmp_path / "launches").iterdir())
    assert [folder.name for folder in folders] == ["smooth-1", "smooth-2", "twice-3"]
    again = kc("run", *(folder / "launch.json" for folder in folders), "--out-dir", tmp_path / "out", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    y = numpy.load(tmp_path / "out/smooth-1.npz")["y"]
    assert y.tolist() == [0.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    # One array is both arguments.
    arguments = json.loads((folders[2] / "launch.json").read_text())["args"]
    assert [arguments[0].get("data"), arguments[1].get("alias_of")] == ["x", "x"]
    assert numpy.load(tmp_path / "out/twice-3.npz")["x"].tolist() == [2 * value for value in y.tolist()]
    # The tape goes back through three launches: the first run of the derivative is that of the last.
    gradient = numpy.load(tmp_path / "out/smooth-2.npz")["x.grad"]
    assert gradient.tolist() == [1.5, *[1.0] * 6, 0.5]
    assert "gradient" in ran.stdout


def test_a_package_is_verified(package):
    ran = kc("verify", "many", "--skip", "many.overloads", cwd=package.parent)
    assert ran.returncode == 0, ran.stderr + ran.stdout


def test_files_are_read_as_before(package):
    ran = kc("check", "many/overloads.py", cwd=package.parent)
    assert "kernels:" not in ran.stdout

@pytest.mark.parametrize("name", ["many", "many.inner"])
def test_a_package_may_be_read_without_an_import(package, name, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "kc", "check", name, "--no-import"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PYTHON), str(package.parent)])}, timeout=300,
    )
    # `dies.py` would end a process that imports it.
    assert "deep.py: 1 kernel ok" in ran.stdout + ran.stderr, ran.stdout + ran.stderr
    assert "not imported" not in ran.stderr


def test_a_package_that_is_not_there(tmp_path):
    ran = kc("check", "no_such_package", cwd=tmp_path)
    assert ran.returncode != 0 and "no_such_package" in ran.stdout + ran.stderr
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "__init__.py").write_text("import os\nos._exit(9)\n")
    ran = kc("check", "first", cwd=tmp_path)
    assert ran.returncode == 1 and "error: first can't be imported: exit code 9" in ran.stderr
