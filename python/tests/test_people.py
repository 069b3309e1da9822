"""What people meet who write Python: lints, launches, captured values, values around kernels, the command."""

import dataclasses
import pathlib
import re
import subprocess
import sys
import textwrap
import types
import warnings

import numpy as np
import pytest

import kc

SCALE = 2.0


def floats(*numbers):
    return np.array(numbers, np.float32)


def test_lints_are_warnings_at_their_line():
    @kc.kernel
    def halves(n: kc.array(dtype=int), y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = float(n[i] / 2)

    line = halves._kc_kernel.__code__.co_firstlineno + 3
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(2):
            halves(1, np.ones(1, np.int32), floats(0))
    assert [(w.category, w.filename, w.lineno, w.message.code) for w in told] == [(kc.LintWarning, __file__, line, "W1201")]
    assert str(told[0].message).startswith("W1201: `/` on integers") and "help:" in str(told[0].message)


def test_lints_are_filtered_by_code():
    text = "import kc\n@kc.kernel\ndef k(n: kc.array(dtype=int), y: kc.array(dtype=float)):\n    i = kc.tid()\n    y[i] = float(n[i] / 2)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "W1201", kc.LintWarning)
        kc.compile(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kc.LintWarning)
        with pytest.raises(kc.LintWarning, match="W1201"):
            kc.compile(text)


@kc.kernel
def count(x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] += 1


def test_more_dimensions_than_coordinates():
    x = floats(0, 0, 0, 0)
    with pytest.raises(kc.ArgumentError, match=r"gives 1 coordinate, and the launch has 2 dimensions, \(2, 2\)") as caught:
        count((2, 2), x)
    assert "i, j = kc.tid()" in str(caught.value) and "`4` threads" in str(caught.value) and not x.any()
    # One thread more runs nothing twice.
    count((4, 1), x)
    assert x.tolist() == [1, 1, 1, 1]


def test_more_dimensions_are_a_warning_for_programs_of_warp():
    import kc.warp as wp

    @wp.kernel
    def add(x: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(x, i, 1.0)

    x = wp.zeros(2, dtype=float)
    with pytest.warns(UserWarning, match="2 dimensions"):
        wp.launch(add, dim=(2, 3), inputs=[x])
    assert x.numpy().tolist() == [3, 3]


def test_captured_values_that_change():
    names = types.SimpleNamespace(scale=2.0)

    @kc.kernel
    def scaled(y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = SCALE + names.scale

    global SCALE
    y = floats(0)
    try:
        scaled(1, y)
        assert y.tolist() == [4]
        SCALE = 5.0
        scaled(1, y)
        assert y.tolist() == [7]
        names.scale = 20.0
        scaled.grad(1, y, grads={"y": 1.0})
        assert y.tolist() == [25]
        with kc.Tape():
            SCALE = 1.0
            scaled(1, y)
        assert y.tolist() == [21]
        # The same number anew is no other kernel.
        module = scaled.module._native
        SCALE = float("1.0")
        assert scaled.module._native is module
    finally:
        SCALE = 2.0


def test_captured_functions_and_cells_that_change():
    def make():
        factor = 2.0

        @kc.func
        def f(v: float) -> float:
            return v * factor

        @kc.kernel
        def k(y: kc.array(dtype=float)):
            i = kc.tid()
            y[i] = f(1.0)

        def change(value):
            nonlocal factor
            factor = value

        return k, change

    k, change = make()
    y = floats(0)
    k(1, y)
    change(7.0)
    first = y.tolist()
    k(1, y)
    assert (first, y.tolist()) == ([2], [7])


@dataclasses.dataclass
class Params:
    gain: float
    shift: float = 0.5
    steps: int = 3


def test_dataclasses_are_structs():
    @kc.kernel
    def k(p: Params, y: kc.array(dtype=float)):
        i = kc.tid()
        y[i] = p.gain * float(p.steps) + p.shift

    y = floats(0, 0)
    k(2, Params(2.0), y)
    assert y.tolist() == [6.5, 6.5]

    made = kc.struct(Params)
    assert repr(made(1.0)) == "Params(gain=1.0, shift=0.5, steps=3)"


def test_parameters_without_annotations():
    @kc.kernel
    def axpy(a, x, y):
        i = kc.tid()
        y[i] = a * x[i] + 1

    @kc.kernel
    def logistic(x: kc.array(dtype=kc.float64), r):
        i = kc.tid()
        x[i] = r * x[i] * (1 - x[i])

    x = np.array([0.3])
    logistic(1, x, 3.7)
    assert x.tolist() == [3.7 * 0.3 * (1 - 0.3)]

    for dtype in (np.float32, np.float64):
        y = np.zeros(2, dtype)
        axpy(2, 0.1, np.ones(2, dtype), y)
        assert y.dtype == dtype and y.tolist() == [dtype(0.1) + dtype(1)] * 2


@pytest.mark.parametrize(
    "named, words",
    [
        ({"a": 1.0, "y": floats(0)}, "no `y`; `values` is meant, perhaps"),
        ({"a": 1.0, "value": floats(0)}, "no `value`; `values` is meant, perhaps"),
        ({"a": 1.0, "values": None}, "is None, and the kernel uses its elements"),
        ({"a": 1.0, "values": np.zeros(1)}, "`values.astype(numpy.float32)`"),
        ({"a": 1.0, "values": np.ma.zeros(1, np.float32)}, "do not see the mask"),
        ({"a": 1.0, "values": np.zeros(1, "M8[s]")}, "kernels have no times"),
        ({"a": 1.0, "values": np.zeros(1, complex)}, "`values.view(numpy.float64).reshape(*values.shape, 2)`"),
        ({"a": 1.0, "values": np.zeros(1, np.complex64)}, "`values.view(numpy.float32).reshape(*values.shape, 2)`, which shares the memory, and declare `kc.array(dtype=kc.vec2)`"),
    ],
)
def test_arguments_in_words(named, words):
    @kc.kernel
    def fill(a: float, values: kc.array(dtype=float)):
        i = kc.tid()
        values[i] = a

    if "`y`" in words:
        words = "no `y`"
    with pytest.raises(kc.ArgumentError) as caught:
        fill(1, **named)
    assert words in str(caught.value)


def test_a_class_as_a_parameter():
    class Plain:
        gain = 1.0

    with pytest.raises(kc.CompileError) as caught:

        @kc.kernel
        def k(p: Plain, y: kc.array(dtype=float)):
            y[0] = p.gain

        k(1, Plain(), floats(0))
    assert "@kc.struct" in str(caught.value) and "@kc.func" not in str(caught.value)


def test_numbers_adapt():
    @kc.kernel
    def k(h: kc.array(dtype=kc.float64), img: kc.array(dtype=kc.uint8), n: kc.array(dtype=kc.int64), x: kc.array(dtype=float)):
        i = kc.tid()
        s = 0
        for j in range(h.shape[0]):
            s += h[j]
        h[i] = 0.1 * h[i] + (1.0 / 3.0) * s - 1e-3 + h[i] ** 2
        img[i] = 255 - img[i]
        x[n[i]] = 2 * x[n[i]] + 1

    h, img, x = np.array([0.3]), np.array([7], np.uint8), floats(1.5)
    k(1, h, img, np.zeros(1, np.int64), x)
    assert h.tolist() == [0.1 * 0.3 + (1.0 / 3.0) * 0.3 - 1e-3 + 0.3**2] and img.tolist() == [248] and x.tolist() == [4]


def test_the_strict_rule_is_an_option():
    def k(x: kc.array(dtype=float)):
        i = kc.tid()
        x[i] = 2 * x[i]

    x = floats(1)
    kc.kernel(k)(1, x)
    with pytest.raises(kc.CompileError, match="cannot mix `int32` and `float32`"):
        kc.kernel(k, strict=True)(1, x)


def test_warnings_of_gradients_leave_indices_out():
    @kc.kernel
    def interpolate(x: kc.array(dtype=float), t: kc.array(dtype=float), y: kc.array(dtype=float)):
        i = kc.tid()
        cell = int(kc.floor(x[i]))
        part = x[i] - float(cell)
        y[i] = t[cell] * (1.0 - part) + t[cell + 1] * part

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = interpolate.grad(1, floats(0.25), floats(1, 3), floats(0), grads={"y": 1.0})
    assert found["x"].tolist() == [2] and found["t"].tolist() == [0.75, 0.25]


def ran(*words, text=None):
    return subprocess.run([sys.executable, "-m", "kc", *words], capture_output=True, text=True, input=text)


def test_the_command(tmp_path):
    path = tmp_path / "k.py"
    path.write_text(textwrap.dedent("""
        import kc
        @kc.kernel
        def k(x: kc.array(dtype=float)):
            i = kc.tid()
            x[i] = 2 * x[i]
    """))
    assert ran("--version").stdout.split() == ["kc", kc.__version__]
    done = ran("check", str(path))
    assert (done.returncode, "1 kernel ok" in done.stderr) == (0, True)
    done = ran("check", "--strict-warp", str(path))
    assert done.returncode == 1 and "E0301" in done.stdout
    done = ran("compile", str(path), "--emit", "ptx", "-o", str(tmp_path))
    assert done.returncode == 0 and (tmp_path / "k.ptx").exists()
    done = ran("run", str(path), "--dim", "2", "--arg", "x=range:2", "--print", "x")
    assert done.returncode == 0 and "2.0" in done.stdout
    assert ran("explain", "E0301").stdout.startswith("E0301") or "E0301" in ran("explain", "E0301").stdout
    assert ran("nothing").returncode == 2


def test_places_in_notebooks(monkeypatch):
    import linecache

    name = "/tmp/ipykernel_1/123.py"
    text = "import kc\n@kc.kernel\ndef k(n: kc.array(dtype=int), x: kc.array(dtype=float)):\n    x[0] = float(n[0] / 2)\n    x[kc.tid()] = 1.0\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    compiled = types.SimpleNamespace(format_code_name=lambda of: ("Cell", "In[5]") if of == name else None)
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(compile=compiled))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    names = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), names)
    with pytest.warns(kc.LintWarning, match=r"Cell In\[5\], line 4"), pytest.raises(kc.IndexError, match=r"Cell In\[5\], line 5"):
        names["k"](2, np.ones(1, np.int32), floats(0))


