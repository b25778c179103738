"""Effective sample size from Geyer's initial monotone sequence, over several chains together."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray, UInt64Array
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.autocovariance import lag_pair
from ppl_topics.diagnostics.efficiency.fourier import fill_lag_sums, lags_worth_a_transform
from ppl_topics.diagnostics.efficiency.indicators import indicator_lag, unpack

__all__ = ["effective_size"]


@compiled
def _variance(values: FloatArray) -> float:
    mean = 0.0
    for value in values:
        mean += value
    mean /= values.size
    total = 0.0
    for value in values:
        total += (value - mean) * (value - mean)
    return total / (values.size - 1)


@compiled
def _monotone_tau(rho: FloatArray, last: int) -> float:
    """Return the autocorrelation time of ``rho`` up to ``last``, its pair sums made to descend."""
    t = 1
    while t <= last - 2:
        before = rho[t - 1] + rho[t]
        if rho[t + 1] + rho[t + 2] > before:
            rho[t + 1] = before / 2.0
            rho[t + 2] = before / 2.0
        t += 2
    total = 0.0
    for k in range(last + 1):
        total += rho[k]
    return float(-1.0 + 2.0 * total + rho[last + 1])


@compiled
def effective_size(
    packed: bool,
    centred: FloatArray,
    words: UInt64Array,
    means: FloatArray,
    edges: IntArray,
    terms: FloatArray,
    rho: FloatArray,
) -> float:
    """Return the effective sample size of split chains [1]_, truncated as Geyer proposes [2]_.

    Lags are summed pair by pair and only as far as the sequence stays positive; a chain that mixes slowly
    gets the rest of its lags from one Fourier transform.

    Parameters
    ----------
    packed : bool
        True if the chains are the zeros and ones of ``words``, False if they are ``centred``.
    centred : ndarray of shape (n_chains, n_draws), float64
        Centred chains; scratch where ``packed``.
    words : ndarray of shape (n_chains, n_words), uint64
        Packed chains; not read unless ``packed``.
    means : ndarray of shape (n_chains,), float64
        Means of the chains.
    edges : ndarray of shape (n_chains,), int64
        Scratch.
    terms : ndarray of shape (2, n_draws), float64
        Scratch.
    rho : ndarray of shape (n_draws + 1,), float64
        Scratch.

    Returns
    -------
    float
        Effective sample size; NaN where the draws are not finite.

    References
    ----------
    .. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner (2021). Rank-normalization,
       folding, and localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16(2).
    .. [2] C. J. Geyer (1992). Practical Markov chain Monte Carlo. Statistical Science 7(4).
    """
    n_chains, n_draws = centred.shape
    total_draws = n_chains * n_draws
    direct = lags_worth_a_transform(n_draws)
    transformed = False
    if packed:
        first = indicator_lag(words, means, n_draws, 0, edges)
        second = indicator_lag(words, means, n_draws, 1, edges)
    else:
        first, second = lag_pair(centred, 0, terms[0], terms[1])
    within = first / total_draws * n_draws / (n_draws - 1.0)
    var_plus = within * (n_draws - 1.0) / n_draws + _variance(means)
    even = 1.0
    odd = 1.0 - (within - second / total_draws) / var_plus
    if np.isnan(odd):
        return np.nan
    rho[0] = even
    rho[1] = odd
    rho[2] = 0.0
    t = 1
    while t < n_draws - 3 and even + odd > 0.0:
        if t + 1 > direct and not transformed:
            if packed:
                unpack(words, means, centred)
            fill_lag_sums(centred, terms[0])
            transformed = True
        if transformed:
            first = terms[0, t + 1]
            second = terms[0, t + 2]
        elif packed:
            first = indicator_lag(words, means, n_draws, t + 1, edges)
            second = indicator_lag(words, means, n_draws, t + 2, edges)
        else:
            first, second = lag_pair(centred, t + 1, terms[0], terms[1])
        even = 1.0 - (within - first / total_draws) / var_plus
        odd = 1.0 - (within - second / total_draws) / var_plus
        kept = even + odd >= 0.0
        rho[t + 1] = even if kept else 0.0
        rho[t + 2] = odd if kept else 0.0
        t += 2
    if even > 0.0:
        rho[t - 1] = even
    tau = max(_monotone_tau(rho, t - 2), 1.0 / np.log10(total_draws))
    return float(total_draws / tau)
