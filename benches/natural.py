"""How near are the kernels of a data set to those that people write?

    .env-data/bin/python benches/natural.py SET PACKAGE...

SET was made by `kc dataset`; each PACKAGE is a folder of Python files with Warp kernels, one project. A kernel counts with the functions of its
file that it calls, once where its text stands twice; unit tests are left out. Of each kernel some eighty numbers are taken from its syntax tree and its lines: what it
is built of, how names, lines and comments look, which built-ins it calls. Printed are, for the set, for each project beside the others, and for people's files beside
the other half of them:

* precision: the share of kernels that lie within the distance of a person's kernel to its fifth neighbour, and coverage: the share of people's kernels that have such
  a kernel in the set, after Kynkaanniemi et al., "Improved precision and recall metric for assessing generative models", 2019;
* how well a classifier tells them from the others (area under the curve, 1 always, .5 never): eighty boosted trees of depth 3, five-fold by files;
* the numbers that tell the set from people's code best.
"""

import ast
import hashlib
import io
import pathlib
import sys
import tokenize

import numpy as np
from token_model import files

NEIGHBOURS = 5
MOST = 1500

NODES = [
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.While, ast.If, ast.IfExp, ast.Return, ast.Break, ast.Continue, ast.Pass, ast.Assert, ast.Expr, ast.Call,
    ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod,
    ast.Pow, ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift, ast.MatMult, ast.USub, ast.Not, ast.And, ast.Or, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
]

CALLS = {
    "tid": {"tid"},
    "atomics": {"atomic_add", "atomic_sub", "atomic_min", "atomic_max", "atomic_cas", "atomic_exch"},
    "least and largest": {"min", "max", "clamp", "abs", "sign"},
    "roots and powers": {"sqrt", "pow", "cbrt"},
    "transcendental": {"sin", "cos", "tan", "exp", "log", "tanh", "atan2", "acos", "asin", "erf"},
    "vectors": {"dot", "cross", "length", "length_sq", "normalize", "cw_mul", "cw_div"},
    "constructors": {"vec2", "vec3", "vec4", "vec2f", "vec3f", "vec4f", "vec3d", "vec2i", "vec3i", "mat22", "mat33", "mat44", "matrix", "vector"},
    "matrices": {"outer", "transpose", "determinant", "inverse", "skew", "trace", "diag", "identity"},
    "poses": {"quat_rotate", "quat_rotate_inv", "quat_inverse", "quat_from_axis_angle", "transform_point", "transform_vector", "transform_get_rotation",
              "transform_get_translation", "transform_inverse", "transform_multiply", "quat", "transform"},
    "spatial": {"spatial_vector", "spatial_top", "spatial_bottom", "spatial_matrix", "spatial_dot"},
    "casts": {"int", "float", "int32", "float32", "float64", "int64", "uint32", "uint8", "bool"},
    "choices": {"where", "select"},
    "rounding": {"floor", "ceil", "round", "trunc"},
    "tiles": {"tile_load", "tile_store", "tile_sum", "tile_zeros", "tile_matmul", "tile_reduce", "tile_map", "tile_extract", "tile_atomic_add"},
    "random": {"rand_init", "randf", "randi", "randn"},
    "static": {"static"},
}


