#!/usr/bin/env python3
"""Do the tests notice when the code is changed? Mutation testing of a sample, with one build for all mutants.

    tests/mutation/run.py --work FOLDER [--count 300] [--seed 1] [--minutes 60]

`cargo mutants` (install it first: cargo install cargo-mutants) lists the mutants of the folders below; a sample of them is
written into one copy of the tree, each behind a switch (`src/main.rs` beside this file), what does not compile is left
out, and the quick tests run once per mutant until one of them fails. Results are appended to FOLDER/results.jsonl, so
that a run that was ended goes on where it was; the summary is printed at the end and belongs in tests/ledger.md.
"""

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["src/analysis", "src/ir", "src/passes", "src/check", "src/autodiff", "src/codegen/cuda"]
# Every stage runs for every mutant that the ones before did not catch; the nearest tests come first.
NEAREST = {"src/check": "lang", "src/codegen": "cuda_text"}
STAGES = ["lib", "cuda_text", "lang", "golden", "gradients", "llvm"]
SWITCH = """
/// Whether a mutant is on.
#[doc(hidden)]
pub fn mutant(id: u32) -> bool {
    static ON: std::sync::LazyLock<Option<u32>> =
        std::sync::LazyLock::new(|| std::env::var("KC_MUTANT").ok().and_then(|id| id.parse().ok()));
    *ON == Some(id)
}
"""


