"""Autocovariances of real chains, one pair of lags at a time, in an order of summation that vectorises."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled

__all__ = ["centre", "halving_sum", "has_nan", "lag_pair", "lag_sum"]


@compiled
def halving_sum(terms: FloatArray, size: int) -> float:
    """Return the sum of the first ``size`` terms, adding the upper half to the lower until few are left.

    Each pass adds element to element, so it vectorises without reordering a sum. ``terms`` is overwritten.
    """
    while size > 8:
        middle = (size + 1) // 2
        for j in range(size - middle):
            terms[j] += terms[j + middle]
        size = middle
    total = 0.0
    for j in range(size):
        total += terms[j]
    return total


@compiled
def has_nan(values: FloatArray) -> bool:
    """Whether any of the values is NaN."""
    count = 0
    for value in values:
        count += 1 if np.isnan(value) else 0
    return count > 0


@compiled
def centre(
    chains: FloatArray,
    centred: FloatArray,
    means: FloatArray,
    terms: FloatArray,
) -> None:
    """Subtract each chain's mean.

    Parameters
    ----------
    chains : ndarray of shape (n_chains, n_draws), float64
        Draws.
    centred : ndarray of shape (n_chains, n_draws), float64
        Filled with the draws less their chain's mean.
    means : ndarray of shape (n_chains,), float64
        Filled with the means.
    terms : ndarray of shape (at least n_draws,), float64
        Scratch.
    """
    n_chains, n_draws = chains.shape
    for chain in range(n_chains):
        row = chains[chain]
        for j in range(n_draws):
            terms[j] = row[j]
        mean = halving_sum(terms, n_draws) / n_draws
        means[chain] = mean
        for j in range(n_draws):
            centred[chain, j] = row[j] - mean


@compiled
def lag_sum(row: FloatArray, lag: int, terms: FloatArray) -> float:
    """Return the sum over ``j`` of ``row[j] * row[j + lag]`` for one centred chain."""
    size = row.size - lag
    for j in range(size):
        terms[j] = row[j] * row[j + lag]
    return halving_sum(terms, size)


@compiled
def lag_pair(
    centred: FloatArray,
    lag: int,
    terms: FloatArray,
    more_terms: FloatArray,
) -> tuple[float, float]:
    """Return the lagged products at ``lag`` and ``lag + 1``, summed over draws and chains.

    Parameters
    ----------
    centred : ndarray of shape (n_chains, n_draws), float64
        Centred chains, an even number of them.
    lag : int
        At most ``n_draws - 2``.
    terms, more_terms : ndarray of shape (at least n_draws,), float64
        Scratch.

    Returns
    -------
    tuple of float
        Divide by ``n_chains * n_draws`` for the mean autocovariances.
    """
    n_chains, n_draws = centred.shape
    size = n_draws - lag - 1
    for j in range(size + 1):
        terms[j] = 0.0
        more_terms[j] = 0.0
    for chain in range(0, n_chains, 2):
        a = centred[chain]
        b = centred[chain + 1]
        for j in range(size):
            terms[j] += a[j] * a[j + lag] + b[j] * b[j + lag]
            more_terms[j] += a[j] * a[j + lag + 1] + b[j] * b[j + lag + 1]
        terms[size] += a[size] * a[size + lag] + b[size] * b[size + lag]
    return halving_sum(terms, size + 1), halving_sum(more_terms, size)
