"""Is an answer right? Every kind of input, three sets of sizes, gradients, and on the simulator
what its kernels do to memory.

The references are computed here; the answer runs in a process of its own (``kc.bench.process``),
which is told arrays and tells a result.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import shutil
import time

import numpy as np

from . import limits, simulate
from ._worker import POISON
from .inputs import KINDS, OF_GRADIENTS, generator, inputs, parameters
from .process import Failed, Limits, Process

#: The kinds of inputs for each set of sizes.
PLAN = {"scaled": tuple(KINDS), "prime": ("rand", "randn", "high", "negative", "ties"), "one": ("randn", "negative")}
#: Those on the simulator, which takes long.
PLAN_OF_SIMULATOR = {"prime": ("randn",), "one": ("randn",)}


@dataclasses.dataclass
class Refusal:
    """Why an answer is not right. ``what`` is a word for programs, ``text`` a sentence for people,
    ``command`` repeats the case."""

    what: str
    text: str
    sizes: str = ""
    inputs: str = ""
    seed: int = 0
    element: tuple = ()
    expected: float | None = None
    found: float | None = None
    limit: float | None = None
    command: str = ""


@dataclasses.dataclass
class Verdict:
    """What was looked at, and the first refusal. ``worst`` is the largest error in units of its
    limit."""

    task: object
    path: str
    refusal: Refusal | None = None
    cases: int = 0
    gradients: int = 0
    launches: int = 0
    worst: float = 0.0
    worst_gradient: float = 0.0
    deterministic: bool = True
    notes: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    @property
    def right(self) -> bool:
        """Whether nothing was refused."""
        return self.refusal is None

    def as_dict(self) -> dict:
        """For reports."""
        made = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("task", "refusal")}
        made.update(task=self.task.key, name=self.task.name, right=self.right)
        made["refusal"] = None if self.right else dataclasses.asdict(self.refusal)
        return made


class _Refused(Exception):
    def __init__(self, what, text, **more):
        self.what, self.text, self.more = what, text, more


class Oracle:
    """Checks answers to tasks. ``seed`` decides all random numbers; without one each run has its
    own.

    ``sizes`` and ``kinds`` leave out others. ``device`` is ``host``, ``sim`` (launches of kc's
    kernels again on the simulator), ``gpu`` (the answer runs under ``kc gpu``: kernels of Triton,
    numba and CUDA C++ too) or ``cuda`` (a GPU, and models of kc with arrays there). ``dtype`` is the type that an answer is given
    (``float16`` and ``bfloat16`` for answers that take any); ``allow_tf32`` allows products to round their factors.
    """

    def __init__(self, *, seed=None, sizes=None, kinds=None, gradients=True, forward=True, device="host", dtype="float32", allow_tf32=False,
                 bits=False, process_limits=None, python=None):
        self.seed = int.from_bytes(os.urandom(3), "little") if seed is None else seed
        self.sizes, self.kinds, self.gradients, self.forward = sizes, kinds, gradients, forward
        self.device, self.dtype, self.allow_tf32, self.bits = device, dtype, allow_tf32, bits
        self.limits, self.python = process_limits or Limits(), python

    def verify(self, task, path) -> Verdict:
        """Whether the file ``path`` answers the task."""
        verdict = Verdict(task, path)
        began = time.monotonic()
        self.name = os.path.basename(path)
        with Process(path, self.limits, self.python, on_gpu=self.device == "gpu", device="cuda:0" if self.device == "cuda" else None) as process:
            case = {}
            try:
                self.is_torch = process.start()["torch"]
                if self.device == "sim":
                    self._simulate(task, process, verdict, case)
                elif self.device == "gpu":
                    self._on_gpu(task, process, verdict, case)
                else:
                    self._run(task, process, verdict, case)
            except Failed as failed:
                verdict.refusal = self._refusal(task, path, case, "failed", f"{self.name} {failed}")
            except _Refused as refused:
                verdict.refusal = self._refusal(task, path, case, refused.what, refused.text, **refused.more)
            written = process.written()
            if written:
                verdict.notes.append(f"wrote {len(written)} {'file' if len(written) == 1 else 'files'}: {', '.join(written[:3])}")
            if process.printed:
                first = process.text.decode(errors="replace").strip().splitlines() or [""]
                verdict.notes.append(f"printed {process.printed:,} bytes: {first[0][:120]}")
        verdict.seconds = time.monotonic() - began
        return verdict

    def _run(self, task, process, verdict, case):
        if self.forward:
            for sizes, kind in self._plan(PLAN):
                case.update(sizes=sizes, inputs=kind, seed=self.seed, gradient=False)
                self._forward(task, process, verdict, sizes, kind)
        if self.gradients and task.has_gradient:
            for sizes, kind in self._plan({"prime": OF_GRADIENTS, "one": ("randn",)}):
                case.update(sizes=sizes, inputs=kind, seed=self.seed, gradient=True)
                self._gradients(task, process, verdict, sizes, kind)

    def _plan(self, plan):
        """The cases that are asked for: of the plan, or any that are named."""
        for sizes in self.sizes or plan:
            for kind in self.kinds or plan.get(sizes, ("randn",)):
                yield sizes, kind

    def _order(self, task, process, sizes, values, weights, **more):
        """Writes the arrays of a call, and says where they are."""
        folder = os.path.join(process.folder, "case")
        os.makedirs(folder, exist_ok=True)
        def named(prefix, arrays, labels):
            told = []
            for n, (array, label) in enumerate(zip(arrays, labels)):
                if not isinstance(array, np.ndarray):
                    told.append([array, array])
                    continue
                np.save(os.path.join(folder, f"{prefix}{n}.npy"), array)
                told.append([f"{prefix}{n}", "array"])
            return told

        order = {"do": "run", "folder": folder, "init": task.init(sizes), "dtype": self.dtype, "fresh": True, **more}
        order["inputs"] = named("i", values, task.inputs)
        order["parameters"] = named("p", weights, task.parameters)
        return order

    def _forward(self, task, process, verdict, sizes, kind):
        values, weights = inputs(task, sizes, kind, self.seed, self.dtype), parameters(task, sizes, self.seed, self.dtype)
        # Another call before it, on the same memory: who kept its result, or anything by address,
        # has the wrong one.
        before = inputs(task, sizes, "randn" if kind != "randn" else "rand", self.seed + 1, self.dtype)
        self._call(task, process, self._order(task, process, sizes, before, weights), sizes)
        first = self._call(task, process, self._order(task, process, sizes, values, weights, fresh=False, new=False), sizes)
        exact = limits.result(task, sizes, values, weights, self.dtype, self.allow_tf32, equal=kind == "equal")
        self._compare(task, exact, first, verdict, "result")
        second = self._call(task, process, self._order(task, process, sizes, values, weights), sizes)
        verdict.cases += 1
        if not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
            self._compare(task, exact, second, verdict, "result of a second run")
            verdict.deterministic = False
            if self.bits:
                raise _Refused("bits", f"{self.name} gives other bits when it runs again on the same inputs")

    def _call(self, task, process, order, sizes):
        """One call: its result, if its form is right."""
        told = process.call(order)
        if told["changed"]:
            names = [task.inputs[int(n[1:])]["name"] for n in told["changed"]]
            raise _Refused("changed", f"{self.name} writes to its input `{names[0]}`")
        if told["threads"] and not self.is_torch:
            raise _Refused("threads", f"{self.name} leaves {told['threads']} threads running when it returns")
        result = np.load(os.path.join(order["folder"], "result.npy"))
        wanted = self._wanted_shape(task, sizes)
        kind = self.dtype if task.dtype == "float32" else task.dtype
        if told["kind"] != kind:
            raise _Refused("dtype", f"{self.name} gives {told['kind']}, where the task gives {kind}")
        if tuple(told["shape"]) != wanted:
            raise _Refused("shape", f"{self.name} gives shape {_shape(told['shape'])}, where the task gives {_shape(wanted)}")
        return result

    def _wanted_shape(self, task, sizes):
        key = (task.key, sizes)
        if key not in _SHAPES:
            from . import reference

            with np.errstate(all="ignore"):
                _SHAPES[key] = np.shape(reference.forward(task.op, inputs(task, sizes, "rand", 0), parameters(task, sizes, 0), task.settings(sizes)))
        return _SHAPES[key]

    def _compare(self, task, exact, found, verdict, what):
        at, worst = limits.first_wrong(exact, found)
        if at is None:
            name = "worst_gradient" if what.startswith("gradient") else "worst"
            setattr(verdict, name, max(getattr(verdict, name), worst))
            return
        at = tuple(int(k) for k in at)
        expected, got = exact.values[at], np.asarray(found)[at]
        limit = float(exact.tolerance[at]) if not exact.exact else 0.0
        where = f"element {list(at)} of the {what}" if at else f"the {what}"
        never = " (nothing was written there)" if got.dtype == np.float32 and got.view(np.uint32) == POISON else ""
        text = f"{where} is {_number(got)}{never}, and should be {_number(expected)} within {limit:.2g}"
        raise _Refused("wrong", text, element=at, expected=float(expected), found=float(got), limit=limit)

    def _gradients(self, task, process, verdict, sizes, kind):
        values, weights = inputs(task, sizes, kind, self.seed, self.dtype), parameters(task, sizes, self.seed, self.dtype)
        dy = generator(self.seed, task.seed, 77).standard_normal(self._wanted_shape(task, sizes)).astype(np.float32)
        order = self._order(task, process, sizes, values, weights, dy=True)
        np.save(os.path.join(order["folder"], "dy.npy"), dy)
        told = process.call(order)
        exact = limits.gradients(task, sizes, values, weights, dy, self.dtype, self.allow_tf32)
        names = [one["name"] for one in (*task.inputs, *task.parameters)]
        for n, (one, name) in enumerate(zip(exact, names)):
            if one is None:
                continue
            if n >= len(told["gradients"]) or not told["gradients"][n]:
                raise _Refused("no-gradient", f"{self.name} gives no gradient of `{name}`")
            found = np.load(os.path.join(order["folder"], f"gradient{n}.npy"))
            if found.shape != one.values.shape:
                raise _Refused("shape", f"the gradient of `{name}` has shape {_shape(found.shape)}, not {_shape(one.values.shape)}")
            if n < len(task.inputs) and task.inputs[n].get("kind") in _STRUCTURE:
                # Of a triangular matrix only the triangle is an input: who skips the zeros gives
                # them no gradient.
                one.compared = one.compared & _STRUCTURE[task.inputs[n]["kind"]](np.ones(one.values.shape, bool))
            self._compare(task, one, found, verdict, f"gradient of `{name}`")
        verdict.gradients += 1

    def _simulate(self, task, process, verdict, case):
        for sizes, kind in self._plan(PLAN_OF_SIMULATOR):
            case.update(sizes=sizes, inputs=kind, seed=self.seed, gradient=False)
            values, weights = inputs(task, sizes, kind, self.seed), parameters(task, sizes, self.seed)
            folder = os.path.join(process.folder, "launches")
            shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
            order = self._order(task, process, sizes, values, weights, record=folder)
            result = self._call(task, process, order, sizes)
            self._compare(task, limits.result(task, sizes, values, weights, self.dtype, self.allow_tf32), result, verdict, "result")
            files = simulate.launches(folder)
            if not files:
                raise _Refused("no-launch", f"{self.name} launches no kernel of kc: the simulator has nothing to run")
            found = simulate.check(files, 10 * self.limits.seconds, self.gradients and task.has_gradient)
            if found is not None:
                raise _Refused("simulator", f"on the simulator:\n{found}")
            verdict.cases += 1
            verdict.launches += len(files)
            verdict.gradients += self.gradients and task.has_gradient

    def _on_gpu(self, task, process, verdict, case):
        """The same calls under ``kc gpu``, a process for each case: what it finds is said at its end."""
        for n, (sizes, kind) in enumerate(self._plan({"prime": ("randn", "high"), "one": ("randn",)})):
            case.update(sizes=sizes, inputs=kind, seed=self.seed, gradient=False)
            if n:
                process.start()
            self._forward(task, process, verdict, sizes, kind)
            code, text = process.finish(10 * self.limits.seconds)
            if code:
                raise _Refused("simulator", f"on the simulated GPU:\n{text.strip()}")

    def _refusal(self, task, path, case, what, text, **more):
        words = ["python", "-m", "kc.bench", "verify", str(task.key), path]
        if case:
            words += ["--sizes", case["sizes"], "--inputs", case["inputs"], "--seed", str(case["seed"])]
            words += ["--only-gradients"] if case.get("gradient") else ["--no-gradients"] if self.device in ("host", "cuda") else []
        if self.device != "host":
            words += ["--device", self.device]
        if self.dtype != "float32":
            words += ["--dtype", self.dtype]
        words += ["--tf32"] if self.allow_tf32 else []
        known = {k: case[k] for k in ("sizes", "inputs", "seed") if k in case}
        if self.python:
            words += ["--python", self.python]
        return Refusal(what, text, command=shlex.join(words), **known, **more)


_SHAPES = {}
_STRUCTURE = {"upper": np.triu, "lower": np.tril}


def _shape(shape):
    return "x".join(map(str, shape)) or "()"


def _number(value):
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.9g}"
