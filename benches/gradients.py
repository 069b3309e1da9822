"""What does a gradient cost? Time of the backward entry over that of the forward entry, on the host, one core.

    benches/gradients.py [--kc target/release/kc] [--rounds 3] [--markdown] [KERNEL ...]

Straight-line kernels have the limit 2.5, those that keep or compute again the state of loops 4. The last line is the time
that differentiation itself takes for a kernel of 200 lines. Exit status 0 only if all limits are met.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels", "gradients.py")
RANDOM = np.random.default_rng(1)
N = 1 << 20


def uniform(*shape):
    return RANDOM.uniform(0.2, 0.8, shape).astype(np.float32)


# Name: limit, threads, arguments in order; of an array the number of component dimensions.
KERNELS = {
    "saxpy": (2.5, N, {"x": (uniform(N), 0), "y": (uniform(N), 0), "out": (uniform(N), 0), "a": 0.5}),
    "directions": (2.5, N, {"a": (uniform(N, 3), 1), "b": (uniform(N, 3), 1), "out": (uniform(N), 0)}),
    "transcend": (2.5, N, {"x": (uniform(N), 0), "out": (uniform(N), 0)}),
    "solve": (2.5, N // 4, {"m": (uniform(N // 4, 3, 3), 2), "b": (uniform(N // 4, 3), 1), "out": (uniform(N // 4, 3), 1)}),
    "total": (2.5, N // 64, {"x": (uniform(N // 64, 64), 0), "out": (uniform(N // 64), 0)}),
    "logistic": (4.0, N // 8, {"x": (uniform(N // 8), 0), "out": (uniform(N // 8), 0)}),
    "product": (4.0, N // 64, {"x": (uniform(N // 64, 64), 0), "out": (uniform(N // 64), 0)}),
}


def write_case(folder, source, name, threads, values, direction="gradient"):
    """Writes the launch of a kernel; its last array is the result, whose adjoint is 1."""
    args, arrays = [], {}
    names = [key for key, value in values.items() if isinstance(value, tuple)]
    for key, value in values.items():
        if not isinstance(value, tuple):
            scalar = "int32" if isinstance(value, int) else "float32"
            args.append({"name": key, "kind": "value", "dtype": {"class": "scalar", "scalar": scalar, "shape": []}, "value": value})
            continue
        array, trailing = value
        shape = list(array.shape[: array.ndim - trailing])
        kind = {"class": ("scalar", "vec", "mat")[trailing], "scalar": array.dtype.name, "shape": list(array.shape[array.ndim - trailing:])}
        arg = {"name": key, "kind": "array", "dtype": kind, "ndim": len(shape), "shape": shape, "data": key}
        arrays[key] = array
        if array.dtype.kind == "f":
            arg["grad"] = key + ".grad"
            arrays[arg["grad"]] = np.ones_like(array) if key == names[-1] else np.zeros_like(array)
        args.append(arg)
    dim = list(threads) if isinstance(threads, tuple) else [threads]
    case = {"format": 1, "id": name, "source": source, "kernel": name, "direction": direction, "dim": dim, "args": args}
    np.savez(os.path.join(folder, "inputs.npz"), **arrays)
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump(case, file)
    return path


def times(kc, path, repeats=7):
    """Milliseconds of processor time of the forward and the backward entry."""
    command = [kc, "bench", "--gradient", "--unchecked", "--threads", "1", "--repeats", str(repeats), "--json", path]
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode:
        sys.exit(output.stderr or output.stdout)
    return [json.loads(line) for line in output.stdout.splitlines() if line.strip()]


def long_kernel(lines):
    """A kernel of so many lines: branches, loops, and arithmetic."""
    body, at = ["    i = wp.tid()", "    v = x[i]", "    s = float(0.0)"], 3
    while at < lines - 5:
        body += [
            f"    a{at} = wp.sin(v) * {at}.0 + s",
            f"    b{at} = a{at} / (1.0 + v * v)",
            f"    if b{at} > 0.5:",
            f"        s += b{at} * v",
            "    else:",
            f"        s -= a{at}",
            f"    for j{at} in range(4):",
            f"        s = s * 0.5 + a{at}",
        ]
        at += 8
    return "\n".join(["import warp as wp", "", "@wp.kernel", "def long(x: wp.array(dtype=float), out: wp.array(dtype=float)):", *body, "    out[i] = s", ""])


def pass_time(kc, folder):
    """Milliseconds that differentiation takes."""
    path = os.path.join(folder, "long.py")
    with open(path, "w") as file:
        file.write(long_kernel(200))
    command = [kc, "compile", "--emit", "ir", "--timings", "-o", folder, path]
    found = []
    for _ in range(5):
        output = subprocess.run(command, capture_output=True, text=True)
        text = output.stdout + output.stderr
        match = re.search(r"differentiate\s+([\d.]+) ms", text)
        if not match:
            sys.exit(f"no time of the pass in\n{text}")
        found.append(float(match.group(1)))
    return min(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("kernel", nargs="*")
    options = parser.parse_args()
    good = True
    print("| kernel | forward ms | backward ms | ratio | limit |\n|---|---|---|---|---|" if options.markdown else f"{'kernel':12} {'forward':>9} {'backward':>9} {'ratio':>6} limit")
    with tempfile.TemporaryDirectory() as folder:
        for name, (limit, threads, values) in KERNELS.items():
            if options.kernel and name not in options.kernel:
                continue
            path = write_case(folder, SOURCE, name, threads, values)
            best = None
            for _ in range(options.rounds):
                forward, backward = (least(entry) for entry in times(options.kc, path)[:2])
                if best is None or backward / forward < best[1] / best[0]:
                    best = (forward, backward)
            ratio = best[1] / best[0]
            good &= ratio <= limit
            row = (name, f"{best[0]:.3f}", f"{best[1]:.3f}", f"{ratio:.2f}", f"{limit}")
            print("| " + " | ".join(row) + " |" if options.markdown else f"{row[0]:12} {row[1]:>9} {row[2]:>9} {row[3]:>6} {row[4]}", flush=True)
        taken = pass_time(options.kc, folder)
        good &= taken <= 5.0
        print(f"differentiation of a kernel of 200 lines: {taken:.2f} ms (limit 5)")
    sys.exit(0 if good else 1)


def least(entry):
    return 1e3 * min(entry["cpu"])


if __name__ == "__main__":
    main()
