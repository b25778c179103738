"""The statistics that rest on ranks (bulk, tails, R-hat): one sort of a scalar's draws serves them all."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, Int32Array
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.autocovariance import centre, halving_sum, has_nan
from ppl_topics.diagnostics.efficiency.indicators import pack
from ppl_topics.diagnostics.efficiency.initial_sequence import SplitChains, effective_size, split_chains
from ppl_topics.diagnostics.efficiency.ranks import count_at_most_quantile, fold, normal_scores
from ppl_topics.diagnostics.efficiency.sorting import BUCKETS, argsort_draws

__all__ = ["RANKED", "fill_ranked"]

RANKED = ("ess_bulk", "ess_tail", "rhat")
BULK, TAIL, RHAT = range(3)
LOW_TAIL, HIGH_TAIL = 0.05, 0.95


@compiled
def _keep_halves(
    ordered: FloatArray,
    order: Int32Array,
    n_draws: int,
    kept_ordered: FloatArray,
    kept_order: Int32Array,
) -> None:
    """Renumber sorted draws by their position in the split chains, and collect those that have one.

    The middle draw of a chain of odd length gets the position -1 in ``order`` and is not collected.
    """
    half = n_draws // 2
    kept = 0
    for r in range(order.size):
        chain = order[r] // n_draws
        draw = order[r] - chain * n_draws
        if draw == half:
            order[r] = -1
            continue
        place = 2 * half * chain + (draw if draw < half else draw - 1)
        order[r] = place
        kept_order[kept] = place
        kept_ordered[kept] = ordered[r]
        kept += 1


@compiled
def _tail_size(ordered: FloatArray, order: Int32Array, probability: float, chains: SplitChains) -> float:
    """Return the effective sample size of the indicator of draws at or below a quantile."""
    half, means = chains.centred.shape[1], chains.means
    count = count_at_most_quantile(ordered, probability)
    if 2 * count <= ordered.size:
        pack(order, 0, count, half, chains.words, means)
    else:
        pack(order, count, ordered.size, half, chains.words, means)
    least = means[0]
    most = means[0]
    for mean in means:
        least = min(least, mean)
        most = max(most, mean)
    if most == 0.0 or least == 1.0:
        return float(chains.centred.size)
    return effective_size(True, chains)


@compiled
def _scale_reduction(centred: FloatArray, means: FloatArray, terms: FloatArray) -> float:
    """Return R-hat of chains given as their means and their centred draws, shape (n_chains, n_draws).

    It is NaN if all draws are equal, and infinite if they differ only between chains. ``terms`` (n_draws,) is scratch.
    """
    n_chains, n_draws = centred.shape
    within = 0.0
    for chain in range(n_chains):
        row = centred[chain]
        for j in range(n_draws):
            terms[j] = row[j] * row[j]
        within += halving_sum(terms, n_draws)
    within /= n_chains * (n_draws - 1.0)
    grand_mean = 0.0
    for chain in range(n_chains):
        grand_mean += means[chain]
    grand_mean /= n_chains
    between = 0.0
    for chain in range(n_chains):
        between += (means[chain] - grand_mean) ** 2
    between *= n_draws / (n_chains - 1.0)
    return float(np.sqrt((between / within + n_draws - 1.0) / n_draws))


@compiled
def fill_ranked(
    block: FloatArray,
    n_chains: int,
    wanted: BoolArray,
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Fill the wanted rows of ``out``, `RANKED` by scalars, from a block of shape (n_scalars, n_chains * n_draws).

    There are at least four draws per chain; ``table`` is that of `normal_score_table`. NaN draws give NaN, as does the
    R-hat of equal draws.
    """
    n_scalars, n = block.shape
    n_draws = n // n_chains
    half = n_draws // 2
    size = 2 * n_chains * half
    ordered, folded = np.empty(n), np.empty(size)
    order, halfway, folded_order = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(size, np.int32)
    kept_ordered = ordered if size == n else np.empty(size)
    kept_order = order if size == n else np.empty(size, np.int32)
    keys = np.empty(n, np.uint64)
    leading = np.empty(n, np.uint32)
    counts = np.empty(2 * BUCKETS, np.int32)
    chains = split_chains(n_chains, n_draws)
    split, means, terms = chains.centred, chains.means, chains.terms[0]
    scores = split.reshape(size)
    for scalar in range(n_scalars):
        for column in range(3):
            out[column, scalar] = np.nan
        if has_nan(block[scalar]):
            continue
        argsort_draws(block[scalar], keys, leading, counts, halfway, order, ordered)
        if size < n:
            _keep_halves(ordered, order, n_draws, kept_ordered, kept_order)
        if wanted[TAIL]:
            low = _tail_size(ordered, order, LOW_TAIL, chains)
            high = _tail_size(ordered, order, HIGH_TAIL, chains)
            out[TAIL, scalar] = high if high < low else low
        if kept_ordered[0] == kept_ordered[size - 1]:
            out[BULK, scalar] = size
            continue
        if wanted[BULK] or wanted[RHAT]:
            normal_scores(kept_ordered, kept_order, size, table, scores)
            centre(split, split, means, terms)
        if wanted[RHAT]:
            out[RHAT, scalar] = _scale_reduction(split, means, terms)
        if wanted[BULK]:
            out[BULK, scalar] = effective_size(False, chains)
        if wanted[RHAT] and fold(kept_ordered, kept_order, size, folded, folded_order):
            normal_scores(folded, folded_order, size, table, scores)
            centre(split, split, means, terms)
            folded_rhat = _scale_reduction(split, means, terms)
            if folded_rhat > out[RHAT, scalar]:
                out[RHAT, scalar] = folded_rhat
