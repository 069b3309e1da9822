"""Kernels that are right and slow, by operation: what ``python -m kc.bench new`` writes.

Long sums are added in stretches of 256, so that their rounding stays within the limits.
"""

from __future__ import annotations

#: Activations: the result of an element `v`.
_OF_ELEMENT = {
    "relu": "kc.max(v, 0.0)",
    "leaky_relu": "kc.where(v > 0.0, v, 0.01 * v)",
    "sigmoid": "kc.where(v >= 0.0, 1.0, kc.exp(-kc.abs(v))) / (1.0 + kc.exp(-kc.abs(v)))",
    "tanh": "kc.tanh(v)",
    "swish": "v * kc.where(v >= 0.0, 1.0, kc.exp(-kc.abs(v))) / (1.0 + kc.exp(-kc.abs(v)))",
    "gelu": "0.5 * v * (1.0 + kc.erf(v * 0.70710678))",
    "gelu_tanh": "0.5 * v * (1.0 + kc.tanh(0.7978845608 * (v + 0.044715 * v * v * v)))",
    "selu": "1.0507009873554805 * kc.where(v > 0.0, v, 1.6732632423543772 * (2.0 * t / (1.0 - t)))",
    "hardsigmoid": "kc.clamp(v / 6.0 + 0.5, 0.0, 1.0)",
    "softplus": "kc.max(v, 0.0) + kc.log(1.0 + kc.exp(-kc.abs(v)))",
    "softsign": "v / (1.0 + kc.abs(v))",
    "elu": "kc.where(v > 0.0, v, 2.0 * t / (1.0 - t))",
    "hardtanh": "kc.clamp(v, -1.0, 1.0)",
}

_ELEMENTS = '''
@kc.kernel
def compute(x: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    v = x[i]
{before}    y[i] = {result}


class ModelNew(Model):
    def __init__(self, *settings):
        self.settings = settings

    def forward(self, x):
        y = empty(x.shape, like=x)
        flat = x.reshape(-1)
        compute(flat.shape[0], flat, y.reshape(-1))
        return y
'''

_ROWS = '''
@kc.kernel
def compute(x: kc.array2d(dtype=float), {more}y: kc.array2d(dtype=float)):
    i = kc.tid()
{body}


class ModelNew(Model):
    def __init__(self, *settings):
        self.settings = settings

    def forward(self, x{given}):
        y = empty(x.shape, like=x)
        compute(x.shape[0], x{given}, y)
        return y
'''

#: Two-level sums of `{term}` over the row, into `total`.
_SUM = '''    total = float(0.0)
    for first in range(0, x.shape[1], 256):
        part = float(0.0)
        for k in range(first, kc.min(first + 256, x.shape[1])):
            part += {term}
        total += part
'''

_TOP = '''    top = x[i, 0]
    for k in range(1, x.shape[1]):
        top = kc.max(top, x[i, k])
'''


def _each(result):
    return f"    for k in range(x.shape[1]):\n        y[i, k] = {result}"


_OF_ROW = {
    "softmax": _TOP + _SUM.format(term="kc.exp(x[i, k] - top)") + _each("kc.exp(x[i, k] - top) / total"),
    "log_softmax": _TOP + _SUM.format(term="kc.exp(x[i, k] - top)") + _each("x[i, k] - top - kc.log(total)"),
    "l1_norm": _SUM.format(term="kc.abs(x[i, k])") + _each("x[i, k] / (total / float(x.shape[1]))"),
    "l2_norm": _SUM.format(term="x[i, k] * x[i, k]") + _each("x[i, k] / kc.sqrt(total)"),
    "cumsum": "    total = float(0.0)\n    for k in range(x.shape[1]):\n        total += x[i, k]\n        y[i, k] = total",
    "cumprod": "    total = float(1.0)\n    for k in range(x.shape[1]):\n        total *= x[i, k]\n        y[i, k] = total",
    "cumsum_reverse": "    total = float(0.0)\n    for n in range(x.shape[1]):\n        k = x.shape[1] - 1 - n\n"
    "        total += x[i, k]\n        y[i, k] = total",
    "cumsum_exclusive": "    total = float(0.0)\n    for k in range(x.shape[1]):\n        y[i, k] = total\n        total += x[i, k]",
    "masked_cumsum": "    total = float(0.0)\n    for k in range(x.shape[1]):\n        if mask[i, k]:\n"
    "            total += x[i, k]\n        y[i, k] = total",
}

