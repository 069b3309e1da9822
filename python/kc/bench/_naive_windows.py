"""The same for windows (pooling, convolutions, in one to three dimensions) and for losses."""

from __future__ import annotations

_POOL = '''
@kc.kernel
def pool(
    x: kc.array4d(dtype=float), size: kc.vec3i, stride: kc.vec3i, padding: kc.vec3i, dilation: kc.vec3i,
    y: kc.array4d(dtype=float),
):
    # Pictures and channels are one dimension; planes or rows that are not there have extent 1.
    n, d, r, c = kc.tid()
    result = float({start})
    for a in range(size[0]):
        u = d * stride[0] - padding[0] + a * dilation[0]
        for i in range(size[1]):
            h = r * stride[1] - padding[1] + i * dilation[1]
            for j in range(size[2]):
                w = c * stride[2] - padding[2] + j * dilation[2]
                if u >= 0 and u < x.shape[1] and h >= 0 and h < x.shape[2] and w >= 0 and w < x.shape[3]:
                    {step}
    y[n, d, r, c] = result{last}


class ModelNew(Model):
    def __init__(self, {init}):
        one = (1,) * {missing}
        self.size, self.stride = one + (kernel_size,) * {dims}, one + ((stride or kernel_size),) * {dims}
        self.padding, self.dilation = (0,) * {missing} + (padding,) * {dims}, one + ({dilation},) * {dims}

    def forward(self, x):
        shape = (1,) * {missing} + tuple(x.shape[2:])
        settings = zip(shape, self.size, self.stride, self.padding, self.dilation)
        out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in settings)
        n = x.shape[0] * x.shape[1]
        y = empty((x.shape[0], x.shape[1], *out[{missing}:]), like=x)
        pool((n, *out), x.reshape(n, *shape), self.size, self.stride, self.padding, self.dilation, y.reshape(n, *out))
        return y
'''

_CONV = '''
@kc.kernel
def conv(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), channels: int, outs: int, groups: int,
    stride: kc.vec3i, padding: kc.vec3i, dilation: kc.vec3i, y: kc.array4d(dtype=float),
):
    # Pictures and channels are one dimension; planes or rows that are not there have extent 1.
    no, d, r, c = kc.tid()
    n, o = no // outs, no % outs
    ins = channels // groups
    first = o // (outs // groups) * ins
    total = float(0.0)
    for k in range(ins):
        for a in range(w.shape[1]):
            u = d * stride[0] - padding[0] + a * dilation[0]
            for i in range(w.shape[2]):
                h = r * stride[1] - padding[1] + i * dilation[1]
                for j in range(w.shape[3]):
                    v = c * stride[2] - padding[2] + j * dilation[2]
                    if u >= 0 and u < x.shape[1] and h >= 0 and h < x.shape[2] and v >= 0 and v < x.shape[3]:
                        total += w[o * ins + k, a, i, j] * x[n * channels + first + k, u, h, v]
    y[no, d, r, c] = total
'''

_TRANSPOSED = '''
@kc.kernel
def conv_transpose(
    x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), channels: int, outs: int, groups: int,
    stride: kc.vec3i, padding: kc.vec3i, dilation: kc.vec3i, y: kc.array4d(dtype=float),
):
    # Pictures and channels are one dimension; planes or rows that are not there have extent 1.
    no, d, r, c = kc.tid()
    n, o = no // outs, no % outs
    ins, width = channels // groups, outs // groups
    first = o // width * ins
    total = float(0.0)
    for k in range(ins):
        for a in range(w.shape[1]):
            u = d + padding[0] - a * dilation[0]
            for i in range(w.shape[2]):
                h = r + padding[1] - i * dilation[1]
                for j in range(w.shape[3]):
                    v = c + padding[2] - j * dilation[2]
                    if u >= 0 and h >= 0 and v >= 0:
                        if u % stride[0] == 0 and h % stride[1] == 0 and v % stride[2] == 0:
                            pu, ph, pv = u // stride[0], h // stride[1], v // stride[2]
                            if pu < x.shape[1] and ph < x.shape[2] and pv < x.shape[3]:
                                e = x[n * channels + first + k, pu, ph, pv]
                                total += e * w[(first + k) * width + o % width, a, i, j]
    y[no, d, r, c] = total
'''

