"""Sparse matrices times vectors in four ways, on matrices of three shapes: results compared with a plain product, cost counted by
`kc profile` without a GPU. Prints a table in Markdown.

    python3 examples/spmv_study/study.py [--kc KC] [--rows N] [--device sim|host|interp] [--html FOLDER] [FILE.mtx ...]
"""

import argparse
import ast
import json
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KERNELS = ["csr_scalar", "csr_vector", "merge_path", "ell"]
LANES, SHARE = 32, 8


def power_law(rows, draw):
    """Few rows are long: row i of a random order has about rows / (4 (i + 1)) entries, and at least 2."""
    order = list(range(rows))
    draw.shuffle(order)
    matrix = [[] for _ in range(rows)]
    for place, row in enumerate(order):
        matrix[row] = sorted(draw.sample(range(rows), min(rows, max(2, rows // (4 * (place + 1))))))
    return matrix


def banded(rows, draw):
    return [list(range(max(0, row - 4), min(rows, row + 5))) for row in range(rows)]


def fem(rows, draw):
    """Nodes of a square grid of quadrilaterals, numbered at random in patches of 8: each is coupled with its 8 neighbours."""
    side = int(rows**0.5)
    number = []
    for start in range(0, side * side, 8):
        patch = list(range(start, min(start + 8, side * side)))
        draw.shuffle(patch)
        number += patch
    matrix = [[] for _ in range(side * side)]
    for i in range(side):
        for j in range(side):
            near = [(a, b) for a in (i - 1, i, i + 1) for b in (j - 1, j, j + 1) if 0 <= a < side and 0 <= b < side]
            matrix[number[i * side + j]] = sorted(number[a * side + b] for a, b in near)
    return matrix


def matrix_market(path):
    """Rows of columns and values of a square matrix in coordinates: real, integer or pattern; general or symmetric."""
    lines = iter(Path(path).read_text(encoding="utf-8", errors="replace").splitlines())
    head = next(lines, "").lower().split()
    if len(head) != 5 or head[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        sys.exit(f"{path}: not a matrix in coordinates in Matrix Market form")
    field, symmetry = head[3:]
    if field not in ("real", "integer", "pattern") or symmetry not in ("general", "symmetric"):
        sys.exit(f"{path}: {field} {symmetry} matrices are not read")
    entries = [line.split() for line in lines if line.strip() and not line.startswith("%")]
    try:
        rows, columns, count = map(int, entries[0])
        found = [{} for _ in range(rows)]
        for entry in entries[1:]:
            i, j, value = int(entry[0]) - 1, int(entry[1]) - 1, 1.0 if field == "pattern" else float(entry[2])
            if not (0 <= i < rows and 0 <= j < columns):
                raise ValueError("an entry is outside")
            found[i][j] = found[i].get(j, 0.0) + value
            if symmetry == "symmetric" and i != j:
                found[j][i] = found[j].get(i, 0.0) + value
        if rows != columns or len(entries) - 1 != count:
            raise ValueError("it is not square, or lacks entries")
    except (ValueError, IndexError) as why:
        sys.exit(f"{path}: {why}")
    return [sorted(row.items()) for row in found]


def array(name, scalar, shape, fill):
    dtype = {"class": "scalar", "scalar": scalar, "shape": []}
    return {"name": name, "kind": "array", "dtype": dtype, "ndim": len(shape), "shape": shape, "fill": fill}


def launch(kernel, matrix, x):
    """The launch of a kernel, and the numbers of its arrays."""
    rows = len(matrix)
    if kernel == "ell":
        width = max(map(len, matrix))
        filled = [row + [(0, 0.0)] * (width - len(row)) for row in matrix]
        columns = [filled[row][n][0] for n in range(width) for row in range(rows)]
        values = [filled[row][n][1] for n in range(width) for row in range(rows)]
        args, dim = [array("column", "int32", [width, rows], columns), array("value", "float32", [width, rows], values)], [rows]
    else:
        starts = [0]
        for row in matrix:
            starts.append(starts[-1] + len(row))
        entries = [entry for row in matrix for entry in row]
        args = [array("row_start", "int32", [rows + 1], starts), array("column", "int32", [len(entries)], [c for c, _ in entries])]
        args.append(array("value", "float32", [len(entries)], [v for _, v in entries]))
        dim = {"csr_scalar": [rows], "csr_vector": [rows, LANES], "merge_path": [-(-(rows + len(entries)) // SHARE)]}[kernel]
    args += [array("x", "float32", [rows], x), array("y", "float32", [rows], 0)]
    source = str(HERE / "kernels.py")
    return {"format": 1, "id": kernel, "source": source, "kernel": kernel, "dim": dim, "block_dim": 256, "args": args}


def read_npy(path):
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    shape = ast.literal_eval(data[10 : 10 + length].decode())["shape"]
    return struct.unpack(f"<{shape[0]}f", data[10 + length :])


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def product(matrix, x):
    """In float64, and what errors of float32 are measured by: the sums of magnitudes."""
    try:
        from scipy.sparse import csr_matrix

        starts = [0]
        for row in matrix:
            starts.append(starts[-1] + len(row))
        entries = [entry for row in matrix for entry in row]
        of = csr_matrix(([v for _, v in entries], [c for c, _ in entries], starts), shape=(len(matrix), len(x)))
        return list(of @ x), list(abs(of) @ [abs(v) for v in x]), "scipy"
    except ImportError:
        exact = [sum(v * x[c] for c, v in row) for row in matrix]
        return exact, [sum(abs(v * x[c]) for c, v in row) for row in matrix], "a plain product"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kc", default="kc")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--device", default="sim")
    parser.add_argument("--html", type=Path)
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    draw = random.Random(1)
    matrices = {shape.__name__: shape(given.rows, draw) for shape in (power_law, banded, fem)}
    matrices = {name: [[(c, float32(draw.uniform(-1, 1))) for c in row] for row in matrix] for name, matrix in matrices.items()}
    for file in given.files:
        matrices[Path(file).stem] = [[(c, float32(v)) for c, v in row] for row in matrix_market(file)]
    wrong = 0
    print("| matrix | rows, entries | kernel | bytes to the GPU | sectors | sectors a load | lanes | warp instructions | DRAM bytes |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, matrix in matrices.items():
        x = [float32(draw.uniform(-1, 1)) for _ in matrix]
        exact, scale, by = product(matrix, x)
        for kernel in KERNELS:
            with tempfile.TemporaryDirectory() as folder:
                case, y = Path(folder, "case.json"), Path(folder, "y.npy")
                made = launch(kernel, matrix, x)
                case.write_text(json.dumps(made))
                subprocess.run([given.kc, "run", case, "--device", given.device, "--npy", f"y={y}"], check=True, stdout=subprocess.DEVNULL)
                got = read_npy(y)
                longest = max(map(len, matrix))
                for row, (a, b, size) in enumerate(zip(got, exact, scale)):
                    if not abs(a - b) <= (longest + 2) * 2.0**-23 * size:
                        print(f"{name}, {kernel}: row {row} is {a}, and {b} by {by}", file=sys.stderr)
                        wrong += 1
                flags = ["--json", "--registers", "32"]
                if given.html:
                    given.html.mkdir(parents=True, exist_ok=True)
                    flags += ["--html", given.html / f"{name}-{kernel}.html"]
                text = subprocess.run([given.kc, "profile", case, *flags], check=True, stdout=subprocess.PIPE).stdout
                metrics = json.loads(text)["kernels"][0]["metrics"]
            of = lambda metric: metrics[metric]["value"]
            sent = sum(4 * len(one["fill"]) for one in made["args"] if isinstance(one["fill"], list))
            cells = [name, f"{len(matrix)}, {sum(map(len, matrix))}", kernel, sent, of("memory_l2_theoretical_sectors_global")]
            cells.append(f"{of('l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio'):.1f}")
            cells.append(f"{of('smsp__thread_inst_executed_per_inst_executed.ratio'):.1f}")
            cells += [of("smsp__inst_executed.sum"), of("dram__bytes_read.sum") + of("dram__bytes_write.sum")]
            print("| " + " | ".join(map(str, cells)) + " |")
    print(f"\n{len(matrices) * len(KERNELS)} products compared with {by}, {wrong} rows differ")
    sys.exit(1 if wrong else 0)


main()
