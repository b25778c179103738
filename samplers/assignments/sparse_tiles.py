"""SparseLDA: collapsed Gibbs sampling of the tokens of a tile over the topics of each word.

The full conditional is split in two (Yao et al. 2009, equations 7 to 10, their first two parts taken together):

    p(z_i = k) is proportional to n_wk^-i c_k + beta_w c_k,  c_k = (n_dk^-i + alpha_k) m_k / (n_bk^-i + beta_b),

the first over the topics that the word has, and the second over all topics, whose sum is kept up to date.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Int32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined, tight
from ppl_topics.samplers.assignments.tile import (
    Tile,
    draw_in_log_space,
    draw_topic,
    exact_weight,
    move_token,
    ratio_of,
    turn_to_document,
    weigh,
    weigh_all,
    without_token,
    word_ahead,
)
from ppl_topics.samplers.assignments.tiling import Tiling
from ppl_topics.samplers.assignments.word_lists import DENSE, WordLists, add_topic, remove_topic
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.remainder import draw_from_remainders, subtract_cores
from ppl_topics.samplers.variates.simd import prefetch_cell, prefetch_row, unlikely
from ppl_topics.samplers.variates.simd_categorical import (
    Integer,
    find_cell,
    find_entry,
    is_safe,
    point_bound,
    running_sums_of_list,
    running_sums_of_products,
)
from ppl_topics.samplers.variates.streams import uniform

__all__ = ["sweep_sparse"]

SHORT = 4
"""A document with fewer tokens than topics, by this factor, is counted token by token, not topic by topic."""

NO_SLOT = np.int64(-1)


@tight
def sweep_sparse(
    tile: Tile,
    tiling: Tiling,
    z: UnsignedArray,
    n_wk: Int32Array,
    lists: WordLists,
    term: ResponseTerm,
) -> None:
    """Draw the topics of the tokens of a tile; words without a list are drawn as by `sweep_dense`."""
    supervised = term.eta.shape[1] > 0
    ratio, weight, smooth = tile.scratch.ratio, tile.scratch.weight, tile.smooth
    order, words, last, end = tiling.order, tiling.words, tile.last, np.int64(-1)
    weigh_all(tile)
    smooth[0] = sum_weights(tile)
    for position in range(tile.first, last):
        token = np.int64(order[position])
        if token >= end:
            end = visit_briefly(token, tile, tiling, z)
        ahead = word_ahead(position, tile, tiling, z)
        if lists.sizes[ahead] == DENSE:
            prefetch_row(n_wk, ahead)
        else:
            prefetch_cell(lists.topics, lists.ptr[ahead])
            prefetch_cell(lists.counts, lists.ptr[ahead])
        word, old = np.int64(words[token]), np.int64(z[token])
        ratio_left, weight_left = without_token(old, tile)
        smooth[0] += np.float64(weight_left) - weight[old]
        ratio[old], weight[old] = ratio_left, weight_left
        size = remove_topic(word, old, lists)
        if size == DENSE:
            new, slot = draw_topic(word, old, weight_left, n_wk, tile), NO_SLOT
        else:
            new, slot = draw_listed(word, old, size, lists, n_wk, tile)
        if supervised and new != old and not accepts(tile.stream, tile.cursor[0], old, new, term):
            new, slot = old, NO_SLOT
        if slot >= 0:
            lists.counts[slot] += 1
        elif size != DENSE:
            add_topic(word, new, lists)
        z[token] = new
        move_token(word, old, new, n_wk, tile)
        ratio[new] = ratio_of(new, tile.n_k[new], tile)
        reweigh(new, tile)


@inlined
def draw_listed(word: Integer, old: Integer, size: Integer, lists: WordLists, n_wk: Int32Array, tile: Tile) -> Any:
    """Draw a topic for a word with a list, and return its slot there, or -1 if it comes from the second part."""
    begin, sums, n_topics = lists.ptr[word], tile.scratch.sums, tile.n_k.size
    of_all = point_bound(tile.smooth[0], n_topics)
    new, slot = np.int64(-1), NO_SLOT
    while new < 0:
        listed = running_sums_of_list(tile.scratch.as_row, 0, lists.topics, lists.counts, begin, size, sums)
        of_list = point_bound(listed, size)
        bound = of_list + tile.beta[word] * of_all
        if unlikely(not is_safe(bound)):
            return draw_in_log_space(word, old, n_wk, tile), NO_SLOT
        point = uniform(tile.stream) * bound
        if point < of_list:
            entry = find_entry(sums, size, point)
            if unlikely(entry < 0):
                entry = draw_listed_remainder(begin, size, old, lists, tile, of_list)
            if entry >= 0:
                slot = begin + entry
                new = np.int64(lists.topics[slot])
        else:
            running_sums_of_products(tile.scratch.weight, tile.scratch.ones, 0, sums)
            new = find_cell(sums, n_topics, (point - of_list) / tile.beta[word])
            if unlikely(new < 0):
                new = draw_remainder(old, tile, of_all)
    return new, slot


@compiled
def draw_listed_remainder(
    begin: Integer, size: Integer, old: Integer, lists: WordLists, tile: Tile, bound: float
) -> Any:
    """Draw from what the cores of a word's list leave out below `bound`; -1 if the draw is to be repeated."""
    remainders = np.empty(size)
    for entry in range(size):
        slot = begin + entry
        remainders[entry] = lists.counts[slot] * exact_weight(np.int64(lists.topics[slot]), old, tile)
    left = subtract_cores(remainders, tile.scratch.sums, bound, True)
    return draw_from_remainders(tile.stream, remainders, left)


