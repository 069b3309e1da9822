"""The launches of a real program, one by one: what each takes by kc and by Warp, on the same arrays, and whether the bits are the same.

    pip install warp-lang==1.19.0 mujoco-warp newton out/wheels/*.whl
    python benches/real.py PROGRAM .. [--frame N] [--each N] [--top N] [--cores N] [--json FILE]

PROGRAM is a name of `benches/programs.py --list`. It runs under `kc.accelerate()`. Of frame `--frame`, the first launches of each
kernel (`--each` of each number of threads, forward and backward) are run again and again, by kc and by Warp in turns, each time on
the arrays as they were before the launch. The least processor time of the thread counts, on several cores the least wall time. A
kernel's total is its mean launch, times the launches of the frame. `how` is what `kc compile --emit plan` says of the kernel.

The last line of a program tells what a frame takes outside of kernels: the least of `--frames` frames after the first, by kc and by Warp in
processes of their own, less the kernels' totals.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import programs

#: Runs of each launch: at least two, and more while they take less than so many seconds.
LEAST, MOST, SECONDS = 2, 15, 0.1
#: Of a launch: on several cores the time of this thread is not that of the launch.
CLOCK = time.thread_time_ns
#: Arrays of more bytes than this are not copied: the launch is not timed.
LARGEST = 2 << 30


class Array(ctypes.Structure):
    """An array as kernels get it."""

    _fields_ = [("data", ctypes.c_uint64), ("grad", ctypes.c_uint64), ("shape", ctypes.c_int32 * 4), ("strides", ctypes.c_int32 * 4), ("ndim", ctypes.c_int32)]

    def regions(self, size):
        """The bytes from the first to the last element, of the array and its gradient."""
        shape, strides = self.shape[: self.ndim], self.strides[: self.ndim]
        if not all(shape):
            return
        reach = [(n - 1) * stride for n, stride in zip(shape, strides)]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + size
        for start in (self.data, self.grad):
            if start:
                yield start + low, high - low


def arrays_in(kind, offset=0):
    """Where the arrays of an argument are, and the bytes of their elements."""
    from warp._src import codegen
    from warp._src import types

    if isinstance(kind, codegen.Struct):
        for name, var in kind.vars.items():
            yield from arrays_in(var.type, offset + getattr(kind.ctype, name).offset)
    elif types.is_array(kind):
        yield offset, types.type_size_in_bytes(kind.dtype)


class Kernel:
    """A kernel that kc took, and its launches of the frame."""

    def __init__(self, taken, kernel, own):
        from kc._accelerate import _ctype

        self.name, self.module, self.own = kernel.key, kernel.module.name, own
        self.forward, self.backward = taken.forward, taken.backward
        fields = [(argument.label, _ctype(argument.type)) for argument in kernel.adj.args]
        layout = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
        self.places = [place for a in kernel.adj.args for place in arrays_in(a.type, getattr(layout, a.label).offset)]
        self.dims = kernel.adj.kernel_dim
        self.launches = collections.Counter()
        self.found = collections.defaultdict(list)

    def own_functions(self, phase):
        address = self.own()[phase == "backward"]
        return ctypes.CFUNCTYPE(None)(address) if address else None

    def regions(self, args):
        found = [region for at, size in self.places for region in Array.from_address(args + at).regions(size)]
        merged = []
        for start, size in sorted(found):
            if merged and start <= merged[-1][0] + merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], start + size - merged[-1][0])
            else:
                merged.append([start, size])
        return merged

    def extents(self, bounds):
        return tuple((ctypes.c_uint32 * self.dims).from_address(bounds))

    def time(self, phase, each, bounds, *args):
        """Runs a launch, and the first ones of a frame several times."""
        by_kc = self.forward if phase == "forward" else self.backward
        pointers = [ctypes.c_void_p(p) for p in (bounds, *args)]
        extents = self.extents(bounds)
        self.launches[phase] += 1
        regions = [region for block in args for region in self.regions(block)]
        # Kernels whose launches all differ in size would take hours.
        wanted = sum(found["extents"] == extents for found in self.found[phase]) < each and len(self.found[phase]) < 4 * each
        by_warp = self.own_functions(phase) if wanted and sum(size for _, size in regions) <= LARGEST else None
        if by_warp is None or 0 in extents:
            by_kc(*pointers)
            return
        before = [ctypes.string_at(start, size) for start, size in regions]
        best, after = {}, {}
        sides, begun, runs = {"kc": by_kc, "warp": by_warp}, time.perf_counter(), 0
        while runs < LEAST or runs < MOST and time.perf_counter() - begun < SECONDS:
            for side, function in sides.items():
                for (start, size), old in zip(regions, before):
                    ctypes.memmove(start, old, size)
                t = CLOCK()
                function(*pointers)
                t = CLOCK() - t
                best[side] = min(best.get(side, t), t)
                if runs == 0:
                    after[side] = [ctypes.string_at(start, size) for start, size in regions]
            runs += 1
        for (start, size), old in zip(regions, after["kc"]):
            ctypes.memmove(start, old, size)
        self.found[phase].append({"extents": extents, **best, "same": after["kc"] == after["warp"]})


class Recorder:
    """Stands between Warp and the kernels that kc takes."""

    def __init__(self, each):
        self.each, self.active, self.kernels, self.texts, self.left = each, False, [], [], []

    def install(self):
        from kc import _accelerate
        from kc._warp_text import text_of

        take, recorder = _accelerate._OnHost._take, self

        def taking(taken, kernel, own):
            try:
                take(taken, kernel, own)
            except Exception:
                recorder.left.append(kernel.key)
                raise
            taken.short = None
            known = Kernel(taken, kernel, own)
            recorder.kernels.append(known)
            recorder.texts.append(text_of(kernel)[0])
            taken.forward = recorder.between(known, "forward", 2)
            taken.backward = recorder.between(known, "backward", 3) if taken.backward else None

        _accelerate._OnHost._take = taking

    def between(self, kernel, phase, count):
        real = getattr(kernel, phase)

        def call(*args):
            if self.active:
                kernel.time(phase, self.each, *args)
            else:
                real(*(ctypes.c_void_p(p) for p in args))

        return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)(call)


def how(text, folder):
    """What the plan says of the forward entry and of the backward one."""
    path = pathlib.Path(folder, "kernel.py")
    path.write_text(text)
    command = [sys.executable, "-m", "kc", "compile", str(path), "--emit", "plan", "-o", "-"]
    lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    found = {}
    for head, first in zip(lines, lines[1:]):
        if head.startswith("kernel "):
            found[head.split()[-1]] = first.split("lanes: ")[-1].replace("none, because ", "")
    return found


def one(name, frame, arguments):
    """The rows of one program."""
    import warp as wp

    wp.empty = wp.zeros
    import kc

    recorder = Recorder(arguments.each)
    kc.accelerate()
    recorder.install()
    with contextlib.redirect_stdout(io.StringIO()):
        _, step, _ = programs.made(name)
        for _ in range(frame):
            step()
        recorder.active = True
        step()
        recorder.active = False
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kernel, text in zip(recorder.kernels, recorder.texts):
            for phase, found in kernel.found.items():
                launches = kernel.launches[phase]
                mean = {side: sum(f[side] for f in found) / len(found) / 1e3 for side in ("kc", "warp")}
                extents = " ".join(sorted({"x".join(map(str, f["extents"])) for f in found}))
                rows.append(
                    {"program": name, "kernel": kernel.name, "phase": phase, "launches": launches, "extents": extents}
                    | {side: mean[side] * launches for side in mean}
                    | {"kc_launch": mean["kc"], "warp_launch": mean["warp"], "same": all(f["same"] for f in found), "text": text}
                )
        rows.sort(key=lambda row: -row["kc"])
        for row in rows[: arguments.top]:
            row["how"] = how(row["text"], folder).get(row["phase"], "unknown")
    for row in rows:
        del row["text"]
    return {"rows": rows, "left": recorder.left}


def whole(name, side, count):
    """The least of some frames after the first, in seconds, by one of both."""
    clock = time.process_time if CLOCK is time.thread_time_ns else time.perf_counter
    if side == "kc":
        import kc

        kc.accelerate()
    times = []
    with contextlib.redirect_stdout(io.StringIO()):
        _, step, _ = programs.made(name)
        for _ in range(count + 1):
            begun = clock()
            step()
            times.append(clock() - begun)
    return {f"frame_{side}": min(times[1:])}


def show(found, top):
    rows = found["rows"]
    print("| kernel | | launches | threads | kc, ms | Warp, ms | Warp / kc | same bits | how |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows[:top]:
        ratio = row["warp"] / row["kc"]
        print(
            f"| {row['kernel']} | {row['phase']} | {row['launches']} | {row['extents'][:40]} | {row['kc'] / 1e3:.2f} | "
            f"{row['warp'] / 1e3:.2f} | {ratio:.2f} | {'yes' if row['same'] else 'no'} | {row.get('how', '')} |"
        )
    causes = collections.defaultdict(list)
    for row in rows[:top]:
        causes[cause(row)].append(row)
    print("\n| how | kernels | slower than Warp | kc, ms | Warp, ms | Warp / kc |\n|---|---|---|---|---|---|")
    for how, group in sorted(causes.items(), key=lambda item: -sum(row["kc"] for row in item[1])):
        kc, warp = (sum(row[side] for row in group) / 1e3 for side in ("kc", "warp"))
        slower = sum(row["kc"] > 1.03 * row["warp"] for row in group)
        print(f"| {how} | {len(group)} | {slower} | {kc:.2f} | {warp:.2f} | {warp / kc:.2f} |")
    launches = sum(row["launches"] for row in rows)
    inside = {side: sum(row[side] for row in rows) / 1e3 for side in ("kc", "warp")}
    frame = {side: found[f"frame_{side}"] * 1e3 for side in inside}
    outside = {side: frame[side] - inside[side] for side in inside}
    each = {side: outside[side] * 1e3 / max(launches, 1) for side in inside}
    print(
        f"\nA frame: {frame['kc']:.2f} ms by kc, {frame['warp']:.2f} by Warp; {launches} launches; outside of kernels "
        f"{outside['kc']:.2f} and {outside['warp']:.2f} ms, a launch {each['kc']:.1f} and {each['warp']:.1f} us"
    )
    if found["left"]:
        print(f"\nLeft to Warp: {', '.join(found['left'])}")
    print(flush=True)


def cause(row):
    """Why a kernel runs as it does, in a word."""
    word = row.get("how", "")
    if word[:1].isdigit() and ", in vectors" in word:
        return "SIMD"
    return "no gain by SIMD" if "would gain" in word else word


def corpus(everything, count):
    """The costliest kernels of all programs together."""
    rows = [row for found in everything.values() for row in found["rows"] if "how" in row]
    rows = sorted(rows, key=lambda row: -row["kc"])[:count]
    print(f"## The {len(rows)} costliest kernels of all programs\n")
    print("| phase | how | kernels | slower than Warp | kc, ms | Warp, ms | geometric mean of Warp / kc |\n|---|---|---|---|---|---|---|")
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["phase"], "all"].append(row)
        groups[row["phase"], cause(row)].append(row)
    for (phase, how), group in sorted(groups.items(), key=lambda item: (item[0][0] != "forward", -sum(row["kc"] for row in item[1]))):
        kc, warp = (sum(row[side] for row in group) / 1e3 for side in ("kc", "warp"))
        slower = sum(row["kc"] > 1.03 * row["warp"] for row in group)
        mean = math.exp(sum(math.log(row["warp"] / row["kc"]) for row in group) / len(group))
        print(f"| {phase} | {how} | {len(group)} | {slower} | {kc:.1f} | {warp:.1f} | {mean:.2f} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="+", help="names of programs.py --list")
    parser.add_argument("--frame", type=int, default=1, help="the frame whose launches are timed; the first is 0")
    parser.add_argument("--each", type=int, default=2, help="launches of a kernel that are timed, for each of its extents")
    parser.add_argument("--top", type=int, default=25, help="the costliest kernels that are shown")
    parser.add_argument("--corpus", type=int, default=120, help="the costliest kernels of all programs that are summed up")
    parser.add_argument("--frames", type=int, default=5, help="whole frames that are timed")
    parser.add_argument("--cores", type=int, default=1, help="cores that kc may use; Warp's launches use one")
    parser.add_argument("--json", help="write the rows there")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--whole", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cores > 1:
        global CLOCK
        CLOCK = time.perf_counter_ns
    if arguments.run:
        name, frame = arguments.program[0], arguments.frame
        found = whole(name, arguments.whole, arguments.frames) if arguments.whole else one(name, frame, arguments)
        pathlib.Path(arguments.run).write_text(json.dumps(found))
        return
    everything = {}
    for name in arguments.program:
        with tempfile.TemporaryDirectory() as folder:
            cores = set(sorted(os.sched_getaffinity(0))[: arguments.cores])
            found = {}
            for more in ([], ["--whole", "kc"], ["--whole", "warp"]):
                out = os.path.join(folder, "rows.json")
                command = [sys.executable, __file__, name, "--frame", str(arguments.frame), "--each", str(arguments.each)]
                command += ["--top", str(arguments.top), "--cores", str(arguments.cores)]
                command += ["--frames", str(arguments.frames), "--run", out, *more]
                done = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores))
                if done.returncode:
                    print(f"{name} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}\n", flush=True)
                    break
                found |= json.loads(pathlib.Path(out).read_text())
            if "frame_warp" not in found:
                continue
            everything[name] = found
        print(f"## {name}\n")
        show(everything[name], arguments.top)
    if len(everything) > 1:
        corpus(everything, arguments.corpus)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
