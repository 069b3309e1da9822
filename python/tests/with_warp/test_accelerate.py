"""Programs of Warp with kc's code and without: the same results, and a report of who ran what."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "programs.py")


def python(*arguments, cwd):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=900, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    python(PROGRAM, "plain.npz", cwd=folder)
    python("-m", "kc", "run", "--report", "json", "--report-file", "report.json", PROGRAM, "kc.npz", cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    return dict(np.load(folder / "plain.npz")), dict(np.load(folder / "kc.npz")), report


def test_results_are_those_of_warp(runs):
    plain, accelerated, _ = runs
    assert plain.keys() == accelerated.keys() and len(plain) > 12
    for name, expected in plain.items():
        np.testing.assert_allclose(accelerated[name], expected, rtol=2e-6, atol=1e-6, err_msg=name)


def test_who_ran_what(runs):
    kernels = {}
    for kernel in runs[2]["kernels"]:
        kernels.setdefault(kernel["kernel"].split(".")[-1], []).append(kernel)
    by = {name: {kernel["by"] for kernel in found} for name, found in kernels.items()}
    for name in ("forces", "bodies", "generic", "loss_of", "add", "square_in_place", "folded"):
        assert by[name] == {"kc"}, (name, kernels[name])
    assert any(kernel["by"] == "kc" for name, found in kernels.items() if "closure" in name for kernel in found)
    for name, launches in (("indexed", 1), ("indexed_rows", 2)):
        assert by[name] == {"kc"} and kernels[name][0]["launches"] == launches, kernels[name]
    assert "indexedarray" in kernels["indexed"][0]["gradient_reason"]
    for name in ("tiled", "tiled_total"):
        assert by[name] == {"kc"} and kernels[name][0]["launches"] == 1, kernels[name]
    assert kernels["tiled_total"][0]["gradients"] == 1
    assert any(kernel["by"] == "kc" for name, found in kernels.items() if "chosen" in name for kernel in found)
    assert all(kernel["by"] == "kc" for name, found in kernels.items() if "perhaps" in name for kernel in found), kernels
    assert kernels["forces"][0]["launches"] == 1
    # 3 types, a view, 2 of a command, 2 while captured or replayed, 4 replayed.
    assert sum(kernel["launches"] for kernel in kernels["generic"]) >= 3 + 1 + 2 + 4
    assert kernels["folded"][0]["launches_by_warp"] == 1 and kernels["folded"][0]["launches"] == 0
    assert kernels["loss_of"][0]["gradients"] == 1
    # One array twice is one gradient; a gradient that is another's array is Warp's.
    assert kernels["add"][0]["gradients"] == 1 and kernels["add"][0]["gradients_by_warp"] == 1
    assert "overwrites" in kernels["square_in_place"][0]["gradient_reason"]


def test_results_are_the_same_before_warp_has_compiled_anything(runs, tmp_path):
    cold = tmp_path / "cold.npz"
    environment = {**os.environ, "WARP_CACHE_PATH": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "kc", "run", PROGRAM, str(cold)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr
    found = dict(np.load(cold))
    for name, expected in runs[0].items():
        np.testing.assert_allclose(found[name], expected, rtol=2e-6, atol=1e-6, err_msg=name)


LATER = """
import glob, sys, kc, warp as wp, numpy as np
wp.config.log_level = wp.LOG_WARNING
wp.config.kernel_cache_dir = sys.argv[1]
kc.accelerate()

def compiled():
    return len(glob.glob(sys.argv[1] + "/**/*.o", recursive=True))

@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]

x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
y = wp.zeros_like(x)
with wp.Tape() as tape:
    wp.launch(square, dim=3, inputs=[x, y], device="cpu")
tape.backward(grads={y: wp.array([1.0, 1.0, 1.0], dtype=float, device="cpu")})
command = wp.launch(square, dim=3, inputs=[x, y], device="cpu", record_cmd=True)
print(x.grad.numpy(), y.numpy(), compiled())

