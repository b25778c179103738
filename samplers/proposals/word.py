"""The word-proposal: a topic in proportion to the probability of the word in it, from an alias table for each word.

Given the topics it is fixed, and exact. Where they are integrated out, the table comes from counts some tokens ago that
include the token being moved, so the chain is only close to the posterior.

References
----------
J. Yuan et al. (2015). LightLDA: big topic models on modest computer clusters. WWW'15.
M. Magnusson, L. Jonsson, M. Villani, D. Broman (2018). Sparse partially collapsed MCMC for parallel inference
in topic models. Journal of Computational and Graphical Statistics 27(2), section 3.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import BoolArray, Float32Array, FloatArray, IntArray, UInt16Array
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.proposal import TableInputs, Token
from ppl_topics.core.registry import proposal
from ppl_topics.samplers.counts import WORD_CHUNKS, make_chunks
from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.streams import Stream

__all__ = ["WordTable", "build_word_tables", "draw_word", "weigh_word", "word"]


class WordTable(NamedTuple):
    """An alias table for each word.

    Attributes
    ----------
    phi : ndarray of float32 of shape (V, K)
        What the tables were built from.
    probability : ndarray of float32 of shape (V, K)
    alias : ndarray of uint16 of shape (V, K)
    mass : ndarray of float64 of shape (V,)
        The sums of phi over the topics.
    """

    phi: Float32Array
    probability: Float32Array
    alias: UInt16Array
    mass: FloatArray


@parallel
def build_word_tables(
    word_ptr: IntArray,
    selected: BoolArray,
    phi: Float32Array,
    probability: Float32Array,
    alias: UInt16Array,
    mass: FloatArray,
) -> None:
    """Build the alias table of each selected word that occurs, and sum its phi_kw, in parallel over words."""
    n_topics = phi.shape[1]
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        weights = np.empty(n_topics)
        scratch = np.empty(n_topics, dtype=np.uint32)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            if selected[word] and word_ptr[word + 1] > word_ptr[word]:
                for topic in range(n_topics):
                    weights[topic] = phi[word, topic]
                mass[word] = build_alias(weights, probability[word], alias[word], scratch)


@compiled
def draw_word(stream: Stream, table: WordTable, token: Token) -> int:
    """Draw a topic in proportion to phi_kw, in constant time."""
    return draw_alias(stream, table.probability[token.word], table.alias[token.word])


@compiled
def weigh_word(topic: int, table: WordTable, token: Token) -> float:
    """Return phi_kw."""
    return float(table.phi[token.word, topic])


@proposal(
    "word",
    draw=draw_word,
    weight=weigh_word,
    exact_given="phi",
    reference="Magnusson et al. 2018, section 3.3; Yuan et al. 2015",
)
def word(inputs: TableInputs, before: WordTable | None) -> WordTable:
    """A topic drawn in proportion to the probability of the word in it."""
    n_words, n_topics = inputs.phi.shape
    if before is None:
        probability = np.zeros((n_words, n_topics), np.float32)
        alias = np.zeros((n_words, n_topics), np.uint16)
        mass = np.zeros(n_words)
    else:
        _, probability, alias, mass = before
    build_word_tables(inputs.word_ptr, inputs.selected, inputs.phi, probability, alias, mass)
    return WordTable(inputs.phi, probability, alias, mass)
