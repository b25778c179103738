"""Collapsed Gibbs sampling of the tokens of a tile over all topics, eight at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Int32Array, UnsignedArray
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.samplers.assignments.tile import (
    Tile,
    draw_in_float64,
    move_token,
    refresh,
    turn_to_document,
    weigh_all,
    without_token,
)
from ppl_topics.samplers.assignments.tiling import Tiling
from ppl_topics.samplers.assignments.word_lists import WordLists
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.simd import AHEAD, prefetch_row, unlikely
from ppl_topics.samplers.variates.simd_categorical import Integer, draw_cell, running_sums_of_counts

__all__ = ["sweep_dense"]


@tight
def sweep_dense(
    tile: Tile,
    tiling: Tiling,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_dk: Int32Array,
    lists: WordLists,
    term: ResponseTerm,
) -> None:
    """Draw the topics of the tokens of a tile; n_dk without rows means that documents are counted at each visit."""
    supervised = term.eta.shape[1] > 0
    ratio, weight, sums, beta = tile.scratch.ratio, tile.scratch.weight, tile.scratch.sums, tile.beta32
    n_topics, stream = weight.size, tile.stream
    order, words, last, end = tiling.order, tiling.words, tile.last, np.int64(-1)
    for position in range(tile.first, last):
        token = np.int64(order[position])
        if token >= end:
            end = visit(token, tile, tiling, z, n_dk)
        prefetch_row(n_wk, np.int64(words[order[min(position + AHEAD, last - 1)]]))
        word, old = np.int64(words[token]), np.int64(z[token])
        # Most tokens keep their topic. Then nothing is written: the counts without the token stay in registers.
        ratio_left, weight_left = without_token(old, tile)
        total = running_sums_of_counts(weight, n_wk, word, beta[word], old, weight_left, sums)
        new = draw_cell(stream, sums, n_topics, total)
        if unlikely(new < 0):
            new = draw_in_float64(word, old, total, n_wk, tile)
        if new != old and (not supervised or accepts(tile.stream, tile.cursor[0], old, new, term)):
            z[token] = new
            ratio[old], weight[old] = ratio_left, weight_left
            move_token(word, old, new, n_wk, tile)
            refresh(new, tile)
    write_counts(tile, n_dk)


@tight
def visit(token: Integer, tile: Tile, tiling: Tiling, z: UnsignedArray, n_dk: Int32Array) -> Any:
    """Go on to the document of a token, find its counts, and weigh the topics; return where the document ends."""
    write_counts(tile, n_dk)
    own = tile.scratch.n_dk
    begin, end = turn_to_document(token, tile, tiling)
    doc = tile.cursor[0]
    if n_dk.shape[0] > 0:
        for topic in range(own.size):
            own[topic] = n_dk[doc, topic]
    else:
        for topic in range(own.size):
            own[topic] = 0
        for other in range(begin, end):
            own[z[other]] += 1
    weigh_all(tile)
    return int(end)


@inlined
def write_counts(tile: Tile, n_dk: Int32Array) -> None:
    """Write the counts of the current document back to the matrix."""
    if n_dk.shape[0] > 0 and tile.cursor[2] >= 0:
        doc = tile.cursor[0]
        for topic in range(n_dk.shape[1]):
            n_dk[doc, topic] = tile.scratch.n_dk[topic]
