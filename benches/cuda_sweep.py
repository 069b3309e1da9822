"""Does NVIDIA's own software accept what kc writes? Compiles many kernel files and gives each PTX to ptxas and each CUDA
text to NVRTC, which gets no include path.

    python3 benches/cuda_sweep.py FOLDER... [--kc target/release/kc] [--arch sm_75,sm_90] [--jobs 2] [--most N] [--out table.csv]

Every `*.py` below the folders with a kernel in it is one file; files of the same text count once. A file is compiled with
its gradients; where that gives an error, once more without, and the file counts as `forward only`. Files that kc refuses are
listed by code: they are not part of the result. The exit status is 1 when ptxas or NVRTC refuses anything, or when kc
crashes or takes longer than `--limit` seconds.

The tools are found as the tests find them: `KC_PTXAS` and `KC_NVRTC`, or `.env-test/`, which `make test` creates.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from multiprocessing import Pool

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = re.compile(r"\b(E\d{4})\b")


def tool(variable: str, path: str) -> str:
    if variable in os.environ:
        return os.environ[variable]
    for found in ROOT.glob(f".env-test/lib/python*/site-packages/nvidia/cu13/{path}"):
        return str(found)
    sys.exit(f"{path} not found: set {variable}, or run `make test`, which creates .env-test/")


class Nvrtc:
    def __init__(self, path: str):
        # NVRTC opens its built-ins by their bare name: that finds them only when they are loaded
        # already.
        ctypes.CDLL(str(pathlib.Path(path).with_name("libnvrtc-builtins.so.13.0")), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(path)

    def fault(self, text: str, arch: str) -> str | None:
        """What NVRTC says against a text, or None."""
        lib, program, size = self.library, ctypes.c_void_p(), ctypes.c_size_t()
        if lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None):
            return "nvrtcCreateProgram failed"
        options = (ctypes.c_char_p * 1)(f"--gpu-architecture={arch}".encode())
        status = lib.nvrtcCompileProgram(program, 1, options)
        lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        lib.nvrtcGetProgramLog(program, log)
        lib.nvrtcDestroyProgram(ctypes.byref(program))
        return log.value.decode(errors="replace").strip() or f"status {status}" if status else None


def ptxas_fault(ptxas: str, path: pathlib.Path, arch: str) -> str | None:
    command = [ptxas, "--gpu-name", arch, "--output-file", "/dev/null", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip() if done.returncode else None


def sweep_file(job: tuple) -> dict:
    """One row: what kc and the tools said about one file."""
    file, kc, archs, opt, limit, ptxas, nvrtc_path = job
    if not hasattr(sweep_file, "nvrtc"):
        sweep_file.nvrtc = Nvrtc(nvrtc_path)
    row = {"file": str(file), "kc": "ok", "codes": "", "kernels": 0, "backward": 0, "refused": ""}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        for extra in ([], ["--no-backward"]):
            command = [kc, "compile", str(file), "--emit", "ptx,cuda", "--arch", ",".join(archs), "--opt", opt, "--format", "short",
                       "-o", folder, *extra]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
            except subprocess.TimeoutExpired:
                return row | {"kc": "timeout"}
            if done.returncode == 0:
                row["kc"] = "forward only" if extra else "ok"
                break
            row["kc"] = "refused"
            row["codes"] = " ".join(sorted(set(CODE.findall(done.stdout + done.stderr))))
            if done.returncode != 1 or "E0999" in row["codes"] or "E0901" in row["codes"]:
                return row | {"kc": "crash", "refused": (done.stdout + done.stderr)[-500:]}
        else:
            return row
        stem = pathlib.Path(file).stem
        text = (out / f"{stem}.cu").read_text()
        entries = re.findall(r"__global__ void\b[^(]*?(\w+)\(", text)
        row["backward"] = sum(name.endswith("backward") for name in entries)
        row["kernels"] = len(entries) - row["backward"]
        faults = []
        for arch in archs:
            path = out / (f"{stem}.{arch}.ptx" if len(archs) > 1 else f"{stem}.ptx")
            for name, fault in ((f"ptxas {arch}", ptxas_fault(ptxas, path, arch)), (f"NVRTC {arch}", sweep_file.nvrtc.fault(text, arch))):
                if fault:
                    faults.append(f"{name}: {fault}")
        row["refused"] = "\n".join(faults)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--arch", default="sm_75,sm_90")
    parser.add_argument("--opt", default="full", choices=["lean", "full"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--most", type=int, help="a sample of so many files, chosen by the hashes of their texts")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()

    files = {}
    for folder in args.folders:
        for path in sorted(folder.rglob("*.py")):
            text = path.read_bytes()
            if b".kernel" in text:
                files.setdefault(hashlib.sha256(text).digest(), path)
    tools = (tool("KC_PTXAS", "bin/ptxas"), tool("KC_NVRTC", "lib/libnvrtc.so.13"))
    files = dict(sorted(files.items())[: args.most])
    jobs = [(path, args.kc, args.arch.split(","), args.opt, args.limit, *tools) for path in files.values()]
    rows = []
    with Pool(args.jobs) as pool:
        for row in pool.imap_unordered(sweep_file, jobs):
            rows.append(row)
            if sys.stderr.isatty() or len(rows) % 100 == 0:
                print(f"{len(rows)} of {len(jobs)}", file=sys.stderr, flush=True)
            if row["refused"] or row["kc"] in ("crash", "timeout"):
                print(f"{row['file']}: {row['kc']} {row['codes']}\n  {row['refused'][:600]}", flush=True)
    rows.sort(key=lambda row: row["file"])
    if args.out:
        with open(args.out, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)

    state = Counter(row["kc"] for row in rows)
    compiled = [row for row in rows if row["kc"] in ("ok", "forward only")]
    bad = [row for row in compiled if row["refused"]]
    print(f"{len(rows)} files: {', '.join(f'{n} {word}' for word, n in state.most_common())}")
    print(f"{sum(r['kernels'] for r in compiled)} forward and {sum(r['backward'] for r in compiled)} backward entries compiled for {args.arch}")
    codes = Counter(code for row in rows if row["kc"] == "refused" for code in row["codes"].split())
    print(f"refused by kc: {', '.join(f'{code} {n}' for code, n in codes.most_common()) or 'none'}")
    only = Counter(code for row in rows if row["kc"] == "forward only" for code in row["codes"].split())
    print(f"without gradients: {', '.join(f'{code} {n}' for code, n in only.most_common()) or 'none'}")
    print(f"refused by ptxas or NVRTC: {len(bad)} of {len(compiled)} files ({100 - 100 * len(bad) / max(len(compiled), 1):.1f} % accepted)")
    return 1 if bad or state["crash"] or state["timeout"] else 0


if __name__ == "__main__":
    sys.exit(main())
