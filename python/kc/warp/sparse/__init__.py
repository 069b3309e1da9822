"""Sparse matrices of blocks, as in Warp: ``import kc.warp.sparse``.

A matrix has rows of blocks: numbers (`float`) or matrices (`wp.mat33`). Its structure, which block is where, is made on the host by
sorting; what is done to the numbers are launches, which tapes record and differentiate.
"""

from ._algebra import bsr_axpy, bsr_axpy_work_arrays, bsr_mm, bsr_mm_work_arrays, bsr_mv, bsr_scale
from ._build import (
    BsrTripletMap, bsr_compress, bsr_from_triplets, bsr_set_from_mapped_values, bsr_set_from_triplets,
)
from ._copies import (
    bsr_assign, bsr_copy, bsr_diag, bsr_get_diag, bsr_identity, bsr_set_diag, bsr_set_identity, bsr_set_transpose, bsr_transposed,
)
from ._kernels import bsr_block_index, bsr_row_index
from ._matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED, BSR_STATUS_SUCCESS, BsrMatrix, bsr_matrix_t, bsr_set_zero, bsr_zeros

__all__ = [
    "BSR_STATUS_ROW_CAPACITY_EXCEEDED", "BSR_STATUS_SUCCESS", "BsrMatrix", "BsrTripletMap", "bsr_assign", "bsr_axpy",
    "bsr_axpy_work_arrays", "bsr_block_index", "bsr_compress", "bsr_copy", "bsr_diag", "bsr_from_triplets", "bsr_get_diag",
    "bsr_identity", "bsr_matrix_t", "bsr_mm", "bsr_mm_work_arrays", "bsr_mv", "bsr_row_index", "bsr_scale", "bsr_set_diag",
    "bsr_set_from_mapped_values", "bsr_set_from_triplets", "bsr_set_identity", "bsr_set_transpose", "bsr_set_zero", "bsr_transposed",
    "bsr_zeros",
]
