"""What does a gradient cost, in the objectives of ADBench? Time of gradient over objective, on the host, one core.

    benches/autodiff.py [--kc target/release/kc] [--rounds 3] [--markdown] [NAME ...]

The gradient takes the forward and the backward entry, as the published figures do; `pass` is the backward entry alone over the
objective. Where the backward entry needs what the forward run logs (LSTM), the forward entry is the one that logs, and what that takes more
counts for the pass. Limits: GMM 2.5, BA 3 and LSTM 3.6, each for the pass. Before it is timed, each gradient is checked on a smaller problem with
`kc gradcheck` (forward mode to 1e-9, differences), and those of the whole GMM objective and of LSTM against differences of NumPy's.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from gradients import SOURCE, least, times

SOURCE = os.path.join(os.path.dirname(SOURCE), "adbench.py")
GAMMA, DEGREES = 1.0, 2.0
PROBLEMS = [
    ("GMM d=10 K=25 n=1000", 2.5, (10, 25, 1000)),
    ("GMM d=20 K=50 n=1000", 2.5, (20, 50, 1000)),
    ("GMM d=32 K=25 n=1000", 2.5, (32, 25, 1000)),
    ("GMM d=64 K=10 n=1000", 2.5, (64, 10, 1000)),
    ("BA n=49 m=7776 p=31843", 3.0, (49, 7776, 31843)),
    ("LSTM l=2 c=1024", 3.6, (2, 1024)),
    ("LSTM l=4 c=1024", 3.6, (4, 1024)),
    ("LSTM l=2 c=4096", 3.6, (2, 4096)),
    ("LSTM l=4 c=4096", 3.6, (4, 4096)),
]
# Arrays of floats that nothing is differentiated by.
GIVEN = {"sequence"}


def gmm(d, k, n):
    """Launches in the order of the objective: kernel, threads, arguments."""
    random = np.random.default_rng(d)
    x, alpha = random.normal(size=(d, n)), random.normal(size=k)
    mean, q = random.uniform(size=(k, d)), random.normal(size=(k, d)) * 0.5
    l = random.normal(size=(k, d * (d - 1) // 2)) * 0.5
    term, value = np.zeros((k, n)), np.zeros(1)
    return [
        ("gmm_term", (k, n), {"x": x, "alpha": alpha, "mean": mean, "q": q, "l": l, "term": term}),
        ("gmm_sum", (n,), {"term": term, "value": value}),
        ("gmm_prior", (k,), {"q": q, "l": l, "gamma": GAMMA, "degrees": DEGREES, "value": value}),
    ]


def ba(cameras, points, seen):
    random = np.random.default_rng(1)
    camera = np.concatenate(
        [random.normal(size=(cameras, 3)) * 0.1, random.normal(size=(cameras, 3)) * 0.1, np.full((cameras, 1), 500.0),
         random.normal(size=(cameras, 2)), random.normal(size=(cameras, 2)) * 0.01], axis=1)
    values = {
        "camera": camera,
        "point": random.normal(size=(points, 3)) + [0.0, 0.0, 6.0],
        "weight": random.uniform(0.5, 1.5, seen),
        "which_camera": random.integers(0, cameras, seen, dtype=np.int32),
        "which_point": random.integers(0, points, seen, dtype=np.int32),
        "seen": random.normal(size=(seen, 2)) * 100.0,
        "error": np.zeros((seen, 2)),
        "weight_error": np.zeros(seen),
    }
    return [("ba", (seen,), values)]


def lstm(layers, length, width=14):
    random = np.random.default_rng(layers)
    values = {
        "weight": random.normal(size=(layers, 8, width)) * 0.5,
        "extra": random.normal(size=(3, width)) * 0.5,
        "state": random.normal(size=(layers, 2, width)) * 0.5,
        "sequence": np.eye(width)[random.integers(0, width, length)],
        "guess": np.zeros(width),
        "value": np.zeros(1),
    }
    return [("lstm", (1,), values)]


def loss(weight, extra, state, sequence):
    """The LSTM objective with NumPy."""
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    state, total = state.copy(), 0.0
    for now, following in zip(sequence, sequence[1:]):
        x = now * extra[0]
        for w, (hidden, cell) in zip(weight, state):
            keep, change = sigmoid(hidden * w[1] + w[5]), np.tanh(hidden * w[3] + w[7])
            cell[:] = cell * sigmoid(x * w[0] + w[4]) + keep * change
            hidden[:] = x = sigmoid(x * w[2] + w[6]) * np.tanh(cell)
        guess = x * extra[1] + extra[2]
        total += (following * (guess - np.log(2 + np.exp(guess).sum()))).sum()
    return -total / (len(sequence) - 1) / sequence.shape[1]


VECTORS = {"point", "seen", "error"}


def write_launch(folder, name, threads, values, adjoints=None):
    """Writes a launch of a kernel; without `adjoints` those of its results are 1."""
    args, arrays = [], {}
    for key, value in values.items():
        if isinstance(value, float):
            dtype = {"class": "scalar", "scalar": "float64", "shape": []}
            args.append({"name": key, "kind": "value", "dtype": dtype, "value": value})
            continue
        trailing = int(key in VECTORS)
        shape = list(value.shape[: value.ndim - trailing])
        kind = {"class": "vec" if trailing else "scalar", "scalar": value.dtype.name, "shape": list(value.shape[len(shape):])}
        arg = {"name": key, "kind": "array", "dtype": kind, "ndim": len(shape), "shape": shape, "data": key}
        arrays[key] = value
        if value.dtype.kind == "f" and key not in GIVEN:
            arg["grad"] = key + ".grad"
            ones = adjoints is None and key in ("term", "value", "error", "weight_error")
            arrays[arg["grad"]] = (adjoints or {}).get(key, np.ones_like(value) if ones else np.zeros_like(value))
        args.append(arg)
    case = {"format": 1, "id": name, "source": SOURCE, "kernel": name, "direction": "gradient", "dim": list(threads), "args": args}
    folder = os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    np.savez(os.path.join(folder, "inputs.npz"), **arrays)
    path = os.path.join(folder, "launch.json")
    with open(path, "w") as file:
        json.dump(case, file)
    return path


def run(command):
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode:
        sys.exit(output.stdout + output.stderr)
    return output.stdout


def check(kc, launches, folder):
    """The worst error of a dot product."""
    worst = 0.0
    for name, threads, values in launches:
        found = json.loads(run([kc, "gradcheck", "--json", write_launch(folder, name, threads, values)]))
        worst = max([worst] + [row["dot_product"] for row in found["arguments"]])
    return worst


def objective(x, alpha, mean, q, l):
    """The GMM objective with NumPy."""
    x, d = x.T, len(x)
    rows, columns = np.tril_indices(d, -1)
    term = np.empty((len(x), len(alpha)))
    for k in range(len(alpha)):
        root = np.diag(np.exp(q[k]))
        root[rows, columns] = l[k]
        term[:, k] = alpha[k] + q[k].sum() - 0.5 * (((x - mean[k]) @ root.T) ** 2).sum(axis=1)
    top = term.max(axis=1, keepdims=True)
    prior = 0.5 * GAMMA**2 * ((np.exp(q) ** 2).sum() + (l**2).sum()) - DEGREES * q.sum()
    return (np.log(np.exp(term - top).sum(axis=1)) + top[:, 0]).sum() + prior


def whole_gmm(kc, folder):
    """The greatest relative error of the whole objective's gradient, the three kernels in turn, against differences."""
    launches = gmm(4, 3, 7)
    out = os.path.join(folder, "out")

    def gradient(index, adjoints, given=None):
        name, threads, values = launches[index]
        path = write_launch(folder, name, threads, {**values, **(given or {})}, adjoints)
        run([kc, "run", "--out-dir", out, path])
        return dict(np.load(os.path.join(out, name + ".npz")))

    # The forward results of the first kernel are the inputs of the second; adjoints go the other
    # way.
    term = gradient(0, {"term": np.zeros((3, 7))})["term"]
    second = gradient(1, {"value": np.ones(1)}, {"term": term})
    first = gradient(0, {"term": second["term.grad"]})
    prior = gradient(2, {"value": np.ones(1)})
    given = {key: launches[0][2][key] for key in ("x", "alpha", "mean", "q", "l")}
    return differ(objective, given, lambda key: first[key + ".grad"] + prior.get(key + ".grad", 0.0))


