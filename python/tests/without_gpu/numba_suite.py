"""numba-cuda's own tests on the simulated GPU.

    python numba_suite.py [--sample N] [WORD ..]

All tests, or N that a fixed chance takes, or those of modules whose names have a WORD. Prints how many pass, what is left
out and why, and what fails; the exit code is 1 where fewer than 95 % pass.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KC = os.environ.get("KC", str(ROOT / "target/debug/kc"))
LEAST = 0.95
# A file for what tests print and why they fail.
LOG = os.environ.get("NUMBA_SUITE_LOG")
FOLDERS = ("cudadrv", "cudapy", "doc_examples", "nrt")

# Tests that name hardware, or need what only NVIDIA's toolkit or other libraries have: their names, and why.
LEFT_OUT = [
    (r"sass|cubin|cuobjdump|nvdisasm", "machine code"),
    (r"ltoir|lto_|nvjitlink|fatbin|test_linker.*(archive|object|library)", "inputs of nvJitLink that have no PTX"),
    (r"ipc", "memory that processes share"),
    (r"cudadrv.test_nvrtc|test_nvvm_driver|test_libraries|test_cuda_libraries", "files of the toolkit"),
    (r"profil|nvtx", "a profiler"),
    (r"cupy|torch", "other libraries"),
    (r"test_struct_model_type_arr", "the test itself writes beyond its arrays, of one element each, which is found"),
    (r"test_dispatcher_cpointer_arguments", "the test itself goes over 16 elements of arrays that have 10, which is found"),
    (r"test_device_arch_specific", "the test itself changes a tensor map in 4 bytes of shared memory, which is found"),
]


def modules(words):
    (tests,) = (ROOT / ".env-gpu/lib").glob("python3*/site-packages/numba_cuda/numba/cuda/tests")
    files = (file for folder in FOLDERS for file in sorted((tests / folder).glob("test_*.py")))
    names = [f"numba.cuda.tests.{file.parent.name}.{file.stem}" for file in files]
    return [name for name in names if not words or any(word in name for word in words)]


def written(module):
    """The tests that the text of a module has."""
    (package,) = (ROOT / ".env-gpu/lib").glob("python3*/site-packages/numba_cuda")
    tree = ast.parse((package / f"{module.replace('.', '/')}.py").read_text())
    classes = [part for part in tree.body if isinstance(part, ast.ClassDef)]
    functions = [(c.name, f.name) for c in classes for f in c.body if isinstance(f, ast.FunctionDef)]
    return [f"{module}.{c}.{f}" for c, f in functions if f.startswith("test_") and reason(f"{module}.{c}.{f}") is None]


def sampled(modules, count):
    """So many tests, a dozen of a module at most, in the order of a fixed chance."""
    chance, chosen = random.Random(48), {}
    chance.shuffle(modules)
    for module in modules:
        left = count - sum(map(len, chosen.values()))
        tests = written(module)
        if left > 0 and tests:
            chosen[module] = chance.sample(tests, min(12, left, len(tests)))
    return chosen


def reason(test):
    """Why a test is left out; None: it counts."""
    return next((why for pattern, why in LEFT_OUT if re.search(pattern, test, re.IGNORECASE)), None)


def here(module, file, chosen):
    """Runs tests of a module in this process, or lists them, and writes what became of each."""
    found = {}

    class Result(unittest.TestResult):
        def addSuccess(self, test):
            found[test.id()] = True

        def addSkip(self, test, reason):
            found[test.id()] = reason or "no reason"

        def addFailure(self, test, error):
            if error[0].__name__ == "Skipped":
                # As pytest says it.
                return self.addSkip(test, str(error[1]))
            found[test.id()] = False
            print(test.id(), self._exc_info_to_string(error, test), sep="\n", file=sys.stderr)

        def addExpectedFailure(self, test, error):
            found[test.id()] = True

        addError = addUnexpectedSuccess = addFailure

        def addSubTest(self, test, part, error):
            if error is not None:
                self.addFailure(test, error)

    def flat(suite):
        return [test for part in suite for test in (flat(part) if isinstance(part, unittest.TestSuite) else [part])]

    for test in flat(unittest.defaultTestLoader.loadTestsFromName(module)):
        if chosen and test.id() not in chosen:
            continue
        if reason(test.id()) is None:
            # A process that dies has told of the tests before.
            found[test.id()] = False
            file.write_text(json.dumps(found))
            unittest.TestSuite([test]).run(Result())
        else:
            found[test.id()] = None
    file.write_text(json.dumps(found))


def results(module, chosen=()):
    """What becomes of the tests of a module: True, False, why it is skipped, or None where it is left out."""
    found = in_a_process(module, chosen)
    # An error of a kernel stays: who fails after somebody else has a process of its own.
    for name in [name for name, passed in found.items() if passed is False][1:]:
        found |= in_a_process(module, [name])
    return found


def in_a_process(module, chosen=()):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        command = [KC, "gpu", "--devices", "2", "--checks", "none", "--", sys.executable, "-W", "ignore", __file__, "--here", str(file), module]
        log = Path(folder) / "log"
        with log.open("w") as out:
            # The output of tests may be large.
            subprocess.run([*command, *chosen], stdout=out, stderr=out, check=False, timeout=3600, cwd=folder)
        if LOG:
            with open(LOG, "a") as all:
                all.write(log.read_text(errors="replace"))
        # What misses another library does not even load.
        return json.loads(file.read_text()) if file.is_file() else {f"{module} (does not load)": False if reason(module) is None else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        here(args.words[0], args.here, args.words[1:])
        return 0
    chosen = {module: [] for module in modules(args.words)}
    if args.sample:
        chosen = sampled(list(chosen), args.sample)
    passed, failed, skipped, left = [], [], {}, {}
    for module, tests in chosen.items():
        for name, answer in results(module, tests).items():
            if answer is None:
                left.setdefault(reason(name), []).append(name)
            elif isinstance(answer, str):
                skipped.setdefault(answer.splitlines()[0], []).append(name)
            else:
                (passed if answer else failed).append(name)
            if answer is False:
                print(f"fails: {name}", file=sys.stderr)
        print(f"{module}: {len(passed)} passed, {len(failed)} failed so far", file=sys.stderr, flush=True)
    count = len(passed) + len(failed)
    print(f"{len(passed)} of {count} tests pass ({100 * len(passed) / max(count, 1):.1f} %)")
    for why, names in left.items():
        print(f"{len(names)} left out: {why}")
    for why, names in skipped.items():
        print(f"{len(names)} skipped by themselves: {why}")
    for name in failed:
        print(f"fails: {name}")
    return 0 if passed and len(passed) >= LEAST * count else 1


if __name__ == "__main__":
    sys.exit(main())
