"""The process that times answers on a GPU beside PyTorch (``kc.bench.live`` starts it).

``python -m kc.bench._live_worker ORDERS REPLIES [cpu|sim]`` reads one JSON object a line from a
file descriptor and answers on another one. It keeps the answers that it prepared, and times them
when it is told: one process at a time, so that nothing else uses the GPU. Without a GPU, ``cpu``
rehearses it all with PyTorch on the processor, and ``sim`` gives arrays of a simulated GPU to
kc.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import time
import traceback

import torch

from . import facts, torch_models

_clock = time.perf_counter
#: So many bytes are written between runs: more than any GPU's cache holds.
_FLUSH = 256 << 20


class _Mark:
    """A point in time of the processor, where there is no GPU: what ``torch.cuda.Event`` is there."""

    def record(self):
        self.at = _clock()

    def elapsed_time(self, end):
        return 1e3 * (end.at - self.at)


class _Place:
    """Where tensors are, and how time is taken there."""

    def __init__(self, stand_in):
        self.stand_in = stand_in
        self.device = "cpu" if stand_in else "cuda"
        self.cache = None if stand_in else torch.empty(_FLUSH // 4, dtype=torch.int32, device="cuda")

    def mark(self):
        return _Mark() if self.stand_in else torch.cuda.Event(enable_timing=True)

    def wait(self):
        if not self.stand_in:
            torch.cuda.synchronize()

    def flush(self):
        if self.cache is not None:
            self.cache.zero_()

    def let_go(self):
        if not self.stand_in:
            torch.cuda.empty_cache()

    def for_kc(self, value):
        if self.stand_in == "sim" and isinstance(value, torch.Tensor):
            import kc

            return kc.array(value.numpy(), device="cuda:0")
        return value

    def from_kc(self, value):
        if isinstance(value, torch.Tensor):
            return value
        return torch.as_tensor(value.numpy() if hasattr(value, "numpy") else value)

    def about(self):
        import kc

        told = {"torch": torch.__version__, "kc": getattr(kc, "__version__", ""), "python": sys.version.split()[0]}
        if self.stand_in:
            return {**told, "card": f"no GPU ({self.stand_in})"}
        at = torch.cuda.get_device_properties(0)
        told.update(card=at.name, memory=at.total_memory, capability=f"{at.major}.{at.minor}", cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version())
        return told


class _Answer:
    """A file with its ``ModelNew``, and models of it in sizes."""

    def __init__(self, task, path, number):
        self.task, self.path = task, path
        spec = importlib.util.spec_from_file_location(f"answer{number}", path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = self.module
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        try:
            spec.loader.exec_module(self.module)
        finally:
            sys.path.pop(0)

    def model(self, sizes, parameters, place):
        """The model with these parameters, which are tensors where the inputs are."""
        made = self.module.ModelNew(*[tuple(a) if isinstance(a, list) else a for a in self.task.init(sizes)])
        if isinstance(made, torch.nn.Module):
            made = made.to(place.device)
            with torch.no_grad():
                for own, given in zip(made.parameters(), parameters):
                    own.copy_(given)
            return made
        own = made.parameters() if hasattr(made, "parameters") else []
        if [tuple(p.shape) for p in own] != [tuple(p.shape) for p in parameters]:
            raise ValueError("its parameters have other shapes than the task's")
        names = {id(value): name for name, value in vars(made).items()}
        for n, (mine, given) in enumerate(zip(own, parameters)):
            made._parameters[n] = place.for_kc(given)
            if id(mine) in names:
                setattr(made, names[id(mine)], made._parameters[n])
        return made


class _Worker:
    def __init__(self, stand_in):
        self.place = _Place(stand_in)
        self.answers = {}

    def parameters(self, task, sizes):
        generator = torch.Generator(device=self.place.device)
        generator.manual_seed(2)
        made = []
        for one, shape in zip(task.parameters, task.parameter_shapes(sizes)):
            x = torch.rand(shape, generator=generator, device=self.place.device) * 2 - 1
            if len(shape) > 1 and task.family != "norm":
                n = 1
                for extent in shape[1:]:
                    n *= extent
                x = x / n**0.5
            elif one["name"] == "weight":
                x = 1 + 0.5 * x
            made.append(x)
        return made

    def prepare(self, order):
        """Loads an answer and runs it once in small sizes: its kernels are compiled then."""
        task = facts.task(order["task"])
        began = _clock()
        answer = _Answer(task, order["path"], len(self.answers))
        self.answers[order["task"]] = answer
        values, parameters = torch_models.inputs(task, "one", self.place.device), self.parameters(task, "one")
        with torch.no_grad():
            answer.model("one", parameters, self.place)(*map(self.place.for_kc, values))
        self.place.wait()
        return {"seconds": _clock() - began}

    def compiled(self, order):
        """Lets inductor compile the task in these sizes, before anything is timed."""
        task, sizes = facts.task(order["task"]), order["sizes"]
        values, parameters = torch_models.inputs(task, sizes, self.place.device), self.parameters(task, sizes)
        began = _clock()
        _precision(False)
        answer = self.answers[order["task"]]
        run = torch_models.compiled(task, sizes)
        with torch.no_grad():
            run(values, parameters)
        answer.inductor = run
        self.place.wait()
        del values, parameters
        self.place.let_go()
        return {"seconds": _clock() - began}

    def time_inductor(self, order):
        task, sizes, told = facts.task(order["task"]), order["sizes"], {}
        values, parameters = torch_models.inputs(task, sizes, self.place.device), self.parameters(task, sizes)
        run = self.answers[order["task"]].inductor
        with torch.no_grad():
            self.measured(lambda: run(values, parameters), order["seconds"], told, "inductor_")
        del values, parameters
        self.place.let_go()
        return told

    def time(self, order):
        task, sizes, seconds = facts.task(order["task"]), order["sizes"], order["seconds"]
        answer = self.answers[order["task"]]
        told = {}
        _precision(False)
        try:
            values, parameters = torch_models.inputs(task, sizes, self.place.device), self.parameters(task, sizes)
            model, given = answer.model(sizes, parameters, self.place), [self.place.for_kc(v) for v in values]
            with torch.no_grad():
                eager = torch_models.model(task, sizes)
                result = self.measured(lambda: model(*given), seconds, told, "")
                wanted = self.measured(lambda: eager(values, parameters), seconds, told, "eager_")
                result = self.place.from_kc(result)
                told["difference"] = _difference(result, wanted)
                told["shape_agrees"] = tuple(result.shape) == tuple(wanted.shape)
                del result, wanted
                if torch_models.rounds(task):
                    _precision(True)
                    self.measured(lambda: eager(values, parameters), seconds, told, "eager_tf32_")
                    _precision(False)
        finally:
            model = given = values = parameters = eager = None
            self.place.let_go()
        return told

    def measured(self, run, seconds, told, name):
        """Median, mean and number of runs, behind a warm-up; gives the result of the last run."""
        place = self.place
        result = run()
        place.wait()
        began = _clock()
        result = None
        result = run()
        place.wait()
        taken = _clock() - began
        count = max(3 if taken < seconds else 1, min(100, int(seconds / max(taken, 1e-6))))
        marks = []
        for _ in range(count):
            result = None
            place.flush()
            start, end = place.mark(), place.mark()
            start.record()
            result = run()
            end.record()
            marks.append((start, end))
        place.wait()
        times = [start.elapsed_time(end) for start, end in marks]
        told[f"{name}ms"], told[f"{name}mean_ms"], told[f"{name}least_ms"] = statistics.median(times), statistics.fmean(times), min(times)
        told[f"{name}runs"] = count
        return result


def _precision(tf32):
    """Strict float32, or what PyTorch does unless it is told otherwise: TF32 in cuDNN."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = tf32


