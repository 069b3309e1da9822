"""Writes the form of dump.rs from Python's own parser: reads paths from stdin, writes PATH.dump below the folder argv[1]."""

import ast
import struct
import sys

FUNCTION = {"kernel", "func", "func_grad", "func_replay", "func_native", "overload",
            "op", "cuda", "zero_grad", "no_grad", "intrinsic", "host"}
ENUM = {"IntEnum", "IntFlag", "Enum", "Flag"}
BIN = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
       "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>"}
UN = {"USub": "-", "UAdd": "+", "Not": "not", "Invert": "~"}
CMP = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not",
       "In": "in", "NotIn": "not in"}
EXPR = {"JoinedStr": "an f-string", "Set": "a set", "SetComp": "a comprehension",
        "DictComp": "a comprehension", "NamedExpr": "`:=`", "Await": "`await`", "Yield": "`yield`", "YieldFrom": "`yield`"}
STMT = {"Try": "`try`", "TryStar": "`try`", "With": "`with`", "Raise": "`raise`", "Delete": "`del`", "Global": "`global`",
        "Nonlocal": "`nonlocal`", "Import": "`import` in a function", "ImportFrom": "`import` in a function",
        "Match": "`match`", "FunctionDef": "a nested function", "ClassDef": "a nested class",
        "AsyncFunctionDef": "`async`", "AsyncFor": "`async`", "AsyncWith": "`async`"}


def name(node):
    return type(node).__name__


def string(text):
    out = []
    for c in text:
        if c in '"\\':
            out.append("\\" + c)
        elif " " <= c <= "~":
            out.append(c)
        else:
            out.append("\\u{%x}" % ord(c))
    return '"' + "".join(out) + '"'


def opt(e):
    return "_" if e is None else expr(e)


def expr(e):
    k = name(e)
    if k in EXPR:
        return "?" + EXPR[k]
    if k == "Name":
        return e.id
    if k == "Attribute":
        return f"(. {expr(e.value)} {e.attr})"
    if k == "Constant":
        v = e.value
        if v is None or isinstance(v, bool):
            return str(v)
        if isinstance(v, int):
            return str(v) if v < 2**128 else "huge"
        if isinstance(v, float):
            return "f" + struct.pack(">d", v).hex()
        if isinstance(v, str):
            return string(v)
        return {bytes: "?a bytes literal", complex: "?a complex number"}.get(type(v), "?`...`")
    if k == "UnaryOp":
        return f"({UN[name(e.op)]} {expr(e.operand)})"
    if k == "BinOp":
        return f"({BIN[name(e.op)]} {expr(e.left)} {expr(e.right)})"
    if k == "BoolOp":
        return f"({name(e.op).lower()}{items(e.values)})"
    if k == "Compare":
        return f"(cmp {expr(e.left)}{''.join(f' {CMP[name(o)]} {expr(c)}' for o, c in zip(e.ops, e.comparators))})"
    if k == "IfExp":
        return f"(if {expr(e.test)} {expr(e.body)} {expr(e.orelse)})"
    if k == "Call":
        args = [(a.lineno, a.col_offset, " " + expr(a)) for a in e.args]
        for w in e.keywords:
            text = f" {w.arg}={expr(w.value)}" if w.arg else " ?`**` in a call"
            args.append((w.lineno, w.col_offset, text))
        return f"(call {expr(e.func)}{''.join(a[2] for a in sorted(args, key=lambda a: a[:2]))})"
    if k == "Subscript":
        s = e.slice
        parts = s.elts if isinstance(s, ast.Tuple) and s.elts else [s]
        return f"(at {expr(e.value)}{items(parts)})"
    if k == "Slice":
        return f"(: {opt(e.lower)} {opt(e.upper)} {opt(e.step)})"
    if k == "Tuple":
        return f"(tuple{items(e.elts)})"
    if k == "List":
        return f"(list{items(e.elts)})"
    if k == "Dict":
        if None in e.keys:
            return "?a dict"
        return f"(dict{''.join(f' {expr(a)} {expr(b)}' for a, b in zip(e.keys, e.values))})"
    if k in ("ListComp", "GeneratorExp"):
        if any(c.is_async for c in e.generators):
            return "?a comprehension" if k == "ListComp" else "?a generator expression"
        clauses = "".join(f" (for {expr(c.target)} {expr(c.iter)}{items(c.ifs)})" for c in e.generators)
        return f"({'each' if k == 'ListComp' else 'generate'} {expr(e.elt)}{clauses})"
    if k == "Starred":
        return f"(* {expr(e.value)})"
    if k == "Lambda":
        return f"(lambda [{params(e.args)}] {expr(e.body)})"
    raise ValueError(k)


def params(a):
    out = []
    pos = a.posonlyargs + a.args
    defaults = [None] * (len(pos) - len(a.defaults)) + a.defaults
    star = lambda s, p, d: out.append(f"({s}{p.arg} {opt(p.annotation)} {opt(d)})")
    for p, d in zip(pos, defaults):
        star("", p, d)
    if a.vararg:
        star("*", a.vararg, None)
    for p, d in zip(a.kwonlyargs, a.kw_defaults):
        star("", p, d)
    if a.kwarg:
        star("**", a.kwarg, None)
    return " ".join(out)


def items(es):
    return "".join(" " + expr(e) for e in es)


