"""A draw of a token's topic in two parts: over a list of topics, and over all topics.

The full conditional is split in two (Yao et al. 2009, equations 7 to 10, in two parts instead of three). With
m_k / (n_bk^-i + beta_b) = r_k,

    (n_dk^-i + alpha_k) r_k (n_wk^-i + beta_w)
        = n_wk^-i (n_dk^-i + alpha_k) r_k + beta_w (n_dk^-i + alpha_k) r_k    by the topics that the word has,
        = n_dk^-i (n_wk^-i + beta_w) r_k + alpha_k (n_wk^-i + beta_w) r_k     by those that the document has.

The first part is over the topics of a list, with its counts. The second is over all topics; its sum, and those of 64
topics each, are kept up to date from token to token, since the weights that the two parts share are those of one
document, or of one word.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Float32Array, Int32Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.samplers.assignments.tile import PART, Tile, draw_in_log_space, exact_weight
from ppl_topics.samplers.assignments.topic_lists import NO_SLOT, TopicLists
from ppl_topics.samplers.variates.remainder import draw_from_remainders, subtract_cores
from ppl_topics.samplers.variates.simd import unlikely
from ppl_topics.samplers.variates.simd_categorical import (
    Integer,
    Real,
    find_cell,
    find_entry,
    is_safe,
    point_bound,
    running_sums_of_list,
    running_sums_of_products,
)
from ppl_topics.samplers.variates.streams import uniform

__all__ = ["add_weights", "change_weight", "draw_listed"]

FIRST = 2
"""Where the sums of the parts begin."""

FALL = 2.0**-10
"""A sum that has fallen by this factor is computed anew, before what rounding has left in it counts."""


@inlined
def add_weights(factors: Float32Array, tile: Tile) -> None:
    """Set the sums of weights times their factors to bounds of these, so that they stay bounds as weights change."""
    smooth = tile.smooth
    smooth[0] = 0.0
    for part in range(smooth.size - FIRST):
        smooth[FIRST + part] = point_bound(running_sums_of_part(part, factors, tile), PART)
        smooth[0] += smooth[FIRST + part]
    smooth[1] = smooth[0]


@inlined
def change_weight(topic: Integer, change: Real, tile: Tile) -> None:
    """Follow the change of a weight, times its factor, in the sums."""
    smooth = tile.smooth
    smooth[0] += change
    smooth[1] = max(smooth[1], smooth[0])
    smooth[np.uint64(FIRST) + np.uint64(topic) // np.uint64(PART)] += change


@inlined
def part_of(part: Integer, tile: Tile) -> Any:
    """Return where a part of the topics begins and ends."""
    return PART * part, min(PART * (part + 1), tile.n_k.size)


@inlined
def running_sums_of_part(part: Integer, factors: Float32Array, tile: Tile) -> Any:
    """Compute the running sums of the weights of one part of the topics, times their factors; return their total."""
    begin, end = part_of(part, tile)
    return running_sums_of_products(factors[begin:end], tile.scratch.as_row[:, begin:end], 0, tile.scratch.sums)


@inlined
def draw_listed(
    row: Integer,
    word: Integer,
    old: Integer,
    of_document: bool,
    prior: Real,
    factors: Float32Array,
    lists: TopicLists,
    n_wk: Int32Array,
    tile: Tile,
) -> Any:
    """Draw a topic; return its slot in the list, too, or -1 if it comes from the second part.

    The list is that of a word, or `of_document`, and without the token; other counts are with it. The second part is
    `prior` times the sum of the weights times their `factors`.
    """
    begin, size, sums = lists.ptr[row], np.int64(lists.sizes[row]), tile.scratch.sums
    if unlikely(tile.smooth[0] < FALL * tile.smooth[1]):
        add_weights(factors, tile)
    of_all = point_bound(tile.smooth[0], PART)
    new, slot = np.int64(-1), NO_SLOT
    while new < 0:
        listed = running_sums_of_list(tile.scratch.as_row, 0, lists.topics, lists.counts, begin, size, sums)
        of_list = point_bound(listed, size)
        bound = of_list + prior * of_all
        if unlikely(not is_safe(bound)):
            return draw_unsafe(row, word, old, of_document, lists, n_wk, tile), NO_SLOT
        point = uniform(tile.stream) * bound
        if point < of_list:
            entry = find_entry(sums, size, point)
            if unlikely(entry < 0):
                entry = draw_listed_remainder(begin, size, word, old, of_document, lists, n_wk, tile, of_list)
            if entry >= 0:
                slot = begin + entry
                new = np.int64(lists.topics[slot])
        else:
            part, rest = np.int64(0), (point - of_list) / prior
            of_part = point_bound(tile.smooth[FIRST], PART)
            while rest >= of_part and part < tile.smooth.size - FIRST - 1:
                part, rest = part + 1, rest - of_part
                of_part = point_bound(tile.smooth[FIRST + part], PART)
            running_sums_of_part(part, factors, tile)
            first, last = part_of(part, tile)
            new = find_cell(sums, last - first, rest)
            if unlikely(new < 0):
                new = draw_remainder(first, last, word, old, of_document, n_wk, tile, of_part)
            if new >= 0:
                new += first
    return new, slot


@inlined
def shared_weight(topic: Integer, word: Integer, old: Integer, of_document: bool, n_wk: Int32Array, tile: Tile) -> Any:
    """Return the weight that both parts share, in float64."""
    if not of_document:
        return exact_weight(topic, old, tile)
    own = 1 if topic == old else 0
    return (n_wk[word, topic] - own + tile.beta[word]) * (tile.mass[topic] / (tile.n_k[topic] - own + tile.beta_sum))


@compiled
def draw_listed_remainder(
    begin: Integer,
    size: Integer,
    word: Integer,
    old: Integer,
    of_document: bool,
    lists: TopicLists,
    n_wk: Int32Array,
    tile: Tile,
    bound: float,
) -> Any:
    """Draw from what the cores of a list leave out below `bound`; -1 if the draw is to be repeated."""
    remainders = np.empty(size)
    for entry in range(size):
        topic = np.int64(lists.topics[begin + entry])
        remainders[entry] = lists.counts[begin + entry] * shared_weight(topic, word, old, of_document, n_wk, tile)
    left = subtract_cores(remainders, tile.scratch.sums, bound, True)
    return draw_from_remainders(tile.stream, remainders, left)


@compiled
def draw_remainder(
    first: Integer,
    last: Integer,
    word: Integer,
    old: Integer,
    of_document: bool,
    n_wk: Int32Array,
    tile: Tile,
    bound: float,
) -> Any:
    """Draw from what the cores of some topics leave out below `bound`; -1 if the draw is to be repeated."""
    remainders = np.empty(last - first)
    for topic in range(first, last):
        factor = tile.alpha[topic] if of_document else 1.0
        remainders[topic - first] = factor * shared_weight(topic, word, old, of_document, n_wk, tile)
    left = subtract_cores(remainders, tile.scratch.sums, bound, False)
    return draw_from_remainders(tile.stream, remainders, left)


@compiled
def draw_unsafe(
    row: Integer, word: Integer, old: Integer, of_document: bool, lists: TopicLists, n_wk: Int32Array, tile: Tile
) -> Any:
    """Draw in logarithms, which needs the counts of the document."""
    if not of_document:
        return draw_in_log_space(word, old, n_wk, tile)
    n_dk = tile.scratch.n_dk
    n_dk[old] = 1
    for slot in range(lists.ptr[row], lists.ptr[row] + lists.sizes[row]):
        n_dk[lists.topics[slot]] += lists.counts[slot]
    new = draw_in_log_space(word, old, n_wk, tile)
    n_dk[:] = 0
    return new
