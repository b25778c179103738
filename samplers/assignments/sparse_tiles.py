"""Collapsed Gibbs sampling of the tokens of a tile over the topics of their words, or of their documents.

The tokens of rare words come first, in the order of the documents, and are drawn from the lists of their words
(SparseLDA). Frequent words have many topics, more than most documents have: their tokens come next, in the order of the
words, and are drawn from the lists of their documents (F+LDA draws all tokens like this). Which words are frequent
depends on the corpus alone, so the order in which the tokens have their turn is fixed.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
H.-F. Yu, C.-J. Hsieh, H. Yun, S. V. N. Vishwanathan, I. S. Dhillon (2015). A scalable asynchronous distributed
algorithm for topic modeling. WWW'15, section 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Int32Array, UnsignedArray
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.samplers.assignments.listed_draw import add_weights, change_weight, draw_listed
from ppl_topics.samplers.assignments.tile import (
    Tile,
    move_in_counts,
    ratio_of,
    set_alpha,
    turn_to_document,
    weigh,
    weigh_all,
    without_token,
    word_ahead,
)
from ppl_topics.samplers.assignments.tiling import Tiling, WordOrder
from ppl_topics.samplers.assignments.topic_lists import NO_SLOT, TopicLists, add_topic, remove_topic
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.simd import AHEAD, CACHE_LINE, FAR_AHEAD, prefetch_cell
from ppl_topics.samplers.variates.simd_categorical import Integer

__all__ = ["sweep_by_document", "sweep_by_word"]

BRIEF = 8
"""Two documents with fewer topics than all, by this factor, follow each other without a pass over all topics."""

PREFETCHED = 96
"""How many entries of a document's list are prefetched."""


@tight
def sweep_by_document(
    tile: Tile,
    tiling: Tiling,
    z: UnsignedArray,
    n_wk: Int32Array,
    words: TopicLists,
    documents: TopicLists,
    term: ResponseTerm,
) -> None:
    """Draw the topics of the tokens of a tile from the lists of their words."""
    supervised = term.eta.shape[1] > 0
    ratio, weight, n_dk = tile.scratch.ratio, tile.scratch.weight, tile.scratch.n_dk
    order, last, end, cells = tiling.order, tile.last, np.int64(-1), n_wk.reshape(n_wk.size)
    weigh_all(tile)
    add_weights(tile.scratch.ones, tile)
    for position in range(tile.first, last):
        token = np.int64(order[position])
        if token >= end:
            end = visit(token, tile, tiling, documents)
        ahead = word_ahead(position, tile, tiling, z)
        prefetch_cell(words.topics, words.ptr[ahead])
        prefetch_cell(words.counts, words.ptr[ahead])
        prefetch_cell(cells, ahead * n_wk.shape[1] + np.int64(z[order[min(position + AHEAD, last - 1)]]))
        word, old = np.int64(tiling.words[token]), np.int64(z[token])
        ratio_left, weight_left = without_token(old, tile)
        change_weight(old, np.float64(weight_left) - np.float64(weight[old]), tile)
        ratio[old], weight[old] = ratio_left, weight_left
        remove_topic(word, old, words)
        new, slot = draw_listed(word, word, old, False, tile.beta[word], tile.scratch.ones, words, n_wk, tile)
        if supervised and new != old and not accepts(tile.stream, tile.cursor[0], old, new, term):
            new, slot = old, NO_SLOT
        add_topic(word, new, slot, words)
        if new != old:
            z[token] = new
            n_dk[old] -= 1
            n_dk[new] += 1
            move_in_counts(word, old, new, n_wk, tile)
            remove_topic(tile.cursor[0], old, documents)
            add_topic(tile.cursor[0], new, NO_SLOT, documents)
        ratio[new] = ratio_of(new, tile.n_k[new], tile)
        reweigh(new, tile)


@tight
def visit(token: Integer, tile: Tile, tiling: Tiling, documents: TopicLists) -> Any:
    """Go on to the document of a token, and weigh the topics; return where the document ends."""
    n_dk, before = tile.scratch.n_dk, tile.cursor[0]
    seen = documents.sizes[before] if tile.cursor[2] >= 0 else 0
    end = turn_to_document(token, tile, tiling)[1]
    doc = tile.cursor[0]
    size = documents.sizes[doc]
    brief = tile.row.size == 0 and (seen + size) * BRIEF < n_dk.size
    for slot in range(documents.ptr[before], documents.ptr[before] + seen):
        topic = np.int64(documents.topics[slot])
        n_dk[topic] = 0
        if brief:
            reweigh(topic, tile)
    for slot in range(documents.ptr[doc], documents.ptr[doc] + size):
        topic = np.int64(documents.topics[slot])
        n_dk[topic] = documents.counts[slot]
        if brief:
            reweigh(topic, tile)
    if not brief:
        weigh_all(tile)
        add_weights(tile.scratch.ones, tile)
    return end