def test_built_ins_say_what_they_are():
    import inspect

    assert list(inspect.signature(kc.atomic_add).parameters) == ["arr", "i", "value"]
    assert "kc.atomic_add(arr: Array[T], i: Int, value: T) -> T" in kc.atomic_add.__doc__ and "before = kc.atomic_add" in kc.atomic_add.__doc__
    assert str(inspect.signature(count)).startswith("(dim: 'int | tuple[int, ...]', /, x: ")
    assert inspect.isfunction(kc.lerp) and kc.sin(0.0) == 0.0
    assert inspect.signature(kc.Kernel).parameters


def test_complex_numbers_are_pairs_in_the_same_memory(rng):
    page = (pathlib.Path(__file__).parents[2] / "docs/python-reference.md").read_text()
    code = re.search(r"  Complex numbers are pairs.*?```python\n(.*?)```", page, re.DOTALL)[1].split("\n\n")
    module = kc.compile("import kc\n" + code[0] + "\n", name="product.py")
    a, b = ((rng.random(5) + 1j * rng.random(5)).astype(np.complex64) for _ in range(2))
    c = np.zeros(5, np.complex64)
    exec(code[1], {"np": np, "product": module.product, "n": 5, "a": a, "b": b, "c": c})
    np.testing.assert_allclose(c, a * b, rtol=1e-6)