_MATMUL = '''
@kc.kernel
def matmul(a: kc.array3d(dtype=float), b: kc.array3d(dtype=float), c: kc.array3d(dtype=float)):
    n, i, j = kc.tid()
    total = float(0.0)
    for first in range(0, a.shape[2], 256):
        part = float(0.0)
        for k in range(first, kc.min(first + 256, a.shape[2])):
            part += a[n, i, k] * b[n, k, j]
        total += part
    c[n, i, j] = total


class ModelNew(Model):
    def forward(self, A, B):
{views}
        C = empty((a.shape[0], a.shape[1], b.shape[2]), like=A)
        matmul(tuple(C.shape), a, b, C)
        return C.reshape({shape})
'''

_SCALE = '''
@kc.kernel
def scale(a: kc.array2d(dtype=float), s: float, c: kc.array2d(dtype=float)):
    i, j = kc.tid()
    c[i, j] = a[i, j] * s


class ModelNew(Model):
    def forward(self, A, s):
        C = empty(A.shape, like=A)
        scale(tuple(A.shape), A, s, C)
        return C
'''

_DIAGONAL = '''
@kc.kernel
def scale_rows(a: kc.array(dtype=float), b: kc.array2d(dtype=float), c: kc.array2d(dtype=float)):
    i, j = kc.tid()
    c[i, j] = a[i] * b[i, j]


class ModelNew(Model):
    def forward(self, A, B):
        C = empty(B.shape, like=B)
        scale_rows(tuple(B.shape), A, B, C)
        return C
'''

_ATTENTION = '''
@kc.kernel
def attention(
    q: kc.array3d(dtype=float), k: kc.array3d(dtype=float), v: kc.array3d(dtype=float), scale: float,
    s: kc.array3d(dtype=float), o: kc.array3d(dtype=float),
):
    h, i = kc.tid()
    top = float(-3.0e38)
    for j in range(k.shape[1]):
        dot = float(0.0)
        for d in range(q.shape[2]):
            dot += q[h, i, d] * k[h, j, d]
        s[h, i, j] = dot * scale
        top = kc.max(top, dot * scale)
    total = float(0.0)
    for j in range(k.shape[1]):
        total += kc.exp(s[h, i, j] - top)
    for d in range(q.shape[2]):
        sum = float(0.0)
        for j in range(k.shape[1]):
            sum += kc.exp(s[h, i, j] - top) / total * v[h, j, d]
        o[h, i, d] = sum


class ModelNew(Model):
    def forward(self, Q, K, V):
        batch, heads, length, dim = Q.shape
        n = batch * heads
        q, k, v = Q.reshape(n, length, dim), K.reshape(n, length, dim), V.reshape(n, length, dim)
        s, O = empty((n, length, length), like=Q), empty(Q.shape, like=Q)
        attention((n, length), q, k, v, dim ** -0.5, s, O.reshape(n, length, dim))
        return O
'''

_NORM = '''
@kc.kernel
def normalise(x: kc.array3d(dtype=float), eps: float, y: kc.array3d(dtype=float)):
    # One thread for what is normalised together: all elements with the middle index `g`.
    g = kc.tid()
    count = float(x.shape[0]) * float(x.shape[2])
    mean = float(0.0)
    for n in range(x.shape[0]):
        for first in range(0, x.shape[2], 256):
            part = float(0.0)
            for k in range(first, kc.min(first + 256, x.shape[2])):
                part += x[n, g, k] - x[0, g, 0]
            mean += part
    mean = x[0, g, 0] + mean / count
    squares = float(0.0)
    for n in range(x.shape[0]):
        for first in range(0, x.shape[2], 256):
            part = float(0.0)
            for k in range(first, kc.min(first + 256, x.shape[2])):
                d = x[n, g, k] - mean
                part += d * d
            squares += part
    scale = 1.0 / kc.sqrt(squares / count + eps)
    for n in range(x.shape[0]):
        for k in range(x.shape[2]):
            y[n, g, k] = (x[n, g, k] - mean) * scale

{affine}
class ModelNew(Model):
    def __init__(self, {init}):
{parameters}

    def forward(self, x):
        y = empty(x.shape, like=x)
        shape = {shape}
        normalise(shape[1], x.reshape(*shape), 1.0e-5, y.reshape(*shape))
{last}
'''

