"""Answers as upstream takes them: a ``ModelNew`` of PyTorch with kc's CUDA text in it, which needs no kc."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile

from ._children import environment

#: Threads of a block, with tiles and without.
_THREADS = 256

_HEAD = '''# Task {id}: {title}. The CUDA text was compiled by kc from {source}.
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline
{imports}
cuda_source = r"""
{cuda}
"""

cpp_source = r"""
{declarations}
"""

kernels = load_inline(
    name="kc_{name}", cpp_sources=cpp_source, cuda_sources=cuda_source, functions={functions}, verbose=False
)


def launched(kernel):
    """Called with the dimensions of the launch, a number or several, and the arguments."""
    return lambda dim, *arguments: kernel([dim] if isinstance(dim, int) else list(dim), *arguments)


{kernels}


def empty(shape, like, dtype=None):
    return torch.empty(shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)


class Model(nn.Module):
    def __init_subclass__(cls):
        own = cls.__init__

        def made(self, *arguments, **named):
            nn.Module.__init__(self)
            if own is not nn.Module.__init__:
                own(self, *arguments, **named)

        cls.__init__ = made

    def parameter(self, *shape, one=False, zero=False, fan_in=None, normal=False):
        if normal:
            return nn.Parameter(torch.randn(shape))
        made = nn.Parameter(torch.empty(shape))
        if one or zero or (fan_in is None and len(shape) < 2):
            nn.init.constant_(made, 1.0 if one else 0.0)
        elif fan_in:
            nn.init.uniform_(made, -(fan_in ** -0.5), fan_in ** -0.5)
        else:
            nn.init.kaiming_uniform_(made, a=5 ** 0.5)
        return made


{model}
'''

#: Behind kc's text: a descriptor of a tensor, and how many blocks a launch has.
_HOST = '''
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

template <typename A, typename T> static A described(const torch::Tensor &tensor) {
    A array = {};
    array.data = reinterpret_cast<T *>(tensor.data_ptr());
    array.ndim = (int)tensor.dim();
    for (int d = 0; d < array.ndim; ++d) {
        array.shape[d] = (int)tensor.size(d);
        array.strides[d] = (int)(tensor.stride(d) * (int64_t)sizeof(T));
    }
    return array;
}

static kc_text::launch_bounds bounds(const std::vector<int64_t> &dim) {
    kc_text::launch_bounds made = {};
    made.size = 1;
    for (size_t d = 0; d < dim.size(); ++d) {
        made.shape[d] = (unsigned int)dim[d];
        made.size *= (unsigned long long)dim[d];
    }
    return made;
}
'''


class NotExported(Exception):
    """The answer cannot be written in this form; the text says why."""


def _compiled(path, tf32):
    """kc's CUDA text of a file, forward entries alone, and their description. ``tf32``: its products are computed by tensor cores."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["compile", path, "--emit", "cuda,meta", "--no-backward", "--out-dir", folder]
        if tf32:
            words += ["--cuda-tensor-cores", "--tensor-cores", "tf32"]
        done = subprocess.run([sys.executable, "-m", "kc", "--color", "never", *words], capture_output=True, text=True,
                              env=environment())
        if done.returncode:
            raise NotExported((done.stdout + done.stderr).strip())
        stem = os.path.join(folder, os.path.splitext(os.path.basename(path))[0])
        with open(stem + ".cu", encoding="utf-8") as text, open(stem + ".json", encoding="utf-8") as description:
            return text.read(), json.load(description)


