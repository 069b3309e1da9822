"""Real programs of Warp with plain Warp and under `kc.accelerate()`: how long a frame takes, and whether the results are the same.

    pip install warp-lang==1.19.0 mujoco-warp newton out/wheels/*.whl
    python benches/programs.py [--only WORD ..] [--frames N] [--rounds N] [--json FILE] [--list]

Every run is a process of its own, pinned to one core unless `--cores` says otherwise. A frame's time is the least processor time of
all frames after the first, on several cores the least wall time; `compile` is the processor time of imports, set-up and the first frame with Warp's own cache of compiled
kernels filled. What is compared are all arrays of floats and integers that the program's object still holds at the end; the
difference is the largest one, divided by the largest magnitude in that array.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

#: By name: module, what its `Example` is made with, and frames.
WARP = {
    "wave": ("core.example_wave", {"stage_path": None}, 60),
    "fluid": ("core.example_fluid", {}, 30),
    "fdtd_3d": ("core.example_fdtd_3d", {}, 10),
    "graph_capture": ("core.example_graph_capture", {}, 30),
    "raymarch": ("core.example_raymarch", {"width": 512, "height": 256}, 3),
    "sph": ("core.example_sph", {"stage_path": None}, 2),
    "raycast": ("core.example_raycast", {}, 10),
    "fft_poisson": ("core.example_fft_poisson_navier_stokes_2d", {}, 2),
    "fluid_checkpoint": ("optim.example_fluid_checkpoint", {"sim_steps": 9, "pressure_iterations": 10}, 3),
    "fluid_custom_backward": ("optim.example_fluid_checkpoint_custom_backward", {"sim_steps": 9, "pressure_iterations": 10}, 3),
    "diffray": ("optim.example_diffray", {"height": 128, "train_iters": 5}, 5),
    "particle_repulsion": ("optim.example_particle_repulsion", {}, 5),
    "fem_diffusion": ("fem.example_diffusion", {"quiet": True, "resolution": 30}, 3),
    "fem_convection": ("fem.example_convection_diffusion", {"quiet": True}, 5),
    "fem_convection_dg": ("fem.example_convection_diffusion_dg", {"quiet": True}, 3),
    "fem_burgers": ("fem.example_burgers", {"quiet": True, "resolution": 20}, 3),
    "fem_stokes": ("fem.example_stokes", {"quiet": True, "resolution": 20}, 2),
    "fem_elasticity": ("fem.example_mixed_elasticity", {"quiet": True, "resolution": 6}, 2),
    "fem_navier_stokes": ("fem.example_navier_stokes", {"quiet": True, "resolution": 10}, 3),
    "fem_magnetostatics": ("fem.example_magnetostatics", {"quiet": True}, 1),
    "fem_shallow_water": ("fem.example_shallow_water", {"quiet": True}, 3),
}
#: Of mujoco_warp's own test data.
MUJOCO = {
    "mujoco_humanoid": ("humanoid/humanoid.xml", 64, 30),
    "mujoco_pendula": ("pendula.xml", 64, 30),
    "mujoco_constraints": ("constraints.xml", 64, 20),
    "mujoco_primitives": ("primitives.xml", 64, 20),
}
NEWTON = {
    "newton_diffsim_ball": ("diffsim.example_diffsim_ball", 6),
    "newton_diffsim_cloth": ("diffsim.example_diffsim_cloth", 3),
    "newton_diffsim_spring_cage": ("diffsim.example_diffsim_spring_cage", 3),
    "newton_diffsim_soft_body": ("diffsim.example_diffsim_soft_body", 2),
    "newton_basic_pendulum": ("basic.example_basic_pendulum", 20),
    "newton_cloth_hanging": ("cloth.example_cloth_hanging", 5),
    "newton_cloth_bending": ("cloth.example_cloth_bending", 3),
    "newton_softbody_hanging": ("softbody.example_softbody_hanging", 3),
    "newton_cable_twist": ("cable.example_cable_twist", 5),
    "newton_tendon_pulley": ("tendon.example_tendon_pulley", 5),
    "newton_cradle": ("contacts.example_newton_cradle", 5),
    "newton_mpm_granular": ("mpm.example_mpm_granular", 2),
}
NAMES = [*WARP, *MUJOCO, *NEWTON]


def made(name):
    """The program's object, and its frames."""
    if name in WARP:
        module, options, frames = WARP[name]
        example = importlib.import_module(f"warp.examples.{module}").Example
        known = inspect.signature(example.__init__).parameters
        found = example(**{key: value for key, value in options.items() if key in known})
        return found, frame_of(found), frames
    if name in MUJOCO:
        import mujoco
        import mujoco_warp

        file, worlds, frames = MUJOCO[name]
        folder = pathlib.Path(mujoco_warp.__file__).parent / "test_data"
        model = mujoco.MjModel.from_xml_path(str(folder / file))
        data = mujoco.MjData(model)
        if model.nkey:
            mujoco.mj_resetDataKeyframe(model, data, 0)
        mujoco.mj_forward(model, data)
        there, state = mujoco_warp.put_model(model), mujoco_warp.put_data(model, data, nworld=worlds)
        # What is not of an order that threads decide.
        shown = {field: getattr(state, field) for field in ("qpos", "qvel", "qacc", "xpos")}
        return shown, lambda: mujoco_warp.step(there, state), frames
    import newton.examples
    import newton.viewer

    file, frames = NEWTON[name]
    module = importlib.import_module(f"newton.examples.{file}")
    make = getattr(module.Example, "create_parser", newton.examples.create_parser)
    arguments = newton.examples.default_args(make()) if hasattr(newton.examples, "default_args") else make().parse_args([])
    found = module.Example(newton.viewer.ViewerNull(), arguments)
    return found, found.step, frames


