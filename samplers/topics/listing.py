"""Lists of the words that topics include: made from assignments or indicators, counted, and summed.

See `ppl_topics.core.sparse_topics.TopicLists` for the arrays ``pointer``, ``topics``, ``counts`` and ``values``.
All sums run over a fixed number of chunks that are added in order: the bits do not depend on the threads.
"""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import (
    Float32Array,
    FloatArray,
    Int32Array,
    IntArray,
    UInt8Array,
    UInt16Array,
    UInt32Array,
    UnsignedArray,
)
from ppl_topics._util.compiled import parallel
from ppl_topics.core.sparse_topics import PADDING, TopicLists
from ppl_topics.core.tokens import Tokens
from ppl_topics.samplers.counts import WORD_CHUNKS, make_chunks
from ppl_topics.samplers.topics.indicator_scan import BLOCK, CHUNKS

__all__ = ["count_listed", "list_assigned", "list_packed", "listed_mass", "pack_listed", "set_listed_mean"]


def new_lists(name: str, n_topics: int, sizes: IntArray) -> TopicLists:
    """Return empty lists of the given sizes, of shape (V,)."""
    pointer = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=pointer[1:])
    length = int(pointer[-1]) + PADDING
    topics, counts = np.zeros(length, np.uint16), np.zeros(length, np.int32)
    return TopicLists(name, n_topics, pointer, topics, counts, np.zeros(length, np.float32))


def list_assigned(name: str, tokens: Tokens, z: UnsignedArray, n_k: IntArray) -> TopicLists:
    """Return the lists of topics that include the words with tokens in them, and one word where they have none.

    Parameters
    ----------
    name : str
        Of phi.
    tokens : Tokens
    z : ndarray of uint8 or uint16 of shape (N,)
    n_k : ndarray of int64 of shape (K,)
        Tokens of each topic.
    """
    n_words, n_topics = len(tokens.word_ptr) - 1, len(n_k)
    # A topic without tokens needs a word all the same: any will do, and not the same one for all.
    alone = np.where(n_k > 0, -1, np.arange(n_topics) % n_words)
    sizes = np.zeros(n_words, np.int64)
    measure_assigned(tokens.word_ptr, tokens.by_word, z, alone, sizes)
    lists = new_lists(name, n_topics, sizes)
    fill_assigned(tokens.word_ptr, tokens.by_word, z, alone, lists.pointer, lists.topics, lists.counts)
    return lists


@parallel
def measure_assigned(
    word_ptr: IntArray, by_word: UInt32Array, z: UnsignedArray, alone: IntArray, sizes: IntArray
) -> None:
    """Set how many topics the tokens of each word have, and add the topics of which it is the only word."""
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
    word_ptr: IntArray,
    by_word: UInt32Array,
    z: UnsignedArray,
    alone: IntArray,
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
) -> None:
    """Fill the lists that `measure_assigned` has measured."""
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
def count_listed(
    z: UnsignedArray,
    word_ptr: IntArray,
    by_word: UInt32Array,
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    n_k: IntArray,
) -> None:
    """Count the topics of the tokens of each word, all of which its list holds, in parallel over words.

    Parameters
    ----------
    z : ndarray of uint8 or uint16 of shape (N,)
    word_ptr : ndarray of int64 of shape (V + 1,)
    by_word : ndarray of uint32 of shape (N,)
    pointer, topics : ndarray
        Of the lists.
    counts : ndarray of int32 of shape (L + 8,)
        Overwritten.
    n_k : ndarray of int64 of shape (K,)
        Overwritten.
    """
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
def listed_mass(beta: FloatArray, pointer: IntArray, topics: UInt16Array, n_topics: int) -> FloatArray:
    """Sum beta, of shape (V,), over the words that each topic includes, in an order that the threads do not change."""
    partial = np.zeros((CHUNKS, n_topics))
    n_words = beta.size
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for place in range(pointer[word], pointer[word + 1]):
                partial[chunk, topics[place]] += beta[word]
    mass = np.zeros(n_topics)
    for chunk in range(CHUNKS):
        for topic in range(n_topics):
            mass[topic] += partial[chunk, topic]
    return mass


