"""Task 90: running products of rows. Tiles scan sums and extrema alone, so rows are cut into
chunks: a thread multiplies up a chunk, one carries the products of chunks along a row, and a thread
for each chunk writes what comes of both."""

import kc
from kc.bench import Model, empty

CHUNK = kc.constant(64)


@kc.kernel
def chunk_products(x: kc.array2d(dtype=float), products: kc.array2d(dtype=float)):
    i, c = kc.tid()
    product = float(1.0)
    for k in range(c * CHUNK, kc.min(c * CHUNK + CHUNK, x.shape[1])):
        product *= x[i, k]
    products[i, c] = product


@kc.kernel
def products_before(products: kc.array2d(dtype=float), before: kc.array2d(dtype=float)):
    i = kc.tid()
    product = float(1.0)
    for c in range(products.shape[1]):
        before[i, c] = product
        product *= products[i, c]


@kc.kernel
def running_products(x: kc.array2d(dtype=float), before: kc.array2d(dtype=float), y: kc.array2d(dtype=float)):
    i, c = kc.tid()
    product = before[i, c]
    for k in range(c * CHUNK, kc.min(c * CHUNK + CHUNK, x.shape[1])):
        product *= x[i, k]
        y[i, k] = product


class ModelNew(Model):
    def __init__(self, dim):
        self.dim = dim

    def forward(self, x):
        rows = x.shape[0]
        chunks = (x.shape[1] + CHUNK - 1) // CHUNK
        products, before = empty((rows, chunks), like=x), empty((rows, chunks), like=x)
        chunk_products((rows, chunks), x, products)
        products_before(rows, products, before)
        y = empty(x.shape, like=x)
        running_products((rows, chunks), x, before, y)
        return y
