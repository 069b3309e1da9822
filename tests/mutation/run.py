#!/usr/bin/env python3
"""Do the tests notice when the code is changed? Mutation testing of a sample, with one build for all mutants.

    tests/mutation/run.py --work FOLDER [--count 300] [--seed 1] [--minutes 60]

`cargo mutants` (install it first: cargo install cargo-mutants) lists the mutants of the folders below; a sample of them is
written into one copy of the tree, each behind a switch (`src/main.rs` beside this file), and what does not compile is left
out. The tests run once without a mutant and record which of them come to which mutant; then each mutant runs in the tests
that come to it, the quickest first, until one fails. One that no test comes to has survived. Results are appended to
FOLDER/results.jsonl, so that a run that was ended goes on where it was; the summary is printed at the end and belongs in
tests/ledger.md.
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
# The test programs; the one nearest to a mutant comes first.
NEAREST = {"src/check": "lang", "src/codegen": "cuda_text"}
PROGRAMS = ["lib", "cuda_text", "lang", "golden", "gradients", "codes", "barriers", "limits", "banks", "exchanges", "part_blocks", "ptx_table"]
# Those with a list of trials instead of functions.
TABLES = {"cuda_text", "lang", "golden"}
# The first and the quick tests of a program are those of so many seconds together. (A mutant that loops costs the limit of the
# tests that it is first seen in.)
FIRST, QUICK = 0.4, 3
ROUNDS = 4
MEMORY = 4 << 30
# A test may take this much processor time for every second that it took without a mutant, and the seconds besides.
SLOWER, BESIDES = 6, 4
SWITCH = """
/// Whether a mutant is on.
#[doc(hidden)]
pub fn mutant(id: u32) -> bool {
    static ON: std::sync::LazyLock<Option<u32>> =
        std::sync::LazyLock::new(|| std::env::var("KC_MUTANT").ok().and_then(|id| id.parse().ok()));
    match *ON {
        Some(on) => on == id,
        None => {
            mutants::reached(id);
            false
        }
    }
}

/// Writes down which test comes to which mutant, while none is on.
#[doc(hidden)]
pub mod mutants {
    use std::fs::File;
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static SEEN: [AtomicBool; 2048] = [const { AtomicBool::new(false) }; 2048];
    static RECORD: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = std::env::var_os("KC_REACHED")?;
        Some(File::options().append(true).open(path).expect("the record is there"))
    });

    pub fn reached(id: u32) {
        if let Some(mut file) = RECORD.as_ref()
            && !SEEN[id as usize].swap(true, Ordering::Relaxed)
        {
            file.write_all(format!("{id}\n").as_bytes()).expect("the record takes it");
        }
    }

    /// A test begins: its name, and the ticks of processor time so far.
    pub fn begin(test: &str) {
        if let Some(mut file) = RECORD.as_ref() {
            SEEN.iter().for_each(|seen| seen.store(false, Ordering::Relaxed));
            let mut used = libc::tms { tms_utime: 0, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 };
            // SAFETY: `used` is a `tms`.
            unsafe { libc::times(&mut used) };
            let ticks = used.tms_utime + used.tms_stime + used.tms_cutime + used.tms_cstime;
            file.write_all(format!("test {ticks} {test}\n").as_bytes()).expect("the record takes it");
        }
    }
}
"""
# In test programs with a list of trials.
TRIALS = """
/// A test that says when it begins.
fn traced<F>(name: impl Into<String>, run: F) -> libtest_mimic::Trial
where
    F: FnOnce() -> Result<(), libtest_mimic::Failed> + Send + 'static,
{
    let name = name.into();
    let begun = name.clone();
    libtest_mimic::Trial::test(name, move || {
        kc::mutants::begin(&begun);
        run()
    })
}

