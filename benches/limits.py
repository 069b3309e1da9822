"""Does kc stay quick and small, whatever it is given?

    limits.py [--kc target/release/kc] [growth] [goals] [hostile] [--emit check,ptx,cuda,obj] [--only NAME]

Without a name of a part it does all three and prints a table for each:

- growth: processor time for files of n and 2n parts of one kind (statements, loops, early returns, terms, calls, ...), the
  time of an empty kernel taken off. More than 2.5 times as long for twice as much is marked.
- goals: processor time of large bodies, beside the project's goals for them.
- hostile: files of up to 1 MiB that nobody writes. `kc check` and `kc lsp` must answer within 2 s of processor time and
  512 MiB, with an answer or coded findings; a panic, a signal or E0999 is marked too.

The exit status is 1 if anything is marked. The goals are the project's own for the static release.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

IMPORT = "import warp as wp\n"
KERNEL = "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):\n    i = wp.tid()\n    s = x[i]\n"
STORE = "    y[i] = s\n"


def many(count, line):
    """`line` with `{q}` counted from 0, `count` times."""
    return "".join(line.replace("{q}", str(q)).replace("{r}", str(q + 1)) for q in range(count))


def body(line):
    return lambda n: IMPORT + KERNEL + many(n, line) + STORE


def matrix(n):
    """Two arguments, because a product of one with itself would be half the loads."""
    return (IMPORT + f"M = wp.types.matrix(shape=({n}, {n}), dtype=float)\n@wp.kernel\n"
            "def k(a: wp.array(dtype=M), b: wp.array(dtype=M)):\n    i = wp.tid()\n    b[i] = a[i] * a[i]\n")


def chain(n):
    first = "@wp.func\ndef f0(a: float):\n    return a * 1.5\n"
    return IMPORT + first + many(n, "@wp.func\ndef f{r}(a: float):\n    return wp.sin(f{q}(a)) * {q}.0 + a\n") + KERNEL + f"    y[i] = f{n}(s)\n"


def structs(n):
    kinds = many(n, "@wp.struct\nclass S{q}:\n    a: float\n    b: wp.vec3\n")
    return IMPORT + kinds + KERNEL + many(n, "    t{q} = S{q}()\n    t{q}.a = s\n    s += t{q}.a * x[i + {q}]\n") + STORE


def fields(n):
    head = "@wp.kernel\ndef k(x: wp.array(dtype=S), y: wp.array(dtype=float)):\n    i = wp.tid()\n    s = float(0.0)\n"
    return IMPORT + "@wp.struct\nclass S:\n" + many(n, "    a{q}: float\n") + head + many(n, "    s += x[i].a{q} * {q}.5\n") + STORE


def carried(n):
    """A loop that carries `n` values, each made of its neighbour."""
    lines = "".join(f"        v{q} = v{q} * v{(q + 1) % n} + 1.0\n" for q in range(n))
    return IMPORT + KERNEL + many(n, "    v{q} = x[i + {q}]\n") + "    for j in range(n):\n" + lines + many(n, "    s += v{q}\n") + STORE


def constants(n):
    return IMPORT + "A = [" + many(n, "{q}.5, ") + "]\n" + KERNEL + "    s += wp.static(A[7])\n" + STORE


# Name: the smaller n, the text for n.
GROWTH = {
    "unknown names": (2000, body("    y[i] = yy{q} + 1.0\n")),
    "statements": (250, body("    s = s * x[i + {q}] + {q}.0\n")),
    "stores": (250, body("    y[i + {q}] = x[i + {q}] * s\n")),
    "terms of a sum": (1000, lambda n: IMPORT + KERNEL + "    y[i] = " + many(n, "x[i + {q}] + ") + "s\n"),
    "operators inside one another": (150, lambda n: IMPORT + KERNEL + "    y[i] = " + "(" * n + "s" + many(n, " * x[i + {q}] + s)") + "\n" if n <= 250 else ""),
    "calls of sin": (100, body("    s = s * x[i] + wp.sin(s)\n")),
    "chain of functions": (100, chain),
    "ifs": (150, body("    if s > {q}.5:\n        s = s * x[i + {q}]\n")),
    "elifs": (120, lambda n: body("    elif n == {r}:\n        s = s * x[i + {q}]\n")(n).replace("    elif n == 1:", "    if n == 1:")),
    "early returns": (100, body("    if x[i + {q}] > {q}.5:\n        y[i] = s * {q}.0\n        return\n")),
    "loops": (60, body("    for j{q} in range(n):\n        s += x[j{q}] * {q}.0\n")),
    "whiles": (40, body("    while s < {q}.5:\n        s = s * 1.5 + 1.0\n")),
    "breaks of a loop": (40, lambda n: IMPORT + KERNEL + "    for j in range(n):\n" + many(n, "        if s > {q}.0:\n            break\n        s = s * x[j + {q}]\n") + STORE),
    "values that a loop carries": (40, carried),
    "atomics": (250, body("    wp.atomic_add(y, i + {q}, x[i + {q}] * s)\n")),
    "structs": (120, structs),
    "fields of a struct": (200, fields),
    "elements of a constant": (4000, constants),
    "kernels": (100, lambda n: IMPORT + many(n, KERNEL.replace("def k(", "def k{q}(") + "    y[i] = s * {q}.0\n")),
    "comments": (10000, body('    # a comment of line {q} "with quotes"\n')),
    "matrix products": (8, matrix),  # n^3 operations: 8 and 11 instead of 8 and 16
}

# Name, text, goal in seconds of processor time for an object.
GOALS = [
    ("12 x 12 matrix product, gradient", matrix(12), 1.0),
    ("400 loops", body("    for j{q} in range(n):\n        s += x[j{q}] * {q}.0\n")(400), 3.0),
    ("500 statements", body("    s = s * x[i + {q}] + {q}.0\n")(500), 1.0),
    ("500 sines", body("    s = s * x[i] + wp.sin(s)\n")(500), 1.0),
    ("5,000 terms", IMPORT + KERNEL + "    y[i] = " + many(5000, "x[i + {q}] + ") + "s\n", 2.0),
]

SHORT = "@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n"
FUNCTION = "@wp.func\ndef f(a: float):\n    return "


def inside(text):
    return IMPORT + SHORT + text


def constant(value, use="    x[i] = float(A)\n"):
    return IMPORT + "A = " + value + "\n" + SHORT + use


HOSTILE = {
    "zero bytes": IMPORT + "\0\0\0" + "x=1\0" * 250000,
    "UTF-16": (IMPORT * 25000).encode("utf-16"),
    "lone surrogates": b"\xed\xa0\x80" * 300000,
    "right-to-left marks": "\u202e\u2066x = 1\n" * 80000,
    "joiners in names": inside("    a\u200d = x[i]\n" * 60000),
    "one line of a megabyte": constant('"' + "x" * 1000000 + '"', ""),
    "a number of 900,000 digits": constant("9" * 900000),
    "a hexadecimal number": inside("    x[i] = float(0x" + "f" * 900000 + ")\n"),
    "an exponent of 900,000 digits": inside("    x[i] = 1e" + "9" * 900000 + "\n"),
    "brackets": constant("[" * 500000 + "]" * 500000),
    "brackets never closed": constant("(" * 1000000),
    "decorators": IMPORT + "@wp.func\n" * 100000 + "def f():\n    pass\n",
    "decorators inside one another": IMPORT + "@a(" * 250000 + ")" * 250000 + "\ndef f():\n    pass\n",
    "f-strings": constant('f"' + "{f'" * 300000 + '"', ""),
    "lambdas": constant("lambda x: " * 100000 + "1"),
    "not": inside("    x[i] = " + "not " * 250000 + "1\n"),
    "minus": inside("    x[i] = " + "-" * 1000000 + "1.0\n"),
    "comparisons": inside("    x[i] = float(" + " < ".join(["n"] * 250000) + ")\n"),
    "attributes": inside("    x[i] = x" + ".a" * 500000 + "\n"),
    "subscripts": inside("    x[i] = x" + "[0]" * 330000 + "\n"),
    "calls": inside("    x[i] = " + "wp.sin(" * 125000 + "1.0" + ")" * 125000 + "\n"),
    "conditionals": inside("    x[i] = " + "1.0 if n > 0 else " * 55000 + "2.0\n"),
    "powers": constant(" ** ".join(["9"] * 200000)),
    "shifts": constant("1 << " * 200000 + "1"),
    "squares": IMPORT + "A0 = 7\n" + many(40, "A{r} = A{q} * A{q}\n") + SHORT + "    x[i] = float(A40 % 5)\n",
    "lists that double": IMPORT + "A0 = [1]\n" + many(60, "A{r} = A{q} + A{q}\n") + SHORT + "    x[i] = float(wp.static(len(A60)))\n",
    "a long string": constant('"ab" * 10**9', "    x[i] = float(wp.static(len(A)))\n"),
    "a long list": constant("[0] * 10**9", "    x[i] = float(wp.static(len(A)))\n"),
    "tuples of tuples": constant("((1,) * 9999,) * 9999", "    x[i] = float(wp.static(len(A)))\n"),
    "a long comprehension": constant("[a for a in range(10**12)]", "    x[i] = float(wp.static(A[3]))\n"),
    "a nest of comprehensions": constant("[[a*b for a in range(99999)] for b in range(99999)]", "    x[i] = float(wp.static(A[3][2]))\n"),
    "a sum of a long generator": constant("sum(a for a in range(10**12))"),
    "a dict of 60,000": constant("{" + ", ".join(f"'k{q}': {q}" for q in range(60000)) + "}", "    x[i] = float(wp.static(A['k77']))\n"),
    "a static range": inside("    for a in range(10**15):\n        x[i] = wp.static(a)\n"),
    "a nest of static ranges": inside("".join("    " * (q + 1) + f"for a{q} in range(40):\n" for q in range(9)) + "    " * 10 + "x[i] = wp.static(a8)\n"),
    "a struct of itself": IMPORT + '@wp.struct\nclass A:\n    b: "A"\n' + SHORT + "    pass\n",
    "structs that double": IMPORT + "@wp.struct\nclass S0:\n    a: float\n" + many(60, "@wp.struct\nclass S{r}:\n    a: S{q}\n    b: S{q}\n") + SHORT + "    s = S60()\n    x[i] = 1.0\n",
    "a function of itself": IMPORT + FUNCTION + "f(a)\n" + SHORT + "    x[i] = f(1.0)\n",
    "two functions of each other": IMPORT + FUNCTION + "g(a)\n" + FUNCTION.replace(" f(", " g(") + "f(a)\n" + SHORT + "    x[i] = wp.grad(f)(1.0)\n",
    "functions that call twice": IMPORT + FUNCTION.replace(" f(", " f0(") + "a\n" + many(60, FUNCTION.replace(" f(", " f{r}(") + "f{q}(a) * f{q}(a + 1.0)\n") + SHORT + "    x[i] = f60(1.0)\n",
    "a generic that grows": IMPORT + "from typing import Any\n@wp.func\ndef f(a: Any):\n    return f(wp.vector(a, a))\n" + SHORT + "    x[i] = f(1.0)\n",
    "gradients of gradients": inside("    x[i] = " + "wp.grad(" * 500 + "wp.sin" + ")" * 500 + "(1.0)\n"),
    "a chain of constants": IMPORT + many(40000, "A{q} = A{r} + A{r}\n") + SHORT + "    x[i] = float(A0)\n",
    "a constant of itself": IMPORT + "A = A + 1\n" + SHORT + "    x[i] = float(A)\n",
    "parameters": IMPORT + "@wp.kernel\ndef k(" + many(70000, "a{q}: int, ") + "):\n    pass\n",
    "arguments": inside("    x[i] = wp.sin(" + "1.0, " * 200000 + ")\n"),
    "targets": inside("    " + many(90000, "a{q} = ") + "1\n"),
    "a tuple of targets": inside("    " + many(100000, "a{q}, ") + " = 1, 2\n"),
    "semicolons": inside("    " + "n = 1; " * 140000 + "\n"),
    "line continuations": inside("    n = \\\n" + "\\\n" * 500000 + "1\n"),
    "blocks inside one another": inside("".join("    " + " " * q + "if n > 0:\n" for q in range(1, 1300))),
    "a string never closed": IMPORT + '"""' + '"' * 1000001,
    "cases": inside("    match n:\n" + many(20000, "        case {q}:\n            x[i] = 1.0\n")),
    "exceptions": inside("    try:\n        x[i] = 1.0\n" + "    except:\n        pass\n" * 40000),
    "deletions": inside("    del x\n" * 100000),
    "dots of an import": "from " + "." * 1000000 + " import *\n",
    "stars": inside("    x[i] = wp.sin(" + "*" * 900000 + "x)\n"),
    "walruses": inside("    x[i] = " + "(a := " * 120000 + "1.0" + ")" * 120000 + "\n"),
    "a name of 900,000 letters": inside("    " + "a" * 900000 + " = 1\n"),
    "one function 25,000 times": IMPORT + (FUNCTION + "a\n") * 25000 + SHORT + "    x[i] = f(1.0)\n",
    "overloads": IMPORT + many(10000, "@wp.func\ndef f(a: wp.types.vector(length={r}, dtype=float)):\n    return a[0]\n") + SHORT + "    x[i] = f(1.0)\n",
    "an annotation": IMPORT + "@wp.kernel\ndef k(x: " + "wp.array(dtype=" * 60000 + "float" + ")" * 60000 + "):\n    pass\n",
    "strings added": inside("    x[i] = wp.static(" + '"a" + ' * 160000 + '"b")\n'),
    "arguments of print": inside("    print(" + "x[i], " * 150000 + ")\n"),
    "inversions": inside("    n += " + "-~" * 450000 + "n\n"),
    "yields": inside("    yield " * 90000),
    "classes": IMPORT + "".join("    " * q + f"class C{q}:\n" for q in range(650)),
    "asserts": inside("    assert " + ("(" * 200 + "n" + ")" * 200 + ', "x"\n    assert ') * 2400 + "n\n"),
    "launches": IMPORT + SHORT + "    x[i] = 1.0\n" + "wp.launch(k, dim=3, inputs=[1, 2, 3, 4])\n" * 20000,
    "kernels in loops": IMPORT + "".join("    " * q + f"for a{q} in range(99):\n" for q in range(90)) + "    " * 90 + "@wp.kernel\n" + "    " * 90 + "def k(x: wp.array(dtype=float)):\n" + "    " * 91 + "x[0] = 1.0\n",
}