def _difference(result, wanted):
    """The largest difference beside the largest element; of whole numbers the share that differs."""
    one, other = result.reshape(-1), wanted.reshape(-1)
    if one.shape != other.shape:
        return None
    floats = other.dtype.is_floating_point
    most = off = 0.0
    part = 1 << 26
    for at in range(0, one.shape[0], part):
        a, b = one[at : at + part], other[at : at + part]
        if not floats:
            off += float((a != b).sum())
            continue
        most = max(most, float(b.abs().max()))
        far = (a - b).abs()
        # Where both are the same infinity, or neither is a number, they agree.
        far = torch.where((a == b) | (torch.isnan(a) & torch.isnan(b)), torch.zeros_like(far), far)
        here = float(far.max())
        off = max(off, here if here == here else float("inf"))
    if not floats:
        return off / max(1, one.shape[0])
    return off / most if most > 0 else off


def _told(error, path):
    text = str(error).strip().splitlines()
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) == os.path.abspath(path)]
    where = f" at line {lines[-1]}" if lines else ""
    return f"{type(error).__name__}{where}: {text[0][:300] if text else ''}"


def main(orders, replies, stand_in=None):
    orders, replies = os.fdopen(int(orders), "r"), os.fdopen(int(replies), "w")
    worker = None
    for line in orders:
        order = json.loads(line)
        try:
            if order["do"] == "start":
                worker = _Worker(stand_in)
                told = worker.place.about()
            else:
                told = getattr(worker, {"inductor": "compiled"}.get(order["do"], order["do"]))(order)
        except BaseException as error:  # noqa: BLE001 - the answer may raise anything
            told = {"failed": _told(error, order.get("path", ""))}
            try:
                worker.place.wait()
                worker.place.let_go()
            except BaseException:  # noqa: BLE001
                # The GPU's context is broken: another process has to go on.
                told["broken"] = True
        replies.write(json.dumps(told) + "\n")
        replies.flush()
        if told.get("broken"):
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
