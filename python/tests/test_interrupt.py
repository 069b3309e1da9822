"""Ctrl-C: it ends what runs, and the interpreter goes on."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import os, signal, sys, threading, time
import numpy as np, kc

@kc.kernel
def endless(x: kc.array(dtype=float)):
    i = kc.tid()
    while x[i] > 0.0:
        x[i] = 0.5 * (x[i] + 2.0 / x[i])

@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]

def soon(seconds=0.3):
    def send():
        time.sleep(seconds)
        global sent
        sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=send, daemon=True).start()

def stopped(run):
    soon()
    try:
        run()
    except KeyboardInterrupt:
        assert time.monotonic() - sent < 1.0, time.monotonic() - sent
        return True
    return False
"""


def ran(body, cache="", limit=60):
    """What a program prints."""
    program = HEAD + textwrap.dedent(body)
    environment = {**os.environ, "KC_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=limit, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("threads", [1, 4, 100_000])
def test_an_endless_kernel_ends_and_the_interpreter_goes_on(threads):
    body = f"""
        x = np.ones({threads}, np.float32)
        endless(0, x)
        # Each time, on the thread that launches and on its helpers.
        print([stopped(lambda: endless({threads}, x)) for _ in range(3)])
        y = np.zeros(3, np.float32)
        square(3, np.arange(3, dtype=np.float32), y)
        print(y.tolist())
    """
    assert ran(body) == "[True, True, True]\n[0.0, 1.0, 4.0]\n"


def test_a_handler_of_the_program_decides():
    body = """
        seen = []
        def handler(number, frame):
            y = np.zeros(2, np.float32)
            square(2, np.full(2, 3, np.float32), y)      # inside of the one that runs
            seen.append(y.tolist())
            if len(seen) == 2:
                raise KeyboardInterrupt
        signal.signal(signal.SIGINT, handler)
        soon(0.3), soon(0.6)
        try:
            endless(1, np.ones(1, np.float32))
        except KeyboardInterrupt:
            print(seen)
    """
    assert ran(body) == "[[9.0, 9.0], [9.0, 9.0]]\n"


def test_gradients_and_tapes():
    body = """
        x = np.ones(2, np.float32)
        def tape():
            with kc.Tape():
                endless(2, x)
        print(stopped(lambda: endless.grad(2, x, grads={"x": 1.0})), stopped(tape))
        x[:] = 1.0
        with kc.Tape() as tape:
            square(2, x, y := np.zeros(2, np.float32))
        tape.backward(grads=[(y, 1.0)])
        print(tape.gradient(x).tolist())
    """
    assert ran(body) == "True True\n[2.0, 2.0]\n"


def test_other_threads_of_python_keep_their_launches():
    body = """
        x = np.ones(2, np.float32)
        threading.Thread(target=lambda: endless(2, x), daemon=True).start()
        time.sleep(0.2)
        def wait():
            while True:
                time.sleep(0.01)
        print(stopped(wait), stopped(lambda: endless(2, x.copy())))
        sys.stdout.flush()
        os._exit(0)
    """
    assert ran(body) == "True True\n"


def test_forked_processes():
    body = """
        endless(0, np.ones(1, np.float32))
        square(1, np.ones(1, np.float32), np.ones(1, np.float32))
        child = os.fork()
        if child == 0:
            os._exit(0 if stopped(lambda: endless(1, np.ones(1, np.float32))) else 1)
        print(os.waitpid(child, 0)[1])
    """
    assert ran(body) == "0\n"


def test_a_compilation_ends():
    lines = "\n".join(f"    s = s * x[{n % 7}] + kc.sin(s + {n}.5)" for n in range(3000))
    body = f'''
import linecache
text = """import kc
@kc.kernel
def long(x: kc.array(dtype=float)):
    s = x[0]
{lines}
    x[0] = s
"""
def compiled():
    module = kc.compile(text)
    module.long(1, np.ones(7, np.float32))
before = time.monotonic()
ended = stopped(compiled)
took = time.monotonic() - before
y = np.zeros(1, np.float32)
square(1, np.full(1, 3, np.float32), y)
print(ended, took < 2.0, y.tolist())
'''
    done = subprocess.run(
        [sys.executable, "-c", HEAD + body], capture_output=True, text=True, timeout=300, env={**os.environ, "KC_CACHE_DIR": ""}
    )
    assert done.stdout == "True True [9.0]\n", (done.stdout, done.stderr)
