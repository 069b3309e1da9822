"""How the kernels of whole packages run on this machine's processor: as SIMD, or why thread by thread.

    pip install newton==1.8.0 mujoco-warp==4.0.0 nvalchemi-toolkit-ops==0.5.0 warp-lang==1.19.0
    python benches/plans.py FOLDER .. [--kc KC] [--cpu NAME]

Asks `kc compile --emit plan` for every file with kernels, without tests. Each file that imports a
kernel counts it. Kernels that factories make at run time are missing.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess

#: What is counted alike.
ALIKE = [(r"\d+ lanes would gain a factor of .* at most", "no gain"), (r"it has \d+ instructions", "too many instructions")]


def plan_of(command, path):
    """Each entry of a file: its phase, and how it runs."""
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    for head, first in zip(lines, lines[1:]):
        if head.startswith("kernel "):
            how = first.split("lanes: ")[-1]
            word = "SIMD" if how[:1].isdigit() else how.replace("none, because ", "")
            for pattern, name in ALIKE:
                word = re.sub(pattern, name, word)
            yield head.split()[-1], word


def files_of(folder):
    for path in sorted(pathlib.Path(folder).rglob("*.py")):
        if "tests" not in path.parts and re.search(r"@(wp|warp)\.kernel", path.read_text(errors="ignore")):
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="+", help="of a package")
    parser.add_argument("--kc", default="kc", help="the command")
    parser.add_argument("--cpu", help="another processor than this one")
    arguments = parser.parse_args()
    command = [arguments.kc, "compile", "--emit", "plan", "-o", "-", *(["--cpu", arguments.cpu] if arguments.cpu else [])]
    causes = {"forward": collections.defaultdict(collections.Counter), "backward": collections.defaultdict(collections.Counter)}
    names = [pathlib.Path(folder).name for folder in arguments.folder]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, folder in zip(names, arguments.folder):
            for entries in pool.map(lambda path: list(plan_of(command, path)), files_of(folder)):
                for phase, word in entries:
                    if phase in causes:
                        causes[phase][word][name] += 1
    for phase, words in causes.items():
        print(f"| {phase} | {' | '.join(names)} | all |")
        print("|---" * (len(names) + 2) + "|")
        total = collections.Counter()
        for counts in words.values():
            total.update(counts)
        for word, counts in [("kernels", total), *sorted(words.items(), key=lambda item: -sum(item[1].values()))]:
            print(f"| {word} | {' | '.join(f'{counts[name]:,}' for name in names)} | {sum(counts.values()):,} |")
        shares = [words["SIMD"][name] / max(1, total[name]) for name in names]
        print(f"| share of SIMD | {' | '.join(f'{share:.0%}' for share in shares)} | {sum(words['SIMD'].values()) / max(1, sum(total.values())):.0%} |\n")


if __name__ == "__main__":
    main()
