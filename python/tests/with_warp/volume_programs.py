"""Looks up and samples volumes of every type of values and every kind of indices, and saves what it found.

python volume_programs.py FILE [POINTS]: run by Warp, or by kc (`python -m kc run`).
"""

import ctypes
import sys

import numpy as np
import warp as wp

wp.set_module_options({"enable_backward": False})

# Numbers of kinds of grids, and where a kind has what (NanoVDB 32).
SCALARS = {
    "int32": (4, np.int32),
    "int64": (5, np.int64),
    "uint32": (10, np.uint32),
    "float32": (1, np.float32),
    "float64": (2, np.float64),
}
VECTORS = {
    "vec3f": (6, np.float32, 3),
    "vec3d": (7, np.float64, 3),
    "vec4f": (17, np.float32, 4),
    "vec4d": (18, np.float64, 4),
}
INDICES = {"INDEX": 19, "ONINDEX": 20, "INDEXMASK": 21, "ONINDEXMASK": 22}
# kind: background, size of the root, value of a tile, size of a tile, places of upper and lower nodes, their
# size, values of a leaf, size of a leaf
LAYOUTS = {
    1: (28, 64, 20, 32, 8256, 1088, 8, 96, 2144),
    2: (32, 96, 24, 32, 8256, 1088, 8, 128, 4224),
    6: (28, 96, 20, 32, 8256, 1088, 16, 128, 6272),
    7: (32, 128, 24, 64, 8288, 1120, 24, 160, 12448),
    17: (28, 96, 20, 64, 8288, 1120, 16, 128, 8320),
    18: (32, 160, 24, 64, 8320, 1152, 32, 160, 16544),
    19: (32, 96, 24, 32, 8256, 1088, 8, 80, 96),
    21: (32, 96, 24, 32, 8256, 1088, 8, 80, 160),
}
LAYOUTS |= {4: LAYOUTS[1], 10: LAYOUTS[1], 5: LAYOUTS[2], 20: LAYOUTS[19], 22: LAYOUTS[21]}


