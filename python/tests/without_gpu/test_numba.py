"""numba-cuda runs unchanged, and what is wrong is found at the line of Python; its twins without the fault are silent."""

import pytest
from conftest import line_of

HEAD = "import numpy as np\nfrom numba import cuda, float32\n"


def test_kernels_compute_what_they_do_on_a_gpu(gpu):
    ran = gpu(
        HEAD
        + """
@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def total(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    k = 64
    while k > 0:
        if t < k:
            tile[t] += tile[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        cuda.atomic.add(out, 0, tile[0])

@cuda.jit
def warp_total(x, out):
    v = x[cuda.grid(1)]
    for o in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(-1, v, o)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)

@cuda.jit
def turned(x, out):
    i = cuda.grid(1)
    x[i] = i
    cuda.cg.this_grid().sync()
    out[i] = x[511 - i]

x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, np.float32)
dx, dy = cuda.to_device(x), cuda.to_device(y)
saxpy[4, 256](np.float32(2), dx, dy)
print("saxpy", np.abs(dy.copy_to_host() - (2 * x + 1)).max())
out = cuda.to_device(np.zeros(1, np.float32))
total[8, 128](dx, out)
print("total", out.copy_to_host()[0] == x.sum())
stream = cuda.stream()
out = cuda.to_device(np.zeros(1, np.float32), stream)
warp_total[2, 256, stream](cuda.to_device(np.ones(512, np.float32), stream), out)
stream.synchronize()
print("warps", out.copy_to_host()[0])
a, b = cuda.to_device(np.zeros(512, np.float32)), cuda.to_device(np.zeros(512, np.float32))
turned[2, 256](a, b)
print("grid", (b.copy_to_host() == np.arange(512)[::-1]).all())
managed = cuda.managed_array(4, np.float32)
managed[:] = 1
saxpy[1, 32](np.float32(3), managed, managed)
cuda.synchronize()
print("managed", managed)
first, last = cuda.event(), cuda.event()
first.record()
last.record()
last.synchronize()
print("events", cuda.event_elapsed_time(first, last) >= 0)
"""
    )
    assert ran.out.splitlines() == [
        "saxpy 0.0",
        "total True",
        "warps 512.0",
        "grid True",
        "managed [4. 4. 4. 4.]",
        "events True",
    ], ran.said
    assert (ran.code, ran.codes()) == (0, []), ran.said


# A program with a fault, at the line that ends with the mark; the twin has the other text.
FAULTS = {
    "race in shared memory": (
        "E1113",
        """
@cuda.jit
def k(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    {0}
    y[t] = tile[63 - t]  # here
k[1, 64](cuda.to_device(np.ones(64, np.float32)), cuda.to_device(np.ones(64, np.float32)))
cuda.synchronize()
""",
        ("pass", "cuda.syncthreads()"),
    ),
    "race in global memory": (
        "E1113",
        """
@cuda.jit
def k(x, count):
    if x[cuda.grid(1)] > 0:
        {0}  # here
k[2, 64](cuda.to_device(np.ones(128, np.float32)), cuda.to_device(np.zeros(1, np.float32)))
cuda.synchronize()
""",
        ("count[0] += 1", "cuda.atomic.add(count, 0, 1)"),
    ),
    "beyond the end": (
        "E1101",
        """
@cuda.jit
def k(x):
    i = cuda.grid(1)
    if i < {0}:
        x[i] = 1.0  # here
k[2, 64](cuda.to_device(np.ones(100, np.float32)))
cuda.synchronize()
""",
        ("x.size + 1", "x.size"),
    ),
    "memory that nobody wrote": (
        "E1112",
        """
@cuda.jit
def k(x, y):
    y[cuda.grid(1)] = x[cuda.grid(1)] + 1  # here
x = {0}
k[1, 64](x, cuda.to_device(np.ones(64, np.float32)))
cuda.synchronize()
""",
        ("cuda.device_array(64, np.float32)", "cuda.to_device(np.zeros(64, np.float32))"),
    ),
    "a barrier that some threads miss": (
        "E1114",
        """
@cuda.jit
def k(x):
    t = cuda.threadIdx.x
    if t < {0}:
        cuda.syncthreads()  # here
    x[t] = 1.0
k[1, 64](cuda.to_device(np.ones(64, np.float32)))
cuda.synchronize()
""",
        ("40", "64"),
    ),
    "memory that was given back": (
        "E1123",
        """
import ctypes
@cuda.jit
def k(x, y):
    y[cuda.grid(1)] = x[cuda.grid(1)] + 1  # here
class View:
    def __init__(self, x):
        at = (x.device_ctypes_pointer.value, False)
        self.__cuda_array_interface__ = {{"shape": x.shape, "typestr": "<f4", "data": at, "version": 3}}
x = cuda.to_device(np.ones(64, np.float32))
view = cuda.as_cuda_array(View(x))
{0}
k[1, 64](view, cuda.to_device(np.ones(64, np.float32)))
cuda.synchronize()
""",
        ("ctypes.CDLL('libcuda.so.1').cuMemFree_v2(ctypes.c_uint64(x.device_ctypes_pointer.value))", "pass"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_its_line(gpu, name):
    code, text, (fault, _) = FAULTS[name]
    text = HEAD + text.format(fault)
    ran = gpu(text)
    assert (code, line_of(text, "# here")) in ran.findings(), ran.said
    assert ran.code != 0, ran.said


@pytest.mark.parametrize("name", FAULTS)
def test_its_twin_is_silent(gpu, name):
    _, text, (_, right) = FAULTS[name]
    ran = gpu(HEAD + text.format(right))
    assert (ran.code, ran.codes()) == (0, []), ran.said


@pytest.mark.parametrize("size", [10, 128, 1000, 5000])
def test_reductions_of_numba(gpu, size):
    """Two lanes come to a barrier of the warp in a branch, and the others leave the kernel: nobody waits for these."""
    ran = gpu(HEAD + f"""
total = cuda.reduce(lambda a, b: a + b)
print(total(cuda.to_device(np.arange({size}.0))))
""")
    assert (ran.code, ran.out, ran.codes()) == (0, f"{size * (size - 1) / 2}\n", []), ran.said


def test_the_package_has_the_command(tmp_path):
    """`python -m kc gpu` runs a program by the same interpreter, with the driver that the package carries."""
    import os
    import subprocess
    import sys

    from conftest import ROOT

    file = tmp_path / "program.py"
    file.write_text(
        HEAD + "import sys\nx = cuda.to_device(np.arange(4.0))\nprint(sys.executable, x.copy_to_host().sum())\n"
    )
    paths = {"PYTHONPATH": str(ROOT / "python")}
    hidden = ("KC_GPU_LIBRARY", "KC_PYTHON")
    variables = {name: value for name, value in os.environ.items() if name not in hidden} | paths
    command = [sys.executable, "-m", "kc", "gpu", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=600, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, [sys.executable, "6.0"]), done.stderr
