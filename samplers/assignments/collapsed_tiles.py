"""Tokens of one tile, and the distribution of their topics given the mass of each topic in the tile's block of words.

With m_k the mass of topic k in the block, n_kb its tokens there, and beta_b the sum of beta over the block's words,

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) m_k (n_wk^-i + beta_w) / (n_kb^-i + beta_b).

Where one block holds all words the mass is 1, and this is the conditional of Griffiths and Steyvers (2004, eq. 5).
With a response the draw is a proposal, accepted or not (see `ppl_topics.samplers.responses.response_term`). There are
two ways to draw: `ppl_topics.samplers.assignments.dense_tiles` goes over all topics, eight at a time, and
`ppl_topics.samplers.assignments.sparse_tiles` over the topics of the word.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.simd import CACHE_LINE
from ppl_topics.samplers.variates.simd_categorical import Integer, new_sums
from ppl_topics.samplers.variates.streams import Stream

__all__ = [
    "Places",
    "Priors",
    "Scratch",
    "Tile",
    "draw_in_logs",
    "new_scratch",
    "new_tile",
    "ratio_of",
    "refresh",
    "weigh",
]


class Places(NamedTuple):
    """Which tokens, in which documents.

    Attributes
    ----------
    order : ndarray of uint32
        Tokens, documents in order.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    """

    order: UInt32Array
    doc_ptr: IntArray
    words: UInt32Array


class Priors(NamedTuple):
    """Concentrations, and the same rounded.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    alpha32, beta32 : ndarray of float32
    """

    alpha: FloatArray
    beta: FloatArray
    alpha32: Float32Array
    beta32: Float32Array


class Scratch(NamedTuple):
    """Working memory of one tile.

    Attributes
    ----------
    ratio : ndarray of float32 of shape (K,)
        m_k / (n_kb + beta_b).
    weight : ndarray of float32 of shape (K,)
        (n_dk + alpha_k) times the ratio.
    as_row : ndarray of float32 of shape (1, K)
        The same memory.
    ones : ndarray of float32 of shape (1, K)
    sums : ndarray of float32
        Running sums by lane.
    in_doc : ndarray of int32 of shape (K,)
        n_dk of the document at hand.
    """

    ratio: Float32Array
    weight: Float32Array
    as_row: Float32Array
    ones: Float32Array
    sums: Float32Array
    in_doc: Int32Array


@compiled
def new_scratch(n_topics: int) -> Scratch:
    """Allocate the working memory of a tile, each array with a cache line to spare: other threads' are not far."""
    room = n_topics + CACHE_LINE
    weight = np.zeros(room, np.float32)[:n_topics]
    return Scratch(
        np.zeros(room, np.float32)[:n_topics],
        weight,
        weight.reshape(1, n_topics),
        np.ones((1, n_topics), np.float32),
        new_sums(n_topics),
        np.zeros(room, np.int32)[:n_topics],
    )


class Tile(NamedTuple):
    """Tokens of some documents and some words, and what drawing them needs.

    Attributes
    ----------
    first, last : int
        The tokens are ``order[first:last]``.
    n_k : ndarray of int64 of shape (K,)
        Counts of z over the words of the block.
    mass : ndarray of float64 of shape (K,)
        Of each topic in the block.
    mass32 : ndarray of float32 of shape (K,)
        The same, rounded.
    beta_sum : float
        Over the words of the block.
    priors : Priors
    scratch : Scratch
    cursor : ndarray of int64 of shape (3,)
        The document at hand, or one before that of the first token; where its tokens begin, and end, or -1.
    smooth : ndarray of float64 of shape (1,)
        Sum of the weights; kept by `sweep_sparse` only.
    stream : ndarray of uint64 of shape (15,)
    """

    first: int
    last: int
    n_k: IntArray
    mass: FloatArray
    mass32: Float32Array
    beta_sum: float
    priors: Priors
    scratch: Scratch
    cursor: IntArray
    smooth: FloatArray
    stream: Stream


@compiled
def new_tile(
    first: int,
    last: int,
    doc: int,
    n_k: IntArray,
    mass: FloatArray,
    beta_sum: float,
    priors: Priors,
    stream: Stream,
) -> Tile:
    """Make a tile ready to be swept; `doc` is a document at or before that of its first token."""
    scratch, mass32 = new_scratch(n_k.size), mass.astype(np.float32)
    cursor, smooth = np.array([doc, -1, -1]), np.zeros(1)
    tile = Tile(first, last, n_k, mass, mass32, beta_sum, priors, scratch, cursor, smooth, stream)
    for topic in range(n_k.size):
        scratch.ratio[topic] = ratio_of(topic, n_k[topic], tile)
    return tile


@inlined
def ratio_of(topic: Integer, count: Integer, tile: Tile) -> Any:
    """Return the ratio of a topic that has so many tokens in the block."""
    return tile.mass32[topic] / (np.float32(count) + np.float32(tile.beta_sum))


@inlined
def refresh(topic: Integer, tile: Tile) -> None:
    """Bring ratio and weight of a topic up to date with its counts."""
    scratch = tile.scratch
    ratio = ratio_of(topic, tile.n_k[topic], tile)
    scratch.ratio[topic] = ratio
    scratch.weight[topic] = (np.float32(scratch.in_doc[topic]) + tile.priors.alpha32[topic]) * ratio


@compiled
def draw_in_logs(word: Integer, old: Integer, n_wk: Int32Array, tile: Tile) -> Any:
    """Draw a topic in logarithms: where the concentrations are so small that float32 holds no mass at all.

    The counts are those with the token, in its topic `old`.
    """
    priors, n_topics = tile.priors, tile.n_k.size
    log_weights = np.empty(n_topics)
    for topic in range(n_topics):
        own = 1 if topic == old else 0
        log_weights[topic] = (
            math.log(tile.scratch.in_doc[topic] - own + priors.alpha[topic])
            + math.log(tile.mass[topic])
            - math.log(tile.n_k[topic] - own + tile.beta_sum)
            + math.log(n_wk[word, topic] - own + priors.beta[word])
        )
    return categorical_in_log_space(tile.stream, log_weights)


@inlined
def weigh(tile: Tile) -> None:
    """Set the weights of all topics."""
    in_doc, ratio, weight, alpha = tile.scratch.in_doc, tile.scratch.ratio, tile.scratch.weight, tile.priors.alpha32
    for topic in range(in_doc.size):
        weight[topic] = (np.float32(in_doc[topic]) + alpha[topic]) * ratio[topic]
