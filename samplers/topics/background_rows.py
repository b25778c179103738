"""Topics with a background, given assignments: own words and background, given how many tokens came from which.

References
----------
S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American Journal of Political Science 68(2),
appendix on the sampling algorithm (there each token says which it came from).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray
from ppl_topics._util.compiled import compiled, parallel, signed
from ppl_topics.core.binding import Binding
from ppl_topics.core.kernel import KernelFunctions
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernel
from ppl_topics.core.state import ChainState
from ppl_topics.samplers.topics.dirichlet_rows import CHUNKS, draw_phi
from ppl_topics.samplers.topics.tokens_of_part import tokens_of_part
from ppl_topics.samplers.variates.dirichlet import dirichlet
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["background_rows", "draw_background", "draw_shares", "mix_background", "split_counts"]


@parallel
def split_counts(
    n_wk: Int32Array, phi: Float32Array, background: FloatArray, share: FloatArray, key: Key, unit: int
) -> Int32Array:
    """Draw how many tokens of each word in each topic came from the topic's own words, shape (V, K).

    Tokens of one word and topic are alike: each came from the background with probability s_k background_w / phi_wk.
    The unit of the streams is `unit` plus the word.
    """
    n_words, n_topics = n_wk.shape
    own = np.empty((n_words, n_topics), np.int32)
    for chunk in numba.prange(CHUNKS):
        stream = new_stream()
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            start(stream, key, unit + signed(word))
            for topic in range(n_topics):
                count = signed(n_wk[word, topic])
                if count > 0:
                    part = share[topic] * background[word]
                    count -= tokens_of_part(stream, count, part, np.float64(phi[word, topic]))
                own[word, topic] = count
    return own


@compiled
def draw_background(counts: IntArray, concentration: float, key: Key, unit: int, background: FloatArray) -> None:
    """Draw the background given how many tokens of each word came from it."""
    stream = new_stream()
    start(stream, key, unit)
    for word in range(counts.size):
        background[word] = counts[word] + concentration
    dirichlet(stream, background, background)


@compiled
def draw_shares(own: IntArray, n_k: IntArray, a: float, b: float, key: Key, unit: int, share: FloatArray) -> None:
    """Draw s_k given how many tokens of each topic are its own. The unit of the streams is `unit` plus the topic."""
    stream, pair = new_stream(), np.empty(2)
    for topic in range(share.size):
        start(stream, key, unit + topic)
        pair[0], pair[1] = a + (n_k[topic] - own[topic]), b + own[topic]
        dirichlet(stream, pair, pair)
        share[topic] = pair[0]


@parallel
def mix_background(background: FloatArray, share: FloatArray, phi: Float32Array) -> None:
    """Make phi of own words: less of them, in favour of the background; in parallel over words."""
    n_words, n_topics = phi.shape
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for topic in range(n_topics):
                phi[word, topic] = (1.0 - share[topic]) * phi[word, topic] + share[topic] * background[word]


@kernel(
    "background_rows",
    updates=("phi", "background", "background_share"),
    reads=("z", "beta"),
    handles=("background", "words"),
    exact=True,
    automatic=True,
    parallel_over="word",
    distributes="central",
    cost="V * (300 + 11 * K)",
    memory="4 * V * K",
    reference="Eshima, Imai, Sasaki 2024",
)
def background_rows(binding: Binding) -> KernelFunctions:
    """Draw topics with a background given z: which tokens came from it, then it, its shares and own words."""
    names, sizes = binding.names, binding.sizes
    phi = names["phi"]
    block: Any = binding.blocks[phi]
    a, b, concentration = block.background_prior

    def step(state: ChainState, memory: None, key: Key) -> None:
        held, background, share = (state.arrays[names[role]] for role in ("phi", "background", "background_share"))
        # `draw_phi` has the units of all words and topics.
        unit = sizes.words + sizes.topics
        own = split_counts(state.n_wk, held, background, share, key, unit)
        of_words, of_topics = own.sum(axis=1, dtype=np.int64), own.sum(axis=0, dtype=np.int64)
        counts = state.n_wk.sum(axis=1, dtype=np.int64) - of_words
        draw_shares(of_topics, state.n_k, a, b, key, unit + sizes.words, share)
        draw_background(counts, concentration, key, unit + sizes.words + sizes.topics, background)
        if not draw_phi(own, of_topics, state.beta, key, held):
            raise FloatingPointError(f"{phi} is not finite")
        mix_background(background, share, held)

    return KernelFunctions(step, checked=(phi,))
