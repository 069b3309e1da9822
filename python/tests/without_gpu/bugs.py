"""40 bugs as people write them, each with a twin that is right: what a program says in place of
`FAULT`. The line that a finding must name ends with `here`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """What is wrong, the code of the finding, and the two texts. `kernel` is CUDA C++, `text` Python."""

    code: str
    fault: str
    right: str
    text: str
    kernel: str = ""
    head: str = "numba"


def of_triton(*args):
    return Bug(*args, head="triton")


def of_cpp(code, fault, right, kernel, text):
    return Bug(code, fault, right, text, kernel, head="c++")


RACES = {
    "numba: a tile is read without a barrier": Bug(
        "E1113",
        "pass",
        "cuda.syncthreads()",
        """
@cuda.jit
def turn(a, b):
    tile = cuda.shared.array((16, 16), float32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    tile[j, i] = a[y + j, x + i]
    FAULT
    b[x + j, y + i] = tile[i, j]  # here
turn[(2, 3), (16, 16)](ones(48, 32), ones(32, 48))
cuda.synchronize()
""",
    ),
    "numba: the next tile overwrites the one in use": Bug(
        "E1113",
        "pass",
        "cuda.syncthreads()",
        """
@cuda.jit
def product(a, b, c):
    of_a, of_b = cuda.shared.array((8, 8), float32), cuda.shared.array((8, 8), float32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    sum = float32(0)
    for k in range(0, 32, 8):
        of_a[j, i] = a[j, k + i]
        of_b[j, i] = b[k + j, i]
        cuda.syncthreads()
        for n in range(8):
            sum += of_a[j, n] * of_b[n, i]  # here
        FAULT
    c[j, i] = sum
product[1, (8, 8)](ones(8, 32), ones(32, 8), ones(8, 8))
cuda.synchronize()
""",
    ),
    "numba: two buffers that are the same one": Bug(
        "E1113",
        "0",
        "step % 2",
        """
@cuda.jit
def steps(x, y):
    tiles = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    sum = float32(0)
    for step in range(4):
        which = FAULT
        tiles[which, t] = x[step, t]
        cuda.syncthreads()
        sum += tiles[which, (t + 33) % 64]  # here
    y[t] = sum
steps[1, 64](ones(4, 64), ones(64))
cuda.synchronize()
""",
    ),
    "numba: lanes of a warp that nothing keeps in step": Bug(
        "E1113",
        "pass",
        "cuda.syncwarp()",
        """
@cuda.jit
def total(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    tile[t + 32] = x[t + 32]
    k = 32
    while k > 0:
        if t < k:
            tile[t] += tile[t + k]  # here
        FAULT
        k //= 2
    if t == 0:
        y[0] = tile[0]
total[1, 32](ones(64), ones(32))
cuda.synchronize()
""",
    ),
    "Triton: programs write the same elements": of_triton(
        "E1113",
        "(B - 16)",
        "B",
        """
@triton.jit
def fill(x, B: tl.constexpr):
    i = tl.program_id(0) * FAULT + tl.arange(0, B)
    tl.store(x + i, tl.program_id(0) + tl.zeros((B,), tl.float32))  # here
fill[(4,)](zeros(4 * 128), B=128)
""",
    ),
    "Triton: a sum of programs that is no atomic": of_triton(
        "E1113",
        "tl.store(out, tl.load(out) + s)",
        "tl.atomic_add(out, s)",
        """
@triton.jit
def total(x, out, B: tl.constexpr):
    s = tl.sum(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)))
    FAULT  # here
total[(8,)](zeros(8 * 64), zeros(1), B=64)
""",
    ),
    "Triton: scratch memory is read before all have written": of_triton(
        "E1113",
        "pass",
        "tl.debug_barrier()",
        """
@triton.jit
def turn(x, scratch, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(scratch + i, tl.load(x + i))
    FAULT
    tl.store(o + i, tl.load(scratch + (B - 1 - i)))  # here
turn[(1,)](zeros(512), zeros(512), zeros(512), B=512)
""",
    ),
    "C++: the last block adds up what no fence published": of_cpp(
        "E1113",
        "",
        "__threadfence();",
        """
__device__ unsigned int done = 0;
extern "C" __global__ void k(const float *x, float *parts, float *out)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x];
        FAULT
        last = atomicAdd(&done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++)
            sum += parts[i]; // here
        *out = sum;
    }
}
""",
        """