SECONDS, MEBIBYTES = 2.0, 512


def bound():
    """No child takes the machine down: 60 s of processor time, 8 GiB of addresses."""
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def spend(command):
    """Runs `command`; its processor time (s), peak memory (MiB), exit status and what it printed."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=bound)
    printed = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode, printed


def compile_of(kc, path, emit, folder):
    return [kc, "check", str(path)] if emit == "check" else [kc, "compile", "--emit", emit, str(path), "-o", str(folder)]


def growth(kc, folder, emits, only):
    path, marked = folder / "growth.py", 0

    def took(text, emit):
        path.write_text(text)
        return min((spend(compile_of(kc, path, emit, folder)) for _ in range(2)), key=lambda row: row[0])

    print(f"{'growth: seconds for n and 2n':32} {'n':>6}" + "".join(f"{emit:>22}" for emit in emits))
    for name, (n, text) in GROWTH.items():
        if only not in name:
            continue
        row = ""
        for emit in emits:
            empty = took(IMPORT + KERNEL + STORE, emit)[0]
            small, large = took(text(n), emit), took(text(11 if text is matrix else 2 * n), emit)
            ratio = (large[0] - empty) / max(small[0] - empty, 0.005)
            # 11^3 is 2.6 times 8^3. What is quick at 2n says nothing about its growth.
            bad = ratio > (3.2 if text is matrix else 2.5) and large[0] > 0.15
            marked += bad
            row += f"{small[0]:8.2f} {large[0]:6.2f} x{ratio:.1f}{' !' if bad else '  '}"
        print(f"{name:32} {n:6}{row}", flush=True)
    return marked


def goals(kc, folder, emits, only):
    path, marked = folder / "goals.py", 0
    print(f"{'goals: seconds':34}" + "".join(f"{emit:>8}" for emit in emits) + "    goal of obj")
    for name, text, goal in GOALS:
        if only not in name:
            continue
        path.write_text(text)
        took = {emit: spend(compile_of(kc, path, emit, folder))[0] for emit in emits}
        missed = took.get("obj", 0.0) > goal
        marked += missed
        print(f"{name:34}" + "".join(f"{took[emit]:8.2f}" for emit in emits) + f"    {goal}{'  MISSED' if missed else ''}", flush=True)
    return marked


def message(**fields):
    text = json.dumps({"jsonrpc": "2.0", **fields}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


def edit(kc, text):
    """A session of an editor that opens `text`, asks for its findings and leaves."""
    document = {"uri": "file:///bench/hostile.py"}
    child = subprocess.Popen([kc, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=bound)
    printed = b""

    def until(what):
        nonlocal printed
        while line := child.stdout.readline():
            printed += line
            if line.startswith(b"Content-Length:"):
                child.stdout.readline()
                printed += (answer := child.stdout.read(int(line.split(b":")[1])))
                if what in answer:
                    return

    try:
        for sent, answer in [
            (message(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}}), b'"id":1'),
            # The server is silent about files without kernels, so what is waited for is an answer, not findings.
            (message(method="initialized", params={})
             + message(method="textDocument/didOpen", params={"textDocument": {**document, "languageId": "python", "version": 1, "text": text}})
             + message(id=2, method="textDocument/diagnostic", params={"textDocument": document}), b'"id":2'),
            (message(id=3, method="shutdown", params=None), b'"id":3'),
            (message(method="exit", params=None), b"the end"),
        ]:
            child.stdin.write(sent)
            child.stdin.flush()
            until(answer)
    except BrokenPipeError:
        pass
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, child.returncode, printed


def hostile(kc, folder, only):
    path, marked = folder / "hostile.py", 0
    print(f"{'hostile files':36}{'check s':>9}{'MiB':>7}{'lsp s':>9}{'MiB':>7}")
    for name, text in HOSTILE.items():
        if only not in name:
            continue
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(data)
        check = spend([kc, "check", "--format", "short", str(path)])
        rows = [check]
        # An editor sends text; what is no text it never sends.
        if isinstance(text, str):
            rows.append(edit(kc, text))
        why = set()
        for place, (seconds, memory, status, printed) in zip(("check", "lsp"), rows):
            if seconds > SECONDS:
                why.add(f"{place}: time")
            if memory > MEBIBYTES:
                why.add(f"{place}: memory")
            if status not in (0, 1) or b"E0999" in printed or b"panicked" in printed:
                why.add(f"{place}: ended with {status}")
        if len(rows) > 1 and not all(b'"id":%d' % n in rows[1][3] for n in (1, 2, 3)):
            why.add("lsp: did not answer")
        marked += bool(why)
        print(f"{name:36}" + "".join(f"{row[0]:9.2f}{row[1]:7.0f}" for row in rows) + ("  MARKED " + ", ".join(sorted(why)) if why else ""), flush=True)
    print(f"{len(HOSTILE)} files, {marked} marked")
    return marked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--emit", default="check,ptx,cuda,obj")
    parser.add_argument("--only", default="", help="a part of the name of what to measure")
    args = parser.parse_args()
    parts = args.parts or ["growth", "goals", "hostile"]
    if unknown := set(parts) - {"growth", "goals", "hostile"}:
        parser.error(f"no part of that name: {', '.join(sorted(unknown))}")
    emits, marked = args.emit.split(","), 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "growth" in parts:
            marked += growth(args.kc, folder, emits, args.only)
        if "goals" in parts:
            marked += goals(args.kc, folder, emits, args.only)
        if "hostile" in parts:
            marked += hostile(args.kc, folder, args.only)
    return int(marked > 0)


if __name__ == "__main__":
    sys.exit(main())