def slices(source):
    """The kernels of a file, each with its own functions: syntax trees, and the lines as they were written."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    lines = source.splitlines()
    for function in functions.values():
        if not any("kernel" in ast.unparse(d).split("(")[0].split(".")[-1] for d in function.decorator_list):
            continue
        order, wanted = [], [function]
        while wanted:
            one = wanted.pop()
            if one not in order:
                order.append(one)
                names = {n.func.id for n in ast.walk(one) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
                wanted += [functions[name] for name in sorted(names) if name in functions]
        yield order, [line for one in order for line in lines[one.lineno - 1 : one.end_lineno]]


def depth(node):
    return 1 + max((depth(child) for child in ast.iter_child_nodes(node)), default=0)


def nesting(body):
    inner = [getattr(stmt, part, []) for stmt in body for part in ("body", "orelse")]
    return max((1 + nesting(part) for part in inner if part), default=0)


def numbers(order, lines):
    """(name, number) of one kernel with its functions."""
    kernel = order[0]
    nodes = [n for one in order for stmt in one.body for n in ast.walk(stmt)]
    statements = sum(isinstance(n, ast.stmt) for n in nodes)
    per = 1.0 / max(1, statements)
    found = {"statements": np.log1p(statements), "functions": np.log1p(len(order) - 1)}
    for kind in NODES:
        found[kind.__name__] = sum(isinstance(n, kind) for n in nodes) * per
    called = [n.func.attr if isinstance(n.func, ast.Attribute) else getattr(n.func, "id", "") for n in nodes if isinstance(n, ast.Call)]
    for name, words in CALLS.items():
        found["calls: " + name] = sum(word in words for word in called) * per
    found["different calls"] = np.log1p(len(set(called)))
    arguments = kernel.args.args
    annotations = [ast.unparse(a.annotation) if a.annotation else "" for a in arguments]
    found["parameters"] = np.log1p(len(arguments))
    found["array parameters"] = sum("array" in text for text in annotations) / max(1, len(arguments))
    found["arrays of several axes"] = sum(any(w in text for w in ("array2d", "array3d", "array4d", "ndim=")) for text in annotations) / max(1, len(arguments))
    found["arrays of vectors"] = sum(any(w in text for w in ("vec", "mat", "quat", "transform", "spatial")) for text in annotations) / max(1, len(arguments))
    found["nesting"] = max(nesting(one.body) for one in order)
    found["depth of expressions"] = np.mean([depth(n) for one in order for n in one.body])
    names = {n.id for n in nodes if isinstance(n, ast.Name)} | {a.arg for a in arguments}
    found["names"] = np.log1p(len(names))
    names = names or {"_"}
    found["name length"] = np.mean([len(name) for name in names])
    found["names with underscore"] = np.mean(["_" in name for name in names])
    found["names of one letter"] = np.mean([len(name) == 1 for name in names])
    found["capitals"] = np.mean([name.upper() == name and len(name) > 1 for name in names])
    found["words of the kernel's name"] = len([w for w in kernel.name.split("_") if w])
    constants = [n.value for n in nodes if isinstance(n, ast.Constant)]
    found["floats"] = sum(isinstance(v, float) for v in constants) * per
    found["integers"] = sum(isinstance(v, int) and not isinstance(v, bool) for v in constants) * per
    written = [t for n in nodes if isinstance(n, (ast.Assign, ast.AugAssign)) for t in (n.targets if isinstance(n, ast.Assign) else [n.target])]
    stores = [t for t in written if isinstance(t, ast.Subscript)]
    found["stores"] = len(stores) * per
    found["stores at computed indices"] = sum(any(isinstance(n, ast.BinOp) for n in ast.walk(t.slice)) for t in stores) * per
    loads = [n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)]
    found["loads at computed indices"] = sum(any(isinstance(m, ast.BinOp) for m in ast.walk(n.slice)) for n in loads) * per
    found["loads at loaded indices"] = sum(any(isinstance(m, ast.Subscript) for m in ast.walk(n.slice)) for n in loads) * per
    widths = sorted(len(line.rstrip()) for line in lines if line.strip()) or [0]
    found["lines"] = np.log1p(len(widths))
    found["line, middle"] = widths[len(widths) // 2]
    found["line, longest"] = widths[-1]
    found["blank lines"] = sum(not line.strip() for line in lines) / len(widths)
    found["comments"] = sum(line.strip().startswith("#") for line in lines) / len(widths)
    found["trailing comments"] = sum(" # " in line and not line.strip().startswith("#") for line in lines) / len(widths)
    docs = [ast.get_docstring(one) or "" for one in order]
    found["docstring"] = np.log1p(len(docs[0]))
    return found


def without_comments(lines):
    try:
        tokens = tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline)
        return " ".join(token.string for token in tokens if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT))
    except (tokenize.TokenError, IndentationError):
        return "\n".join(lines)


def body(where):
    """Vectors of the kernels below a folder, and the files that they are in: at most MOST, in an order that has nothing to do with what they are."""
    seen, found = set(), []
    for name, source in files(where):
        if "test" in name.lower():
            continue
        for order, lines in slices(source):
            mark = hashlib.sha256(without_comments(lines).encode()).hexdigest()
            if mark not in seen:
                seen.add(mark)
                found.append((mark, name, numbers(order, lines)))
    found.sort(key=lambda one: one[0])
    found = found[:MOST]
    return np.array([list(one[2].values()) for one in found], dtype=float), np.array([one[1] for one in found]), list(found[0][2])


def nearness(own, people):
    mean, scale = people.mean(axis=0), people.std(axis=0) + 1e-9
    own, people = np.clip((own - mean) / scale, -6, 6), np.clip((people - mean) / scale, -6, 6)

    def distances(a, b):
        return np.sqrt(np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T, 0.0))

    reach = np.sort(distances(people, people), axis=1)[:, NEIGHBOURS]
    within = distances(own, people) <= reach[None]
    return within.any(axis=1).mean(), within.any(axis=0).mean()


def tree(bins, gradient, hessian, level):
    """A regression tree on binned numbers: (number, bin, below, above), or a value."""
    value = gradient.sum() / (hessian.sum() + 1.0)
    if level == 0 or len(gradient) < 20:
        return value
    best = (1e-6, None, None)
    total_g, total_h = gradient.sum(), hessian.sum()
    for column in range(bins.shape[1]):
        g = np.cumsum(np.bincount(bins[:, column], gradient, 32))[:-1]
        h = np.cumsum(np.bincount(bins[:, column], hessian, 32))[:-1]
        gain = g**2 / (h + 1.0) + (total_g - g) ** 2 / (total_h - h + 1.0) - total_g**2 / (total_h + 1.0)
        at = int(gain.argmax())
        if gain[at] > best[0]:
            best = (gain[at], column, at)
    if best[1] is None:
        return value
    low = bins[:, best[1]] <= best[2]
    return best[1], best[2], tree(bins[low], gradient[low], hessian[low], level - 1), tree(bins[~low], gradient[~low], hessian[~low], level - 1)


def score(node, bins):
    if not isinstance(node, tuple):
        return np.full(len(bins), node)
    low = bins[:, node[0]] <= node[1]
    out = np.empty(len(bins))
    out[low], out[~low] = score(node[2], bins[low]), score(node[3], bins[~low])
    return out


def area(labels, scores):
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores):
        same = scores == value
        ranks[same] = ranks[same].mean()
    ones = labels.sum()
    return (ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones))


def told_apart(own, own_files, people, people_files, trees=80):
    """Area under the curve of boosted trees, where whole files are held out."""
    x, y = np.concatenate([own, people]), np.concatenate([np.ones(len(own)), np.zeros(len(people))])
    edges = np.quantile(x, np.linspace(0, 1, 33)[1:-1], axis=0)
    bins = np.stack([np.searchsorted(edges[:, c], x[:, c], side="left") for c in range(x.shape[1])], axis=1)
    folds = np.array([int(hashlib.sha256(name.encode()).hexdigest(), 16) % 5 for name in np.concatenate([own_files, people_files])])
    scores = np.zeros(len(y))
    for fold in range(5):
        train = folds != fold
        # Both sides weigh the same.
        weight = np.where(y == 1, 0.5 / y[train].mean(), 0.5 / (1 - y[train].mean()))
        raw, raw_test = np.zeros(train.sum()), np.zeros((~train).sum())
        for _ in range(trees):
            p = 1 / (1 + np.exp(-raw))
            node = tree(bins[train], weight[train] * (y[train] - p), weight[train] * p * (1 - p), 3)
            raw += 0.1 * score(node, bins[train])
            raw_test += 0.1 * score(node, bins[~train])
        scores[~train] = raw_test
    return area(y, scores)


def main():
    folders = [pathlib.Path(path) for path in sys.argv[1:]]
    own, own_files, names = body(folders[0])
    projects = {folder.name: body(folder)[:2] for folder in folders[1:]}
    people = np.concatenate([vectors for vectors, _ in projects.values()])
    people_files = np.concatenate([files for _, files in projects.values()])
    print("| | kernels | precision | coverage | told apart |\n|---|---|---|---|---|")

    def line(name, vectors, files, others, other_files):
        precision, coverage = nearness(vectors, others)
        print(f"| {name} | {len(vectors)} | {precision:.2f} | {coverage:.2f} | {told_apart(vectors, files, others, other_files):.3f} |", flush=True)

    line("the set", own, own_files, people, people_files)
    half = np.array([int(hashlib.sha256(name.encode()).hexdigest(), 16) // 5 % 2 == 0 for name in people_files])
    line("half of people's files", people[half], people_files[half], people[~half], people_files[~half])
    for name, (vectors, files) in projects.items():
        others = [one for other, one in projects.items() if other != name]
        line(name, vectors, files, np.concatenate([v for v, _ in others]), np.concatenate([f for _, f in others]))
    print("\nWhat tells the set from people (area under the curve of one number; means)")
    labels = np.concatenate([np.ones(len(own)), np.zeros(len(people))])
    found = []
    for column, name in enumerate(names):
        auc = area(labels, np.concatenate([own[:, column], people[:, column]]))
        found.append((abs(auc - 0.5), name, auc, own[:, column].mean(), people[:, column].mean()))
    for _, name, auc, mine, theirs in sorted(found, reverse=True)[:20]:
        print(f"  {auc:.2f}  {name}: {mine:.2f} beside {theirs:.2f}")


if __name__ == "__main__":
    main()
