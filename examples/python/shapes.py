"""Triangle meshes: corners are float32 of shape (n, 3), faces int32 of shape (n, 3)."""

import numpy as np


def arrays(points, faces):
    """What `kc.Mesh` takes."""
    return np.ascontiguousarray(points, np.float32), np.ascontiguousarray(faces, np.int32)


def icosphere(rounds, radius=1.0):
    """A sphere of 20 triangles, each cut into four as often as asked."""
    g = 0.5 + 0.5 * 5**0.5
    corners = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g)]
    points = np.array([*corners, (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)])
    near = np.linalg.norm(points[:, None] - points, axis=2) < 2.1
    faces = np.array([(i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[k, i]])
    a, b, c = points[faces].transpose(1, 0, 2)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0
    faces[inward] = faces[inward][:, ::-1]
    for _ in range(rounds):
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        edges, which = np.unique(edges, axis=0, return_inverse=True)
        ab, bc, ca = len(points) + which.reshape(3, -1)
        a, b, c = faces.T
        points = np.concatenate([points, points[edges].mean(axis=1)])
        faces = np.concatenate([np.stack(three, axis=1) for three in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))])
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    return arrays(points, faces)


def knot(around=240, across=24, p=2, q=3, thickness=0.28):
    """A tube along a torus knot."""

    def curve(s):
        r = 1.0 + 0.45 * np.cos(q * s)
        return np.stack([r * np.cos(p * s), r * np.sin(p * s), 0.6 * np.sin(q * s)], axis=-1)

    s = np.arange(around) * (2 * np.pi / around)
    ahead, behind = curve(s + 1e-3), curve(s - 1e-3)
    side = np.cross(ahead - behind, ahead + behind)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    out = np.cross(side, ahead - behind)
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    angle = np.arange(across) * (2 * np.pi / across)
    ring = np.cos(angle)[None, :, None] * out[:, None] - np.sin(angle)[None, :, None] * side[:, None]
    points = curve(s)[:, None] + thickness * ring
    return arrays(points.reshape(-1, 3), sheet_faces(around, across, closed=True))


def sheet_faces(m, n, closed=False):
    """Two triangles for each square of a grid of m x n corners; a closed one is a torus."""
    i, j = np.mgrid[0 : m if closed else m - 1, 0 : n if closed else n - 1].reshape(2, -1)
    k, l = (i + 1) % m, (j + 1) % n
    a, b, c, d = i * n + j, k * n + j, k * n + l, i * n + l
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def isosurface(f, low, high, n):
    """Where a function is 0, by surface nets: a corner in each cell that the surface crosses."""
    axes = [np.linspace(low[a], high[a], n) for a in range(3)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    value = f(x)
    total, count, quads = np.zeros((n - 1, n - 1, n - 1, 3)), np.zeros((n - 1, n - 1, n - 1, 1)), []
    cells = np.arange((n - 1) ** 3).reshape(n - 1, n - 1, n - 1)
    for a in range(3):
        # Along the axis `a`, with the other two in cyclic order.
        order = [a, (a + 1) % 3, (a + 2) % 3]
        v, p, sums, counts, number = (y.transpose(*order, *range(3, y.ndim)) for y in (value, x, total, count, cells))
        lower, upper = v[:-1], v[1:]
        crosses = (lower < 0) != (upper < 0)
        t = np.where(crosses, lower / np.where(crosses, lower - upper, 1.0), 0.0)[..., None]
        at = (p[:-1] + t * (p[1:] - p[:-1])) * crosses[..., None]
        for j in (0, 1):
            for k in (0, 1):
                sums += at[:, j : j + n - 1, k : k + n - 1]
                counts += crosses[:, j : j + n - 1, k : k + n - 1, None]
        around = [number[:, j : j + n - 2, k : k + n - 2] for j, k in ((0, 0), (1, 0), (1, 1), (0, 1))]
        four = np.stack(around, axis=-1)
        inner, outward = crosses[:, 1:-1, 1:-1], (lower < 0)[:, 1:-1, 1:-1]
        quads += [four[inner & outward], four[inner & ~outward][:, ::-1]]
    used, which = np.unique(np.concatenate(quads), return_inverse=True)
    points = (total / np.maximum(count, 1)).reshape(-1, 3)[used]
    quads = which.reshape(-1, 4)
    return arrays(points, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))


def bear(n=64):
    """A bear that sits on the ground: balls that flow into each other."""
    balls = [
        ((0, 0.62, 0), 0.56), ((0, 1.42, 0.05), 0.44), ((0, 1.3, 0.42), 0.2),
        ((0.36, 1.8, 0), 0.16), ((-0.36, 1.8, 0), 0.16),
        ((0.58, 0.85, 0.26), 0.19), ((-0.58, 0.85, 0.26), 0.19), ((0.72, 0.66, 0.48), 0.16), ((-0.72, 0.66, 0.48), 0.16),
        ((0.38, 0.22, 0.5), 0.24), ((-0.38, 0.22, 0.5), 0.24), ((0.48, 0.26, 0.82), 0.22), ((-0.48, 0.26, 0.82), 0.22),
    ]

    def distance(x):
        each = [np.linalg.norm(x - np.array(center), axis=-1) - radius for center, radius in balls]
        return -0.06 * np.log(sum(np.exp(-d / 0.06) for d in each))

    return isosurface(distance, (-1.1, -0.25, -0.8), (1.1, 2.15, 1.3), n)


def load(path):
    """The triangles of an OBJ file; faces with more corners are cut from their first corner."""
    points, faces = [], []
    for line in open(path):
        word, *rest = line.split() or [""]
        if word == "v":
            points.append([float(number) for number in rest[:3]])
        elif word == "f":
            first, *others = [int(corner.split("/")[0]) for corner in rest]
            faces += [(first, a, b) for a, b in zip(others, others[1:])]
    faces = np.array(faces, int).reshape(-1, 3)
    # Numbers begin at 1, and those below 0 count from the end.
    return arrays(points, np.where(faces < 0, faces + len(points), faces - 1))


def normals(points, faces):
    """At each corner the mean normal of the faces around, by their area."""
    a, b, c = points[faces].transpose(1, 0, 2)
    total = np.zeros_like(points)
    for corner in faces.T:
        np.add.at(total, corner, np.cross(b - a, c - a))
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-20)


def volume(points, faces):
    """What a closed mesh encloses; negative where its faces look inwards."""
    a, b, c = points[faces].transpose(1, 0, 2).astype(np.float64)
    return np.einsum("ij,ij->", a, np.cross(b, c)) / 6
