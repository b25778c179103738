"""Topics with keywords, given assignments: own words and keywords, given how many tokens came from which.

References
----------
S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American Journal of Political Science 68(2),
appendix on the sampling algorithm (there each token says which it came from).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, IntArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.keyword_cells import KeywordCells, with_tokens
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, draw_phi
from ppl_topics.samplers.topics.tokens_of_part import tokens_of_part
from ppl_topics.samplers.variates.dirichlet import dirichlet
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["draw_weights", "keyword_rows", "mix_keywords", "split_tokens"]


@compiled
def split_tokens(
    counts: IntArray, phi: FloatArray, weight: FloatArray, cells: KeywordCells, key: Key, unit: int
) -> IntArray:
    """Draw how many tokens of each keyword in its topic came from the keywords, given counts and phi of these; (J,).

    Tokens of one word and topic are alike: each did with probability weight / phi. The unit of the streams is `unit`
    plus the topic.
    """
    split = np.zeros(weight.size, np.int64)
    stream = new_stream()
    for topic in range(cells.pointer.size - 1):
        start(stream, key, unit + topic)
        for place in range(cells.pointer[topic], cells.pointer[topic + 1]):
            if counts[place] > 0:
                split[place] = tokens_of_part(stream, counts[place], weight[place], phi[place])
    return split


@compiled
def draw_weights(
    split: IntArray, n_k: IntArray, prior: FloatArray, cells: KeywordCells, key: Key, unit: int, weight: FloatArray
) -> None:
    """Draw p_k from Beta(a + s_k, b + n_k - s_k), s_k tokens having come from keywords, and these given the split.

    `prior` holds a, b and the concentration of each keyword. The unit of the streams is `unit` plus the topic.
    """
    stream = new_stream()
    for topic in range(cells.pointer.size - 1):
        first, last = cells.pointer[topic], cells.pointer[topic + 1]
        if first == last:
            continue
        start(stream, key, unit + topic)
        number = split[first:last].sum()
        row = split[first:last] + prior[2]
        dirichlet(stream, row, row)
        pair = np.empty(2)
        pair[0], pair[1] = prior[0] + number, prior[1] + (n_k[topic] - number)
        dirichlet(stream, pair, pair)
        for index in range(row.size):
            weight[first + index] = pair[0] * row[index]


@parallel
def mix_keywords(weight: FloatArray, cells: KeywordCells, phi: Float32Array) -> None:
    """Make phi of own words: less of them, in favour of the keywords; in parallel over words."""
    n_words, n_topics = phi.shape
    rest = np.ones(n_topics, np.float32)
    for topic in range(n_topics):
        keywords = 0.0
        for place in range(cells.pointer[topic], cells.pointer[topic + 1]):
            keywords += weight[place]
        rest[topic] = max(0.0, 1.0 - keywords)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_topics):
                phi[word, topic] *= rest[topic]
    for topic in range(n_topics):
        for place in range(cells.pointer[topic], cells.pointer[topic + 1]):
            phi[cells.words[place], topic] += weight[place]


@kernel(
    "keyword_rows",
    updates=("phi", "keyword_weight"),
    reads=("z", "beta"),
    handles=("keywords", "words"),
    exact=True,
    automatic=True,
    parallel_over="word",
    distributes="central",
    cost="V * (200 + 5 * K)",
    reference="Eshima, Imai, Sasaki 2024",
)
def keyword_rows(binding: Binding) -> KernelFunctions:
    """Draw topics with keywords given z: which tokens came from keywords, then these, their share and own words."""
    phi, weight = binding.names["phi"], binding.names["keyword_weight"]
    block: Any = binding.blocks[phi]
    cells, prior = block.cells, np.array(block.keyword_prior)
    place = cells.words, cells.topics
    sizes = binding.sizes

    def step(state: ChainState, memory: None, key: Key) -> None:
        held, weights = state.arrays[phi], state.arrays[weight]
        # `draw_phi` has the units of all words and topics.
        unit = sizes.words + sizes.topics
        counts, whole = state.n_wk[place].astype(np.int64), held[place].astype(np.float64)
        split = split_tokens(counts, whole, weights, cells, key, unit)
        draw_weights(split, state.n_k, prior, cells, key, unit + sizes.topics, weights)
        with with_tokens(state, cells, -split):
            finite = draw_phi(state.n_wk, state.n_k, state.beta, key, held)
        if not finite:
            raise FloatingPointError(f"{phi} is not finite")
        mix_keywords(weights, cells, held)

    return KernelFunctions(step, checked=(phi,))
