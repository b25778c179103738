"""Collapsed Gibbs sampling of the tokens of one tile, given the mass of each topic in the tile's block of words.

With m_k the mass of topic k in the block, n_kb its tokens there, and beta_b the sum of beta over the block's words,

    p(z_i = k) is proportional to (n_dk^-i + alpha_k) m_k (n_wk^-i + beta_w) / (n_kb^-i + beta_b).

Where one block holds all words the mass is 1, and this is the conditional of Griffiths and Steyvers (2004, eq. 5).
With a response the draw is a proposal, accepted or not (see `ppl_topics.samplers.responses.term`). There are two ways
to draw: over all topics, eight at a time; and SparseLDA's, over the topics of the word.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ppl_topics.samplers.assignments.word_lists import DENSE, WordLists, add_topic, remove_topic
from ppl_topics.samplers.compiled import compiled, inlined, tight
from ppl_topics.samplers.responses.term import ResponseTerm, accepts
from ppl_topics.samplers.variates.categorical import categorical_in_log_space
from ppl_topics.samplers.variates.lanes import AHEAD, CACHE_LINE, prefetch_row
from ppl_topics.samplers.variates.streams import Stream, uniform
from ppl_topics.samplers.variates.striped import (
    SAFE_TOTAL,
    Integer,
    cumulate_counts,
    cumulate_listed,
    cumulate_products,
    find_listed,
    find_striped,
    new_sums,
)

__all__ = ["Places", "Priors", "Scratch", "Tile", "new_scratch", "new_tile", "sweep_dense", "sweep_sparse"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Topics = npt.NDArray[np.unsignedinteger[Any]]

SHORT = 4
"""A document of so many times fewer tokens than there are topics is counted token by token, not topic by topic."""


class Places(NamedTuple):
    """Which tokens, in which documents.

    Attributes
    ----------
    order : ndarray of uint32
        Tokens, documents in order.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    """

    order: npt.NDArray[np.uint32]
    doc_ptr: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint32]


class Priors(NamedTuple):
    """Concentrations, and the same rounded.

    Attributes
    ----------
    alpha : ndarray of float64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    alpha32, beta32 : ndarray of float32
    """

    alpha: Doubles
    beta: Doubles
    alpha32: Floats
    beta32: Floats


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

    ratio: Floats
    weight: Floats
    as_row: Floats
    ones: Floats
    sums: Floats
    in_doc: npt.NDArray[np.int32]


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
    n_k: npt.NDArray[np.int64]
    mass: Doubles
    mass32: Floats
    beta_sum: float
    priors: Priors
    scratch: Scratch
    cursor: npt.NDArray[np.int64]
    smooth: Doubles
    stream: Stream


@compiled
def new_tile(
    first: int,
    last: int,
    doc: int,
    n_k: npt.NDArray[np.int64],
    mass: Doubles,
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
def draw_in_logs(word: Integer, old: Integer, n_wk: npt.NDArray[np.int32], tile: Tile) -> Any:
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


@tight
def sweep_dense(
    tile: Tile,
    places: Places,
    z: Topics,
    n_wk: npt.NDArray[np.int32],
    n_dk: npt.NDArray[np.int32],
    term: ResponseTerm,
) -> None:
    """Draw the topics of the tokens of a tile, over all topics, eight at a time.

    Parameters
    ----------
    tile : Tile
    places : Places
    z : ndarray of uint8 or uint16 of shape (N,)
    n_wk : ndarray of int32 of shape (V, K)
        Counts of z; updated in place.
    n_dk : ndarray of int32 of shape (D, K) or (0, K)
        Counts of z by document, updated in place; without rows, each document is counted at each visit.
    term : ResponseTerm
    """
    supervised = term.eta.shape[1] > 0
    in_doc, sums, alpha = tile.scratch.in_doc, tile.scratch.sums, tile.priors.alpha32
    ratio, weight = tile.scratch.ratio, tile.scratch.weight
    n_k, n_topics, last, end = tile.n_k, tile.n_k.size, tile.last, np.int64(-1)
    for place in range(tile.first, last):
        token = np.int64(places.order[place])
        if token >= end:
            end = visit(token, tile, places, z, n_dk)
        prefetch_row(n_wk, np.int64(places.words[places.order[min(place + AHEAD, last - 1)]]))
        word, old = np.int64(places.words[token]), np.int64(z[token])
        # The counts without the token, in registers: most tokens stay where they are, and then nothing is written.
        ratio_left = ratio_of(old, n_k[old] - 1, tile)
        weight_left = (np.float32(in_doc[old] - 1) + alpha[old]) * ratio_left
        total = cumulate_counts(weight, n_wk, word, tile.priors.beta32[word], old, weight_left, sums)
        if total >= SAFE_TOTAL:
            new = find_striped(sums, n_topics, np.float32(uniform(tile.stream) * total))
        else:
            new = draw_in_logs(word, old, n_wk, tile)
        if new != old and (not supervised or accepts(tile.stream, tile.cursor[0], old, new, term)):
            z[token] = new
            in_doc[old] -= 1
            n_wk[word, old] -= 1
            n_k[old] -= 1
            ratio[old], weight[old] = ratio_left, weight_left
            in_doc[new] += 1
            n_wk[word, new] += 1
            n_k[new] += 1
            refresh(new, tile)
    keep_counts(tile, n_dk)


@tight
def visit(token: Integer, tile: Tile, places: Places, z: Topics, n_dk: npt.NDArray[np.int32]) -> Any:
    """Go on to the document of a token: count its topics, or take their counts from the matrix, and weigh them.

    Returns
    -------
    end : int
        Where the document's tokens end.
    """
    keep_counts(tile, n_dk)
    doc, in_doc = tile.cursor[0], tile.scratch.in_doc
    while token >= places.doc_ptr[doc + 1]:
        doc += 1
    begin, end = places.doc_ptr[doc], places.doc_ptr[doc + 1]
    tile.cursor[0], tile.cursor[1], tile.cursor[2] = doc, begin, end
    if n_dk.shape[0] > 0:
        for topic in range(in_doc.size):
            in_doc[topic] = n_dk[doc, topic]
    else:
        for topic in range(in_doc.size):
            in_doc[topic] = 0
        for other in range(begin, end):
            in_doc[z[other]] += 1
    weigh(tile)
    return int(end)


@inlined
def keep_counts(tile: Tile, n_dk: npt.NDArray[np.int32]) -> None:
    """Write the counts of the document at hand back into the matrix."""
    if n_dk.shape[0] > 0 and tile.cursor[2] >= 0:
        for topic in range(n_dk.shape[1]):
            n_dk[tile.cursor[0], topic] = tile.scratch.in_doc[topic]


@inlined
def weigh(tile: Tile) -> None:
    """Set the weights of all topics."""
    in_doc, ratio, weight, alpha = tile.scratch.in_doc, tile.scratch.ratio, tile.scratch.weight, tile.priors.alpha32
    for topic in range(in_doc.size):
        weight[topic] = (np.float32(in_doc[topic]) + alpha[topic]) * ratio[topic]


@tight
def sweep_sparse(
    tile: Tile,
    places: Places,
    z: Topics,
    n_wk: npt.NDArray[np.int32],
    lists: WordLists,
    term: ResponseTerm,
) -> None:
    """Draw the topics of the tokens of a tile as `sweep_dense` does, over the topics of each word.

    The full conditional is split in two (Yao et al. 2009, eqs. 7 to 10, their first two parts taken together):
    n_wk times the weights, over the topics that the word has, and beta_w times the weights, over all topics, whose sum
    is kept up to date. Words without a list are drawn as `sweep_dense` draws them.
    """
    supervised = term.eta.shape[1] > 0
    in_doc, sums, alpha = tile.scratch.in_doc, tile.scratch.sums, tile.priors.alpha32
    ratio, weight, smooth = tile.scratch.ratio, tile.scratch.weight, tile.smooth
    n_k, n_topics, last, end = tile.n_k, tile.n_k.size, tile.last, np.int64(-1)
    weigh(tile)
    smooth[0] = sum_weights(tile)
    for place in range(tile.first, last):
        token = np.int64(places.order[place])
        if token >= end:
            end = visit_briefly(token, tile, places, z)
        ahead = np.int64(places.words[places.order[min(place + AHEAD, last - 1)]])
        if lists.sizes[ahead] == DENSE:
            prefetch_row(n_wk, ahead)
        word, old = np.int64(places.words[token]), np.int64(z[token])
        ratio_left = ratio_of(old, n_k[old] - 1, tile)
        weight_left = (np.float32(in_doc[old] - 1) + alpha[old]) * ratio_left
        size, slot = remove_topic(word, old, lists), np.int64(-1)
        if size == DENSE:
            everything = cumulate_counts(weight, n_wk, word, tile.priors.beta32[word], old, weight_left, sums)
            if everything >= SAFE_TOTAL:
                new = find_striped(sums, n_topics, np.float32(uniform(tile.stream) * everything))
            else:
                new = draw_in_logs(word, old, n_wk, tile)
            smooth[0] += np.float64(weight_left) - weight[old]
            ratio[old], weight[old] = ratio_left, weight_left
        else:
            smooth[0] += np.float64(weight_left) - weight[old]
            ratio[old], weight[old] = ratio_left, weight_left
            begin = lists.ptr[word]
            listed = np.float64(cumulate_listed(tile.scratch.as_row, 0, lists.topics, lists.counts, begin, size, sums))
            total = listed + tile.priors.beta[word] * smooth[0]
            target = uniform(tile.stream) * total
            if not total >= SAFE_TOTAL:
                new = draw_in_logs(word, old, n_wk, tile)
            elif target < listed:
                slot = begin + find_listed(sums, size, np.float32(target))
                new = np.int64(lists.topics[slot])
            else:
                share = np.float32((target - listed) / (total - listed))
                new = find_striped(sums, n_topics, share * cumulate_products(weight, tile.scratch.ones, 0, sums))
        if supervised and new != old and not accepts(tile.stream, tile.cursor[0], old, new, term):
            new, slot = old, np.int64(-1)
        if slot >= 0:
            lists.counts[slot] += 1
        elif size != DENSE:
            add_topic(word, new, lists)
        z[token] = new
        in_doc[old] -= 1
        n_wk[word, old] -= 1
        n_k[old] -= 1
        in_doc[new] += 1
        n_wk[word, new] += 1
        n_k[new] += 1
        smooth[0] -= weight[new]
        refresh(new, tile)
        smooth[0] += weight[new]


@tight
def visit_briefly(token: Integer, tile: Tile, places: Places, z: Topics) -> Any:
    """Do as `visit` does; from one short document to the next, without a pass over all topics."""
    in_doc, n_topics = tile.scratch.in_doc, tile.n_k.size
    doc, begin, end = tile.cursor
    was_short = (end - begin) * SHORT < n_topics
    if was_short:
        for other in range(begin, end):
            topic = np.int64(z[other])
            if in_doc[topic] > 0:
                in_doc[topic] = 0
                reweigh(topic, tile)
    else:
        in_doc[:] = 0
    while token >= places.doc_ptr[doc + 1]:
        doc += 1
    begin, end = places.doc_ptr[doc], places.doc_ptr[doc + 1]
    tile.cursor[0], tile.cursor[1], tile.cursor[2] = doc, begin, end
    if (end - begin) * SHORT < n_topics:
        if not was_short:
            weigh(tile)
            tile.smooth[0] = sum_weights(tile)
        for other in range(begin, end):
            topic = np.int64(z[other])
            in_doc[topic] += 1
            reweigh(topic, tile)
    else:
        for other in range(begin, end):
            in_doc[z[other]] += 1
        weigh(tile)
        tile.smooth[0] = sum_weights(tile)
    return int(end)


@inlined
def reweigh(topic: Integer, tile: Tile) -> None:
    """Bring the weight of a topic up to date with the document's count."""
    scratch = tile.scratch
    tile.smooth[0] -= scratch.weight[topic]
    scratch.weight[topic] = (np.float32(scratch.in_doc[topic]) + tile.priors.alpha32[topic]) * scratch.ratio[topic]
    tile.smooth[0] += scratch.weight[topic]


@inlined
def sum_weights(tile: Tile) -> float:
    """Add the weights up, in float64."""
    total = 0.0
    for topic in range(tile.n_k.size):
        total += tile.scratch.weight[topic]
    return total
