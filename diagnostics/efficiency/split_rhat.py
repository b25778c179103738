"""The potential scale reduction factor of chains that have been split."""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import compiled
from ppl_topics.diagnostics.efficiency.autocovariance import halving_sum

__all__ = ["scale_reduction"]


@compiled
def scale_reduction(centred: FloatArray, means: FloatArray, terms: FloatArray) -> float:
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
