"""One tile of tokens, and the distribution of their topics given the mass of each topic in the tile's word block.

With m_k the mass of topic k in the block, n_bk its tokens there, and beta_b the sum of beta over the block's words,

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) m_k (n_wk^-i + beta_w) / (n_bk^-i + beta_b).

If one block holds all words the mass is 1, and this is the conditional of Griffiths and Steyvers (2004, eq. 5). With a
response the draw is a proposal (see `ppl_topics.samplers.responses.response_term`). There are two ways to draw:
`ppl_topics.samplers.assignments.dense_tiles` goes over all topics, eight at a time, and
`ppl_topics.samplers.assignments.sparse_tiles` over the topics of the word or of the document.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.samplers.assignments.tiling import Tiling
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.remainder import draw_rest
from ppl_topics.samplers.variates.simd import AHEAD, CACHE_LINE, FAR_AHEAD, prefetch_cell, unlikely
from ppl_topics.samplers.variates.simd_categorical import (
    Integer,
    Real,
    draw_cell,
    is_safe,
    new_sums,
)
from ppl_topics.samplers.variates.streams import Stream

__all__ = [
    "PART",
    "Scratch",
    "Tile",
    "draw_by_sums",
    "draw_in_log_space",
    "exact_weight",
    "follow_arrival",
    "follow_departure",
    "move_in_counts",
    "new_scratch",
    "ratio_of",
    "set_alpha",
    "turn_to_document",
    "weigh",
    "weigh_all",
    "weigh_all_left",
    "without_token",
    "word_ahead",
]


PART = 64
"""The topics that a draw from all topics of `listed_draw` adds up."""


class Scratch(NamedTuple):
    """Working memory of one tile, kept up to date with its counts.

    Attributes
    ----------
    ratio : ndarray of float32 of shape (K,)
        m_k / (n_bk + beta_b).
    weight : ndarray of float32 of shape (K,)
        (n_dk + alpha_k) times the ratio; (n_wk + beta_w) times the ratio in `sweep_by_word`.
    ratio_left, weight_left : ndarray of float32 of shape (K,)
        The same if a token has left the topic; kept up to date by `sweep_dense` only.
    as_row : ndarray of float32 of shape (1, K)
        The same memory as `weight`.
    ones : ndarray of float32 of shape (K,)
    sums : ndarray of float32
        Running sums of a draw, by lane.
    n_dk : ndarray of int32 of shape (K,)
        Of the current document.
    """

    ratio: Float32Array
    weight: Float32Array
    ratio_left: Float32Array
    weight_left: Float32Array
    as_row: Float32Array
    ones: Float32Array
    sums: Float32Array
    n_dk: Int32Array


@compiled
def new_scratch(n_topics: int) -> Scratch:
    """Allocate working memory, padding each array by a cache line: other threads' arrays may be next to it."""
    padded = n_topics + CACHE_LINE
    weight = np.zeros(padded, np.float32)[:n_topics]
    return Scratch(
        np.zeros(padded, np.float32)[:n_topics],
        weight,
        np.zeros(padded, np.float32)[:n_topics],
        np.zeros(padded, np.float32)[:n_topics],
        weight.reshape(1, n_topics),
        np.ones(n_topics, np.float32),
        new_sums(n_topics),
        np.zeros(padded, np.int32)[:n_topics],
    )


class Tile(NamedTuple):
    """Tokens of some documents and of one word block, and what drawing their topics needs.

    Attributes
    ----------
    first, last : int
        The tokens are ``order[first:last]`` of the tiling.
    n_k : ndarray of int64 of shape (K,)
        Counts of z over the words of the block: n_bk.
    mass : ndarray of float64 of shape (K,)
        m_k.
    rows : ndarray of float64 of shape (R, K)
    row : ndarray of int64 of shape (D,) or (0,)
        See `ppl_topics.core.alpha.Alpha`.
    alpha : ndarray of float64 of shape (K,)
        Of the current document.
    beta : ndarray of float64 of shape (V,)
    beta_sum : float
        Over the words of the block.
    mass32, alpha32, beta32 : ndarray of float32
        The same, rounded.
    scratch : Scratch
    cursor : ndarray of int64 of shape (3,)
        The current document, or one before that of the first token; where its tokens begin, and end, or -1.
    smooth : ndarray of float64 of shape (2 + ceil(K / 64),)
        Bounds of the sum of the weights, times alpha in `sweep_by_word`: of all topics, the greatest that this has been
        since it was computed, and of 64 topics each. Not used by `sweep_dense`.
    stream : ndarray of uint64 of shape (15,)
    """

    first: int
    last: int
    n_k: IntArray
    mass: FloatArray
    rows: FloatArray
    row: IntArray
    alpha: FloatArray
    beta: FloatArray
    beta_sum: float
    mass32: Float32Array
    alpha32: Float32Array
    beta32: Float32Array
    scratch: Scratch
    cursor: IntArray
    smooth: FloatArray
    stream: Stream


@inlined
def ratio_of(topic: Integer, count: Integer, tile: Tile) -> Any:
    """Return m_k / (n_bk + beta_b) for a count n_bk."""
    return tile.mass32[topic] / (np.float32(count) + np.float32(tile.beta_sum))


@inlined
def follow_arrival(topic: Integer, tile: Tile) -> None:
    """Bring the ratios and weights of a topic up to date, which has a token more."""
    scratch = tile.scratch
    scratch.ratio_left[topic], scratch.weight_left[topic] = scratch.ratio[topic], scratch.weight[topic]
    scratch.ratio[topic] = ratio_of(topic, tile.n_k[topic], tile)
    weigh(topic, tile)


