"""The matrices I + X V X' of responses, a row for each document that has a target.

The rows of X are sqrt(w_d) f_d, with f_d the features of document d and w_d the curvature of its likelihood; V has the
prior variances on its diagonal.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics._util.compiled import parallel, signed, tight
from ppl_topics.samplers.coefficients.gram import Columns
from ppl_topics.samplers.responses.features import Rows

__all__ = ["Block", "Packed", "block_of", "document_matrices"]


FREE = 1e6
"""Prior variance times curvature of the likelihood from which a coefficient is drawn before the others."""

DENSE_FROM = 4
"""A feature is stored densely if one document in this many has it: vector instructions gain more than zeros cost."""

PANEL = 32
"""Dense features that are added to all rows before the next ones, so that they stay in the cache."""

PIECES = 64
"""Sets of rows that a matrix is filled by, whatever the number of threads."""


class Block(NamedTuple):
    """Some responses, as compiled functions take them.

    Attributes
    ----------
    n_docs : ndarray of int64, shape (B,)
        Documents with curvature of each response.
    docs, local : ndarray of int64, shape (B, D)
        These documents, and the place of each document among them, -1 for none.
    root : ndarray of float64, shape (B, D)
        Square roots of the curvature, by place.
    variance : ndarray of float64, shape (B, F)
        Of the prior; 0 where the coefficient is free.
    free : ndarray of int64, shape (B, F)
        Number among the free coefficients; -1 for the others.
    dense : ndarray of int64, shape (Q,)
        Features that are stored densely.
    is_dense : ndarray of bool, shape (F,)
    """

    n_docs: IntArray
    docs: IntArray
    local: IntArray
    root: FloatArray
    variance: FloatArray
    free: IntArray
    dense: IntArray
    is_dense: BoolArray


class Packed(NamedTuple):
    """Matrices of different sizes, one after another.

    Attributes
    ----------
    cells : ndarray of float64, shape (n,)
    starts : ndarray of int64, shape (B + 1,)
        Matrix c is ``cells[starts[c]:starts[c + 1]]``.
    """

    cells: FloatArray
    starts: IntArray


def block_of(columns: Columns, omega: FloatArray, variance: FloatArray, strength: FloatArray) -> Block:
    """Return some responses given curvature, shape (D, B), prior variance and its ratio to the likelihood's, (B, F)."""
    n_docs, size = omega.shape
    known = omega > 0.0
    counts = known.sum(axis=0)
    docs, local = np.zeros((size, n_docs), np.int64), np.full((size, n_docs), -1, dtype=np.int64)
    root, free = np.zeros((size, n_docs)), np.full(variance.shape, -1, dtype=np.int64)
    for c, count in enumerate(counts):
        docs[c, :count] = np.flatnonzero(known[:, c])
        local[c, docs[c, :count]] = np.arange(count)
        root[c, :count] = np.sqrt(omega[docs[c, :count], c])
        # No more of them than documents: the likelihood knows no more directions.
        strongest = np.argsort(-strength[c], kind="stable")[:count]
        chosen = strongest[strength[c, strongest] > FREE]
        free[c, chosen] = np.arange(len(chosen))
    is_dense = np.diff(columns.ptr) * DENSE_FROM >= max(1, n_docs)
    return Block(counts, docs, local, root, np.where(free < 0, variance, 0.0), free, np.flatnonzero(is_dense), is_dense)


def document_matrices(rows: Rows, columns: Columns, later: IntArray, block: Block) -> Packed:
    """Return the upper triangles of I + X V X' of some responses, ``later[i]`` being the place of entry i by column."""
    starts = np.concatenate([[0], np.cumsum(block.n_docs**2)])
    matrices = Packed(np.empty(starts[-1]), starts)
    starts = np.concatenate([[0], np.cumsum(block.n_docs * len(block.dense))])
    dense = Packed(np.zeros(starts[-1]), starts)
    fill_dense(columns, block, dense)
    fill_matrices(rows, columns, later, block, dense, matrices)
    return matrices


