#!/usr/bin/env python3
"""Makes the pictures of docs/examples.md: docs/examples/NAME.png, each by the program that the page names.

    .env-python/bin/python scripts/site/examples.py KC [PYTHON_WITH_TORCH]

It takes some minutes. Pictures are brought to 320 columns or so, and ray casts to fewer shades.
"""

import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "examples/python"), str(ROOT / "scripts/site")]
import panels  # noqa: E402
import picture  # noqa: E402

OUT = ROOT / "docs/examples"
WIDE = 320
#: Their programs take the mean of four rays for each pixel, and draw in the size of the page.
RAY_CASTS = ["shadows", "cloth_on_body", "dam_break", "smoke_volume", "inverse_mesh"]


def read(path):
    """The pixels of a PNG as `picture.save` writes it."""
    data, at, packed = path.read_bytes(), 8, b""
    width, height = (int.from_bytes(data[n: n + 4], "big") for n in (16, 20))
    depth = {0: 1, 2: 3}[data[25]]
    while at < len(data):
        length = int.from_bytes(data[at: at + 4], "big")
        if data[at + 4: at + 8] == b"IDAT":
            packed += data[at + 8: at + 8 + length]
        at += length + 12
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * depth)
    assert (rows[:, 0] == 1).all(), "another filter than differences to the left"
    return rows[:, 1:].reshape(height, width, depth).cumsum(axis=1, dtype=np.uint8).squeeze() / 255.0


def fitted(pixels, thin=False):
    """About `WIDE` columns: repeated pixels, or every so many; of thin points the brightest of each square."""
    width = pixels.shape[1]
    if width <= WIDE:
        times = WIDE // width
        return pixels.repeat(times, axis=0).repeat(times, axis=1)
    step = -(-width // WIDE)
    if not thin:
        return pixels[::step, ::step]
    height = pixels.shape[0] // step * step
    return pixels[:height, : width // step * step].reshape(height // step, step, -1, step).max(axis=(1, 3))


def main():
    kc = os.path.abspath(sys.argv[1])
    torch = sys.argv[2] if len(sys.argv) > 2 else ROOT / ".env-torch/bin/python"
    OUT.mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        for name in ["fluid", "cloth", "filter", "nbody", "monte_carlo", "inverse", *RAY_CASTS]:
            python = torch if name == "inverse" else sys.executable
            program = ROOT / f"examples/python/{name}.py"
            subprocess.run([python, program, made / f"{name}.png"], check=True, env=environment)
            pixels = read(made / f"{name}.png")
            if name in RAY_CASTS:
                # 64 shades are enough, and make half the file.
                pixels = np.round(pixels * 63) / 63
            elif name != "cloth":
                # Lines of one pixel stay as they are.
                pixels = fitted(pixels, thin=name == "nbody")
            picture.save(OUT / f"{name}.png", pixels)

        def run(*arguments):
            command = [kc, *map(str, arguments)]
            return subprocess.run(command, check=True, cwd=made, capture_output=True, text=True).stdout

        example = ROOT / "examples/mandelbrot.py"
        run("run", example, "-k", "mandelbrot", "--dim", "240x320", "--arg", "count=zeros:240x320", "--arg", "corner=-2.3,-1.2",
            "--arg", "pixel=0.01,0.01", "--arg", "limit=400", "--npy", "count=count.npy")
        picture.save(OUT / "mandelbrot.png", 1.0 - np.log1p(np.load(made / "count.npy")) / np.log1p(400))
        run("dataset", "-n", "2", "--seed", "7", "--repair", "-o", "faults", "-q")
        diff = run("dataset", "show", "faults", "0-repair", "--column", "unified_diff").rstrip()
        said = run("dataset", "show", "faults", "0-repair", "--column", "rendered_terminal").rstrip()
        shown = [[("the fault, and how it is mended", "diff", diff)], [("what kc says", "text", said)]]
        (OUT / "repair.svg").write_text(panels.svg("A row of faulty programs", shown) + "\n")


main()
