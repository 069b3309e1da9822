"""Warp's own test files on the CPU, with kc's code and without. Run it with a Python that has Warp and kc:

    python python/tests/warp_suite.py [FILE ..]          the files of the ledger, or these (`test_math`, `matrix/test_mat`)
    python python/tests/warp_suite.py --failures         the files that have other failures with kc
    python python/tests/warp_suite.py --show FILE        what failed only with kc, and the reasons of what stayed with Warp

What it finds goes into `warp_suite.json` beside it: of each file the tests that pass, who ran the launches, and why not kc.
Files that are about engines (meshes, volumes, hash grids), tiles and warp.fem are left out.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LEDGER = os.path.join(HERE, "warp_suite.json")
#: What a test file has if it is about what kc leaves to Warp.
OTHERS = re.compile(r"Mesh\(|HashGrid\(|Volume\.|Volume\(|Bvh\(|tile_|launch_tiled|(?:warp|wp)\.fem")
#: They need another library, a GPU, a display, a compiler, or all of Warp's examples.
LEFT_OUT = {"test_examples", "test_render_opengl", "interop/test_jax", "interop/test_paddle", "interop/test_torch"}
#: Reasons of kernels that are not of the kernel language's core: engines, tiles, C++ text.
BEYOND = re.compile(r"tiles|native snippet|deterministic|_query|[Mm]esh|[Bb]vh|[Vv]olume|hash_grid|HashGrid|fabricarray")
#: Tests that pass with plain Warp alone, and why that is right.
EXPLAINED = {
    "test_binary_ops_float16_cpu": "expects no derivative of `a % b` by `b`; it is -trunc(a / b)",
    "test_binary_ops_float32_cpu": "expects no derivative of `a % b` by `b`; it is -trunc(a / b)",
    "test_binary_ops_float64_cpu": "expects no derivative of `a % b` by `b`; it is -trunc(a / b)",
    "test_mat_slicing_assign_backward_cpu": "expects a derivative by a component that a later statement overwrites",
    "test_scalar_division_float16_cpu": "rounding: one unit of float16 apart, by another order of operations",
    "test_cpu_llvm_concurrent_options": "options of Warp's own compiler (fast math) change nothing in kc's code",
    "test_cpu_llvm_option_forms_and_reset": "options of Warp's own compiler (fast math) change nothing in kc's code",
    "test_cpu_llvm_invalid_option_recovers": "Warp's own compiler, whose error it waits for, does not run for what kc takes",
    "test_vec4_component_slp_optimization_record": "Warp's own compiler, whose notes it looks for, does not run for what kc takes",
    **dict.fromkeys(
        # Of test_cpu_precompiled_headers.
        ["TestCpuPrecompiledHeaders." + name for name in (
            "test_basic", "test_compiler_flags_cache_key", "test_debug_optimization_level_cache_key", "test_fallback"
        )],
        "Warp's own compiler, whose files it looks for, does not run for what kc takes",
    ),
    **dict.fromkeys(
        [f"test_quat_to_axis_angle_grad_float{bits}_cpu" for bits in (16, 32, 64)],
        "at half a turn exactly kc has the derivative of the side that the value is of, w >= 0, and Warp has 0",
    ),
    "test_eig_float32_cpu": "rounding: a central difference of a float32 eigenvalue, 0.0203 where 0.02 is allowed",
    "test_mat44_cpu": "rounding: the inverse of one nearly singular matrix of 1024; errors over many are as Warp's",
}


def files():
    """The test files that count, by name."""
    import warp.tests

    folder = os.path.dirname(warp.tests.__file__)
    found = []
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - {"cuda", "fem", "tile", "deterministic", "assets", "__pycache__"})
        for name in sorted(names):
            path = os.path.join(at, name)
            key = os.path.relpath(path, folder).removesuffix(".py").replace(os.sep, "/")
            if name.startswith("test_") and name.endswith(".py") and key not in LEFT_OUT:
                with open(path) as file:
                    if not OTHERS.search(file.read()):
                        found.append(key)
    return sorted(found)


# In the process of one file.


def child(name, with_kc, out):
    import unittest

    import warp

    warp.config.log_level = warp.LOG_WARNING
    kernels = {}
    if with_kc:
        import kc
        from warp._src import context

        assert kc.accelerate()
        invoke = context.invoke

        def counting(kernel, hooks, params, adjoint):
            taken = getattr(hooks, "_kc", None)
            if taken is not None and taken.place is None:
                why = (taken.why, f"{kernel.module.name}.{kernel.key}")
                kernels[why] = kernels.get(why, 0) + (not adjoint)
            return invoke(kernel, hooks, params, adjoint)

        context.invoke = counting

    outcomes = {}

    class Result(unittest.TestResult):
        def addSuccess(self, test):
            outcomes.setdefault(test.id(), "ok")

        def addSkip(self, test, reason):
            outcomes[test.id()] = "skipped"

        def addExpectedFailure(self, test, error):
            outcomes[test.id()] = "ok"

        def addFailure(self, test, error):
            outcomes[test.id()] = "failed: " + self._exc_info_to_string(error, test)[-1500:]

        addError = addFailure

        def addSubTest(self, test, subtest, error):
            if error is not None:
                self.addFailure(test, error)

    def write():
        facts = {"tests": outcomes, "refused": [[*why, count] for why, count in kernels.items()]}
        if with_kc:
            facts["report"] = kc.report()["kernels"]
        with open(out, "w") as file:
            json.dump(facts, file)

    suite = unittest.defaultTestLoader.loadTestsFromName("warp.tests." + name.replace("/", "."))
    suite.run(Result())
    write()
    # Threads of Warp's tests need not end.
    sys.stdout.flush()
    os._exit(0)


# In the process that was asked.


def run(name, with_kc, limit, cache):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        environment = dict(os.environ, WARP_CACHE_PATH=os.path.join(cache, name.replace("/", ".")))
        command = [sys.executable, os.path.abspath(__file__), "--child", name, out] + ["--with-kc"] * with_kc
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=limit, env=environment)
        except subprocess.TimeoutExpired:
            return {"ended": f"after {limit} s"}
        if not os.path.exists(out):
            return {"ended": f"status {done.returncode}: {(done.stderr or done.stdout)[-1500:]}"}
        with open(out) as file:
            return json.load(file)


def entry(plain, with_kc):
    """What the ledger says of a file."""
    if "ended" in plain:
        return {"plain": plain["ended"]}
    passed = {test for test, outcome in plain["tests"].items() if outcome == "ok"}
    facts = {"plain": len(passed)}
    if "ended" in with_kc:
        return {**facts, "kc": with_kc["ended"]}
    only = {t: o for t, o in with_kc["tests"].items() if t in passed and o != "ok"}
    missing = passed - with_kc["tests"].keys()
    report = with_kc["report"]
    taken = [kernel for kernel in report if kernel["by"] == "kc"]
    facts["kc"] = sum(with_kc["tests"].get(test) == "ok" for test in passed)
    facts["kernels"] = [len(taken), len(report)]
    by_kc, by_warp = (sum(kernel[key] for kernel in taken) for key in ("launches", "launches_by_warp"))
    reasons = collections.Counter()
    for why, _, count in with_kc["refused"]:
        reasons[re.sub(r"\s+", " ", why)[:140]] += count
    beyond = sum(count for why, count in reasons.items() if BEYOND.search(why))
    facts["launches"] = {"kc": by_kc, "warp": by_warp + sum(reasons.values()) - beyond, "beyond": beyond}
    gradients = [sum(kernel[key] for kernel in taken) for key in ("gradients", "gradients_by_warp")]
    facts["gradients"] = {"kc": gradients[0], "warp": gradients[1]}
    if reasons:
        facts["reasons"] = dict(reasons.most_common())
    if only or missing:
        facts["only_with_kc"] = {t.rsplit(".", 1)[-1]: o.strip().splitlines()[-1][:200] for t, o in sorted(only.items())}
        facts["only_with_kc"].update({t.rsplit(".", 1)[-1]: "did not run" for t in sorted(missing)})
        for test in [*only, *missing]:
            *_, kind, name = test.split(".")
            why = EXPLAINED.get(name) or EXPLAINED.get(f"{kind}.{name}")
            if why is not None:
                facts["only_with_kc"][name] = f"explained: {why}"
    return facts


def total(ledger):
    known = [facts for facts in ledger.values() if isinstance(facts.get("plain"), int)]
    counted = [facts for facts in known if "launches" in facts]
    launches = {who: sum(facts["launches"][who] for facts in counted) for who in ("kc", "warp", "beyond")}
    return {
        "files": len(ledger),
        "passed_plain": sum(facts["plain"] for facts in known),
        "passed_with_kc": sum(facts["kc"] for facts in known if isinstance(facts.get("kc"), int)),
        "explained": sum(why.startswith("explained") for facts in known for why in facts.get("only_with_kc", {}).values()),
        "kernels": [sum(facts["kernels"][k] for facts in counted) for k in (0, 1)],
        "launches": launches,
        "share_of_core_launches": round(launches["kc"] / max(1, launches["kc"] + launches["warp"]), 4),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "kc-warp-suite"), help="Warp's compiled modules, and plain results")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--with-kc", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.child[0], given.with_kc, given.child[1])

    os.makedirs(given.cache, exist_ok=True)
    ledger = {}
    if os.path.exists(LEDGER):
        with open(LEDGER) as file:
            ledger = json.load(file)["files"]
    names = given.names or files()
    if given.failures:
        names = [name for name, facts in ledger.items() if facts.get("plain") != facts.get("kc")]

    def one(name):
        # Plain Warp is the same each time.
        known = os.path.join(given.cache, name.replace("/", ".") + ".plain.json")
        if os.path.exists(known):
            with open(known) as file:
                plain = json.load(file)
        else:
            plain = run(name, False, given.limit, given.cache)
            with open(known, "w") as file:
                json.dump(plain, file)
        with_kc = {"ended": "not run"} if "ended" in plain else run(name, True, given.limit, given.cache)
        return name, plain, with_kc

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, name) for name in names]):
            name, plain, with_kc = done.result()
            ledger[name] = facts = entry(plain, with_kc)
            print(name, json.dumps({k: v for k, v in facts.items() if k not in ("reasons", "only_with_kc")}), flush=True)
            if given.show and "tests" in with_kc:
                for test, outcome in with_kc["tests"].items():
                    if outcome not in ("ok", "skipped") and plain["tests"].get(test) == "ok":
                        print(f"--- {test}\n{outcome}")
                for why, kernel, count in with_kc["refused"]:
                    print(f"    {count} launches of {kernel}: {why}")
            with open(LEDGER + ".new", "w") as file:
                json.dump({"total": total(ledger), "files": dict(sorted(ledger.items()))}, file, indent=1)
                file.write("\n")
            os.replace(LEDGER + ".new", LEDGER)
    print(json.dumps(total(ledger)))


if __name__ == "__main__":
    main()