def frame_of(example):
    if all(callable(getattr(example, name, None)) for name in ("forward", "backward")):
        return lambda: (example.forward(), example.backward())
    for name in ("step", "train_graph", "train", "optimize", "forward", "update", "render"):
        if callable(getattr(example, name, None)):
            return getattr(example, name)
    raise SystemExit(f"{type(example)} has no step")


def arrays_of(value, path="", seen=None, depth=0, found=None):
    """All arrays of numbers that an object holds, by where they are."""
    import numpy as np
    import warp as wp

    found, seen = ({} if found is None else found), (set() if seen is None else seen)
    if id(value) in seen or depth > 4:
        return found
    seen.add(id(value))
    if isinstance(value, (wp.array, np.ndarray)):
        data = value.numpy() if isinstance(value, wp.array) else value
        if data.dtype.kind == "f" and data.size and "scratch" not in path:
            found[path] = data
        if getattr(value, "grad", None) is not None:
            arrays_of(value.grad, f"{path}.grad", seen, depth, found)
        return found
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not inspect.isroutine(value) and not inspect.ismodule(value):
        parts = vars(value).items()
    else:
        return found
    for key, part in list(parts):
        arrays_of(part, f"{path}.{key}", seen, depth + 1, found)
    return found


def one(name, by, frames, out):
    """Runs one program in this process, and writes what came of it."""
    import numpy as np

    begun = time.process_time()
    import warp as wp

    # What a program never writes would differ between runs.
    wp.empty = wp.zeros
    if by == "kc":
        import kc

        kc.accelerate()
    with contextlib.redirect_stdout(io.StringIO()):
        example, frame, usual = made(name)
        times = []
        for n in range(frames or usual):
            before = time.process_time(), time.perf_counter()
            frame()
            times.append((time.process_time() - before[0], time.perf_counter() - before[1]))
            if n == 0:
                first = time.process_time() - begun
    found = {"first": first, "cpu": min(t[0] for t in times[1:] or times), "wall": min(t[1] for t in times[1:] or times)}
    if by == "kc":
        found["report"] = kc.report()
    np.savez(out + ".npz", **{key.lstrip("."): data for key, data in arrays_of(example).items()})
    pathlib.Path(out).write_text(json.dumps(found))


