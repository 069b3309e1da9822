"""Where are gradients of NVIDIA Warp wrong, and kc's right? The kernels of tests/gradients, in both.

    PYTHON scripts/warp_gradients.py [--kc target/release/kc] [--kernel NAME ...] [--markdown | --page]

PYTHON has `warp-lang` and `numpy`. Each kernel is launched on the processor with 6 threads and the same numbers. With sum(out) as the
result, the gradient with respect to `x` and to the initial `out` is computed by Warp's tape, by kc, and by central differences of
Warp's own forward launches, which neither's differentiation has a part in. A row shows the component where Warp and the differences are
farthest apart, and the greatest error of each relative to the greatest component. Exit status 0 only if kc agrees with the differences
on all kernels. `--page` writes docs/gradients-warp.md.
"""
import argparse
import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import warp as wp

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.join(ROOT, "tests", "gradients", "loops_and_overwrites.py")
THREADS = 6
X = np.array([0.871, -0.633, 0.742, 0.523, -0.381, 0.937], np.float32)
OUT = np.array([0.507, 0.259, -0.743, 0.631, 0.377, -0.491], np.float32)
INTS = {"link": [3, 4, 1, 5, 0, 2], "turns": [3, 1, 4, 2, 5, 3], "count": [0] * THREADS}
TURNS = 6
# Single precision: differences are good to a few parts in 10,000.
STEP = 2.0**-8
TOLERANCE = 5e-3


# Warp's own messages go to the standard error, which is no part of the page.
say = functools.partial(print, file=sys.stdout, flush=True)
sys.stdout = sys.stderr

# Shown in full on the page.
TEN = ["product", "leave", "newton", "chase", "times", "read_store_read", "component_twice", "slots", "guarded", "swap"]

PAGE = """# Where Warp's gradients are wrong

NVIDIA Warp {version} gives wrong gradients for loops that carry state and for launches that overwrite what their gradient needs, without
a message at its default settings (some of this its documentation names as limits). Here are ten such kernels with both answers, and
below a table of all {count} that kc's tests hold. This page is written by

```
PYTHON scripts/warp_gradients.py --page > docs/gradients-warp.md
```

with a Python that has `warp-lang` and `numpy`. The kernels are those of `tests/gradients/loops_and_overwrites.py`; each is launched on the
processor with 6 threads and n = {turns}. The result is the sum of `out`. *Differences* are central differences of Warp's own forward
launches in single precision, with a step of 2^-8: they are good to three digits or four, and no differentiation has a part in them. The
component that is shown is the one that Warp misses by most. In double precision kc's gradients of these kernels agree with forward mode to 1e-15
(`kc gradcheck tests/gradients/loops_and_overwrites.py`).
"""


def load():
    spec = importlib.util.spec_from_file_location("loops_and_overwrites", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: kernel for name, kernel in vars(module).items() if isinstance(kernel, wp.Kernel)}


def inputs(kernel, x, out, gradients=False):
    values = []
    for arg in kernel.adj.args:
        if arg.label in ("x", "out"):
            values.append(wp.array({"x": x, "out": out}[arg.label], dtype=float, device="cpu", requires_grad=gradients))
        elif arg.label == "n":
            values.append(TURNS)
        else:
            values.append(wp.array(INTS[arg.label], dtype=int, device="cpu"))
    return values


def by_label(kernel, values):
    return {arg.label: value for arg, value in zip(kernel.adj.args, values)}


def with_warp(kernel):
    values = inputs(kernel, X, OUT, gradients=True)
    with wp.Tape() as tape:
        wp.launch(kernel, dim=THREADS, inputs=values, device="cpu")
    arrays = by_label(kernel, values)
    tape.backward(grads={arrays["out"]: wp.array(np.ones(THREADS, np.float32), dtype=float, device="cpu")})
    # What is left of the seed is the gradient of the initial `out`.
    return np.concatenate([arrays["x"].grad.numpy(), arrays["out"].grad.numpy()])


def differences(kernel):
    def total(x, out):
        values = inputs(kernel, x, out)
        wp.launch(kernel, dim=THREADS, inputs=values, device="cpu")
        return by_label(kernel, values)["out"].numpy().astype(np.float64).sum()

    found = []
    for which in range(2):
        for at in range(THREADS):
            ends = []
            for step in (STEP, -STEP):
                start = [X.copy(), OUT.copy()]
                start[which][at] += np.float32(step)
                ends.append(total(*start))
            found.append((ends[0] - ends[1]) / (2 * STEP))
    return np.array(found)


