"""Tiles: groups of documents by blocks of words, such that the tiles of a diagonal share neither.

References
----------
F. Yan, N. Xu, Y. Qi (2009). Parallel inference for latent Dirichlet allocation on graphics processing units.
NIPS 22, section 3.2: the tiles. There the totals of the topics, which all tiles share, are stale;
here they are not, since a topic's mass in each word block is held fixed (see
`ppl_topics.samplers.assignments.block_masses`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ppl_topics._util.arrays import BoolArray, Int16Array, IntArray, UInt32Array
from ppl_topics._util.compiled import compiled, inlined
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.counts import make_chunks_of_all

__all__ = ["NO_BLOCK", "Tiling", "WordOrder", "block_at", "default_blocks", "make_tiling", "split_tiling"]

NO_BLOCK = -1
TOKENS_PER_BLOCK = 2**18
MAX_DEFAULT_BLOCKS = 16
FEW_TOKENS_PER_BLOCK = 2**14
FEW_BLOCKS = 4
"""So that small corpora, too, have work for as many threads; a sweep on one thread costs 1% to 10% more."""


class Tiling(NamedTuple):
    """The selected tokens of a corpus, sorted by word block, and within a block in corpus order.

    Attributes
    ----------
    order : ndarray of uint32 of shape (number of selected tokens,)
    tile_ptr : ndarray of int64 of shape (B, G + 1)
        Tokens of word block b and document group g are ``order[tile_ptr[b, g]:tile_ptr[b, g + 1]]``.
    group_ptr : ndarray of int64 of shape (G + 1,)
        Documents of group g are ``group_ptr[g]:group_ptr[g + 1]``.
    word_block : ndarray of int16 of shape (V,)
        Block of each word, or -1.
    doc_ptr : ndarray of int64 of shape (D + 1,)
    words : ndarray of uint32 of shape (N,)
        Those of the corpus.
    """

    order: UInt32Array
    tile_ptr: IntArray
    group_ptr: IntArray
    word_block: Int16Array
    doc_ptr: IntArray
    words: UInt32Array


class WordOrder(NamedTuple):
    """The tokens of some words of a tiling, each tile sorted by word, and those of a word in corpus order.

    Attributes
    ----------
    order : ndarray of uint32
    docs : ndarray of uint32
        The document of each token of `order`.
    tile_ptr : ndarray of int64 of shape (B, G + 1)
        As in `Tiling`.
    """

    order: UInt32Array
    docs: UInt32Array
    tile_ptr: IntArray


def default_blocks(n_tokens: int) -> int:
    """Return the default number of word blocks: a power of two that depends on the corpus size alone, at most 16.

    More blocks let more threads work, but each visit to a document then finds fewer of its tokens.
    """
    few = min(FEW_BLOCKS, n_tokens // FEW_TOKENS_PER_BLOCK)
    most = min(MAX_DEFAULT_BLOCKS, max(1, few, n_tokens // TOKENS_PER_BLOCK))
    return 1 << (most.bit_length() - 1)


def make_tiling(tokens: Tokens, selected: BoolArray, in_blocks: BoolArray, n_blocks: int) -> Tiling:
    """Cut a corpus into word blocks with similar numbers of tokens, and as many groups of documents."""
    tokens.check_positions()
    counts = tokens.word_counts
    by_count = np.argsort(-counts, kind="stable")
    word_block = deal_words(by_count[in_blocks[by_count]], np.where(selected, counts, 0), n_blocks)
    group_ptr = cut_documents(tokens, n_blocks)
    order, tile_ptr = sort_tokens(tokens.doc_ptr, tokens.words, selected, word_block, group_ptr)
    return Tiling(order, tile_ptr, group_ptr, word_block, tokens.doc_ptr, tokens.words)


def cut_documents(tokens: Tokens, n_groups: int) -> IntArray:
    """Cut the documents of the corpus into groups; those that are elsewhere have none here."""
    size, before, elsewhere = len(tokens.doc_ptr) - 1, 0, tokens.elsewhere
    if elsewhere is not None:
        size += elsewhere.docs
        before = elsewhere.docs_before + elsewhere.tokens_before
    return make_chunks_of_all(tokens.doc_ptr, n_groups, before, int(tokens.word_counts.sum()) + size)


@inlined
def block_at(group: Any, diagonal: Any, n_blocks: int) -> Any:
    """Return the word block that a document group meets on a diagonal.

    If their number is a power of two, half of the groups meet half of the blocks on half of the diagonals, and so on:
    where groups are in several places, blocks seldom have to follow them.
    """
    if n_blocks & (n_blocks - 1) == 0:
        return group ^ diagonal
    return (group + diagonal) % n_blocks


@compiled
def deal_words(words: IntArray, counts: IntArray, n_blocks: int) -> Int16Array:
    """Give each word in turn to the block with fewest tokens so far; the most frequent words come first."""
    word_block = np.full(counts.size, NO_BLOCK, dtype=np.int16)
    load = np.zeros(n_blocks, dtype=np.int64)
    for word in words:
        least = np.argmin(load)
        word_block[word] = least
        load[least] += counts[word] + 1
    return word_block


def split_tiling(tiling: Tiling, by_word: BoolArray) -> tuple[Tiling, WordOrder]:
    """Split a tiling into the tokens of some words, of which `by_word` is a mask, sorted by word, and all others."""
    selected = np.zeros(len(tiling.word_block), np.bool_)
    selected[tiling.words[tiling.order]] = True
    how = tiling.word_block, tiling.group_ptr
    order, tile_ptr = sort_tokens(tiling.doc_ptr, tiling.words, selected & ~by_word, *how)
    return (
        tiling._replace(order=order, tile_ptr=tile_ptr),
        WordOrder(*sort_by_word(tiling.doc_ptr, tiling.words, selected & by_word, *how)),
    )


@compiled
def sort_tokens(
    doc_ptr: IntArray, words: UInt32Array, selected: BoolArray, word_block: Int16Array, group_ptr: IntArray
) -> tuple[UInt32Array, IntArray]:
    """Sort the selected tokens by block, keeping their order within; return `order` and `tile_ptr` of `Tiling`."""
    n_blocks = n_groups = group_ptr.size - 1
    tile_ptr = np.zeros((n_blocks, n_groups + 1), dtype=np.int64)
    for group in range(n_groups):
        for token in range(doc_ptr[group_ptr[group]], doc_ptr[group_ptr[group + 1]]):
            if selected[words[token]]:
                tile_ptr[word_block[words[token]], group + 1] += 1
    reached = 0
    for block in range(n_blocks):
        tile_ptr[block, 0] = reached
        for group in range(n_groups):
            reached += tile_ptr[block, group + 1]
            tile_ptr[block, group + 1] = reached
    order = np.empty(reached, dtype=np.uint32)
    following = tile_ptr[:, 0].copy()
    for token in range(words.size):
        word = words[token]
        if selected[word]:
            order[following[word_block[word]]] = token
            following[word_block[word]] += 1
    return order, tile_ptr


@compiled
def sort_by_word(
    doc_ptr: IntArray, words: UInt32Array, selected: BoolArray, word_block: Int16Array, group_ptr: IntArray
) -> tuple[UInt32Array, UInt32Array, IntArray]:
    """Sort the selected tokens by block, document group and word; return the attributes of `WordOrder`."""
    n_blocks = n_groups = group_ptr.size - 1
    following = np.zeros((n_groups, word_block.size), dtype=np.int64)
    for group in range(n_groups):
        for token in range(doc_ptr[group_ptr[group]], doc_ptr[group_ptr[group + 1]]):
            following[group, words[token]] += 1
    tile_ptr = np.zeros((n_blocks, n_groups + 1), dtype=np.int64)
    reached = 0
    for block in range(n_blocks):
        own = np.flatnonzero(selected & (word_block == block))
        tile_ptr[block, 0] = reached
        for group in range(n_groups):
            for word in own:
                size = following[group, word]
                following[group, word] = reached
                reached += size
            tile_ptr[block, group + 1] = reached
    order, docs = np.empty(reached, dtype=np.uint32), np.empty(reached, dtype=np.uint32)
    for group in range(n_groups):
        for doc in range(group_ptr[group], group_ptr[group + 1]):
            for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
                word = words[token]
                if selected[word]:
                    order[following[group, word]], docs[following[group, word]] = token, doc
                    following[group, word] += 1
    return order, docs, tile_ptr
