"""Runs launch files through the Python package, with the command line of `kc run`:

    python python/tests/recorded.py [--through kernel|warp] run A/case.json B/case.json .. --out-dir OUT

`kernel`: `kc.compile(file)`, then a call with NumPy arrays. `warp`: the file is imported with `kc.warp` in the place of Warp, and its
kernel launched by `wp.launch`, backward launches with `adjoint=True`; so are those of `kernel`, whose `.grad` starts with a run.
Whatever runs a corpus of launches by `kc run` can be given this file, and so compares what both compute.
"""

import argparse
import importlib.util
import json
import os
import sys

import numpy as np

import kc
import kc.warp

NUMPY = {"bool": np.bool_}


def numpy_of(scalar):
    if scalar == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return NUMPY.get(scalar, scalar)


def dtype(described, structs):
    """An element in memory, and the dimensions of its components."""
    if described["class"] == "struct":
        layout = structs[described["name"]]
        parts = [dtype(field["dtype"], structs) for field in layout["fields"]]
        return np.dtype(
            {
                "names": [field["name"] for field in layout["fields"]],
                "formats": [(base, shape) if shape else base for base, shape in parts],
                "offsets": [field["offset"] for field in layout["fields"]],
                "itemsize": layout["size"],
            }
        ), ()
    return np.dtype(numpy_of(described["scalar"])), tuple(described["shape"])


class Launch:
    """The arguments of a launch, by what its file says."""

    def __init__(self, folder, case):
        self.case, self.arrays, self.made = case, {}, {}
        with np.load(os.path.join(folder, "inputs.npz")) as stored:
            self.stored = dict(stored)

    def array(self, entry, key):
        """An array with the stored contents, and the strides that it had."""
        if key in self.arrays:
            return self.arrays[key]
        base, component = dtype(entry["dtype"], self.case.get("structs", {}))
        shape = (*entry["shape"], *component)
        strides = entry.get("strides") if key == entry["data"] else None
        if strides and all(shape):
            inner = [base.itemsize * int(np.prod(component[n + 1 :], dtype=np.int64)) for n in range(len(component))]
            last = sum((n - 1) * s for n, s in zip(entry["shape"], strides)) + base.itemsize * int(np.prod(component, dtype=np.int64))
            made = np.ndarray(shape, base, np.zeros(last, np.uint8), strides=(*strides, *inner))
        else:
            made = np.zeros(shape, base)
        self.fill(made, key)
        self.arrays[key] = made
        return made

    def fill(self, made, key):
        if made.dtype.names is None:
            stored = self.stored[key]
            # Truth values are stored as bytes, bfloat16 as bits.
            made[...] = stored.view(made.dtype) if made.dtype.kind in "bV" else stored
            return
        for name in made.dtype.names:
            self.fill(made[name], f"{key}.{name}")

    def given(self, entry):
        """An argument, and its gradient."""
        if entry["kind"] == "struct":
            parts = {field["name"]: self.given(field) for field in entry["fields"]}
            return {name: value for name, (value, _) in parts.items()}, {name: grad for name, (_, grad) in parts.items()}
        if entry["kind"] == "value":
            return self.value(entry), None
        if entry.get("null"):
            return None, None
        value = self.array(entry, entry.get("alias_of") or entry["data"])
        key = entry.get("grad_alias_of") or entry.get("grad")
        return value, None if key is None else self.array(entry, key)

    @staticmethod
    def value(entry):
        value, scalar = entry["value"], entry["dtype"]["scalar"]
        if isinstance(value, list):
            return [float(x) if isinstance(x, str) else x for x in value]
        if scalar == "bool":
            return bool(value)
        return float(value) if "float" in scalar else int(value)

    def results(self):
        out = {}

        def put(key, array):
            if array.dtype.names is not None:
                for name in array.dtype.names:
                    put(f"{key}.{name}", array[name])
            else:
                out[key] = array.view(f"u{array.dtype.itemsize}") if array.dtype.kind in "bV" else array

        for key, array in self.arrays.items():
            put(key, np.ascontiguousarray(array))
        return out


def element(described, module):
    """The type of an array's elements, as kernels have it."""
    if described["class"] == "struct":
        return getattr(module, described["name"])
    scalar, shape = bool if described["scalar"] == "bool" else getattr(kc, described["scalar"]), described["shape"]
    return {
        "scalar": lambda: scalar,
        "vec": lambda: kc.types.vector(*shape, scalar),
        "mat": lambda: kc.types.matrix(tuple(shape), scalar),
        "quat": lambda: kc.types.quaternion(scalar),
        "transform": lambda: kc.types.transformation(scalar),
    }[described["class"]]()


def typed(entry, value, grad, module):
    """An argument for `kc.warp`: arrays know their types, and have their gradients with them; and its gradient."""
    if entry["kind"] == "struct":
        parts = {field["name"]: typed(field, value[field["name"]], grad[field["name"]], module) for field in entry["fields"]}
        return {name: part for name, (part, _) in parts.items()}, None
    if entry["kind"] == "array" and value is not None:
        of = element(entry["dtype"], module)
        value, grad = (None if x is None else kc.warp.array(x, dtype=of, copy=False) for x in (value, grad))
        if grad is not None and not entry.get("grad_external"):
            value.grad = grad
    return value, grad


def run(path, through):
    folder = os.path.dirname(os.path.abspath(path))
    with open(path) as file:
        case = json.load(file)
    launch = Launch(folder, case)
    given = [launch.given(entry) for entry in case["args"]]
    source, dim = os.path.join(folder, case["source"]), tuple(case["dim"])
    block = case.get("block_dim", 1)
    if through == "kernel" and case["direction"] == "forward":
        kernel = kc.compile(source)[case["kernel"]]
        kernel(dim, *(value for value, _ in given), **({"block_dim": block} if block > 1 else {}))
        return launch
    sys.modules["warp"] = kc.warp
    kc.warp.config.enable_cpu_blocks = block > 1
    spec = importlib.util.spec_from_file_location("recorded_" + case["kernel"], source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    kernel = getattr(module, case["kernel"])
    pairs = [typed(entry, value, grad, module) for entry, (value, grad) in zip(case["args"], given, strict=True)]
    inputs = [value for value, _ in pairs]
    if case["direction"] == "backward":
        kc.warp.launch(kernel, dim, inputs=inputs, adj_inputs=[grad for _, grad in pairs], adjoint=True, block_dim=block)
    else:
        kc.warp.launch(kernel, dim, inputs=inputs, block_dim=block)
    return launch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--through", choices=["kernel", "warp"], default="kernel")
    parser.add_argument("verb", choices=["run"])
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--out-dir", required=True)
    parser.add_argument("--device", default="host", choices=["host"])
    given = parser.parse_args()
    os.makedirs(given.out_dir, exist_ok=True)
    failed = False
    for path in given.cases:
        with open(path) as file:
            name = json.load(file)["id"]
        told = {"id": name, "status": "ok"}
        try:
            launch = run(path, given.through)
            np.savez(os.path.join(given.out_dir, name + ".npz"), **launch.results())
        except Exception as error:  # Each by itself.
            failed = True
            told |= {"status": "error", "code": getattr(error, "code", None) or type(error).__name__, "message": getattr(error, "message", None) or str(error)}
        with open(os.path.join(given.out_dir, name + ".json"), "w") as file:
            json.dump(told, file)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