def _parameter(one):
    """A parameter of the host function, and what the kernel is given for it."""
    name, kind, scalar = one["name"], one["kind"], one["dtype"]["scalar"]
    types = {"float32": "float", "int32": "int", "int64": "kc_text::int64", "bool": "bool"}
    if scalar not in types:
        raise NotExported(f"a parameter of {scalar} is not exported: `{name}`")
    if kind == "array":
        array = f"kc_text::array{one['ndim']}<{types[scalar]}>"
        return f"const torch::Tensor &{name}", f"described<{array}, {types[scalar]}>({name})"
    if one["dtype"]["class"] == "vec" and scalar == "int32":
        n = one["dtype"]["shape"][0]
        return f"const std::vector<int64_t> &{name}", f"kc_text::vec{n}i{{{', '.join(f'(int){name}[{k}]' for k in range(n))}}}"
    if one["dtype"]["class"] == "scalar":
        return f"{'double' if scalar == 'float32' else 'bool' if scalar == 'bool' else 'int64_t'} {name}", f"({types[scalar]}){name}"
    raise NotExported(f"a parameter of this type is not exported: `{name}`")


def _launcher(kernel):
    """The declaration and the definition of the function that launches a kernel."""
    entry = kernel["entries"]["forward"]
    if entry.get("block", {}).get("dynamic_shared_bytes"):
        raise NotExported(f"kernel `{kernel['name']}` takes more than 48 KiB of shared memory")
    made = [_parameter(one) for one in entry["params"]]
    head = f"void {kernel['name']}({', '.join(['const std::vector<int64_t> &dim', *(p for p, _ in made)])})"
    # With tiles a block does a task; else its threads do one each.
    blocks = "launch.size" if "block" in entry else f"(launch.size + {_THREADS - 1}) / {_THREADS}"
    given = ", ".join(["launch", *(g for _, g in made)])
    body = (
        f"{head} {{\n    kc_text::launch_bounds launch = bounds(dim);\n    if (launch.size == 0) return;\n"
        f"    unsigned long long blocks = {blocks};\n    unsigned int grid = (unsigned int)(blocks < 2147483647ull ? blocks : 2147483647ull);\n"
        f"    kc_text::{entry['cuda']}<<<grid, {_THREADS}, 0, at::cuda::getCurrentCUDAStream()>>>({given});\n}}\n"
    )
    return head + ";", body


def _python(path):
    """What the file has besides kernels: imports, constants, and the class."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    imports, kept = [], []
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            if not any(name.split(".")[0] == "kc" for name in names):
                imports.append(ast.get_source_segment(text, node))
        elif isinstance(node, ast.FunctionDef) and any("kc" in ast.unparse(d) for d in node.decorator_list):
            continue
        elif isinstance(node, ast.Assign):
            kept.append(ast.unparse(_Plain().visit(node)))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        else:
            kept.append(ast.get_source_segment(text, node))
    left = [line for part in kept for line in part.splitlines() if "kc." in line]
    if left:
        raise NotExported(f"its Python code uses kc: `{left[0].strip()}`")
    return imports, kept


class _Plain(ast.NodeTransformer):
    """``kc.constant(64)`` is 64."""

    def visit_Call(self, node):
        self.generic_visit(node)
        return node.args[0] if ast.unparse(node.func) == "kc.constant" and len(node.args) == 1 else node


def text_of(task, path, tf32=False) -> str:
    """The file for upstream: ``ModelNew`` with kc's CUDA text in ``load_inline``."""
    cuda, description = _compiled(path, tf32)
    made = [_launcher(kernel) for kernel in description["kernels"]]
    names = [kernel["name"] for kernel in description["kernels"]]
    imports, kept = _python(path)
    # No name of kc's text meets one of PyTorch's headers.
    text = "namespace kc_text {\n" + cuda.strip() + "\n}\n" + _HOST + "\n" + "\n".join(body for _, body in made)
    if '"""' in text:
        raise NotExported("its CUDA text has three quotation marks in a row")
    return _HEAD.format(
        id=task.key, title=task.title, source=os.path.basename(path), imports="".join(line + "\n" for line in imports), cuda=text,
        declarations="#include <torch/extension.h>\n" + "\n".join(head for head, _ in made), name=f"level{task.level}_task{task.id}",
        functions=json.dumps(names), kernels="\n".join(f"{n} = launched(kernels.{n})" for n in names), model="\n\n".join(kept),
    )


def name_of(task, sample=0) -> str:
    """The name that upstream's evaluator looks for."""
    return f"level_{task.level}_problem_{task.id}_sample_{sample}_kernel.py"