@parallel
def fill_dense(columns: Columns, block: Block, dense: Packed) -> None:
    """Fill the dense features: the square root of V times X, by feature and place of the document."""
    n_dense = block.dense.size
    for task in numba.prange(block.n_docs.size * n_dense):
        fill_feature(signed(task // n_dense), signed(task % n_dense), columns, block, dense)


@tight
def fill_feature(c: int, number: int, columns: Columns, block: Block, dense: Packed) -> None:
    """Fill one dense feature of one response."""
    column, local, root = block.dense[number], block.local, block.root
    spread = math.sqrt(block.variance[c, column])
    first = dense.starts[c] + number * block.n_docs[c]
    for entry in range(columns.ptr[column], columns.ptr[column + 1]):
        at = local[c, np.int64(columns.docs[entry])]
        if at >= 0:
            dense.cells[first + at] = spread * root[c, at] * columns.values[entry]


@parallel
def fill_matrices(rows: Rows, columns: Columns, later: IntArray, block: Block, dense: Packed, matrices: Packed) -> None:
    """Fill the upper triangles of I + X V X', each row by one thread."""
    n_dense = block.dense.size
    for task in numba.prange(block.n_docs.size * PIECES):
        c, piece = task // PIECES, task % PIECES
        size = block.n_docs[c]
        matrix = matrices.cells[matrices.starts[c] : matrices.starts[c + 1]].reshape((size, size))
        features = dense.cells[dense.starts[c] : dense.starts[c + 1]].reshape((n_dense, size))
        # Rows at a fixed distance, for the first ones are the longest.
        for row in range(piece, size, PIECES):
            start_row(matrix, row)
            add_sparse(matrix, row, c, rows, columns, later, block)
        for first in range(0, n_dense, PANEL):
            last = min(first + PANEL, n_dense)
            for row in range(piece, size, PIECES):
                add_panel(matrix, row, features, first, last)


@tight
def start_row(matrix: FloatArray, row: int) -> None:
    """Fill a row of the upper triangle with that of the unit matrix."""
    for other in range(row, matrix.shape[0]):
        matrix[row, other] = 0.0
    matrix[row, row] = 1.0


@tight
def add_sparse(
    matrix: FloatArray, row: int, c: int, rows: Rows, columns: Columns, later: IntArray, block: Block
) -> None:
    """Add the sparse features of a row's document, each times that of every later document, to the row."""
    local, root, variance, is_dense = block.local, block.root, block.variance, block.is_dense
    ptr, docs, _, values = columns
    doc = block.docs[c, row]
    for at in range(rows.ptr[doc], rows.ptr[doc + 1]):
        column: Any = np.int64(rows.columns[at])
        if is_dense[column] or variance[c, column] == 0.0:
            continue
        factor = variance[c, column] * rows.values[at] * root[c, row]
        for entry in range(later[at], ptr[column + 1]):
            other = local[c, np.int64(docs[entry])]
            if other >= 0:
                matrix[row, other] += factor * values[entry] * root[c, other]


@tight
def add_panel(matrix: FloatArray, row: int, dense: FloatArray, first: int, last: int) -> None:
    """Add dense features `first` to `last` - 1 to a row."""
    target = matrix[row, row:]
    k = first
    while k + 4 <= last:
        a, b, c, d = dense[k, row], dense[k + 1, row], dense[k + 2, row], dense[k + 3, row]
        part_a, part_b, part_c, part_d = (
            dense[k, row:],
            dense[k + 1, row:],
            dense[k + 2, row:],
            dense[k + 3, row:],
        )
        for other in range(target.size):
            target[other] += a * part_a[other] + b * part_b[other] + c * part_c[other] + d * part_d[other]
        k += 4
    while k < last:
        a, part = dense[k, row], dense[k, row:]
        for other in range(target.size):
            target[other] += a * part[other]
        k += 1
