#!/usr/bin/env python3
"""Makes launches of the kernels beside this file, for `tests/ptx.rs`.

    python3 tests/ptx/cases.py FOLDER
"""

import json
import pathlib
import shutil
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(7)


def real(*shape, dtype=np.float32):
    return (rng.random(shape) * 2 - 1).astype(dtype)


def array(values, dtype="scalar", scalar="float32", shape=()):
    return values, {"class": dtype, "scalar": scalar, "shape": list(shape)}


def launches():
    for n in (32, 97, 256):
        yield "sums", [n], {"x": array(real(n)), "p": array(real(n, 3), "vec", shape=[3]), "d": array(real(n, dtype=np.float64), scalar="float64"),
                            "k": 2, "h": array(real(n, dtype=np.float16), scalar="float16"), "total": array(real(1)), "center": array(real(2, 3), "vec", shape=[3]),
                            "table": array(real(4, 5, dtype=np.float64), scalar="float64"),
                            "halves": array(real(3, dtype=np.float16), scalar="float16")}
        yield "by_value", [n], {"x": array(real(n)), "y": array(real(n)), "s": (0.75, {"class": "scalar", "scalar": "float32", "shape": []}),
                                "v": ([0.5, -1.25, 2.0], {"class": "vec", "scalar": "float64", "shape": [3]}), "k": 3,
                                "h": (0.375, {"class": "scalar", "scalar": "float16", "shape": []})}
        yield "extremes", [n], {"x": array(real(n)), "d": array(real(n, dtype=np.float64), scalar="float64"), "low": array(real(1)),
                                "high": array(real(2, dtype=np.float64), scalar="float64")}
        yield "shared_weights", [n], {"x": array(real(n, 2), "vec", shape=[2]), "w": array(real(2)), "out": array(real(n))}
        counts = rng.integers(0, 10, n)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        yield "rows", [n], {"start": array(start, scalar="int32"), "column": array(rng.integers(-n, n, start[-1]).astype(np.int32), scalar="int32"),
                            "value": array(real(start[-1])), "x": array(real(n)), "y": array(real(n))}
        yield "moves", [n], {"q": array(real(n, 4), "quat", shape=[4]), "m": array(real(n, 2, 4, 4), "mat", shape=[4, 4]),
                             "v": array(real(n, 4), "vec", shape=[4]), "two": array(real(n, 2, dtype=np.float64), "vec", "float64", [2]),
                             "p": array(real(n, 4), "vec", shape=[4]), "o": array(real(n, 2, dtype=np.float64), "vec", "float64", [2])}
    for h, w in ((5, 64), (7, 31), (1, 9)):
        yield "parted", [h, w], {"x": array(real(h * w)), "n": w, "total": array(real(4))}
        yield "stencil", [h, w], {"u": array(real(h, w)), "out": array(real(h, w))}
    yield "bins", [33], {"x": array(real(33)), "column": array(rng.integers(0, 301, 33).astype(np.int32), scalar="int32"), "out": array(real(33))}
    yield "mathematics", [40], {"x": array(real(40)), "v": array(real(40, 3), "vec", shape=[3]), "d": array(real(40, dtype=np.float64), scalar="float64"),
                                "h": array(real(40, dtype=np.float16), scalar="float16"), "y": array(real(40)), "n": array(real(40, 3), "vec", shape=[3]),
                                "e": array(real(40, dtype=np.float64), scalar="float64"), "g": array(real(40, dtype=np.float16), scalar="float16")}
    yield "boxes", [3, 4, 2, 5], {"out": array(np.zeros([3, 4, 2, 5], np.int32), scalar="int32")}


def main() -> None:
    target = pathlib.Path(sys.argv[1])
    for number, (kernel, dim, given) in enumerate(launches()):
        for direction in ("forward", "gradient"):
            name = f"{kernel}_{number}_{direction}"
            folder = target / name
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(HERE / "kernels.py", folder / "kernel.py")
            args, inputs, outputs = [], {}, []
            for key, what in given.items():
                if isinstance(what, int):
                    args.append({"name": key, "kind": "value", "dtype": {"class": "scalar", "scalar": "int32", "shape": []}, "value": what})
                    continue
                values, dtype = what
                if not isinstance(values, np.ndarray):
                    args.append({"name": key, "kind": "value", "dtype": dtype, "value": values})
                    outputs += [f"{key}.grad"] * (direction == "gradient")
                    continue
                inputs[key] = values
                ndim = values.ndim - len(dtype["shape"])
                arg = {"name": key, "kind": "array", "dtype": dtype, "ndim": ndim, "shape": list(values.shape[:ndim]), "data": key}
                if direction == "gradient" and values.dtype.kind == "f":
                    arg["grad"] = key + ".grad"
                    inputs[key + ".grad"] = (rng.random(values.shape) - 0.5).astype(values.dtype)
                args.append(arg)
            np.savez(folder / "inputs.npz", **inputs)
            case = {"format": 1, "id": name, "source": "kernel.py", "kernel": kernel, "direction": direction, "dim": dim, "block_dim": 64,
                    "args": args, "outputs": [*inputs, *outputs]}
            (folder / "case.json").write_text(json.dumps(case, indent=1))


if __name__ == "__main__":
    main()
