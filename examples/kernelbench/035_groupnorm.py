"""Task 35: group normalisation: the channels of a group are a row. Parts of a row have their mean
and their squares around it; the row puts them together; then each element is scaled. The input is
read twice, nothing cancels, and few long rows keep a whole GPU busy."""

import kc
from kc.bench import Model, empty

PART = kc.constant(4096)


@kc.func
def centred(v: float, mean: float, column: int, columns: int):
    return kc.where(column < columns, v - mean, 0.0)


@kc.kernel
def part_moments(
    x: kc.array2d(dtype=float), means: kc.array2d(dtype=float), squares: kc.array2d(dtype=float),
):
    i, p = kc.tid()
    left = kc.min(x.shape[1] - p * PART, PART)
    t = kc.tile_load(x[i], shape=PART, offset=p * PART)
    mean = kc.tile_sum(t)[0] / float(left)
    shift = kc.tile_full(shape=PART, value=mean, dtype=float)
    d = kc.tile_map(
        centred, t, shift, kc.tile_arange(PART, dtype=int),
        kc.tile_full(shape=PART, value=left, dtype=int),
    )
    means[i, p] = mean
    squares[i, p] = kc.tile_sum(d * d)[0]


@kc.kernel
def row_moments(
    means: kc.array2d(dtype=float), squares: kc.array2d(dtype=float), columns: int, eps: float,
    mean: kc.array(dtype=float), scale: kc.array(dtype=float),
):
    i = kc.tid()
    # Differences to the first part are small, and lose nothing.
    first = means[i, 0]
    shift = float(0.0)
    for p in range(means.shape[1]):
        shift += (means[i, p] - first) * float(kc.min(columns - p * PART, PART))
    shift = shift / float(columns)
    total = float(0.0)
    for p in range(means.shape[1]):
        d = means[i, p] - first - shift
        total += squares[i, p] + d * d * float(kc.min(columns - p * PART, PART))
    mean[i] = first + shift
    scale[i] = 1.0 / kc.sqrt(total / float(columns) + eps)


@kc.kernel
def normalise(
    x: kc.array2d(dtype=float), mean: kc.array(dtype=float), scale: kc.array(dtype=float),
    weight: kc.array(dtype=float), bias: kc.array(dtype=float), groups: int, channels: int,
    y: kc.array2d(dtype=float),
):
    i, k = kc.tid()
    size = x.shape[1] // channels
    c = i % groups * channels + k // size
    y[i, k] = (x[i, k] - mean[i]) * scale[i] * weight[c] + bias[c]


class ModelNew(Model):
    def __init__(self, num_features, num_groups):
        self.num_groups = num_groups
        self.weight = self.parameter(num_features, one=True)
        self.bias = self.parameter(num_features)

    def forward(self, x):
        rows = x.shape[0] * self.num_groups
        flat = x.reshape(rows, -1)
        size = flat.shape[1]
        parts = (size + PART - 1) // PART
        means, squares = empty((rows, parts), like=x), empty((rows, parts), like=x)
        part_moments((rows, parts), flat, means, squares)
        mean, scale = empty((rows,), like=x), empty((rows,), like=x)
        row_moments(rows, means, squares, size, 1.0e-5, mean, scale)
        y = empty(x.shape, like=x)
        normalise((rows, size), flat, mean, scale,
                  self.weight, self.bias, self.num_groups, x.shape[1] // self.num_groups, y.reshape(rows, size))
        return y
