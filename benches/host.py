"""How fast is host code? A suite of kernels through `kc bench`, beside Warp's CPU back end where it is installed.

A suite is a folder with `kernels.py` (the kernels), `spec.py` (`NAMES`, `make(name)`: sizes and arguments, `grad_out`) and
`run_warp.py` (prints one JSON line per kernel with `fwd_ms` and `bwd_ms` of processor time).

    benches/host.py --suite DIR [--kc target/release/kc] [--warp PYTHON] [--peer "gcc=python3 run_c.py" ...] [--rounds 1] [KERNEL ...]

A peer is a command that runs in the suite with a kernel's name and `--reps N`, and prints such lines too; what it knows nothing of
it may leave out. Peers take their turns beside kc in every round, and a second table holds the medians of one core.
One core is processor time. Two cores are wall time, which says little on a busy machine, and half the processor time of both.
"""
import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

import numpy as np


def dtype_of(array, trailing):
    """The launch file's words for an array whose components are its last `trailing` dimensions."""
    shape = list(array.shape[array.ndim - trailing:])
    kind = {0: "scalar", 1: "vec", 2: "mat"}[trailing]
    return {"class": kind, "scalar": array.dtype.name, "shape": shape}


def write_case(folder, suite, name, spec, gradient):
    """Writes the launch of one kernel; the adjoint of the output is the suite's."""
    components = {"vec3_norm_dot": {"a": 1, "b": 1}, "mat33_inv_mul": {"a": 2, "b": 2, "out": 2}, "nbody": {"pos": 1, "acc": 1},
                  "sph_density": {"pos": 1}, "noise2d": {"p": 1}, "springs": {"x": 1, "v": 1, "f": 1}}.get(name, {})
    args, arrays = [], {}
    problem = spec.make(name)
    outputs = [key for key, value in problem["args"].items() if value[0] == "out"]
    for key, value in problem["args"].items():
        if value[0] == "s":
            args.append({"name": key, "kind": "value", "dtype": {"class": "scalar", "scalar": np.dtype(value[2]).name, "shape": []},
                         "value": value[2](value[1]).item()})
            continue
        array, trailing = value[1], components.get(key, 0)
        arrays[key] = array
        shape = list(array.shape[: array.ndim - trailing])
        arg = {"name": key, "kind": "array", "dtype": dtype_of(array, trailing), "ndim": len(shape), "shape": shape, "data": key}
        if gradient and key in problem["diff"]:
            arg["grad"] = key + ".grad"
            arrays[key + ".grad"] = spec.grad_out(problem) if key == outputs[-1] else np.zeros_like(array)
        args.append(arg)
    dim = problem["dim"] if isinstance(problem["dim"], tuple) else (problem["dim"],)
    case = {"format": 1, "id": name, "source": os.path.join(os.path.abspath(suite), "kernels.py"), "kernel": name,
            "direction": "gradient" if gradient else "forward", "dim": list(dim), "args": args}
    np.savez(os.path.join(folder, "inputs.npz"), **arrays)
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump(case, file)
    return path


def kc(options, path, threads, extra=()):
    """Milliseconds by entry: the median of the processor time on one core; on more, the least wall time, and the processor time over the
    number of cores, which the wall time would be on a machine that does nothing else (`PHASE/cores`)."""
    command = [options.kc, "bench", path, "--json", "--repeats", str(options.repeats), "--threads", str(threads), *extra]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        print(f"{path}: {run.stderr.strip().splitlines()[:1]}", file=sys.stderr)
        return {}
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    if threads == 1:
        return {row["phase"]: statistics.median(row["cpu"]) * 1e3 for row in rows}
    found = {row["phase"]: min(row["wall"]) * 1e3 for row in rows}
    return found | {row["phase"] + "/cores": statistics.median(row["cpu"]) / threads * 1e3 for row in rows}


def two(options, path, phase, suffix):
    times = {} if options.one_core else kc(options, path, 2)
    return {"kc2" + suffix: times.get(phase), "kc2_cpu" + suffix: times.get(phase + "/cores")}