launch(kernel("k"), 4, 32, ones(4), ones(4), ones(1))
wait()
""",
    ),
    "C++: bins in shared memory that are no atomics": of_cpp(
        "E1113",
        "bins[x[i] % 16]++;",
        "atomicAdd(&bins[x[i] % 16], 1);",
        """
extern "C" __global__ void k(const unsigned *x, unsigned *out)
{
    __shared__ unsigned bins[16];
    unsigned i = threadIdx.x;
    if (i < 16) bins[i] = 0;
    __syncthreads();
    FAULT // here
    __syncthreads();
    if (i < 16) out[i] = bins[i];
}
""",
        """
launch(kernel("k"), 1, 128, given(np.arange(128, dtype=np.uint32) * 7), ones(16))
wait()
""",
    ),
    "C++: a copy that is read before it came": of_cpp(
        "E1113",
        "",
        'asm volatile("cp.async.wait_all;" ::: "memory");',
        """
extern "C" __global__ void k(const float *x, float *y)
{
    __shared__ float tile[64];
    unsigned t = threadIdx.x, at = (unsigned)__cvta_generic_to_shared(&tile[t]);
    tile[t] = 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(x + t) : "memory");
    FAULT
    __syncthreads();
    y[t] = tile[t]; // here
}
""",
        """
launch(kernel("k"), 1, 64, ones(64), ones(64))
wait()
""",
    ),
}

BOUNDS = {
    "numba: a neighbour that the last one lacks": Bug(
        "E1101",
        "i < x.size",
        "i + 1 < x.size",
        """
@cuda.jit
def slopes(x, y):
    i = cuda.grid(1)
    if FAULT:
        y[i] = x[i + 1] - x[i]  # here
slopes[4, 64](ones(200), ones(200))
cuda.synchronize()
""",
    ),
    "numba: rows and columns are mixed up": Bug(
        "E1101",
        "a[i, j]",
        "a[j, i]",
        """
@cuda.jit
def double(a):
    i, j = cuda.grid(2)
    if i < a.shape[1] and j < a.shape[0]:
        FAULT *= 2  # here
double[(4, 1), (8, 8)](ones(8, 30))
cuda.synchronize()
""",
    ),
    "numba: a tile without room for its edge": Bug(
        "E1101",
        "64",
        "65",
        """