def whole_lstm(kc, folder):
    """The same of LSTM."""
    [(name, threads, values)] = lstm(2, 9, 5)
    run([kc, "run", "--out-dir", folder, write_launch(folder, name, threads, values)])
    found = dict(np.load(os.path.join(folder, name + ".npz")))
    given = {key: values[key] for key in ("weight", "extra", "state")}
    by = lambda **changed: loss(**changed, sequence=values["sequence"])
    return differ(by, given, lambda key: found[key + ".grad"])


def differ(objective, values, gradient):
    """The greatest relative error of the gradient by each of the values, against differences."""
    worst, step = 0.0, 1e-6
    for key in values:
        found = gradient(key)
        expected = np.empty_like(values[key])
        for at in np.ndindex(expected.shape):
            up, down = values[key].copy(), values[key].copy()
            up[at] += step
            down[at] -= step
            expected[at] = (objective(**{**values, key: up}) - objective(**{**values, key: down})) / (2 * step)
        worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return worst


def entries(kc, path):
    """Milliseconds of the forward entry, and what the gradient takes beyond it."""
    found = times(kc, path)[:2]
    first, backward = map(least, found)
    if found[0]["phase"] == "forward":
        return first, backward
    with open(path) as file:
        case = json.load(file)
    plain = path.replace("launch.json", "forward.json")
    with open(plain, "w") as file:
        json.dump({**case, "direction": "forward"}, file)
    command = [kc, "bench", "--unchecked", "--threads", "1", "--repeats", "7", "--json", plain]
    forward = least(json.loads(run(command).splitlines()[0]))
    return forward, first + backward - forward


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kc", default="target/release/kc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        small = max(check(options.kc, launches, folder) for launches in (gmm(5, 4, 6), ba(3, 5, 9), lstm(2, 6, 3)))
        whole = max(whole_gmm(options.kc, folder), whole_lstm(options.kc, folder))
        good &= small <= 1e-9 and whole <= 1e-6
        print(f"dot products of all kernels agree with forward mode to {small:.1e}, those of GMM and LSTM with differences to {whole:.1e}\n")
        head = ("problem", "objective ms", "backward ms", "pass", "gradient", "limit")
        if options.markdown:
            print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        else:
            print("{:24} {:>13} {:>12} {:>6} {:>9} {}".format(*head))
        for name, limit, size in PROBLEMS:
            if options.name and not any(name.startswith(wanted) for wanted in options.name):
                continue
            launches = {"GMM": gmm, "BA": ba, "LSTM": lstm}[name.split()[0]](*size)
            forward = backward = 0.0
            for kernel, threads, values in launches:
                path = write_launch(folder, kernel, threads, values)
                one, two = zip(*[entries(options.kc, path) for _ in range(options.rounds)])
                forward += min(one)
                backward += min(two)
            ratio = backward / forward
            good &= ratio <= limit
            row = (name, f"{forward:.2f}", f"{backward:.2f}", f"{ratio:.2f}", f"{1 + ratio:.2f}", f"{limit}")
            print("| " + " | ".join(row) + " |" if options.markdown else "{:24} {:>13} {:>12} {:>6} {:>9} {}".format(*row), flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
