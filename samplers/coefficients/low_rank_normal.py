"""Coefficients drawn jointly where there are more of them than documents, in parallel over responses.

With f_d the features of document d, w_d the curvature of its likelihood, and V the prior variances on a diagonal, the
precision of the distribution is V^-1 + X'X, the rows of X being sqrt(w_d) f_d: a matrix of F x F. This kernel
factorises I + X V X' in its place, a row for each document that has a target, in O(F D^2 + D^3) for a response.

Where the prior leaves a coefficient all but free, I + X V X' loses the 1 of its diagonal to rounding. Such coefficients
are left out of it; they are drawn first, from their own distribution with all others integrated out, whose precision is
small.

References
----------
A. Bhattacharya, A. Chakraborty, B. K. Mallick (2016). Fast sampling with Gaussian scale mixture priors in
high-dimensional regression. Biometrika 103(4), algorithm 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray, UInt16Array, UInt32Array
from ppl_topics._util.compiled import compiled, parallel, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.conditional_normal import conditional_normal
from ppl_topics.samplers.coefficients.gram import Columns, Rows, columns_of, rows_of, weighted_sums
from ppl_topics.samplers.coefficients.joint_normal import FINE, factorise, solve, solve_transposed
from ppl_topics.samplers.coefficients.reflections import draw_by_reflections
from ppl_topics.samplers.responses.features import Features
from ppl_topics.samplers.variates.streams import new_stream, normal, start

__all__ = ["draw_low_rank", "low_rank_normal"]


FREE = 1e6
"""Prior variance times curvature of the likelihood from which a coefficient is drawn before the others."""

BLOCK, CELLS = 4, 2**20
"""Responses whose matrices are held at a time; more, where all of these have fewer numbers than that."""

DENSE_FROM = 4
"""A feature is held in full if one document in so many has it: what is lost on zeros is won by vectors."""

PANEL = 32
"""Features in full that are added to all rows before the next ones, for they stay in the cache."""

PIECES = 64
"""Sets of rows that a matrix is filled by; fixed, for threads to share evenly."""

NOT_FINITE = -2


class Block(NamedTuple):
    """Some responses, as the compiled code has them.

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
    in_full : ndarray of int64, shape (Q,)
        Features that are held in full.
    """

    n_docs: IntArray
    docs: IntArray
    local: IntArray
    root: FloatArray
    variance: FloatArray
    free: IntArray
    in_full: IntArray


def draw_low_rank(features: Features, b: FloatArray, omega: FloatArray, precision: FloatArray, key: Key) -> FloatArray:
    """Draw the coefficients of each response from Normal(Q^-1 r, Q^-1), given a quadratic form of its log likelihood.

    Q = diag(precision_c) + sum_d omega_dc f_d f_d' and r = sum_d b_dc f_d.

    Parameters
    ----------
    features : Features
    b, omega : ndarray of float64, shape (D, C)
        Slope and curvature of the log likelihood in the linear predictor; 0 where the target is missing.
    precision : ndarray of float64, shape (C, F)
        Of the prior.
    key : Key
        Names the random streams, one for each response.

    Returns
    -------
    eta : ndarray of float64, shape (C, F)
        The same bits on any number of threads.

    Raises
    ------
    RunError
        If the distribution is not positive definite by more than rounding errors, or an input is not finite.
    """
    n_classes, n_coefficients = precision.shape
    rows = rows_of(features, n_coefficients)
    columns = columns_of(rows, n_coefficients)
    place = np.empty(len(rows.values), dtype=np.int64)
    place[columns.places] = np.arange(len(place))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        curvature = weighted_sums(columns._replace(values=columns.values**2), omega).T
        variance = 1.0 / precision
        strength = np.where(curvature > 0.0, variance * curvature, 0.0)
    # Slopes of documents without curvature shift the mean of the prior.
    lone = np.where(omega > 0.0, 0.0, b)
    slopes = weighted_sums(columns, lone).T.copy() if lone.any() else np.zeros_like(precision)
    eta, failed = np.empty_like(precision), np.full(n_classes, FINE, dtype=np.int64)
    at_a_time = max(BLOCK, CELLS // max(1, len(b) * (len(b) + n_coefficients)))
    for first in range(0, n_classes, at_a_time):
        last = min(first + at_a_time, n_classes)
        part = slice(first, last)
        block = _block_of(columns, omega[:, part], variance[part], strength[part])
        matrices, starts = _matrices(rows, columns, place, block)
        draw_block(
            *(first, matrices, starts, *block[:6], *rows, key),
            *(np.ascontiguousarray(b[:, part].T), slopes[part], precision[part], eta[part], failed[part]),
        )
    for c in np.flatnonzero((failed != FINE) & (failed != NOT_FINITE)).tolist():
        # Which way is taken does not depend on what the coefficients were, and the distribution is the same.
        eta[c], failed[c] = draw_by_reflections(rows, b[:, c], omega[:, c], precision[c], key, c)
    if (failed != FINE).any():
        response = int(np.argmax(failed != FINE))
        raise RunError(_describe(response, n_classes, int(failed[response]), n_coefficients))
    return eta


def _describe(response: int, n_classes: int, failed: int, n_coefficients: int) -> str:
    which = f"response {response + 1} of {n_classes}, with {n_coefficients} coefficients"
    if failed == NOT_FINITE:
        return f"{which}: the distribution of its coefficients is not finite; scale targets and covariates"
    return (
        f"{which}: the distribution of their values is not positive definite up to rounding; give the prior a smaller "
        "variance, or draw them by coordinate_normal"
    )


def _block_of(columns: Columns, omega: FloatArray, variance: FloatArray, strength: FloatArray) -> Block:
    n_docs, size = omega.shape
    known = omega > 0.0
    counts = known.sum(axis=0)
    docs, local = np.zeros((size, n_docs), np.int64), np.full((size, n_docs), -1, dtype=np.int64)
    root, free = np.zeros((size, n_docs)), np.full(variance.shape, -1, dtype=np.int64)
    for c, count in enumerate(counts):
        docs[c, :count] = np.flatnonzero(known[:, c])
        local[c, docs[c, :count]] = np.arange(count)
        root[c, :count] = np.sqrt(omega[docs[c, :count], c])
        # No more of them than documents: there are not more directions that the likelihood knows of.
        strongest = np.argsort(-strength[c], kind="stable")[:count]
        chosen = strongest[strength[c, strongest] > FREE]
        free[c, chosen] = np.arange(len(chosen))
    in_full = np.flatnonzero(np.diff(columns.ptr) * DENSE_FROM >= max(1, n_docs))
    return Block(counts, docs, local, root, np.where(free < 0, variance, 0.0), free, in_full)


def _matrices(rows: Rows, columns: Columns, place: IntArray, block: Block) -> tuple[FloatArray, IntArray]:
    """Return the upper triangles of I + X V X' of some responses, one after another, and where each starts."""
    starts = np.concatenate([[0], np.cumsum(block.n_docs**2)])
    matrices = np.empty(starts[-1])
    full_starts = np.concatenate([[0], np.cumsum(block.n_docs * len(block.in_full))])
    full = np.zeros(full_starts[-1])
    is_full = np.zeros(len(columns.ptr) - 1, dtype=np.bool_)
    is_full[block.in_full] = True
    by_column = columns.ptr, columns.docs, columns.values
    fill_columns(full, full_starts, block.in_full, *block[:5], *by_column)
    n_full = len(block.in_full)
    fill_matrices(matrices, starts, full, full_starts, n_full, is_full, place, *block[:5], *rows, *by_column)
    return matrices, starts