def run(name, by, arguments, folder):
    out = os.path.join(folder, f"{name}.{by}")
    command = [sys.executable, __file__, "--run", name, "--by", by, "--out", out]
    command += ["--frames", str(arguments.frames)] if arguments.frames else []
    cores = set(list(os.sched_getaffinity(0))[: arguments.cores])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=arguments.timeout, preexec_fn=lambda: os.sched_setaffinity(0, cores)
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1])
    return json.loads(pathlib.Path(out).read_text()), out + ".npz"


def difference(left, right):
    """The largest, and where; None: nothing can be compared."""
    import numpy as np

    worst, where = 0.0, ""
    with np.load(left) as a, np.load(right) as b:
        names = sorted(set(a.files) & set(b.files))
        for key in names:
            x, y = a[key], b[key]
            if x.shape != y.shape:
                return float("inf"), key
            x, y = x.astype(float), y.astype(float)
            known = np.isfinite(x) & np.isfinite(y)
            if (np.isfinite(x) != np.isfinite(y)).any():
                return float("inf"), key
            size = np.abs(x[known]).max(initial=0.0)
            found = np.abs(x[known] - y[known]).max(initial=0.0) / (size or 1.0)
            if found > worst:
                worst, where = float(found), key
    return (worst, where) if names else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="programs whose name has one of these words")
    parser.add_argument("--frames", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1, help="the least of so many runs")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=900)
    parser.add_argument("--json", help="write the figures there")
    parser.add_argument("--list", action="store_true")
    for name in ("run", "by", "out"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        return one(arguments.run, arguments.by, arguments.frames, arguments.out)
    names = [name for name in NAMES if not arguments.only or any(word in name for word in arguments.only)]
    if arguments.list:
        return print("\n".join(names))

    rows, ratios = {}, []
    print("| program | Warp, ms a frame | kc, ms a frame | Warp / kc | kernels by kc | of | difference |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                # The first run fills Warp's cache.
                run(name, "warp", arguments, folder)
                plain = [run(name, "warp", arguments, folder) for _ in range(arguments.rounds)]
                fast = [run(name, "kc", arguments, folder) for _ in range(arguments.rounds)]
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                rows[name] = {"failed": str(error)}
                print(f"| {name} | failed: {str(error)[:120]} |", flush=True)
                continue
            # On more cores than one it is the wall that counts, on a machine that does nothing
            # else.
            clock = "cpu" if arguments.cores == 1 else "wall"
            slow, quick = (min(found[clock] for found, _ in runs) * 1e3 for runs in (plain, fast))
            report = fast[-1][0]["report"]
            gap = difference(plain[-1][1], fast[-1][1])
            again = difference(plain[0][1], plain[-1][1]) if arguments.rounds > 1 else None
            rows[name] = {"warp": slow, "kc": quick, "by_kc": report["by_kc"], "kernels": len(report["kernels"])}
            rows[name] |= {"first_warp": plain[-1][0]["first"], "first_kc": fast[-1][0]["first"]}
            rows[name] |= {"difference": gap, "warp_beside_warp": again}
            rows[name]["left"] = {k["kernel"]: k["reason"] for k in report["kernels"] if k["by"] == "warp"}
            rows[name]["gradients_left"] = {k["kernel"]: k["gradient_reason"] for k in report["kernels"] if "gradient_reason" in k}
            ratios.append(slow / quick)
            shown = "nothing to compare" if gap is None else f"{gap[0]:.1e}" + (f" ({gap[1]})" if gap[0] > 1e-4 else "")
            print(
                f"| {name} | {slow:.2f} | {quick:.2f} | {slow / quick:.2f} | {report['by_kc']} | {len(report['kernels'])} | {shown} |",
                flush=True,
            )
    if ratios:
        mean = 1.0
        for ratio in ratios:
            mean *= ratio ** (1 / len(ratios))
        print(f"\ngeometric mean of {len(ratios)}: {mean:.2f}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
