"""Sweeps over all tiles of a corpus, one diagonal after another, in parallel over the tiles of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import (
    BoolArray,
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt16Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import compiled, inlined, parallel
from ppl_topics._util.tasks import for_each
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.assignments.block_masses import count_blocks, sum_rows
from ppl_topics.samplers.assignments.dense_tiles import sweep_dense
from ppl_topics.samplers.assignments.sparse_tiles import sweep_by_document, sweep_by_word
from ppl_topics.samplers.assignments.tile import PART, Tile, new_scratch, ratio_of, set_alpha
from ppl_topics.samplers.assignments.tiling import Tiling, WordOrder, block_at, split_tiling
from ppl_topics.samplers.assignments.topic_lists import (
    TopicLists,
    list_topics_of_documents,
    list_topics_of_words,
    new_lists,
    pack_lists,
    unpack_lists,
)
from ppl_topics.samplers.responses.response_term import ResponseTerm
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["TileCounts", "TileGiven", "TileSweeper", "rare_words"]

MOST_DENSE_TOPICS = 512
"""With more topics than this, rare words and all documents get lists of their topics."""

RARE = 256
"""Words with no more tokens than this are drawn from the topics of the word, others from those of the document."""

DENSE_BYTES_PER_TOKEN = 2
"""Counts by document are kept as a matrix if it takes no more memory than this."""


FEW_CELLS = 2
"""With this many times as many tokens as counts by word, it is faster to add up the counts than to count the tokens."""


def rare_words(word_counts: IntArray, n_topics: int) -> BoolArray | None:
    """Return which words are drawn from lists of their topics; None if all topics, eight at a time, are faster."""
    return word_counts <= RARE if n_topics > MOST_DENSE_TOPICS else None


def tiles_abreast(n_groups: int, n_topics: int) -> int:
    """Return how many tiles a thread sweeps at the same time: two, where each thread has as many of a diagonal."""
    return 2 if n_topics >= LANES and n_groups >= 2 * numba.get_num_threads() else 1


class TileGiven(NamedTuple):
    """What a sweep over tiles conditions on.

    Attributes
    ----------
    mass : ndarray of float64 of shape (B, K)
        Of each topic in each word block.
    rows : ndarray of float64 of shape (R, K)
    row : ndarray of int64 of shape (D,) or (0,)
        See `ppl_topics.core.alpha.Alpha`.
    beta : ndarray of float64 of shape (V,)
    beta_sum : ndarray of float64 of shape (B,)
        Over the words of each block.
    beta32 : ndarray of float32 of shape (V,)
        The same as `beta`, rounded.
    """

    mass: FloatArray
    rows: FloatArray
    row: IntArray
    beta: FloatArray
    beta_sum: FloatArray
    beta32: Float32Array


class TileCounts(NamedTuple):
    """Counts of z that a sweep over tiles keeps up to date.

    Attributes
    ----------
    n_wk : ndarray of int32 of shape (V, K)
    n_bk : ndarray of int64 of shape (B, K)
        By word block.
    n_dk : ndarray of int32 of shape (D, K) or (0, K)
        Without rows, documents are counted at each visit.
    """

    n_wk: Int32Array
    n_bk: IntArray
    n_dk: Int32Array


@compiled
def sweep_with_lists(
    each: int,
    diagonal: int,
    tiling: Tiling,
    groups: IntArray,
    z: UnsignedArray,
    by_word: WordOrder,
    counts: TileCounts,
    words: TopicLists,
    documents: TopicLists,
    given: TileGiven,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over the tile of a document group on a diagonal, drawing from lists of topics: a task."""
    group = groups[each]
    block = block_at(group, diagonal, len(counts.n_bk))
    tile = tile_of(group, block, tiling, counts.n_bk, given, key)
    begin, end = by_word.tile_ptr[block, group], by_word.tile_ptr[block, group + 1]
    sweep_by_document(tile, tiling, z, counts.n_wk, words, documents, term)
    sweep_by_word(begin, end, tile, tiling, by_word, z, counts.n_wk, documents, term)


@compiled
def sweep_without_lists(
    each: int,
    diagonal: int,
    abreast: int,
    tiling: Tiling,
    groups: IntArray,
    z: UnsignedArray,
    counts: TileCounts,
    given: TileGiven,
    term: ResponseTerm,
    key: Key,
) -> None:
    """Sweep over one tile or two at a time, drawing from all topics: a task."""
    n_blocks, place = len(counts.n_bk), abreast * each
    group, beside = groups[place], groups[min(place + abreast, groups.size) - 1]
    if size_of(group, diagonal, tiling) < size_of(beside, diagonal, tiling):
        group, beside = beside, group
    shared = size_of(beside, diagonal, tiling) if group != beside else 0
    longer = tile_of(group, block_at(group, diagonal, n_blocks), tiling, counts.n_bk, given, key)
    other = tile_of(beside, block_at(beside, diagonal, n_blocks), tiling, counts.n_bk, given, key)
    sweep_dense(longer, other, shared, tiling, z, counts.n_wk, counts.n_dk, term)


@inlined
def size_of(group: int, diagonal: int, tiling: Tiling) -> Any:
    """Return how many tokens the tile of a document group on a diagonal has."""
    block = block_at(group, diagonal, len(tiling.tile_ptr))
    return tiling.tile_ptr[block, group + 1] - tiling.tile_ptr[block, group]


