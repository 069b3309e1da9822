"""The tasks in PyTorch, written as upstream's models are: what an answer is timed beside.

``model(task, sizes)`` gives a function of inputs and parameters, which ``torch.compile`` takes, too.
"""

from __future__ import annotations

import math
import types

import torch
from torch.nn import functional as F


def model(task, sizes):
    """What the task computes in these sizes, as a function of two lists: inputs and parameters."""
    compute, settings = _OPERATIONS[task.op], task.settings(sizes)
    return lambda inputs, parameters: compute(inputs, parameters, settings)


def compiled(task, sizes):
    """The same, compiled by inductor for these shapes alone."""
    run = model(task, sizes)
    # What PyTorch knows of a function it keeps by its code: two tasks with one code would be one function of many shapes.
    code = run.__code__.replace(co_name=f"task_{task.level}_{task.id}")
    return torch.compile(types.FunctionType(code, run.__globals__, code.co_name, None, run.__closure__), fullgraph=True, dynamic=False)


def rounds(task) -> bool:
    """Whether PyTorch computes the task with TF32 unless it is told otherwise: convolutions."""
    return "conv" in task.op or any("conv" in step["op"] for step in task.settings("one").get("steps", []))


def inputs(task, sizes, device, seed=1) -> list:
    """Inputs as upstream draws them, uniform in [0, 1), made where they are used."""
    generator = torch.Generator(device=device)
    generator.manual_seed(seed)
    shapes = task.input_shapes(sizes)
    return [_made(one, shape, shapes[0][-1], generator, device) for one, shape in zip(task.inputs, shapes)]


def _made(one, shape, classes, generator, device):
    what = one.get("kind", "float")
    where = {"generator": generator, "device": device}
    if what == "value":
        return one["value"]
    if what == "classes":
        return torch.randint(0, classes, shape, **where)
    if what == "mask":
        return torch.randint(0, 2, shape, dtype=torch.int8, **where).bool()
    if what == "signs":
        return torch.randint(0, 2, shape, **where).float() * 2 - 1
    x = torch.rand(shape, **where)
    if what == "symmetric":
        return ((x + x.T) / 2).contiguous()
    if what in ("upper", "lower"):
        return torch.triu(x) if what == "upper" else torch.tril(x)
    return torch.softmax(x, dim=-1) if what == "probabilities" else x


def _matmul(i, p, s):
    a, b = (x.transpose(-1, -2) if s.get(f"transpose_{n}") else x for x, n in zip(i, "ab"))
    c = torch.matmul(a, b)
    keep = s.get("keep")
    return torch.triu(c) if keep == "upper" else torch.tril(c) if keep == "lower" else c


def _of(function):
    return lambda i, p, s: function(i[0], s)


def _new_gelu(x, s):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


def _batch_norm(i, p, s):
    return F.batch_norm(i[0], None, None, p[0], p[1], training=True, eps=s["eps"])


def _exclusive(x, s):
    zeros = torch.zeros_like(x.narrow(1, 0, 1))
    return torch.cat((zeros, torch.cumsum(x.narrow(1, 0, x.shape[1] - 1), dim=1)), dim=1)


def _pool(kind):
    def pool(x, s):
        function = getattr(F, f"{kind}_pool{x.dim() - 2}d")
        more = {"dilation": s["dilation"]} if kind == "max" else {}
        return function(x, s["kernel"], s["stride"], s["padding"], **more)

    return pool


def _conv(i, p, s):
    function = getattr(F, f"conv{i[0].dim() - 2}d")
    return function(i[0], p[0], p[1] if len(p) > 1 else None, s["stride"], s["padding"], s["dilation"], s["groups"])


def _conv_transpose(i, p, s):
    function = getattr(F, f"conv_transpose{i[0].dim() - 2}d")
    return function(i[0], p[0], None, s["stride"], s["padding"], s["output_padding"], s["groups"], s["dilation"])


def _separable(i, p, s):
    return F.conv2d(F.conv2d(i[0], p[0], None, s["stride"], s["padding"], s["dilation"], s["groups"]), p[1])


def _attention(i, p, s):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(*i)
    q, k, v = i
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1) @ v


def _triplet(i, p, s):
    return F.triplet_margin_loss(*i, margin=s["margin"], eps=s["eps"])


def _biased(x, bias):
    return x + bias.reshape(1, -1, *[1] * (x.dim() - 2))


def _side(join):
    return lambda i, p, s: join(i[0], _chain(i, p, s))


def _chain(i, p, s):
    x, at = i[0], 0
    for step in s["steps"]:
        takes = step.get("takes", 0)
        x = _OPERATIONS[step["op"]]([x], p[at : at + takes], step)
        at += takes
    return x


