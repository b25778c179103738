"""The probability that a word is included in a topic, given the indicators: the conjugate beta distribution.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B (there the probability is fixed).
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray, UInt8Array
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.variates.gamma import log_gamma
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["beta_inclusion", "count_by_topic", "count_by_word", "draw_pi"]


CHUNKS = 64
SMALLEST, LARGEST = 1e-300, 1.0 - 2.0**-53
"""A probability that rounds to 0 or 1 would never come back."""


@parallel
def count_by_topic(included: UInt8Array) -> IntArray:
    """Count the words that each topic includes, of indicators of shape (V, K)."""
    n_words, n_topics = included.shape
    partial = np.zeros((CHUNKS, n_topics), np.int64)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_topics):
                partial[chunk, topic] += included[word, topic]
    counts = np.zeros(n_topics, np.int64)
    for chunk in range(CHUNKS):
        for topic in range(n_topics):
            counts[topic] += partial[chunk, topic]
    return counts


@parallel
def count_by_word(included: UInt8Array) -> IntArray:
    """Count the topics that include each word, of indicators of shape (V, K)."""
    counts = np.zeros(included.shape[0], np.int64)
    for word in numba.prange(included.shape[0]):
        number = 0
        for topic in range(included.shape[1]):
            number += included[word, topic]
        counts[word] = number
    return counts


@compiled
def draw_pi(counts: IntArray, size: int, a: float, b: float, key: Key, pi: FloatArray) -> None:
    """Draw each pi from Beta(a + included, b + not included), given the number included out of `size` indicators.

    They are ratios of gamma variates, taken in log space: neither of the two underflows, however small a and b are.
    """
    stream = new_stream()
    for index in range(counts.size):
        start(stream, key, index)
        inside = log_gamma(stream, a + counts[index])
        outside = log_gamma(stream, b + (size - counts[index]))
        pi[index] = max(SMALLEST, min(1.0 / (1.0 + math.exp(outside - inside)), LARGEST))


# Given the indicators, the distribution does not depend on phi; but the factor does, and to sum over phi would leave it
# stale.
@kernel(
    "beta_inclusion",
    updates="pi",
    reads=("included", "phi"),
    handles=("beta", "spike_slab", "listed_spike_slab"),
    exact=True,
    full_conditional=True,
    automatic=True,
    distributes="central",
    cost="0.1 * V * K",
    reference="Magnusson et al. 2018, appendix B",
)
def beta_inclusion(binding: Binding) -> KernelFunctions:
    """Draw the probability of inclusion given the indicators: Beta(a + included, b + not included)."""
    pi, included = binding.names["pi"], binding.names["included"]
    prior: Any = binding.blocks[pi]
    n_words, n_topics = binding.sizes.words, binding.sizes.topics

    def step(state: ChainState, memory: None, key: Key) -> None:
        sparse = state.sparse_topics
        if prior.per == "word":
            size = n_topics
            counts = count_by_word(state.arrays[included]) if sparse is None else sparse.topics_of_words
        else:
            size = n_words
            counts = count_by_topic(state.arrays[included]) if sparse is None else sparse.words_of_topics
        if prior.per is None:
            counts, size = counts.sum(keepdims=True), n_words * n_topics
        draw_pi(counts, size, prior.a, prior.b, key, np.atleast_1d(state.arrays[pi]))

    return KernelFunctions(step)