@parallel
def fill_columns(
    full: FloatArray,
    full_starts: IntArray,
    in_full: IntArray,
    n_docs: IntArray,
    docs: IntArray,
    local: IntArray,
    root: FloatArray,
    variance: FloatArray,
    ptr: IntArray,
    docs_of: UInt32Array,
    values: FloatArray,
) -> None:
    """Fill the features that are held in full: the square root of V times X, by feature and place of the document."""
    for task in numba.prange(n_docs.size * in_full.size):
        c, number = task // in_full.size, task % in_full.size
        column = in_full[number]
        spread = math.sqrt(variance[c, column])
        first = full_starts[c] + number * n_docs[c]
        for entry in range(ptr[column], ptr[column + 1]):
            at = local[c, np.int64(docs_of[entry])]
            if at >= 0:
                full[first + at] = spread * root[c, at] * values[entry]


@parallel
def fill_matrices(
    matrices: FloatArray,
    starts: IntArray,
    full: FloatArray,
    full_starts: IntArray,
    n_full: int,
    is_full: BoolArray,
    place: IntArray,
    n_docs: IntArray,
    docs: IntArray,
    local: IntArray,
    root: FloatArray,
    variance: FloatArray,
    row_ptr: IntArray,
    row_columns: UInt16Array,
    row_values: FloatArray,
    ptr: IntArray,
    docs_of: UInt32Array,
    values: FloatArray,
) -> None:
    """Fill the upper triangles of I + X V X', each row by one thread; see `_matrices`."""
    for task in numba.prange(n_docs.size * PIECES):
        c, piece = task // PIECES, task % PIECES
        size = n_docs[c]
        matrix = matrices[starts[c] : starts[c + 1]].reshape((size, size))
        in_full = full[full_starts[c] : full_starts[c + 1]].reshape((n_full, size))
        # Every so many rows, for the first ones are the longest.
        for row in range(piece, size, PIECES):
            start_row(matrix, row)
            doc = docs[c, row]
            for at in range(row_ptr[doc], row_ptr[doc + 1]):
                column: Any = np.int64(row_columns[at])
                if is_full[column] or variance[c, column] == 0.0:
                    continue
                factor = variance[c, column] * row_values[at] * root[c, row]
                add_column(matrix, row, factor, place[at], ptr[column + 1], c, docs_of, values, local, root)
        for first in range(0, n_full, PANEL):
            last = min(first + PANEL, n_full)
            for row in range(piece, size, PIECES):
                add_panel(matrix, row, in_full, first, last)