@inlined
def reweigh(topic: Integer, tile: Tile) -> None:
    """Set the weight of a topic from n_dk and its ratio, and bring the sum of the weights up to date."""
    before = np.float64(tile.scratch.weight[topic])
    weigh(topic, tile)
    change_weight(topic, np.float64(tile.scratch.weight[topic]) - before, tile)


@tight
def sweep_by_word(
    first: int,
    last: int,
    tile: Tile,
    tiling: Tiling,
    by_word: WordOrder,
    z: UnsignedArray,
    n_wk: Int32Array,
    documents: TopicLists,
    term: ResponseTerm,
) -> None:
    """Draw the topics of tokens of frequent words from the lists of their documents."""
    supervised, shared = term.eta.shape[1] > 0, tile.row.size == 0
    order, docs, alpha, word = by_word.order, by_word.docs, tile.alpha32, np.int64(-1)
    tile.scratch.n_dk[:] = 0
    for position in range(first, last):
        token, doc = np.int64(order[position]), np.int64(docs[position])
        look_ahead(position, last, tiling, by_word, z, documents)
        if np.int64(tiling.words[token]) != word:
            word = np.int64(tiling.words[token])
            weigh_for_word(word, n_wk, tile)
            add_weights(alpha, tile)
        old = np.int64(z[token])
        reweigh_for_word(old, word, n_wk[word, old] - 1, tile.n_k[old] - 1, tile)
        remove_topic(doc, old, documents)
        if not shared:
            set_alpha(tile.row[doc], tile)
            add_weights(alpha, tile)
        new, slot = draw_listed(doc, word, old, True, 1.0, alpha, documents, n_wk, tile)
        if supervised and new != old and not accepts(tile.stream, doc, old, new, term):
            new, slot = old, NO_SLOT
        add_topic(doc, new, slot, documents)
        if new != old:
            z[token] = new
            move_in_counts(word, old, new, n_wk, tile)
        reweigh_for_word(new, word, n_wk[word, new], tile.n_k[new], tile)


@inlined
def look_ahead(
    position: Integer, last: int, tiling: Tiling, by_word: WordOrder, z: UnsignedArray, documents: TopicLists
) -> None:
    """Prefetch what the tokens that come later need."""
    far, ahead = min(position + FAR_AHEAD, last - 1), min(position + AHEAD, last - 1)
    prefetch_cell(z, np.int64(by_word.order[far]))
    prefetch_cell(tiling.words, np.int64(by_word.order[far]))
    prefetch_cell(documents.sizes, np.int64(by_word.docs[far]))
    prefetch_cell(documents.ptr, np.int64(by_word.docs[far]))
    begin = documents.ptr[by_word.docs[ahead]]
    for entry in range(0, PREFETCHED, CACHE_LINE):
        prefetch_cell(documents.counts, begin + entry)
    for entry in range(0, PREFETCHED, 2 * CACHE_LINE):
        prefetch_cell(documents.topics, begin + entry)


@inlined
def weigh_for_word(word: Integer, n_wk: Int32Array, tile: Tile) -> None:
    """Set the weights of all topics from the counts of a word: (n_wk + beta_w) times the ratio."""
    ratio, weight, beta = tile.scratch.ratio, tile.scratch.weight, tile.beta32[word]
    for topic in range(weight.size):
        weight[topic] = (np.float32(n_wk[word, topic]) + beta) * ratio[topic]


@inlined
def reweigh_for_word(topic: Integer, word: Integer, n_wk: Integer, n_bk: Integer, tile: Tile) -> None:
    """Set the ratio and the weight of a topic, and bring the sum of weights times alpha up to date."""
    before = np.float64(tile.scratch.weight[topic])
    tile.scratch.ratio[topic] = ratio_of(topic, n_bk, tile)
    tile.scratch.weight[topic] = (np.float32(n_wk) + tile.beta32[word]) * tile.scratch.ratio[topic]
    change_weight(topic, np.float64(tile.alpha32[topic]) * (np.float64(tile.scratch.weight[topic]) - before), tile)
