"""Textures and surfaces give what the CUDA C++ Programming Guide says of them ("Texture Fetching")."""

from cpp_programs import HEAD

ARRAYS = """
def array_of(values, flags=0):
    channels = 1 if values.ndim < 4 else values.shape[3]
    made = cu.CUDA_ARRAY3D_DESCRIPTOR()
    made.Depth, made.Height, made.Width = values.shape[:3]
    if made.Depth == 1:
        made.Depth = 0
    made.Format, made.NumChannels, made.Flags = FORMATS[values.dtype.name], channels, flags
    array = checked(cu.cuArray3DCreate(made))
    copy = cu.CUDA_MEMCPY3D()
    copy.srcMemoryType, copy.srcHost = cu.CUmemorytype.CU_MEMORYTYPE_HOST, values.ctypes.data
    copy.srcPitch, copy.srcHeight = values.strides[1], values.shape[1]
    copy.dstMemoryType, copy.dstArray = cu.CUmemorytype.CU_MEMORYTYPE_ARRAY, array
    copy.WidthInBytes, copy.Height, copy.Depth = values.strides[1], values.shape[1], values.shape[0]
    checked(cu.cuMemcpy3D(copy))
    return array

FORMATS = {"float32": cu.CUarray_format.CU_AD_FORMAT_FLOAT, "uint8": cu.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8,
           "int16": cu.CUarray_format.CU_AD_FORMAT_SIGNED_INT16}

def resource_of(array):
    resource = cu.CUDA_RESOURCE_DESC()
    resource.resType, resource.res.array.hArray = cu.CUresourcetype.CU_RESOURCE_TYPE_ARRAY, array
    return resource

def texture_of(resource, mode=1, linear=False, flags=0):
    how = cu.CUDA_TEXTURE_DESC()
    how.addressMode = [cu.CUaddress_mode(mode)] * 3
    how.filterMode = cu.CUfilter_mode(int(linear))
    how.flags = flags
    return checked(cu.cuTexObjectCreate(resource, how, None))

def fetched(name, texture, *at):
    out = given(np.zeros(at[0].size, np.float32))
    launch(kernel(name), 1, at[0].size, int(texture), *(given(part.astype(np.float32)) for part in at), out)
    wait()
    found = np.zeros(at[0].size, np.float32)
    checked(cu.cuMemcpyDtoH(found.ctypes.data, out, found.nbytes))
    return found
"""

FETCHES = """
extern "C" __global__ void one(cudaTextureObject_t t, const float *x, float *y)
{
    y[threadIdx.x] = tex1D<float>(t, x[threadIdx.x]);
}
extern "C" __global__ void two(cudaTextureObject_t t, const float *x, const float *y, float *z)
{
    z[threadIdx.x] = tex2D<float>(t, x[threadIdx.x], y[threadIdx.x]);
}
extern "C" __global__ void three(cudaTextureObject_t t, const float *x, const float *y, const float *z, float *w)
{
    w[threadIdx.x] = tex3D<float>(t, x[threadIdx.x], y[threadIdx.x], z[threadIdx.x]);
}
extern "C" __global__ void indexed(cudaTextureObject_t t, const float *x, float *y)
{
    y[threadIdx.x] = tex1Dfetch<float>(t, (int)x[threadIdx.x]);
}
extern "C" __global__ void colours(cudaTextureObject_t t, const float *x, const float *y, float *z)
{
    uchar4 c = tex2D<uchar4>(t, x[threadIdx.x], y[threadIdx.x]);
    z[threadIdx.x] = c.x + 256 * c.y + 65536 * c.z + c.w / 256.f;
}
extern "C" __global__ void parts(cudaTextureObject_t t, const float *x, const float *y, float *z)
{
    float4 c = tex2D<float4>(t, x[threadIdx.x], y[threadIdx.x]);
    z[threadIdx.x] = c.x + c.w;
}
"""