@cuda.jit
def sums(x, y):
    tile = cuda.shared.array(FAULT, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    if t == 0:
        tile[64] = x[64]  # here
    cuda.syncthreads()
    y[t] = tile[t] + tile[t + 1]
sums[1, 64](ones(65), ones(64))
cuda.synchronize()
""",
    ),
    "Triton: a mask that is missing": of_triton(
        "E1101",
        "x + i",
        "x + i, mask=i < n",
        """
@triton.jit
def double(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(FAULT) * 2  # here
    tl.store(o + i, v, mask=i < n)
double[(4,)](zeros(1000), zeros(1000), 1000, B=256)
""",
    ),
    "Triton: what is before the first": of_triton(
        "E1101",
        "i < n",
        "(i > 0) & (i < n)",
        """
@triton.jit
def slopes(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i - 1, mask=FAULT, other=0.0)  # here
    tl.store(o + i, v, mask=i < n)
slopes[(1,)](zeros(100), zeros(100), 100, B=128)
""",
    ),
    "C++: one too many": of_cpp(
        "E1101",
        "<=",
        "<",
        """
extern "C" __global__ void k(float a, float *x, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i FAULT n; i += gridDim.x * blockDim.x)
        x[i] *= a; // here
}
""",
        """
launch(kernel("k"), 2, 64, np.float32(2), ones(1000), np.int32(1000))
wait()
""",
    ),
    "C++: an array of a thread that is too short": of_cpp(
        "E1101",
        "8",
        "9",
        """
extern "C" __global__ void k(const int *x, int *y)
{
    int most[FAULT];
    for (int i = 0; i < FAULT; i++)
        most[i] = i;
    int at = x[threadIdx.x];
    most[at] = 5; // here
    y[threadIdx.x] = most[at / 2];
}
""",
        """
launch(kernel("k"), 1, 32, given(np.full(32, 8, np.int32)), ones(32))
wait()
""",
    ),
    "C++: a copy of more than there is": of_cpp(
        "E1101",
        "8",
        "4",
        "",
        """
values = np.ones(100)
x = allocated(400)
cu.cuMemcpyHtoD(x, values.ctypes.data, 100 * FAULT)  # here
""",
    ),
}

UNINITIALISED = {
    "numba: a sum that begins nowhere": Bug(
        "E1112",
        "cuda.device_array(64, np.float32)",
        "cuda.to_device(np.zeros(64, np.float32))",
        """
@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    y[i] += x[i]  # here
y = FAULT
add[1, 64](ones(64), y)
cuda.synchronize()
""",
    ),
    "numba: a tile that is full in part": Bug(
        "E1112",
        "40",
        "64",
        """
@cuda.jit
def total(x, y):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < FAULT:
        tile[t] = x[t]
    cuda.syncthreads()
    y[t] = tile[63 - t]  # here
total[1, 64](ones(64), ones(64))
cuda.synchronize()
""",
    ),
    "C++: an array of a thread that is set in part": of_cpp(
        "E1112",
        "3",
        "4",
        """
extern "C" __global__ void k(const int *x, float *y, int n)
{
    float own[4];
    for (int i = 0; i < n; i++)
        own[i] = 0;
    for (int i = 0; i < 8; i++)
        own[x[8 * threadIdx.x + i] % 4] += 1; // here
    y[threadIdx.x] = own[0] + own[1] + own[2] + own[3];
}
""",
        """
launch(kernel("k"), 1, 32, given(np.arange(256, dtype=np.int32)), ones(32), np.int32(FAULT))
wait()
""",
    ),
    "Triton: the next kernel reads beyond what was stored": of_triton(
        "E1112",
        "100",
        "128",
        """
@triton.jit
def first(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, i.to(tl.float32), mask=i < FAULT)

@triton.jit
def second(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)  # here
    tl.store(o + i, v + 1)
x = Buffer(np.zeros(128, np.float32), False)
first[(1,)](x, B=128)
second[(1,)](x, zeros(128), B=128)
""",
    ),
    "Triton: atomics add to what nobody set": of_triton(
        "E1112",
        "False",
        "True",
        """
@triton.jit
def total(x, out, B: tl.constexpr):
    s = tl.sum(tl.load(x + tl.program_id(0) * B + tl.arange(0, B)))
    tl.atomic_add(out, s)  # here
total[(8,)](zeros(8 * 64), Buffer(np.zeros(1, np.float32), FAULT), B=64)
""",
    ),
    "C++: dynamic shared memory that is set in part": of_cpp(
        "E1112",
        "n / 2",
        "n",
        """
extern "C" __global__ void k(float *y, int n)
{
    extern __shared__ float tile[];
    for (int i = threadIdx.x; i < FAULT; i += blockDim.x)
        tile[i] = 1;
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += tile[i]; // here
    y[threadIdx.x] = sum;
}
""",
        """
launch(kernel("k"), 1, 32, ones(32), np.int32(256), shared=1024)
wait()
""",
    ),
}

STREAMS = {
    "numba: a copy that does not wait for the kernel": Bug(
        "E1126",
        "pass",
        "first.synchronize()",
        """
@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2
first, second = cuda.stream(), cuda.stream()
x = ones(64)
result = cuda.pinned_array(64, np.float32)
double[1, 64, first](x)
FAULT
x.copy_to_host(result, stream=second)  # here
second.synchronize()
""",
    ),
    "numba: a kernel that does not wait for an event": Bug(
        "E1126",
        "pass",
        "done.wait(second)",
        """
@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2
@cuda.jit
def add(x, y):
    y[cuda.grid(1)] += x[cuda.grid(1)]
first, second, done = cuda.stream(), cuda.stream(), cuda.event()
x, y = ones(64), ones(64)
double[1, 64, first](x)
done.record(first)
FAULT
add[1, 64, second](x, y)  # here
cuda.synchronize()
""",
    ),
    "numba: a buffer that two streams fill": Bug(
        "E1126",
        "second",
        "first",
        """
@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2
first, second = cuda.stream(), cuda.stream()
values = cuda.pinned_array(64, np.float32)
values[:] = 1
x = cuda.device_array(64, np.float32)
x.copy_to_device(values, stream=first)
double[1, 64, first](x)
x.copy_to_device(values, stream=FAULT)  # here
cuda.synchronize()
""",
    ),
    "Triton: the default stream does not wait for a free one": of_triton(
        "E1126",
        "1",
        "0",
        """
@triton.jit
def double(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) * 2)
x, values, stream = zeros(64), np.ones(64, np.float32), ctypes.c_void_p()
lib.cuStreamCreate(ctypes.byref(stream), FAULT)
lib.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(x.at), ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(256), stream)
double[(1,)](x, B=64)  # here
lib.cuCtxSynchronize()
""",
    ),
    "C++: an event that is recorded too early": of_cpp(
        "E1126",
        "record(done, first); launch(k, 1, 64, x, stream=first)",
        "launch(k, 1, 64, x, stream=first); record(done, first)",
        """
