"""Sparse topics: made from assignments, counted again, summed over, and set to their mean.

All sums run over a fixed number of chunks that are added in order: the bits do not depend on the threads.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import parallel
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.counts import WORD_CHUNKS, inverse_sums, make_chunks
from ppl_topics.samplers.topics.packed_indicators import CHUNKS

__all__ = ["assigned_topics", "count_topics", "set_mean_phi", "sparse_mass"]


def assigned_topics(tokens: Tokens, z: UnsignedArray, n_k: IntArray) -> SparseTopics:
    """Return sparse topics that include the words with tokens in them, and one word where they have no tokens."""
    n_words, n_topics = len(tokens.word_ptr) - 1, len(n_k)
    # A topic without tokens needs a word all the same: any will do, but not the same for all.
    alone = np.where(n_k > 0, -1, np.arange(n_topics) % n_words)
    sizes = np.zeros(n_words, np.int64)
    count_distinct(tokens.word_ptr, tokens.by_word, z, alone, sizes)
    sparse = SparseTopics.empty(sizes, n_topics)
    fill_assigned(tokens.word_ptr, tokens.by_word, z, alone, sparse)
    return sparse


@parallel
def count_distinct(
    word_ptr: IntArray, by_word: UInt32Array, z: UnsignedArray, alone: IntArray, sizes: IntArray
) -> None:
    """Count the distinct topics of the tokens of each word, and add the topics of which it is the only word."""
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        seen = np.full(alone.size, -1, np.int64)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for place in range(word_ptr[word], word_ptr[word + 1]):
                topic = z[by_word[place]]
                if seen[topic] != word:
                    seen[topic] = word
                    sizes[word] += 1
    for topic in range(alone.size):
        if alone[topic] >= 0:
            sizes[alone[topic]] += 1


@parallel
def fill_assigned(
    word_ptr: IntArray, by_word: UInt32Array, z: UnsignedArray, alone: IntArray, sparse: SparseTopics
) -> None:
    """Fill the sparse topics of `assigned_topics`, in parallel over words."""
    pointer, topics, counts = sparse.pointer, sparse.topics, sparse.counts
    n_topics = alone.size
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    for chunk in numba.prange(WORD_CHUNKS):
        number = np.zeros(n_topics, np.int32)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for token in range(word_ptr[word], word_ptr[word + 1]):
                number[z[by_word[token]]] += 1
            place = pointer[word]
            for topic in range(n_topics):
                if number[topic] > 0 or alone[topic] == word:
                    topics[place], counts[place] = topic, number[topic]
                    number[topic] = 0
                    place += 1


@parallel
def count_topics(
    z: UnsignedArray, word_ptr: IntArray, by_word: UInt32Array, sparse: SparseTopics, n_k: IntArray
) -> None:
    """Count the tokens of each word by topic, all of which include it, in parallel over words; overwrite `n_k` too."""
    pointer, topics, counts = sparse.pointer, sparse.topics, sparse.counts
    n_topics = n_k.size
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    partial = np.zeros((WORD_CHUNKS, n_topics), np.int64)
    for chunk in numba.prange(WORD_CHUNKS):
        number = np.zeros(n_topics, np.int32)
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for token in range(word_ptr[word], word_ptr[word + 1]):
                number[z[by_word[token]]] += 1
            for place in range(pointer[word], pointer[word + 1]):
                topic = topics[place]
                counts[place] = number[topic]
                partial[chunk, topic] += number[topic]
                number[topic] = 0
    for topic in range(n_topics):
        n_k[topic] = 0
        for chunk in range(WORD_CHUNKS):
            n_k[topic] += partial[chunk, topic]


@parallel
def sparse_mass(beta: FloatArray, sparse: SparseTopics) -> FloatArray:
    """Sum beta, of shape (V,), over the words that each topic includes; return shape (K,)."""
    pointer, topics, n_words = sparse.pointer, sparse.topics, beta.size
    partial = np.zeros((CHUNKS, sparse.n_topics))
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for place in range(pointer[word], pointer[word + 1]):
                partial[chunk, topics[place]] += beta[word]
    mass = np.zeros(sparse.n_topics)
    for chunk in range(CHUNKS):
        for topic in range(sparse.n_topics):
            mass[topic] += partial[chunk, topic]
    return mass


@parallel
def set_mean_phi(sparse: SparseTopics, n_k: IntArray, beta: FloatArray) -> None:
    """Set phi to its mean given the counts, (n_wk + beta_w) / (n_k + sum of beta over the words included)."""
    pointer, topics, counts, values = sparse.pointer, sparse.topics, sparse.counts, sparse.values
    scale = inverse_sums(n_k, sparse_mass(beta, sparse))
    for word in numba.prange(beta.size):
        for place in range(pointer[word], pointer[word + 1]):
            values[place] = (counts[place] + beta[word]) * scale[topics[place]]