_MODEL = '''

class ModelNew(Model):
    def __init__(self, {init}):
        kernel, stride, padding, dilation, more, groups = {settings}
        missing = {missing}
        self.size, self.stride = (1,) * missing + kernel, (1,) * missing + stride
        self.padding, self.dilation, self.more = (0,) * missing + padding, (1,) * missing + dilation, (0,) * missing + more
        self.groups, self.outs = groups, {outs}
        self.weight = self.parameter({weight}, *kernel)
{bias_made}
    def forward(self, x):
        n, channels = x.shape[0], x.shape[1]
        shape = (1,) * {missing} + tuple(x.shape[2:])
        settings = zip(shape, self.size, self.stride, self.padding, self.dilation, self.more)
        out = tuple({extent} for n, k, s, p, d, e in settings)
        y = empty((n, self.outs, *out[{missing}:]), like=x)
        volumes, weights = x.reshape(n * channels, *shape), self.weight.reshape(-1, *self.size)
        {call}(
            (n * self.outs, *out), volumes, weights, channels, self.outs, self.groups, self.stride, self.padding,
            self.dilation, y.reshape(n * self.outs, *out),
        )
{bias_added}        return y
'''

_BIAS = '''
@kc.kernel
def add_bias(y: kc.array3d(dtype=float), bias: kc.array(dtype=float), z: kc.array3d(dtype=float)):
    n, c, k = kc.tid()
    z[n, c, k] = y[n, c, k] + bias[c]

'''


def _pool(task):
    settings = task.settings("shipped")
    dims, most = len(settings["kernel"]), task.op == "max_pool"
    return _POOL.format(
        start="-3.4028234e38" if most else "0.0", step="result = kc.max(result, x[n, u, h, w])" if most else "result += x[n, u, h, w]",
        last="" if most else " / float(size[0] * size[1] * size[2])", dims=dims, missing=3 - dims, dilation="dilation" if most else "1",
        init="kernel_size, stride=None, padding=0" + (", dilation=1, *more" if most else ""),
    )


def _conv(task):
    settings = task.settings("shipped")
    dims, transposed = len(settings["kernel"]), task.op == "conv_transpose"
    def plain(name):
        return tuple(settings.get(name) or [0] * dims)

    groups = settings["groups"]
    depthwise = groups > 1 and not transposed
    init, outs, weight = "in_channels, out_channels, *settings", "out_channels", "out_channels, in_channels"
    if transposed:
        weight = f"in_channels, out_channels // {groups}" if groups > 1 else "in_channels, out_channels"
    if depthwise:
        init, outs, weight, groups = "in_channels, *settings", "in_channels", "in_channels, 1", "in_channels"
    bias = len(task.parameters) == 2
    if bias:
        init, outs, weight = "num_classes=1000", "96", "96, 3"
    values = plain("kernel"), plain("stride"), plain("padding"), plain("dilation"), plain("output_padding")
    text = ", ".join(map(str, values)) + f", {groups}"
    extent = "(n - 1) * s - 2 * p + d * (k - 1) + e + 1" if transposed else "(n + 2 * p - d * (k - 1) - 1) // s + 1"
    model = _MODEL.format(
        init=init, settings=text, missing=3 - dims, outs=outs, weight=weight, extent=extent, call="conv_transpose" if transposed else "conv",
        bias_made="        self.bias = self.parameter(96)\n" if bias else "",
        bias_added="        z = empty(y.shape, like=x)\n        flat = y.reshape(n, self.outs, -1)\n"
        "        add_bias(tuple(flat.shape), flat, self.bias, z.reshape(n, self.outs, -1))\n        y = z\n" if bias else "",
    )
    return (_TRANSPOSED if transposed else _CONV) + (_BIAS if bias else "") + model


def _separable(task):
    return _CONV + '''

class ModelNew(Model):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1):
        self.settings = (1, stride, stride), (0, padding, padding), (1, dilation, dilation)
        self.depth = self.parameter(in_channels, 1, kernel_size, kernel_size)
        self.point = self.parameter(out_channels, in_channels, 1, 1)

    def forward(self, x):
        (out, channels), n, (stride, padding, dilation) = self.point.shape[:2], x.shape[0], self.settings
        reach = 2 * padding[1] - dilation[1] * (self.depth.shape[2] - 1) - 1
        h, w = ((size + reach) // stride[1] + 1 for size in x.shape[2:])
        middle, y = empty((n * channels, 1, h, w), like=x), empty((n, out, h, w), like=x)
        volumes, depth = x.reshape(n * channels, 1, *x.shape[2:]), self.depth.reshape(channels, 1, *self.depth.shape[2:])
        conv(tuple(middle.shape), volumes, depth, channels, channels, channels, stride, padding, dilation, middle)
        result, point = y.reshape(n * out, 1, h, w), self.point.reshape(-1, 1, 1, 1)
        conv(tuple(result.shape), middle, point, channels, out, 1, (1, 1, 1), (0, 0, 0), (1, 1, 1), result)
        return y
'''


