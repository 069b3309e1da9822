"""Launches of an answer's kernels, written down as launch files and run again on the simulator,
where races, stray accesses and reads of memory that was never written are found
(docs/simulator.md)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

from ._children import environment

#: Threads of a block that works on tiles.
_THREADS = 128


class Recorder:
    """Writes each launch of a kernel into a folder, as a launch file and the arrays as they were
    before it."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0

    def __enter__(self):
        from kc import Kernel

        self.call = Kernel.__call__

        def called(kernel, dim, *arguments, **named):
            self._write(kernel, dim, arguments, dict(named))
            return self.call(kernel, dim, *arguments, **named)

        Kernel.__call__ = called
        return self

    def __exit__(self, *_):
        from kc import Kernel

        Kernel.__call__ = self.call

    def _write(self, kernel, dim, arguments, named):
        from .._arguments import as_numpy, parameters_of

        threads = named.pop("block_dim", None)
        kernel._module  # compiled by now
        about = parameters_of(kernel)
        given = dict(zip([name for name, _ in about], arguments), **named)
        for name, value in kernel_defaults(kernel).items():
            given.setdefault(name, value)
        folder = os.path.join(self.folder, f"{self.count:03}")
        os.makedirs(folder)
        data, described, held = {}, [], {}
        for name, kind in about:
            value = given[name]
            if "fields" in kind:
                raise TypeError(f"kernel `{kernel.__name__}` takes a struct, which is not written down for the simulator")
            if "ndim" not in kind:
                described.append({"name": name, "kind": "value", "dtype": kind["type"], "value": _number(value)})
                continue
            array = as_numpy(value)
            dtype = kind["type"].partition("dtype=")[2].rstrip(")")
            one = {"name": name, "kind": "array", "dtype": dtype, "ndim": kind["ndim"], "shape": list(array.shape[: kind["ndim"]])}
            where = (array.__array_interface__["data"][0], array.shape, array.strides)
            if where in held:
                one["alias_of"] = held[where]
            else:
                held[where] = one["data"] = name
                data[name] = np.ascontiguousarray(array)
            described.append(one)
        np.savez(os.path.join(folder, "inputs.npz"), **data)
        launch = {
            "format": 1, "id": f"{self.count:03}-{kernel.__name__}", "source": kernel._kc_kernel.__code__.co_filename,
            "kernel": kernel.__name__, "writes": [name for name, kind in about if kind.get("writes")], "dim": list(dim) if isinstance(dim, (tuple, list)) else [int(dim)], "args": described,
        }
        if threads is None and _has_tiles(kernel._kc_kernel) and len(launch["dim"]) < 4:
            # A block computes it, whose threads share the work.
            threads = _THREADS
            launch["dim"].append(threads)
        if threads:
            launch["block_dim"] = int(threads)
        with open(os.path.join(folder, "launch.json"), "w", encoding="utf-8") as file:
            json.dump(launch, file)
        self.count += 1


def _has_tiles(function, seen=None):
    """Whether a kernel or a function that it calls works on tiles."""
    seen = set() if seen is None else seen
    names = function.__code__.co_names
    if any(name.startswith("tile_") for name in names):
        return True
    seen.add(function)
    called = (getattr(function.__globals__.get(name), "_kc_function", None) for name in names)
    return any(_has_tiles(f, seen) for f in called if f is not None and f not in seen)


def kernel_defaults(kernel):
    """The values of parameters that a call leaves out."""
    import inspect

    signature = inspect.signature(kernel._kc_kernel)
    return {name: p.default for name, p in signature.parameters.items() if p.default is not inspect.Parameter.empty}


def _number(value):
    if isinstance(value, (tuple, list)) or getattr(value, "shape", ()):
        return [_number(part) for part in np.asarray(value).ravel()]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not np.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def launches(folder):
    """The launch files of a folder, in order."""
    return [os.path.join(folder, name, "launch.json") for name in sorted(os.listdir(folder))]


def check(files, seconds, gradients=False):
    """Runs launches on the simulator and compares every array with the host's, bit for bit. With
    ``gradients`` their derivatives run there too, which may add in another order. What is found is
    a text; None: nothing."""
    found = _command(["verify", "--quiet", "--devices", "host,sim", *files], seconds)
    if found is None and gradients:
        found = _gradients(files, seconds)
    return found


def _gradients(files, seconds):
    """The same of the launches with their gradients: of the sum of what they write."""
    for path in files:
        with open(path, encoding="utf-8") as file:
            launch = json.load(file)
        launch["direction"] = "gradient"
        for one in launch["args"]:
            if one["kind"] == "array" and one["dtype"] in ("float32", "float64") and "alias_of" not in one:
                one["grad_fill"] = 1 if one["name"] in launch["writes"] else 0
        with open(path, "w", encoding="utf-8") as file:
            json.dump(launch, file)
    for device in ("host", "sim"):
        folder = os.path.join(os.path.dirname(files[0]), device)
        found = _command(["run", "--quiet", "--device", device, "--out-dir", folder, *files], seconds)
        if found is not None:
            return found
    return _different(os.path.dirname(files[0]))


def _different(folder):
    """Arrays that are not the same on both, but for rounding."""
    for name in sorted(os.listdir(os.path.join(folder, "host"))):
        if not name.endswith(".npz"):
            continue
        with np.load(os.path.join(folder, "host", name)) as host, np.load(os.path.join(folder, "sim", name)) as sim:
            for key in host.files:
                a, b = np.asarray(host[key], np.float64), np.asarray(sim[key], np.float64)
                off = np.abs(a - b)
                scale = np.max(np.abs(a), initial=1e-30, where=np.isfinite(a))
                wrong = ~((off <= 1e-4 * scale) | (np.isnan(a) & np.isnan(b)) | (a == b))
                if wrong.any():
                    at = tuple(int(k) for k in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
                    return f"{name.removesuffix('.npz')}: element {list(at)} of `{key}` is {b[at]:.9g} on the simulator and {a[at]:.9g} on the host"
    return None


def _command(words, seconds):
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kc", "--color", "never", *words], capture_output=True, text=True, timeout=seconds,
            env=environment(),
        )
    except subprocess.TimeoutExpired:
        return f"the simulator does not come to an end within {seconds:g} s"
    if done.returncode == 0:
        return None
    return (done.stdout + done.stderr).strip() or f"the simulator ends with code {done.returncode}"
