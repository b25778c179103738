"""Effective sample size from the spectral density at zero of a fitted autoregression, as in R's coda."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.autocovariance import centre, has_nan, lag_sum

__all__ = ["SPECTRAL", "fill_spectral"]

SPECTRAL = ("ess_spectral",)
LINEAR = 1e-14


@compiled
def _largest_order(n_draws: int) -> int:
    """Return the largest autoregressive order tried, R's ``min(n - 1, 10 log10(n))``."""
    return min(n_draws - 1, int(np.floor(10.0 * np.log10(n_draws))))


@compiled
def _is_linear(centred: FloatArray, squares: float) -> bool:
    """Return True if a straight line fits the draws without residual, as it does a constant chain."""
    n = centred.size
    products = 0.0
    for j in range(n):
        products += (j - (n - 1) / 2.0) * centred[j]
    times = n * (n * n - 1.0) / 12.0
    return squares - products * products / times <= LINEAR * squares


@compiled
def _spectrum_at_zero(correlations: FloatArray, n_draws: int) -> float:
    """Return the spectral density at zero over the variance, with the order chosen by AIC.

    Levinson's recursion solves the Yule-Walker equations for increasing orders.
    """
    orders = correlations.size
    coefficients = np.zeros(orders)
    previous = np.zeros(orders)
    innovation = 1.0
    best_criterion = 0.0
    best = n_draws / (n_draws - 1.0)
    for order in range(1, orders):
        partial = correlations[order]
        for j in range(1, order):
            partial -= previous[j] * correlations[order - j]
        partial /= innovation
        for j in range(1, order):
            coefficients[j] = previous[j] - partial * previous[order - j]
        coefficients[order] = partial
        innovation *= 1.0 - partial * partial
        if innovation <= 0.0:
            break
        criterion = n_draws * np.log(innovation) + 2.0 * order
        if criterion < best_criterion and n_draws > order + 1:
            gain = 1.0
            for j in range(1, order + 1):
                gain -= coefficients[j]
            best_criterion = criterion
            best = innovation * n_draws / (n_draws - (order + 1.0)) / (gain * gain)
        for j in range(1, order + 1):
            previous[j] = coefficients[j]
    return best


@compiled
def _spectral_size(centred: FloatArray, correlations: FloatArray, terms: FloatArray) -> float:
    """Return ``n * var / spectrum(0)`` of each centred chain, summed over chains."""
    n_chains, n_draws = centred.shape
    total = 0.0
    for chain in range(n_chains):
        row = centred[chain]
        squares = lag_sum(row, 0, terms)
        if not np.isfinite(squares):
            return np.nan
        if squares == 0.0 or _is_linear(row, squares):
            continue
        correlations[0] = 1.0
        for lag in range(1, correlations.size):
            correlations[lag] = lag_sum(row, lag, terms) / squares
        variance_ratio = n_draws / (n_draws - 1.0)
        total += n_draws * variance_ratio / _spectrum_at_zero(correlations, n_draws)
    return total


@compiled
def fill_spectral(block: FloatArray, n_chains: int, out: FloatArray) -> None:
    """Fill ``out``, shape (1, n_scalars), with the effective sample size of R's coda (Plummer et al. 2006).

    An autoregression is fitted to each whole chain by the Yule-Walker equations, with the order chosen by AIC; its
    spectral density at zero divides the variance (Heidelberger, Welch 1981). A constant or exactly linear chain counts
    zero.
    """
    n_scalars, n = block.shape
    n_draws = n // n_chains
    centred = np.empty((n_chains, n_draws))
    means = np.empty(n_chains)
    terms = np.empty(n_draws)
    correlations = np.empty(_largest_order(n_draws) + 1)
    for scalar in range(n_scalars):
        if has_nan(block[scalar]):
            out[0, scalar] = np.nan
            continue
        centre(block[scalar].reshape((n_chains, n_draws)), centred, means, terms)
        out[0, scalar] = _spectral_size(centred, correlations, terms)
