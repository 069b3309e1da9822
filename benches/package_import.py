"""Which modules of a package that imports Warp load with the import changed (`import kc.warp as wp`)?

    PYTHON benches/package_import.py newton [mujoco_warp ..] [--tests] [--list]

PYTHON is an environment with kc, Warp and the packages. A copy of each package is changed as `warp_import.py` changes files, and each
of its modules is imported by a process of its own. Beside it stands how many load as they are, with Warp: what the machine lacks
(pxr, a display) stops both. Modules of tests and examples are left out unless `--tests` asks for them. `--list` names what each
module that loads with Warp alone lacks.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib.util
import os
import pathlib
import shutil
import sys
import tempfile

from warp_import import changed


def modules(root, tests):
    """The names of the package's modules."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts[-1] != "__main__" and (tests or not {"tests", "examples"} & set(parts)):
            yield ".".join(parts)


def load(names, folder, first, limit=120):
    """The error of each module that does not load, by name. Each is imported by a fork of a process that has ``first`` and the package."""
    sys.path.insert(0, str(folder))
    __import__(first)
    with contextlib.suppress(Exception):
        __import__(names[0].split(".")[0])
    failed = {}
    for name in names:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                import signal

                signal.alarm(limit)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                __import__(name)
            except BaseException as error:
                os.write(writing, f"{type(error).__name__}: {error}".encode()[:4000])
                os._exit(1)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read().decode(errors="replace")
        _, status = os.waitpid(child, 0)
        if status:
            failed[name] = told or f"ended by signal {os.WTERMSIG(status)}"
    return failed


def in_a_process(*arguments):
    """What ``load`` gives, from a process of its own: Warp and kc are never in one."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(load, *arguments).result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    print("| package | modules | load with Warp | of these with kc |\n|---|---|---|---|")
    listed = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for package in arguments.packages:
            root = pathlib.Path(importlib.util.find_spec(package).origin).parent
            shutil.copytree(root, folder / package)
            for path in (folder / package).rglob("*.py"):
                path.write_text(changed(path.read_text()))
        for package in arguments.packages:
            names = list(modules(folder / package, arguments.tests))
            root = pathlib.Path(importlib.util.find_spec(package).origin).parent
            without = in_a_process(names, root.parent, "warp")
            both = [name for name in names if name not in without]
            failed = in_a_process(both, folder, "kc.warp")
            print(f"| {package} | {len(names)} | {len(both)} | {len(both) - len(failed)} |", flush=True)
            listed += failed.items()
    if arguments.list:
        print()
        for reason, count in collections.Counter(error.splitlines()[-1][:160] for _, error in listed).most_common():
            print(f"{count:4} {reason}  ({next(name for name, error in listed if error.splitlines()[-1][:160] == reason)})")


if __name__ == "__main__":
    main()
