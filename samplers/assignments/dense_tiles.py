"""Collapsed Gibbs sampling of the tokens of a tile over all topics, eight at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Int32Array, UnsignedArray
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.samplers.assignments.collapsed_tiles import Places, Tile, draw_in_logs, ratio_of, refresh, weigh
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.simd import AHEAD, prefetch_row
from ppl_topics.samplers.variates.simd_categorical import SAFE_TOTAL, Integer, find_cell, running_sums_of_counts
from ppl_topics.samplers.variates.streams import uniform

__all__ = ["sweep_dense"]


@tight
def sweep_dense(
    tile: Tile,
    places: Places,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_dk: Int32Array,
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
        total = running_sums_of_counts(weight, n_wk, word, tile.priors.beta32[word], old, weight_left, sums)
        if total >= SAFE_TOTAL:
            new = find_cell(sums, n_topics, np.float32(uniform(tile.stream) * total))
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
def visit(token: Integer, tile: Tile, places: Places, z: UnsignedArray, n_dk: Int32Array) -> Any:
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
def keep_counts(tile: Tile, n_dk: Int32Array) -> None:
    """Write the counts of the document at hand back into the matrix."""
    if n_dk.shape[0] > 0 and tile.cursor[2] >= 0:
        for topic in range(n_dk.shape[1]):
            n_dk[tile.cursor[0], topic] = tile.scratch.in_doc[topic]
