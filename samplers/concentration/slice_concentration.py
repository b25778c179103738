"""Slice sampling of one Dirichlet concentration under a Gamma prior, the variates integrated out."""

from __future__ import annotations

import math

from ppl_topics.samplers.concentration.histograms import CountHistogram, cells_part, totals_part
from ppl_topics.samplers.variates.slice import slice_sample
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["draw_concentration"]

SMALLEST_LOG, LARGEST_LOG = math.log(1e-300), math.log(1e12)
"""Where the prior is cut, to stay within floating point."""


def draw_concentration(
    value: float,
    group: int,
    cells: int,
    others: float,
    statistics: CountHistogram,
    prior_shape: float,
    prior_rate: float,
    stream: Stream,
) -> float:
    """Update the concentration of one group of cells on the log scale (Neal 2003), the others being fixed.

    Parameters
    ----------
    value : float
        Current value.
    group : int
        Its group in the statistics.
    cells : int
        How many cells share it (topics for alpha, words for beta).
    others : float
        Sum of the concentrations of all other cells.
    statistics : CountHistogram
    prior_shape, prior_rate : float
        Of the Gamma prior; positive.
    stream : ndarray of uint64 of shape (15,)

    Returns
    -------
    value : float
    """

    def log_density(log_value: float) -> float:
        proposed = math.exp(log_value)
        likelihood = cells_part(proposed, statistics, group)
        likelihood += totals_part(others + cells * proposed, statistics)
        return likelihood + prior_shape * log_value - prior_rate * proposed

    start = math.log(value)
    return math.exp(slice_sample(log_density, start, 1.0, stream, lower=SMALLEST_LOG, upper=LARGEST_LOG))