_AFFINE = '''
@kc.kernel
def affine(
    y: kc.array3d(dtype=float), weight: kc.array(dtype=float), bias: kc.array(dtype=float),
    z: kc.array3d(dtype=float),
):
    n, c, k = kc.tid()
    z[n, c, k] = y[n, c, k] * weight[c] + bias[c]


'''

_OF_NORM = {
    "batch_norm": ("num_features", "num_features", "(x.shape[0], x.shape[1], x.shape[2] * x.shape[3])", "(x.shape[0], x.shape[1], -1)"),
    "instance_norm": ("num_features", None, "(1, x.shape[0] * x.shape[1], x.shape[2] * x.shape[3])", None),
    "group_norm": (
        "num_features, num_groups", "num_features",
        "(1, x.shape[0] * self.groups, x.shape[1] // self.groups * x.shape[2] * x.shape[3])", "(x.shape[0], x.shape[1], -1)",
    ),
    "layer_norm": ("normalized_shape", "*normalized_shape", "(1, x.shape[0], x.shape[1] * x.shape[2] * x.shape[3])", "(x.shape[0], -1, 1)"),
}

_RMS = '''
@kc.kernel
def rms_norm(x: kc.array3d(dtype=float), eps: float, y: kc.array3d(dtype=float)):
    n, k = kc.tid()
    total = float(0.0)
    for c in range(x.shape[1]):
        total += x[n, c, k] * x[n, c, k]
    for c in range(x.shape[1]):
        y[n, c, k] = x[n, c, k] / kc.sqrt(total / float(x.shape[1]) + eps)


class ModelNew(Model):
    def __init__(self, num_features, eps=1.0e-5):
        self.eps = eps

    def forward(self, x):
        n, c = x.shape[0], x.shape[1]
        flat = x.reshape(n, c, -1)
        y = empty(x.shape, like=x)
        rms_norm((n, flat.shape[2]), flat, self.eps, y.reshape(n, c, -1))
        return y
'''

_FROBENIUS = '''
@kc.kernel
def part_squares(x: kc.array(dtype=float), parts: kc.array(dtype=float)):
    p = kc.tid()
    total = float(0.0)
    for k in range(p * 1024, kc.min(p * 1024 + 1024, x.shape[0])):
        total += x[k] * x[k]
    parts[p] = total


@kc.kernel
def norm(parts: kc.array(dtype=float), size: kc.array(dtype=float)):
    i = kc.tid()
    total = float(0.0)
    for p in range(parts.shape[0]):
        total += parts[p]
    size[i] = kc.sqrt(total)


@kc.kernel
def divide(x: kc.array(dtype=float), size: kc.array(dtype=float), y: kc.array(dtype=float)):
    i = kc.tid()
    y[i] = x[i] / size[0]


class ModelNew(Model):
    def forward(self, x):
        flat = x.reshape(-1)
        n = flat.shape[0]
        parts, size, y = empty(((n + 1023) // 1024,), like=x), empty((1,), like=x), empty(x.shape, like=x)
        part_squares(parts.shape[0], flat, parts)
        norm(1, parts, size)
        divide(n, flat, size, y.reshape(-1))
        return y
'''

_COLUMNS = '''
@kc.kernel
def compute(x: kc.array3d(dtype=float), y: kc.array2d(dtype={kind})):
    b, c = kc.tid()
{body}


class ModelNew(Model):
    def __init__(self, dim):
        self.dim = dim

    def forward(self, x):
        d = self.dim
        outer, inner = 1, 1
        for n in x.shape[:d]:
            outer *= n
        for n in x.shape[d + 1:]:
            inner *= n
        y = empty({shape}, like=x{dtype})
        compute((outer, inner), x.reshape(outer, x.shape[d], inner), y.reshape(outer, inner))
        return y
'''

