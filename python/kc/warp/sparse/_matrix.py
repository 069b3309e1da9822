"""What is a sparse matrix, and where are its blocks? Structure is NumPy's work, on the host."""

from __future__ import annotations

import functools

import numpy as np

from ... import _array, _types
from ..._arguments import as_numpy
from ..._device import refused
from .._arrays import array, empty, zeros
from .._devices import get_device
from .._launches import is_captured

BSR_STATUS_SUCCESS = 0
BSR_STATUS_ROW_CAPACITY_EXCEEDED = 1

_MESSAGES = {BSR_STATUS_SUCCESS: "success", BSR_STATUS_ROW_CAPACITY_EXCEEDED: "a row has more blocks than it has room for"}


class BsrMatrix:
    """A matrix of blocks: those of row `r` are the numbers `offsets[r]` to `offsets[r + 1]` of `columns` and `values`.

    With `row_counts` a row has so many blocks, and the rest of its places are room that is not used. `nnz` is the number of places.
    """

    @property
    def scalar_type(self):
        return _types.scalar_of(getattr(self.values.dtype, "_scalar", self.values.dtype))

    @property
    def block_shape(self) -> tuple:
        return self.values._inner or (1, 1)

    @property
    def block_size(self) -> int:
        rows, columns = self.block_shape
        return rows * columns

    @property
    def shape(self) -> tuple:
        rows, columns = self.block_shape
        return self.nrow * rows, self.ncol * columns

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def device(self):
        return self.offsets.device

    @property
    def requires_grad(self) -> bool:
        return self.values.requires_grad

    @property
    def scalar_values(self):
        """The blocks as an array of numbers with three dimensions, of the same memory."""
        return blocks(self.values, self.block_shape)

    def uncompress_rows(self, out=None):
        """The row of each place: -1 where there is no block."""
        rows, _, slots = active(self, outside=True)
        found = np.full(self.nnz, -1, np.int32)
        found[slots] = rows
        if out is None:
            return integers(found)
        out[: self.nnz].assign(found)
        return out

    def nnz_sync(self) -> int:
        """The number of places, as `offsets` says."""
        structure("nnz_sync")
        self.nnz = int(as_numpy(self.offsets)[self.nrow])
        return self.nnz

    def copy_nnz_async(self) -> None:
        """Does nothing: `nnz_sync` asks at once."""

    def notify_nnz_changed(self, nnz=None, nnz_capacity=None) -> None:
        """Says that a program has changed `offsets`: there is room for as many blocks then."""
        if nnz is None and nnz_capacity is None:
            nnz = self.nnz_sync()
        self.nnz = int(nnz_capacity if nnz is None else nnz)
        if nnz_capacity is not None and nnz_capacity < self.nnz:
            raise ValueError(f"there are {self.nnz} blocks, and room for {nnz_capacity}")
        fit(self, max(self.nnz, nnz_capacity or 0))

    def status_sync(self) -> int:
        """Whether a row had too little room, in an operation with `topology="padded"`. It stays so until `clear_status`."""
        return self.__dict__.get("_status", BSR_STATUS_SUCCESS)

    def status_message(self) -> str:
        return _MESSAGES[self.status_sync()]

    def clear_status(self) -> None:
        self.__dict__["_status"] = BSR_STATUS_SUCCESS

    def __add__(self, other):
        return _algebra().bsr_axpy(other, _copies().bsr_copy(self))

    __radd__ = __add__

    def __iadd__(self, other):
        return _algebra().bsr_axpy(other, self)

    def __sub__(self, other):
        return _algebra().bsr_axpy(other, _copies().bsr_copy(self), alpha=-1.0)

    def __rsub__(self, other):
        return _algebra().bsr_axpy(other, _copies().bsr_copy(self), beta=-1.0)

    def __isub__(self, other):
        return _algebra().bsr_axpy(other, self, alpha=-1.0)

    def __mul__(self, number):
        return Scaled(self, number)

    __rmul__ = __mul__

    def __imul__(self, number):
        return _algebra().bsr_scale(self, number)

    def __truediv__(self, number):
        return Scaled(self, 1.0 / number)

    def __neg__(self):
        return Scaled(self, -1.0)

    def __matmul__(self, other):
        return _algebra().bsr_mv(self, other) if isinstance(other, array) else _algebra().bsr_mm(self, other)

    def __rmatmul__(self, other):
        return _algebra().bsr_mv(self, other, transpose=True) if isinstance(other, array) else _algebra().bsr_mm(other, self)

    def __imatmul__(self, other):
        return _algebra().bsr_mm(self, other, self)

    def transpose(self):
        """The transposed matrix, with memory of its own."""
        return _copies().bsr_transposed(self)