extern "C" __global__ void k(float *x)
{
    x[threadIdx.x] += 1;
}
""",
        """
k, x, first, second, done = kernel("k"), ones(64), stream(), stream(), event()
FAULT
checked(cu.cuStreamWaitEvent(second, done, 0))
cu.cuLaunchKernel(*arguments(k, 1, 64, x, stream=second))  # here
wait()
""",
    ),
    "C++: memory goes back while another stream uses it": of_cpp(
        "E1126",
        "",
        "record(done, second); cu.cuStreamWaitEvent(first, done, 0)",
        """
extern "C" __global__ void k(float *x)
{
    x[threadIdx.x] = 1;
}
""",
        """
k, first, second, ready, done = kernel("k"), stream(), stream(), event(), event()
x = checked(cu.cuMemAllocAsync(256, first))
record(ready, first)
checked(cu.cuStreamWaitEvent(second, ready, 0))
launch(k, 1, 64, int(x), stream=second)
FAULT
cu.cuMemFreeAsync(x, first)  # here
wait()
""",
    ),
}

LIFETIMES = {
    "numba: a view of what was given back": Bug(
        "E1123",
        "driver.cuMemFree_v2(ctypes.c_uint64(at))",
        "pass",
        """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
@cuda.jit
def add(x, y):
    y[cuda.grid(1)] += x[cuda.grid(1)]  # here
cuda.current_context()
at = ctypes.c_uint64()
driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(256))
at = at.value
driver.cuMemsetD8_v2(ctypes.c_uint64(at), 0, ctypes.c_size_t(256))
class View:
    __cuda_array_interface__ = {"shape": (64,), "typestr": "<f4", "data": (at, False), "version": 3}
view = cuda.as_cuda_array(View())
FAULT
add[1, 64](view, ones(64))
cuda.synchronize()
""",
    ),
    "numba: memory that two owners give back": Bug(
        "E1124",
        "driver.cuMemFree_v2(at)  # here",
        "pass  # here",
        """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
cuda.current_context()
at = ctypes.c_uint64()
driver.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(256))
driver.cuMemFree_v2(at)
FAULT
""",
    ),
    "Triton: a table of addresses outlives a buffer": of_triton(
        "E1123",
        "lib.cuMemFree_v2(ctypes.c_uint64(parts[1].at))",
        "pass",
        """