PROGRAM = """
rng = np.random.default_rng(1)
plane, volume = rng.random((1, 5, 7), dtype=np.float32), rng.random((4, 5, 7), dtype=np.float32)
x, y, z = (rng.uniform(-6, 14, 128).astype(np.float32) for _ in range(3))

def placed(at, size, mode, normalized):
    # Indices, and which of them are inside.
    if mode == 0 and normalized:
        return at % size, at == at
    if mode == 2 and normalized:
        at = at % (2 * size)
        return np.where(at < size, at, 2 * size - 1 - at), at == at
    if mode == 3:
        return np.clip(at, 0, size - 1), (at >= 0) & (at < size)
    return np.clip(at, 0, size - 1), at == at

def right(values, at, mode, linear, normalized):
    sizes = values.shape[::-1][:len(at)]
    at = [np.float32(part * size) if normalized else part for part, size in zip(at, sizes)]
    if not linear:
        at = [placed(np.floor(part).astype(int), size, mode, normalized) for part, size in zip(at, sizes)]
        inside = np.logical_and.reduce([ok for _, ok in at])
        return np.where(inside, values[tuple(n for n, _ in at[::-1])], 0)
    sum = 0
    for corner in np.ndindex(*[2] * len(at)):
        weight, places, inside = 1, [], True
        for second, part, size in zip(corner, at, sizes):
            from_half = part - np.float32(0.5)
            first = np.floor(from_half)
            alpha = np.round((from_half - first) * 256) / 256
            weight = weight * (alpha if second else 1 - alpha)
            n, ok = placed(first.astype(int) + second, size, mode, normalized)
            places.append(n)
            inside = inside & ok
        sum = sum + weight * np.where(inside, values[tuple(places[::-1])], 0)
    return sum

for mode in range(4):
    for linear in (False, True):
        for normalized in (False, True):
            scale = 8 if normalized else 1
            for name, values, at in (("one", plane[:, :1], (x,)), ("two", plane, (x, y)), ("three", volume, (x, y, z))):
                at = [part / np.float32(scale) for part in at]
                texture = texture_of(resource_of(array_of(np.ascontiguousarray(values))), mode, linear, 2 * normalized)
                flat = {"one": values[0, 0], "two": values[0], "three": values}[name]
                found, wanted = fetched(name, texture, *at), right(flat, at, mode, linear, normalized)
                print(name, mode, linear, normalized, np.abs(found - wanted).max() < 1e-5, sep=", ")
                checked(cu.cuTexObjectDestroy(texture))

# Integers as floats from 0 or -1 to 1, and as they are.
bytes = rng.integers(0, 256, (1, 5, 7, 4)).astype(np.uint8)
i, j = rng.integers(0, 7, 64).astype(np.float32), rng.integers(0, 5, 64).astype(np.float32)
texture = texture_of(resource_of(array_of(bytes)), flags=1)
c = bytes[0, j.astype(int), i.astype(int)].astype(np.float32)
print("colours", (fetched("colours", texture, i, j) == c[:, 0] + 256 * c[:, 1] + 65536 * c[:, 2] + c[:, 3] / 256).all(), sep=", ")
print("bytes", np.allclose(fetched("parts", texture_of(resource_of(array_of(bytes))), i, j), (c[:, 0] + c[:, 3]) / 255), sep=", ")
words = rng.integers(-32768, 32768, (1, 5, 7)).astype(np.int16)
found = fetched("two", texture_of(resource_of(array_of(words))), i, j)
print("words", np.allclose(found, np.maximum(words[0, j.astype(int), i.astype(int)] / 32767, -1)), sep=", ")

# Linear memory by indices: 0 outside; rows with a pitch.
values = rng.random(50, dtype=np.float32)
resource = cu.CUDA_RESOURCE_DESC()
resource.resType = cu.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
resource.res.linear.devPtr, resource.res.linear.sizeInBytes = given(values), values.nbytes
resource.res.linear.format, resource.res.linear.numChannels = FORMATS["float32"], 1
at = np.arange(-10, 60, dtype=np.float32)
wanted = np.where((at >= 0) & (at < 50), values[np.clip(at, 0, 49).astype(int)], 0)
print("linear", (fetched("indexed", texture_of(resource), at) == wanted).all(), sep=", ")
rows = np.zeros((5, 64), np.float32)
rows[:, :7] = plane[0]
resource = cu.CUDA_RESOURCE_DESC()
resource.resType = cu.CUresourcetype.CU_RESOURCE_TYPE_PITCH2D
part = resource.res.pitch2D
part.devPtr, part.format, part.numChannels = given(rows), FORMATS["float32"], 1
part.width, part.height, part.pitchInBytes = 7, 5, 256
found = fetched("two", texture_of(resource, 1, True), x, y)
print("rows", np.abs(found - right(plane[0], (x, y), 1, True, False)).max() < 1e-5, sep=", ")
"""


