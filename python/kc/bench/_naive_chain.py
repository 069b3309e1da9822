"""Kernels that are right and slow for the chains of level 2: the product, what happens to its
elements, and what is added up of its rows."""

from __future__ import annotations

from ._naive import _OF_ELEMENT

_ELEMENT = {
    **_OF_ELEMENT,
    "mish": "v * kc.tanh(kc.max(v, 0.0) + kc.log(1.0 + kc.exp(-kc.abs(v))))",
    "hardswish": "v * kc.clamp(v / 6.0 + 0.5, 0.0, 1.0)",
}

_LINEAR = '''
@kc.kernel
def linear{n}(x: kc.array2d(dtype=float), w: kc.array2d(dtype=float), {arguments}y: kc.array2d(dtype=float)):
    i, j = kc.tid()
    v = float(0.0)
    for first in range(0, x.shape[1], 256):
        part = float(0.0)
        for k in range(first, kc.min(first + 256, x.shape[1])):
            part += x[i, k] * w[j, k]
        v += part
{after}    y[i, j] = v

'''

_CONV = '''
@kc.kernel
def conv(x: kc.array4d(dtype=float), w: kc.array4d(dtype=float), {arguments}y: kc.array4d(dtype=float)):
    n, j, r, c = kc.tid()
    v = float(0.0)
    for k in range(w.shape[1]):
        for a in range(w.shape[2]):
            for b in range(w.shape[3]):
                v += w[j, k, a, b] * x[n, k, r + a, c + b]
{after}    y[n, j, r, c] = v

'''

_OF_ROWS = '''
@kc.kernel
def rows(x: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
    i = kc.tid()
{body}

'''

_TOP = '''    top = x[i, 0]
    for k in range(1, x.shape[1]):
        top = kc.max(top, x[i, k])
'''
_SUM = '''    total = float(0.0)
    for first in range(0, x.shape[1], 256):
        part = float(0.0)
        for k in range(first, kc.min(first + 256, x.shape[1])):
            part += {}
        total += part
'''
_ROWS = {
    "row_sum": _SUM.format("x[i, k]") + "    v = total\n",
    "logsumexp": _TOP + _SUM.format("kc.exp(x[i, k] - top)") + "    v = top + kc.log(total)\n",
    "softmax": _TOP + _SUM.format("kc.exp(x[i, k] - top)") + "    for k in range(x.shape[1]):\n        y[i, k] = kc.exp(x[i, k] - top) / total",
}


def _lines(step, bias) -> list:
    """What a step does to the element ``v``."""
    op = step["op"]
    if op == "bias":
        return [f"v += {bias}[j]"]
    if op in ("add", "multiply", "divide"):
        return [f"v {'+*/'[('add', 'multiply', 'divide').index(op)]}= {step['value']!r}"]
    if op == "clamp":
        return [f"v = kc.clamp(v, {step['low']!r}, {step['high']!r})"]
    if op == "leaky_relu":
        return [f"v = kc.where(v > 0.0, v, {step['slope']!r} * v)"]
    if op in ("residual", "gate"):
        inner = [line for one in step["steps"] for line in _lines(one, bias)]
        return ["before = v", *inner, f"v {'+' if op == 'residual' else '*'}= before"]
    return [f"v = {_ELEMENT[op]}"]


def _stages(steps, names):
    """Stages that begin with a product or with sums of rows, each with what happens to its elements
    and the parameters it takes."""
    made, left = [], list(names)
    for step in steps:
        taken = [left.pop(0) for _ in range(step.get("takes", 0))]
        if step["op"] in ("linear", "conv", *_ROWS):
            made.append((step, [], taken))
            made[-1][1].extend([f"v += {taken[1]}[j]"] if len(taken) > 1 else [])
        else:
            made[-1][1].extend(_lines(step, taken[0] if taken else ""))
            made[-1][2].extend(taken)
    return made


def chain(task) -> str:
    """The kernels and the model of a chain."""
    names = [one["name"] for one in task.parameters]
    kernels, calls, products = [], [], 0
    for step, after, taken in _stages(task.settings("shipped")["steps"], names):
        text = "".join(f"    {line}\n" for line in after)
        if step["op"] in _ROWS:
            body, kept = _ROWS[step["op"]] + text, step["op"] == "softmax"
            kernels.append(_OF_ROWS.format(body=body if kept else body + "    y[i, 0] = v"))
            calls += [f"y = empty({'x.shape' if kept else '(x.shape[0], 1)'}, like=x)", "rows(x.shape[0], x, y)"]
            calls += ["y = y.reshape(-1)"] if step.get("keep") is False else []
        else:
            products += 1
            linear = step["op"] == "linear"
            name = f"linear{products}" if linear else "conv"
            arguments = "".join(f"{one}: kc.array(dtype=float), " for one in taken[1:])
            kernels.append((_LINEAR if linear else _CONV).format(n=products, arguments=arguments, after=text))
            shape = f"(x.shape[0], self.{taken[0]}.shape[0])"
            if not linear:
                shape = f"(x.shape[0], self.{taken[0]}.shape[0], x.shape[2] - 2, x.shape[3] - 2)"
            given = "".join(f"self.{one}.reshape(-1), " for one in taken[1:])
            calls += [f"y = empty({shape}, like=x)", f"{name}(tuple(y.shape), x, self.{taken[0]}, {given}y)"]
        calls.append("x = y")
    own = [f"        self.{name} = self.parameter({_extents(task, name)})" for name in names]
    return (
        "".join(kernels) + "\nclass ModelNew(Model):\n    def __init__(self, *settings):\n" + "\n".join(own)
        + "\n\n    def forward(self, x):\n" + "".join(f"        {call}\n" for call in calls[:-1]) + "        return y\n"
    )


def _extents(task, name):
    """The arguments of `parameter`: of what the constructor is given."""
    shape = next(one["shape"] for one in task.parameters if one["name"] == name).split()
    places = {one: f"settings[{n}]" for n, one in enumerate(task._init) if isinstance(one, str)}
    made = ", ".join(places.get(word, word) for word in shape)
    # An extent of one dimension has nothing to be uniform by.
    return made if len(shape) > 1 else f"{made}, normal=True"
