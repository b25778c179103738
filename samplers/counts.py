"""Counts of topics by word, the index that they are counted from, and the chunks of parallel loops."""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel

__all__ = ["WORD_CHUNKS", "count_tokens", "count_words", "make_chunks", "point_to_words", "sort_by_word"]

WORD_CHUNKS = 64


@compiled
def make_chunks(pointer: IntArray, n_chunks: int) -> IntArray:
    """Cut documents (or words) into runs that hold similar numbers of tokens.

    Parameters
    ----------
    pointer : ndarray of int64 of shape (n + 1,)
        Where each document (or word) begins in its tokens, from 0 to N.
    n_chunks : int
        At least 1.

    Returns
    -------
    chunk_ptr : ndarray of int64 of shape (n_chunks + 1,)
        Chunk c holds documents ``chunk_ptr[c]`` to ``chunk_ptr[c + 1] - 1``; some chunks may be empty.
    """
    size = pointer.size - 1
    cost = pointer[size] + size
    chunk_ptr = np.empty(n_chunks + 1, dtype=np.int64)
    item = 0
    for chunk in range(n_chunks):
        while item < size and (pointer[item] + item) * n_chunks < cost * chunk:
            item += 1
        chunk_ptr[chunk] = item
    chunk_ptr[n_chunks] = size
    return chunk_ptr


@compiled
def point_to_words(words: UInt32Array, n_words: int) -> IntArray:
    """Return where each word begins in the tokens sorted by word.

    Parameters
    ----------
    words : ndarray of uint32 of shape (N,)
    n_words : int
        V, the size of the vocabulary.

    Returns
    -------
    word_ptr : ndarray of int64 of shape (V + 1,)
        Word w has the places from ``word_ptr[w]`` to ``word_ptr[w + 1]``.
    """
    word_ptr = np.zeros(n_words + 1, dtype=np.int64)
    for word in words:
        word_ptr[np.int64(word) + 1] += 1
    for word_id in range(n_words):
        word_ptr[word_id + 1] += word_ptr[word_id]
    return word_ptr


@compiled
def sort_by_word(words: UInt32Array, word_ptr: IntArray) -> UInt32Array:
    """Sort the tokens by word, keeping document order within a word.

    Parameters
    ----------
    words : ndarray of uint32 of shape (N,)
    word_ptr : ndarray of int64 of shape (V + 1,)
        From `point_to_words`.

    Returns
    -------
    by_word : ndarray of uint32 of shape (N,)
        Tokens ``by_word[word_ptr[w]:word_ptr[w + 1]]`` have the word w.
    """
    place = word_ptr[:-1].copy()
    by_word = np.empty(words.size, dtype=np.uint32)
    for token in range(words.size):
        word = words[token]
        by_word[place[word]] = token
        place[word] += 1
    return by_word


@compiled
def count_tokens(words: UInt32Array, z: UnsignedArray, n_wk: Int32Array, n_k: IntArray) -> None:
    """Count the topics of the tokens of each word, one token after another: without an index, as for a first state.

    Parameters
    ----------
    words : ndarray of uint32 of shape (N,)
    z : ndarray of uint8 or uint16 of shape (N,)
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
        Overwritten.
    """
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
    """Count the topics of the tokens of each word, in parallel over words.

    Parameters
    ----------
    z : ndarray of uint8 or uint16 of shape (N,)
    word_ptr : ndarray of int64 of shape (V + 1,)
    by_word : ndarray of uint32 of shape (N,)
        The index from `point_to_words` and `sort_by_word`.
    n_wk : ndarray of int32 of shape (V, K)
        Overwritten.
    n_k : ndarray of int64 of shape (K,)
        Overwritten.
    """
    n_topics = n_k.size
    chunk_ptr = make_chunks(word_ptr, WORD_CHUNKS)
    partial = np.zeros((WORD_CHUNKS, n_topics), dtype=np.int64)
    for chunk in numba.prange(WORD_CHUNKS):
        for word in range(chunk_ptr[chunk], chunk_ptr[chunk + 1]):
            for topic in range(n_topics):
                n_wk[word, topic] = 0
            for place in range(word_ptr[word], word_ptr[word + 1]):
                topic_of_token = z[by_word[place]]
                n_wk[word, topic_of_token] += 1
                partial[chunk, topic_of_token] += 1
    for topic in range(n_topics):
        n_k[topic] = 0
        for chunk in range(WORD_CHUNKS):
            n_k[topic] += partial[chunk, topic]
