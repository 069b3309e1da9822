"""Launches whose threads wait for each other: by themselves, in graphs, on streams, and what cannot wait."""

import warnings

import kc
import numpy as np
import pytest
from conftest import program


@kc.kernel
def normalise(x: kc.array(dtype=float), total: kc.array(dtype=float)):
    i = kc.tid()
    kc.atomic_add(total, 0, x[i])
    kc.grid_sync()
    x[i] = x[i] / total[0]


@kc.kernel
def scan(x: kc.array(dtype=int), y: kc.array(dtype=int), rounds: int):
    """Inclusive sums, by doubling strides."""
    i = kc.tid()
    stride = int(1)
    for r in range(rounds):
        y[i] = x[i]
        if i >= stride:
            y[i] = x[i] + x[i - stride]
        kc.grid_sync()
        x[i] = y[i]
        kc.grid_sync()
        stride *= 2


def test_a_sum_is_there_behind_the_barrier(rng):
    values = rng.random(777, dtype=np.float32)
    x = kc.array(values, device="cuda")
    normalise(777, x, kc.zeros(1, device="cuda"))
    np.testing.assert_allclose(x.numpy(), values / values.sum(dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("block_dim", [32, 100, 256, 1024])
def test_scans(rng, block_dim):
    values = rng.integers(-9, 9, 1000).astype(np.int32)
    x, y = kc.array(values, device="cuda"), kc.zeros(1000, dtype=int, device="cuda")
    scan(1000, x, y, 10, block_dim=block_dim)
    assert (x.numpy() == np.cumsum(values)).all()


@kc.kernel
def share(x: kc.array(dtype=float), total: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    if i == 0:
        s = float(0.0)
        for j in range(x.shape[0]):
            s += x[j]
        total[0] = s
    kc.grid_sync()
    y[i] = x[i] / total[0]


def test_forward_mode():
    x, total, y = (kc.array(np.array(of, np.float32), device="cuda") for of in ([1, 2, 5], [0], [0, 0, 0]))
    direction = kc.array(np.array([1, 0, 0], np.float32), device="cuda")
    with warnings.catch_warnings():
        # What orders its threads, the check of races does not see.
        warnings.simplefilter("ignore")
        tangents = share.jvp(3, x, total, y, tangents={"x": direction})
    assert tangents["y"].numpy().tolist() == [1 / 8 - 1 / 64, -2 / 64, -5 / 64]


def test_checked_launches_wait_too(rng):
    values = rng.integers(-9, 9, 100).astype(np.int32)
    x, y = kc.array(values, device="cuda"), kc.zeros(100, dtype=int, device="cuda")
    with kc.checked():
        scan(100, x, y, 7)
    assert (x.numpy() == np.cumsum(values)).all()


def test_graphs_and_streams(rng):
    values = rng.integers(-9, 9, 300).astype(np.int32)
    x, y = kc.array(values, device="cuda"), kc.zeros(300, dtype=int, device="cuda")
    scan.load("cuda")
    with kc.Stream("cuda") as stream, kc.Graph() as graph:
        scan(300, x, y, 9)
    for _ in range(2):
        graph.replay()
        stream.synchronize()
    assert (x.numpy() == np.cumsum(np.cumsum(values))).all()


TWO_STREAMS = """
import kc

@kc.kernel
def twice(x: kc.array(dtype=int)):
    i = kc.tid()
    x[i] = x[i] + 1
    kc.grid_sync()
    x[i] = x[i] + 1

arrays = [kc.zeros(300, dtype=int, device="cuda") for _ in range(2)]
twice.load("cuda")
kc.devices()[0].synchronize()
graphs, streams = [], [kc.Stream("cuda") for _ in arrays]
for stream, x in zip(streams, arrays):
    with stream, kc.Graph() as graph:
        twice(300, x)
        twice(300, x)
    graphs.append(graph)
for _ in range(3):
    for stream, graph, x in zip(streams, graphs, arrays if APART else arrays[:1] * 2):
        with stream:
            twice(300, x)
            graph.replay()
for stream in streams:
    stream.synchronize()
print([int(x.numpy().sum()) for x in arrays])
"""


@pytest.mark.simulated
@pytest.mark.parametrize("apart", [True, False])
def test_launches_that_wait_meet_on_two_streams_only_in_arrays(apart):
    # Their barriers go through words of the driver, which are no memory that streams share.
    ran = program(TWO_STREAMS.replace("APART", str(apart)), KC_SIM_CHECKS="races,uninitialised")
    assert ran.returncode == 0, ran.stderr
    assert ("[5400, 5400]" in ran.stdout) == apart
    assert ("nothing orders" in ran.stdout + ran.stderr) != apart, ran.stdout + ran.stderr


@pytest.mark.simulated
def test_a_launch_that_does_not_fit_says_what_does():
    n = 300_000
    x, y = kc.zeros(n, dtype=int, device="cuda"), kc.zeros(n, dtype=int, device="cuda")
    with pytest.raises(kc.LaunchError, match=r"E1107.*all threads of `scan` wait.*1172 blocks of 256 threads, and \d+ blocks \(\d+ threads\) fit"):
        scan(n, x, y, 1)
    scan(100, x, y, 1)
    assert not x.numpy().any()


def test_the_host_and_gradients_refuse(rng):
    x, total = rng.random(4, dtype=np.float32), np.zeros(1, np.float32)
    with pytest.raises(kc.Error, match="E0824.*the host runs one after the other"):
        normalise(4, x, total)
    x = kc.array(x, device="cuda", requires_grad=True)
    with pytest.raises(kc.Error, match="behind which threads read what others wrote"):
        normalise.grad(4, x, kc.zeros(1, device="cuda", requires_grad=True))
