"""Launch files and expected results of the run tests.

A run test `tests/run/NAME.py` holds kernels and, in the same file, a host function `cases()` that yields

    case(kernel, dim, args, expect, rtol=..., atol=..., id=...)

`args` maps each parameter to a number, a list, a numpy array, or (for a struct) a dictionary of its fields, or None (for
an array that is not set); `expect` maps
arrays to what they must hold after the launch, computed here with numpy and nothing of kc. `NAME.grad` is the array of
gradients of NAME: where `args` or `expect` names one, the kernel runs forward and then backward. Integers are always
compared exactly, floats within |a - b| <= atol + rtol |b|; NaN equals NaN.

    launches.py prepare TEST_FOLDER OUT    writes OUT/ID/case.json, inputs.npz, expected.npz, and copies the programs to OUT
    launches.py compare OUT A B [MORE..]   compares OUT/A/ID.npz with B (bit for bit) and all with what is expected; prints
                                           one JSON line per case: {id, fault}
"""

import importlib.util
import json
import pathlib
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import warp as wp  # noqa: E402  (the stand-in beside this file)

_STORED = {"bfloat16": np.uint16, "bool": np.uint8}


class Case:
    def __init__(self, kernel, dim, args, expect, rtol=2e-6, atol=1e-6, id=None, block_dim=256):
        self.kernel, self.args, self.expect, self.rtol, self.atol = kernel, args, expect, rtol, atol
        self.dim = [dim] if isinstance(dim, int) else list(dim)
        self.id = id or kernel
        self.block_dim = block_dim


def _dtype(description):
    return np.dtype(_STORED.get(description["scalar"], description["scalar"]))


def _plain(value):
    """A number or flat list that JSON can hold."""
    flat = [v.item() if isinstance(v, np.generic) else v for v in np.asarray(value, dtype=object).ravel()]
    flat = [str(v).lower() if isinstance(v, float) and not np.isfinite(v) else v for v in flat]
    return flat if np.ndim(value) else flat[0]


def _argument(name, annotation, value, arrays, key, gradient=None):
    if isinstance(annotation, wp.Array):
        description = wp.describe(annotation.dtype)
        if value is None:
            return {"name": name, "kind": "array", "dtype": description, "ndim": annotation.ndim, "null": True}
        value = np.asarray(value, dtype=_dtype(description))
        shape = value.shape[: value.ndim - len(description["shape"])]
        arrays[key] = value
        argument = {"name": name, "kind": "array", "dtype": description, "ndim": len(shape), "shape": list(shape), "data": key}
        if gradient is not None:
            argument["grad"] = f"{key}.grad"
            arrays[argument["grad"]] = np.asarray(gradient, dtype=value.dtype)
        return argument
    if isinstance(annotation, type) and annotation not in (int, float, bool):
        fields = [_argument(n, a, value[n], arrays, f"{key}.{n}") for n, a in annotation.__annotations__.items()]
        return {"name": name, "kind": "struct", "struct": annotation.__name__, "fields": fields}
    return {"name": name, "kind": "value", "dtype": wp.describe(annotation), "value": _plain(value)}


def _load(path):
    spec = importlib.util.spec_from_file_location(f"run_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    module.case = Case
    spec.loader.exec_module(module)
    return module


def prepare(tests, out):
    for path in sorted(tests.glob("*.py")):
        module = _load(path)
        out.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, out)
        for case in module.cases():
            annotations = getattr(module, case.kernel).__annotations__
            arrays = {}
            named = [(n, a, case.args[n], case.args.get(f"{n}.grad")) for n, a in annotations.items() if n != "return"]
            args = [_argument(n, a, value, arrays, n, gradient) for n, a, value, gradient in named]
            backward = any(name.endswith(".grad") for name in [*case.args, *case.expect])
            identity = f"{path.stem}__{case.id}"
            folder = out / identity
            folder.mkdir(parents=True)
            launch = {
                "format": 1, "id": identity, "source": f"../{path.name}", "kernel": case.kernel,
                "direction": "gradient" if backward else "forward",
                "dim": case.dim, "block_dim": case.block_dim, "args": args, "outputs": sorted(case.expect),
                "tolerance": {"rtol": float(case.rtol), "atol": float(case.atol)},
            }
            (folder / "case.json").write_text(json.dumps(launch, indent=1))
            np.savez(folder / "inputs.npz", **arrays)
            np.savez(folder / "expected.npz", **{k: np.asarray(v) for k, v in case.expect.items()})
            print(identity)


def _bits(values):
    """The bytes of an array, with one NaN for all: which of them an operation gives is not fixed."""
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return values.tobytes()


def _fault(identity, out, runs):
    launch = json.loads((out / identity / "case.json").read_text())
    results = {}
    for run in runs:
        status = json.loads((out / run / f"{identity}.json").read_text())
        if status["status"] != "ok":
            return f"{run}: {status.get('code')}: {status.get('message')}"
        results[run] = np.load(out / run / f"{identity}.npz")
    a, b = (results[run] for run in runs[:2])
    for key in a.files:
        if _bits(a[key]) != _bits(b[key]):
            return f"`{key}` differs between {runs[0]} and {runs[1]}:\n{a[key]}\n{b[key]}"
    expected = np.load(out / identity / "expected.npz")
    for run in runs:
        for key in expected.files:
            want, got = expected[key], results[run][key].reshape(expected[key].shape)
            if got.dtype.kind in "iub":
                good = np.array_equal(got, want)
            else:
                got, want = got.astype(np.float64), want.astype(np.float64)
                good = np.allclose(got, want, equal_nan=True, **launch["tolerance"])
            if not good:
                return f"{run}: `{key}` is\n{got}\nbut should be\n{want}"
    return None


def compare(out, runs):
    for path in sorted(out.glob("*/case.json")):
        identity = path.parent.name
        try:
            fault = _fault(identity, out, runs)
        except Exception as error:  # a missing or broken result file is a failure of that case
            fault = f"{type(error).__name__}: {error}"
        print(json.dumps({"id": identity, "fault": fault}))


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        compare(pathlib.Path(sys.argv[2]), sys.argv[3:])
