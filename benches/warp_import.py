"""Which of Warp's core, optim and tile examples run with the import changed (`import kc.warp as wp`)?

    .env-warp/bin/python benches/warp_import.py [--only WORD ..] [--limit SECONDS] [--kept] [--json FILE]

Each of the 35 files runs as a program of its own: on the CPU, without a window, with few frames where it has such options. In the
file `import warp ...` becomes `import kc.warp ...`, and so do names such as `warp.optim.Adam`; `warp.examples` and `warp.tests`, which hold files and helpers, stay Warp's.
`--kept` runs the files as they are, which says what a machine lacks: three take a GPU alone (custom_allocator, spin_lock,
work_queue), one each cupy, PyTorch and a display. Four read USD files: `pip install usd-core pillow matplotlib`.
The exit status is 1 where fewer than 32 run.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

#: Options that a file may have, and what they are set to.
OPTIONS = {
    "--device": "cpu", "--headless": None, "--num-frames": "2", "--train-iters": "2", "--spin-up-steps": "2", "--stage-path": "None",
    "--height": "64", "--width": "64", "--resolution": "32", "--slices": "8", "--sphere-resolution": "8",
}
#: Of these the sizes belong to the result.
LEFT = {"example_fdtd_3d": {"--resolution"}}


def files():
    """The examples by name."""
    import importlib.util

    root = pathlib.Path(importlib.util.find_spec("warp").origin).parent / "examples"
    return {f"{path.parent.name}/{path.stem}": path for folder in ("core", "optim", "tile") for path in sorted((root / folder).glob("example_*.py"))}


def changed(text):
    """The text with kc in Warp's place."""
    stays = r"(?!\.examples|\.tests|\._src)"
    text = re.sub(rf"^(\s*)import warp{stays}(?=[ .])", r"\1import kc.warp", text, flags=re.M)
    text = re.sub(rf"^(\s*)from warp{stays}(?=[ .])", r"\1from kc.warp", text, flags=re.M)
    text = re.sub(r"(?<![\w.])warp\.(optim|render|utils|autograd)\.", r"kc.warp.\1.", text)
    # Files of Warp, by the name of Warp.
    text = re.sub(r"\bwp\.examples\.", "warp.examples.", text)
    # A star that brings Warp itself along comes first.
    star = "from warp.tests.unittest_utils import *\n"
    return text.replace(star, star + "import kc.warp as wp\n") if star in text else text


def run(name, path, kept, limit):
    """The end of one program: None where it completes."""
    text = path.read_text()
    words = [word for option, value in OPTIONS.items() if re.search(rf'"{option}["\s,]', text) and option not in LEFT.get(path.stem, ())
             for word in ([option] if value is None else [option, value])]
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / path.name
        made.write_text(text if kept else changed(text))
        try:
            done = subprocess.run([sys.executable, made, *words], cwd=folder, capture_output=True, text=True, errors="replace", timeout=limit,
                                  env={**os.environ, "MPLBACKEND": "Agg"})
        except subprocess.TimeoutExpired:
            return f"takes more than {limit} s"
    return None if done.returncode == 0 else ((done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"])[-1][:300]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    found = {}
    for name, path in files().items():
        if given.only and not any(word in name for word in given.only):
            continue
        began = time.monotonic()
        found[name] = run(name, path, given.kept, given.limit)
        print(f"{name:55} {time.monotonic() - began:6.1f} s  {found[name] or 'complete'}", flush=True)
    complete = sum(why is None for why in found.values())
    print(f"{complete} of {len(found)} complete")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(found, indent=1))
    return 0 if given.only or given.kept or complete >= 32 else 1


if __name__ == "__main__":
    sys.exit(main())
