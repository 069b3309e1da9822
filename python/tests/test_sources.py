"""Kernels come from functions, files and texts; what they use from around them keeps its meaning."""

import importlib
import linecache
import math
import pickle
import subprocess
import sys
import textwrap

import kc
import kernels
import numpy as np
import pytest
from kernels import Mode, Settings, scaled
from kernels import scaled as renamed

N = 3
WEIGHTS = (0.5, 0.25)
UP = kc.vec3(0.0, 1.0, 0.0)
Wide = kc.types.vector(length=5, dtype=float)
Numbers = kc.array(dtype=float)
LIMIT = np.float32(0.1)


def ran(kernel, x, n=None):
    x = np.array(x, np.float32)
    kernel(len(x) if n is None else n, x)
    return x.tolist()


def test_values_from_around():
    @kc.kernel
    def use(x: Numbers):
        i = kc.tid()
        w = Wide(1.0)
        x[i] = scaled(x[i]) + renamed(1.0) + kernels.scaled(2.0) + kernels.SCALE + Settings.offset
        x[i] += float(N) + WEIGHTS[1] + UP[1] + w[4] + float(Settings.inner.count) + math.pi + LIMIT
        if Mode.DOUBLE == 2:
            x[i] += float(Mode.DOUBLE)

    rest = 2.5 + 5 + 2.5 + 4 + 3 + 0.25 + 1 + 1 + 3 + math.pi + 0.1 + 2
    np.testing.assert_allclose(ran(use, [1, 2]), [2.5 + rest, 5 + rest], rtol=1e-6)


def test_closures_make_kernels_of_their_own():
    def make(factor, kind, step):
        @kc.kernel
        def scale(x: kc.array(dtype=kind)):
            i = kc.tid()
            x[i] = step(x[i] * kind(factor))

        return scale

    @kc.func
    def plus(x: float):
        return x + 1.0

    @kc.func
    def minus(x: kc.float64):
        return x - kc.float64(1.0)

    one, two = make(2, kc.float32, plus), make(3.5, kc.float64, minus)
    assert ran(one, [1, 2]) == [3, 5]
    x = np.ones(2)
    two(2, x)
    assert x.tolist() == [2.5, 2.5]


def test_same_names_in_different_files_stay_apart():
    @kc.func
    def scaled(x: float):
        return kernels.scaled(x) + 1.0

    @kc.kernel
    def use(x: kc.array(dtype=float)):
        x[kc.tid()] = scaled(x[kc.tid()])

    assert ran(use, [2]) == [6]


def test_values_are_those_of_the_first_call():
    scope = {"K": 1.0}

    @kc.kernel
    def use(x: kc.array(dtype=float)):
        x[kc.tid()] = scope_k

    scope_k = 4.0
    assert ran(use, [0]) == [4]


@pytest.mark.parametrize("value, text", [(math.inf, "inf"), (-math.inf, "-inf"), (math.nan, "nan"), (-0.0, "-0.0")])
def test_special_floats(value, text):
    @kc.kernel
    def use(x: kc.array(dtype=float)):
        x[kc.tid()] = value

    assert str(ran(use, [1])[0]) == text


def test_names_without_a_meaning():
    table = {"a": 1}

    @kc.kernel
    def use(x: kc.array(dtype=float)):
        x[kc.tid()] = table

    with pytest.raises(kc.CompileError, match="`table` is a value of type `dict`"):
        use.cuda

    @kc.kernel
    def call(x: kc.array(dtype=float)):
        x[kc.tid()] = textwrap.dedent(x[0])

    with pytest.raises(kc.CompileError):
        call.cuda

    @kc.kernel
    def unknown(x: kc.array(dtype=float)):
        x[kc.tid()] = nowhere  # noqa: F821

    with pytest.raises(kc.CompileError, match="nowhere") as caught:
        unknown.cuda
    assert caught.value.filename == __file__
    assert "x[kc.tid()] = nowhere" in open(__file__).read().splitlines()[caught.value.lineno - 1]


def test_errors_show_the_users_lines():
    @kc.kernel
    def bad(x: kc.array(dtype=float)):
        i = kc.tid()
        x[i] = x[i] * i

    with pytest.raises(kc.CompileError) as caught:
        bad(1, np.ones(1, np.float32))
    error = caught.value
    assert error.code == "E0301" and error.filename == __file__
    line = open(__file__).read().splitlines()[error.lineno - 1]
    assert line == "        x[i] = x[i] * i"
    assert line[error.column - 1 :] == "x[i] * i"
    assert line.strip() in str(error) and "─" in str(error)
    assert pickle.loads(pickle.dumps(error)).code == "E0301"


