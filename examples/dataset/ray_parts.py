"""Makes a data set with Ray: one task per part, then joins the parts. All machines see the same folder.

    python ray_parts.py --rows 100000 --parts 8 --folder /shared/kernels
"""

import argparse
import pathlib
import subprocess

import ray


@ray.remote(max_retries=3)
def make(part: int, parts: int, rows: int, folder: str, kc: str) -> str:
    """Makes one part; a task that runs again goes on where it stopped."""
    out = f"{folder}/part-{part}"
    command = [kc, "dataset", "-n", str(rows), "--shard", f"{part}/{parts}", "--resume", "-o", out]
    subprocess.run(command, check=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--kc", default="kc")
    args = parser.parse_args()
    ray.init()
    tasks = [make.remote(n, args.parts, args.rows, str(args.folder), args.kc) for n in range(args.parts)]
    parts = ray.get(tasks)
    subprocess.run([args.kc, "dataset", "merge", *parts, "--out", str(args.folder / "whole")], check=True)


if __name__ == "__main__":
    main()
