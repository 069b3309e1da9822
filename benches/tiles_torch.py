"""Tiles on the host beside PyTorch's CPU: products, softmax, layer norm, and a chain of level 2, as kc.bench's answers have them.

    PYTHONPATH=python .env-torch/bin/python benches/tiles_torch.py [--rounds 15] [--threads 1]

Both run in one process on the same arrays in turn, and the figure is the least processor time of each: `torch / kc` above 1 says
that kc is faster. Debian's PyTorch may have a plain BLAS, whose products take fifteen times what others do: NumPy's product, in
brackets, is OpenBLAS's where NumPy came from PyPI.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import time

import numpy as np

SOLUTIONS = pathlib.Path(__file__).resolve().parents[1] / "examples" / "kernelbench"


def model(path, *init):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ModelNew(*init)


def cases(torch):
    """Name, kc's model, its inputs, and the same in PyTorch."""
    g = np.random.default_rng(1)
    made = lambda *shape: g.standard_normal(shape, dtype=np.float32)
    tensor = torch.from_numpy
    a, b = made(768, 768), made(768, 768)
    products = [("product 768^3", "001_*", lambda x: x), ("A^T B^T 768^3", "018_*", lambda x: x.T)]
    for name, file, turned in products:
        yield name, model(next(SOLUTIONS.glob(file))), (a, b), lambda turned=turned: turned(tensor(a)) @ turned(tensor(b))
    x = made(16, 393216)
    yield "softmax 16 x 393,216", model(next(SOLUTIONS.glob("023_*"))), (x,), lambda: torch.softmax(tensor(x), 1)
    y = made(16, 64, 64, 64)
    norm = model(next(SOLUTIONS.glob("040_*")), (64, 64, 64))
    weight, bias = (tensor(p) for p in norm.parameters())
    yield "layer norm 16 x 262,144", norm, (y,), lambda: torch.nn.functional.layer_norm(tensor(y), (64, 64, 64), weight, bias)
    v = made(256, 2048)
    chain = model(next((SOLUTIONS / "level2").glob("086_*")), 2048, 1024, 10.0)
    w, c = (tensor(p) for p in chain.parameters())
    yield "product, GELU 256 x 2048 x 1024", chain, (v,), lambda: torch.nn.functional.gelu(torch.nn.functional.linear(tensor(v), w, c) / 10.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    import torch

    torch.set_num_threads(given.threads)
    for name, mine, inputs, theirs in cases(torch):
        with torch.no_grad():
            wanted, found = theirs().numpy(), mine(*inputs)
            assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max(), name
            times = {"torch": [], "kc": [], "numpy": []}
            for _ in range(given.rounds):
                for who, run in (("torch", theirs), ("kc", lambda: mine(*inputs)), ("numpy", lambda: inputs[0] @ inputs[-1])):
                    if who == "numpy" and len(inputs) < 2:
                        continue
                    # Processor time of one thread: others on the machine do not count.
                    began = time.process_time()
                    run()
                    times[who].append(time.process_time() - began)
        least = {who: 1e3 * min(taken) for who, taken in times.items() if taken}
        beside = f"  (NumPy {least['numpy']:.2f} ms)" if "numpy" in least else ""
        print(f"{name:34} torch {least['torch']:8.2f} ms  kc {least['kc']:8.2f} ms  torch / kc {least['torch'] / least['kc']:.2f}{beside}", flush=True)


if __name__ == "__main__":
    main()
