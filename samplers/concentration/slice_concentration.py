"""Slice sampling of one Dirichlet concentration under a Gamma prior, the Dirichlet variates integrated out."""

from __future__ import annotations

import math
from typing import NamedTuple

from ppl_topics.samplers.concentration.histograms import CountHistogram, cells_part, totals_part
from ppl_topics.samplers.variates.slice import slice_sample
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["Gamma", "draw_concentration"]

SMALLEST_LOG, LARGEST_LOG = math.log(1e-300), math.log(1e12)
"""Where the prior is cut, to stay within floating point."""


class Gamma(NamedTuple):
    """The Gamma prior of a concentration."""

    shape: float
    rate: float


def draw_concentration(
    old: float, group: int, cells: int, others: float, statistics: CountHistogram, prior: Gamma, stream: Stream
) -> float:
    """Update the concentration that the cells of a group share, on the log scale (Neal 2003).

    The concentrations of all other cells have the sum `others`.
    """

    def log_density(log_value: float) -> float:
        proposed = math.exp(log_value)
        likelihood = cells_part(proposed, statistics, group)
        likelihood += totals_part(others + cells * proposed, statistics)
        return likelihood + prior.shape * log_value - prior.rate * proposed

    start = math.log(old)
    return math.exp(slice_sample(log_density, start, 1.0, stream, lower=SMALLEST_LOG, upper=LARGEST_LOG))