_LOSS = '''
@kc.kernel
def of_rows({parameters}, rows: kc.array(dtype=float)):
    i = kc.tid()
{body}


@kc.kernel
def total(rows: kc.array(dtype=float), count: float, loss: kc.array(dtype=float)):
    i = kc.tid()
    sum = float(0.0)
    for first in range(0, rows.shape[0], 256):
        part = float(0.0)
        for k in range(first, kc.min(first + 256, rows.shape[0])):
            part += rows[k]
        sum += part
    loss[i] = sum / count


class ModelNew(Model):
    def __init__(self, *settings):
        self.settings = settings

    def forward(self, {inputs}):
        n = {first}.shape[0]
        rows, loss = empty((n,), like={first}), empty((1,), like={first})
        of_rows(n, {inputs}, rows)
        total(1, rows, float({count}), loss)
        return loss.reshape(())
'''

_IN_PARTS = '''    sum = float(0.0)
    for first in range(0, x.shape[1], 256):
        part = float(0.0)
        for k in range(first, kc.min(first + 256, x.shape[1])):
{term}
        sum += part
    rows[i] = {result}'''


def _in_parts(term, result="sum"):
    return _IN_PARTS.format(term="\n".join("            " + line for line in term.splitlines()), result=result)


_OF_LOSS = {
    "mse_loss": ("x: kc.array2d(dtype=float), t: kc.array2d(dtype=float)", _in_parts("d = x[i, k] - t[i, k]\npart += d * d"), True),
    "smooth_l1_loss": (
        "x: kc.array2d(dtype=float), t: kc.array2d(dtype=float)",
        _in_parts("d = kc.abs(x[i, k] - t[i, k])\npart += kc.where(d < 1.0, 0.5 * d * d, d - 0.5)"), True,
    ),
    "hinge_loss": ("x: kc.array2d(dtype=float), t: kc.array(dtype=float)", _in_parts("part += kc.max(1.0 - x[i, k] * t[k], 0.0)"), True),
    "kl_div": (
        "x: kc.array2d(dtype=float), t: kc.array2d(dtype=float)",
        _in_parts("if t[i, k] > 0.0:\n    part += t[i, k] * (kc.log(t[i, k]) - kc.log(x[i, k]))"), False,
    ),
    "cross_entropy": (
        "x: kc.array2d(dtype=float), t: kc.array(dtype=kc.int64)",
        "    top = x[i, 0]\n    for k in range(1, x.shape[1]):\n        top = kc.max(top, x[i, k])\n"
        + _in_parts("part += kc.exp(x[i, k] - top)", "kc.log(sum) + (top - x[i, int(t[i])])"), False,
    ),
    "triplet_loss": (
        "x: kc.array2d(dtype=float), p: kc.array2d(dtype=float), n: kc.array2d(dtype=float)",
        "    near, far = float(0.0), float(0.0)\n    for k in range(x.shape[1]):\n"
        "        near += (x[i, k] - p[i, k] + 1.0e-6) * (x[i, k] - p[i, k] + 1.0e-6)\n"
        "        far += (x[i, k] - n[i, k] + 1.0e-6) * (x[i, k] - n[i, k] + 1.0e-6)\n"
        "    rows[i] = kc.max(kc.sqrt(near) - kc.sqrt(far) + 1.0, 0.0)", False,
    ),
}


def _loss(task):
    parameters, body, by_element = _OF_LOSS[task.op]
    names = [one["name"] for one in task.inputs]
    count = f"n * {names[0]}.shape[1]" if by_element else "n"
    return _LOSS.format(parameters=parameters, body=body, inputs=", ".join(names), first=names[0], count=count)


#: By the name of the operation: the text for a task.
BY_OPERATION = {
    "max_pool": _pool, "avg_pool": _pool, "conv": _conv, "conv_transpose": _conv, "conv_separable": _separable, **dict.fromkeys(_OF_LOSS, _loss),
}
