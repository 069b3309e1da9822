"""Streams, events and graphs of a GPU. The simulated driver finds work that no stream and no event orders."""

import gc
import threading

import kc
import numpy as np
import pytest
from conftest import program


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def add(a: float, x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = x[i] + a


@kc.kernel
def total(x: kc.array(dtype=float), out: kc.array(dtype=float)):
    kc.atomic_add(out, 0, x[kc.tid()])


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_work_of_a_stream_is_done_in_its_order(device):
    x, y, stream = kc.array([1.0, 2.0, 3.0], device=device), kc.zeros(3, device=device), kc.Stream(device)
    assert stream.device == device and stream.__cuda_stream__() == (0, stream.ptr) and hex(stream.ptr) in repr(stream)
    with stream:
        add(3, 1.0, x)
        square(3, x, y)
        add(3, 5.0, y)
        z = kc.ones(3, device=device)
        z.assign(y)
        assert kc.zeros(2, device=device).__cuda_array_interface__["stream"] == stream.ptr
    stream.synchronize()
    # Outside all streams are waited for.
    assert y.numpy().tolist() == [9, 14, 21] and z.numpy().tolist() == [9, 14, 21]
    assert x.__cuda_array_interface__["stream"] == 1


def test_streams_wait_for_streams_and_events():
    one, two = kc.Stream(), kc.Stream()
    x, y = kc.array([1.0, 2.0], device="cuda"), kc.zeros(2, device="cuda")
    for _ in range(5):
        with one:
            add(2, 1.0, x)
        two.wait(one)
        with two:
            square(2, x, y)
        event = two.record()
        one.wait(event)
    event.synchronize()
    assert x.numpy().tolist() == [6, 7] and y.numpy().tolist() == [36, 49]


@pytest.mark.two_gpus
def test_streams_of_two_gpus():
    one, two = kc.Stream("cuda:0"), kc.Stream("cuda:1")
    x, y = kc.array([1.0, 2.0], device="cuda:0"), kc.zeros(2, device="cuda:1")
    with one, two:
        add(2, 1.0, x)
        y.assign(x)
        add(2, 1.0, y)
        x.fill_(0.0)
    assert y.numpy().tolist() == [3, 4] and x.numpy().tolist() == [0, 0]


def test_events_have_times():
    start, end = kc.Event(), kc.Event()
    x = kc.zeros(1000, device="cuda")
    start.record()
    for _ in range(5):
        add(1000, 1.0, x)
    end.record()
    assert end.elapsed(end) == 0 and start.elapsed(end) >= 0


def test_a_stream_is_of_a_thread():
    stream, found = kc.Stream(), []
    with stream:
        thread = threading.Thread(target=lambda: found.append(kc.zeros(1, device="cuda").__cuda_array_interface__["stream"]))
        thread.start()
        thread.join()
        with kc.Stream() as inner:
            assert kc.zeros(1, device="cuda").__cuda_array_interface__["stream"] == inner.ptr
        assert kc.zeros(1, device="cuda").__cuda_array_interface__["stream"] == stream.ptr
    assert found == [1]


def test_a_graph_is_done_again_and_again():
    x, y = kc.array([1.0, 2.0, 3.0], device="cuda"), kc.zeros(3, device="cuda")
    with kc.Graph() as graph:
        add(3, 1.0, x)
        square(3, x, y)
        w = kc.zeros(3, device="cuda")
        w.assign(y)
        add(3, 0.5, w)
    assert x.numpy().tolist() == [1, 2, 3] and y.numpy().tolist() == [0, 0, 0], "it is only kept"
    for n in (1, 2, 3):
        graph.replay()
        assert x.numpy().tolist() == [1 + n, 2 + n, 3 + n] and y.numpy().tolist() == [(k + n) ** 2 for k in (1, 2, 3)]
        assert w.numpy().tolist() == [(k + n) ** 2 + 0.5 for k in (1, 2, 3)]
    # The arrays are kept.
    del x, w
    gc.collect()
    others = [kc.full(3, -1.0, device="cuda") for _ in range(5)]
    with kc.Stream() as stream:
        graph.replay()
    stream.synchronize()
    assert y.numpy().tolist() == [25, 36, 49] and all(a.numpy().tolist() == [-1] * 3 for a in others)


def test_a_graph_of_a_gradient():
    x, y = kc.array([1.0, 2.0, 3.0], requires_grad=True, device="cuda"), kc.zeros(3, requires_grad=True, device="cuda")

    def run():
        y.grad.fill_(1.0)
        square.grad(3, x, y, parameters=False)

    run()
    with kc.Graph() as graph:
        square.grad(3, x, y, parameters=False)
    for n in (2, 3):
        y.grad.fill_(1.0)
        graph.replay()
        assert x.grad.numpy().tolist() == [2 * n, 4 * n, 6 * n]


@kc.kernel
def steps(x: kc.array(dtype=float), a: float):
    i = kc.tid()
    for _ in range(4):
        x[i] = x[i] * x[i] + a


@pytest.mark.parametrize("kernel, order", [(steps, 1), (add, -1)])
def test_derivatives_with_memory_of_their_own_are_in_no_graph(kernel, order):
    def gradient():
        x = kc.ones(3, requires_grad=True, device="cuda")
        x.grad.fill_(1.0)
        return x, lambda: kernel.grad(3, *(x, 0.5)[::order])

    (x, run), (y, again) = gradient(), gradient()
    run()
    with pytest.raises(kc.DeviceError, match="E1104.*a graph is captured, and this derivative takes memory of its own"):
        with kc.Graph():
            run()
    again()
    assert y.grad.numpy().tolist() == x.grad.numpy().tolist() and y.numpy().tolist() == x.numpy().tolist()


def test_a_tape_sees_what_a_graph_writes():
    x, y, loss = kc.array([1.0, 2.0], device="cuda"), kc.zeros(2, device="cuda"), kc.zeros(1, device="cuda")
    with kc.Graph() as graph:
        add(2, 1.0, x)
    with kc.Tape() as tape:
        square(2, x, y)
        total(2, y, loss)
    graph.replay()
    with pytest.raises(kc.GradientError, match="E1103.*was changed"):
        tape.backward(loss)


def test_what_no_graph_keeps():
    x = kc.array([1.0, 2.0], device="cuda")
    add(2, 0.0, x)
    for wrong in (lambda: x.numpy(), lambda: x.assign([3.0, 4.0]), lambda: kc.devices()[0].synchronize(), lambda: x.to("cpu")):
        graph = kc.Graph()
        with pytest.raises(kc.DeviceError, match="E1104.*a graph is captured, and nothing can be read"):
            with graph:
                wrong()
        with pytest.raises(RuntimeError, match="nothing is captured yet"):
            graph.replay()
    with pytest.raises(RuntimeError, match="captured already"):
        with kc.Graph() as graph:
            pass
        with graph:
            pass
    graph.replay()
    assert x.numpy().tolist() == [1, 2]
    for kind in (kc.Stream, kc.Event, kc.Graph):
        with pytest.raises(kc.DeviceError, match="E1104.*are a GPU's"):
            kind("cpu")


@pytest.mark.simulated
def test_work_that_nothing_orders_is_found():
    text = """
import kc, numpy as np

@kc.kernel
def add(a: float, x: kc.array(dtype=float)):
    i = kc.tid()
    x[i] = x[i] + a

x, one, two = kc.zeros(300, device="cuda"), kc.Stream(), kc.Stream()
with one:
    add(300, 1.0, x)
ORDER
with two:
    add(300, 1.0, x)
print(x.numpy()[0])
"""
    done = program(text.replace("ORDER", ""), KC_SIM_CHECKS="races")
    assert "E1126" in done.stderr, done.stderr
    done = program(text.replace("ORDER", "two.wait(one)"), KC_SIM_CHECKS="races")
    assert done.stdout == "2.0\n" and "error" not in done.stderr, done.stderr
