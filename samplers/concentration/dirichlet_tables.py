"""Concentrations under a hierarchical Dirichlet prior, given how many tables each topic has.

In a document, tokens of a topic sit at tables, of which a new one is opened with probability alpha / (alpha + i) by the
token that finds i others. Given the number of tables, a, pi and g have densities that are products of few terms.

References
----------
Y. W. Teh, M. I. Jordan, M. J. Beal, D. M. Blei (2006). Hierarchical Dirichlet processes. Journal of the American
Statistical Association 101(476), section 5 and appendix.
C. E. Antoniak (1974). Mixtures of Dirichlet processes with applications to Bayesian nonparametric problems. Annals of
Statistics 2(6), equation 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.compiled import compiled
from ppl_topics.core.alpha import SMALLEST_ALPHA
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.concentration.histograms import CountHistogram, alpha_statistics, merged, totals_part
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer
from ppl_topics.samplers.concentration.slice_concentration import LARGEST_LOG, Gamma
from ppl_topics.samplers.variates.binomial import binomial
from ppl_topics.samplers.variates.dirichlet import dirichlet
from ppl_topics.samplers.variates.slice import slice_sample
from ppl_topics.samplers.variates.streams import Stream, new_stream, open_stream, start

__all__ = ["count_tables", "dirichlet_tables", "draw_sum", "draw_top", "log_tables"]

SMALLEST_LOG = math.log(SMALLEST_ALPHA)


@compiled
def count_tables(alpha: FloatArray, statistics: CountHistogram, key: Key) -> IntArray:
    """Draw the number of tables of each topic in all documents, shape (K,); the unit of the streams is the topic.

    Tokens of all documents that find as many others open tables independently with one probability, so their number is
    one binomial variate.
    """
    tables = np.zeros(alpha.size, np.int64)
    stream = new_stream()
    for topic in range(alpha.size):
        start(stream, key, topic)
        first, last = statistics.group_ptr[topic], statistics.group_ptr[topic + 1]
        cells, entry, others = 0, first, 0
        for place in range(first, last):
            cells += statistics.times[place]
        while entry < last:
            tables[topic] += cells if others == 0 else binomial(stream, cells, alpha[topic] / (alpha[topic] + others))
            others += 1
            if statistics.value[entry] == others:
                cells -= statistics.times[entry]
                entry += 1
    return tables


@compiled
def log_tables(top: float, tables: IntArray) -> float:
    """Return the log probability of the tables given g, pi integrated out, up to a constant."""
    value = -log_pochhammer(top, tables.sum())
    for topic in range(tables.size):
        value += log_pochhammer(top / tables.size, tables[topic])
    return value


def draw_top(top: float, tables: IntArray, prior: Gamma, stream: Stream) -> float:
    """Update g by slice sampling of its logarithm, given the tables, pi integrated out."""

    def log_density(log_value: float) -> float:
        proposed = math.exp(log_value)
        return log_tables(proposed, tables) + prior.shape * log_value - prior.rate * proposed

    return math.exp(slice_sample(log_density, math.log(top), 1.0, stream, lower=SMALLEST_LOG, upper=LARGEST_LOG))


def draw_sum(total: float, tables: int, statistics: CountHistogram, prior: Gamma, stream: Stream) -> float:
    """Update a by slice sampling of its logarithm, given the tables."""

    def log_density(log_value: float) -> float:
        proposed = math.exp(log_value)
        return totals_part(proposed, statistics) + (prior.shape + tables) * log_value - prior.rate * proposed

    return math.exp(slice_sample(log_density, math.log(total), 1.0, stream, lower=SMALLEST_LOG, upper=LARGEST_LOG))


@kernel(
    "dirichlet_tables",
    updates=("alpha", "top_concentration"),
    integrates_out="theta",
    reads="z",
    handles=("hierarchical_dirichlet", "dirichlet", "assignments", "document_assignments"),
    exact=True,
    automatic=True,
    distributes="statistic",
    cost="8 * N + 5000 * K",
    memory="48 * min(N, D * K)",
    reference="Teh et al. 2006, section 5; Antoniak 1974",
)
def dirichlet_tables(binding: Binding) -> KernelFunctions:
    """Draw tables given z, then a, g and pi given these, theta integrated out."""
    name, top = binding.names["alpha"], binding.names["top_concentration"]
    tokens, n_topics = binding.tokens, binding.sizes.topics
    block: Any = binding.blocks[name]
    of_sum, of_top = Gamma(block.shape, block.rate), Gamma(block.top_shape, block.top_rate)

    def statistic(state: ChainState) -> list[CountHistogram]:
        return [alpha_statistics(*tokens.drawn(state.z), n_topics, False)]

    def draw(state: ChainState, key: Key, statistics: CountHistogram) -> None:
        alpha = state.arrays[name]
        tables = count_tables(alpha, statistics, key)
        stream = open_stream(*key[:4], unit=n_topics)
        total = draw_sum(float(alpha.sum()), int(tables.sum()), statistics, of_sum, stream)
        value = draw_top(float(state.arrays[top]), tables, of_top, stream)
        shares: FloatArray = tables + np.float64(value / n_topics)
        dirichlet(stream, shares, shares)
        state.arrays[top][...] = value
        alpha[...] = np.maximum(total * shares, SMALLEST_ALPHA)

    return KernelFunctions.of_statistic(statistic, merged, draw)