@triton.jit
def gather(table, o, B: tl.constexpr):
    n = tl.program_id(0)
    of = tl.load(table + n).to(tl.pointer_type(tl.float32))
    v = tl.load(of + tl.arange(0, B))  # here
    tl.store(o + n * B + tl.arange(0, B), v)
parts = [zeros(64), zeros(64)]
table = Buffer(np.array([part.at for part in parts], np.int64))
FAULT
gather[(2,)](table, zeros(128), B=64)
""",
    ),
    "C++: a kernel after the free of its stream": of_cpp(
        "E1123",
        "cu.cuMemFreeAsync(x, s); launch(k, 1, 64, int(x), stream=s)",
        "launch(k, 1, 64, int(x), stream=s); cu.cuMemFreeAsync(x, s)",
        """
extern "C" __global__ void k(float *x)
{
    x[threadIdx.x] = 1; // here
}
""",
        """
k, s = kernel("k"), stream()
x = checked(cu.cuMemAllocAsync(256, s))
FAULT
wait()
""",
    ),
    "C++: a variable of a module that was unloaded": of_cpp(
        "E1123",
        "unload()",
        "pass",
        """
__device__ float table[64];
extern "C" __global__ void k(float *x)
{
    table[threadIdx.x] = x[threadIdx.x];
}
""",
        """
launch(kernel("k"), 1, 64, ones(64))
at, bytes = checked(cu.cuModuleGetGlobal(module(), b"table"))
wait()
FAULT
out = np.zeros(64, np.float32)
cu.cuMemcpyDtoH(out.ctypes.data, at, 256)  # here
""",
    ),
}

DIVERGENCE = {
    "numba: a barrier in a branch": Bug(
        "E1114",
        "t < 40",
        "t < 64",
        """
@cuda.jit
def k(x):
    t = cuda.threadIdx.x
    if FAULT:
        x[t] += 1
        cuda.syncthreads()  # here
    x[t] *= 2
k[1, 64](ones(64))
cuda.synchronize()
""",
    ),
    "numba: an exchange that half a warp comes to": Bug(
        "E1115",
        "t < 16",
        "t < 32",
        """
@cuda.jit
def k(x):
    t = cuda.threadIdx.x
    if FAULT:
        x[t] = cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 8)  # here
k[1, 32](ones(32))
cuda.synchronize()
""",
    ),
    "C++: a barrier in a loop that threads leave at different times": of_cpp(
        "E1114",
        "i < n[threadIdx.x % 2]",
        "i < n[0]",
        """
extern "C" __global__ void k(const int *n, float *x)
{
    for (int i = 0; FAULT; i++) {
        x[threadIdx.x] += i;
        __syncthreads(); // here
    }
    x[threadIdx.x] *= 2;
}
""",
        """
launch(kernel("k"), 1, 64, given(np.array([3, 5], np.int32)), ones(64))
wait()
""",
    ),
    "C++: a vote of lanes that are elsewhere": of_cpp(
        "E1115",
        "0xffffffffu",
        "__activemask()",
        """
extern "C" __global__ void k(const float *x, unsigned *y)
{
    unsigned t = threadIdx.x;
    if (x[t] > 16)
        y[t] = __ballot_sync(FAULT, x[t] > 20); // here
    else
        y[t] = 0;
}
""",
        """
launch(kernel("k"), 1, 32, given(np.arange(32, dtype=np.float32)), ones(32))
wait()
""",
    ),
    "C++: a named barrier that counts too many": of_cpp(
        "E1114",
        "96",
        "64",
        """
extern "C" __global__ void k(float *x, float *y)
{
    if (threadIdx.x < 64) {
        x[threadIdx.x] += 1;
        asm volatile("bar.sync 1, FAULT;" ::: "memory"); // here
        y[threadIdx.x] = x[63 - threadIdx.x];
    }
}
""",
        """
launch(kernel("k"), 1, 128, ones(128), ones(64))
wait()
""",
    ),
}

BUGS = RACES | BOUNDS | UNINITIALISED | STREAMS | LIFETIMES | DIVERGENCE