/// Runs those tests that a file names.
fn chosen(arguments: &libtest_mimic::Arguments, trials: Vec<libtest_mimic::Trial>) -> libtest_mimic::Conclusion {
    let mut trials = trials;
    if let Some(path) = std::env::var_os("KC_TRIALS") {
        let names = std::fs::read_to_string(path).expect("a readable list");
        let names: Vec<&str> = names.lines().collect();
        trials.retain(|trial| names.contains(&trial.name()));
    }
    libtest_mimic::run(arguments, trials)
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
    trace(tree)
    return json.loads(written)


def trace(tree):
    """Lets each test say that it begins."""
    for path in [*(tree / "src").rglob("*.rs"), *(tree / "tests").rglob("*.rs")]:
        if "tests/mutation" in str(path):
            continue
        text = path.read_text()
        crate = "crate" if path.is_relative_to(tree / "src") else "kc"
        new = re.sub(r"(#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn\s+(\$?\w+)\(\)[^{;]*\{)",
                     rf'\1 {crate}::mutants::begin(concat!(module_path!(), "::", stringify!(\2)));', text)
        new = new.replace("Trial::test(", "crate::traced(")
        if "libtest_mimic::run(" in new:
            new = new.replace("libtest_mimic::run(", "chosen(") + TRIALS
        if new != text:
            path.write_text(new)


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
        # No `cargo check`: the tests need the library and what it builds on in any case.
        check = ["cargo", "build", "--lib", "--message-format", "short"]
        said = subprocess.run(check, cwd=tree, capture_output=True, text=True)
        if said.returncode == 0:
            return mutants
        faults = re.findall(r"^(src/[^:]+):(\d+):\d+: error", said.stderr + said.stdout, re.M)
        broken = set().union(*(near((tree / file).read_text().split("\n"), int(line) - 1) for file, line in faults))
        if not broken:
            sys.exit(f"the tree does not compile, and no mutant is near the errors:\n{said.stderr[-2000:]}")
        # Those of operators are first written in their plain form.
        again = {mutant["id"] for mutant in mutants if mutant["genre"] == "BinaryOperator" and not mutant.get("plain")}
        mutants = [{**mutant, "plain": mutant["id"] in broken or mutant.get("plain", False)} for mutant in mutants
                   if mutant["id"] not in broken - again]
    sys.exit("mutants that do not compile were left out twelve times, and there are more")


def build(tree):
    """The test programs, by name."""
    command = ["cargo", "test", "--no-run", "--lib"]
    for program in PROGRAMS[1:]:
        command += ["--test", program]
    built = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if built.returncode:
        sys.exit(built.stderr[-4000:])
    programs = {}
    for source, program in re.findall(r"Executable (?:unittests )?(\S+) \((\S+)\)", built.stderr):
        path = Path(source)
        name = path.parent.name if path.name == "main.rs" else path.stem
        programs[name] = tree / program
    return programs


def names_of(program, tests, folder):
    """How to ask a program for some of its tests: arguments and variables."""
    if program in TABLES:
        chosen = folder / "trials"
        chosen.write_text("\n".join(tests))
        return [], {"KC_TRIALS": str(chosen)}
    return ["--exact", *tests], {}


def record(programs, tree):
    """Runs all tests: the processor time of each in seconds, and the mutants that it comes to."""
    reached = tree.parent / "reached"
    found = {}
    for name, program in programs.items():
        reached.write_text("")
        env = dict(os.environ, KC_REACHED=str(reached), RUST_BACKTRACE="0", CARGO_MANIFEST_DIR=str(tree))
        begun = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run([program, "--test-threads=1"], cwd=tree, capture_output=True, text=True, errors="replace", env=env)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.returncode:
            sys.exit(f"`{name}` fails without any mutant:\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
        tests, last, since = {}, None, 0
        for line in reached.read_text().splitlines():
            if line.startswith("test "):
                _, ticks, test = line.split(" ", 2)
                test = test if name in TABLES else test.split("::", 1)[1]
                if last:
                    tests[last]["seconds"] = (int(ticks) - since) / os.sysconf("SC_CLK_TCK")
                last, since = test, int(ticks)
                tests[test] = {"mutants": set()}
            elif last:
                tests[last]["mutants"].add(int(line))
        tests[last]["seconds"] = ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime - since / os.sysconf("SC_CLK_TCK")
        found[name] = {test: {**facts, "mutants": sorted(facts["mutants"])} for test, facts in tests.items()}
        print(f"{name}: {len(tests)} tests, {sum(facts['seconds'] for facts in tests.values()):.0f} s", flush=True)
    return found


def rounds(known, mutant):
    """The tests that come to a mutant, in rounds with the program and the processor time of each part: the first and the quick
    ones of the program nearest to it, the quick ones of the others, and what is left."""
    nearest = next((program for folder, program in NEAREST.items() if mutant["file"].startswith(folder)), "lib")
    found = {}
    for program in known:
        tests = sorted((facts["seconds"], test) for test, facts in known[program].items() if mutant["id"] in facts["mutants"])
        total = 0
        for seconds, test in tests:
            total += seconds
            round = 3 if total > QUICK else 2 if program != nearest else 1 if total > FIRST else 0
            found.setdefault((round, program), []).append((seconds, test))
    parts = [[] for _ in range(ROUNDS)]
    for (round, program), tests in found.items():
        parts[round].append((program, [test for _, test in tests], sum(seconds for seconds, _ in tests)))
    return [sorted(round, key=lambda part: part[2]) for round in parts]


def used(pid):
    """The processor time of a process so far, in ticks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:15]))
    except OSError:
        return 0


def fails(program, arguments, variables, tree, id, limit):
    """The first test that fails with this mutant on; None: all pass. The limit is of processor time, so that it is the same on
    a busy machine; what uses none for five minutes waits for ever."""
    env = dict(os.environ, **variables, KC_MUTANT=str(id), RUST_BACKTRACE="0", CARGO_MANIFEST_DIR=str(tree))
    seconds = int(limit) + 1

    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    run = subprocess.Popen([program, *arguments], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, text=True,
                           errors="replace", start_new_session=True, preexec_fn=bound)
    ended, late = threading.Event(), threading.Event()

    def watch():
        before = -1
        while not ended.wait(300):
            now = used(run.pid)
            if now == before:
                late.set()
                os.killpg(run.pid, signal.SIGKILL)
                return
            before = now

    threading.Thread(target=watch, daemon=True).start()
    first = None
    for line in run.stdout:
        if first is None and line.rstrip().endswith(("FAILED", "failed")):
            first = line.strip()[:120]
            os.killpg(run.pid, signal.SIGKILL)
    code = run.wait()
    ended.set()
    if late.is_set() or -code in (signal.SIGXCPU, signal.SIGKILL) and first is None:
        return "waits for ever" if late.is_set() else f"more than {limit:.0f} s"
    if code > 0 and code != 101:
        sys.exit(f"{program} ended with {code}, which is no failed test")
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
        (tree.parent / "chosen.json").write_text(json.dumps(chosen))
        known = {"wanted": wanted, "listed": listed, "mutants": compiling(tree, chosen)}
        results.unlink(missing_ok=True)
        kept.write_text(json.dumps(known))
    for name in (".env-test", ".env-data"):
        if not (tree / name).exists() and (ROOT / name).exists():
            (tree / name).symlink_to(ROOT / name)
    programs = build(tree)
    if "tests" not in known:
        known["tests"] = record(programs, tree)
        kept.write_text(json.dumps(known))
    chosen = known["mutants"][:options.count]
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(line["id"], line["round"]) for line in lines}
    caught = {line["id"] for line in lines if line["caught"]}
    # Round by round, so that a run that ends early knows of all mutants what the quick tests say.
    with open(results, "a") as out:
        for round in range(ROUNDS):
            for mutant in chosen:
                id = mutant["id"]
                if id in caught or (id, round) in done:
                    continue
                failed = None
                for program, tests, seconds in rounds(known["tests"], mutant)[round]:
                    if time.monotonic() > deadline:
                        break
                    asked = names_of(program, tests, tree.parent)
                    failed = fails(programs[program], *asked, tree, id, BESIDES + SLOWER * seconds)
                    if failed:
                        caught.add(id)
                        break
                if time.monotonic() > deadline:
                    break
                failed = failed and f"{program}: {failed}"
                out.write(json.dumps({"id": id, "round": round, "name": mutant["name"], "caught": failed}) + "\n")
                out.flush()
                done.add((id, round))
    whole = [mutant for mutant in chosen if mutant["id"] in caught or (mutant["id"], ROUNDS - 1) in done]
    print(f"{commit}, seed {options.seed}: {known['listed']} mutants, {len(whole)} of a sample of {len(chosen)} ran, {len(caught)} caught")
    for mutant in chosen:
        if mutant["id"] not in caught:
            reached = any(rounds(known["tests"], mutant))
            how = "no test comes to it" if not reached else "survived" if mutant in whole else "survived the quick tests"
            print(f"  {how}: {mutant['name']}")


if __name__ == "__main__":
    main()
