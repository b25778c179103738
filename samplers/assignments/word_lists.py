"""The topics of each word as short lists, beside the matrix of their counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import Int32Array, IntArray, UInt16Array
from ppl_topics._util.compiled import compiled, inlined, parallel
from ppl_topics.samplers.variates.simd import LANES
from ppl_topics.samplers.variates.simd_categorical import Integer

__all__ = ["DENSE", "WordLists", "add_topic", "fill_lists", "new_lists", "pack_lists", "remove_topic", "unpack_lists"]

DENSE = -1
CHUNKS = 64


class WordLists(NamedTuple):
    """A list of topics and counts for each word.

    Attributes
    ----------
    ptr : ndarray of int64 of shape (V + 1,)
        The list of word w may use the entries from ``ptr[w]`` to ``ptr[w + 1] - 1``.
    sizes : ndarray of int32 of shape (V,)
        Number of entries in use; -1 for a word with more topics than its list can hold.
    topics : ndarray of uint16
    counts : ndarray of int32
        Both eight entries longer than the lists, since they are read eight at a time.
    """

    ptr: IntArray
    sizes: Int32Array
    topics: UInt16Array
    counts: Int32Array


def new_lists(word_counts: IntArray, most: int) -> WordLists:
    """Allocate lists of at most `most` topics each, or the number of the word's tokens if that is smaller."""
    ptr = np.zeros(len(word_counts) + 1, dtype=np.int64)
    np.cumsum(np.minimum(word_counts, most), out=ptr[1:])
    size = int(ptr[-1]) + LANES
    return WordLists(ptr, np.zeros(len(word_counts), np.int32), np.zeros(size, np.uint16), np.zeros(size, np.int32))


@parallel
def fill_lists(n_wk: Int32Array, lists: WordLists) -> None:
    """Write the lists from the counts, of shape (V, K), in parallel over words."""
    n_words = n_wk.shape[0]
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            fill_list(word, n_wk, lists)


@compiled
def fill_list(word: int, n_wk: Int32Array, lists: WordLists) -> None:
    """Write the list of one word."""
    begin, most = lists.ptr[word], lists.ptr[word + 1] - lists.ptr[word]
    size = 0
    if most > 0:
        for topic in range(n_wk.shape[1]):
            count = n_wk[word, topic]
            if count > 0:
                if size == most:
                    size = DENSE
                    break
                lists.topics[begin + size] = topic
                lists.counts[begin + size] = count
                size += 1
    lists.sizes[word] = size


@compiled
def pack_lists(words: IntArray, lists: WordLists) -> tuple[Int32Array, UInt16Array]:
    """Return the sizes of the lists of some words, and their topics, one list after another."""
    sizes = lists.sizes[words]
    topics = np.empty(np.maximum(sizes, 0).sum(), dtype=np.uint16)
    at = 0
    for word in words:
        for slot in range(lists.ptr[word], lists.ptr[word] + lists.sizes[word]):
            topics[at] = lists.topics[slot]
            at += 1
    return sizes, topics


@compiled
def unpack_lists(words: IntArray, sizes: Int32Array, topics: UInt16Array, n_wk: Int32Array, lists: WordLists) -> None:
    """Write the lists of some words, with the counts that there are now."""
    at = 0
    for place in range(words.size):
        word = words[place]
        lists.sizes[word] = sizes[place]
        for slot in range(lists.ptr[word], lists.ptr[word] + sizes[place]):
            lists.topics[slot] = topics[at]
            lists.counts[slot] = n_wk[word, topics[at]]
            at += 1


@inlined
def remove_topic(word: Integer, topic: Integer, lists: WordLists) -> Any:
    """Remove a token of a word from a topic, and the topic from the list if it was the last; return the list's size."""
    size = np.int64(lists.sizes[word])
    if size != DENSE:
        slot = lists.ptr[word]
        while lists.topics[slot] != topic:
            slot += 1
        lists.counts[slot] -= 1
        if lists.counts[slot] == 0:
            size -= 1
            end = lists.ptr[word] + size
            lists.topics[slot] = lists.topics[end]
            lists.counts[slot] = lists.counts[end]
            lists.sizes[word] = size
    return size


@inlined
def add_topic(word: Integer, topic: Integer, lists: WordLists) -> None:
    """Add a token of a word to a topic, which is listed if it is new; a full list is abandoned."""
    begin, size = lists.ptr[word], np.int64(lists.sizes[word])
    slot, end = begin, begin + size
    while slot < end and lists.topics[slot] != topic:
        slot += 1
    if slot < end:
        lists.counts[slot] += 1
    elif slot < lists.ptr[word + 1]:
        lists.topics[slot] = topic
        lists.counts[slot] = 1
        lists.sizes[word] = size + 1
    else:
        lists.sizes[word] = DENSE