@inlined
def follow_departure(topic: Integer, tile: Tile) -> None:
    """Do the same of a topic that has a token less."""
    scratch = tile.scratch
    scratch.ratio[topic], scratch.weight[topic] = scratch.ratio_left[topic], scratch.weight_left[topic]
    scratch.ratio_left[topic], scratch.weight_left[topic] = without_token(topic, tile)


@inlined
def weigh(topic: Integer, tile: Tile) -> None:
    """Set the weight of a topic from n_dk and its ratio."""
    scratch = tile.scratch
    scratch.weight[topic] = (np.float32(scratch.n_dk[topic]) + tile.alpha32[topic]) * scratch.ratio[topic]


@inlined
def weigh_all(tile: Tile) -> None:
    """Set the weights of all topics."""
    n_dk, ratio, weight, alpha = tile.scratch.n_dk, tile.scratch.ratio, tile.scratch.weight, tile.alpha32
    for topic in range(n_dk.size):
        weight[topic] = (np.float32(n_dk[topic]) + alpha[topic]) * ratio[topic]


@inlined
def without_token(old: Integer, tile: Tile) -> Any:
    """Return ratio and weight of a topic that one token has left."""
    ratio = ratio_of(old, tile.n_k[old] - 1, tile)
    return ratio, (np.float32(tile.scratch.n_dk[old] - 1) + tile.alpha32[old]) * ratio


@inlined
def weigh_all_left(tile: Tile) -> None:
    """Set the weights of all topics without one token each."""
    n_dk, ratio, weight, alpha = tile.scratch.n_dk, tile.scratch.ratio_left, tile.scratch.weight_left, tile.alpha32
    for topic in range(n_dk.size):
        weight[topic] = (np.float32(n_dk[topic] - 1) + alpha[topic]) * ratio[topic]


@inlined
def draw_by_sums(word: Integer, old: Integer, total: Real, n_wk: Int32Array, tile: Tile) -> Any:
    """Draw k in proportion to weight_k (n_wk + beta_w), by its running sums; the token is still counted."""
    new = draw_cell(tile.stream, tile.scratch.sums, tile.n_k.size, total)
    if unlikely(new < 0):
        new = draw_in_float64(word, old, total, n_wk, tile)
    # As the compiler now sees, it is not negative: no index has to be looked at for counting from the end.
    return np.int64(np.uint32(new))


@compiled
def draw_in_float64(word: Integer, old: Integer, total: Real, n_wk: Int32Array, tile: Tile) -> Any:
    """Draw from the same distribution after `draw_cell` has not settled it."""
    if not is_safe(total):
        return draw_in_log_space(word, old, n_wk, tile)
    weights = np.empty(tile.n_k.size)
    for topic in range(weights.size):
        own = 1 if topic == old else 0
        weights[topic] = exact_weight(topic, old, tile) * (n_wk[word, topic] - own + tile.beta[word])
    return draw_rest(tile.stream, weights, tile.scratch.sums, total)


@inlined
def exact_weight(topic: Integer, old: Integer, tile: Tile) -> Any:
    """Return (n_dk^-i + alpha_k) m_k / (n_bk^-i + beta_b) in float64; the token is still counted."""
    own = 1 if topic == old else 0
    share = tile.mass[topic] / (tile.n_k[topic] - own + tile.beta_sum)
    return (tile.scratch.n_dk[topic] - own + tile.alpha[topic]) * share


@compiled
def draw_in_log_space(word: Integer, old: Integer, n_wk: Int32Array, tile: Tile) -> Any:
    """Draw from the same distribution in logarithms: for concentrations so small that float32 underflows."""
    n_topics = tile.n_k.size
    log_weights = np.empty(n_topics)
    for topic in range(n_topics):
        own = 1 if topic == old else 0
        log_weights[topic] = (
            math.log(tile.scratch.n_dk[topic] - own + tile.alpha[topic])
            + math.log(tile.mass[topic])
            - math.log(tile.n_k[topic] - own + tile.beta_sum)
            + math.log(n_wk[word, topic] - own + tile.beta[word])
        )
    return categorical_in_log_space(tile.stream, log_weights)


@inlined
def move_in_counts(word: Integer, old: Integer, new: Integer, n_wk: Int32Array, tile: Tile) -> None:
    """Count a token of a word in another topic, but for the counts of its document."""
    n_wk[word, old] -= 1
    tile.n_k[old] -= 1
    n_wk[word, new] += 1
    tile.n_k[new] += 1


@inlined
def set_alpha(row: Integer, tile: Tile) -> None:
    """Copy a row of the concentrations of the topics."""
    for topic in range(tile.alpha.size):
        tile.alpha[topic] = tile.rows[row, topic]
        tile.alpha32[topic] = tile.rows[row, topic]


@inlined
def word_ahead(position: Integer, tile: Tile, tiling: Tiling, z: UnsignedArray) -> Any:
    """Return the word of a token that comes later, and prefetch word and topic of one that comes later still."""
    order, last = tiling.order, tile.last - 1
    far = np.int64(order[np.uint64(min(position + FAR_AHEAD, last))])
    prefetch_cell(tiling.words, far)
    prefetch_cell(z, far)
    return np.int64(tiling.words[order[np.uint64(min(position + AHEAD, last))]])


@inlined
def turn_to_document(token: Integer, tile: Tile, tiling: Tiling) -> Any:
    """Move the cursor to the document of a token; return where the document's tokens begin and end."""
    doc = tile.cursor[0]
    while token >= tiling.doc_ptr[doc + 1]:
        doc += 1
    if tile.row.size > 0:
        set_alpha(tile.row[doc], tile)
    begin, end = tiling.doc_ptr[doc], tiling.doc_ptr[doc + 1]
    tile.cursor[0], tile.cursor[1], tile.cursor[2] = doc, begin, end
    return begin, end
