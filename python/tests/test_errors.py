"""What goes wrong in a launch is an exception; the interpreter goes on."""

import io
import multiprocessing
import pickle
import subprocess
import sys

import kc
import numpy as np
import pytest
from kernels import square


@kc.kernel
def reach(x: kc.array2d(dtype=float), by: int):
    i, j = kc.tid()
    x[i, j + by] = 1.0


@kc.kernel
def positive(x: kc.array(dtype=float)):
    i = kc.tid()
    print(i)
    assert x[i] > 0.0, "not positive"


def test_an_index_outside():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(kc.IndexError) as caught:
        reach((2, 3), x, 2)
    error = caught.value
    assert isinstance(error, IndexError) and error.code == "E1101"
    assert error.array == "x" and error.dimension == 1 and error.extent == 3
    assert error.index == error.thread[1] + 2 and error.index in (3, 4) and error.thread[0] in (0, 1)
    assert error.filename == __file__ and "x[i, j + by] = 1.0" in str(error) and "┬" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert again.thread == error.thread and str(again) == str(error)
    assert not x[:, :2].any() and x[:, 2].all()


def test_assertions_and_prints(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    positive(2, np.ones(2, np.float32))
    assert out.getvalue() == "0\n1\n"
    with pytest.raises(kc.AssertionError, match="not positive") as caught:
        positive(3, np.array([1, 0, 1], np.float32))
    assert isinstance(caught.value, AssertionError) and caught.value.thread == (1,)
    assert caught.value.printed.startswith("0\n1\n")
    assert out.getvalue().startswith("0\n1\n0\n1\n")


def test_prints_that_fail_are_pythons_errors(monkeypatch):
    class Closed:
        def write(self, text):
            raise OSError("closed")

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(OSError, match="closed"):
        positive(1, np.ones(1, np.float32))


def child(queue):
    x, y = np.full(300_000, 3, np.float32), np.zeros(300_000, np.float32)
    square(300_000, x, y)

    @kc.kernel
    def later(x: kc.array(dtype=float)):
        x[kc.tid()] = kc.sin(1.0)

    later(1, y)
    text = later.ptx()
    # Several kernels share the work.
    several = "".join(f"@kc.kernel\ndef k{n}(x: kc.array(dtype=float)):\n    x[kc.tid()] = {n}.0\n" for n in range(6))
    many = kc.compile("import kc\n" + several).ptx()
    queue.put((float(y[1:].sum()), ".entry" in text and many.count(".entry") == 12))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_other_processes(how):
    x, y = np.ones(300_000, np.float32), np.zeros(300_000, np.float32)
    for _ in range(3):
        square(300_000, x, y)
    square.ptx()
    context = multiprocessing.get_context(how)
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get(timeout=120) == (9.0 * 299_999, True)
    process.join(60)
    assert process.exitcode == 0
    square(300_000, x, y)
    assert y.all()


def test_codes_lead_to_classes():
    for kind in (kc.ArgumentError, kc.CompileError, kc.DeviceError, kc.LaunchError, kc.InternalError):
        assert issubclass(kind, kc.Error)
    assert issubclass(kc.GradientError, kc.CompileError) and issubclass(kc.IndexError, kc.LaunchError)


INTERRUPTED = """
import kc, numpy as np, os, signal, sys, threading, time

# What runs in the background of a shell is started with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

@kc.kernel
def slow(x: kc.array(dtype=float)):
    i = kc.tid()
    s = float(i)
    for _ in range(20000):
        s = kc.sin(s)
    x[i] = s

x = np.zeros(GIVEN, np.float32)
slow(1, x)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.time()
try:
    RUN
except KeyboardInterrupt:
    print("stopped", (x == 0).any(), time.time() - start < 20)
slow(2, x)
"""


@pytest.mark.parametrize("run", ["slow(len(x), x)", "slow.grad(len(x), x, grads={'x': 1.0})"])
def test_ctrl_c_stops(run):
    text = INTERRUPTED.replace("GIVEN", "3_000_000").replace("RUN", run)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=300)
    assert done.stdout == "stopped True True\n", done.stderr


def test_the_interpreter_goes_on_meanwhile():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.replace("GIVEN", "100_000").replace("RUN", """
    ticks = []
    def tick():
        while not ticks or ticks[-1] != "end":
            ticks.append(time.time()); time.sleep(0.01)
    worker = threading.Thread(target=tick); worker.start()
    try:
        slow(len(x), x)
    finally:
        count = len(ticks); ticks.append("end")
        print(count > 5)
""")], capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith("True\n"), done.stderr


@kc.kernel
def component(x: kc.array(dtype=kc.vec3), k: int, y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = 3.0 * x[i][k]


def test_a_component_that_is_not_there():
    x, y = np.ones((2, 3), np.float32), np.zeros(2, np.float32)
    component(2, x, -3, y)
    assert (y == 3).all()
    for k in (3, -4):
        with pytest.raises(kc.IndexError) as caught:
            component(2, x, k, y)
        error = caught.value
        assert error.code == "E1101" and error.array == "x[...]" and error.extent == 3 and error.index == k
        assert error.dimension is None and error.thread in ((0,), (1,))
        with pytest.raises(kc.IndexError):
            component.grad(2, x, k, y, grads={"y": 1.0})
