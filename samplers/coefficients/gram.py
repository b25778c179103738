"""Sums over documents that the distribution of coefficients depends on: Gram matrices of sparse features.

The features are sparse rows, one for each document, and are indexed by column as well. The classes come last, padded to
whole vectors of four, so that a pair of features that meet in a document is looked up once for all of them; and a row
of the matrices is summed by one thread, over documents in their order, so that the bits do not depend on the threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ppl_topics._util.arrays import FloatArray, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, parallel, tight
from ppl_topics.core.observed import MAX_COEFFICIENTS, Design
from ppl_topics.errors import RunError
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.responses.features import PIECES, Features, Rows
from ppl_topics.samplers.variates.simd import INTEGER, WORD, data_of, integer, row_of, size_of, word

__all__ = ["WIDTH", "Columns", "columns_of", "gram", "padded", "rows_of", "shared_weights", "weighted_sums"]


WIDTH = 4
"""Classes in a vector: as many as most processors multiply at once."""

VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class Columns(NamedTuple):
    """The same entries by feature.

    Attributes
    ----------
    ptr : ndarray of int64, shape (F + 1,)
        Feature j has the entries ``ptr[j]`` to ``ptr[j + 1] - 1``.
    docs : ndarray of uint32, shape (n,)
        Document of each entry, ascending in a column.
    places : ndarray of int64, shape (n,)
        Number of the entry in the rows.
    values : ndarray of float64, shape (n,)
    """

    ptr: IntArray
    docs: UInt32Array
    places: IntArray
    values: FloatArray


def rows_of(features: Features, n_coefficients: int) -> Rows:
    """Return topics' shares and fixed columns as sparse rows without zeros; at most 65,535 coefficients."""
    if n_coefficients > MAX_COEFFICIENTS:
        raise RunError(f"a response has {n_coefficients:,} coefficients; at most {MAX_COEFFICIENTS:,} are supported")
    design = features.design
    if design.width == 0:
        return features.topic_rows
    ptr = features.ptr + design.ptr
    rows = Rows(ptr, np.empty(ptr[-1], dtype=np.uint16), np.empty(ptr[-1]))
    append_design(features.topic_rows, design, n_coefficients - design.width, rows)
    return rows


def columns_of(rows: Rows, n_coefficients: int) -> Columns:
    """Index the entries by feature, parallel over documents; those of a feature stay in the order of documents."""
    size = len(rows.columns)
    ptr = np.empty(n_coefficients + 1, dtype=np.int64)
    columns = Columns(ptr, np.empty(size, np.uint32), np.empty(size, np.int64), np.empty(size))
    sort_by_column(rows, columns)
    return columns


