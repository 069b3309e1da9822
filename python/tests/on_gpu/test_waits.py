"""Launches wait for nothing: a library before the driver counts."""

import pathlib

import pytest
from conftest import LIBRARY, program

BENCHES = pathlib.Path(__file__).parents[3] / "benches"

LOOPS = """
import sys

sys.path.insert(0, BENCHES)
from gpu_launches import quiet_driver

driver = quiet_driver(LIBRARY)
import kc
import numpy as np

@kc.kernel
def step(x: kc.array(dtype=float), y: kc.array(dtype=float), k: float):
    i = kc.tid()
    y[i] = x[i] * k + y[i]

@kc.kernel
def total(x: kc.array(dtype=float), s: kc.array(dtype=float)):
    kc.atomic_add(s, 0, x[kc.tid()])

x, y = (kc.ones(64, device="cuda", requires_grad=True) for _ in range(2))
s = kc.zeros(1, device="cuda", requires_grad=True)
stream = kc.Stream("cuda")

def waits(call, times):
    call()
    call()
    before = driver.waits()
    for _ in range(times):
        call()
    return driver.waits() - before

def both():
    step(64, x, y, 0.5)
    total(64, y, s)

print("launches", waits(both, 1000))
print("gradients", waits(lambda: step.grad(64, x, y, 0.5, parameters=False), 1000))
with stream:
    print("of a stream", waits(both, 1000))
    with kc.Graph() as graph:
        both()
    print("of a graph", waits(graph.replay, 1000))
print("a number", waits(lambda: s.numpy(), 1) > 0)
"""


@pytest.mark.simulated
def test_a_thousand_launches_wait_for_nothing():
    ran = program(LOOPS.replace("BENCHES", repr(str(BENCHES))).replace("LIBRARY", repr(LIBRARY)), driver=False, KC_SIM_CHECKS="none")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["launches 0", "gradients 0", "of a stream 0", "of a graph 0", "a number True"], ran.stdout + ran.stderr
