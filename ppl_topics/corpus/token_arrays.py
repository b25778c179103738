"""Operations on tokens in CSR form, half a million tokens at a time to keep temporary arrays small.

Everywhere `doc_ptr` is an int64 array of shape (D + 1,) and `words` a uint32 array of shape (N,); the tokens
of document d are ``words[doc_ptr[d]:doc_ptr[d + 1]]``, sorted by word id.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppl_topics._util.arrays import IntArray, UInt32Array, UInt64Array

__all__ = [
    "MAX_OCCURRENCES",
    "count_documents",
    "count_words",
    "document_chunks",
    "gather",
    "remap",
    "run_lengths",
    "sort_within_documents",
]


CHUNK = 1 << 19
"""Number of tokens processed at once."""

MAX_OCCURRENCES = 2**31 - 1
"""Of a word: samplers count in 32 bits."""


def document_chunks(doc_ptr: IntArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents that have at most `CHUNK` tokens, or a single document."""
    start, n_docs = 0, len(doc_ptr) - 1
    while start < n_docs:
        stop = int(np.searchsorted(doc_ptr, doc_ptr[start] + CHUNK, side="right")) - 1
        stop = min(max(stop, start + 1), n_docs)
        yield start, stop
        start = stop


def _token_chunks(n_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most `CHUNK` tokens, wherever documents end."""
    for start in range(0, n_tokens, CHUNK):
        yield start, min(start + CHUNK, n_tokens)


def _keys(doc_ptr: IntArray, words: UInt32Array, start: int, stop: int) -> UInt64Array:
    """Return (document - start) * 2^32 + word for the tokens of documents start..stop-1."""
    documents = np.repeat(np.arange(stop - start, dtype=np.uint64), np.diff(doc_ptr[start : stop + 1]))
    documents <<= np.uint64(32)
    documents |= words[doc_ptr[start] : doc_ptr[stop]]
    return documents


def sort_within_documents(doc_ptr: IntArray, words: UInt32Array) -> None:
    """Sort the tokens of each document by word id, in place."""
    for start, stop in document_chunks(doc_ptr):
        if stop == start + 1:  # one document, perhaps a very long one
            words[doc_ptr[start] : doc_ptr[stop]].sort()
            continue
        keys = _keys(doc_ptr, words, start, stop)
        if np.any(keys[1:] < keys[:-1]):
            keys.sort()
            words[doc_ptr[start] : doc_ptr[stop]] = keys & np.uint64(0xFFFFFFFF)


def count_words(words: UInt32Array, n_words: int) -> IntArray:
    """Return how often each word occurs, shape (n_words,)."""
    counts = np.zeros(n_words, dtype=np.int64)
    for start, stop in _token_chunks(len(words)):
        counts += np.bincount(words[start:stop], minlength=n_words)
    return counts


def count_documents(doc_ptr: IntArray, words: UInt32Array, n_words: int) -> IntArray:
    """Return in how many documents each word occurs, shape (n_words,)."""
    counts = np.zeros(n_words, dtype=np.int64)
    for start, stop in _token_chunks(len(words)):
        part = words[start:stop]
        first = np.empty(stop - start, dtype=bool)
        first[0] = start == 0 or part[0] != words[start - 1]
        np.not_equal(part[1:], part[:-1], out=first[1:])
        # The first token of a document counts, even if the previous document ended with the same word.
        begin, end = np.searchsorted(doc_ptr, [start, stop])
        first[doc_ptr[begin:end] - start] = True
        counts += np.bincount(part[first], minlength=n_words)
    return counts


def run_lengths(doc_ptr: IntArray, words: UInt32Array) -> tuple[IntArray, UInt32Array, IntArray]:
    """Return the word counts of each document in CSR form: indptr, word ids and counts."""
    first = np.ones(len(words), dtype=bool)
    np.not_equal(words[1:], words[:-1], out=first[1:])
    first[doc_ptr[:-1][np.diff(doc_ptr) > 0]] = True
    begin = np.flatnonzero(first)
    indptr = np.searchsorted(begin, doc_ptr).astype(np.int64)
    return indptr, words[begin], np.diff(begin, append=len(words)).astype(np.int64)


def gather(doc_ptr: IntArray, words: UInt32Array, index: IntArray) -> tuple[IntArray, UInt32Array]:
    """Copy the documents at `index`, in that order, into a new (doc_ptr, words)."""
    lengths = np.diff(doc_ptr)[index]
    new_ptr = np.zeros(len(index) + 1, dtype=np.int64)
    np.cumsum(lengths, out=new_ptr[1:])
    new_words = np.empty(int(new_ptr[-1]), dtype=np.uint32)
    for start, stop in document_chunks(new_ptr):
        a, b = new_ptr[start], new_ptr[stop]
        if stop == start + 1:  # one document, perhaps a very long one
            begin = doc_ptr[index[start]]
            new_words[a:b] = words[begin : begin + b - a]
            continue
        shift = np.repeat(doc_ptr[index[start:stop]] - new_ptr[start:stop], lengths[start:stop])
        new_words[a:b] = words[shift + np.arange(a, b)]
    return new_ptr, new_words


def remap(doc_ptr: IntArray, words: UInt32Array, mapping: IntArray) -> IntArray:
    """Give words new ids, or -1 to drop them, in place; return the new `doc_ptr`.

    Only the first ``doc_ptr[-1]`` entries of `words` are valid afterwards.
    """
    new_ptr = np.zeros_like(doc_ptr)
    filled = 0
    for start, stop in _token_chunks(len(words)):
        new = mapping[words[start:stop]]
        keep = new >= 0
        before = np.concatenate([[0], np.cumsum(keep)])
        begin, end = np.searchsorted(doc_ptr, [start, stop], side="right")
        new_ptr[begin:end] = filled + before[doc_ptr[begin:end] - start]
        kept = int(before[-1])
        words[filled : filled + kept] = new[keep]
        filled += kept
    kept_ids = mapping[mapping >= 0]
    if np.any(kept_ids[1:] < kept_ids[:-1]):
        sort_within_documents(new_ptr, words)
    return new_ptr
