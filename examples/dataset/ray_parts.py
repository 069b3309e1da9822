"""Makes a data set with Ray: one task per part, then joins the parts. All machines see the same folder.

    python ray_parts.py --rows 100000 --parts 8 --folder /shared/kernels --emit cuda,adjoint

Options that are not listed below go to `kc dataset`.
"""

import argparse
import pathlib
import subprocess

import ray


def make(kc: str, part: str, cpus: int, out: str, options: list[str]) -> str:
    """Makes one part; a task that runs again goes on where it stopped."""
    command = [kc, "dataset", *options, "--shard", part, "--jobs", str(cpus), "--resume", "-o", out]
    subprocess.run(command, check=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--cpus", type=int, default=1, help="cores of a task")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--first", type=int, help="make only so many parts, and join none: a try before the whole")
    parser.add_argument("--kc", default="kc")
    args, options = parser.parse_known_args()
    options += ["-n", str(args.rows)]
    folder = args.folder.resolve()
    ray.init()
    task = ray.remote(num_cpus=args.cpus, max_retries=3)(make)
    tasks = [
        task.remote(args.kc, f"{n}/{args.parts}", args.cpus, str(folder / f"part-{n}"), options)
        for n in range(args.parts if args.first is None else min(args.first, args.parts))
    ]
    parts = ray.get(tasks)
    if args.first is None:
        subprocess.run([args.kc, "dataset", "merge", *parts, "--out", str(folder / "whole")], check=True)


if __name__ == "__main__":
    main()
