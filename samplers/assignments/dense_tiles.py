"""Collapsed Gibbs sampling of the tokens of a tile over all topics, eight at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics._util.arrays import Int32Array, UnsignedArray
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.samplers.assignments.tile import (
    Tile,
    draw_by_sums,
    follow_arrival,
    follow_departure,
    move_in_counts,
    turn_to_document,
    weigh_all,
    weigh_all_left,
    word_ahead,
)
from ppl_topics.samplers.assignments.tiling import Tiling
from ppl_topics.samplers.responses.response_term import ResponseTerm, accepts
from ppl_topics.samplers.variates.simd import prefetch_cell, prefetch_row
from ppl_topics.samplers.variates.simd_categorical import (
    Integer,
    running_sums_of_counts,
    running_sums_of_counts_abreast,
)

__all__ = ["sweep_dense"]


@tight
def sweep_dense(
    tile: Tile,
    beside: Tile,
    shared: int,
    tiling: Tiling,
    z: UnsignedArray,
    n_wk: Int32Array,
    n_dk: Int32Array,
    term: ResponseTerm,
) -> None:
    """Draw the topics of the tokens of a tile, and those of the `shared` tokens of another, which is not longer.

    Each draw waits for the one before it in its tile, and a processor that has two tiles works at the other meanwhile.
    Tiles of a diagonal share nothing, so the topics are those that one tile after the other would get. If n_dk has no
    rows, documents are counted at each visit.
    """
    order, words, beta, end, end_beside = tiling.order, tiling.words, tile.beta32, np.int64(-1), np.int64(-1)
    weight, left, sums = tile.scratch.weight, tile.scratch.weight_left, tile.scratch.sums
    weight_beside, left_beside, sums_beside = beside.scratch.weight, beside.scratch.weight_left, beside.scratch.sums
    token_beside = word_beside = old_beside = new_beside = np.int64(0)
    for step in range(tile.last - tile.first):
        token = np.int64(order[np.uint64(tile.first + step)])
        if token >= end:
            end = visit(token, tile, tiling, z, n_dk)
        look_ahead(tile.first + step, tile, tiling, z, n_wk)
        word, old = np.int64(words[token]), np.int64(z[token])
        if step < shared:
            token_beside = np.int64(order[np.uint64(beside.first + step)])
            if token_beside >= end_beside:
                end_beside = visit(token_beside, beside, tiling, z, n_dk)
            look_ahead(beside.first + step, beside, tiling, z, n_wk)
            word_beside, old_beside = np.int64(words[token_beside]), np.int64(z[token_beside])
            total, total_beside = running_sums_of_counts_abreast(
                (weight, weight_beside),
                n_wk,
                (word, word_beside),
                (beta[word], beta[word_beside]),
                (old, old_beside),
                (left[old], left_beside[old_beside]),
                (sums, sums_beside),
            )
            new_beside = draw_by_sums(word_beside, old_beside, total_beside, n_wk, beside)
        else:
            total = running_sums_of_counts(weight, n_wk, word, beta[word], old, left[old], sums)
        # Both are drawn before either is moved: whether a token moves is often guessed wrong.
        new = draw_by_sums(word, old, total, n_wk, tile)
        if step < shared:
            move(token_beside, word_beside, old_beside, new_beside, z, n_wk, beside, term)
        move(token, word, old, new, z, n_wk, tile, term)
    write_counts(tile, n_dk)
    if shared > 0:
        write_counts(beside, n_dk)


@inlined
def look_ahead(position: Integer, tile: Tile, tiling: Tiling, z: UnsignedArray, n_wk: Int32Array) -> None:
    """Prefetch what the tokens that come later need."""
    ahead = word_ahead(position, tile, tiling, z)
    prefetch_row(n_wk, ahead)
    prefetch_cell(tile.beta32, ahead)


@inlined
def move(
    token: Integer,
    word: Integer,
    old: Integer,
    new: Integer,
    z: UnsignedArray,
    n_wk: Int32Array,
    tile: Tile,
    term: ResponseTerm,
) -> None:
    """Move a token to another topic, if the response accepts that; most keep theirs, and nothing is written."""
    if new != old and (term.eta.shape[1] == 0 or accepts(tile.stream, tile.cursor[0], old, new, term)):
        z[token] = new
        tile.scratch.n_dk[old] -= 1
        tile.scratch.n_dk[new] += 1
        move_in_counts(word, old, new, n_wk, tile)
        follow_departure(old, tile)
        follow_arrival(new, tile)


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
        prefetch_row(n_dk, min(doc + 1, n_dk.shape[0] - 1))
    else:
        for topic in range(own.size):
            own[topic] = 0
        for other in range(begin, end):
            own[z[other]] += 1
    weigh_all(tile)
    weigh_all_left(tile)
    return int(end)


@inlined
def write_counts(tile: Tile, n_dk: Int32Array) -> None:
    """Write the counts of the current document back to the matrix."""
    if n_dk.shape[0] > 0 and tile.cursor[2] >= 0:
        doc = tile.cursor[0]
        for topic in range(n_dk.shape[1]):
            n_dk[doc, topic] = tile.scratch.n_dk[topic]
