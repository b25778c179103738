"""Indicators packed for the scan: those of eight topics in one byte, from dense arrays or sparse topics and back.

The scan goes through all words for every eight topics: from bytes that follow each other it takes about half the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import Int32Array, IntArray, UInt8Array
from ppl_topics._util.compiled import parallel
from ppl_topics.core.sparse_topics import SparseTopics

__all__ = ["BLOCK", "CHUNKS", "PackedIndicators", "pack", "pack_sparse", "unpack", "unpack_sparse"]

BLOCK = 8
"""Topics that are scanned side by side: a byte has eight bits, and a random word eight bytes."""

CHUNKS = 64
"""Pieces of the vocabulary that are counted in parallel."""


class PackedIndicators(NamedTuple):
    """A bit for each word and topic, eight topics to a byte.

    Attributes
    ----------
    occupied : ndarray of uint8, shape (blocks, V)
        Bit j of ``occupied[b, w]`` is 1 where word w has tokens in topic 8 b + j.
    included : ndarray of uint8, shape (blocks, V)
        1 there, and where the topic includes the word without tokens.
    """

    occupied: UInt8Array
    included: UInt8Array

    @classmethod
    def empty(cls, n_words: int, n_topics: int) -> PackedIndicators:
        """Return arrays to be filled."""
        shape = -(-n_topics // BLOCK), n_words
        return cls(np.empty(shape, np.uint8), np.empty(shape, np.uint8))


@parallel
def pack(n_wk: Int32Array, included: UInt8Array, packed: PackedIndicators) -> IntArray:
    """Pack dense indicators, in parallel over words; return how many words each topic includes."""
    occupied_bytes, included_bytes = packed.occupied, packed.included
    n_words, n_topics = n_wk.shape
    partial = np.zeros((CHUNKS, n_topics), np.int64)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for block in range(occupied_bytes.shape[0]):
                has, row = np.int64(0), np.int64(0)
                for topic in range(BLOCK * block, min(BLOCK * (block + 1), n_topics)):
                    tokens = np.int64(n_wk[word, topic] > 0)
                    now = tokens | np.int64(included[word, topic])
                    has |= tokens << (topic & (BLOCK - 1))
                    row |= now << (topic & (BLOCK - 1))
                    partial[chunk, topic] += now
                occupied_bytes[block, word], included_bytes[block, word] = has, row
    number: IntArray = partial.sum(axis=0)
    return number


@parallel
def unpack(packed: PackedIndicators, included: UInt8Array) -> None:
    """Write packed indicators to a dense array of shape (V, K), in parallel over words."""
    included_bytes = packed.included
    for word in numba.prange(included.shape[0]):
        for topic in range(included.shape[1]):
            included[word, topic] = (included_bytes[topic // BLOCK, word] >> (topic & (BLOCK - 1))) & 1


@parallel
def pack_sparse(sparse: SparseTopics, packed: PackedIndicators) -> IntArray:
    """Pack the indicators of sparse topics, in parallel over words; return how many words each topic includes."""
    pointer, topics, counts = sparse.pointer, sparse.topics, sparse.counts
    occupied_bytes, included_bytes = packed.occupied, packed.included
    n_words = pointer.size - 1
    partial = np.zeros((CHUNKS, sparse.n_topics), np.int64)
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            for block in range(included_bytes.shape[0]):
                occupied_bytes[block, word] = included_bytes[block, word] = 0
            for place in range(pointer[word], pointer[word + 1]):
                topic = np.int64(topics[place])
                bit = np.int64(1) << (topic & (BLOCK - 1))
                included_bytes[topic // BLOCK, word] |= bit
                if counts[place] > 0:
                    occupied_bytes[topic // BLOCK, word] |= bit
                partial[chunk, topic] += 1
    number: IntArray = partial.sum(axis=0)
    return number


def unpack_sparse(packed: PackedIndicators, before: SparseTopics) -> SparseTopics:
    """Return sparse topics with these indicators, and the counts and probabilities of the words that stay."""
    sizes = np.zeros(packed.included.shape[1], np.int64)
    count_bits(packed.included, sizes)
    sparse = SparseTopics.empty(sizes, before.n_topics)
    copy_included(packed.included, before, sparse)
    return sparse


@parallel
def count_bits(included: UInt8Array, sizes: IntArray) -> None:
    """Count the topics that include each word, in parallel over words."""
    for word in numba.prange(included.shape[1]):
        number = 0
        for block in range(included.shape[0]):
            bits = np.int64(included[block, word])
            while bits != 0:
                number += 1
                bits &= bits - 1
        sizes[word] = number


@parallel
def copy_included(included: UInt8Array, before: SparseTopics, after: SparseTopics) -> None:
    """Fill the sparse topics of `unpack_sparse`: the topics of a word ascend in both, so one walk finds those kept."""
    old_pointer, old_topics, old_counts, old_values = before.pointer, before.topics, before.counts, before.values
    pointer, topics, counts, values = after.pointer, after.topics, after.counts, after.values
    for word in numba.prange(included.shape[1]):
        old, end = old_pointer[word], old_pointer[word + 1]
        place = pointer[word]
        for block in range(included.shape[0]):
            bits = np.int64(included[block, word])
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