def test_errors_in_functions_of_other_files(tmp_path, monkeypatch):
    (tmp_path / "lib_with_error.py").write_text("import kc\n\n\n@kc.func\ndef half(x: float, n: int):\n    return x / n\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import lib_with_error

    @kc.kernel
    def use(x: kc.array(dtype=float)):
        x[kc.tid()] = lib_with_error.half(x[0], 2)

    with pytest.raises(kc.CompileError) as caught:
        use.ir
    assert "lib_with_error.py:6" in str(caught.value) and "_kc" not in str(caught.value)


def test_texts_files_and_modules(tmp_path):
    text = "import kc\n@kc.kernel\ndef one(x: kc.array(dtype=float)):\n    x[kc.tid()] = 1.0\n"
    module = kc.compile(text)
    assert module.names == ["one"] and ran(module.one, [0]) == [1]
    path = tmp_path / "file.py"
    path.write_text(text.replace("import kc", "import warp as kc") + text.replace("one", "two").replace("1.0", "2.0"))
    for given in (path, str(path)):
        module = kc.compile(given)
        assert module.names == ["one", "two"] and ran(module["two"], [0]) == [2]
    assert "two_cuda_kernel_forward" in module.cuda and ".visible .entry" in module.ptx("sm_75")
    assert "kernel @two" in module.ir and "two_cpu_kernel_forward" in module.header
    with pytest.raises(kc.CompileError, match="there is no kernel `three`"):
        module["three"]
    with pytest.raises(AttributeError):
        module.three
    with pytest.raises(kc.Error, match="E1012"):
        module.ptx("sm_1")
    with pytest.raises(kc.Error, match="E09"):
        kc.compile(str(tmp_path / "missing.py"))
    with pytest.raises(TypeError):
        kc.compile(7)

    def plain(x: kc.array(dtype=float)):
        x[kc.tid()] = 5.0

    assert ran(kc.compile(plain), [0]) == [5]


def test_kernels_of_warps_names():
    text = "import warp as wp\n@wp.kernel\ndef one(x: wp.array(dtype=float)):\n    x[wp.tid()] = wp.sin(1.0)\n"
    assert ran(kc.compile(text).one, [0])[0] == pytest.approx(math.sin(1))


def test_outputs_of_one_kernel():
    kernel = kernels.square
    assert "square_cuda_kernel_backward" in kernel.cuda
    assert ".target sm_90" in kernel.ptx() and ".target sm_80" in kernel.ptx("sm_80")
    assert kernel.__name__ == "square" and "square" in repr(kernel)


def test_pickles():
    again = pickle.loads(pickle.dumps(kernels.square))
    assert again is kernels.square
    module = kc.compile("import kc\n@kc.kernel\ndef one(x: kc.array(dtype=float)):\n    x[kc.tid()] = 1.0\n")
    assert ran(pickle.loads(pickle.dumps(module.one)), [0]) == [1]

    @kc.kernel
    def local(x: kc.array(dtype=float)):
        x[kc.tid()] = 1.0

    with pytest.raises(Exception):
        pickle.loads(pickle.dumps(local))


def python(*arguments, stdin=None):
    return subprocess.run([sys.executable, *arguments], input=stdin, capture_output=True, text=True, timeout=120)


PROGRAM = """
import kc, numpy as np
@kc.kernel
def one(x: kc.array(dtype=float)):
    x[kc.tid()] = 1.0
x = np.zeros(2, np.float32)
one(2, x)
print(x.sum())
"""


def test_python_c():
    done = python("-c", PROGRAM)
    assert done.stdout == "2.0\n", done.stderr


def test_sources_that_cannot_be_read_say_so():
    done = python("-c", f"exec({PROGRAM!r})")
    assert done.returncode == 1 and "kc.compile(text)" in done.stderr and "SourceError" in done.stderr
    done = python("-", stdin=PROGRAM)
    assert done.returncode == 1 and "SourceError" in done.stderr
    with pytest.raises(kc.SourceError, match="lambda"):
        kc.kernel(lambda x: x)
    with pytest.raises(TypeError):
        kc.kernel(3)


def test_a_file_that_changed(tmp_path):
    path = tmp_path / "changes.py"
    path.write_text(PROGRAM.replace("one(2, x)", "open(__file__, 'w').write('x = (')\none(2, x)"))
    done = python(str(path))
    assert done.stdout == "2.0\n", done.stderr


def test_import_needs_no_numpy_and_starts_no_thread():
    done = python("-c", "import sys, threading, kc; print('numpy' in sys.modules, threading.active_count())")
    assert done.stdout == "False 1\n", done.stderr


def test_array_types_have_other_names():
    A, B = kc.array, kc.array2d

    @kc.kernel
    def rows(x: B(dtype=float), out: A(dtype=float)):
        i = kc.tid()
        out[i] = x[i, 0] + x[i, 1]

    out = np.zeros(2, np.float32)
    rows(2, np.array([[1, 2], [3, 4]], np.float32), out)
    assert out.tolist() == [3.0, 7.0]


COMPUTED = [
    "1.0 - math.cos(0.001)",
    "math.radians(33.3) + math.degrees(0.7) + math.hypot(3.0, 4.1) + math.atan2(0.3, -2.0)",
    "sum(math.exp(-0.5 * (i - 3) ** 2) for i in range(7))",
    "np.log1p(1e-9) + np.arctan2(1e-8, 1.0) + np.sqrt(2.0) + np.power(2.5, 3.0)",
    "math.floor(-2.5) * 10.0 + math.ceil(2.1) + float(math.trunc(-7.9))",
    "math.log(10.0, 3.0) + math.log2(10.0) - math.log10(7.0) + math.expm1(1e-9)",
    "[3.5, 2.5][-1] + {'a': 1.5, 'b': 2.5}['b'] + (1.5 if 'x' in ('x', 'y') else 2.5)",
    "sum(a * b for a, b in zip([1.5, 2.5, 3.5], reversed([0.1, 0.2, 0.3])))",
    "float(len([i for i in range(-5, 30, 3) if i % 2 == 1 if i > 0])) / 3.0",
    "float(sum(i * x for i, x in enumerate(tuple(range(10, 4, -2)))))",
    "[x for row in [[1.25, 2.5], [3.75]] for x in row if x != 2.5][1]",
    "1.0 if any([False, 2 > 1]) and all(i < 3 for i in range(3)) and None is None else 0.0",
    "np.tanh(0.3) * np.sinh(0.1) - np.cosh(1.1) + np.arcsin(0.3) - math.acos(0.2) + math.tan(1.2)",
    "(0 or 2.5) + (None or 1.5) + ('' or [] or 3.0) + (1.5 and 2.0) + (0.5 if not [] else 0.0)",
    "sum([0.5] * 3 + 2 * [1.25]) + [1.0, 2.0, 3.0, 4.0][-3:][0] + sum([1.0, 2.0, 3.0, 4.0][::-2]) + [5.0, 6.0][:99][-1]",
    "max(1.5, 2) + min([3, 2.5]) + sorted([3.5, 1.5, 2.5])[1] + float(pow(2, 5)) + round(2.567, 2) + len('abc') * 1.0",
    "float(int(-2.7)) + float(int(3e9)) + float(True) + np.round(-0.5) + np.rint(1.5) + float(bool(3))",
    "float(round(2.5)) + float(round(-3.5)) + abs(-2.5) + (1.0 if 'a' + 'b' == 'ab' else 0.0)",
    "math.sqrt(math.pi) ** 3 + math.copysign(2.0, -0.0) + math.fmod(-7.5, 2.0) + math.fabs(-3)",
]


def test_constants_of_a_text_are_those_of_python():
    lines = [f"C{k} = {text}" for k, text in enumerate(COMPUTED)]
    writes = [f"    x[{k}] = wp.float64(C{k})" for k in range(len(COMPUTED))]
    text = "\n".join(
        ["import math", "import numpy as np", "import warp as wp", *lines, "@wp.kernel"]
        + ["def k(x: wp.array(dtype=wp.float64)):", *writes]
    )
    x = np.zeros(len(COMPUTED))
    kc.compile(text).k(1, x)
    expected = [eval(text, {"math": math, "np": np}) for text in COMPUTED]
    # The C library of Python and that of kc may round a function's last bit in different ways.
    np.testing.assert_allclose(x, expected, rtol=4e-16, atol=0)


EDITED = """
import kc

@kc.kernel
def first(x: kc.array(dtype=float)):
    x[0] = {value}

def later():
    @kc.kernel
    def inner(x: kc.array(dtype=float)):
        x[0] = {value} + 0.5
    return inner
"""


def test_files_that_are_edited_while_they_run(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    # Python takes what it compiled of a file of the same second and size for the file.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "kc_edited.py"
    file.write_text(EDITED.format(value=1.0))
    import kc_edited

    assert ran(kc_edited.first, [0]) == [1.0]
    file.write_text(EDITED.format(value=2.0))
    # What runs is what was loaded.
    assert ran(kc_edited.later(), [0]) == [1.5] and ran(kc_edited.first, [0]) == [1.0]
    importlib.reload(kc_edited)
    assert ran(kc_edited.first, [0]) == [2.0] and ran(kc_edited.later(), [0]) == [2.5]
    file.write_text("# A line more.\n" + EDITED.format(value=3.0))
    importlib.reload(kc_edited)
    assert ran(kc_edited.first, [0]) == [3.0]
    # Where the text that was loaded is nowhere any more, it is not guessed.
    file.write_text(EDITED.format(value=4.0))
    linecache.clearcache()
    with pytest.raises(kc.SourceError, match="changed since it was loaded"):
        kc_edited.later()


@kc.kernel
def rebound(x: kc.array(dtype=float)):
    x[kc.tid()] = 1.0


first = rebound


@kc.kernel
def rebound(x: kc.array(dtype=float)):  # noqa: F811
    x[kc.tid()] = 2.0


def test_a_kernel_whose_name_has_another_is_not_pickled():
    assert pickle.loads(pickle.dumps(rebound)) is rebound
    with pytest.raises(TypeError, match="`rebound` cannot be pickled: `test_sources.rebound` is another object by now"):
        pickle.dumps(first)

    @kc.kernel
    def inside(x: kc.array(dtype=float)):
        x[kc.tid()] = 1.0

    with pytest.raises(TypeError, match="is not there"):
        pickle.dumps(inside)
