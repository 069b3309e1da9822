"""What kernels print on a GPU comes back to Python, in place of the driver's standard output."""

import contextlib
import io
import resource

import kc
import pytest
from conftest import program


@kc.kernel
def say(n: int, x: kc.array(dtype=float), h: kc.array(dtype=kc.float16)):
    i = kc.tid()
    if i < n:
        kc.printf("thread %d: %5.2f |%-4d|%c %g %u\n", i, x[i], -i, 65 + i % 26, h[i], kc.uint64(18446744073709551615))


@kc.kernel
def say_values(v: kc.array(dtype=kc.vec3), b: bool):
    i = kc.tid()
    print(v[i])
    print(b)
    print(i, kc.int8(-3), kc.float64(0.1))


@kc.kernel
def twice(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    print("x", x[i])
    y[i] = x[i] * x[i]


def on_host(kernel, dim, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        kernel(dim, *arguments)
    return text.getvalue()


def test_the_same_as_on_the_host(capsys):
    x, h = kc.array([1.0, 2.5, -3.0], dtype=float), kc.array([0.5, 1.0, 65504.0], dtype=kc.float16)
    expected = on_host(say, 3, 3, x, h)
    say(3, 3, x.to("cuda"), h.to("cuda"))
    kc.devices()[0].synchronize()
    assert capsys.readouterr().out == expected and expected.count("\n") == 3 and "|-1  |B" in expected
    v = kc.ones(2, dtype=kc.vec3)
    expected = on_host(say_values, 1, v, True)
    say_values(1, v.to("cuda"), True)
    v.to("cuda").numpy()
    assert capsys.readouterr().out == expected and "0.1" in expected


def test_all_threads_of_a_large_launch(capsys):
    n = 5000
    x, h = kc.zeros(n, device="cuda"), kc.zeros(n, dtype=kc.float16, device="cuda")
    say(n, n, x, h)
    x.numpy()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(int(line.split()[1][:-1]) for line in lines) == list(range(n))


def test_more_than_there_is_room_for(capsys):
    """The buffer has 131,072 words, of which a print here takes 3; what has no room is counted."""

    @kc.kernel
    def count(k: int, x: kc.array(dtype=float)):
        i = kc.tid()
        print(i, k)

    x = kc.zeros(1, device="cuda")
    count(100_000, 1, x)
    kc.devices()[0].synchronize()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 131_072 // 3 + 1 and lines[-1] == f"... {100_000 - 131_072 // 3} more prints had no room until the next wait"
    # The ring is as good as new, wherever it begins.
    for _ in range(5):
        count(30_000, 7, x)
        kc.devices()[0].synchronize()
        found = capsys.readouterr().out.splitlines()
        assert len(found) == 30_000 and sorted(found, key=lambda line: int(line.split()[0]))[29_999] == "29999 7"


def test_gradients_tapes_graphs_and_streams(capsys):
    x, y = kc.array([3.0], dtype=float, device="cuda", requires_grad=True), kc.zeros(1, device="cuda", requires_grad=True)
    expected = on_host(twice, 1, kc.array([3.0], dtype=float), kc.zeros(1))
    twice.grad(1, x, y, grads={"y": 1.0})
    kc.devices()[0].synchronize()
    assert capsys.readouterr().out == expected
    with kc.Tape() as tape:
        twice(1, x, y)
        twice(1, x, y)
    tape.backward(grads={y: 1.0})
    kc.devices()[0].synchronize()
    assert capsys.readouterr().out == 2 * expected
    with kc.Graph() as graph:
        twice(1, x, y)
    for _ in range(3):
        graph.replay()
    with kc.Stream() as stream:
        twice(1, x, y)
    stream.synchronize()
    assert capsys.readouterr().out == 4 * expected


def test_what_checked_code_prints_comes_before_its_error(capsys):
    x, y = kc.zeros(2, device="cuda"), kc.zeros(1, device="cuda")
    with kc.checked():
        twice(2, x, y)
        with pytest.raises(kc.IndexError):
            y.numpy()
    assert capsys.readouterr().out.count("x 0") == 2


def test_a_program_that_ends_without_a_wait():
    done = program("""
import kc
@kc.kernel
def hello(x: kc.array(dtype=float)):
    print("hello")
    x[kc.tid() + 1] = 1.0
x = kc.zeros(1, device="cuda")
with kc.checked():
    hello(1, x)
""")
    assert done.returncode == 0 and done.stdout == "hello\n" and "E1101" in done.stderr, done.stderr


def test_memory_at_low_addresses():
    """Linux puts a process whose stack has no limit elsewhere."""
    done = program("""
import kc
import numpy as np
@kc.kernel
def row(x: kc.array(dtype=float), y: kc.array(dtype=kc.vec3)):
    i = kc.tid()
    v = kc.vec3()
    for k in range(3):
        v[(i + k) % 3] = x[i]
    y[i] = v
    print(v[i % 3])
x = kc.array(np.float32([1.5, 2.5]), device="cuda")
y = kc.zeros(2, dtype=kc.vec3, device="cuda")
row(2, x, y)
print(y.numpy().tolist())
""", prepare=lambda: resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")[:2]) == ["1.5", "2.5"] and "[[1.5, 1.5, 1.5], [2.5, 2.5, 2.5]]" in done.stdout, done.stdout
