"""tinygrad's own test of operations on the simulated GPU; tests that fail on its CPU backend too do not count.

    python tinygrad_ops.py CHECKOUT [--every N]

CHECKOUT is a folder with tinygrad's sources (github.com/tinygrad/tinygrad), whose `test/backend/test_ops.py` runs,
with PyTorch of the environment `.env-torch`; of N tests one, if asked. clang is needed, as tinygrad's CPU backend does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KC = os.environ.get("KC", str(ROOT / "target/debug/kc"))
LEAST = 0.95


def on_cuda():
    """What tinygrad needs to know of NVRTC, as the wheels have it."""
    (nvidia,) = (ROOT / ".env-gpu/lib").glob("python3*/site-packages/nvidia/cu13")
    variables = {"NVRTC_PATH": nvidia / "lib/libnvrtc.so.13", "CUDA_PATH": nvidia, "LD_LIBRARY_PATH": nvidia / "lib"}
    return {"DEV": "CUDA"} | {name: str(value) for name, value in variables.items()}


def tests(command, variables):
    """What `pytest` says of each test: its class and name, and whether it passed; those that are left out are not there."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        subprocess.run([*command, f"--junitxml={results}"], env=os.environ | variables, stdout=sys.stderr, check=False)
        cases = xml.etree.ElementTree.parse(results).iter("testcase")
        left = {"failure": False, "error": False, "skipped": None}
        name = lambda c: f"{c.get('classname').rpartition('.')[2]}::{c.get('name')}"
        found = {name(c): next((left[part.tag] for part in c if part.tag in left), True) for c in cases}
    return {name: passed for name, passed in found.items() if passed is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    file = args.checkout.resolve() / "test/backend/test_ops.py"
    python = str(ROOT / ".env-torch/bin/python")
    pytest = [python, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", f"--rootdir={args.checkout}"]
    names = [line.split("def ")[1].split("(")[0] for line in file.read_text().splitlines() if "  def test_" in line]
    chosen = [f"{file}::TestOps::{name}" for name in names[:: args.every]] if args.every > 1 else [str(file)]
    path = {"PYTHONPATH": str(args.checkout.resolve())}
    on_gpu = tests([KC, "gpu", "--", *pytest, *chosen], path | on_cuda())
    fail = [name for name, passed in on_gpu.items() if not passed]
    on_host = tests([*pytest, *(f"{file}::{name}" for name in fail)], path | {"DEV": "CPU"}) if fail else {}
    failed = [name for name in fail if on_host.get(name)]
    count = len(on_gpu) - len(fail) + len(failed)
    print(f"{count - len(failed)} of {count} tests pass; {len(fail) - len(failed)} fail on the host too")
    for name in failed:
        print(f"fails: {name}")
    return 0 if count and len(failed) <= (1 - LEAST) * count else 1


if __name__ == "__main__":
    sys.exit(main())
