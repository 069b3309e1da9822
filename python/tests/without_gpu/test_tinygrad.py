"""tinygrad runs unchanged (`DEV=CUDA`): its operations give what NumPy gives, and a network learns as it does on
tinygrad's CPU backend. Its own test of operations: `tinygrad_ops.py`."""

import pytest
from tinygrad_ops import on_cuda

OPERATIONS = """
import numpy as np
from tinygrad import Device, Tensor, dtypes

assert Device.DEFAULT == "CUDA"
rng = np.random.default_rng(1)
a, b = (rng.uniform(-2, 2, (45, 65)).astype(np.float32) for _ in range(2))
p = np.abs(a) + 0.1
n, m = (rng.integers(1, 100, (45, 65)).astype(np.int32) for _ in range(2))
image = rng.uniform(-1, 1, (2, 4, 9, 9)).astype(np.float32)
weights = rng.uniform(-1, 1, (6, 4, 3, 3)).astype(np.float32)

def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def convolved(x, w):
    out = np.zeros((2, 6, 7, 7), np.float32)
    for i in range(3):
        for j in range(3):
            out += np.einsum("ncyx,oc->noyx", x[:, :, i:i + 7, j:j + 7], w[:, :, i, j])
    return out

OPERATIONS = {
    "add": (lambda x, y: x + y, lambda x, y: x + y, (a, b)),
    "subtract": (lambda x, y: x - y, lambda x, y: x - y, (a, b)),
    "multiply": (lambda x, y: x * y, lambda x, y: x * y, (a, b)),
    "divide": (lambda x, y: x / y, lambda x, y: x / y, (a, p)),
    "power": (lambda x: x ** 3, lambda x: x ** 3, (a,)),
    "exp": (lambda x: x.exp(), np.exp, (a,)),
    "log": (lambda x: x.log(), np.log, (p,)),
    "sqrt": (lambda x: x.sqrt(), np.sqrt, (p,)),
    "rsqrt": (lambda x: x.rsqrt(), lambda x: 1 / np.sqrt(x), (p,)),
    "sin": (lambda x: x.sin(), np.sin, (a,)),
    "cos": (lambda x: x.cos(), np.cos, (a,)),
    "tanh": (lambda x: x.tanh(), np.tanh, (a,)),
    "sigmoid": (lambda x: x.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), (a,)),
    "relu": (lambda x: x.relu(), lambda x: np.maximum(x, 0), (a,)),
    "floor": (lambda x: x.floor(), np.floor, (a,)),
    "abs": (lambda x: x.abs(), np.abs, (a,)),
    "maximum": (lambda x, y: x.maximum(y), np.maximum, (a, b)),
    "where": (lambda x, y: (x > y).where(x, y * 2), lambda x, y: np.where(x > y, x, y * 2), (a, b)),
    "clip": (lambda x: x.clip(-0.5, 0.5), lambda x: x.clip(-0.5, 0.5), (a,)),
    "sum": (lambda x: x.sum(), np.sum, (a,)),
    "sum of rows": (lambda x: x.sum(1), lambda x: x.sum(1), (a,)),
    "sum of columns": (lambda x: x.sum(0), lambda x: x.sum(0), (a,)),
    "mean": (lambda x: x.mean(0), lambda x: x.mean(0), (a,)),
    "variance": (lambda x: x.var(1), lambda x: x.var(1, ddof=1), (a,)),
    "max": (lambda x: x.max(1), lambda x: x.max(1), (a,)),
    "argmax": (lambda x: x.argmax(1), lambda x: x.argmax(1), (a,)),
    "product": (lambda x: x.prod(0), lambda x: x.prod(0), (1 + a / 100,)),
    "running sum": (lambda x: x.cumsum(1), lambda x: x.cumsum(1), (a,)),
    "softmax": (lambda x: x.softmax(1), softmax, (a,)),
    "log softmax": (lambda x: x.log_softmax(1), lambda x: np.log(softmax(x)), (a,)),
    "matrices": (lambda x, y: x @ y.T, lambda x, y: x @ y.T, (a, b)),
    "outer": (lambda x, y: x[0].reshape(-1, 1) * y[0], lambda x, y: np.outer(x[0], y[0]), (a, b)),
    "transposed": (lambda x: x.T.contiguous(), lambda x: x.T, (a,)),
    "reshaped": (lambda x: x.reshape(65, 45).contiguous(), lambda x: x.reshape(65, 45), (a,)),
    "part": (lambda x: x[3:40:2, 5:].contiguous(), lambda x: x[3:40:2, 5:], (a,)),
    "flipped": (lambda x: x.flip(1).contiguous(), lambda x: x[:, ::-1], (a,)),
    "padded": (lambda x: x.pad(((1, 2), (3, 4))), lambda x: np.pad(x, ((1, 2), (3, 4))), (a,)),
    "joined": (lambda x, y: x.cat(y, dim=1), lambda x, y: np.concatenate([x, y], 1), (a, b)),
    "gathered": (lambda x, i: x[0].gather(0, i[0] % 65), lambda x, i: x[0][i[0] % 65], (a, n)),
    "sorted": (lambda x: x[0].sort()[0], lambda x: np.sort(x[0]), (a,)),
    "convolution": (lambda x, w: x.conv2d(w), convolved, (image, weights)),
    "pooled": (lambda x: x[:, :, :8, :8].max_pool2d((2, 2)),
               lambda x: x[:, :, :8, :8].reshape(2, 4, 4, 2, 4, 2).max((3, 5)), (image,)),
    "integers": (lambda x, y: x * y - x // y + x % y, lambda x, y: x * y - x // y + x % y, (n, m)),
    "bits": (lambda x, y: (x & y) | (x ^ 5), lambda x, y: (x & y) | (x ^ 5), (n, m)),
    "shifts": (lambda x: (x << 3) >> 1, lambda x: (x << 3) >> 1, (n,)),
    "comparison": (lambda x, y: x < y, lambda x, y: x < y, (n, m)),
    "float16": (lambda x, y: (x.half() + y.half()).float(),
                lambda x, y: (x.astype(np.float16) + y.astype(np.float16)).astype(np.float32), (a, b)),
    "bfloat16": (lambda x: x.cast(dtypes.bfloat16).float(),
                 lambda x: ((x.view(np.uint32) + 0x7fff + (x.view(np.uint32) >> 16 & 1)) & 0xffff0000).view(np.float32), (a,)),
    "float64": (lambda x: x.double().exp(), lambda x: np.exp(x.astype(np.float64)), (a,)),
    "to integers": (lambda x: x.cast(dtypes.int32), lambda x: x.astype(np.int32), (a,)),
    "bytes": (lambda x: x.cast(dtypes.uint8) + 250, lambda x: x.astype(np.uint8) + np.uint8(250), (n,)),
}
for name, (on_gpu, right, given) in OPERATIONS.items():
    found = on_gpu(*(Tensor(x) for x in given)).numpy()
    print(name, found.shape == right(*given).shape and np.allclose(found, right(*given), 1e-4, 1e-5), sep=": ")
# A gradient through a product, a sum and a function.
x, y = Tensor(a), Tensor(b)
(x @ y.T).relu().sum().backward()
mask = (a @ b.T > 0).astype(np.float32)
print("gradient", np.allclose(x.grad.numpy(), mask @ b, 1e-3, 1e-3), sep=": ")
"""

