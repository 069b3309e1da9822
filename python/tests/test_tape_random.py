"""Random programs of array operations and launches on a tape of kc.warp: the gradient of each is that of differences.

`python test_tape_random.py FIRST COUNT` tries more of them.
"""

import copy
import sys

import kc.warp as wp
import numpy as np
import pytest

SIZE = 6


@wp.kernel
def product(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = x[i] * y[i] + x[i]


@wp.kernel
def add(x: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(z, i, x[i])


@wp.kernel
def square(z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = z[i] * z[i] * wp.float64(0.1)


@wp.kernel
def measure(z: wp.array(dtype=wp.float64), loss: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.float64(i + 1) * z[i] * z[i])


class Program:
    """What a seed makes: the same steps for any start."""

    def __init__(self, seed, start):
        self.rng = np.random.default_rng(seed)
        # Inside of the tape, where there is one.
        self.x = wp.array(start, dtype=wp.float64, requires_grad=True)
        self.pool = [self.x] + [wp.array(np.linspace(0.1, 0.7, SIZE) * k, dtype=wp.float64, requires_grad=k != 2) for k in (1, 2, 3)]
        self.loss = wp.zeros(1, dtype=wp.float64, requires_grad=True)
        self.steps = []

    def run(self):
        for _ in range(self.rng.integers(3, 12)):
            step = STEPS[self.rng.integers(len(STEPS))]
            self.steps.append(step.__name__)
            made = step(self, self.some(), self.some(), self.some())
            if made is not None:
                self.pool.append(made)
        for array in (self.some(), self.pool[-1]):
            wp.launch(measure, SIZE, [array], [self.loss])
        return self

    def some(self):
        return self.pool[self.rng.integers(len(self.pool))]

    def new(self, n=SIZE):
        return wp.zeros(n, dtype=wp.float64, requires_grad=bool(self.rng.integers(2)))

    def part(self):
        """A slice, its length, and where so many elements may begin."""
        start = int(self.rng.integers(0, SIZE - 1))
        part = slice(start, int(self.rng.integers(start + 1, SIZE + 1)), int(self.rng.choice([1, 1, 2])))
        n = len(range(*part.indices(SIZE)))
        return part, n, int(self.rng.integers(0, SIZE - n + 1))

    def chosen(self, n):
        return wp.array(self.rng.integers(0, SIZE, n), dtype=int)


STEPS = []


def step(function):
    STEPS.append(function)
    return function


@step
def contiguous(program, a, b, c):
    return a[::-1].contiguous()


@step
def transposed(program, a, b, c):
    return a.reshape((2, 3)).transpose().contiguous().flatten()


@step
def cloned(program, a, b, c):
    return wp.clone(a)


@step
def deep_copied(program, a, b, c):
    return copy.deepcopy(a)


@step
def made_of_one(program, a, b, c):
    return wp.array(a, dtype=wp.float64)


@step
def made_of_three(program, a, b, c):
    return wp.array([a[:2], b[2:4], c[4:]], dtype=wp.float64).flatten()


@step
def made_of_numpy(program, a, b, c):
    z = program.new()
    z.assign(a.numpy())
    return z


@step
def set_part(program, a, b, c):
    part, n, start = program.part()
    c[part] = a[start : start + n]


@step
def assigned_part(program, a, b, c):
    part, n, start = program.part()
    c[part].assign(a[start : start + n])


@step
def copied(program, a, b, c):
    _, n, start = program.part()
    wp.copy(c, a, dest_offset=start, src_offset=SIZE - n, count=n)


@step
def filled(program, a, b, c):
    c.fill_(0.3)


@step
def zeroed_part(program, a, b, c):
    c[program.part()[0]].zero_()


@step
def numbers(program, a, b, c):
    c[::2] = 0.2
    c[3:4] = a[2:3]


@step
def shifted(program, a, b, c):
    c[1:5] = c[0:4]


@step
def gathered(program, a, b, c):
    indices = program.chosen(SIZE)
    z = a[indices].contiguous()
    indices.fill_(0)
    return z


@step
def scattered(program, a, b, c):
    wp.copy(c[program.chosen(3)], a[:3])


@step
def scattered_by_numpy(program, a, b, c):
    c[program.chosen(3).numpy()] = a[:3]


@step
def scanned(program, a, b, c):
    z = program.new()
    wp.utils.array_scan(a, z, bool(program.rng.integers(2)))
    return z


@step
def scanned_in_place(program, a, b, c):
    wp.utils.array_scan(c, c)


@step
def summed(program, a, b, c):
    part, _, start = program.part()
    z = program.new(1)
    wp.utils.array_sum(a[part], out=z)
    c[start : start + 1] = z


@step
def inner(program, a, b, c):
    part, _, _ = program.part()
    z = program.new(1)
    wp.utils.array_inner(a[part], b[part], out=z)
    c[part] = z


@step
def multiplied(program, a, b, c):
    z = program.new()
    wp.launch(product, SIZE, [a, b], [z])
    return z


@step
def added(program, a, b, c):
    if a is not c:
        wp.launch(add, SIZE, [a], [c])


@step
def squared(program, a, b, c):
    wp.launch(square, SIZE, [c])


def tried(seed):
    """The derivative along a direction by the tape, by differences of eight points, and the steps."""
    rng = np.random.default_rng(seed + 1_000_000)
    start, along = rng.uniform(-0.8, 0.8, SIZE), rng.normal(size=SIZE)
    with wp.Tape() as tape:
        program = Program(seed, start).run()
    tape.backward(program.loss)
    found = tape.gradient(program.x).numpy() @ along
    weights, h = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}, 1e-3

    def loss(k):
        return Program(seed, start + k * h * along).run().loss.numpy()[0]

    return found, sum(w * (loss(k) - loss(-k)) for k, w in weights.items()) / h, program.steps


@pytest.mark.parametrize("first", range(0, 100, 50))
def test_random_programs(first):
    nonzero = 0
    for seed in range(first, first + 50):
        found, expected, steps = tried(seed)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-7), (seed, steps)
        nonzero += abs(expected) > 1e-9
    # Half of them or so overwrite what they were given.
    assert nonzero > 10


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    wrong = nonzero = 0
    for seed in range(first, first + count):
        found, expected, steps = tried(seed)
        nonzero += abs(expected) > 1e-9
        if not np.isclose(found, expected, rtol=1e-6, atol=1e-7):
            wrong += 1
            print(seed, found, expected, steps)
    print(f"{count} programs, {nonzero} with a gradient, {wrong} wrong")
