"""Results that are the same each time: where the order of threads shows, they run in it, on one core or one thread of a GPU."""

import json

import kc
import numpy as np
import pytest
from conftest import program


@kc.kernel
def total(x: kc.array(dtype=float), out: kc.array(dtype=float)):
    kc.atomic_add(out, 0, x[kc.tid()])


@kc.kernel
def count(x: kc.array(dtype=float), out: kc.array(dtype=int)):
    if x[kc.tid()] > 0.5:
        kc.atomic_add(out, 0, 1)


@kc.kernel
def square(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] * x[i]


@kc.kernel
def gather(index: kc.array(dtype=int), x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[index[i]] * 2.0


@kc.kernel
def tiles(x: kc.array(dtype=float), out: kc.array(dtype=float)):
    i = kc.tid()
    kc.tile_atomic_add(out, kc.tile_load(x, shape=32, offset=32 * i))


def test_sums_of_floats_are_those_of_one_thread(rng):
    values = rng.random(300, dtype=np.float32)
    x, out = kc.array(values, device="cuda", requires_grad=True), kc.zeros(1, device="cuda")
    with kc.deterministic():
        total(300, x, out)
        total(300, x, out)
    here = np.zeros(1, np.float32)
    for value in np.tile(values, 2):
        here += value
    # A thread may add up what it has before it adds it to the element.
    assert out.numpy()[0] == pytest.approx(here[0], rel=1e-5)


SUMS = """
import kc
import numpy as np

@kc.kernel
def total(x: kc.array(dtype=float), sums: kc.array(dtype=float), old: kc.array(dtype=float)):
    i = kc.tid()
    old[i] = kc.atomic_add(sums, i % 3, x[i])

x = np.random.default_rng(3).random(600, dtype=np.float32)
sums, old = kc.zeros(3, device="cuda"), kc.zeros(600, device="cuda")
with kc.deterministic({on}):
    total(600, kc.array(x, device="cuda"), sums, old, block_dim=32)
print(sums.numpy().tobytes().hex(), hash(old.numpy().tobytes()))
here, found = np.zeros(3, np.float32), old.numpy()
in_order = []
for i, value in enumerate(x):
    in_order.append(here[i % 3])
    here[i % 3] += value
print((sums.numpy() == here).all() and (found == np.array(in_order, np.float32)).all())
"""


@pytest.mark.simulated
def test_blocks_in_another_order_give_other_bits_unless_they_are_asked_not_to():
    def runs(on):
        found = []
        for seed in range(4):
            ran = program(SUMS.replace("{on}", str(on)), KC_SIM_SEED=str(seed), PYTHONHASHSEED="0")
            assert ran.returncode == 0, ran.stderr
            found.append(ran.stdout.split())
        return found

    free, fixed = runs(False), runs(True)
    assert len({tuple(run) for run in free}) > 1
    assert len({tuple(run) for run in fixed}) == 1 and fixed[0][2] == "True"


ONE_PLACE = """
import kc
import numpy as np

@kc.kernel
def moments(x: kc.array(dtype=float), a: float, out: kc.array(dtype=float), pair: kc.array(dtype=kc.vec2d)):
    i = kc.tid()
    value = x[i]
    if value > 0.1:
        kc.atomic_add(out, 1, a * value)
    kc.atomic_add(pair, 0, kc.vec2d(kc.float64(value), kc.float64(1.0)))

x = np.random.default_rng(3).random({n}, dtype=np.float32)
out, pair = kc.zeros(2, device="cuda"), kc.zeros(1, dtype=kc.vec2d, device="cuda")
given = kc.array(x, device="cuda", requires_grad=True)
with kc.deterministic({on}):
    for _ in range(2):
        moments({n}, given, 3.0, out, pair, block_dim={block})
print(out.numpy().tobytes().hex(), pair.numpy().tobytes().hex())
"""


def tree(values):
    """The sum of up to 32 numbers as the lanes of a warp take it."""
    lanes = np.concatenate([values, np.full(32 - len(values), -0.0, values.dtype)])
    for distance in (16, 8, 4, 2, 1):
        lanes[: 32 - distance] = lanes[: 32 - distance] + lanes[distance:]
    return lanes[0]


def in_a_block(values, brings, old):
    """The sum that a block of 256 threads adds to an element: each takes every 256th task, then lanes, then warps."""
    threads = np.full(256, -0.0, values.dtype)
    for task, (value, added) in enumerate(zip(values, brings)):
        if added:
            threads[task % 256] = threads[task % 256] + value
    return old + tree(np.array([tree(threads[32 * k : 32 * k + 32].copy()) for k in range(8)], values.dtype))


@pytest.mark.simulated
@pytest.mark.parametrize("n", [10, 3000])
def test_sums_to_one_place_have_the_order_of_a_block(n):
    def runs(on, block):
        found = []
        for seed in range(3):
            text = ONE_PLACE.replace("{on}", str(on)).replace("{block}", str(block)).replace("{n}", str(n))
            ran = program(text, KC_SIM_SEED=str(seed))
            assert ran.returncode == 0, ran.stderr
            found.append(ran.stdout.split())
        return found

    x = np.random.default_rng(3).random(n, dtype=np.float32)
    out, pair = np.float32(0), np.zeros(2)
    for _ in range(2):
        out = in_a_block(np.float32(3) * x, x > np.float32(0.1), out)
        pair = np.array([in_a_block(of, x >= 0, old) for of, old in zip((x.astype(float), np.ones(n)), pair)])
    wanted = [np.array([0, out], np.float32).tobytes().hex(), pair.tobytes().hex()]
    assert all(run == wanted for block in (32, 512) for run in runs(True, block))
    if n == 3000:
        assert len({tuple(run) for run in runs(False, 32)}) > 1


@pytest.mark.simulated
def test_a_block_runs_them_and_not_a_thread(tmp_path):
    text = ONE_PLACE.replace("{on}", "True").replace("{block}", "256").replace("{n}", "3000")
    log = tmp_path / "log"
    ran = program(text, KC_SIM_LOG=str(log), KC_SIM_COUNT="1")
    assert ran.returncode == 0, ran.stderr
    launches = [line for line in map(json.loads, log.read_text().splitlines()) if "moments" in str(line)]
    assert launches and all(launch["grid"] == [1, 1, 1] and launch["block"] == [256, 1, 1] for launch in launches), launches


def test_blocks_that_share_tiles_are_refused(rng):
    x, out = kc.array(rng.random(128, dtype=np.float32), device="cuda"), kc.zeros(32, device="cuda")
    with kc.deterministic():
        with pytest.raises(kc.DeviceError, match="E1104.*atomics of kernel `tiles` show the order of its threads, and `cuda:0`"):
            tiles(4, x, out)
        assert not out.numpy().any()


def test_whole_numbers_and_elements_of_their_own_run(rng):
    values = rng.random(1000, dtype=np.float32)
    x, y, n = kc.array(values, device="cuda", requires_grad=True), kc.zeros(1000, device="cuda"), kc.zeros(1, dtype=int, device="cuda")
    with kc.deterministic():
        count(1000, x, n)
        square(1000, x, y)
    assert n.numpy()[0] == (values > 0.5).sum() and (y.numpy() == values * values).all()


def test_gradients(rng):
    index = kc.array(np.zeros(8, np.int32), device="cuda")
    x, y = kc.zeros(3, device="cuda", requires_grad=True), kc.zeros(8, device="cuda", requires_grad=True)
    for on in (True, False):
        x.grad.zero_()
        with kc.deterministic(on):
            gather.grad(8, index, x, y, grads={"y": 1.0})
        assert x.grad.numpy().tolist() == [16, 0, 0]


def test_the_host_adds_in_the_order_of_threads(rng):
    x = rng.random(200_000, dtype=np.float32)
    results = set()
    with kc.deterministic():
        for _ in range(3):
            out = np.zeros(1, np.float32)
            total(len(x), x, out)
            results.add(out.tobytes())
            with kc.deterministic(False):
                total(len(x), x, out)
    assert len(results) == 1
