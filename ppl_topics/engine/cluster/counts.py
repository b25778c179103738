"""Counts of words in topics as bytes, as members of a cluster send them to each other.

A word's topics follow each other as two numbers each, how far it is from the topic before and the count, and end with a
zero. Numbers have seven bits a byte: most take one byte, and most counts are zeros, which take none.
"""

from __future__ import annotations

import numpy as np

from ppl_topics._util.arrays import Int32Array, IntArray, UInt8Array
from ppl_topics._util.compiled import inlined, tight
from ppl_topics.samplers.variates.row_masks import positive_cells
from ppl_topics.samplers.variates.simd_masks import CELLS, lowest_bit

__all__ = ["add", "add_rows", "encode", "encode_rows", "set_rows"]

ZERO, ONE = np.uint64(0), np.uint64(1)
LONGEST = 10
"""Bytes of two numbers below 2^32."""


def encode(n_wk: Int32Array) -> UInt8Array:
    """Return counts, of shape (words, topics) and none negative, as bytes."""
    return encode_rows(n_wk, np.arange(n_wk.shape[0]), int(np.count_nonzero(n_wk)))


def encode_rows(n_wk: Int32Array, words: IntArray, most: int, totals: IntArray | None = None) -> UInt8Array:
    """Return the counts of some words as bytes; `most` bounds how many are not zero, `totals` get their sums."""
    data = np.empty(len(words) + LONGEST * most, dtype=np.uint8)
    return data[: _encode(n_wk, words, data, np.zeros(len(words), np.int64) if totals is None else totals)].copy()


@tight
def _encode(n_wk: Int32Array, words: IntArray, data: UInt8Array, totals: IntArray) -> int:
    """Write the counts of some words as bytes, and their sums; return the number of bytes."""
    topics = n_wk.shape[1]
    at = 0
    for place in range(words.size):
        word, before, total = words[place], -1, 0
        for first in range(0, topics, CELLS):
            positive = positive_cells(n_wk, word, first, min(first + CELLS, topics))
            while positive != ZERO:
                topic = first + lowest_bit(positive)
                at = _write(data, _write(data, at, topic - before), n_wk[word, topic])
                total += n_wk[word, topic]
                before = topic
                positive &= positive - ONE
        data[at] = 0
        at += 1
        totals[place] = total
    return at


@tight
def add(data: UInt8Array, n_wk: Int32Array, n_k: IntArray, totals: IntArray) -> None:
    """Add counts that come as bytes to others of the same words, and to their sums over words and over topics."""
    at = 0
    for word in range(n_wk.shape[0]):
        topic = -1
        while True:
            gap, at = _read(data, at)
            if gap == 0:
                break
            topic += gap
            count, at = _read(data, at)
            n_wk[word, topic] += count
            n_k[topic] += count
            totals[word] += count


@tight
def set_rows(data: UInt8Array, words: IntArray, n_wk: Int32Array, n_k: IntArray, totals: IntArray) -> int:
    """Set the counts of some words, and add them to the sums over words; return one without its total, or -1."""
    at, wrong = 0, -1
    for word in words:
        n_wk[word] = 0
        topic, total = -1, 0
        while True:
            gap, at = _read(data, at)
            if gap == 0:
                break
            topic += gap
            count, at = _read(data, at)
            n_wk[word, topic] = count
            n_k[topic] += count
            total += count
        if total != totals[word]:
            wrong = word
    return wrong


@tight
def add_rows(n_wk: Int32Array, n_k: IntArray) -> None:
    """Set the sums of counts over words."""
    n_k[:] = 0
    for word in range(n_wk.shape[0]):
        for topic in range(n_wk.shape[1]):
            n_k[topic] += n_wk[word, topic]


@inlined
def _write(data: UInt8Array, at: int, number: int) -> int:
    """Write a number at a place; return the place after it."""
    while number > 127:
        data[at] = (number & 127) | 128
        number >>= 7
        at += 1
    data[at] = number
    return at + 1


@inlined
def _read(data: UInt8Array, at: int) -> tuple[int, int]:
    """Return the number at a place, and the place after it."""
    number, shift = 0, 0
    while data[at] > 127:
        number |= (int(data[at]) & 127) << shift
        shift += 7
        at += 1
    return number | int(data[at]) << shift, at + 1
