"""How many rows per second does `kc dataset` make?

    python3 benches/dataset.py target/release/kc [ROWS]

Three settings: texts alone; with device IR and PTX; everything, run and checked. Prints rows per second and the most memory.
"""

import resource
import subprocess
import sys
import tempfile
import time

SETTINGS = {
    "texts (Python, CUDA forward and backward, adjoint)": ["--emit", "cuda,adjoint", "--no-verify"],
    "texts, device IR and PTX": ["--emit", "cuda,adjoint,llvm,ptx", "--no-verify"],
    "everything, run and gradient-checked": [],
}


def main() -> None:
    kc = sys.argv[1]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    for name, flags in SETTINGS.items():
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            command = [kc, "dataset", "-n", str(rows), "-o", f"{folder}/set", *flags]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"{name}: {rows / seconds:.0f} rows/s, at most {memory:.0f} MiB")


if __name__ == "__main__":
    main()
