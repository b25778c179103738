"""Sparse topics given assignments and indicators: Dirichlet over the words that a topic includes.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, SAFE_SUM
from ppl_topics.samplers.topics.sparse_counts import sparse_mass
from ppl_topics.samplers.topics.sparse_gammas import SPARSEST, draw_exceeding, exceeding_probability
from ppl_topics.samplers.variates.dirichlet import dirichlet_in_log_space
from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["draw_sparse_phi", "listed_rows"]


@compiled
def draw_gamma(stream: Stream, count: int, beta: float, probability: float) -> float:
    """Draw Gamma(count + beta); below `sparse_gammas.CUTOFF`, exceeded with `probability`, 0 where count is 0."""
    if count > 0 or beta > SPARSEST:
        return gamma(stream, count + beta)
    return draw_exceeding(stream, beta) if uniform(stream) < probability else 0.0


@parallel
def draw_sparse_phi(sparse: SparseTopics, n_k: IntArray, beta: FloatArray, key: Key) -> None:
    """Draw phi_k from Dirichlet(n_k + beta) over the words that topic k includes.

    In parallel over words, then topics. The distribution, and its approximation, is that of
    `ppl_topics.samplers.topics.included_rows.draw_included_phi`; the time is proportional to the cells included. The
    unit of the streams is the word w, or V + k for a topic that is drawn in log space.
    """
    pointer, topics, counts, values = sparse.pointer, sparse.topics, sparse.counts, sparse.values
    n_words, n_topics = beta.size, n_k.size
    mass = sparse_mass(beta, sparse)
    partial = np.zeros((CHUNKS, n_topics))
    for chunk in numba.prange(CHUNKS):
        stream = new_stream()
        known, probability = -1.0, 0.0
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            start(stream, key, word)
            prior = beta[word]
            if prior != known and prior <= SPARSEST:
                known, probability = prior, exceeding_probability(prior)
            for place in range(pointer[word], pointer[word + 1]):
                drawn = draw_gamma(stream, counts[place], prior, probability)
                values[place] = drawn
                partial[chunk, topics[place]] += drawn
    dense, scale = np.empty(n_topics, np.bool_), np.empty(n_topics, np.float32)
    for topic in range(n_topics):
        dense[topic] = n_k[topic] + mass[topic] >= SAFE_SUM
        gammas = 0.0
        for chunk in range(CHUNKS):
            gammas += partial[chunk, topic]
        scale[topic] = 1.0 / gammas if dense[topic] else 1.0
    for chunk in numba.prange(CHUNKS):
        first, last = n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS
        for place in range(pointer[first], pointer[last]):
            values[place] *= scale[topics[place]]
    if not dense.all():
        draw_small(sparse, beta, dense, key)


@parallel
def draw_small(sparse: SparseTopics, beta: FloatArray, dense: BoolArray, key: Key) -> None:
    """Draw the topics that are not `dense` in log space, in parallel over them."""
    pointer, topics, counts, values = sparse.pointer, sparse.topics, sparse.counts, sparse.values
    n_words, n_topics = beta.size, dense.size
    sizes = np.zeros(n_topics + 1, np.int64)
    for place in range(pointer[n_words]):
        if not dense[topics[place]]:
            sizes[topics[place] + 1] += 1
    begin = np.cumsum(sizes)
    places, shapes = np.empty(begin[n_topics], np.int64), np.empty(begin[n_topics])
    filled = begin.copy()
    for word in range(n_words):
        for place in range(pointer[word], pointer[word + 1]):
            topic = topics[place]
            if not dense[topic]:
                places[filled[topic]], shapes[filled[topic]] = place, counts[place] + beta[word]
                filled[topic] += 1
    for topic in numba.prange(n_topics):
        if not dense[topic]:
            stream = new_stream()
            start(stream, key, n_words + topic)
            row = shapes[begin[topic] : begin[topic + 1]]
            dirichlet_in_log_space(stream, row, row)
            for index in range(row.size):
                values[places[begin[topic] + index]] = row[index]


@kernel(
    "listed_rows",
    updates="phi",
    reads=("z", "beta", "included", "pi"),
    handles=("listed_spike_slab", "listed_words"),
    exact=True,
    full_conditional=True,
    automatic=True,
    parallel_over="word",
    cost="V * 200 + 60 * L",
    reference="Magnusson et al. 2018, appendix B",
)
def listed_rows(binding: Binding) -> KernelFunctions:
    """Draw sparse topics given z and the indicators: Dirichlet over the included words."""

    def step(state: ChainState, memory: None, key: Key) -> None:
        assert state.sparse_topics is not None, "a state without sparse topics"
        draw_sparse_phi(state.sparse_topics, state.n_k, state.beta, key)

    return KernelFunctions(step)