class Scaled:
    """A matrix times a number: what `2.0 * A` gives."""

    def __init__(self, mat, scale):
        self.mat, self.scale = mat, scale

    def __getattr__(self, name):
        if name.startswith("_") or name in ("values", "scalar_values"):
            raise AttributeError(f"`A * number` has no `{name}`: bsr_copy makes a matrix of it")
        return getattr(self.mat, name)

    def eval(self):
        return _copies().bsr_copy(self)

    def __add__(self, other):
        return _algebra().bsr_axpy(other, self.eval())

    __radd__ = __add__

    def __sub__(self, other):
        return _algebra().bsr_axpy(other, self.eval(), alpha=-1.0)

    def __rsub__(self, other):
        return _algebra().bsr_axpy(other, self.eval(), beta=-1.0)

    def __mul__(self, number):
        return Scaled(self.mat, self.scale * number)

    __rmul__ = __mul__

    def __truediv__(self, number):
        return Scaled(self.mat, self.scale / number)

    def __neg__(self):
        return Scaled(self.mat, -self.scale)

    def __matmul__(self, other):
        return _algebra().bsr_mv(self, other) if isinstance(other, array) else _algebra().bsr_mm(self, other)

    def __rmatmul__(self, other):
        return _algebra().bsr_mv(self, other, transpose=True) if isinstance(other, array) else _algebra().bsr_mm(other, self)

    def transpose(self):
        return Scaled(self.mat.transpose(), self.scale)


def _algebra():
    from . import _algebra

    return _algebra


def _copies():
    from . import _copies

    return _copies


def bsr_matrix_t(dtype):
    """The struct of matrices whose blocks are of a type; kernels take it."""
    composite = isinstance(dtype, type) and issubclass(dtype, _types.Composite)
    if not composite:
        try:
            dtype = _types.scalar_of(dtype)
        except TypeError:
            raise ValueError(f"a block is a number or a matrix, and no {dtype!r}") from None
    elif len(dtype._shape) != 2:
        raise ValueError(f"a block is a number or a matrix, and no {dtype.__name__}")
    return _matrix_of(dtype)


@functools.cache
def _matrix_of(dtype):
    fields = {"nrow": int, "ncol": int, "nnz": int}
    fields |= {name: array(dtype=int) for name in ("offsets", "row_counts", "columns")}
    name = f"BsrMatrix_{getattr(dtype, '__name__', dtype)}"
    plain = type(name, (), {"__annotations__": {**fields, "values": array(dtype=dtype)}})
    body = {"_kc_class": plain, "__module__": __name__, "__doc__": BsrMatrix.__doc__}
    return type(name, (BsrMatrix, _types.Struct), body)


def is_zero(alpha) -> bool:
    return float(alpha) == 0.0


def bsr_zeros(rows_of_blocks, cols_of_blocks, block_type, device=None, *, topology=None, row_capacity=None, nnz_capacity=None):
    """A matrix without blocks. With `row_capacity`, a number or an array of them, rows have room for so many."""
    if topology is None:
        topology = "compact" if row_capacity is None else "padded"
    known(topology, "compact", "padded")
    place = get_device(device)
    if place.is_cuda:
        raise refused(f"sparse matrices are the host's, and not on {place}", "run this on the CPU: copy arrays, with `x.to(\"cpu\")`")
    made = bsr_matrix_t(block_type)()
    made.nrow, made.ncol, made.nnz = int(rows_of_blocks), int(cols_of_blocks), 0
    if made.nrow < 0 or made.ncol < 0:
        raise ValueError(f"a matrix of {made.nrow} rows and {made.ncol} columns")
    made.offsets, made.columns = zeros(made.nrow + 1, dtype=int), zeros(0, dtype=int)
    made.values = zeros(0, dtype=block_type)
    _empty(made, topology, row_capacity, nnz_capacity)
    return made


def bsr_set_zero(bsr, rows_of_blocks=None, cols_of_blocks=None, *, topology="compact", row_capacity=None, nnz_capacity=None) -> None:
    """Takes all blocks away (`compact`), from rows that keep their room (`padded`), or sets them to zero (`masked`)."""
    known(topology, "compact", "padded", "masked")
    if row_capacity is not None and topology != "padded":
        raise ValueError("row_capacity is for topology='padded'")
    if topology == "masked":
        if rows_of_blocks is not None or cols_of_blocks is not None:
            raise ValueError("with topology='masked' a matrix keeps its size")
        bsr.values.zero_()
        return
    resize(bsr, rows_of_blocks, cols_of_blocks)
    _empty(bsr, topology, row_capacity, nnz_capacity)


def resize(bsr, rows_of_blocks=None, cols_of_blocks=None) -> None:
    """Another number of rows and columns; new rows have no room."""
    structure("a new size")
    if cols_of_blocks is not None:
        bsr.ncol = int(cols_of_blocks)
    if rows_of_blocks is not None and int(rows_of_blocks) != bsr.nrow:
        offsets = as_numpy(bsr.offsets)[: bsr.nrow + 1]
        bsr.nrow = int(rows_of_blocks)
        more = max(bsr.nrow + 1 - len(offsets), 0)
        bsr.offsets = integers(np.concatenate([offsets[: bsr.nrow + 1], np.repeat(offsets[-1:], more)]))