def test_fetches_give_what_the_guide_says(gpu, tmp_path):
    (tmp_path / "k.cu").write_text(FETCHES)
    ran = gpu(HEAD.replace("FILE", "k.cu") + ARRAYS + PROGRAM)
    lines = ran.out.splitlines()
    assert len(lines) == 4 * 2 * 2 * 3 + 5 and all(line.endswith("True") for line in lines), (ran.out, ran.said)
    assert (ran.code, ran.codes()) == (0, []), ran.said


SURFACES = """
extern "C" __global__ void k(cudaSurfaceObject_t from, cudaSurfaceObject_t to, float *y)
{
    int i = threadIdx.x, j = threadIdx.y;
    surf2Dwrite(2 * surf2Dread<float>(from, 4 * i, j), to, 4 * i, j);
    y[8 * j + i] = surf2Dread<float>(from, 4 * (i + 1), j, cudaBoundaryModeZero)
                 + surf2Dread<float>(from, 4 * (i + 1), j, cudaBoundaryModeClamp);
    if (FAULT)
        y[i] = surf2Dread<float>(from, 4 * (i + 1), j); // here
}
"""

ON_SURFACES = """
values = np.arange(32, dtype=np.float32).reshape(1, 4, 8)
arrays = [array_of(values, 2), array_of(0 * values, 2)]
surfaces = [int(checked(cu.cuSurfObjectCreate(resource_of(array)))) for array in arrays]
y = ones(32)
cu.cuLaunchKernel(*arguments(kernel("k"), 1, (8, 4), *surfaces, y))
wait()
copy = cu.CUDA_MEMCPY2D()
found = np.zeros((4, 8), np.float32)
copy.srcMemoryType, copy.srcArray = cu.CUmemorytype.CU_MEMORYTYPE_ARRAY, arrays[1]
copy.dstMemoryType, copy.dstHost, copy.dstPitch = cu.CUmemorytype.CU_MEMORYTYPE_HOST, found.ctypes.data, 32
copy.WidthInBytes, copy.Height = 32, 4
checked(cu.cuMemcpy2D(copy))
print((found == 2 * values[0]).all())
next = np.zeros((4, 8), np.float32)
checked(cu.cuMemcpyDtoH(next.ctypes.data, y, next.nbytes))
right = np.pad(values[0, :, 1:], ((0, 0), (0, 1)))
print((next == right + np.pad(values[0, :, 1:], ((0, 0), (0, 1)), mode="edge")).all())
"""


def test_surfaces_are_read_and_written(gpu, tmp_path):
    (tmp_path / "k.cu").write_text(SURFACES.replace("FAULT", "false"))
    ran = gpu(HEAD.replace("FILE", "k.cu") + ARRAYS + ON_SURFACES)
    assert (ran.out.split(), ran.code, ran.codes()) == (["True", "True"], 0, []), ran.said


def test_what_is_outside_of_a_surface_is_found(gpu, tmp_path):
    (tmp_path / "k.cu").write_text(SURFACES.replace("FAULT", "i == 7 && j == 2"))
    ran = gpu(HEAD.replace("FILE", "k.cu") + ARRAYS + ON_SURFACES)
    assert "error[E1101]: in thread (7, 2) of block 0: 4 bytes from byte 32 of row 2 on" in ran.said, ran.said
    assert ran.codes() == ["E1101"] and ran.code != 0


def test_a_texture_that_was_destroyed_is_found(gpu, tmp_path):
    (tmp_path / "k.cu").write_text(FETCHES)
    end = """
texture = texture_of(resource_of(array_of(np.ones((1, 5, 7), np.float32))))
checked(cu.cuTexObjectDestroy(texture))
fetched("two", texture, np.zeros(4), np.zeros(4))
"""
    ran = gpu(HEAD.replace("FILE", "k.cu") + ARRAYS + end)
    assert ran.codes() == ["E1123"] and ran.code != 0, ran.said