def shared_weights(omega: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Split weights into u_d v_c, so that the Gram matrix of a class is v_c times one that all classes share.

    They split where weights are the same for all classes, or for all documents with targets, as those of a gaussian
    response are.

    Parameters
    ----------
    omega : ndarray of float64, shape (D, C)

    Returns
    -------
    u, v : ndarray of float64, shape (D, 1) and (C,), or None
        None in any other case.
    """
    if constant_rows(omega):
        return omega[:, :1], np.ones(omega.shape[1])
    doc = alike_where_not_zero(omega)
    if doc < 0:
        return None
    return np.any(omega != 0.0, axis=1, keepdims=True).astype(np.float64), omega[doc]


def gram(rows: Rows, columns: Columns, omega: FloatArray, total: FloatArray | None = None) -> FloatArray:
    """Return the sums over documents of omega_dc f_d f_d', for all classes at once, parallel over rows of the result.

    Parameters
    ----------
    rows, columns : Rows, Columns
        Of the same features.
    omega : ndarray of float64, shape (D, C)
    total : ndarray of float64, optional
        Memory for the result.

    Returns
    -------
    total : ndarray of float64, shape (F (F + 1) / 2, C')
        The upper triangle: (j, l), with j <= l, is in row j F - j (j - 1) / 2 + l - j. C' is C rounded up to a
        multiple of `WIDTH`; columns beyond C are zero.
    """
    n_coefficients = len(columns.ptr) - 1
    if total is None:
        total = np.zeros((n_coefficients * (n_coefficients + 1) // 2, -(-omega.shape[1] // WIDTH) * WIDTH))
    else:
        total[:] = 0.0
    add_products(rows, columns, padded(omega), total)
    return total


def weighted_sums(columns: Columns, b: FloatArray) -> FloatArray:
    """Return the sums over documents of b_dc f_d, shape (F, C), parallel over features."""
    total = np.zeros((len(columns.ptr) - 1, b.shape[1]))
    add_weighted(columns, b, total)
    return total


def padded(values: FloatArray, fill: float = 0.0) -> FloatArray:
    """Return a matrix with columns added to make whole vectors."""
    n_rows, n_columns = values.shape
    width = -(-n_columns // WIDTH) * WIDTH
    if width == n_columns:
        return np.ascontiguousarray(values)
    result = np.full((n_rows, width), fill)
    result[:, :n_columns] = values
    return result


@parallel
def append_design(topic_rows: Rows, design: Design, n_topics: int, rows: Rows) -> None:
    """Fill the rows: topics, then fixed columns."""
    topic_ptr, topics, shares = topic_rows
    design_ptr, design_columns, design_values, _ = design
    ptr, columns, values = rows
    pieces = make_chunks(ptr, PIECES)
    for piece in numba.prange(PIECES):
        for doc in range(pieces[piece], pieces[piece + 1]):
            at = ptr[doc]
            for place in range(topic_ptr[doc], topic_ptr[doc + 1]):
                columns[at], values[at] = topics[place], shares[place]
                at += 1
            for place in range(design_ptr[doc], design_ptr[doc + 1]):
                columns[at], values[at] = n_topics + np.int64(design_columns[place]), design_values[place]
                at += 1


@parallel
def sort_by_column(rows: Rows, columns: Columns) -> None:
    """Sort the entries by column, by counting."""
    row_ptr, column_of, values = rows
    ptr, docs, places, sorted_values = columns
    n_columns = ptr.size - 1
    pieces = make_chunks(row_ptr, PIECES)
    starts = np.zeros((PIECES, n_columns), dtype=np.int64)
    for piece in numba.prange(PIECES):
        for place in range(row_ptr[pieces[piece]], row_ptr[pieces[piece + 1]]):
            starts[piece, np.int64(column_of[place])] += 1
    reached = 0
    for column in range(n_columns):
        ptr[column] = reached
        for piece in range(PIECES):
            count = starts[piece, column]
            starts[piece, column] = reached
            reached += count
    ptr[n_columns] = reached
    for piece in numba.prange(PIECES):
        for doc in range(pieces[piece], pieces[piece + 1]):
            for place in range(row_ptr[doc], row_ptr[doc + 1]):
                column_of_entry: Any = np.int64(column_of[place])
                at = starts[piece, column_of_entry]
                starts[piece, column_of_entry] = at + 1
                docs[at], places[at], sorted_values[at] = doc, place, values[place]


@compiled
def constant_rows(omega: FloatArray) -> bool:
    """Return whether each document has the same weight for all classes."""
    for doc in range(omega.shape[0]):
        for c in range(omega.shape[1]):
            if omega[doc, c] != omega[doc, 0]:
                return False
    return True


@compiled
def alike_where_not_zero(omega: FloatArray) -> int:
    """Return the first document that has weights, if all that have any have the same; -1 if not."""
    found = -1
    for doc in range(omega.shape[0]):
        zero = True
        for c in range(omega.shape[1]):
            zero = zero and omega[doc, c] == 0.0
        if zero:
            continue
        if found < 0:
            found = doc
        for c in range(omega.shape[1]):
            if omega[doc, c] != omega[found, c]:
                return -1
    return found


@intrinsic  # type: ignore[untyped-decorator]
def add_multiple(typingctx: Any, total: Any, row: Any, terms: Any, factor: Any) -> Any:
    """Add ``factor * terms`` to a row of a matrix, by vectors; both have a multiple of `WIDTH` columns."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = row_of(context, builder, signature, arguments, 0, arguments[1])
        source = data_of(context, builder, signature, arguments, 2)
        size = size_of(context, builder, signature, arguments, 2)
        single = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[3], integer(0))
        factors = builder.shuffle_vector(single, single, ir.Constant(ir.VectorType(INTEGER, WIDTH), [0] * WIDTH))
        before = builder.block
        body, rest = builder.append_basic_block("classes"), builder.append_basic_block("classes.end")
        builder.branch(body)
        builder.position_at_end(body)
        cell = builder.phi(WORD)
        place, term = (builder.bitcast(builder.gep(data, [cell]), VECTOR.as_pointer()) for data in (target, source))
        product = builder.fmul(factors, builder.load(term, align=8))
        builder.store(builder.fadd(builder.load(place, align=8), product), place, align=8)
        following = builder.add(cell, word(WIDTH))
        cell.add_incoming(word(0), before)
        cell.add_incoming(following, body)
        builder.cbranch(builder.icmp_signed("<", following, size), body, rest)
        builder.position_at_end(rest)
        return context.get_dummy_value()

    return types.void(total, types.int64, terms, types.float64), codegen


@parallel
def add_products(rows: Rows, columns: Columns, weights: FloatArray, total: FloatArray) -> None:
    """Add the products of features to the upper triangle; see `gram`."""
    n_coefficients = columns.ptr.size - 1
    work = np.zeros(n_coefficients + 1, dtype=np.int64)
    for column in numba.prange(n_coefficients):
        pairs = 0
        for entry in range(columns.ptr[column], columns.ptr[column + 1]):
            pairs += rows.ptr[np.int64(columns.docs[entry]) + 1] - columns.places[entry]
        work[column + 1] = pairs
    for column in range(n_coefficients):
        work[column + 1] += work[column]
    pieces = make_chunks(work, PIECES)
    for piece in numba.prange(PIECES):
        scaled = np.empty(weights.shape[1])
        add_rows(pieces[piece], pieces[piece + 1], rows, columns, weights, scaled, total)


@tight
def add_rows(
    first: int, last: int, rows: Rows, columns: Columns, weights: FloatArray, scaled: FloatArray, total: FloatArray
) -> None:
    """Add up rows `first` to `last` - 1 of the upper triangle."""
    row_ptr, column_of, values = rows
    ptr, docs, places, _ = columns
    n_coefficients = ptr.size - 1
    for row in range(first, last):
        origin = row * n_coefficients - row * (row - 1) // 2 - row
        for entry in range(ptr[row], ptr[row + 1]):
            doc: Any = np.int64(docs[entry])
            place = places[entry]
            for c in range(scaled.size):
                scaled[c] = weights[doc, c] * values[place]
            # Its columns ascend, so those from here on are the upper part.
            for other in range(place, row_ptr[doc + 1]):
                add_multiple(total, origin + np.int64(column_of[other]), scaled, values[other])


@parallel
def add_weighted(columns: Columns, weights: FloatArray, total: FloatArray) -> None:
    """Add up the weights of documents times their features; see `weighted_sums`."""
    ptr, docs, _, values = columns
    pieces = make_chunks(ptr, PIECES)
    for piece in numba.prange(PIECES):
        for row in range(pieces[piece], pieces[piece + 1]):
            for entry in range(ptr[row], ptr[row + 1]):
                for c in range(weights.shape[1]):
                    total[row, c] += values[entry] * weights[np.int64(docs[entry]), c]
