"""How near is the CUDA of a data set to CUDA that people write?

    .env-data/bin/python benches/cuda_style.py SET FOLDER...

SET was made by `kc dataset --emit cuda,idiomatic --format parquet`; each FOLDER holds the `.cu` and `.cuh` files of one project. Printed are, for the kernels of
`cuda_forward`, of `cuda_idiomatic` and of each project: the share of kernels that have a mark (`__restrict__`, blocks of two dimensions, shared memory, ..), and how near
their vectors of counts are to those of all projects: precision (kernels that lie within the distance of a person's kernel to its fifth neighbour) and coverage (kernels of
people that have such a neighbour in the set), after Kynkaanniemi et al., "Improved precision and recall metric for assessing generative models", 2019. A project is
compared with the others.
"""

import pathlib
import re
import sys

import numpy as np
import pyarrow.parquet

NEIGHBOURS = 5

MARKS = {
    "`__restrict__`": r"__restrict__",
    "descriptors or views as parameters": r"\b(array\d?<|PackedTensorAccessor|launch_bounds dim)",
    "`const` parameters": r"^[^{]*\bconst\b",
    "returns above the extent": r"if \([^;{]*>=?[^;{]*\)\s*\{?\s*return;",
    "grid-stride loop": r"for \([^;]*;[^;]*;[^)]*\+= *(task_step\(\)|blockDim\.x \* gridDim\.x|gridDim\.x \* blockDim\.x|stride)",
    "coordinates along y": r"(block|thread)Idx\.y",
    "shared memory": r"__shared__",
    "`__syncthreads`": r"__syncthreads",
    "shuffles": r"__shfl|warp_add|warpReduce|cg::reduce",
    "atomics": r"atomic[A-Z]\w+\(|atomic\w*\(",
    "vector loads": r"\b(float4|float2|int4|uint4|Packed128|x128)\b",
    "a loop": r"\b(for|while) ?\(",
    "unrolled by a pragma": r"#pragma unroll",
    "a comment": r"//|/\*",
    "computed flat index": r"\[[^\[\]]*\*[^\[\]]*\+[^\[\]]*\]",
    "maths functions": r"\b(sqrtf?|rsqrtf?|expf?|logf?|powf?|sinf?|cosf?|fabsf?|fmaxf?|fminf?)\(",
    "casts": r"\((int|float|double|unsigned|size_t|unsigned int)\)",
}

COUNTS = [
    r"\bif\b", r"\bfor\b", r"\bwhile\b", r"\breturn\b", r"\belse\b", r"\?", r"\[", r"\*", r"\+", r"-", r"/(?![/*])", r"%", r"==|!=|<=|>=|[<>](?!<)", r"&&|\|\|",
    r"<<|>>|[&|^](?![&|])", r"=(?!=)", r"\+=|-=|\*=", r"\+\+|--", r";", r"\{", r"\bint\b", r"\bfloat\b", r"\bdouble\b", r"\bunsigned\b", r"\bconst\b", r"__restrict__",
    r"threadIdx", r"blockIdx", r"blockDim|gridDim", r"__shared__", r"__sync", r"__shfl", r"atomic", r"\b\d+\b", r"\d\.\d*f", r"//", r"\b[a-z]\b", r"\b[a-z]+_[a-z_]+\b",
    r"\b[a-z]+[A-Z]\w*\b", r"\.[xyzw]\b", r"->", r"\w\(", r",",
]


def kernels(text):
    """The kernels of a text: from `__global__` to the brace that closes the body."""
    for found in re.finditer(r"__global__\s+void\b", text):
        start = text.find("{", found.end())
        end = text.find(";", found.end())
        if start < 0 or 0 <= end < start:
            continue
        depth = 0
        for at in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                yield text[found.start() : at + 1]
                break


def vector(kernel):
    lines = [line for line in kernel.splitlines() if line.strip()]
    counts = [len(re.findall(pattern, kernel)) for pattern in COUNTS]
    words = re.findall(r"[A-Za-z_]\w*", kernel)
    widths = sorted(map(len, lines))
    shape = [len(lines), np.mean([len(word) for word in words]), widths[int(0.9 * (len(widths) - 1))], len(set(words)) / len(words)]
    return np.log1p(np.array(counts + shape, dtype=float))


def nearness(own, people):
    """Precision and coverage of vectors beside those of people."""
    mean, scale = people.mean(axis=0), people.std(axis=0) + 1e-9
    own, people = (own - mean) / scale, (people - mean) / scale

    def distances(a, b):
        return np.sqrt(np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1)[None] - 2 * a @ b.T, 0.0))

    reach = np.sort(distances(people, people), axis=1)[:, NEIGHBOURS]
    between = distances(own, people)
    within = between <= reach[None]
    return within.any(axis=1).mean(), within.any(axis=0).mean()


def main():
    folder, projects = pathlib.Path(sys.argv[1]), [pathlib.Path(path) for path in sys.argv[2:]]
    groups = {}
    for column in ("cuda_forward", "cuda_idiomatic"):
        tables = [pyarrow.parquet.read_table(path, columns=[column]) for path in sorted(folder.glob("data/pairs/*.parquet"))]
        texts = [text for table in tables for text in table[column].to_pylist() if text]
        groups[column] = [kernel for text in texts for kernel in kernels(text)]
    for project in projects:
        files = [path for path in sorted(project.rglob("*")) if path.suffix in (".cu", ".cuh") and path.is_file()]
        found = {kernel for path in files for kernel in kernels(path.read_text(errors="replace"))}
        groups[project.name] = sorted(found)
    names = [project.name for project in projects]
    vectors = {name: np.array([vector(kernel) for kernel in group]) for name, group in groups.items()}
    print("| | " + " | ".join(groups) + " |")
    print("|---|" + "---|" * len(groups))
    print("| kernels | " + " | ".join(str(len(group)) for group in groups.values()) + " |")
    for mark, pattern in MARKS.items():
        shares = [np.mean([bool(re.search(pattern, kernel, re.MULTILINE)) for kernel in group]) for group in groups.values()]
        print(f"| {mark} | " + " | ".join(f"{100 * share:.0f} %" for share in shares) + " |")
    rows = {"precision": [], "coverage": []}
    for name in groups:
        people = np.concatenate([vectors[other] for other in names if other != name])
        precision, coverage = nearness(vectors[name], people)
        rows["precision"].append(precision)
        rows["coverage"].append(coverage)
    for name, values in rows.items():
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in values) + " |")


if __name__ == "__main__":
    main()
