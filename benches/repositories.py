"""What does `kc check` say of whole packages? A table of their kernels, and of the warnings.

    python3 benches/repositories.py FOLDER... [--kc target/release/kc] [--json]

A folder is a package, or holds packages. Kernels are counted as they are written: a generic one, or
one that a function of Python makes, once. `ok` is compiled for one kind of arguments at least.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import time

# Codes of kernels that are not compiled and have no error.
UNRESOLVED = ("W0504", "W0505", "W0506")


def check(kc, folder, options=()):
    """The objects that `kc check` prints of a folder, and the seconds it took."""
    command = [kc, "check", "--kernels", "--format", "json", *options, str(folder)]
    begin = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit {run.returncode}\n{run.stderr}")
    objects = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return objects, time.monotonic() - begin


def causes(kernel, findings):
    """The codes of what keeps a kernel from being compiled: in its lines, else in what it calls."""
    first, last = kernel["lines"]
    wanted = UNRESOLVED if kernel["end"] == "unresolved" else None
    inside = {
        finding["code"]
        for finding in findings
        if finding["file"] == kernel["file"]
        and first <= finding["line"] <= last
        and (finding["code"] in wanted if wanted else finding["code"].startswith("E"))
    }
    return inside or {"in what it calls"}


def place(finding):
    """A finding as its code, file and line."""
    spans = finding.get("labels") or finding.get("spans") or [{}]
    start = spans[0].get("start", spans[0])
    path = finding.get("file") or spans[0].get("file")
    return {"code": finding["code"], "file": path, "line": finding.get("line") or start.get("line") or 0}


def report(kc, folder, options):
    """What is known of one package."""
    objects, seconds = check(kc, folder, options)
    kernels = [one for one in objects if "end" in one and "lines" in one]
    findings = [place(one) for one in objects if one.get("code")]
    ends = collections.Counter(kernel["end"] for kernel in kernels)
    codes = collections.Counter()
    for kernel in kernels:
        if kernel["end"] != "ok":
            codes.update(causes(kernel, findings))
    warnings = collections.Counter(finding["code"] for finding in findings if re.match("[WI]", finding["code"]))
    for code in UNRESOLVED:
        warnings.pop(code, None)
    return {
        "package": pathlib.Path(folder).name,
        "kernels": len(kernels),
        "ok": ends["ok"],
        "errors": ends["errors"],
        **{code: codes[code] for code in UNRESOLVED},
        "causes": dict(codes.most_common()),
        "warnings": dict(warnings.most_common()),
        "seconds": round(seconds, 1),
    }


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--json", action="store_true", help="print all that is known, for programs")
    parser.add_argument("--option", action="append", default=[], help="an option of `kc check`, such as --warn=gradients")
    args = parser.parse_args()
    reports = [report(args.kc, folder, args.option) for folder in args.folders]
    if args.json:
        print(json.dumps(reports, indent=1))
        return
    columns = ["package", "kernels", "ok", "errors", *UNRESOLVED, "seconds"]
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for one in reports:
        print("| " + " | ".join(str(one[column]) for column in columns) + " |")
    for name in ("causes", "warnings"):
        print(f"\n| package | {name} |\n|---|---|")
        for one in reports:
            print(f"| {one['package']} | " + ", ".join(f"{code} {count}" for code, count in one[name].items()) + " |")


if __name__ == "__main__":
    main()