NETWORK = """
import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn

rng = np.random.default_rng(3)
points = rng.uniform(-1, 1, (256, 2)).astype(np.float32)
sides = (np.hypot(points[:, 0], points[:, 1]) < 0.7).astype(np.int32)

class Net:
    def __init__(self):
        self.first, self.last = nn.Linear(2, 32), nn.Linear(32, 2)
        for layer in (self.first, self.last):
            layer.weight.assign(Tensor(rng.normal(0, 0.5, layer.weight.shape).astype(np.float32))).realize()
            layer.bias.assign(Tensor(np.zeros(layer.bias.shape, np.float32))).realize()
    def __call__(self, x):
        return self.last(self.first(x).tanh())

net = Net()
optimizer = nn.optim.Adam(nn.state.get_parameters(net), lr=0.1)

@TinyJit
def step(x, y):
    optimizer.zero_grad()
    loss = net(x).sparse_categorical_crossentropy(y)
    loss.backward()
    return loss.realize(*optimizer.schedule_step())

with Context(TRAINING=1):
    for n in range(60):
        part = slice(n % 4 * 64, n % 4 * 64 + 64)
        loss = step(Tensor(points[part]).realize(), Tensor(sides[part]).realize())
        print(loss.item())
right = (net(Tensor(points)).argmax(1).numpy() == sides).mean()
print(right)
"""


def test_operations_give_what_numpy_gives(gpu):
    ran = gpu(OPERATIONS, **on_cuda())
    answers = dict(line.rsplit(": ", 1) for line in ran.out.splitlines())
    assert len(answers) == 52 and set(answers.values()) == {"True"}, (ran.out, ran.said)
    assert (ran.code, ran.codes()) == (0, []), ran.said


@pytest.fixture
def on_host(tmp_path):
    """The same on tinygrad's CPU backend."""
    import os
    import subprocess
    import sys

    def run(text):
        done = subprocess.run(
            [sys.executable, "-c", text], env=os.environ | {"DEV": "CPU"}, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_network_learns_as_on_the_host(gpu, on_host):
    ran = gpu(NETWORK, **on_cuda())
    assert (ran.code, ran.codes()) == (0, []), ran.said
    found = [float(line) for line in ran.out.splitlines()]
    right = [float(line) for line in on_host(NETWORK).splitlines()]
    assert len(found) == 61 and found[-2] < 0.5 * found[0] and found[-1] > 0.9, found
    assert all(abs(a - b) <= 1e-3 * max(1, abs(b)) for a, b in zip(found[:-1], right[:-1], strict=True)), (found, right)