class Buffer:
    """A volume in memory: leaves, values of blocks of voxels without a leaf, and a map that is not symmetric."""

    def __init__(self, kind, dtype, width, rng):
        background, root_size, tile_value, tile_size, upper_slots, lower_slots, slot, values, leaf_size = LAYOUTS[kind]
        upper_size, lower_size = upper_slots + 32768 * slot, lower_slots + 4096 * slot
        # Two upper nodes, one of negative coordinates, and a tile without a child.
        origins = [(0, 0, 0), (-1, 0, -1)]
        leaves = {o: rng.permutation(8)[:5].tolist() for o in origins}
        root = 672 + 64
        uppers = root + root_size + 3 * tile_size
        lowers = uppers + 2 * upper_size
        first_leaf = lowers + 2 * lower_size
        size = first_leaf + 10 * leaf_size
        self.memory = np.zeros(size + 64, np.uint8)
        start = -self.memory.ctypes.data % 32
        self.bytes = self.memory[start : start + size]
        self.id = self.memory.ctypes.data + start

        def number():
            if kind in (19, 20, 21, 22):
                return np.zeros(1, np.uint64)
            if np.issubdtype(dtype, np.floating):
                return rng.uniform(-9, 9, width).astype(dtype)
            return rng.integers(0, 100, width).astype(dtype)

        self.put(0, np.frombuffer(b"NanoVDB2", np.uint8))
        matrix = np.array([[1.0, 0.5, 0.1], [0.0, 1.25, 0.25], [-0.3, 0.0, 2.0]])
        shift, inverse = np.array([3.0, -2.0, 0.5]), np.linalg.inv(matrix)
        numbers = np.concatenate([matrix.ravel(), inverse.ravel(), shift])
        self.put(296, numbers.astype(np.float32))
        self.put(384, numbers)
        self.put(636, np.array([kind], np.uint32))
        tree = [first_leaf - 672, lowers - 672, uppers - 672, root - 672]
        self.put(672, np.array(tree, np.uint64))
        self.put(704, np.array([10, 2, 2], np.uint32))
        self.put(root + 24, np.array([3], np.uint32))
        self.put(root + background, number())
        self.background = self.bytes[root + background :][: max(4, np.dtype(dtype).itemsize) * width].view(dtype)
        count = 0
        for n, (x, y, z) in enumerate(origins):
            tile, upper, lower = root + root_size + n * tile_size, uppers + n * upper_size, lowers + n * lower_size
            self.put(tile, np.array([self.key(x, y, z), upper - root], np.uint64))
            for place in range(32768):
                self.put(upper + upper_slots + slot * place, number()) if place < 64 or place % 1024 < 2 else None
            # The lower node in the corner at 0, seen from this upper node.
            place = (x & 31) << 10 | (y & 31) << 5 | (z & 31)
            self.set_bit(upper + 4128, place)
            self.put(upper + upper_slots + slot * place, np.array([lower - upper], np.int64))
            for k in range(4096):
                self.put(lower + lower_slots + slot * k, number())
            for m, corner in enumerate(leaves[(x, y, z)]):
                leaf = first_leaf + (5 * n + m) * leaf_size
                i, j, k = (corner >> 2) & 1, (corner >> 1) & 1, corner & 1
                i, j, k = (15 - i if x else i), j, (15 - k if z else k)
                place = i << 8 | j << 4 | k
                self.set_bit(lower + 544, place)
                self.put(lower + lower_slots + slot * place, np.array([leaf - lower], np.int64))
                active = rng.random(512) < 0.6
                self.put(leaf + 16, np.packbits(active, bitorder="little"))
                if kind in (19, 21):
                    self.put(leaf + 80, np.array([1 + count], np.uint64))
                    count += 512
                elif kind in (20, 22):
                    sums = np.cumsum(active.reshape(8, 64).sum(1))[:7]
                    prefix = sum(int(s) << (9 * w) for w, s in enumerate(sums))
                    self.put(leaf + 80, np.array([1 + count, prefix], np.uint64))
                    count += int(active.sum())
                else:
                    self.put(leaf + values, np.concatenate([number() for _ in range(512)]))
        self.put(root + root_size + 2 * tile_size, np.array([self.key(1, 0, 0), 0], np.uint64))
        self.put(root + root_size + 2 * tile_size + tile_value, number())
        self.put(672 + 56, np.array([count], np.uint64))
        self.count = count if kind >= 19 else 10 * 512

    @staticmethod
    def key(x, y, z):
        # Blocks of 4096 voxels in each direction.
        part = [(4096 * c & 0xFFFFFFFF) >> 12 for c in (x, y, z)]
        return part[2] | part[1] << 21 | part[0] << 42

    def put(self, at, data):
        data = np.ascontiguousarray(data)
        ctypes.memmove(self.id + int(at), data.ctypes.data, data.nbytes)

    def set_bit(self, at, place):
        self.bytes[at + place // 8] |= 1 << (place % 8)


def points_of(count, rng):
    """In leaves, near their sides, in voxels, between them, and far away."""
    p = rng.uniform(-18, 18, (count, 3)).astype(np.float32)
    p[::4] = np.round(p[::4] * 2) / 2
    p[1::16] = rng.uniform(-5000, 9000, p[1::16].shape)
    p[2::64] = rng.choice([-16, -8, 0, 8, 16], p[2::64].shape) + rng.choice([-0.5, 0, 0.5, -1, 0.25], p[2::64].shape)
    p[5::500] = np.nan
    p[6::500, 1] = 1e9
    return p


def kernel_of(dtype, slope):
    """Everything that volumes of a type of values are asked for."""

    @wp.kernel
    def ask(
        id: wp.uint64,
        points: wp.array(dtype=wp.vec3),
        cells: wp.array(dtype=wp.vec3i),
        voxels: wp.array(dtype=dtype),
        background: wp.array(dtype=dtype),
        values: wp.array2d(dtype=dtype),
        slopes: wp.array2d(dtype=slope),
    ):
        t = wp.tid()
        x, c = points[t], cells[t]
        values[t, 0] = wp.volume_lookup(id, c[0], c[1], c[2], dtype=dtype)
        values[t, 1] = wp.volume_sample(id, x, wp.Volume.CLOSEST, dtype=dtype)
        values[t, 2] = wp.volume_sample(id, x, wp.Volume.LINEAR, dtype=dtype)
        g = slope()
        values[t, 3] = wp.volume_sample_grad(id, x, wp.Volume.LINEAR, g, dtype=dtype)
        slopes[t, 0] = g
        values[t, 4] = wp.volume_sample_grad(id, x, wp.Volume.CLOSEST, g, dtype=dtype)
        slopes[t, 1] = g
        values[t, 5] = wp.volume_sample_index(id, x, wp.Volume.CLOSEST, voxels, background[0])
        values[t, 6] = wp.volume_sample_index(id, x, wp.Volume.LINEAR, voxels, background[0])
        values[t, 7] = wp.volume_sample_grad_index(id, x, wp.Volume.LINEAR, voxels, background[0], g)
        slopes[t, 2] = g

    return ask


@wp.kernel
def ask_for_indices(
    id: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    cells: wp.array(dtype=wp.vec3i),
    found: wp.array2d(dtype=int),
):
    t = wp.tid()
    c = cells[t]
    found[t, 0] = wp.volume_lookup_index(id, c[0], c[1], c[2])
    found[t, 1] = wp.volume_voxel_count(id)
    found[t, 2] = wp.volume_lookup_i(id, c[0], c[1], c[2])
    found[t, 3] = wp.volume_sample_i(id, points[t])


@wp.kernel
def ask_for_float32(
    id: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    cells: wp.array(dtype=wp.vec3i),
    found: wp.array2d(dtype=float),
):
    t = wp.tid()
    x, c = points[t], cells[t]
    found[t, 0] = wp.volume_lookup_f(id, c[0], c[1], c[2])
    found[t, 1] = wp.volume_sample_f(id, x, wp.Volume.LINEAR)
    g = wp.vec3()
    found[t, 2] = wp.volume_sample_grad_f(id, x, wp.Volume.LINEAR, g)
    found[t, 3] = g[0]
    v = wp.volume_lookup_v(id, c[0], c[1], c[2])
    w = wp.volume_sample_v(id, x, wp.Volume.LINEAR)
    found[t, 4] = v[0]
    found[t, 5] = v[2]
    found[t, 6] = w[0]
    found[t, 7] = w[1]


@wp.kernel
def ask_for_map(
    id: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    narrow: wp.array2d(dtype=wp.vec3),
    wide: wp.array2d(dtype=wp.vec3d),
):
    t = wp.tid()
    x = points[t]
    narrow[t, 0] = wp.volume_index_to_world(id, x)
    narrow[t, 1] = wp.volume_world_to_index(id, x)
    narrow[t, 2] = wp.volume_index_to_world_dir(id, x)
    narrow[t, 3] = wp.volume_world_to_index_dir(id, x)
    y = wp.vec3d(x)
    wide[t, 0] = wp.volume_index_to_world(id, y)
    wide[t, 1] = wp.volume_world_to_index(id, y)
    wide[t, 2] = wp.volume_index_to_world_dir(id, y)
    wide[t, 3] = wp.volume_world_to_index_dir(id, y)


def store_of(dtype):
    @wp.kernel
    def store(id: wp.uint64, cells: wp.array(dtype=wp.vec3i), values: wp.array(dtype=dtype)):
        t = wp.tid()
        c = cells[t]
        wp.volume_store(id, c[0], c[1], c[2], values[t])

    return store


@wp.kernel
def store_all(id: wp.uint64, i: int, value: float):
    wp.volume_store_f(id, i, 0, 0, value)
    wp.volume_store_v(id, i, 0, 0, wp.vec3(value, 2.0 * value, 3.0 * value))
    wp.volume_store_i(id, i, 0, 0, int(value))


def main(path, count):
    rng = np.random.default_rng(7)
    found = {}
    points = points_of(count, rng)
    cells = np.floor(np.nan_to_num(points)).astype(np.int32)
    p, c = wp.array(points, dtype=wp.vec3), wp.array(cells, dtype=wp.vec3i)
    kinds = {name: (kind, dtype, 1) for name, (kind, dtype) in SCALARS.items()} | VECTORS
    volumes = {name: Buffer(kind, dtype, width, rng) for name, (kind, dtype, width) in kinds.items()}
    grids = {name: Buffer(kind, np.uint64, 1, rng) for name, kind in INDICES.items()}
    # All kernels before the first launch: Warp compiles them together.
    kernels = {}
    for name, (_, _, width) in kinds.items():
        ty = getattr(wp, name)
        slope = wp.types.vector(3, ty) if width == 1 else wp.types.matrix((width, 3), ty._wp_scalar_type_)
        kernels[name] = ty, slope, kernel_of(ty, slope), store_of(ty)
    for name, (_, dtype, width) in kinds.items():
        ty, slope, ask, _ = kernels[name]
        shape = (5120, width) if width > 1 else (5120,)
        data = rng.uniform(0, 9, shape).astype(dtype)
        voxels = wp.array(data, dtype=ty)
        background = wp.array(rng.uniform(20, 29, shape[1:] or 1).astype(dtype).reshape(-1, *shape[1:]), dtype=ty)
        for other in [name, "float32", *grids]:
            volume = volumes.get(other) or grids[other]
            values = wp.zeros((count, 8), dtype=ty)
            slopes = wp.zeros((count, 3), dtype=slope)
            wp.launch(ask, dim=count, inputs=[volume.id, p, c, voxels, background], outputs=[values, slopes])
            # What becomes of NaN, or of a negative weight, as an unsigned number depends on the machine.
            known = ~np.isnan(points).any(axis=1) if name == "uint32" else slice(None)
            found[f"{name} in {other}: values"] = values.numpy()[known]
            found[f"{name} in {other}: slopes"] = slopes.numpy()[:, 1:2] if name == "uint32" else slopes.numpy()
    for name, volume in (volumes | grids).items():
        indices = wp.zeros((count, 4), dtype=int)
        wp.launch(ask_for_indices, dim=count, inputs=[volume.id, p, c], outputs=[indices])
        found[f"{name}: indices"] = indices.numpy()
        numbers = wp.zeros((count, 8), dtype=float)
        wp.launch(ask_for_float32, dim=count, inputs=[volume.id, p, c], outputs=[numbers])
        found[f"{name}: float32"] = numbers.numpy()
    narrow, wide = wp.zeros((count, 4), dtype=wp.vec3), wp.zeros((count, 4), dtype=wp.vec3d)
    wp.launch(ask_for_map, dim=count, inputs=[volumes["vec3d"].id, p], outputs=[narrow, wide])
    found["map: float32"], found["map: float64"] = narrow.numpy(), wide.numpy()
    # No voxel twice.
    cells = np.unique(cells, axis=0)
    q = wp.array(cells, dtype=wp.vec3i)
    for name, (_, dtype, width) in kinds.items():
        data = rng.uniform(0, 99, (len(cells), width) if width > 1 else len(cells)).astype(dtype)
        ty, _, _, store = kernels[name]
        for volume in (volumes[name], volumes["float32"], grids["INDEX"]):
            wp.launch(store, dim=len(cells), inputs=[volume.id, q, wp.array(data, dtype=ty)])
        wp.launch(store_all, dim=1, inputs=[volumes[name].id, 3, 5.0])
        wp.launch(store_all, dim=1, inputs=[volumes[name].id, 1000, 6.0])
    for name, volume in (volumes | grids).items():
        found[f"{name}: memory"] = volume.bytes
    np.savez(path, **found)


if __name__ == "__main__":
    wp.config.quiet = True
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
