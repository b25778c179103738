"""Tiles: groups of documents by blocks of words, such that the tiles of a diagonal share neither.

References
----------
F. Yan, N. Xu, Y. Qi (2009). Parallel inference for latent Dirichlet allocation on graphics processing units.
NIPS 22, section 3.2: the tiles and their order. There the totals of the topics, which all tiles share, are stale;
here they are not, since a topic's mass in each block of words is held (`draw_masses`).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import BoolArray, FloatArray, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.keys import Key
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.counts import make_chunks
from ppl_topics.samplers.variates.dirichlet import dirichlet
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = [
    "NO_BLOCK",
    "Tiling",
    "block_sums",
    "count_blocks",
    "count_docs",
    "default_blocks",
    "draw_masses",
    "make_tiling",
]


NO_BLOCK = -1
TOKENS_PER_BLOCK = 2**18
MAX_DEFAULT_BLOCKS = 16


class Tiling(NamedTuple):
    """The selected tokens, sorted by block of words, and within a block by place in the corpus.

    Attributes
    ----------
    block : ndarray of int16 of shape (V,)
        Block of each word, or -1.
    group_ptr : ndarray of int64 of shape (G + 1,)
        Documents of each group.
    tile_ptr : ndarray of int64 of shape (B, G + 1)
        Tokens of block b and group g are ``order[tile_ptr[b, g]:tile_ptr[b, g + 1]]``.
    order : ndarray of uint32 of shape (number of selected tokens,)
    """

    block: npt.NDArray[np.int16]
    group_ptr: IntArray
    tile_ptr: IntArray
    order: UInt32Array


def default_blocks(n_tokens: int) -> int:
    """Return the number of blocks for a corpus: a power of two that depends on its size alone, at most 16.

    More blocks let more threads work, and let each visit of a document find fewer of its tokens.
    """
    most = min(MAX_DEFAULT_BLOCKS, max(1, n_tokens // TOKENS_PER_BLOCK))
    return 1 << (most.bit_length() - 1)


def make_tiling(tokens: Tokens, selected: BoolArray, in_blocks: BoolArray, n_blocks: int) -> Tiling:
    """Cut a corpus into ``n_blocks`` blocks of words, with about equally many tokens, by as many groups of documents.

    Parameters
    ----------
    tokens : Tokens
    selected : ndarray of bool of shape (V,)
        Words whose tokens are put in order.
    in_blocks : ndarray of bool of shape (V,)
        Words that get a block; the selected are among them.
    n_blocks : int
    """
    counts = tokens.word_counts
    by_count = np.argsort(-counts, kind="stable")
    block = deal_words(by_count[in_blocks[by_count]], np.where(selected, counts, 0), n_blocks)
    group_ptr = make_chunks(tokens.doc_ptr, n_blocks)
    order, tile_ptr = sort_tokens(tokens.doc_ptr, tokens.words, selected, block, group_ptr, n_blocks)
    return Tiling(block, group_ptr, tile_ptr, order)


@compiled
def deal_words(words: IntArray, counts: IntArray, n_blocks: int) -> npt.NDArray[np.int16]:
    """Deal words, the most frequent first, each to the block that has fewest tokens so far."""
    block = np.full(counts.size, NO_BLOCK, dtype=np.int16)
    load = np.zeros(n_blocks, dtype=np.int64)
    for word in words:
        least = np.argmin(load)
        block[word] = least
        load[least] += counts[word] + 1
    return block


@compiled
def sort_tokens(
    doc_ptr: IntArray,
    words: UInt32Array,
    selected: BoolArray,
    block: npt.NDArray[np.int16],
    group_ptr: IntArray,
    n_blocks: int,
) -> tuple[UInt32Array, IntArray]:
    """Sort the selected tokens by block, keeping their order within; see `Tiling` for what is returned."""
    n_groups = group_ptr.size - 1
    tile_ptr = np.zeros((n_blocks, n_groups + 1), dtype=np.int64)
    for group in range(n_groups):
        for token in range(doc_ptr[group_ptr[group]], doc_ptr[group_ptr[group + 1]]):
            if selected[words[token]]:
                tile_ptr[block[words[token]], group + 1] += 1
    reached = 0
    for index in range(n_blocks):
        tile_ptr[index, 0] = reached
        for group in range(n_groups):
            reached += tile_ptr[index, group + 1]
            tile_ptr[index, group + 1] = reached
    order = np.empty(reached, dtype=np.uint32)
    place = tile_ptr[:, 0].copy()
    for token in range(words.size):
        word = words[token]
        if selected[word]:
            order[place[block[word]]] = token
            place[block[word]] += 1
    return order, tile_ptr


@parallel
def count_blocks(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    block: npt.NDArray[np.int16],
    n_bk: IntArray,
) -> None:
    """Count the topics of the tokens of each block, in parallel over documents.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (C + 1,)
        Documents of each parallel task.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
    block : ndarray of int16 of shape (V,)
        Tokens of words without a block are left out.
    n_bk : ndarray of int64 of shape (B, K)
        Overwritten.
    """
    n_blocks, n_topics = n_bk.shape
    n_tasks = min(n_blocks, chunk_ptr.size - 1)
    partial = np.zeros((n_tasks, n_blocks, n_topics), dtype=np.int64)
    for task in numba.prange(n_tasks):
        first = chunk_ptr[(chunk_ptr.size - 1) * task // n_tasks]
        last = chunk_ptr[(chunk_ptr.size - 1) * (task + 1) // n_tasks]
        for token in range(doc_ptr[first], doc_ptr[last]):
            home = block[words[token]]
            if home >= 0:
                partial[task, home, z[token]] += 1
    for index in range(n_blocks):
        for topic in range(n_topics):
            n_bk[index, topic] = 0
            for task in range(n_tasks):
                n_bk[index, topic] += partial[task, index, topic]


@parallel
def count_docs(chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, n_dk: Int32Array) -> None:
    """Count the topics of the tokens of each document, in parallel.

    Parameters
    ----------
    chunk_ptr : ndarray of int64 of shape (C + 1,)
        Documents of each parallel task.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    z : ndarray of uint8 or uint16 of shape (N,)
    n_dk : ndarray of int32 of shape (D, K)
        Overwritten.
    """
    for chunk in numba.prange(chunk_ptr.size - 1):
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for topic in range(n_dk.shape[1]):
                n_dk[doc, topic] = 0
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                n_dk[doc, z[token]] += 1


def block_sums(block: npt.NDArray[np.int16], beta: FloatArray, n_blocks: int) -> FloatArray:
    """Return the sum of beta over the words of each block, shape (B,)."""
    inside = block >= 0
    return np.bincount(block[inside], weights=beta[inside], minlength=n_blocks).astype(np.float64)


@compiled
def draw_masses(
    n_bk: IntArray,
    beta_sums: FloatArray,
    key: Key,
    first_unit: int,
    mass: FloatArray,
) -> None:
    """Draw each topic's mass in each block given z: Dirichlet(n_bk + sums of beta), by the aggregation property.

    Parameters
    ----------
    n_bk : ndarray of int64 of shape (B, K)
    beta_sums : ndarray of float64 of shape (B,)
    key : Key
        Of the random streams; topic k has the unit ``first_unit + k``.
    first_unit : int
    mass : ndarray of float64 of shape (B, K)
        Overwritten; each column sums to 1.
    """
    n_blocks, n_topics = n_bk.shape
    stream = new_stream()
    column = np.empty(n_blocks)
    for topic in range(n_topics):
        start(stream, key, first_unit + topic)
        for index in range(n_blocks):
            column[index] = n_bk[index, topic] + beta_sums[index]
        dirichlet(stream, column, column)
        for index in range(n_blocks):
            mass[index, topic] = column[index]
