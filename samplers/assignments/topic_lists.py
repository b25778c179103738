"""The topics of each word, or of each document, as a short list."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import Int32Array, IntArray, UInt16Array, UnsignedArray
from ppl_topics._util.compiled import compiled, inlined, parallel
from ppl_topics.samplers.variates.row_masks import positive_cells
from ppl_topics.samplers.variates.simd_categorical import Integer
from ppl_topics.samplers.variates.simd_masks import AT_ONCE, CELLS, find_number, lowest_bit

__all__ = [
    "NO_SLOT",
    "TopicLists",
    "add_topic",
    "list_topics_of_documents",
    "list_topics_of_words",
    "new_lists",
    "pack_lists",
    "remove_topic",
    "unpack_lists",
]

CHUNKS = 64
NO_SLOT = np.int64(-1)
ZERO, ONE = np.uint64(0), np.uint64(1)


class TopicLists(NamedTuple):
    """A list of topics and counts for each word, or each document.

    Attributes
    ----------
    ptr : ndarray of int64 of shape (R + 1,)
        List r may use the entries from ``ptr[r]`` to ``ptr[r + 1] - 1``; it has none if r is not listed.
    sizes : ndarray of int32 of shape (R,)
        Number of entries in use.
    topics : ndarray of uint16
    counts : ndarray of int32
        Both longer than the lists, since many entries are read at once.
    """

    ptr: IntArray
    sizes: Int32Array
    topics: UInt16Array
    counts: Int32Array


def new_lists(lengths: IntArray, n_topics: int) -> TopicLists:
    """Allocate lists for words or documents of some numbers of tokens, which have no more topics than that."""
    ptr = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.minimum(lengths, n_topics), out=ptr[1:])
    size = int(ptr[-1]) + AT_ONCE
    return TopicLists(ptr, np.zeros(len(lengths), np.int32), np.zeros(size, np.uint16), np.zeros(size, np.int32))


@parallel
def list_topics_of_words(n_wk: Int32Array, lists: TopicLists) -> None:
    """Write the lists of words from the counts, of shape (V, K), in parallel."""
    n_words = n_wk.shape[0]
    for chunk in numba.prange(CHUNKS):
        for word in range(n_words * chunk // CHUNKS, n_words * (chunk + 1) // CHUNKS):
            if lists.ptr[word] < lists.ptr[word + 1]:
                list_row(word, n_wk, lists)


@compiled
def list_row(word: int, n_wk: Int32Array, lists: TopicLists) -> None:
    """Write the list of one word."""
    begin = end = lists.ptr[word]
    for first in range(0, n_wk.shape[1], CELLS):
        positive = positive_cells(n_wk, word, first, min(first + CELLS, n_wk.shape[1]))
        while positive != ZERO:
            topic = first + lowest_bit(positive)
            positive &= positive - ONE
            lists.topics[end] = topic
            lists.counts[end] = n_wk[word, topic]
            end += 1
    lists.sizes[word] = end - begin


@parallel
def list_topics_of_documents(
    chunk_ptr: IntArray, doc_ptr: IntArray, z: UnsignedArray, n_topics: int, lists: TopicLists
) -> None:
    """Write the lists of documents from the topics of their tokens, in the order of these, in parallel."""
    for chunk in numba.prange(chunk_ptr.size - 1):
        list_chunk(chunk_ptr[chunk], chunk_ptr[chunk + 1], doc_ptr, z, n_topics, lists)


@compiled
def list_chunk(first: int, last: int, doc_ptr: IntArray, z: UnsignedArray, n_topics: int, lists: TopicLists) -> None:
    """Write the lists of some documents."""
    slots = np.full(n_topics, -1)
    for doc in range(first, last):
        begin = end = lists.ptr[doc]
        for token in range(doc_ptr[doc], doc_ptr[doc + 1]):
            topic = z[token]
            if slots[topic] < 0:
                slots[topic] = end
                lists.topics[end] = topic
                lists.counts[end] = 0
                end += 1
            lists.counts[slots[topic]] += 1
        lists.sizes[doc] = end - begin
        for slot in range(begin, end):
            slots[lists.topics[slot]] = -1


@compiled
def pack_lists(words: IntArray, lists: TopicLists) -> tuple[Int32Array, UInt16Array]:
    """Return the sizes of the lists of some words, and their topics, one list after another."""
    sizes = lists.sizes[words]
    topics = np.empty(sizes.sum(), dtype=np.uint16)
    at = 0
    for word in words:
        for slot in range(lists.ptr[word], lists.ptr[word] + lists.sizes[word]):
            topics[at] = lists.topics[slot]
            at += 1
    return sizes, topics


@compiled
def unpack_lists(words: IntArray, sizes: Int32Array, topics: UInt16Array, n_wk: Int32Array, lists: TopicLists) -> None:
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
def remove_topic(row: Integer, topic: Integer, lists: TopicLists) -> None:
    """Remove a token of a word or document from a topic, and the topic from the list if that was the last."""
    begin, size = lists.ptr[row], np.int64(lists.sizes[row])
    slot, last = find_number(lists.topics, begin, begin + size, topic), begin + size - 1
    lists.counts[slot] -= 1
    if lists.counts[slot] == 0:
        lists.topics[slot] = lists.topics[last]
        lists.counts[slot] = lists.counts[last]
        lists.sizes[row] = size - 1


@inlined
def add_topic(row: Integer, topic: Integer, slot: Integer, lists: TopicLists) -> None:
    """Add a token of a word or document to a topic, which is listed if it is new; its slot is -1 if not known."""
    if slot < 0:
        begin, size = lists.ptr[row], np.int64(lists.sizes[row])
        slot = find_number(lists.topics, begin, begin + size, topic)
        if slot == begin + size:
            lists.topics[slot] = topic
            lists.counts[slot] = 0
            lists.sizes[row] = size + 1
    lists.counts[slot] += 1
