"""Checks every kernel of an installed warp-lang with `kc check` and prints which pass, and why others do not.

    python3 benches/warp_kernels.py PATH/TO/site-packages/warp [--kc target/release/kc] [--out table.csv] [--list CODE] [--kind tile] [--files examples]

Left out, by what they and the functions they reach name: kernels with tiles, with Warp's run-time engine (meshes, BVHs,
hash grids, volumes, textures), with Omniverse Fabric arrays, and with parts of the FEM module that Warp builds while
Python runs (fields, domains, geometries, integrands). Counted apart: kernels that Warp's own tests expect Warp to refuse
(they stand in a `with assertRaises...` block or are launched in one) and that kc refuses, too. A kernel passes when neither it nor any function, struct or constant of its file that it reaches
has an error. One that kc can check only in part, because it needs what only Python knows (W0504), has no concrete types
(W0505) or calls CUDA text (W0506), is counted as `unresolved`: it has no error and no entry. Needs Python 3.10+, not Warp itself.

`--kind engine` is about the kernels that ask meshes, BVHs, hash grids, volumes or textures instead. `--kind tile` is about those with tiles, of which those count as Warp's engine that ask a mesh or a BVH; `--files PART` is a row for
each file whose path has that part.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import subprocess
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

ENGINE = ("bvh_", "mesh_", "hash_grid_", "volume_", "texture_")
TILE_ENGINE = ("tile_bvh_", "tile_mesh_", "tile_query_")
ENGINE_TYPES = {"Mesh", "Bvh", "HashGrid", "Volume", "Texture1D", "Texture2D", "Texture3D", "BvhQuery", "MeshQueryAABB",
                "HashGridQuery", "BvhQueryTiled", "MeshQueryPoint", "MeshQueryRay", "tex1d", "tex2d", "tex3d", "intersect_tri_tri",
                "TextureAddressMode", "TextureFilterMode"}
# Other names that end so are variables.
ENGINE_INDEX = {"volume_lookup_index", "volume_world_to_index", "volume_index_to_world", "hash_grid_point_id"}
FABRIC = {"fabricarray", "indexedfabricarray", "fabricarrayarray", "indexedfabricarrayarray"}
FEM_TYPES = {"Sample", "Field", "Domain", "Coords", "ElementIndex", "integrand", "make_free_sample"}
MODULES = {"wp", "warp", "math", "np", "numpy", "self", "builtins", "typing", "enum"}


class Definition:
    """A kernel, function, struct or constant of one file and what it names."""

    def __init__(self, name: str, node: ast.AST, kind: str):
        self.name, self.kind = name, kind
        decorators = getattr(node, "decorator_list", [])
        self.first = min([node.lineno, *(d.lineno for d in decorators)])
        self.last = node.end_lineno
        self.names: set[str] = set()
        self.foreign = False
        self.nested = False
        locals_ = {a.arg for a in node.args.args} if isinstance(node, ast.FunctionDef) else set()
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                self.names.add(part.id)
                if isinstance(part.ctx, ast.Store):
                    locals_.add(part.id)
            elif isinstance(part, ast.Attribute):
                self.names.add(part.attr)
        # `domain.element_eval(...)`, `arg: geometry.CellArg`: parts of objects that exist only
        # while Python runs.
        for part in ast.walk(node):
            target = part.func if isinstance(part, ast.Call) else getattr(part, "annotation", None)
            while isinstance(target, ast.Attribute):
                target = target.value
                if isinstance(target, ast.Name) and target.id not in MODULES | locals_:
                    self.foreign = True
                elif isinstance(target, ast.Name) and target.id == "self":
                    self.foreign = True


def decorator_word(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def definitions(tree: ast.Module) -> list[Definition]:
    found = []
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        words = {decorator_word(d) for d in getattr(node, "decorator_list", [])}
        if isinstance(node, ast.FunctionDef):
            for kind in ("kernel", "func", "integrand", "func_native", "func_grad", "func_replay"):
                if kind in words:
                    found.append(Definition(node.name, node, kind))
                    found[-1].nested = id(node) not in top
                    break
        elif isinstance(node, ast.ClassDef):
            found.append(Definition(node.name, node, "struct" if "struct" in words else "class"))
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                found.append(Definition(target.id, node, "constant"))
    return found


def reached(kernel: Definition, by_name: dict[str, list[Definition]]) -> list[Definition]:
    seen, todo = {id(kernel)}, [kernel]
    for definition in todo:
        for name in definition.names:
            for other in by_name.get(name, []):
                if id(other) not in seen and other.kind not in ("kernel", "class"):
                    seen.add(id(other))
                    todo.append(other)
    return todo


def need(parts: list[Definition], imported: set[str], fem_file: bool) -> str:
    names = set().union(*(p.names for p in parts if p.kind != "constant"))
    tiles = any(n.startswith("tile_") or n in ("tile", "untile") for n in names)
    if tiles and not any(n.startswith(TILE_ENGINE + ENGINE) for n in names):
        return "tile"
    if tiles or any(n.startswith(ENGINE) for n in names if not n.endswith("_index")) or names & (ENGINE_TYPES | ENGINE_INDEX):
        return "engine"
    if names & FABRIC:
        return "fabric"
    if fem_file and (names & FEM_TYPES or any(p.foreign or p.kind == "integrand" for p in parts)):
        return "fem"
    return "core"


def is_raises(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and decorator_word(node).startswith("assertRaises")


def refused(tree: ast.Module) -> set[tuple[str, int]]:
    """The kernels, by name and line, that the file's tests expect Warp to refuse."""
    def mentioned(scope: ast.AST) -> set[str]:
        found = set()
        for node in ast.walk(scope):
            if isinstance(node, ast.With) and any(is_raises(item.context_expr) for item in node.items):
                parts = node.body
            elif is_raises(node):
                parts = node.args
            else:
                continue
            for part in parts:
                found |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
                found |= {n.name for n in ast.walk(part) if isinstance(n, ast.FunctionDef)}
        return found

    found = set()
    every = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    top = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for scope in every:
        names = mentioned(scope)
        inner = {node.name: node for node in ast.walk(scope) if isinstance(node, ast.FunctionDef) and node is not scope}
        for name in names:
            node = inner.get(name) or top.get(name)
            if node is not None:
                found.add((name, node.lineno))
    return found


