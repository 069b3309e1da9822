"""cuda.core and CUDA C++ by NVRTC run unchanged; faults are found at the line of the C++ text."""

import json

import pytest
from conftest import line_of

PROGRAM = """
import numpy as np
from cuda.bindings import driver as cu
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device(0)
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_90", lineinfo=True, name={file!r})
kernel = Program(open({file!r}).read(), "c++", options).compile("ptx").get_kernel("k")


def given(values):
    (error, at) = cu.cuMemAlloc(values.nbytes)
    assert error == cu.CUresult.CUDA_SUCCESS
    cu.cuMemcpyHtoD(at, values.ctypes.data, values.nbytes)
    return at


n = 1000
x, y = given(np.arange(n, dtype=np.float32)), given(np.ones(n, np.float32))
launch(stream, LaunchConfig(grid=4, block=256), kernel, np.float32(2), int(x), int(y), np.uint64(n))
stream.sync()
out = np.zeros(n, np.float32)
cu.cuMemcpyDtoH(out.ctypes.data, y, out.nbytes)
print(device.name, device.compute_capability, out[:3])
"""

KERNEL = """extern "C" __global__ void k(float a, const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i FAULT n)
        y[i] = a * x[i] + y[i]; // here
}
"""


@pytest.mark.parametrize("fault, code", [("<=", 1), ("<", 0)])
def test_a_program_of_cuda_cpp(gpu, tmp_path, fault, code):
    text = KERNEL.replace("FAULT", fault)
    file = tmp_path / "k.cu"
    file.write_text(text)
    ran = gpu(PROGRAM.format(file=str(file)), "--report", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    found = [(finding["code"], finding["file"], finding["line"]) for finding in report["findings"]]
    if code == 0:
        assert "H100 SXM (simulated by kc)" in ran.out and "[1. 3. 5.]" in ran.out, ran.said
        assert (ran.code, found) == (0, []), ran.said
    else:
        assert ran.code != 0 and set(found) == {("E1101", str(file), line_of(text, "// here"))}, ran.said
    (launch,) = report["launches"]
    assert (launch["entry"], launch["grid"], launch["block"]) == ("k", [4, 1, 1], [256, 1, 1])
    if code == 0:
        # Two loads of each of the 32 warps.
        assert launch["metrics"]["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]["value"] == 64


CLUSTERS = """
import numpy as np
from cuda.bindings import driver as cu
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device(0)
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_90", lineinfo=True, name={file!r})
kernel = Program(open({file!r}).read(), "c++", options).compile("ptx").get_kernel("k")
error, at = cu.cuMemAlloc(4 * 512)
# Four clusters of two blocks.
launch(stream, LaunchConfig(grid=4, block=64, cluster=2), kernel, int(at))
stream.sync()
out = np.zeros(512, np.int32)
cu.cuMemcpyDtoH(out.ctypes.data, at, out.nbytes)
print((out == (np.arange(512) ^ 64)).all())
"""

OF_CLUSTERS = """__device__ void meet() { __cluster_barrier_arrive(); __cluster_barrier_wait(); }

extern "C" __global__ void k(int *out)
{
    __shared__ int tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i;
    meet(); // first
    int *other = (int *)__cluster_map_shared_rank(tile, __clusterRelativeBlockRank() ^ 1);
    out[i] = other[threadIdx.x]; // here
    meet(); // last
}
"""


@pytest.mark.parametrize(
    "old, new, codes",
    [
        ("meet(); // first", "meet();", []),
        ("meet(); // first", "__syncthreads();", ["E1113"]),
        ("meet(); // last", "", ["E1101"]),
        ("other[threadIdx.x]; //", "other[threadIdx.x + 1]; //", ["E1101"]),
    ],
)
def test_blocks_of_a_cluster_reach_each_other(gpu, tmp_path, old, new, codes):
    text = OF_CLUSTERS.replace(old, new)
    file = tmp_path / "k.cu"
    file.write_text(text)
    ran = gpu(CLUSTERS.format(file=str(file)), "--arch", "sm_90", "--report", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    found = {(finding["code"], finding["line"]) for finding in report["findings"]}
    assert found == {(code, line_of(text, "// here")) for code in codes}, ran.said
    assert (ran.code == 0) == (codes == []), ran.said
    if not codes:
        assert ran.out == "True\n"


OBJECTS = """
import numpy as np
from cuda.bindings import driver as cu
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device(0)
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch="sm_90", lineinfo=True, name={file!r})
module = Program(open({file!r}).read(), "c++", options).compile("ptx")
n = 200
error, shapes = cu.cuMemAlloc(8 * n)
error, at = cu.cuMemAlloc(4 * n)
for name in ("make", "measure"):
    launch(stream, LaunchConfig(grid=2, block=128), module.get_kernel(name), int(shapes), int(at), np.int32(n))
    stream.sync()
out = np.zeros(n, np.float32)
cu.cuMemcpyDtoH(out.ctypes.data, at, out.nbytes)
i = np.arange(n, dtype=np.float32)
areas = np.where(i % 2 == 0, i * i, np.float32(3) * i)
print((out == np.where(i % 3 == 0, -areas, areas + 1)).all())
"""

OF_OBJECTS = """struct Shape {
    float size;
    __device__ Shape(float size) : size(size) {}
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    using Shape::Shape;
    __device__ float area() const override { return size * size; }
};
struct Strip : Shape {
    using Shape::Shape;
    __device__ float area() const override { return 3 * size; }
};

__device__ float negative(float x) { return -x; }
__device__ float next(float x) { return x + 1; }
__device__ float (*const changes[])(float) = {negative, next};

extern "C" __global__ void make(Shape **shapes, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        shapes[i] = i % 2 ? (Shape *)new Strip(i) : new Square(i);
}

extern "C" __global__ void measure(Shape **shapes, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    out[i] = changes[i % 3 != 0](shapes[i]->area()); // here
    delete shapes[i];
}
"""


@pytest.mark.parametrize(
    "old, new, codes",
    [
        ("", "", set()),
        # The object is gone, and with it the table of its functions.
        ("out[i] = changes", "delete shapes[i]; out[i] = changes", {"E1101"}),
        ("out[i] = changes", "free(shapes[i]); free(shapes[i]); out[i] = changes", {"E1124"}),
        ("changes[i % 3 != 0]", "(*(float (**)(float))&shapes[i])", {"E1101"}),
    ],
)
def test_kernels_make_objects_with_virtual_functions(gpu, tmp_path, old, new, codes):
    text = OF_OBJECTS.replace(old, new, 1) if old else OF_OBJECTS
    file = tmp_path / "k.cu"
    file.write_text(text)
    ran = gpu(OBJECTS.format(file=str(file)), "--report", "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    found = {(finding["code"], finding["line"]) for finding in report["findings"]}
    assert found == {(code, line_of(text, "// here")) for code in codes}, ran.said
    assert (ran.code == 0) == (not codes), ran.said
    if not codes:
        assert ran.out == "True\n"