@tight
def start_row(matrix: FloatArray, row: int) -> None:
    """Fill a row of the upper triangle with that of the unit matrix."""
    for other in range(row, matrix.shape[0]):
        matrix[row, other] = 0.0
    matrix[row, row] = 1.0


@tight
def add_column(
    matrix: FloatArray,
    row: int,
    factor: float,
    first: int,
    last: int,
    c: int,
    docs_of: UInt32Array,
    values: FloatArray,
    local: IntArray,
    root: FloatArray,
) -> None:
    """Add one feature of a document, times that of each later one, to the row of the document."""
    for entry in range(first, last):
        other = local[c, np.int64(docs_of[entry])]
        if other >= 0:
            matrix[row, other] += factor * values[entry] * root[c, other]


@tight
def add_panel(matrix: FloatArray, row: int, full: FloatArray, first: int, last: int) -> None:
    """Add features `first` to `last` - 1 of those that are held in full to a row."""
    target = matrix[row, row:]
    k = first
    while k + 4 <= last:
        a, b, c, d = full[k, row], full[k + 1, row], full[k + 2, row], full[k + 3, row]
        part_a, part_b, part_c, part_d = full[k, row:], full[k + 1, row:], full[k + 2, row:], full[k + 3, row:]
        for other in range(target.size):
            target[other] += a * part_a[other] + b * part_b[other] + c * part_c[other] + d * part_d[other]
        k += 4
    while k < last:
        a, part = full[k, row], full[k, row:]
        for other in range(target.size):
            target[other] += a * part[other]
        k += 1


