"""How long does an answer take on this machine? On the processor NumPy runs beside it; on a GPU its
time is compared with what the card's memory and its float32 units need at least.

Runs are on two sets of arrays in turn. The figure is their median.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from . import reference
from .inputs import inputs, parameters
from .oracle import Oracle
from .process import Failed, Limits, Process


def measure(task, path, seconds=1.0, process_limits=None, python=None, device="host", sizes="scaled") -> dict:
    """Milliseconds of the answer, of NumPy in float32 where the ``device`` is the host, and what an
    H100 SXM needs at least and upstream's own eager figure there, both for the sizes as shipped."""
    values, weights = inputs(task, sizes, "randn", 1), parameters(task, sizes, 1)
    made = {"task": task.key, "name": task.name, "path": path, "device": device, "sizes": sizes, "bound_ms": task.bound_ms, "eager_h100_ms": task.eager_ms}
    with Process(path, process_limits or Limits(), python, poison=False, device="cuda:0" if device == "cuda" else None) as process:
        try:
            process.start()
            order = Oracle()._order(task, process, sizes, values, weights)
            told = process.call({**order, "do": "time", "seconds": seconds}, seconds * 20 + 60)
            made["ms"] = 1e3 * statistics.median(told["times"])
            made["runs"] = len(told["times"])
        except Failed as failed:
            made["failed"] = str(failed)
            return made
    if device == "host":
        made["numpy_ms"] = 1e3 * _of_reference(task, sizes, values, weights, seconds)
        made["speedup"] = made["numpy_ms"] / made["ms"]
    elif sizes == "shipped":
        made["over_bound"] = made["ms"] / task.bound_ms
        made["speedup"] = task.eager_ms / made["ms"]
    return made


def _of_reference(task, sizes, values, weights, seconds):
    settings = task.settings(sizes)
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
    text = f"{one['task']!s:>4} {one['name'][:44]:44} {one['ms']:10.3f} ms"
    if "numpy_ms" in one:
        return f"{text}  NumPy {one['numpy_ms']:10.3f} ms  {one['speedup']:7.2f}x"
    if "over_bound" in one:
        return f"{text}  {one['over_bound']:7.2f} times an H100's bound  {one['speedup']:7.2f}x upstream's eager figure"
    return text
