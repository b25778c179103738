"""Counts of topics by word, the index that they are counted from, and the chunks of parallel loops."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Tokens

__all__ = [
    "WORD_CHUNKS",
    "Counts",
    "add_in_order",
    "count_tokens",
    "count_words",
    "inverse_sums",
    "make_chunks",
    "make_chunks_of_all",
    "point_to_words",
    "recount",
    "sort_by_word",
]

WORD_CHUNKS = 64

TOKENS_PER_CELL = 4
"""Of each thread's own table of counts, from which on tables take less memory, and less time, than an index by word."""


class Counts(NamedTuple):
    """How many tokens z puts in each topic.

    Attributes
    ----------
    n_wk : ndarray of int32 of shape (V, K)
        By word.
    n_k : ndarray of int64 of shape (K,)
        Over all words.
    """

    n_wk: Int32Array
    n_k: IntArray


@compiled
def make_chunks(pointer: IntArray, n_chunks: int) -> IntArray:
    """Cut documents (or words) into chunks of similar numbers of tokens: ``chunk_ptr[c]:chunk_ptr[c + 1]``."""
    return make_chunks_of_all(pointer, n_chunks, 0, pointer[-1] + pointer.size - 1)


@compiled
def make_chunks_of_all(pointer: IntArray, n_chunks: int, before: int, cost: int) -> IntArray:
    """Return the same chunks of more documents than there are here, of which the others are empty.

    `before` is the number of documents and tokens before those here, and `cost` that of all. Twice as many chunks have
    all the boundaries, and others between them.
    """
    size = pointer.size - 1
    chunk_ptr = np.empty(n_chunks + 1, dtype=np.int64)
    item = 0
    for chunk in range(n_chunks):
        while item < size and (before + pointer[item] + item) * n_chunks < cost * chunk:
            item += 1
        chunk_ptr[chunk] = item
    chunk_ptr[n_chunks] = size
    return chunk_ptr


@compiled
def add_in_order(partial: FloatArray) -> float:
    """Add numbers one after another, so that the sum keeps its bits."""
    total = 0.0
    for value in partial:
        total += value
    return total


@compiled
def inverse_sums(n_k: IntArray, mass: FloatArray) -> FloatArray:
    """Return 1 / (n_k + mass), shape (K,): what counts and concentrations are multiplied by for mean topics."""
    return 1.0 / (n_k + mass)


@compiled
def point_to_words(words: UInt32Array, n_words: int) -> IntArray:
    """Return where each word begins in the tokens sorted by word, shape (V + 1,)."""
    word_ptr = np.zeros(n_words + 1, dtype=np.int64)
    for word in words:
        word_ptr[np.int64(word) + 1] += 1
    for word_id in range(n_words):
        word_ptr[word_id + 1] += word_ptr[word_id]
    return word_ptr


@compiled
def sort_by_word(words: UInt32Array, word_ptr: IntArray) -> UInt32Array:
    """Sort the tokens by word, in document order within a word: ``by_word[word_ptr[w]:word_ptr[w + 1]]``."""
    following = word_ptr[:-1].copy()
    by_word = np.empty(words.size, dtype=np.uint32)
    for token in range(words.size):
        word = words[token]
        by_word[following[word]] = token
        following[word] += 1
    return by_word


@compiled
def count_tokens(words: UInt32Array, z: UnsignedArray, n_wk: Int32Array, n_k: IntArray) -> None:
    """Count the topics of each word's tokens without the index by word, as a first state needs them."""
    n_wk[:] = 0
    n_k[:] = 0
    for token in range(words.size):
        n_wk[words[token], z[token]] += 1
        n_k[z[token]] += 1


@parallel
def count_words(
    z: UnsignedArray,
    word_ptr: IntArray,
    by_word: UInt32Array,
    n_wk: Int32Array,
    n_k: IntArray,
) -> None:
    """Count the topics of each word's tokens by the index of `sort_by_word`, in parallel over words."""
    n_topics = n_k.size
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    partial = np.zeros((WORD_CHUNKS, n_topics), dtype=np.int64)
    for chunk in numba.prange(WORD_CHUNKS):
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for topic in range(n_topics):
                n_wk[word, topic] = 0
            for position in range(word_ptr[word], word_ptr[word + 1]):
                topic_of_token = z[by_word[position]]
                n_wk[word, topic_of_token] += 1
                partial[chunk, topic_of_token] += 1
    for topic in range(n_topics):
        n_k[topic] = 0
        for chunk in range(WORD_CHUNKS):
            n_k[topic] += partial[chunk, topic]


def recount(tokens: Tokens, state: ChainState) -> None:
    """Set the counts of a state to those of its z, in parallel; of a large corpus without the index by word."""
    tables = numba.get_num_threads()
    if tables * state.n_wk.size * TOKENS_PER_CELL <= len(tokens.words):
        partial = np.empty((tables, *state.n_wk.shape), np.int32)
        count_in_tables(tokens.chunk_ptr, tokens.doc_ptr, tokens.words, state.z, partial, state.n_wk, state.n_k)
    else:
        count_words(state.z, tokens.word_ptr, tokens.by_word, state.n_wk, state.n_k)


@parallel
def count_in_tables(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    partial: NDArray[np.int32],
    n_wk: Int32Array,
    n_k: IntArray,
) -> None:
    """Count the tokens of each table's documents in it, and add up the tables."""
    tables, n_words, n_topics = partial.shape
    n_chunks = chunk_ptr.size - 1
    for table in numba.prange(tables):
        partial[table] = 0
        first, last = chunk_ptr[n_chunks * table // tables], chunk_ptr[n_chunks * (table + 1) // tables]
        for token in range(doc_ptr[first], doc_ptr[last]):
            partial[table, words[token], z[token]] += 1
    totals = np.zeros((WORD_CHUNKS, n_topics), np.int64)
    for chunk in numba.prange(WORD_CHUNKS):
        for word in range(n_words * chunk // WORD_CHUNKS, n_words * (chunk + 1) // WORD_CHUNKS):
            for topic in range(n_topics):
                count = 0
                for table in range(tables):
                    count += partial[table, word, topic]
                n_wk[word, topic] = count
                totals[chunk, topic] += count
    for topic in range(n_topics):
        n_k[topic] = totals[:, topic].sum()