@parallel
def draw_block(
    first: int,
    matrices: FloatArray,
    starts: IntArray,
    n_docs: IntArray,
    docs: IntArray,
    local: IntArray,
    root: FloatArray,
    variance: FloatArray,
    free: IntArray,
    row_ptr: IntArray,
    row_columns: UInt16Array,
    row_values: FloatArray,
    key: Key,
    b: FloatArray,
    slopes: FloatArray,
    precision: FloatArray,
    eta: FloatArray,
    failed: IntArray,
) -> None:
    """Draw the coefficients of the responses from `first` on, in parallel, their matrices being given."""
    for c in numba.prange(n_docs.size):
        size = n_docs[c]
        matrix = matrices[starts[c] : starts[c + 1]].reshape((size, size))
        stream = new_stream()
        start(stream, key, first + c)
        noise, errors = np.empty(variance.shape[1]), np.empty(size)
        for j in range(noise.size):
            noise[j] = normal(stream)
        for d in range(size):
            errors[d] = normal(stream)
        rows = docs[c, :size].copy()
        failed[c] = draw_one(
            matrix,
            rows,
            root[c],
            variance[c],
            free[c],
            row_ptr,
            row_columns,
            row_values,
            b[c],
            slopes[c],
            precision[c],
            noise,
            errors,
            eta[c],
        )


@compiled
def draw_one(
    matrix: FloatArray,
    docs: IntArray,
    root: FloatArray,
    variance: FloatArray,
    free: IntArray,
    row_ptr: IntArray,
    row_columns: UInt16Array,
    row_values: FloatArray,
    b: FloatArray,
    slopes: FloatArray,
    precision: FloatArray,
    noise: FloatArray,
    errors: FloatArray,
    eta: FloatArray,
) -> int:
    """Draw the coefficients of one response into `eta`.

    Parameters
    ----------
    matrix : ndarray of float64, shape (m, m)
        The upper triangle of I + X V X'; overwritten.
    docs, root : ndarray of int64 and float64, shapes (m,) and (D,)
        The documents that have curvature, and square roots of it.
    variance, free, slopes, precision, noise : ndarray, shape (F,)
        Of the prior, 0 where the coefficient is free; the number among the free ones; what shifts the prior's mean; the
        prior's precision; standard normal numbers.
    row_ptr, row_columns, row_values : ndarray
        Features of documents, as sparse rows.
    b : ndarray of float64, shape (D,)
    errors : ndarray of float64, shape (m,)
        Standard normal numbers.

    Returns
    -------
    failed : int
        -1, or a row whose pivot is not positive, or `NOT_FINITE`.
    """
    size, n_coefficients = docs.size, eta.size
    unit, left = np.empty(size), np.empty(size)
    failed = scale_to_unit(matrix, unit)
    if failed == FINE:
        failed = factorise(matrix)
    if failed != FINE:
        return failed
    # What the prior mean leaves of the targets.
    for j in range(n_coefficients):
        eta[j] = variance[j] * slopes[j]
    for d in range(size):
        doc = docs[d]
        left[d] = b[doc] / root[d] - root[d] * product(row_ptr[doc], row_ptr[doc + 1], row_columns, row_values, eta)
    n_free = free.max() + 1 if n_coefficients > 0 else 0
    if n_free > 0:
        failed = draw_free(
            n_free,
            matrix,
            unit,
            left,
            docs,
            root,
            free,
            row_ptr,
            row_columns,
            row_values,
            slopes,
            precision,
            noise,
            eta,
        )
        if failed != FINE:
            return failed
    # The others given these: a draw of the prior, mended where it does not agree with the targets.
    prior = np.zeros(n_coefficients)
    for j in range(n_coefficients):
        if free[j] < 0:
            prior[j] = math.sqrt(variance[j]) * noise[j]
            eta[j] += prior[j]
    for d in range(size):
        doc = docs[d]
        fitted = root[d] * product(row_ptr[doc], row_ptr[doc + 1], row_columns, row_values, prior)
        left[d] = unit[d] * (left[d] - fitted - errors[d])
    solve_transposed(matrix, left)
    solve(matrix, left)
    for d in range(size):
        weight = root[d] * unit[d] * left[d]
        for at in range(row_ptr[docs[d]], row_ptr[docs[d] + 1]):
            column: Any = np.int64(row_columns[at])
            # The variance of a free one is zero here.
            eta[column] += variance[column] * (row_values[at] * weight)
    for j in range(n_coefficients):
        if not math.isfinite(eta[j]):
            return NOT_FINITE
    return FINE