@compiled
def tile_of(group: int, block: int, tiling: Tiling, n_bk: IntArray, given: TileGiven, key: Key) -> Tile:
    """Return the tile of a document group and a word block, ready to be swept, with its own stream."""
    n_blocks, n_topics = n_bk.shape
    stream = new_stream()
    start(stream, key, block * n_blocks + group)
    tile = Tile(
        tiling.tile_ptr[block, group],
        tiling.tile_ptr[block, group + 1],
        n_bk[block],
        given.mass[block],
        given.rows,
        given.row,
        np.empty(n_topics),
        given.beta,
        given.beta_sum[block],
        given.mass[block].astype(np.float32),
        np.empty(n_topics, np.float32),
        given.beta32,
        new_scratch(n_topics),
        np.array([tiling.group_ptr[group], -1, -1]),
        np.zeros(2 + (n_topics + PART - 1) // PART),
        stream,
    )
    # Where documents differ, each visit to one sets its own.
    set_alpha(0, tile)
    for topic in range(n_topics):
        tile.scratch.ratio[topic] = ratio_of(topic, tile.n_k[topic], tile)
        tile.scratch.ratio_left[topic] = ratio_of(topic, tile.n_k[topic] - 1, tile)
    return tile


@parallel
def count_docs(chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, n_dk: Int32Array) -> None:
    """Count the topics of the tokens of each document into n_dk, in parallel."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        for doc in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for topic in range(n_dk.shape[1]):
                n_dk[doc, topic] = 0
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                n_dk[doc, z[token]] += 1


class TileSweeper:
    """Sweeps of the tokens of some words, tile by tile, and the memory that they need.

    Parameters
    ----------
    tokens : Tokens
    tiling : Tiling
    n_topics : int
    rare : ndarray of bool of shape (V,), or None
        Words that are drawn from lists of their topics; the others from lists of the topics of documents. None for no
        lists, drawing from all topics, eight at a time.
    """

    def __init__(self, tokens: Tokens, tiling: Tiling, n_topics: int, rare: BoolArray | None) -> None:
        self.tokens = tokens
        self.tiling = tiling
        self.sparse = rare is not None
        if rare is not None:
            self.tiling, self.by_word = split_tiling(tiling, ~rare)
            self.words = new_lists(np.where(rare, tokens.word_counts, 0), n_topics)
            self.documents = new_lists(tokens.doc_lengths, n_topics)
        n_docs, n_tokens = len(tokens.doc_ptr) - 1, len(tokens.words)
        dense = not self.sparse and 4 * n_docs * n_topics <= DENSE_BYTES_PER_TOKEN * n_tokens
        self.n_dk = np.zeros((n_docs if dense else 0, n_topics), np.int32)
        self.n_bk = np.zeros((len(tiling.tile_ptr), n_topics), np.int64)
        self.groups = np.flatnonzero(np.diff(tiling.group_ptr))

    def count(self, state: ChainState) -> IntArray:
        """Count the topics of the tokens of each word block, and return these counts.

        Counts by word are added up where these are few, and where some tokens are elsewhere.
        """
        tokens, word_block = self.tokens, self.tiling.word_block
        if tokens.elsewhere is not None or FEW_CELLS * state.n_wk.size < len(tokens.words):
            sum_rows(state.n_wk, word_block, self.n_bk)
        else:
            count_blocks(tokens.chunk_ptr, tokens.doc_ptr, tokens.words, state.z, word_block, self.n_bk)
        return self.n_bk

    def sweep(self, state: ChainState, mass: FloatArray, beta_sum: FloatArray, term: ResponseTerm, key: Key) -> None:
        """Draw the tokens given the masses; call `count` first whenever z has changed."""
        self.begin(state, mass, beta_sum, term, key)
        self.visit(state, 0, len(self.n_bk))
        self.end(state)

    def begin(self, state: ChainState, mass: FloatArray, beta_sum: FloatArray, term: ResponseTerm, key: Key) -> None:
        """Prepare a sweep."""
        if len(self.n_dk):
            count_docs(self.tokens.chunk_ptr, self.tokens.doc_ptr, state.z, self.n_dk)
        if self.sparse:
            tokens = self.tokens
            list_topics_of_words(state.n_wk, self.words)
            list_topics_of_documents(tokens.chunk_ptr, tokens.doc_ptr, state.z, len(state.n_k), self.documents)
        self.before = self.n_bk.sum(axis=0)
        alpha, beta = state.document_alpha, state.beta
        given = TileGiven(mass, alpha.rows, alpha.row, beta, beta_sum, beta.astype(np.float32))
        self.given: Any = (given, term, key)

    def visit(self, state: ChainState, first: int, last: int) -> None:
        """Draw the tokens of the tiles of some diagonals."""
        counts = TileCounts(state.n_wk, self.n_bk, self.n_dk)
        tiles = self.tiling, self.groups, state.z
        abreast = tiles_abreast(len(self.groups), state.n_wk.shape[1])
        for diagonal in range(first, last):
            if self.sparse:
                lists = self.by_word, counts, self.words, self.documents
                for_each(sweep_with_lists, len(self.groups), diagonal, *tiles, *lists, *self.given)
            else:
                number = -(-len(self.groups) // abreast)
                for_each(sweep_without_lists, number, diagonal, abreast, *tiles, counts, *self.given)

    def end(self, state: ChainState) -> None:
        """Bring the sums of the counts up to date."""
        state.n_k += self.n_bk.sum(axis=0) - self.before

    def give(self, words: IntArray) -> tuple[Int32Array, UInt16Array] | None:
        """Return the lists of some words, sizes and topics, whose order is that of the draws; None without lists."""
        return pack_lists(words, self.words) if self.sparse else None

    def take(self, n_wk: Int32Array, block: int, words: IntArray, n_k: IntArray, lists: Any) -> None:
        """Go on with the words of a block, whose counts and their sums are new, where another left it."""
        self.n_bk[block] = n_k
        if self.sparse:
            sizes, topics = lists
            unpack_lists(words, sizes, topics, n_wk, self.words)