_SUM_OF_COLUMN = '''    total = float(0.0)
    for k in range(x.shape[1]):
        total += x[b, k, c]
    y[b, c] = total'''
_EXTREME = '''    best = x[b, 0, c]
    for k in range(1, x.shape[1]):
        best = kc.{0}(best, x[b, k, c])
    y[b, c] = best'''
_PLACE = '''    at = int(0)
    for k in range(1, x.shape[1]):
        if x[b, k, c] {0} x[b, at, c]:
            at = k
    y[b, c] = kc.int64(at)'''

_OF_COLUMN = {
    "sum": _SUM_OF_COLUMN,
    "mean": _SUM_OF_COLUMN + " / float(x.shape[1])",
    "max": _EXTREME.format("max"),
    "min": _EXTREME.format("min"),
    "argmax": _PLACE.format(">"),
    "argmin": _PLACE.format("<"),
}


def _activation(task):
    before = "    t = kc.tanh(0.5 * kc.min(v, 0.0))\n" if "t / (1.0 - t)" in _OF_ELEMENT[task.op] else ""
    return _ELEMENTS.format(before=before, result=_OF_ELEMENT[task.op])


def _row(task):
    masked = task.op == "masked_cumsum"
    return _ROWS.format(body=_OF_ROW[task.op], more="mask: kc.array2d(dtype=kc.bool), " if masked else "", given=", mask" if masked else "")


def _product(task):
    settings = task.settings("shipped")
    a = "A.T" if settings.get("transpose_a") else "A"
    b = "B.T" if settings.get("transpose_b") else "B"
    ranks = len(task.inputs[0]["shape"].split()), len(task.inputs[1]["shape"].split())
    if ranks == (3, 3):
        views, shape = "        a, b = A, B", "C.shape"
    elif ranks == (2, 2):
        views, shape = f"        a, b = {a}[None], {b}[None]", "C.shape[1:]"
    else:
        views, shape = "        a, b = A.reshape(1, -1, A.shape[-1]), B[None]", "*A.shape[:-1], B.shape[1]"
    return _MATMUL.format(views=views, shape=shape)


def _norm(task):
    init, parameter, shape, affine = _OF_NORM[task.op]
    own = [f"        self.weight = self.parameter({parameter}, one=True)", f"        self.bias = self.parameter({parameter})"] if parameter else []
    if task.op == "group_norm":
        own.insert(0, "        self.groups = num_groups")
    last = "        return y"
    if affine:
        last = (
            f"        z = empty(x.shape, like=x)\n        view = {affine}\n        affine(tuple(y.reshape(*view).shape), y.reshape(*view), "
            "self.weight.reshape(-1), self.bias.reshape(-1), z.reshape(*view))\n        return z"
        )
    return _NORM.format(affine=_AFFINE if affine else "", init=init, parameters="\n".join(own) or "        self.features = num_features", shape=shape, last=last)


def _column(task):
    places = task.dtype == "int64"
    shape = "(*x.shape[:d], 1, *x.shape[d + 1:])" if task.op == "sum" else "(*x.shape[:d], *x.shape[d + 1:])"
    return _COLUMNS.format(kind="kc.int64" if places else "float", body=_OF_COLUMN[task.op], shape=shape, dtype=', dtype="int64"' if places else "")


def body_of(task) -> str:
    """The kernels and the model."""
    from . import _naive_chain, _naive_windows

    by_op = {
        "scale": lambda t: _SCALE, "diagonal": lambda t: _DIAGONAL, "matmul": _product, "attention": lambda t: _ATTENTION,
        "rms_norm": lambda t: _RMS, "frobenius_norm": lambda t: _FROBENIUS,
        **dict.fromkeys(_OF_ELEMENT, _activation), **dict.fromkeys(_OF_ROW, _row), **dict.fromkeys(_OF_NORM, _norm),
        **dict.fromkeys(_OF_COLUMN, _column), **_naive_windows.BY_OPERATION, "chain": _naive_chain.chain,
    }
    return by_op[task.op](task)