def sample(count, seed):
    """A sample of the mutants that `cargo mutants` lists, the same for the same seed and tree."""
    command = ["cargo", "mutants", "--list", "--json"]
    for folder in FOLDERS:
        command += ["--file", f"{folder}/**/*.rs"]
    listed = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    listed = [mutant for mutant in listed if not mutant["file"].endswith("tests.rs") and "/tests/" not in mutant["file"]]
    # A third more than asked for: some can't be written behind a switch, some do not compile.
    chosen = random.Random(seed).sample(listed, min(len(listed), count * 4 // 3))
    return [{**mutant, "id": number} for number, mutant in enumerate(chosen, 1)], len(listed)


def write(tree, mutants):
    """Writes the mutants into a fresh copy of the sources; gives the numbers of those that could be."""
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["rm", "-rf", tree / "src", tree / "tests"], check=True)
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    chosen = tree.parent / "mutants.json"
    chosen.write_text(json.dumps(mutants))
    tool = ["cargo", "run", "-q", "--release", "--manifest-path", ROOT / "tests/mutation/Cargo.toml", "--target-dir", tree.parent / "tool"]
    written = subprocess.run([*tool, "--", chosen, tree], check=True, capture_output=True, text=True).stdout
    with open(tree / "src/lib.rs", "a") as lib:
        lib.write(SWITCH)
    return json.loads(written)


def near(lines, number):
    """The mutants on the lines around an error, nearest first."""
    for distance in range(14):
        for at in {number - distance, number + distance}:
            found = re.findall(r"crate::mutant\(\s*(\d+)", lines[at]) if 0 <= at < len(lines) else []
            if found:
                return {int(id) for id in found}
    return set()


def compiling(tree, mutants):
    """The mutants that compile, written into the tree."""
    for _ in range(12):
        written = set(write(tree, mutants))
        mutants = [mutant for mutant in mutants if mutant["id"] in written]
        check = ["cargo", "check", "--lib", "--message-format", "short"]
        said = subprocess.run(check, cwd=tree, capture_output=True, text=True)
        if said.returncode == 0:
            return mutants
        faults = re.findall(r"^(src/[^:]+):(\d+):\d+: error", said.stderr + said.stdout, re.M)
        broken = set().union(*(near((tree / file).read_text().split("\n"), int(line) - 1) for file, line in faults))
        if not broken:
            sys.exit(f"the tree does not compile, and no mutant is near the errors:\n{said.stderr[-2000:]}")
        mutants = [mutant for mutant in mutants if mutant["id"] not in broken]
    sys.exit("mutants that do not compile were left out twelve times, and there are more")


def build(tree):
    """The test programs, by name."""
    command = ["cargo", "test", "--no-run", "--lib"]
    for stage in STAGES[1:]:
        command += ["--test", stage]
    built = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if built.returncode:
        sys.exit(built.stderr[-4000:])
    programs = {}
    for source, program in re.findall(r"Executable (?:unittests )?(\S+) \((\S+)\)", built.stderr):
        path = Path(source)
        name = path.parent.name if path.name == "main.rs" else path.stem
        programs[name] = tree / program
    return programs


def fails(program, tree, id, limit):
    """The first test that fails with this mutant on; None: all pass. The limit is of processor time, so that it is the same on
    a busy machine; a mutant that waits for ever is ended after twenty times as long."""
    env = dict(os.environ, KC_MUTANT=str(id), RUST_BACKTRACE="0", CARGO_MANIFEST_DIR=str(tree))
    seconds = int(limit) + 1
    run = subprocess.Popen([program], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, text=True,
                           errors="replace", start_new_session=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
    late = threading.Event()

    def end():
        late.set()
        os.killpg(run.pid, signal.SIGKILL)

    timer = threading.Timer(20 * limit, end)
    timer.start()
    first = None
    for line in run.stdout:
        if first is None and line.rstrip().endswith(("FAILED", "failed")):
            first = line.strip()[:120]
            os.killpg(run.pid, signal.SIGKILL)
    code = run.wait()
    timer.cancel()
    if late.is_set() or -code in (signal.SIGXCPU, signal.SIGKILL) and first is None:
        return f"no end within {limit:.0f} s"
    return first or (f"exit {code}" if code else None)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--work", type=Path, required=True, help="a folder for the mutated tree, its build and the results")
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--minutes", type=float, default=60, help="when to stop; run again to go on")
    options = arguments.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    tree = options.work.resolve() / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    kept, results = tree.parent / "sample.json", tree.parent / "results.jsonl"
    wanted = [commit, options.seed, options.count]
    known = json.loads(kept.read_text()) if kept.exists() else {}
    if known.get("wanted") != wanted:
        chosen, listed = sample(options.count, options.seed)
        known = {"wanted": wanted, "listed": listed, "mutants": compiling(tree, chosen)}
        results.unlink(missing_ok=True)
        kept.write_text(json.dumps(known))
    for name in (".env-test", ".env-data"):
        if not (tree / name).exists() and (ROOT / name).exists():
            (tree / name).symlink_to(ROOT / name)
    programs = build(tree)
    limits = {}
    for stage in list(programs):
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        failed = fails(programs[stage], tree, 0, 1800)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        limits[stage] = max(60, 4 * (ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime))
        if failed:
            sys.exit(f"`{stage}` fails without any mutant: {failed}")
    done = {json.loads(line)["id"] for line in results.read_text().splitlines()} if results.exists() else set()
    with open(results, "a") as out:
        for mutant in known["mutants"][:options.count]:
            if mutant["id"] in done:
                continue
            if time.monotonic() > deadline:
                break
            first = next((stage for folder, stage in NEAREST.items() if mutant["file"].startswith(folder)), "lib")
            caught = None
            for stage in [first] + [stage for stage in STAGES if stage != first]:
                failed = fails(programs[stage], tree, mutant["id"], limits[stage])
                if failed:
                    caught = f"{stage}: {failed}"
                    break
            out.write(json.dumps({"id": mutant["id"], "name": mutant["name"], "caught": caught}) + "\n")
            out.flush()
    ran = [json.loads(line) for line in results.read_text().splitlines()]
    survivors = [mutant["name"] for mutant in ran if not mutant["caught"]]
    print(f"{commit}, seed {options.seed}: {known['listed']} mutants, {len(ran)} of a sample ran, {len(ran) - len(survivors)} caught")
    for name in survivors:
        print(f"  survived: {name}")


if __name__ == "__main__":
    main()
