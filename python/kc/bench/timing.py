"""How long does an answer take on this machine, beside NumPy and, where it is installed, PyTorch?

Both run on the scaled sizes, on arrays of their own in turn. The figure is the median of the runs.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from . import reference
from .inputs import inputs, parameters
from .oracle import Oracle
from .process import Failed, Limits, Process


def measure(task, path, seconds=1.0, process_limits=None, python=None) -> dict:
    """Milliseconds of the answer and of NumPy in float32, and what a GPU is bound by (an H100 SXM, as shipped)."""
    values, weights = inputs(task, "scaled", "randn", 1), parameters(task, "scaled", 1)
    made = {"task": task.key, "name": task.name, "path": path, "sizes": "scaled", "bound_ms": task.bound_ms, "eager_h100_ms": task.eager_ms}
    with Process(path, process_limits or Limits(), python, poison=False) as process:
        try:
            process.start()
            order = Oracle()._order(task, process, "scaled", values, weights)
            told = process.call({**order, "do": "time", "seconds": seconds}, seconds * 20 + 60)
            made["ms"] = 1e3 * statistics.median(told["times"])
            made["runs"] = len(told["times"])
        except Failed as failed:
            made["failed"] = str(failed)
            return made
    made["numpy_ms"] = 1e3 * _of_reference(task, values, weights, seconds)
    made["speedup"] = made["numpy_ms"] / made["ms"]
    return made


def _of_reference(task, values, weights, seconds):
    settings = task.settings("scaled")
    taken = []
    until = time.perf_counter() + seconds
    with np.errstate(all="ignore"):
        while len(taken) < 2 or (time.perf_counter() < until and len(taken) < 20):
            began = time.perf_counter()
            reference.forward(task.op, values, weights, settings)
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def line_of(one) -> str:
    """A measurement as people read it."""
    if "failed" in one:
        return f"{one['task']} {one['name']}: not timed: {one['failed']}"
    return f"{one['task']!s:>4} {one['name'][:44]:44} {one['ms']:10.3f} ms  NumPy {one['numpy_ms']:10.3f} ms  {one['speedup']:7.2f}x"
