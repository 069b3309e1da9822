"""How well a small language model of one body of kernels predicts another, in bits a token.

    python benches/token_model.py --train SET_OR_FOLDER --test FOLDER [--order 6] [--most TOKENS] [--show N]

A body is a folder of Python files or a data set that `kc dataset` wrote. Each kernel is one text, together with the functions
of its file that it calls. Comments and docstrings are left out, and the names that a program chooses become numbers in the order in which
they appear, so that what counts is what the code does and not what things are called. The model is an interpolated Kneser-Ney n-gram
model (Kneser and Ney 1995; discounts for counts of 1, 2 and more by Chen and Goodman 1999); what it never saw is one of 4,096 equally likely tokens. Files of the tested body that are also in the trained one are left out; a body tested against
itself is cut in ten by files, and each tenth is predicted by the other nine.
"""

import argparse
import ast
import collections
import hashlib
import io
import json
import keyword
import math
import pathlib
import subprocess
import tokenize

KEPT = set(keyword.kwlist) | {
    "wp", "int", "float", "bool", "range", "len", "min", "max", "abs", "print", "reversed", "True", "False", "None", "round", "tuple", "Any", "self",
}
UNSEEN = 4096


def kernels(source):
    """The kernels of a file, each with the functions of the file that it calls, as syntax trees without docstrings."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for function in functions.values():
        if not any("kernel" in ast.unparse(d).split("(")[0].split(".")[-1] for d in function.decorator_list):
            continue
        wanted, order = [function], []
        while wanted:
            one = wanted.pop()
            if one in order:
                continue
            order.append(one)
            calls = (n.func.id for n in ast.walk(one) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
            wanted += [functions[c] for c in calls if c in functions]
        yield [strip(f) for f in reversed(order)]


def strip(function):
    body = function.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
        body = body[1:] or [ast.Pass()]
    return ast.FunctionDef(function.name, function.args, body, [], function.returns, None, lineno=1, col_offset=0, type_params=[])


def tokens(functions):
    """The tokens of a kernel, with the names that its program chose as `v1`, `v2`, ..."""
    text = "\n".join(ast.unparse(f) for f in functions)
    names, found, previous = {}, [], ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind in ("NEWLINE", "INDENT", "DEDENT"):
            found.append(kind)
        elif kind == "STRING":
            found.append("STRING")
        elif kind == "NAME" and token.string not in KEPT and previous != ".":
            found.append(names.setdefault(token.string, f"v{len(names) + 1}"))
        elif kind not in ("COMMENT", "NL", "ENCODING", "ENDMARKER"):
            found.append(token.string)
        previous = token.string
    return found


def files(where):
    """(name, source) of each Python file below a folder, or of each row of a data set."""
    where = pathlib.Path(where)
    tables, shards = sorted(where.glob("data/pairs/*.parquet")), sorted(where.glob("data/pairs/*.jsonl.zst"))
    for table in tables:
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(table, columns=["id", "python_source"]).to_pylist()
        yield from ((row["id"], row["python_source"]) for row in rows)
    for shard in shards if not tables else []:
        lines = subprocess.run(["zstd", "-dc", shard], check=True, capture_output=True, text=True).stdout.splitlines()
        for row in map(json.loads, lines):
            yield row["id"], row["python_source"]
    if not tables and not shards:
        for path in sorted(where.rglob("*.py")):
            yield str(path.relative_to(where)), path.read_text(errors="replace")


def body(where, tests):
    """Texts of a body by file; a kernel that stands there twice counts once."""
    seen, texts = set(), {}
    for name, source in files(where):
        if not tests and "test" in name.lower():
            continue
        for functions in kernels(source):
            text = tokens(functions)
            mark = hashlib.sha256(" ".join(text).encode()).hexdigest()
            if mark not in seen:
                seen.add(mark)
                texts.setdefault(name, []).append(text)
    return texts


class Model:
    def __init__(self, texts, order):
        self.order = order
        counts = [collections.defaultdict(collections.Counter) for _ in range(order)]
        for text in texts:
            padded = ["<s>"] * (order - 1) + text + ["</s>"]
            for at in range(order - 1, len(padded)):
                counts[-1][tuple(padded[at - order + 1 : at])][padded[at]] += 1
        # A shorter context counts the different tokens before it, not how often it was seen.
        for n in range(order - 1, 0, -1):
            for context, follow in counts[n].items():
                shorter = counts[n - 1][context[1:]]
                for token in follow:
                    shorter[token] += 1
        self.tables = [self.discounted(table) for table in counts]

    @staticmethod
    def discounted(table):
        """For each context: what each token keeps of its share, and what is left for shorter contexts."""
        times = collections.Counter(min(v, 4) for k in table.values() for v in k.values())
        y = times[1] / max(1, times[1] + 2 * times[2])
        off = [0.0] + [max(0.1, n - (n + 1) * y * times[n + 1] / max(1, times[n])) if times[n] else 0.5 for n in (1, 2, 3)]
        found = {}
        for context, follow in table.items():
            total = sum(follow.values())
            kept = {token: max(0.0, v - off[min(v, 3)]) / total for token, v in follow.items()}
            found[context] = kept, 1.0 - sum(kept.values())
        return found

    def probability(self, context, token):
        p = 1 / UNSEEN
        for n, table in enumerate(self.tables):
            entry = table.get(tuple(context[len(context) - n :]))
            if entry is None:
                break
            kept, left = entry
            p = kept.get(token, 0.0) + left * p
        return p

    def bits(self, texts, worst=None):
        total, count = 0.0, 0
        for text in texts:
            padded = ["<s>"] * (self.order - 1) + text + ["</s>"]
            for at in range(self.order - 1, len(padded)):
                b = -math.log2(self.probability(padded[at - self.order + 1 : at], padded[at]))
                total, count = total + b, count + 1
                if worst is not None:
                    worst[padded[at]] += b
        return total, count


def cut(texts, most):
    """So many tokens of a body, in an order that does not depend on its folders."""
    chosen, count = [], 0
    for text in sorted(texts, key=lambda t: hashlib.sha256(" ".join(t).encode()).hexdigest()):
        if most and count >= most:
            break
        chosen.append(text)
        count += len(text)
    return chosen, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--order", type=int, default=6)
    parser.add_argument("--most", type=int, default=0, help="train on so many tokens at most")
    parser.add_argument("--tests", action="store_true", help="files of unit tests too")
    parser.add_argument("--show", type=int, default=0, help="the tokens that cost most")
    given = parser.parse_args()
    test = body(given.test, given.tests)
    worst = collections.Counter() if given.show else None
    if given.train == given.test:
        total = count = trained = 0
        for part in range(10):
            fold = lambda name: int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10 == part
            texts, size = cut([t for f, ts in test.items() if not fold(f) for t in ts], given.most)
            b, c = Model(texts, given.order).bits([t for f, ts in test.items() if fold(f) for t in ts], worst)
            total, count, trained = total + b, count + c, trained + size // 10
    else:
        train = body(given.train, given.tests)
        texts, trained = cut([t for ts in train.values() for t in ts], given.most)
        total, count = Model(texts, given.order).bits([t for ts in test.values() for t in ts], worst)
    print(f"{total / count:.2f} bits a token ({count} tokens tested, {trained} trained on, order {given.order})")
    for token, b in worst.most_common(given.show) if worst else []:
        print(f"  {b / total:6.1%}  {token}")


if __name__ == "__main__":
    main()
