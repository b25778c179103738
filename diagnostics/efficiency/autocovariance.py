"""Autocovariances of real chains, one pair of lags at a time, in an order of summation that vectorises."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled

__all__ = ["centre", "halving_sum", "has_nan", "lag_pair", "lag_sum"]


@compiled
def halving_sum(terms: FloatArray, size: int) -> float:
    """Return the sum of the first ``size`` terms, adding the upper half to the lower until few are left.

    Adding element to element vectorises without reordering a sum. ``terms`` is overwritten.
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
    """Return True if any value is NaN."""
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
    """Fill ``centred`` with the chains less their means, which fill ``means``; ``terms`` (n_draws,) is scratch."""
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
    """Return the products of draws ``lag`` and ``lag + 1`` apart, summed over draws and chains.

    ``centred`` holds an even number of centred chains, and ``lag`` is at most n_draws - 2; the terms are scratch.
    Divided by n_chains * n_draws, the sums are the mean autocovariances.
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
