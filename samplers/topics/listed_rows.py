"""Topics that are held as lists, given assignments and indicators: Dirichlet over the words that a topic includes.

References
----------
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), appendix B.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, Int32Array, IntArray, UInt16Array
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, SAFE_SUM
from ppl_topics.samplers.topics.listing import listed_mass
from ppl_topics.samplers.topics.sparse_gammas import SPARSEST, draw_exceeding, exceeding_probability
from ppl_topics.samplers.variates.dirichlet import dirichlet_in_log_space
from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.streams import Stream, new_stream, start, uniform

__all__ = ["draw_listed_phi", "listed_rows"]


@compiled
def draw_gamma(stream: Stream, count: int, beta: float, probability: float) -> float:
    """Draw a gamma variate of shape count + beta; 0 below `sparse_gammas.CUTOFF` where there is no token.

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    count : int
    beta : float
    probability : float
        That a variate of shape beta exceeds the cutoff, where beta is at most 1/2.
    """
    if count > 0 or beta > SPARSEST:
        return gamma(stream, count + beta)
    return draw_exceeding(stream, beta) if uniform(stream) < probability else 0.0


@parallel
def draw_listed_phi(
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    key: Key,
    values: Float32Array,
) -> None:
    """Draw the topics from Dirichlet(n_k + beta) over the words they include, in parallel over words, then topics.

    The distribution is that of `ppl_topics.samplers.topics.included_rows.draw_included_phi`, and so is what is said
    there of its approximation; the time is that of the cells which are included.

    Parameters
    ----------
    pointer, topics, counts : ndarray
        Of the lists; see `ppl_topics.core.sparse_topics.TopicLists`.
    n_k : ndarray of int64 of shape (K,)
        Tokens of each topic.
    beta : ndarray of float64 of shape (V,)
        Prior concentrations, at least 1e-300.
    key : Key
        Of the random streams; the unit is the word w, or V + k for a topic that is drawn in log space.
    values : ndarray of float32 of shape (L + 8,)
        Overwritten with the draw.
    """
    n_words, n_topics = beta.size, n_k.size
    mass = listed_mass(beta, pointer, topics, n_topics)
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
    dense = n_k + mass >= SAFE_SUM
    scale = np.zeros(n_topics, dtype=np.float32)
    for topic in range(n_topics):
        gammas = 0.0
        for chunk in range(CHUNKS):
            gammas += partial[chunk, topic]
        scale[topic] = 1.0 / gammas if dense[topic] else 1.0
    for chunk in numba.prange(CHUNKS):
        first, last = n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS
        for place in range(pointer[first], pointer[last]):
            values[place] *= scale[topics[place]]
    if not dense.all():
        draw_small(pointer, topics, counts, beta, dense, key, values)


@parallel
def draw_small(
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    beta: FloatArray,
    dense: BoolArray,
    key: Key,
    values: Float32Array,
) -> None:
    """Draw the topics that are not `dense` in log space, in parallel over them (see `draw_listed_phi`)."""
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
    """Draw the topics, held as lists, given z and the indicators: Dirichlet over the included words."""

    def step(state: ChainState, memory: None, key: Key) -> None:
        lists = state.lists
        assert lists is not None, "a state without lists"
        draw_listed_phi(lists.pointer, lists.topics, lists.counts, state.n_k, state.beta, key, lists.values)

    return KernelFunctions(step)
