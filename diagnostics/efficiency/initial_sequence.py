"""Effective sample size from Geyer's initial monotone sequence, over several chains together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray, UInt64Array
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.autocovariance import lag_pair
from ppl_topics.diagnostics.efficiency.fourier import fill_lag_sums, lags_worth_a_transform
from ppl_topics.diagnostics.efficiency.indicators import indicator_lag, unpack, words_per_chain

__all__ = ["SplitChains", "effective_size", "split_chains"]


class SplitChains(NamedTuple):
    """The halves of chains, as real numbers or packed zeros and ones, with scratch for their effective sample size."""

    centred: FloatArray  # (n_chains, n_draws): centred draws; scratch if the chains are packed
    means: FloatArray  # (n_chains,)
    words: UInt64Array  # (n_chains, words_per_chain(n_draws)): packed chains
    edges: IntArray  # (n_chains,)
    terms: FloatArray  # (2, n_draws)
    rho: FloatArray  # (n_draws + 1,)


@compiled
def split_chains(n_chains: int, n_draws: int) -> SplitChains:
    """Return arrays for the halves of chains; the middle draw of a chain of odd length belongs to neither."""
    half, halves = n_draws // 2, 2 * n_chains
    return SplitChains(
        np.empty((halves, half)),
        np.empty(halves),
        np.empty((halves, words_per_chain(half)), np.uint64),
        np.empty(halves, np.int64),
        np.empty((2, half)),
        np.empty(half + 1),
    )


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
def effective_size(packed: bool, chains: SplitChains) -> float:
    """Return the effective sample size of split chains by Geyer's initial monotone sequence, NaN for infinite draws.

    The chains are the zeros and ones of ``chains.words`` if ``packed``, else ``chains.centred``. Lags are summed pair
    by pair, as long as the sequence stays positive (Geyer 1992, Vehtari et al. 2021); a chain that mixes slowly gets
    the remaining lags from one Fourier transform.
    """
    centred, means, words, edges, terms, rho = chains
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