@wp.kernel(module="unique")
def in_place(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * x[i]

x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
with wp.Tape() as tape:
    wp.launch(in_place, dim=3, inputs=[x], device="cpu")
print(compiled())
x.grad.fill_(1.0)
tape.backward()
print(x.grad.numpy().size, compiled())
# More dimensions than the kernel asks for.
wp.launch(square, dim=(3, 2), inputs=[x, y], device="cpu")
print(y.numpy(), compiled())
y.zero_()
command.launch()
print(y.numpy())

@wp.kernel(module="unique")
def wrong(x: wp.array(dtype=float)):
    x[0] = wp.vec3(1.0, 2.0, 3.0)

for n in range(2):
    try:
        wp.launch(wrong, dim=1, inputs=[x], device="cpu")
    except Exception as error:
        print(type(error).__name__)
facts = {kernel["kernel"]: kernel for kernel in kc.report()["kernels"]}
print(facts["square"]["launches"], facts["square"]["launches_by_warp"], facts["in_place"]["gradients_by_warp"])
"""


def test_warp_compiles_what_only_warp_runs(tmp_path):
    (tmp_path / "later.py").write_text(LATER)
    out = python("later.py", str(tmp_path / "cache"), cwd=tmp_path).stdout.splitlines()
    assert out[0] == "[2. 4. 6.] [1. 4. 9.] 0", out
    assert out[1:4] == ["0", "3 1", "[ 1. 16. 81.] 2"], out
    assert out[4] == "[1. 4. 9.]" and out[5] == out[6] != "", out
    assert out[7] == "2 1 1", out


ERRORS = """
import kc, warp as wp, numpy as np
wp.config.quiet = True
assert kc.accelerate() and kc.accelerate()

@wp.kernel
def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i + 1]

x, y = wp.zeros(4, dtype=float, device="cpu"), wp.zeros(4, dtype=float, device="cpu")
try:
    wp.launch(shift, dim=4, inputs=[x, y], device="cpu")
except kc.IndexError as error:
    print(error.code, error.thread, error.index)
wp.launch(shift, dim=3, inputs=[x, y], device="cpu")

@wp.kernel
def talk(x: wp.array(dtype=float)):
    print(x[wp.tid()])

wp.launch(talk, dim=1, inputs=[x], device="cpu")
print(kc.report()["by_kc"], kc.report()["kernels"][0]["launches"])
"""


def test_errors_are_raised_by_the_launch(tmp_path):
    (tmp_path / "errors.py").write_text(ERRORS)
    done = python("errors.py", cwd=tmp_path)
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("Warp", "Module", "   "))]
    assert lines[0] == "E1101 (3,) 4" and lines[-1] == "2 2" and "0" in lines[1]


def test_other_versions_are_declined(tmp_path):
    text = "import kc, warp\nwarp.__version__ = '9.9.9'\nprint(kc.accelerate(), kc.report()['declined'])\n"
    done = python("-c", text, cwd=tmp_path)
    assert "False" in done.stdout and "9.9.9" in done.stdout and "9.9.9" in done.stderr


def test_the_command_line(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 3\n")
    (tmp_path / "program.py").write_text("import sys, beside\nprint(__name__, sys.argv[1:], beside.VALUE)\nsys.exit(4)\n")
    done = subprocess.run(
        [sys.executable, "-m", "kc", "run", "--report", "text", "program.py", "--flag", "x"],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )
    assert done.returncode == 4 and done.stdout.strip().endswith("__main__ ['--flag', 'x'] 3")
    assert "kc ran 0 of 0 kernels" in done.stderr
    missing = subprocess.run([sys.executable, "-m", "kc", "run", "no.py"], capture_output=True, text=True, cwd=tmp_path)
    assert missing.returncode != 0


CONSTANTS = """
import kc, warp as wp, numpy as np
wp.config.quiet = True
assert kc.accelerate()
wp.init()
HALVES = wp.constant(wp.types.vector(3, wp.float16)(1.0, 2.5, -3.0))
MATRIX = wp.constant(wp.types.matrix((2, 2), wp.float16)(1.0, 2.0, 3.0, 4.5))
BYTES = wp.constant(wp.vec3ub(1, 200, 255))
TURN = wp.constant(wp.quat(0.0, 0.5, 0.25, 1.0))

@wp.kernel
def constants(out: wp.array(dtype=float)):
    for k in range(3):
        out[k] = float(HALVES[k])
        out[3 + k] = float(BYTES[k])
    out[6] = float(MATRIX[1, 1])
    out[7] = TURN[1]
    assert out[0] == 7.0

out = wp.zeros(8, dtype=float, device="cpu")
wp.launch(constants, dim=1, inputs=[out], device="cpu")
print(out.numpy().tolist(), kc.report()["by_kc"])

@wp.kernel
def watched(out: wp.array(dtype=float)):
    out[0] = 1.0 / out[0]