def _empty(bsr, topology, row_capacity, nnz_capacity) -> None:
    structure("a matrix without blocks")
    if nnz_capacity is not None and int(nnz_capacity) < 0:
        raise ValueError(f"nnz_capacity is {nnz_capacity}")
    if row_capacity is not None and topology != "padded":
        raise ValueError("row_capacity is for topology='padded'")
    if topology == "compact":
        bsr.offsets, bsr.row_counts = zeros(bsr.nrow + 1, dtype=int), None
    else:
        if row_capacity is not None:
            bsr.offsets = integers(np.concatenate([[0], np.cumsum(_room(bsr, row_capacity))]))
        bsr.row_counts = zeros(bsr.nrow, dtype=int)
    bsr.notify_nnz_changed(int(as_numpy(bsr.offsets)[bsr.nrow]), None if nnz_capacity is None else int(nnz_capacity))


def _room(bsr, row_capacity):
    """The number of places of each row."""
    if not isinstance(row_capacity, array):
        if int(row_capacity) < 0:
            raise ValueError(f"row_capacity is {row_capacity}")
        return np.full(bsr.nrow, int(row_capacity))
    if row_capacity.shape != (bsr.nrow,):
        raise ValueError(f"row_capacity is an array of shape {(bsr.nrow,)}, not {row_capacity.shape}")
    if as_numpy(row_capacity).dtype != np.int32:
        raise TypeError("row_capacity is an array of int32")
    return as_numpy(row_capacity)


# What the other files ask.


def known(topology, *all_) -> str:
    """The name of a way to write, `compact` where none is given."""
    topology = "compact" if topology is None else topology
    if topology not in all_:
        raise ValueError(f"there is no topology `{topology}` here: there is {', '.join(all_)}")
    return topology


def structure(what) -> None:
    """Raises inside of a captured graph: the numbers that say where blocks are do not exist then."""
    if is_captured():
        raise NotImplementedError(f"kc.warp.sparse does no {what} inside of a captured graph: where blocks are, the host finds at once")


def matrix_and_scale(given):
    """The matrix of an argument, and the number that it is multiplied by."""
    if isinstance(given, BsrMatrix):
        return given, 1.0
    if isinstance(given, Scaled):
        return given.mat, given.scale
    raise ValueError(f"a {type(given).__name__} is no sparse matrix")


def integers(numbers):
    return array(np.ascontiguousarray(numbers, np.int32), dtype=int, copy=False)


def view(values, shape, dtype):
    """The same memory as an array of another type and shape, with the same look at the gradient."""
    made = _array._wrap(as_numpy(values).reshape(shape), dtype, False, array)
    if values._grad is not None:
        made._grad = _array._wrap(as_numpy(values._grad).reshape(shape), dtype, False, array)
    return made


def blocks(values, shape):
    """Blocks as numbers with three dimensions."""
    return view(values, (-1 if values.size else 0, *shape), _types.scalar_of(getattr(values.dtype, "_scalar", values.dtype)))


def active(bsr, outside=False):
    """The rows, columns and places of all blocks; those of columns that the matrix has not are none, if not asked for."""
    offsets = as_numpy(bsr.offsets)[: bsr.nrow + 1].astype(np.int64)
    lengths = np.diff(offsets) if bsr.row_counts is None else as_numpy(bsr.row_counts)[: bsr.nrow].astype(np.int64)
    lengths = np.maximum(lengths, 0)
    rows = np.repeat(np.arange(bsr.nrow), lengths)
    slots = np.arange(lengths.sum()) + np.repeat(offsets[:-1] - (np.cumsum(lengths) - lengths), lengths)
    columns = as_numpy(bsr.columns)[slots]
    if outside:
        return rows, columns, slots
    inside = (columns >= 0) & (columns < bsr.ncol)
    return (rows, columns, slots) if inside.all() else (rows[inside], columns[inside], slots[inside])


def ends(bsr):
    """Where the blocks of each row end."""
    if bsr.row_counts is None:
        return bsr.offsets[1 : bsr.nrow + 1]
    structure("product with room in rows")
    return integers(as_numpy(bsr.offsets)[: bsr.nrow] + as_numpy(bsr.row_counts)[: bsr.nrow])


def fit(bsr, count) -> None:
    """Room for so many blocks; what was there is lost where there was too little."""
    if bsr.columns.size < count:
        bsr.columns = integers(np.zeros(count))
    if bsr.values.size < count:
        bsr.values = empty(count, dtype=bsr.values.dtype, requires_grad=bsr.values.requires_grad)