def peer(options, command, name):
    run = subprocess.run([*command, name, "--reps", str(options.repeats)], capture_output=True, text=True, cwd=options.suite)
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return {"forward": rows[0]["fwd_ms"], "backward": rows[0].get("bwd_ms")} if rows else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--suite", required=True)
    parser.add_argument("--kc", default="target/debug/kc")
    parser.add_argument("--warp", help="a Python that has warp-lang")
    parser.add_argument("--peer", action="append", default=[], help="NAME=COMMAND; may be repeated")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-backward", action="store_true")
    parser.add_argument("--one-core", action="store_true", help="leave the runs on two cores out")
    parser.add_argument("--json", help="where all medians go")
    options = parser.parse_args()
    sys.path.insert(0, options.suite)
    import spec
    peers = {label: shlex.split(command) for label, command in (text.split("=", 1) for text in options.peer)}
    if options.warp:
        peers = {"warp": [options.warp, "run_warp.py"], **peers}
    found = {}
    for name in options.kernels or spec.NAMES:
        with tempfile.TemporaryDirectory() as folder:
            path = write_case(folder, options.suite, name, spec, False)
            rounds = []
            for _ in range(options.rounds):
                row = {"kc1": kc(options, path, 1).get("forward"), "kc1_unchecked": kc(options, path, 1, ["--unchecked"]).get("forward"),
                       **two(options, path, "forward", "")}
                for label, command in peers.items():
                    times = peer(options, command, name)
                    row[label], row[label + "_bwd"] = times.get("forward"), times.get("backward")
                rounds.append(row)
            if not options.no_backward and spec.make(name).get("bwd", True):
                with tempfile.TemporaryDirectory() as other:
                    path = write_case(other, options.suite, name, spec, True)
                    for row in rounds:
                        row["kc1_bwd"] = kc(options, path, 1).get("backward")
                        row.update(two(options, path, "backward", "_bwd"))
        middle = {}
        for key in set().union(*rounds):
            values = [row[key] for row in rounds if row.get(key)]
            middle[key] = statistics.median(values) if values else None
        found[name] = middle
        show(name, middle)
    for label, over, under in [("forward, 1 core", "warp", "kc1"), ("forward, 2 cores", "warp", "kc2"),
                               ("forward, 2 cores by processor time", "warp", "kc2_cpu"), ("backward, 1 core", "warp_bwd", "kc1_bwd"),
                               ("backward, 2 cores", "warp_bwd", "kc2_bwd"), ("backward, 2 cores by processor time", "warp_bwd", "kc2_cpu_bwd"), ("cost of checks", "kc1", "kc1_unchecked")]:
        ratios = [row[over] / row[under] for row in found.values() if row.get(over) and row.get(under)]
        if ratios:
            print(f"geometric mean, {label}: {math.exp(statistics.mean(map(math.log, ratios))):.2f} (least {min(ratios):.2f}, {len(ratios)} kernels)")
    show_peers(found, [label for label in peers if label != "warp"])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


HEAD = "| kernel | Warp | kc, 1 core | unchecked | Warp / kc | 2 cores, wall | 2 cores, cpu / 2 | Warp / kc | Warp bwd | kc bwd | Warp / kc | bwd, 2 cores, wall | cpu / 2 |"
shown = False


def show(name, row):
    global shown
    if not shown:
        print(HEAD + "\n" + "|---" * 14 + "|")
        shown = True
    number = lambda key: "" if row.get(key) is None else f"{row[key]:.2f}"
    ratio = lambda over, under: "" if not row.get(over) or not row.get(under) else f"{row[over] / row[under]:.1f}"
    cells = [name, number("warp"), number("kc1"), number("kc1_unchecked"), ratio("warp", "kc1"), number("kc2"), number("kc2_cpu"), ratio("warp", "kc2_cpu"),
             number("warp_bwd"), number("kc1_bwd"), ratio("warp_bwd", "kc1_bwd"), number("kc2_bwd"), number("kc2_cpu_bwd")]
    print("| " + " | ".join(cells) + " |", flush=True)


def show_peers(found, peers):
    """One core, milliseconds: kc beside the peers but Warp, and how fast it is beside the best of them."""
    if not peers:
        return
    number = lambda value: "" if not value else f"{value:.2f}"
    for suffix, title in (("", "kernel"), ("_bwd", "kernel, backward")):
        print("\n| " + " | ".join([title, "kc", *peers, "best / kc"]) + " |\n" + "|---" * (len(peers) + 3) + "|")
        for name, row in found.items():
            times = [row.get(label + suffix) for label in peers]
            best, own = min((t for t in times if t), default=None), row.get("kc1" + suffix)
            if best and own:
                print("| " + " | ".join([name, number(own), *map(number, times), number(best / own)]) + " |")


if __name__ == "__main__":
    main()
