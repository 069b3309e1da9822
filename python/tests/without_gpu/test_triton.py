"""Triton runs unchanged, with buffers of the driver in the place of PyTorch's; faults are found at the line of Python."""

import pytest
from conftest import line_of
from triton_programs import HEAD


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_kernels_compute_what_numpy_does(gpu, arch):
    ran = gpu(
        HEAD
        + """
@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)

@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + r * n + i, mask=i < n, other=-float("inf"))
    v = tl.exp(v - tl.max(v, 0))
    tl.store(o + r * n + i, v / tl.sum(v, 0), mask=i < n)

@triton.jit
def product(a, b, c, K: tl.constexpr):
    i = tl.arange(0, 32)
    k = tl.arange(0, K)
    of_a, of_b = tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + k[:, None] * 32 + i[None, :])
    tl.store(c + i[:, None] * 32 + i[None, :], tl.dot(of_a, of_b))

rng = np.random.default_rng(1)
x, y = rng.random(1000, dtype=np.float32), rng.random(1000, dtype=np.float32)
o = zeros(1000)
add[(4,)](Buffer(x), Buffer(y), o, 1000, B=256)
print("add", np.abs(o.numpy() - (x + y)).max() == 0)
x = rng.random((8, 100), dtype=np.float32)
o = zeros(8, 100)
softmax[(8,)](Buffer(x), o, 100, B=128)
e = np.exp(x - x.max(1, keepdims=True))
print("softmax", np.abs(o.numpy() - e / e.sum(1, keepdims=True)).max() < 1e-6)
a, b = rng.random((32, 32)).astype(np.float16), rng.random((32, 32)).astype(np.float16)
o = zeros(32, 32)
product[(1,)](Buffer(a), Buffer(b), o, K=32)
print("product", np.abs(o.numpy() - a.astype(np.float32) @ b.astype(np.float32)).max() < 1e-4)
""",
        "--arch",
        arch,
    )
    assert ran.out.split() == ["add", "True", "softmax", "True", "product", "True"], ran.said
    assert (ran.code, ran.codes()) == (0, []), ran.said


FAULTS = {
    "a mask that is missing": (
        "E1101",
        """
@triton.jit
def k(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load({0}) * 2  # here
    tl.store(o + i, v, mask=i < n)
k[(4,)](zeros(1000), zeros(1000), 1000, B=256)
""",
        ("x + i", "x + i, mask=i < n"),
    ),
    "programs that write one element": (
        "E1113",
        """
@triton.jit
def k(x, B: tl.constexpr):
    i = {0} + tl.arange(0, B)
    tl.store(x + i, tl.program_id(0) + tl.zeros((B,), tl.float32))  # here
k[(4,)](zeros(4 * 128), B=128)
""",
        ("tl.program_id(0) * (B - 1)", "tl.program_id(0) * B"),
    ),
    "memory that nobody wrote": (
        "E1112",
        """
@triton.jit
def k(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)  # here
    tl.store(o + i, v + 1)
k[(1,)](Buffer(np.zeros(128, np.float32), {0}), zeros(128), B=128)
""",
        ("False", "True"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_its_line(gpu, name):
    code, text, (fault, _) = FAULTS[name]
    text = HEAD + text.format(fault)
    ran = gpu(text)
    assert (code, line_of(text, "# here")) in ran.findings(), ran.said
    assert ran.code != 0, ran.said


@pytest.mark.parametrize("name", FAULTS)
def test_its_twin_is_silent(gpu, name):
    _, text, (_, right) = FAULTS[name]
    ran = gpu(HEAD + text.format(right))
    assert (ran.code, ran.codes()) == (0, []), ran.said
