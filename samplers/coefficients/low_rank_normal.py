"""Coefficients drawn jointly where there are more of them than documents, in parallel over responses.

With f_d the features of document d, w_d the curvature of its likelihood, and V the prior variances on a diagonal, the
precision of the distribution is V^-1 + X'X, the rows of X being sqrt(w_d) f_d: a matrix of F x F. This kernel
factorises I + X V X' instead, a row for each document that has a target, in O(F D^2 + D^3) for a response.

Where the prior leaves a coefficient all but free, I + X V X' loses the 1 of its diagonal to rounding. Such coefficients
are left out of it and drawn first, from their distribution with all others integrated out, whose precision is a small
matrix.

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

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel, signed, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.cholesky import (
    FINE,
    NOT_FINITE,
    factorise,
    scale_to_unit,
    solve,
    solve_transposed,
)
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal, conditional_normal
from ppl_topics.samplers.coefficients.document_matrices import Block, Packed, block_of, document_matrices
from ppl_topics.samplers.coefficients.gram import columns_of, rows_of, weighted_sums
from ppl_topics.samplers.coefficients.reflections import draw_by_reflections
from ppl_topics.samplers.responses.features import Rows
from ppl_topics.samplers.variates.streams import Stream, new_stream, normal, start

__all__ = ["draw_low_rank", "low_rank_normal"]


BLOCK, CELLS = 4, 2**20
"""Responses whose matrices are in memory at a time; more, where all of these have fewer numbers than that."""


class Slopes(NamedTuple):
    """What shifts the means of some responses, and the precision of their priors.

    Attributes
    ----------
    b : ndarray of float64, shape (B, D)
        Slope of the log likelihood.
    shift : ndarray of float64, shape (B, F)
        Sums over the documents without curvature of b_d f_d.
    precision : ndarray of float64, shape (B, F)
    """

    b: FloatArray
    shift: FloatArray
    precision: FloatArray


class Response(NamedTuple):
    """One response, with the random numbers of its draw.

    Attributes
    ----------
    docs : ndarray of int64, shape (m,)
        Documents that have curvature.
    root : ndarray of float64, shape (D,)
        Square roots of it, by place.
    variance, free, shift, precision : ndarray of float64 or int64, shape (F,)
        As those of `Block` and `Slopes`.
    b : ndarray of float64, shape (D,)
    noise, errors : ndarray of float64, shapes (F,) and (m,)
        Standard normal.
    """

    docs: IntArray
    root: FloatArray
    variance: FloatArray
    free: IntArray
    shift: FloatArray
    precision: FloatArray
    b: FloatArray
    noise: FloatArray
    errors: FloatArray


def draw_low_rank(distribution: ConditionalNormal, key: Key) -> FloatArray:
    """Draw the coefficients of each response from Normal(Q^-1 r, Q^-1), from a random stream for each."""
    features, b, omega, precision = distribution
    n_classes, n_coefficients = precision.shape
    rows = rows_of(features, n_coefficients)
    columns = columns_of(rows, n_coefficients)
    later = np.empty(len(rows.values), dtype=np.int64)
    later[columns.places] = np.arange(len(later))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        curvature = weighted_sums(columns._replace(values=columns.values**2), omega).T
        variance = 1.0 / precision
        strength = np.where(curvature > 0.0, variance * curvature, 0.0)
    # Slopes of documents without curvature shift the mean of the prior.
    lone = np.where(omega > 0.0, 0.0, b)
    shift = weighted_sums(columns, lone).T.copy() if lone.any() else np.zeros_like(precision)
    eta, failed = np.empty_like(precision), np.full(n_classes, FINE, dtype=np.int64)
    at_a_time = max(BLOCK, CELLS // max(1, len(b) * (len(b) + n_coefficients)))
    for first in range(0, n_classes, at_a_time):
        part = slice(first, first + at_a_time)
        block = block_of(columns, omega[:, part], variance[part], strength[part])
        matrices = document_matrices(rows, columns, later, block)
        slopes = Slopes(np.ascontiguousarray(b[:, part].T), shift[part], precision[part])
        draw_block(first, rows, block, slopes, matrices, key, eta, failed)
    for c in np.flatnonzero((failed != FINE) & (failed != NOT_FINITE)).tolist():
        # Which way is taken does not depend on what the coefficients were, and the distribution is the same.
        eta[c], failed[c] = draw_by_reflections(rows, distribution.of_response(c), key, c)
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
        "variance, or use coordinate_normal"
    )


@parallel
def draw_block(
    first: int,
    rows: Rows,
    block: Block,
    slopes: Slopes,
    matrices: Packed,
    key: Key,
    eta: FloatArray,
    failed: IntArray,
) -> None:
    """Draw the coefficients of the responses from `first` on, in parallel, or note which row fails."""
    for c in numba.prange(block.n_docs.size):
        stream = new_stream()
        start(stream, key, first + c)
        failed[first + c] = draw_response(signed(c), stream, rows, block, slopes, matrices, eta[first + c])


@compiled
def draw_response(
    c: int, stream: Stream, rows: Rows, block: Block, slopes: Slopes, matrices: Packed, eta: FloatArray
) -> int:
    """Draw the coefficients of one response of a block; return `FINE`, `NOT_FINITE` or the row that fails."""
    size = block.n_docs[c]
    noise, errors = np.empty(eta.size), np.empty(size)
    for j in range(noise.size):
        noise[j] = normal(stream)
    for d in range(size):
        errors[d] = normal(stream)
    matrix = matrices.cells[matrices.starts[c] : matrices.starts[c + 1]].reshape((size, size))
    docs = block.docs[c, :size].copy()
    given = block.root[c], block.variance[c], block.free[c], slopes.shift[c], slopes.precision[c], slopes.b[c]
    return draw_one(matrix, Response(docs, *given, noise, errors), rows, eta)


@compiled
def draw_one(matrix: FloatArray, given: Response, rows: Rows, eta: FloatArray) -> int:
    """Draw the coefficients of one response into `eta`, given the upper triangle of I + X V X', which is overwritten.

    With g_d = b_d / sqrt(w_d), and u drawn from the prior, eta = u + V X' (I + X V X')^-1 (g - X u - errors).
    """
    docs, root, variance, free, shift, _, b, noise, errors = given
    size, n_coefficients = docs.size, eta.size
    unit, left = np.empty(size), np.empty(size)
    failed = scale_to_unit(matrix, unit)
    if failed == FINE:
        failed = factorise(matrix)
    if failed != FINE:
        return failed
    # What the prior mean leaves of the targets.
    for j in range(n_coefficients):
        eta[j] = variance[j] * shift[j]
    for d in range(size):
        left[d] = b[docs[d]] / root[d] - root[d] * product(docs[d], rows, eta)
    n_free = free.max() + 1 if n_coefficients > 0 else 0
    if n_free > 0:
        failed = draw_free(n_free, matrix, unit, left, given, rows, eta)
        if failed != FINE:
            return failed
    # The others given these: a draw of the prior, corrected where it does not agree with the targets.
    prior = np.zeros(n_coefficients)
    for j in range(n_coefficients):
        if free[j] < 0:
            prior[j] = math.sqrt(variance[j]) * noise[j]
            eta[j] += prior[j]
    for d in range(size):
        left[d] = unit[d] * (left[d] - root[d] * product(docs[d], rows, prior) - errors[d])
    solve_transposed(matrix, left)
    solve(matrix, left)
    for d in range(size):
        add_features(docs[d], root[d] * unit[d] * left[d], rows, variance, eta)
    for j in range(n_coefficients):
        if not math.isfinite(eta[j]):
            return NOT_FINITE
    return FINE


@compiled
def draw_free(
    n_free: int, matrix: FloatArray, unit: FloatArray, left: FloatArray, given: Response, rows: Rows, eta: FloatArray
) -> int:
    """Draw the free coefficients with all others integrated out, and subtract what they explain from `left`."""
    docs, root, free = given.docs, given.root, given.free
    size = docs.size
    features = np.zeros((n_free, size))
    for d in range(size):
        for at in range(rows.ptr[docs[d]], rows.ptr[docs[d] + 1]):
            number = free[np.int64(rows.columns[at])]
            if number >= 0:
                features[number, d] = unit[d] * root[d] * rows.values[at]
    whitened, explained = features.copy(), unit * left
    solve_transposed(matrix, explained)
    for k in range(n_free):
        solve_transposed(matrix, whitened[k])
    inner, values, draws = np.zeros((n_free, n_free)), np.empty(n_free), np.empty(n_free)
    for j in range(free.size):
        k = free[j]
        if k >= 0:
            inner[k, k] = given.precision[j]
            values[k] = given.shift[j]
            draws[k] = given.noise[j]
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
def product(doc: int, rows: Rows, coefficients: FloatArray) -> float:
    """Return the sum of a document's features, each times its coefficient."""
    ptr, columns, values = rows
    total = 0.0
    for at in range(ptr[doc], ptr[doc + 1]):
        column: Any = np.int64(columns[at])
        total += values[at] * coefficients[column]
    return total


@tight
def add_features(doc: int, weight: float, rows: Rows, variance: FloatArray, eta: FloatArray) -> None:
    """Add the features of a document, each times a weight and its prior variance, which is 0 where it is free."""
    ptr, columns, values = rows
    for at in range(ptr[doc], ptr[doc + 1]):
        column: Any = np.int64(columns[at])
        eta[column] += variance[column] * (values[at] * weight)


@kernel(
    "low_rank_normal",
    updates="eta",
    reads=("z", "augmentation", "scales"),
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
        state.arrays[eta][:] = draw_low_rank(distribution_of(state), key)

    return KernelFunctions(step)