def with_kc(kc, name, kernel, folder):
    args, arrays = [], {}
    for arg in kernel.adj.args:
        label = arg.label
        if label == "n":
            dtype = {"class": "scalar", "scalar": "int32", "shape": []}
            args.append({"name": "n", "kind": "value", "dtype": dtype, "value": TURNS})
            continue
        floats = label in ("x", "out")
        value = {"x": X, "out": OUT}[label] if floats else np.array(INTS[label], np.int32)
        dtype = {"class": "scalar", "scalar": value.dtype.name, "shape": []}
        entry = {"name": label, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [THREADS], "data": label}
        arrays[label] = value
        if floats:
            entry["grad"] = label + ".grad"
            arrays[label + ".grad"] = np.full(THREADS, float(label == "out"), np.float32)
        args.append(entry)
    launch = {"format": 1, "id": name, "source": SOURCE, "kernel": name, "direction": "gradient", "dim": [THREADS], "args": args}
    np.savez(os.path.join(folder, "inputs.npz"), **arrays)
    path = os.path.join(folder, "launch.json")
    with open(path, "w") as file:
        json.dump(launch, file)
    output = subprocess.run([kc, "run", "--out-dir", folder, path], capture_output=True, text=True)
    if output.returncode:
        sys.exit(output.stdout + output.stderr)
    found = np.load(os.path.join(folder, name + ".npz"))
    return np.concatenate([found["x.grad"], found["out.grad"]])


def compare(kc, name, kernel, folder):
    """The three gradients, the component that Warp misses by most, and the greatest errors of Warp and kc."""
    truth, warp, ours = differences(kernel), with_warp(kernel), with_kc(kc, name, kernel, folder)
    errors = [np.abs(found - truth) / np.abs(truth).max() for found in (warp, ours)]
    at = int(np.nanargmax(np.where(np.isfinite(errors[0]), errors[0], np.inf)))
    worst = [float(error.max()) if np.isfinite(error).all() else float("nan") for error in errors]
    return truth, warp, ours, at, worst


def component(at):
    return f"{'x' if at < THREADS else 'out'}[{at % THREADS}]"


def percent(error, digits):
    return f"{error:.{digits}%}" if np.isfinite(error) else "not finite"


def print_ten(kc, kernels):
    with open(SOURCE) as file:
        parts = file.read().split("\n\n\n")
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(TEN, 1):
            kernel = kernels[name]
            truth, warp, ours, at, worst = compare(kc, name, kernel, folder)
            text = next(part for part in parts if f"def {name}(" in part)
            lines = [line for line in text.splitlines() if '"""' not in line]
            say(f"## {number}. {kernel.func.__doc__.strip().rstrip('.?')}\n")
            say("```python\n" + "\n".join(lines) + "\n```\n")
            say(f"| {component(at)} | differences | Warp | kc |\n|---|---|---|---|")
            say(f"| derivative | {truth[at]:.4f} | {warp[at]:.4f} | {ours[at]:.4f} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kc", default=os.path.join(ROOT, "target", "release", "kc"))
    parser.add_argument("--kernel", nargs="*", default=[])
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    wp.config.quiet = True
    wp.init()
    kernels = load()
    head = ("kernel", "what", "of", "differences", "Warp", "kc", "Warp's error", "kc's error")
    if options.page:
        say(PAGE.format(version=wp.config.version, count=len(kernels), turns=TURNS))
        print_ten(options.kc, kernels)
        say("## All of them\n")
    table = options.markdown or options.page
    say("| " + " | ".join(head) + " |\n|" + "---|" * len(head) if table else f"Warp {wp.config.version}")
    good, wrong, count = True, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kernel in kernels.items():
            if options.kernel and name not in options.kernel:
                continue
            truth, warp, kc, at, worst = compare(options.kc, name, kernel, folder)
            good &= worst[1] <= TOLERANCE
            wrong += not worst[0] <= TOLERANCE
            count += 1
            of = component(at)
            what = kernel.func.__doc__.strip()
            row = (name, what, of, f"{truth[at]:.4f}", f"{warp[at]:.4f}", f"{kc[at]:.4f}", percent(worst[0], 0), percent(worst[1], 2))
            if table:
                say("| " + " | ".join(f"`{cell}`" if cell in (name, of) else cell for cell in row) + " |")
            else:
                say("{:18} {:7} differences {:>10}  Warp {:>10}  kc {:>10}  errors {:>6} {:>6}  {}".format(name, *row[2:], what))
    say(f"\n{count} kernels: Warp is wrong on {wrong}; kc is {'right on all' if good else 'WRONG'}.")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