class Dump:
    def __init__(self, text):
        self.lines = text.split("\n")
        self.out = []

    def line(self, depth, text):
        self.out.append("  " * depth + text)

    def block(self, depth, body):
        for s in body:
            column = len(self.lines[s.lineno - 1].encode()[: s.col_offset].decode()) + 1
            if isinstance(s, (ast.FunctionDef, ast.ClassDef)) and s.decorator_list:
                d = s.decorator_list[0]
                at = f"{d.lineno}:{self.lines[d.lineno - 1].index('@') + 1}"
            else:
                at = f"{s.lineno}:{column}"
            k = name(s)
            if k in STMT:
                self.line(depth, f"{at} ?{STMT[k]}")
            elif k == "Assign":
                self.line(depth, f"{at} ={items(s.targets)} {expr(s.value)}")
            elif k == "AugAssign":
                self.line(depth, f"{at} {BIN[name(s.op)]}= {expr(s.target)} {expr(s.value)}")
            elif k == "AnnAssign":
                self.line(depth, f"{at} : {expr(s.target)} {expr(s.annotation)} {opt(s.value)}")
            elif k == "If":
                self.line(depth, f"{at} if {expr(s.test)}")
                self.block(depth + 1, s.body)
                if s.orelse:
                    self.line(depth, "else")
                    self.block(depth + 1, s.orelse)
            elif k in ("For", "While"):
                head = f"for {expr(s.target)} {expr(s.iter)}" if k == "For" else f"while {expr(s.test)}"
                self.line(depth, f"{at} {head}")
                self.block(depth + 1, s.body)
                self.line(depth, "else")
                self.block(depth + 1, s.orelse)
            elif k == "Return":
                self.line(depth, f"{at} return {opt(s.value)}")
            elif k == "Expr":
                text = expr(s.value)
                self.line(depth, f"{at} {'pass' if text == '?`...`' else text}")
            elif k == "Assert":
                self.line(depth, f"{at} assert {expr(s.test)} {opt(s.msg)}")
            else:
                self.line(depth, f"{at} {k.lower()}")

    def item(self, s):
        k = name(s)
        if k == "Import":
            for a in s.names:
                self.line(0, f"import {a.name}" + (f" as {a.asname}" if a.asname else ""))
        elif k == "ImportFrom":
            names = "".join(f" ({a.name} {a.asname or '_'})" for a in s.names)
            self.line(0, f"import {'.' * s.level}{s.module or ''}{names}")
        elif k == "FunctionDef":
            last = {getattr(d, "attr", getattr(d, "id", None))
                    for d in (x.func if isinstance(x, ast.Call) else x for x in s.decorator_list)}
            ours = bool(last & FUNCTION)
            if ours:
                for d in s.decorator_list:
                    self.line(0, "@" + expr(d))
            self.line(0, f"def {s.name} [{params(s.args)}] -> {opt(s.returns) if ours else '_'}")
            if ours:
                doc = ast.get_docstring(s)
                body = s.body
                if doc is not None:
                    lines = [line.rstrip() for line in doc.strip().split("\n")]
                    self.line(1, "doc " + string("\n".join(lines)))
                    body = body[1:]
                self.block(1, body)
        elif k == "ClassDef":
            last = {getattr(d, "attr", getattr(d, "id", None)) for d in s.decorator_list}
            bases = {getattr(b, "attr", getattr(b, "id", None)) for b in s.bases}
            if "struct" in last or bases & ENUM:
                self.line(0, f"class {s.name} [{items(s.bases).strip()}]")
                for m in s.body:
                    if isinstance(m, ast.Assign) and len(m.targets) == 1 and isinstance(m.targets[0], ast.Name):
                        self.line(1, f"{m.targets[0].id} _ {self.host(m.value)}")
                    elif isinstance(m, ast.AnnAssign) and isinstance(m.target, ast.Name):
                        value = "_" if m.value is None else self.host(m.value)
                        self.line(1, f"{m.target.id} {expr(m.annotation)} {value}")
        elif k in ("Assign", "AnnAssign", "AugAssign") and s.value is not None:
            targets = s.targets if k == "Assign" else [s.target]
            if not isinstance(targets[0], (ast.Name, ast.Tuple, ast.List)):
                return
            value = "opaque" if k == "AugAssign" else self.host(s.value)
            for t in targets:
                self.bind(t, s.value, value)

    def bind(self, target, node, text):
        """The names of `target = node`; those of a tuple get their items."""
        if isinstance(target, ast.Name):
            self.line(0, f"const {target.id} {text}")
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None, "opaque")
        elif isinstance(target, (ast.Tuple, ast.List)):
            given = node.elts if isinstance(node, ast.Tuple) else []
            given = [] if any(isinstance(e, ast.Starred) for e in given) else given
            for n, t in enumerate(target.elts):
                item = given[n] if n < len(given) else None
                if text == "opaque":
                    self.bind(t, item, text)
                else:
                    self.bind(t, item, expr(item) if item is not None else f"(at {text} {n})")

    def host(self, value):
        text = expr(value)
        if any("?" in expr(e) and expr(e).startswith("?") for e in ast.walk(value) if isinstance(e, ast.expr)):
            return "opaque"
        return text


folder = sys.argv[1]
for index, path in enumerate(sys.stdin.read().split("\n")):
    if not path:
        continue
    text = open(path, encoding="utf-8", newline="").read()
    dump = Dump(text)
    for s in ast.parse(text).body:
        dump.item(s)
    open(f"{folder}/{index}.dump", "w", encoding="utf-8").write("".join(line + "\n" for line in dump.out))
