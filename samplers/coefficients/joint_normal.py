"""Coefficients drawn jointly from their full conditional, a normal distribution, in parallel over responses.

References
----------
J. Zhu, N. Chen, H. Perkins, B. Zhang (2014). Gibbs max-margin topic models with data augmentation. JMLR 15,
equations 15 and 16.
H. Rue (2001). Fast sampling of Gaussian Markov random fields. JRSS B 63(2), section 3.1.1.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.conditional_normal import conditional_normal
from ppl_topics.samplers.coefficients.gram import columns_of, gram, rows_of, shared_weights, weighted_sums
from ppl_topics.samplers.coefficients.reflections import draw_by_reflections
from ppl_topics.samplers.responses.features import Features
from ppl_topics.samplers.variates.streams import new_stream, normal, start

__all__ = ["draw_jointly", "factorise", "joint_normal"]


SMALLEST_PIVOT = 1e-12
"""Of a matrix with a diagonal of ones: below it, the pivot is mostly the rounding errors of the Gram matrix."""

BLOCK = 64
"""Responses whose Gram matrices are held at a time."""

PANEL = 32
"""Rows that the factorisation applies to those below them at a time, for they stay in the cache."""

FINE = -1


def draw_jointly(features: Features, b: FloatArray, omega: FloatArray, precision: FloatArray, key: Key) -> FloatArray:
    """Draw the coefficients of each response from Normal(Q^-1 r, Q^-1), given a quadratic form of its log likelihood.

    Q = diag(precision_c) + sum_d omega_dc f_d f_d' and r = sum_d b_dc f_d.

    Parameters
    ----------
    features : Features
    b, omega : ndarray of float64, shape (D, C)
        Slope and curvature of the log likelihood in the linear predictor; 0 where the target is missing.
    precision : ndarray of float64, shape (C, F)
        Of the prior, F = K + P.
    key : Key
        Names the random streams, one for each response.

    Returns
    -------
    eta : ndarray of float64, shape (C, F)
        The same bits on any number of threads.

    Raises
    ------
    RunError
        If Q is not positive definite by more than its rounding errors, or an input is not finite.
    """
    n_classes, n_coefficients = precision.shape
    rows = rows_of(features, n_coefficients)
    columns = columns_of(rows, n_coefficients)
    sums = weighted_sums(columns, b)
    eta, failed = np.empty_like(precision), np.full(n_classes, FINE, dtype=np.int64)
    shared = shared_weights(omega)
    if shared is not None:
        products, which = gram(rows, columns, shared[0]), np.zeros(n_classes, dtype=np.int64)
        draw_all(0, n_classes, products, which, shared[1], sums, precision, key, eta, failed)
    else:
        which, scale = np.arange(n_classes) % BLOCK, np.ones(n_classes)
        for first in range(0, n_classes, BLOCK):
            last = min(first + BLOCK, n_classes)
            products = gram(rows, columns, omega[:, first:last])
            draw_all(first, last, products, which, scale, sums, precision, key, eta, failed)
    for c in np.flatnonzero((failed != FINE) & (failed != n_coefficients)).tolist():
        # Which way is taken does not depend on what the coefficients were, and the distribution is the same.
        eta[c], failed[c] = draw_by_reflections(rows, b[:, c], omega[:, c], precision[c], key, c)
    if (failed != FINE).any():
        response = int(np.argmax(failed != FINE))
        raise RunError(_describe(response, n_classes, int(failed[response]), n_coefficients))
    return eta


def _describe(response: int, n_classes: int, failed: int, n_coefficients: int) -> str:
    which = f"response {response + 1} of {n_classes}, with {n_coefficients} coefficients"
    if failed == n_coefficients:
        return f"{which}: the distribution of its coefficients is not finite; scale targets and covariates"
    return (
        f"{which}: the precision of their distribution is not positive definite up to rounding (number {failed + 1} "
        "follows from those before it); give the prior a smaller variance, or draw them by coordinate_normal"
    )


@parallel
def draw_all(
    first: int,
    last: int,
    products: FloatArray,
    which: IntArray,
    scale: FloatArray,
    sums: FloatArray,
    precision: FloatArray,
    key: Key,
    eta: FloatArray,
    failed: IntArray,
) -> None:
    """Draw the coefficients of responses `first` to `last` - 1, in parallel.

    Parameters
    ----------
    first, last : int
    products : ndarray of float64, shape (F (F + 1) / 2, C')
        Gram matrices, from `ppl_topics.samplers.coefficients.gram.gram`.
    which : ndarray of int64, shape (C,)
    scale : ndarray of float64, shape (C,)
        Response c has Gram matrix ``which[c]``, times ``scale[c]``.
    sums : ndarray of float64, shape (F, C)
        r, by response.
    precision : ndarray of float64, shape (C, F)
    key : Key
        Of the random streams, one for each response.
    eta : ndarray of float64, shape (C, F)
        Overwritten with the draws.
    failed : ndarray of int64, shape (C,)
        Overwritten: -1, or the coefficient whose pivot is not positive, or F where the draw is not finite.
    """
    n_coefficients = precision.shape[1]
    for c in numba.prange(first, last):
        factor, unit = np.empty((n_coefficients, n_coefficients)), np.empty(n_coefficients)
        values = np.empty(n_coefficients)
        failed[c] = fill_scaled(products, which[c], scale[c], precision, c, factor, unit)
        if failed[c] == FINE:
            failed[c] = factorise(factor)
        if failed[c] != FINE:
            continue
        for j in range(n_coefficients):
            values[j] = unit[j] * sums[j, c]
        solve_transposed(factor, values)
        stream = new_stream()
        start(stream, key, c)
        for j in range(n_coefficients):
            values[j] += normal(stream)
        solve(factor, values)
        for j in range(n_coefficients):
            eta[c, j] = unit[j] * values[j]
            if not math.isfinite(eta[c, j]):
                failed[c] = n_coefficients


@tight
def fill_scaled(
    products: FloatArray, lane: int, scale: float, precision: FloatArray, c: int, factor: FloatArray, unit: FloatArray
) -> int:
    """Fill the upper triangle of Q, rows and columns scaled by `unit` so that its diagonal is one.

    So the factorisation loses nothing where coefficients are of very different scales. Returns -1, or F where Q is
    not finite.
    """
    n_coefficients = unit.size
    cell = 0
    for j in range(n_coefficients):
        diagonal = precision[c, j] + scale * products[cell, lane]
        if not 0.0 < diagonal < math.inf:
            return n_coefficients
        unit[j] = 1.0 / math.sqrt(diagonal)
        cell += n_coefficients - j
    cell = 0
    for j in range(n_coefficients):
        factor[j, j] = 1.0
        for other in range(j + 1, n_coefficients):
            factor[j, other] = scale * products[cell + other - j, lane] * unit[j] * unit[other]
        cell += n_coefficients - j
    return FINE


@compiled
def factorise(upper: FloatArray) -> int:
    """Replace the upper triangle of A by the U of A = U'U (Cholesky), U having a positive diagonal.

    Parameters
    ----------
    upper : ndarray of float64, shape (n, n)
        Changed in place; what is below the diagonal is not read.

    Returns
    -------
    failed : int
        -1, or the first row whose pivot is not above `SMALLEST_PIVOT`.
    """
    size = upper.shape[0]
    for first in range(0, size, PANEL):
        last = min(first + PANEL, size)
        for row in range(first, last):
            subtract_rows(upper, first, row, row)
            pivot = upper[row, row]
            if not SMALLEST_PIVOT < pivot < math.inf:
                return row
            inverse = 1.0 / math.sqrt(pivot)
            for column in range(row, size):
                upper[row, column] *= inverse
        for row in range(last, size):
            subtract_rows(upper, first, last, row)
    return FINE


@tight
def subtract_rows(upper: FloatArray, first: int, last: int, target: int) -> None:
    """Subtract from a row, right of the diagonal, the rows `first` to `last` - 1, each times its entry above it."""
    row = upper[target, target:]
    k = first
    while k + 4 <= last:
        a, b, c, d = upper[k, target], upper[k + 1, target], upper[k + 2, target], upper[k + 3, target]
        row_a, row_b, row_c, row_d = (
            upper[k, target:],
            upper[k + 1, target:],
            upper[k + 2, target:],
            upper[k + 3, target:],
        )
        for column in range(row.size):
            row[column] -= a * row_a[column] + b * row_b[column] + c * row_c[column] + d * row_d[column]
        k += 4
    while k < last:
        a, row_a = upper[k, target], upper[k, target:]
        for column in range(row.size):
            row[column] -= a * row_a[column]
        k += 1


@tight
def solve_transposed(upper: FloatArray, values: FloatArray) -> None:
    """Replace `values` by the solution x of U'x = values."""
    for k in range(values.size):
        values[k] /= upper[k, k]
        for j in range(k + 1, values.size):
            values[j] -= upper[k, j] * values[k]


@tight
def solve(upper: FloatArray, values: FloatArray) -> None:
    """Replace `values` by the solution x of Ux = values."""
    for k in range(values.size - 1, -1, -1):
        total = values[k]
        for j in range(k + 1, values.size):
            total -= upper[k, j] * values[j]
        values[k] = total / upper[k, k]


@kernel(
    "joint_normal",
    updates="eta",
    reads=("z", "augmentation", "tau", "lambda", "slab"),
    handles=("quadratic_response", "conditional_normal"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="response",
    cost="3 * N + 6 * D * C + D * F_d * (10 + F_d * (1.2 + 0.06 * C)) + C * F ** 2 * (2.5 + 0.022 * F)",
    tasks="F / 2",
    memory="4 * (min(C, 64) + 5) * F ** 2 + 30 * D * F_d + 24 * D * C",
    reference="Zhu et al. 2014, eq. 15 and 16",
)
def joint_normal(binding: Binding) -> KernelFunctions:
    """Draw the coefficients of each response jointly from their normal distribution, parallel over responses."""
    eta, distribution_of = binding.names["eta"], conditional_normal(binding)

    def step(state: ChainState, memory: None, key: Key) -> None:
        state.arrays[eta][:] = draw_jointly(*distribution_of(state), key)

    return KernelFunctions(step)