@parallel
def pack_listed(
    pointer: IntArray, topics: UInt16Array, counts: Int32Array, n_topics: int, occupied: UInt8Array, packed: UInt8Array
) -> IntArray:
    """Pack lists into bytes, a bit for each of eight topics, in parallel over words; return the words of each topic.

    Parameters
    ----------
    pointer, topics, counts : ndarray
        Of the lists.
    n_topics : int
    occupied : ndarray of uint8 of shape (blocks, V)
        Overwritten: a bit is 1 where a word has tokens in the topic.
    packed : ndarray of uint8 of shape (blocks, V)
        Overwritten: a bit is 1 where the word is included.
    """
    n_words = pointer.size - 1
    partial = np.zeros((CHUNKS, n_topics), np.int64)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for block in range(packed.shape[0]):
                occupied[block, word] = packed[block, word] = 0
            for place in range(pointer[word], pointer[word + 1]):
                topic = np.int64(topics[place])
                bit = np.int64(1) << (topic & (BLOCK - 1))
                packed[topic // BLOCK, word] |= bit
                if counts[place] > 0:
                    occupied[topic // BLOCK, word] |= bit
                partial[chunk, topic] += 1
    number = np.zeros(n_topics, np.int64)
    for chunk in range(CHUNKS):
        number += partial[chunk]
    return number


def list_packed(packed: UInt8Array, before: TopicLists) -> TopicLists:
    """Return the lists of packed indicators, with the counts and probabilities that the lists before have of them."""
    sizes = np.zeros(packed.shape[1], np.int64)
    measure_packed(packed, sizes)
    lists = new_lists(before.name, before.n_topics, sizes)
    arrays = (lists.pointer, lists.topics, lists.counts, lists.values)
    fill_packed(packed, before.pointer, before.topics, before.counts, before.values, *arrays)
    return lists


@parallel
def measure_packed(packed: UInt8Array, sizes: IntArray) -> None:
    """Set how many topics include each word, in parallel over words."""
    for word in numba.prange(packed.shape[1]):
        number = 0
        for block in range(packed.shape[0]):
            bits = np.int64(packed[block, word])
            while bits != 0:
                number += 1
                bits &= bits - 1
        sizes[word] = number


@parallel
def fill_packed(
    packed: UInt8Array,
    old_pointer: IntArray,
    old_topics: UInt16Array,
    old_counts: Int32Array,
    old_values: Float32Array,
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    values: Float32Array,
) -> None:
    """Fill lists of packed indicators; see `list_packed`. Both lists of a word ascend: one walk goes through them."""
    for word in numba.prange(packed.shape[1]):
        old, end = old_pointer[word], old_pointer[word + 1]
        place = pointer[word]
        for block in range(packed.shape[0]):
            bits = np.int64(packed[block, word])
            topic = np.int64(BLOCK * block)
            while bits != 0:
                if bits & 1:
                    topics[place] = topic
                    while old < end and np.int64(old_topics[old]) < topic:
                        old += 1
                    if old < end and np.int64(old_topics[old]) == topic:
                        counts[place], values[place] = old_counts[old], old_values[old]
                    place += 1
                bits >>= 1
                topic += 1


def set_listed_mean(lists: TopicLists, n_k: IntArray, beta: FloatArray) -> None:
    """Set the probabilities to their mean given the counts, (n_wk + beta) / (n_k + sum of beta over included words).

    Parameters
    ----------
    lists : TopicLists
    n_k : ndarray of int64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    """
    mean_of_lists(lists.pointer, lists.topics, lists.counts, n_k, beta, lists.values)


@parallel
def mean_of_lists(
    pointer: IntArray, topics: UInt16Array, counts: Int32Array, n_k: IntArray, beta: FloatArray, values: Float32Array
) -> None:
    """See `set_listed_mean`."""
    scale = 1.0 / (n_k + listed_mass(beta, pointer, topics, n_k.size))
    for word in numba.prange(beta.size):
        for place in range(pointer[word], pointer[word + 1]):
            values[place] = (counts[place] + beta[word]) * scale[topics[place]]
