"""SparseLDA: collapsed Gibbs sampling of the tokens of a tile over the topics of each word.

References
----------
L. Yao, D. Mimno, A. McCallum (2009). Efficient methods for topic model inference on streaming document
collections. KDD'09, section 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Int32Array, UnsignedArray
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.samplers.assignments.collapsed_tiles import Places, Tile, draw_in_logs, ratio_of, refresh, weigh
from ppl_topics.samplers.assignments.word_lists import DENSE, WordLists, add_topic, remove_topic
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.simd import AHEAD, prefetch_row
from ppl_topics.samplers.variates.simd_categorical import (
    SAFE_TOTAL,
    Integer,
    find_cell,
    find_entry,
    running_sums_of_counts,
    running_sums_of_list,
    running_sums_of_products,
)
from ppl_topics.samplers.variates.streams import uniform

__all__ = ["sweep_sparse"]


SHORT = 4
"""A document of so many times fewer tokens than there are topics is counted token by token, not topic by topic."""


@tight
def sweep_sparse(
    tile: Tile,
    places: Places,
    z: UnsignedArray,
    n_wk: Int32Array,
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
            everything = running_sums_of_counts(weight, n_wk, word, tile.priors.beta32[word], old, weight_left, sums)
            if everything >= SAFE_TOTAL:
                new = find_cell(sums, n_topics, np.float32(uniform(tile.stream) * everything))
            else:
                new = draw_in_logs(word, old, n_wk, tile)
            smooth[0] += np.float64(weight_left) - weight[old]
            ratio[old], weight[old] = ratio_left, weight_left
        else:
            smooth[0] += np.float64(weight_left) - weight[old]
            ratio[old], weight[old] = ratio_left, weight_left
            begin = lists.ptr[word]
            as_row, topics, counts = tile.scratch.as_row, lists.topics, lists.counts
            listed = np.float64(running_sums_of_list(as_row, 0, topics, counts, begin, size, sums))
            total = listed + tile.priors.beta[word] * smooth[0]
            target = uniform(tile.stream) * total
            if not total >= SAFE_TOTAL:
                new = draw_in_logs(word, old, n_wk, tile)
            elif target < listed:
                slot = begin + find_entry(sums, size, np.float32(target))
                new = np.int64(lists.topics[slot])
            else:
                share = np.float32((target - listed) / (total - listed))
                new = find_cell(sums, n_topics, share * running_sums_of_products(weight, tile.scratch.ones, 0, sums))
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
def visit_briefly(token: Integer, tile: Tile, places: Places, z: UnsignedArray) -> Any:
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