@compiled
def draw_remainder(old: Integer, tile: Tile, bound: float) -> Any:
    """Draw from what the cores of all topics leave out below `bound`; -1 if the draw is to be repeated."""
    remainders = np.empty(tile.n_k.size)
    for topic in range(remainders.size):
        remainders[topic] = exact_weight(topic, old, tile)
    left = subtract_cores(remainders, tile.scratch.sums, bound, False)
    return draw_from_remainders(tile.stream, remainders, left)


@tight
def visit_briefly(token: Integer, tile: Tile, tiling: Tiling, z: UnsignedArray) -> Any:
    """Do as `visit` does, but between short documents without a pass over all topics."""
    n_dk, n_topics, shared = tile.scratch.n_dk, tile.n_k.size, tile.row.size == 0
    was_short = shared and (tile.cursor[2] - tile.cursor[1]) * SHORT < n_topics
    if was_short:
        for other in range(tile.cursor[1], tile.cursor[2]):
            topic = np.int64(z[other])
            if n_dk[topic] > 0:
                n_dk[topic] = 0
                reweigh(topic, tile)
    else:
        n_dk[:] = 0
    begin, end = turn_to_document(token, tile, tiling)
    is_short = shared and (end - begin) * SHORT < n_topics
    if is_short and not was_short:
        weigh_all(tile)
        tile.smooth[0] = sum_weights(tile)
    for other in range(begin, end):
        topic = np.int64(z[other])
        n_dk[topic] += 1
        if is_short:
            reweigh(topic, tile)
    if not is_short:
        weigh_all(tile)
        tile.smooth[0] = sum_weights(tile)
    return int(end)


@inlined
def reweigh(topic: Integer, tile: Tile) -> None:
    """Set the weight of a topic from n_dk and its ratio, and bring the sum of the weights up to date."""
    tile.smooth[0] -= tile.scratch.weight[topic]
    weigh(topic, tile)
    tile.smooth[0] += tile.scratch.weight[topic]


@inlined
def sum_weights(tile: Tile) -> float:
    """Add the weights up, in float64."""
    total = 0.0
    for topic in range(tile.n_k.size):
        total += tile.scratch.weight[topic]
    return total
