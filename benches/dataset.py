"""What do the columns of `kc dataset` cost?

    python3 benches/dataset.py target/release/kc [ROWS]

Each setting makes all columns of the one before it and some more. Printed are rows per second of this machine as it is, processor time of a row
in milliseconds, what the setting adds to it, and the most memory. Start-up and the files beside the rows are taken off: a second run makes a tenth of the rows.
Then, for all columns, the stages as `--timings` tells them, in shares: on a busy machine shares are worth more than times.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time

SETTINGS = {
    "Python, CUDA forward": ["--no-verify", "--no-backward", "--emit", "cuda"],
    "CUDA backward": ["--no-verify", "--emit", "cuda"],
    "adjoint": ["--no-verify", "--emit", "cuda,adjoint"],
    "LLVM IR for GPUs": ["--no-verify", "--emit", "cuda,adjoint,llvm"],
    "PTX": ["--no-verify", "--emit", "cuda,adjoint,llvm,ptx"],
    "LLVM IR of the host": ["--no-verify", "--emit", "cuda,adjoint,llvm,ptx,host"],
    "run and checked, stand-alone files": [],
}


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(kc: str, rows: int, flags: list[str]) -> tuple[float, float, str]:
    """Seconds, seconds of processor time, and what the command said."""
    with tempfile.TemporaryDirectory() as folder:
        start, before = time.perf_counter(), processor()
        command = [kc, "dataset", "-n", str(rows), "-o", f"{folder}/set", *flags]
        said = subprocess.run(command, check=True, capture_output=True, text=True)
        return time.perf_counter() - start, processor() - before, said.stdout + said.stderr


def main() -> None:
    kc = sys.argv[1]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    few = max(1, rows // 10)
    print(f"{rows} rows on {os.cpu_count()} cores", flush=True)
    print("| with | rows/s | ms of a row | added | MiB |\n|---|---|---|---|---|")
    last = 0.0
    for name, flags in SETTINGS.items():
        seconds, used, _ = run(kc, rows, flags)
        start, start_used, _ = run(kc, few, flags)
        cost = (used - start_used) / (rows - few) * 1e3
        speed = (rows - few) / max(seconds - start, 1e-9)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"| {name} | {speed:.0f} | {cost:.2f} | {cost - last:.2f} | {memory:.0f} |", flush=True)
        last = cost
    said = run(kc, rows, ["--timings", "-j", "1"])[2]
    stages = {name.strip(): float(ms) for name, ms in re.findall(r"^(.+?) +[\d.]+ s +([\d.]+) ms per row", said, re.M)}
    total = sum(stages.values())
    print("\n| stage | share |\n|---|---|")
    for name, ms in sorted(stages.items(), key=lambda stage: -stage[1]):
        print(f"| {name} | {ms / total:.1%} |")


if __name__ == "__main__":
    main()