_OPERATIONS = {
    "matmul": _matmul,
    "scale": lambda i, p, s: i[0] * i[1],
    "diagonal": lambda i, p, s: i[0].unsqueeze(1) * i[1],
    "attention": _attention,
    "relu": _of(lambda x, s: torch.relu(x)),
    "leaky_relu": _of(lambda x, s: F.leaky_relu(x, s["slope"])),
    "sigmoid": _of(lambda x, s: torch.sigmoid(x)),
    "tanh": _of(lambda x, s: torch.tanh(x)),
    "swish": _of(lambda x, s: x * torch.sigmoid(x)),
    "gelu": _of(lambda x, s: F.gelu(x)),
    "gelu_tanh": _of(_new_gelu),
    "selu": _of(lambda x, s: F.selu(x)),
    "hardsigmoid": _of(lambda x, s: F.hardsigmoid(x)),
    "softplus": _of(lambda x, s: F.softplus(x)),
    "softsign": _of(lambda x, s: x / (1 + torch.abs(x))),
    "elu": _of(lambda x, s: F.elu(x, s["alpha"])),
    "hardtanh": _of(lambda x, s: F.hardtanh(x)),
    "softmax": _of(lambda x, s: torch.softmax(x, dim=1)),
    "log_softmax": _of(lambda x, s: torch.log_softmax(x, dim=1)),
    "batch_norm": _batch_norm,
    "instance_norm": _of(lambda x, s: F.instance_norm(x, eps=s["eps"])),
    "group_norm": lambda i, p, s: F.group_norm(i[0], s["groups"], p[0], p[1], s["eps"]),
    "layer_norm": lambda i, p, s: F.layer_norm(i[0], i[0].shape[1:], p[0], p[1], s["eps"]),
    "rms_norm": _of(lambda x, s: x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + s["eps"])),
    "frobenius_norm": _of(lambda x, s: x / torch.norm(x, p="fro")),
    "l1_norm": _of(lambda x, s: x / torch.mean(torch.abs(x), dim=1, keepdim=True)),
    "l2_norm": _of(lambda x, s: x / torch.norm(x, p=2, dim=1, keepdim=True)),
    "max_pool": _of(_pool("max")),
    "avg_pool": _of(_pool("avg")),
    "sum": _of(lambda x, s: torch.sum(x, dim=s["dim"], keepdim=True)),
    "mean": _of(lambda x, s: torch.mean(x, dim=s["dim"])),
    "max": _of(lambda x, s: torch.max(x, dim=s["dim"])[0]),
    "min": _of(lambda x, s: torch.min(x, dim=s["dim"])[0]),
    "argmax": _of(lambda x, s: torch.argmax(x, dim=s["dim"])),
    "argmin": _of(lambda x, s: torch.argmin(x, dim=s["dim"])),
    "cumsum": _of(lambda x, s: torch.cumsum(x, dim=1)),
    "cumprod": _of(lambda x, s: torch.cumprod(x, dim=1)),
    "cumsum_reverse": _of(lambda x, s: torch.cumsum(x.flip(1), dim=1).flip(1)),
    "cumsum_exclusive": _of(_exclusive),
    "masked_cumsum": lambda i, p, s: torch.cumsum(i[0] * i[1], dim=1),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "conv_separable": _separable,
    "mse_loss": lambda i, p, s: torch.mean((i[0] - i[1]) ** 2),
    "smooth_l1_loss": lambda i, p, s: F.smooth_l1_loss(i[0], i[1]),
    "cross_entropy": lambda i, p, s: F.cross_entropy(i[0], i[1]),
    "kl_div": lambda i, p, s: F.kl_div(torch.log(i[0]), i[1], reduction="batchmean"),
    "triplet_loss": _triplet,
    "hinge_loss": lambda i, p, s: torch.mean(torch.clamp(1 - i[0] * i[1], min=0)),
    "chain": _chain,
    "linear": lambda i, p, s: F.linear(i[0], *p),
    "bias": lambda i, p, s: _biased(i[0], p[0]),
    "add": _of(lambda x, s: x + s["value"]),
    "multiply": _of(lambda x, s: x * s["value"]),
    "divide": _of(lambda x, s: x / s["value"]),
    "mish": _of(lambda x, s: F.mish(x)),
    "hardswish": _of(lambda x, s: F.hardswish(x)),
    "clamp": _of(lambda x, s: torch.clamp(x, s["low"], s["high"])),
    "logsumexp": _of(lambda x, s: torch.logsumexp(x, dim=1, keepdim=bool(s["keep"]))),
    "row_sum": _of(lambda x, s: torch.sum(x, dim=1, keepdim=True)),
    "residual": _side(lambda x, y: x + y),
    "gate": _side(lambda x, y: x * y),
}
