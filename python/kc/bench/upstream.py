"""Does a checkout of KernelBench say what kc's facts say?

Its task files are executed with a ``torch`` of shapes alone, so that neither PyTorch nor memory for the
inputs is needed: ``python -m kc.bench.upstream FOLDER`` prints what ``get_inputs`` and
``get_init_inputs`` give, as JSON.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import types

from ._children import environment


class NoCheckout(Exception):
    """The folder has no tasks of KernelBench; the text says where they are looked for."""


class _Shape:
    """An array of which only the shape is known."""

    def __init__(self, *shape):
        self.shape = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else tuple(shape)

    @property
    def T(self):
        return _Shape(*self.shape[::-1])

    def _with(self, other):
        wider = other.shape if isinstance(other, _Shape) and len(other.shape) > len(self.shape) else self.shape
        return _Shape(*wider)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _with

    def __getattr__(self, name):
        # softmax, bool, float and the like keep the shape.
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self


def _torch():
    """Modules in the place of PyTorch's."""
    torch = types.ModuleType("torch")
    torch.rand = torch.randn = torch.zeros = torch.ones = lambda *shape, **_: _Shape(*shape)
    torch.randint = lambda low, high, shape, **_: _Shape(*shape)
    torch.triu = torch.tril = lambda x, *_: x
    torch.Tensor = _Shape
    torch.__getattr__ = lambda name: types.SimpleNamespace()
    nn = types.ModuleType("torch.nn")
    nn.Module = type("Module", (), {})
    functional = types.ModuleType("torch.nn.functional")
    torch.nn, nn.functional = nn, functional
    return {"torch": torch, "torch.nn": nn, "torch.nn.functional": functional}


def _said(path):
    names = {"__name__": "task"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    plain = lambda x: list(x.shape) if isinstance(x, _Shape) else [] if isinstance(x, (int, float)) else None
    return {"inputs": [plain(x) for x in names["get_inputs"]()], "init": names["get_init_inputs"]()}


def _folder(checkout, level):
    name = f"level{level}"
    for below in (f"KernelBench/{name}", name, "."):
        folder = pathlib.Path(checkout) / below
        if any(folder.glob("1_*.py")):
            return folder
    raise NoCheckout(f"{checkout} has no tasks of level {level}: neither KernelBench/{name}/1_*.py nor {name}/1_*.py nor 1_*.py")


def differences(checkout, tasks) -> list:
    """What a checkout says otherwise than kc's facts of these tasks; a sentence for each."""
    return [line for level in sorted({t.level for t in tasks}) for line in _of_level(checkout, level, [t for t in tasks if t.level == level])]


def _of_level(checkout, level, tasks):
    folder = _folder(checkout, level)
    done = subprocess.run(
        [sys.executable, "-m", "kc.bench.upstream", str(folder)], capture_output=True, text=True, env=environment(),
    )
    if done.returncode:
        raise NoCheckout(f"the tasks of {folder} do not run: {done.stderr.strip().splitlines()[-1]}")
    said = json.loads(done.stdout)
    told = []
    for task in tasks:
        theirs = said.get(str(task.id))
        if theirs is None:
            told.append(f"{task.name} is not in the checkout")
        elif "failed" in theirs:
            told.append(f"{task.name} does not run: {theirs['failed']}")
        else:
            mine = {"name": task.name, "inputs": [list(s) for s in task.input_shapes("shipped")], "init": task.init("shipped")}
            told += [f"{task.name}: {key} are {theirs[key]} there, and {mine[key]} here" for key in mine if theirs[key] != mine[key]]
    return told


def main(folder):
    sys.modules.update(_torch())
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*_*.py")):
        number = path.name.split("_")[0]
        if number.isdigit():
            try:
                found[number] = {"name": path.stem, **_said(path)}
            except Exception as error:  # noqa: BLE001 - whatever their file raises
                found[number] = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
