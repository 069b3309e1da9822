"""What the package does on a system, in short: it says which, and fails where something is wrong (scripts/debian11.sh)."""

import os
import signal
import sys
import threading
import time

import numpy as np

import kc


@kc.kernel
def wave(a: float, x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = a * kc.sin(x[i]) + y[i]


@kc.kernel
def endless(x: kc.array(dtype=float)):
    i = kc.tid()
    while x[i] > 0.0:
        x[i] = 0.5 * (x[i] + 2.0 / x[i])


x = np.linspace(0.0, 1.0, 100_000, dtype=np.float32)


def launched(a):
    y = np.zeros_like(x)
    wave(len(x), a, x, y)
    assert np.allclose(y, a * np.sin(x), atol=1e-5)


launched(3.0)
found = wave.grad(len(x), 3.0, x, np.zeros_like(x), grads={"y": 1.0})
assert np.allclose(found["x"], 3.0 * np.cos(x), atol=1e-5)
assert ".target sm_90" in wave.ptx("sm_90") and "__global__" in wave.cuda
try:
    wave(len(x) + 1, 3.0, x, np.zeros_like(x))
    raise AssertionError("no index was out of bounds")
except kc.IndexError as error:
    assert error.index == len(x)
# An error of the compiler, and what it needs to say so.
try:
    kc.compile("import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = nothing\n")
    raise AssertionError("no name was missing")
except kc.CompileError as error:
    assert "nothing" in str(error)
threads = [threading.Thread(target=launched, args=(float(n),)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = os.fork()
if child == 0:
    launched(5.0)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
# Ctrl-C ends a kernel that has no end.
ones = np.ones(1000, np.float32)
endless(0, ones)
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=lambda: (time.sleep(1.0), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
try:
    endless(len(ones), ones)
    raise AssertionError("an endless kernel has ended")
except KeyboardInterrupt:
    launched(6.0)
print(f"kc {kc.__version__} runs: {os.confstr('CS_GNU_LIBC_VERSION')}, CPython {sys.version.split()[0]}")
