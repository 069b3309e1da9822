"""The tasks: what they compute, on what shapes, and what the constructor takes."""

from __future__ import annotations

import functools
import math
import pathlib

try:
    import tomllib
except ModuleNotFoundError:  # CPython 3.10
    import tomli as tomllib

#: The names of the sets of sizes, and what each is for.
SIZES = {
    "shipped": "as upstream has them",
    "scaled": "for a processor, reductions as shipped",
    "prime": "sizes that fit no tile",
    "one": "the smallest that there is",
}


class UnknownTask(Exception):
    """There is no such task; the text says which there are."""


class Task:
    """One task: what it computes, and for each set of sizes its shapes and the arguments of the
    constructor."""

    def __init__(self, facts, level=1):
        self.level = level
        self.id, self.name, self.family, self.op = facts["id"], facts["name"], facts["family"], facts["op"]
        self.inputs, self.parameters = facts["inputs"], facts.get("parameters", [])
        self.dtype = facts.get("dtype", "float32")
        self._init, self._settings, self._sizes = facts.get("init", []), facts.get("settings", {}), facts["sizes"]
        self.gigabytes, self.gflop = facts["gigabytes"], facts["gflop"]
        self.eager_ms, self.compile_ms = facts["eager_ms"], facts["compile_ms"]
        self.bound_ms, self.bound_tf32_ms = facts["bound_ms"], facts["bound_tf32_ms"]

    @property
    def key(self):
        """What the task is called in commands and results: its number, with the level where that
        is not the first (``23``, ``"2/9"``)."""
        return self.id if self.level == 1 else f"{self.level}/{self.id}"

    @property
    def seed(self) -> int:
        """A number that no other task has."""
        return self.id + 1000 * (self.level - 1)

    @property
    def title(self) -> str:
        """The name as people read it: ``Softmax``, ``conv standard 1D``."""
        return " ".join(self.name.split("_")[1:]).strip()

    @property
    def has_gradient(self) -> bool:
        """All but the places of extrema."""
        return self.dtype == "float32"

    def sizes(self, which) -> dict:
        """What the names in shapes are; a name that is not there is as shipped."""
        if which not in SIZES:
            raise ValueError(f"there are no sizes `{which}`; there are {', '.join(SIZES)}")
        return {**self._sizes["shipped"], **self._sizes[which]}

    def shape(self, text, which) -> tuple:
        """A shape such as ``"N C 3 3"`` in these sizes."""
        sizes = self.sizes(which)
        return tuple(sizes[word] if word in sizes else int(word) for word in text.split())

    def init(self, which) -> list:
        """The arguments of the constructor in these sizes."""
        return [_filled(value, self.sizes(which)) for value in self._init]

    def settings(self, which) -> dict:
        """What the operation is set to, in these sizes."""
        return _filled(self._settings, self.sizes(which))

    def input_shapes(self, which) -> list:
        """The shapes of the inputs; an empty one of a number."""
        return [self.shape(one["shape"], which) for one in self.inputs]

    def parameter_shapes(self, which) -> list:
        """The shapes of the parameters, in their order."""
        return [self.shape(one["shape"], which) for one in self.parameters]

    def terms(self, which) -> int:
        """How many terms the longest sum of an element has: with one after the other, rounding
        grows with its root."""
        return max(1, _terms(self, which))

    def __repr__(self):
        return f"<task {self.name}>"


def _filled(value, sizes):
    if isinstance(value, str):
        return sizes.get(value, value)
    if isinstance(value, list):
        return [_filled(inner, sizes) for inner in value]
    if isinstance(value, dict):
        return {name: _filled(inner, sizes) for name, inner in value.items()}
    return value


def _terms(task, which):
    first = task.input_shapes(which)[0]
    family = task.family
    if task.op == "chain":
        # Sums by the weights, and of rows of what comes out of them.
        return max(math.prod(shape[1:]) for shape in task.parameter_shapes(which)) + task.parameter_shapes(which)[-1][0]
    if task.op == "matmul":
        return first[-2] if task.settings(which).get("transpose_a") else first[-1]
    if family.startswith("conv"):
        weight = task.parameter_shapes(which)[0]
        groups = task.settings(which)["groups"]
        # The weight of a transposed convolution has the channels of the input first.
        channels = weight[0] // groups if task.op == "conv_transpose" else weight[1]
        return channels * math.prod(weight[2:]) + (first[1] if task.op == "conv_separable" else 0)
    if family == "attention":
        return max(first[-1], first[-2])
    if family == "pooling":
        return math.prod(task.settings(which)["kernel"]) if task.op == "avg_pool" else 1
    if family == "reduction":
        return first[1] if task.op in ("sum", "mean") else 1
    if family in ("softmax", "scan"):
        return first[1]
    if family == "norm":
        n, c, *space = first
        together = {"rms_norm": (c,), "instance_norm": space, "batch_norm": (n, *space), "frobenius_norm": first}
        return math.prod(together.get(task.op, first[1:])) // task.settings(which).get("groups", 1)
    if family == "loss":
        return math.prod(first)
    return 1


#: The levels that kc describes.
LEVELS = (1, 2)


@functools.cache
def tasks(level=1) -> dict:
    """The tasks of a level by number."""
    if level not in LEVELS:
        raise UnknownTask(f"kc describes no tasks of level {level}: there are levels {' and '.join(map(str, LEVELS))}")
    text = (pathlib.Path(__file__).parent / f"level{level}.toml").read_text(encoding="utf-8")
    return {facts["id"]: Task(facts, level) for facts in tomllib.loads(text)["task"]}


def level1() -> dict:
    """The 100 tasks of level 1 by number."""
    return tasks(1)


def level2() -> dict:
    """The tasks of level 2 that kc describes, by number."""
    return tasks(2)


def task(which, level=1) -> Task:
    """The task of this number or name (``23``, ``"Softmax"``, ``"23_Softmax"``); ``"2/9"`` is of
    level 2, and a number alone of ``level``."""
    text = str(which).strip().lower().removesuffix(".py")
    first, slash, number = text.partition("/")
    if slash and first.isdigit() and number.isdigit():
        level, text = int(first), number
    if text.isdigit():
        known = tasks(level)
        if int(text) in known:
            return known[int(text)]
        there = f"1 to {max(known)}" if len(known) == max(known) else ", ".join(map(str, sorted(known)))
        option = "" if level == 1 else f" --level {level}"
        raise UnknownTask(f"there is no task {text} on level {level}: they are {there}; `python -m kc.bench list{option}` shows them")
    every = [t for one in LEVELS for t in tasks(one).values()]
    plain = lambda name: "".join(c for c in name.lower() if c.isalnum())
    found = [t for t in every if plain(text) in (plain(t.name), plain(t.title))]
    if len(found) == 1:
        return found[0]
    import difflib

    near = difflib.get_close_matches(text, [t.title.lower() for t in every], 1)
    more = f"; did you mean `{near[0]}`?" if near else "; `python -m kc.bench list` shows them"
    raise UnknownTask(f"there is no task `{which}`{more}")