wp.config.verify_fp = True
wp.launch(watched, dim=1, inputs=[out], device="cpu")
print(kc.report()["kernels"][-1]["reason"])
"""


def test_constants_and_modes(tmp_path):
    (tmp_path / "constants.py").write_text(CONSTANTS)
    lines = python("constants.py", cwd=tmp_path).stdout.splitlines()
    assert "[1.0, 2.5, -3.0, 1.0, 200.0, 255.0, 4.5, 0.5] 1" in lines and any("verify_fp" in line for line in lines)


GONE = """
import kc, warp as wp
wp.config.quiet = True
assert kc.accelerate()
wp.init()
out = wp.zeros(1, dtype=int)

def made(n):
    @wp.kernel
    def k(out: wp.array(dtype=int)):
        out[0] = wp.static(n)
    return k

for n in range(4):
    k = made(n)
    wp.launch(k, dim=1, inputs=[out])
    assert out.numpy()[0] == n
    print(len(k.module._get_live_kernels()))
"""


def test_kernels_that_nobody_has_are_freed(tmp_path):
    (tmp_path / "gone.py").write_text(GONE)
    lines = python("gone.py", cwd=tmp_path).stdout.splitlines()
    assert [line for line in lines if line.isdigit()] == ["1"] * 4


def test_the_ledger_of_warps_own_tests(tmp_path):
    """Whatever passes with Warp passes with kc, but for what is explained; a file is run, so that the ledger is no hearsay."""
    sys.path.insert(0, os.path.dirname(HERE))
    try:
        import warp_suite
    finally:
        sys.path.pop(0)
    with open(warp_suite.LEDGER) as file:
        ledger = json.load(file)
    assert set(ledger["files"]) == set(warp_suite.files()) and ledger["total"] == warp_suite.total(ledger["files"])
    assert ledger["total"]["passed_plain"] > 2000 and ledger["total"]["share_of_core_launches"] >= 0.9
    for name, facts in ledger["files"].items():
        differ = facts.get("only_with_kc", {})
        assert facts["kc"] + len(differ) == facts["plain"], name
        assert all(why.startswith("explained: ") for why in differ.values()), (name, differ)
    for name in ("test_lerp", "test_generics"):
        with_kc = warp_suite.run(name, True, 600, str(tmp_path))
        facts = ledger["files"][name]
        assert sum(outcome == "ok" for outcome in with_kc["tests"].values()) == facts["kc"], with_kc
        assert sum(kernel["launches"] for kernel in with_kc["report"]) == facts["launches"]["kc"]


DEFAULTS = """
import kc, warp as wp
kc.accelerate()
S, N = 2.0, 100.0
@wp.func
def g(x: float, s: float = S):
    return x * s
S = 3.0
def make(N):
    @wp.func
    def f(x: float, s: float = N):
        return x * s + g(x)
    @wp.kernel
    def k(o: wp.array(dtype=float)):
        o[0] = f(1.0)
    return k
o = wp.zeros(1, dtype=float, device="cpu")
wp.launch(make(5.0), dim=1, inputs=[o], device="cpu")
print(o.numpy()[0], kc.report()["by_kc"])
"""


def test_defaults_are_those_of_the_definition(tmp_path):
    (tmp_path / "defaults.py").write_text(DEFAULTS)
    assert python("defaults.py", cwd=tmp_path).stdout.split()[-2:] == ["7.0", "1"]


def test_places_are_those_of_the_program(tmp_path):
    path = tmp_path / "places.py"
    path.write_text(
        "import warp as wp, kc\n"
        "kc.accelerate()\n"
        "@wp.func\n"
        "def at(a: wp.array(dtype=float), j: int):\n"
        "    return a[j]\n"
        "@wp.kernel\n"
        "def k(n: wp.array(dtype=int), x: wp.array(dtype=float)):\n"
        "    i = wp.tid()\n"
        "\n"
        "    x[i] = (float(n[i] / 2)\n"
        "            + at(x, i + 9))\n"
        "x = wp.zeros(10, dtype=float)\n"
        "try:\n"
        "    wp.launch(k, 2, [wp.ones(2, dtype=int), x])\n"
        "except kc.IndexError as error:\n"
        "    print(error.filename, error.lineno)\n"
        "    print('    return a[j]' in str(error), '<kernel' in str(error))\n"
    )
    done = python(str(path), cwd=tmp_path)
    assert done.stdout.splitlines()[-2:] == [f"{path} 5", "True False"]
    assert f"{path}:10: LintWarning: W1201" in done.stderr