def check(kc: str, path: str) -> tuple[list[dict], str]:
    done = subprocess.run([kc, "check", "--format", "json", "--max-errors", "100000", path], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode not in (0, 1):
        return [], f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
    return [json.loads(line) for line in done.stdout.splitlines()], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", help="the folder of the installed package `warp`")
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="a CSV with one row a kernel")
    parser.add_argument("--list", default="", help="show the kernels that fail with one of these codes (comma separated, or all)")
    parser.add_argument("--kind", default="core", choices=["core", "tile", "engine"], help="the kernels that the tables are about")
    parser.add_argument("--files", metavar="PART", help="a row for each file with this part in its path")
    args = parser.parse_args()
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(args.package) for name in names if name.endswith(".py"))
    work = []
    for path in files:
        text = open(path, encoding="utf-8").read()
        found = definitions(ast.parse(text)) if "kernel" in text else []
        if any(d.kind == "kernel" for d in found):
            work.append((path, text, found))
    with ThreadPoolExecutor(args.jobs) as pool:
        answers = list(pool.map(lambda w: check(args.kc, w[0]), work))
    rows, crashed = [], []
    for (path, text, found), (findings, crash) in zip(work, answers):
        expected = refused(ast.parse(text))
        short = os.path.relpath(path, args.package)
        if crash:
            crashed.append(f"{short}: {crash}")
        by_name = defaultdict(list)
        for definition in found:
            by_name[definition.name].append(definition)
        fem_file = "fem" in short or "warp.fem" in text or "_src.fem" in text
        unresolved = {f["spans"][0]["start"]["line"]: f["code"] for f in findings if f["code"] in ("W0504", "W0505", "W0506") and f["spans"]}
        errors = [f for f in findings if f["level"] == "error" and f["spans"]]
        places = [({s["start"]["line"] for s in f["spans"] if s["file"] == path}, f) for f in errors]
        kernels = [d for d in found if d.kind == "kernel"]
        for kernel in kernels:
            parts = reached(kernel, by_name)
            kind = need(parts, set(), fem_file)
            codes, first = [], ""
            for lines, finding in places:
                # An error of one instance of a function names the kernels that ask for it.
                asking = {k.first for k in kernels for line in lines if k.first <= line <= k.last}
                if asking and kernel.first not in asking:
                    continue
                if any(p.first <= line <= p.last for p in parts for line in lines):
                    codes.append(finding["code"])
                    first = first or f"{short}:{finding['spans'][0]['start']['line']}: {finding['code']} {finding['message']}"
            if crash:
                codes, first = ["CRASH"], crash
            if kind == args.kind and codes and codes[0] != "E0408" and any(name == kernel.name and kernel.first <= line <= kernel.last for name, line in expected):
                kind = "refused"
            part = next((code for line, code in unresolved.items() if kernel.first <= line <= kernel.last), "")
            group = next((g for g in ("examples", "tests", "fem") if g in short.split(os.sep)), "library")
            rows.append([short, kernel.name, kernel.first, group, kind, codes[0] if codes else "", first, "" if codes else part])
    if args.out:
        with open(args.out, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["file", "kernel", "line", "group", "needs", "code", "finding", "unresolved"])
            writer.writerows(rows)
    kinds = Counter(r[4] for r in rows)
    print(f"{len(rows)} kernels in {len(work)} files: " + ", ".join(f"{n} {k}" for k, n in kinds.most_common()))
    core = [r for r in rows if r[4] == args.kind]
    print(f"\n{args.kind + ' kernels':<12} {'pass':>6} {'of':>6} {'%':>7}   of those unresolved: W0504  W0505  W0506")
    for group in ("examples", "tests", "fem", "library", "all"):
        part = [r for r in core if group in (r[3], "all")]
        good = sum(not r[5] for r in part)
        open_ = Counter(r[7] for r in part)
        print(f"{group:<12} {good:>6} {len(part):>6} {100 * good / max(1, len(part)):>7.1f} {open_['W0504']:>26} {open_['W0505']:>6} {open_['W0506']:>6}")
    print("\ncode   kernels  commonest message")
    codes = Counter(r[5] for r in core if r[5])
    for code, n in codes.most_common():
        message = Counter(r[6].split(": ", 1)[1].removeprefix(r[5] + " ") for r in core if r[5] == code).most_common(1)[0][0]
        print(f"{code:<8} {n:>5}  {message[:100]}")
    print("\nrefused by Warp, too: " + ", ".join(f"{n} {code}" for code, n in Counter(r[5] for r in rows if r[4] == "refused").most_common()))
    wanted = set(args.list.split(",")) - {""}
    for row in [r for r in rows if r[4] in (args.kind, "refused")]:
        if row[5] and wanted & {row[5], "all"}:
            print(f"{row[1]:<40} {row[4]:<8} {row[6]}")
    if args.files:
        print(f"\n{'file':<60} {'pass':>6} {'of':>6}   not")
        for file in sorted({r[0] for r in core if args.files in r[0]}):
            part = [r for r in core if r[0] == file]
            rest = ", ".join(f"{r[1]} {r[5]}" for r in part if r[5]) or ", ".join(f"{r[1]} unresolved {r[7]}" for r in part if r[7])
            print(f"{file:<60} {sum(not r[5] for r in part):>6} {len(part):>6}   {rest}")
    for line in crashed:
        print("CRASH", line)


if __name__ == "__main__":
    main()
