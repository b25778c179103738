"""Coefficients drawn jointly from their full conditional, a normal distribution, in parallel over responses.

References
----------
J. Zhu, N. Chen, H. Perkins, B. Zhang (2014). Gibbs max-margin topic models with data augmentation. JMLR 15,
equations 15 and 16.
H. Rue (2001). Fast sampling of Gaussian Markov random fields. JRSS B 63(2), section 3.1.1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel, signed, tight
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.prior import CoefficientPrior
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.cholesky import FINE, NOT_FINITE, factorise, solve, solve_transposed
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal, conditional_normal
from ppl_topics.samplers.coefficients.gram import padded, rows_of
from ppl_topics.samplers.coefficients.group_sums import GroupSums, Sums, add_up, added, groups_of, in_order, one_form
from ppl_topics.samplers.coefficients.reflections import draw_by_reflections
from ppl_topics.samplers.variates.streams import new_stream, normal, start

__all__ = ["draw_jointly", "joint_normal"]


BLOCK = 64
"""Responses whose Gram matrices are in memory at a time."""


class Forms(NamedTuple):
    """The precision Q and r = Q mean of each response.

    Attributes
    ----------
    products : ndarray of float64, shape (F (F + 1) / 2, C')
        Gram matrices, as `gram` returns them.
    which : ndarray of int64, shape (C,)
    scale : ndarray of float64, shape (C,)
        Response c has Gram matrix ``which[c]``, times ``scale[c]``.
    precision : ndarray of float64, shape (C, F)
        Of the prior.
    sums : ndarray of float64, shape (F, C)
        r.
    """

    products: FloatArray
    which: IntArray
    scale: FloatArray
    precision: FloatArray
    sums: FloatArray


def draw_jointly(distribution: ConditionalNormal, key: Key, groups: IntArray | None = None) -> FloatArray:
    """Draw the coefficients of each response from Normal(Q^-1 r, Q^-1), from a random stream for each.

    Sums over documents are added up by groups of these, of the given boundaries; by default all are one.
    """
    precision = distribution.precision
    n_classes = len(precision)
    edges = np.array([0, len(distribution.omega)]) if groups is None else groups
    parts = groups_of(distribution, edges)
    shifts = in_order([part.shifts for part in parts])
    eta, failed = np.empty_like(precision), np.full(n_classes, FINE, dtype=np.int64)
    if one_form(parts):
        sums = Sums(added(parts, GroupSums.shared_products), parts[0].scale, shifts)
        draw_some(0, n_classes, sums, precision, key, eta, failed)
    else:
        for first in range(0, n_classes, BLOCK):
            last = min(first + BLOCK, n_classes)
            sums = Sums(added(parts, partial(products_of, first, last)), None, shifts)
            draw_some(first, last, sums, precision, key, eta, failed)
    for c in np.flatnonzero((failed != FINE) & (failed != NOT_FINITE)).tolist():
        # Which way is taken does not depend on what the coefficients were, and the distribution is the same.
        rows = rows_of(distribution.features, precision.shape[1])
        eta[c], failed[c] = draw_by_reflections(rows, distribution.of_response(c), key, c)
    _check(failed, precision)
    return eta


def products_of(first: int, last: int, part: GroupSums, room: FloatArray | None) -> FloatArray:
    """Return the products of some responses."""
    return part.products(first, last, room)


def draw_given_sums(sums: Sums, precision: FloatArray, key: Key) -> FloatArray:
    """Draw as `draw_jointly` does, given the sums over documents."""
    n_classes = len(precision)
    eta, failed = np.empty_like(precision), np.full(n_classes, FINE, dtype=np.int64)
    if sums.scale is not None:
        draw_some(0, n_classes, sums, precision, key, eta, failed)
    else:
        for first in range(0, n_classes, BLOCK):
            last = min(first + BLOCK, n_classes)
            block = replace(sums, products=padded(np.ascontiguousarray(sums.products[:, first:last])))
            draw_some(first, last, block, precision, key, eta, failed)
    _check(failed, precision)
    return eta


def draw_some(
    first: int, last: int, sums: Sums, precision: FloatArray, key: Key, eta: FloatArray, failed: IntArray
) -> None:
    """Draw the coefficients of responses `first` to `last` - 1; the products are of these only."""
    n_classes = len(precision)
    if sums.scale is None:
        which, scale = np.arange(n_classes) - first, np.ones(n_classes)
    else:
        which, scale = np.zeros(n_classes, dtype=np.int64), sums.scale
    draw_all(first, last, Forms(sums.products, which, scale, precision, sums.shifts), key, eta, failed)


def _check(failed: IntArray, precision: FloatArray) -> None:
    if (failed != FINE).any():
        response = int(np.argmax(failed != FINE))
        raise RunError(_describe(response, len(precision), int(failed[response]), precision.shape[1]))


def _describe(response: int, n_classes: int, failed: int, n_coefficients: int) -> str:
    which = f"response {response + 1} of {n_classes}, with {n_coefficients} coefficients"
    if failed == NOT_FINITE:
        return f"{which}: the distribution of its coefficients is not finite; scale targets and covariates"
    return (
        f"{which}: the precision of their distribution is not positive definite up to rounding (number {failed + 1} "
        "follows from those before it); give the prior a smaller variance, or use coordinate_normal"
    )


@parallel
def draw_all(first: int, last: int, forms: Forms, key: Key, eta: FloatArray, failed: IntArray) -> None:
    """Draw the coefficients of responses `first` to `last` - 1, in parallel, or note which row of Q fails."""
    for c in numba.prange(first, last):
        failed[c] = draw_one(signed(c), forms, key, eta)


@compiled
def draw_one(c: int, forms: Forms, key: Key, eta: FloatArray) -> int:
    """Draw the coefficients of one response: with Q = U'U, they are U^-1 (U'^-1 r + standard normal numbers)."""
    n_coefficients = eta.shape[1]
    factor, unit = np.empty((n_coefficients, n_coefficients)), np.empty(n_coefficients)
    values = np.empty(n_coefficients)
    failed = fill_scaled(c, forms, factor, unit)
    if failed == FINE:
        failed = factorise(factor)
    if failed != FINE:
        return failed
    for j in range(n_coefficients):
        values[j] = unit[j] * forms.sums[j, c]
    solve_transposed(factor, values)
    stream = new_stream()
    start(stream, key, c)
    for j in range(n_coefficients):
        values[j] += normal(stream)
    solve(factor, values)
    for j in range(n_coefficients):
        eta[c, j] = unit[j] * values[j]
        if not math.isfinite(eta[c, j]):
            failed = NOT_FINITE
    return failed


@tight
def fill_scaled(c: int, forms: Forms, factor: FloatArray, unit: FloatArray) -> int:
    """Fill the upper triangle of Q, rows and columns scaled by `unit` so that its diagonal is one."""
    products, lane, scale = forms.products, forms.which[c], forms.scale[c]
    n_coefficients = unit.size
    cell = 0
    for j in range(n_coefficients):
        diagonal = forms.precision[c, j] + scale * products[cell, lane]
        if not 0.0 < diagonal < math.inf:
            return NOT_FINITE
        unit[j] = 1.0 / math.sqrt(diagonal)
        cell += n_coefficients - j
    cell = 0
    for j in range(n_coefficients):
        factor[j, j] = 1.0
        for other in range(j + 1, n_coefficients):
            factor[j, other] = scale * products[cell + other - j, lane] * unit[j] * unit[other]
        cell += n_coefficients - j
    return FINE


@kernel(
    "joint_normal",
    updates="eta",
    reads=("z", "augmentation", "scales"),
    handles=("quadratic_response", "conditional_normal"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="response",
    distributes="statistic",
    cost="3 * N + 6 * D * C + D * F_d * (10 + F_d * (1.2 + 0.06 * C)) + C * F ** 2 * (2.5 + 0.022 * F)",
    tasks="F / 2",
    memory="4 * (min(C, 64) + 5) * F ** 2 + 30 * D * F_d + 24 * D * C",
    reference="Zhu et al. 2014, eq. 15 and 16",
)
def joint_normal(binding: Binding) -> KernelFunctions:
    """Draw the coefficients of each response jointly from their normal distribution, parallel over responses."""
    eta, distribution_of, groups = binding.names["eta"], conditional_normal(binding), binding.tokens.groups
    prior = binding.blocks[eta]
    assert isinstance(prior, CoefficientPrior)

    def step(state: ChainState, memory: None, key: Key) -> None:
        state.arrays[eta][:] = draw_jointly(distribution_of(state), key, groups)

    def statistic(state: ChainState) -> list[Sums]:
        return [Sums.of(part) for part in groups_of(distribution_of(state), groups)]

    def draw_given(state: ChainState, key: Key, sums: Sums) -> None:
        state.arrays[eta][:] = draw_given_sums(sums, prior.precision(state), key)

    return KernelFunctions(step, statistic=statistic, combine=add_up, draw_given=draw_given, by_group=True)