@compiled
def draw_free(
    n_free: int,
    matrix: FloatArray,
    unit: FloatArray,
    left: FloatArray,
    docs: IntArray,
    root: FloatArray,
    free: IntArray,
    row_ptr: IntArray,
    row_columns: UInt16Array,
    row_values: FloatArray,
    slopes: FloatArray,
    precision: FloatArray,
    noise: FloatArray,
    eta: FloatArray,
) -> int:
    """Draw the free coefficients with all others integrated out, and subtract what they explain from `left`."""
    size = docs.size
    features = np.zeros((n_free, size))
    for d in range(size):
        for at in range(row_ptr[docs[d]], row_ptr[docs[d] + 1]):
            number = free[np.int64(row_columns[at])]
            if number >= 0:
                features[number, d] = unit[d] * root[d] * row_values[at]
    whitened, explained = features.copy(), unit * left
    solve_transposed(matrix, explained)
    for k in range(n_free):
        solve_transposed(matrix, whitened[k])
    inner, values, draws = np.zeros((n_free, n_free)), np.empty(n_free), np.empty(n_free)
    for j in range(free.size):
        k = free[j]
        if k >= 0:
            inner[k, k] = precision[j]
            values[k] = slopes[j]
            draws[k] = noise[j]
    for k in range(n_free):
        for d in range(size):
            values[k] += whitened[k, d] * explained[d]
        for other in range(k, n_free):
            total = 0.0
            for d in range(size):
                total += whitened[k, d] * whitened[other, d]
            inner[k, other] += total
    scale = np.empty(n_free)
    failed = scale_to_unit(inner, scale)
    if failed == FINE:
        failed = factorise(inner)
    if failed != FINE:
        return failed
    values *= scale
    solve_transposed(inner, values)
    values += draws
    solve(inner, values)
    values *= scale
    for j in range(free.size):
        if free[j] >= 0:
            eta[j] = values[free[j]]
    for d in range(size):
        for k in range(n_free):
            left[d] -= features[k, d] / unit[d] * values[k]
    return FINE


@tight
def scale_to_unit(upper: FloatArray, unit: FloatArray) -> int:
    """Scale rows and columns so that the diagonal is one; return -1, or `NOT_FINITE` where that cannot be."""
    for row in range(unit.size):
        if not 0.0 < upper[row, row] < math.inf:
            return NOT_FINITE
        unit[row] = 1.0 / math.sqrt(upper[row, row])
    for row in range(unit.size):
        upper[row, row] = 1.0
        for other in range(row + 1, unit.size):
            upper[row, other] *= unit[row] * unit[other]
    return FINE


@tight
def product(first: int, last: int, columns: UInt16Array, values: FloatArray, coefficients: FloatArray) -> float:
    """Return the sum of a document's features, each times its coefficient."""
    total = 0.0
    for at in range(first, last):
        column: Any = np.int64(columns[at])
        total += values[at] * coefficients[column]
    return total


@kernel(
    "low_rank_normal",
    updates="eta",
    reads=("z", "augmentation", "tau", "lambda", "slab"),
    handles=("quadratic_response", "conditional_normal"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="response",
    cost="6e4 + 2e4 * C + 3 * N + 6 * D * C + D * F_d * (10 + 20 * C)"
    " + C * D ** 2 * (2.5 + min(0.06 * F, F_d + F_d ** 2 / max(1, F)) + 0.022 * D)",
    tasks="D / 2",
    memory="8 * min(C, 4) * D * (D + F_d) + 30 * D * F_d + 24 * D * C",
    reference="Bhattacharya, Chakraborty, Mallick 2016, algorithm 1",
)
def low_rank_normal(binding: Binding) -> KernelFunctions:
    """Draw the coefficients of each response jointly, by a matrix of documents where joint_normal has coefficients."""
    eta, distribution_of = binding.names["eta"], conditional_normal(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        state.arrays[eta][:] = draw_low_rank(*distribution_of(state), key)

    return KernelFunctions(step)
