"""Do the programs in `torch_source`, `triton_source` and `numba_source` compute what their rows say?

    python tests/dataset_translations.py SET [--languages torch triton numba] [--kc KC] [--break]

SET was made with `--emit torch,triton,numba`. PyTorch runs by itself, Triton and Numba under
`kc gpu`. Each gets the arrays in `io.inputs`, and what it leaves is compared with `io.outputs`.
Prints how many programs ran, by language and family; one that differs is an error. With `--break`
one product in each program is a sum.
"""

import argparse
import ast
import base64
import collections
import ctypes
import importlib.util
import inspect
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
PYTHON = {"torch": ".env-torch", "triton": ".env-gpu", "numba": ".env-gpu"}


def numbers(row):
    """What the launches pass, and the constants of the module."""
    found = {}
    for statement in ast.parse(row["python_source"]).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            value = value.args[0] if isinstance(value, ast.Call) and value.args else value
            try:
                found[statement.targets[0].id] = ast.literal_eval(value)
            except ValueError:
                continue
    for arg in row["entry"]["args"]:
        if arg["kind"] in ("value", "struct"):
            value = json.loads(arg["value"])
            found.update(value if isinstance(value, dict) else {arg["name"]: value})
    return found


def arrays(tensors):
    types = {"bool": np.bool_}
    return {
        tensor["name"]: np.frombuffer(base64.b64decode(tensor["data"]), types.get(tensor["dtype"], tensor["dtype"]))
        .reshape(json.loads(tensor["shape"]))
        .copy()
        for tensor in tensors
    }


def differs(found, expected):
    """Check 4 of a row: by the number and the scale of the array; integers exactly."""
    if expected.dtype.kind != "f":
        return not np.array_equal(found, expected)
    scale = max(np.abs(expected).max(initial=0.0), 1e-6)
    return not np.all(np.abs(found - expected) <= 1e-3 * np.abs(expected) + 1e-4 * scale)


class Buffer:
    """An array on the GPU, as Triton wants it: PyTorch's build for GPUs is not needed."""

    def __init__(self, lib, array):
        self.lib, self.array, self.dtype, self.shape = lib, array, str(array.dtype), array.shape
        at = ctypes.c_uint64()
        assert lib.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(max(array.nbytes, 1))) == 0
        self.at = at.value
        assert lib.cuMemcpyHtoD_v2(at, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)) == 0

    def data_ptr(self):
        return self.at

    def numpy(self):
        out = np.empty_like(self.array)
        size = ctypes.c_size_t(out.nbytes)
        assert self.lib.cuMemcpyDtoH_v2(ctypes.c_void_p(out.ctypes.data), ctypes.c_uint64(self.at), size) == 0
        return out


def with_torch(module, given, values):
    import torch

    names = list(inspect.signature(module.Model.__init__).parameters)[1:]
    model = module.Model(*[values[name] for name in names if name in values])
    taken = list(inspect.signature(model.forward).parameters)
    results = model(*[torch.from_numpy(given[name].copy()) for name in taken])
    tree = ast.parse(inspect.getsource(module.Model.forward).replace("    def forward", "def forward", 1).lstrip())
    last = tree.body[0].body[-1].value
    told = [one.id for one in (last.elts if isinstance(last, ast.Tuple) else [last])]
    results = results if isinstance(results, tuple) else (results,)
    return {name: result.numpy() for name, result in zip(told, results, strict=True)}


def with_triton(module, given, values):
    lib = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    lib.cuInit(0)
    lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    lib.cuCtxSetCurrent(context)
    return launched(module, given, values, lambda array: Buffer(lib, array), Buffer.numpy)


def with_numba(module, given, values):
    from numba import cuda

    return launched(module, given, values, cuda.to_device, lambda array: array.copy_to_host())


def launched(module, given, values, to_device, to_host):
    taken = list(inspect.signature(module.run).parameters)
    there = {name: to_device(given[name]) for name in taken if name in given}
    module.run(*[there[name] if name in there else values[name] for name in taken])
    return {name: to_host(array) for name, array in there.items()}


def work(language, folder):
    """Runs the programs of a folder, and says of each what differs."""
    run = {"torch": with_torch, "triton": with_triton, "numba": with_numba}[language]
    for path in sorted(folder.glob("*.py")):
        data = np.load(path.with_suffix(".npz"))
        of = lambda side: {name[1:]: data[name] for name in data.files if name[0] == side}  # noqa: E731
        given, expected = of("<"), of(">")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            found = run(module, given, json.loads(path.with_suffix(".json").read_text()))
        except Exception as error:
            print(json.dumps([path.stem, f"{type(error).__name__}: {error}"]))
            continue
        wrong = [name for name in found if differs(found[name], expected[name])]
        wrong += [name for name in expected if name not in found and differs(given[name], expected[name])]
        print(json.dumps([path.stem, ", ".join(wrong)]))


def broken(text):
    """The last product is a sum."""
    before, _, after = text.rpartition(" * ")
    return f"{before} + {after}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=Path)
    parser.add_argument("--kc", default=ROOT / "target/debug/kc", type=Path)
    parser.add_argument("--break", dest="is_broken", action="store_true")
    parser.add_argument("--languages", nargs="+", choices=PYTHON, default=list(PYTHON))
    parser.add_argument("--work", choices=PYTHON)
    args = parser.parse_args()
    if args.work:
        return work(args.work, args.set)
    import pyarrow.parquet

    files = sorted(args.set.glob("data/pairs/**/*.parquet"))
    rows = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
    wrong, ran = [], collections.Counter()
    for language in args.languages:
        with tempfile.TemporaryDirectory() as temporary:
            folder, families = Path(temporary), {}
            for row in rows:
                text = row[f"{language}_source"]
                if text is None:
                    continue
                stem = f"row_{row['index']}"
                families[stem] = row["family"]
                (folder / f"{stem}.py").write_text(broken(text) if args.is_broken else text)
                (folder / f"{stem}.json").write_text(json.dumps(numbers(row)))
                sides = {f"<{name}": array for name, array in arrays(row["io"]["inputs"]).items()}
                sides.update({f">{name}": array for name, array in arrays(row["io"]["outputs"]).items()})
                np.savez(folder / f"{stem}.npz", **sides)
            command = [ROOT / PYTHON[language] / "bin/python", __file__, folder, "--work", language]
            if language != "torch":
                command = [args.kc, "gpu", *command]
            output = subprocess.run(command, capture_output=True, text=True)
            told = [json.loads(line) for line in output.stdout.splitlines() if line.startswith('["row_')]
            if len(told) != len(families):
                sys.exit(f"{language}: {len(told)} of {len(families)} programs ran\n{output.stdout}{output.stderr}")
            for stem, problem in told:
                ran[language, families[stem]] += 1
                if problem:
                    wrong.append(f"{language} {stem} ({families[stem]}): {problem}")
            if output.returncode != 0 and not args.is_broken:
                wrong.append(f"{language}: kc gpu reports\n{output.stderr[-2000:]}")
    for language in args.languages:
        own = {family: count for (of, family), count in sorted(ran.items()) if of == language}
        print(f"{language}: {sum(own.values())} programs of {len(own)} families {own}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
