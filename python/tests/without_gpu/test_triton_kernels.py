"""Kernels as the tutorials of Triton have them: products, layer norm, attention. On sm_90 they use
`wgmma`, mbarrier objects and copies of boxes."""

import pytest
from triton_programs import HEAD

PRODUCTS = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def product(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    of_a, of_b = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    sum = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        sum = tl.dot(tl.load(of_a), tl.load(of_b), sum)
        of_a += BK
        of_b += BK * N
    tl.store(c + m[:, None] * N + n[None, :], sum)

@triton.jit
def by_boxes(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    of_a = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    of_b = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    of_c = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(of_a.load([m, k]), of_b.load([k, n]), sum)
    of_c.store([m, n], sum.to(tl.float16))

@triton.jit
def by_given_boxes(of_a, of_b, of_c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sum = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sum = tl.dot(of_a.load([m, k]), of_b.load([n, k]).T, sum)
    of_c.store([m, n], sum.to(tl.float16))

class Given(Buffer):
    def __init__(self, array):
        super().__init__(array)
        self.dtype = array.dtype
    shape = property(lambda self: self.array.shape)
    def stride(self, n=None):
        strides = [s // self.array.itemsize for s in self.array.strides]
        return strides if n is None else strides[n]
    def dim(self): return self.array.ndim

def allocate(size, align, stream):
    return Buffer(np.zeros(size, np.uint8))
triton.set_allocator(allocate)
rng = np.random.default_rng(1)
M, N, K = 128, 128, 96
a, b = rng.random((M, K)).astype(np.float16), rng.random((K, N)).astype(np.float16)
right = a.astype(np.float32) @ b.astype(np.float32)
def near(found, within): return bool(np.abs(found - right).max() < within)
o = zeros(M, N)
product[(2, 2)](Buffer(a), Buffer(b), o, N, K, BM=64, BN=64, BK=32)
print("product", near(o.numpy(), 1e-3))
o = Buffer(np.zeros((M, N), np.float16))
by_boxes[(2, 2)](Buffer(a), Buffer(b), o, M, N, K, BM=64, BN=64, BK=32)
print("boxes", near(o.numpy(), 3e-2))
o = Given(np.zeros((M, N), np.float16))
d = lambda buffer, block: TensorDescriptor(buffer, list(buffer.array.shape), [buffer.array.shape[1], 1], block)
by_given_boxes[(2, 2)](d(Given(a), [64, 32]), d(Given(np.ascontiguousarray(b.T)), [64, 32]), d(o, [64, 64]), K, BM=64, BN=64, BK=32)
print("given", near(o.numpy(), 3e-2))
"""

LAYER_NORM = """
@triton.jit
def forward(x, y, w, b, mean, rstd, n, eps, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    inside = i < n
    v = tl.load(x + row * n + i, mask=inside, other=0.0)
    m = tl.sum(v, 0) / n
    d = tl.where(inside, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    out = d * r * tl.load(w + i, mask=inside) + tl.load(b + i, mask=inside)
    tl.store(y + row * n + i, out, mask=inside)

@triton.jit
def backward(x, w, mean, rstd, dy, dx, dw, db, n, B: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, B)
    inside = i < n
    g = tl.load(dy + row * n + i, mask=inside, other=0.0)
    r = tl.load(rstd + row)
    h = (tl.load(x + row * n + i, mask=inside, other=0.0) - tl.load(mean + row)) * r
    wg = g * tl.load(w + i, mask=inside, other=0.0)
    c1, c2 = tl.sum(tl.where(inside, h * wg, 0.0), 0) / n, tl.sum(wg, 0) / n
    tl.store(dx + row * n + i, (wg - h * c1 - c2) * r, mask=inside)
    tl.atomic_add(dw + i, g * h, mask=inside)
    tl.atomic_add(db + i, g, mask=inside)

rng = np.random.default_rng(2)
R, n = 8, 100
x, dy = (rng.normal(size=(R, n)).astype(np.float32) for _ in range(2))
w, b = (rng.normal(size=n).astype(np.float32) for _ in range(2))
y, dx, dw, db, mean, rstd = zeros(R, n), zeros(R, n), zeros(n), zeros(n), zeros(R), zeros(R)
forward[(R,)](Buffer(x), y, Buffer(w), Buffer(b), mean, rstd, n, 1e-5, B=128)
backward[(R,)](Buffer(x), Buffer(w), mean, rstd, Buffer(dy), dx, dw, db, n, B=128)
x, dy = x.astype(np.float64), dy.astype(np.float64)
d = x - x.mean(1, keepdims=True)
r = 1 / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)
h, wg = d * r, dy * w
near = lambda found, right: bool(np.abs(found.numpy() - right).max() < 1e-4)
print("y", near(y, h * w + b))
print("dx", near(dx, (wg - h * (h * wg).mean(1, keepdims=True) - wg.mean(1, keepdims=True)) * r))
print("dw", near(dw, (dy * h).sum(0)), "db", near(db, dy.sum(0)))
"""

ATTENTION = """
@triton.jit
def attention(q, k, v, o, T, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, n, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    of_q = tl.load(q + m[:, None] * D + d[None, :])
    most, sum = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for first in range(0, T, BN):
        at = (first + n)[:, None] * D + d[None, :]
        s = tl.dot(of_q, tl.trans(tl.load(k + at))) * scale
        new = tl.maximum(most, tl.max(s, 1))
        p, old = tl.exp(s - new[:, None]), tl.exp(most - new)
        sum, most = sum * old + tl.sum(p, 1), new
        out = tl.dot(p.to(tl.float16), tl.load(v + at), out * old[:, None])
    tl.store(o + m[:, None] * D + d[None, :], out / sum[:, None])

rng = np.random.default_rng(3)
T, D = 128, 64
q, k, v = (rng.normal(size=(T, D)).astype(np.float16) for _ in range(3))
o = zeros(T, D)
attention[(2,)](Buffer(q), Buffer(k), Buffer(v), o, T, D ** -0.5, D=D, BM=64, BN=64)
s = q.astype(np.float64) @ k.astype(np.float64).T * D ** -0.5
p = np.exp(s - s.max(1, keepdims=True))
print("o", bool(np.abs(o.numpy() - p / p.sum(1, keepdims=True) @ v.astype(np.float64)).max() < 2e-3))
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("text", [PRODUCTS, LAYER_NORM, ATTENTION], ids=["products", "layer norm", "attention"])
def test_kernels_of_tutorials_compute_what_numpy_does(gpu, text, arch):
    ran = gpu(HEAD + text, "--arch", arch)
    answers = ran.out.split()[1::2]
    assert answers and set(answers) == {"True"}, (ran.out, ran.said)
    assert (ran.code, ran.codes()) == (0, []), ran.said
