"""The mass that each topic has in each block of words: its distribution given z, and a draw from it."""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import FloatArray, Int16Array, Int32Array, IntArray, UInt32Array, UnsignedArray
from ppl_topics._util.compiled import compiled, parallel
from ppl_topics._util.tasks import for_each
from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.dirichlet import dirichlet
from ppl_topics.samplers.variates.streams import new_stream, start

__all__ = ["count_blocks", "draw_masses", "sum_by_block", "sum_rows"]

CELLS_WORTH_SHARING = 100_000
"""Counts by word that take longer to add up than threads to start."""


def sum_by_block(word_block: Int16Array, beta: FloatArray, n_blocks: int) -> FloatArray:
    """Return the sum of beta over the words of each block, shape (B,)."""
    return np.bincount(word_block + 1, weights=beta, minlength=n_blocks + 1)[1:].astype(np.float64)


@parallel
def count_blocks(
    chunk_ptr: IntArray,
    doc_ptr: IntArray,
    words: UInt32Array,
    z: UnsignedArray,
    word_block: Int16Array,
    n_bk: IntArray,
) -> None:
    """Count the topics of the tokens of each word block into n_bk, shape (B, K), in parallel over documents."""
    n_blocks, n_topics = n_bk.shape
    n_tasks = min(n_blocks, chunk_ptr.size - 1)
    partial = np.zeros((n_tasks, n_blocks, n_topics), dtype=np.int64)
    for task in numba.prange(n_tasks):
        first = chunk_ptr[(chunk_ptr.size - 1) * task // n_tasks]
        last = chunk_ptr[(chunk_ptr.size - 1) * (task + 1) // n_tasks]
        for token in range(doc_ptr[first], doc_ptr[last]):
            block = word_block[words[token]]
            if block >= 0:
                partial[task, block, z[token]] += 1
    for block in range(n_blocks):
        for topic in range(n_topics):
            n_bk[block, topic] = 0
            for task in range(n_tasks):
                n_bk[block, topic] += partial[task, block, topic]


def sum_rows(n_wk: Int32Array, word_block: Int16Array, n_bk: IntArray) -> None:
    """Add up the counts of the words of each block into n_bk, shape (B, K), in parallel over words."""
    n_tasks = len(n_bk) if n_wk.size > CELLS_WORTH_SHARING else 1
    partial = np.zeros((n_tasks, *n_bk.shape), np.int64)
    if n_tasks > 1:
        for_each(sum_some_rows, n_tasks, n_wk, word_block, partial)
    else:
        sum_some_rows(0, n_wk, word_block, partial)
    partial.sum(axis=0, out=n_bk)


@compiled
def sum_some_rows(task: int, n_wk: Int32Array, word_block: Int16Array, partial: IntArray) -> None:
    """Add up the counts of the words of a task."""
    n_words, n_tasks = len(n_wk), len(partial)
    for word in range(n_words * task // n_tasks, n_words * (task + 1) // n_tasks):
        block = word_block[word]
        if block >= 0:
            for topic in range(n_wk.shape[1]):
                partial[task, block, topic] += n_wk[word, topic]


@compiled
def draw_masses(n_bk: IntArray, beta_sum: FloatArray, key: Key) -> FloatArray:
    """Draw each topic's mass in the B blocks given z, shape (B, K): Dirichlet(n_bk + sum of beta), by aggregation.

    The streams of the first B * B units are those of the tiles; topic k has the unit B * B + k.
    """
    n_blocks, n_topics = n_bk.shape
    mass = np.empty((n_blocks, n_topics))
    stream, column = new_stream(), np.empty(n_blocks)
    for topic in range(n_topics):
        start(stream, key, n_blocks * n_blocks + topic)
        for block in range(n_blocks):
            column[block] = n_bk[block, topic] + beta_sum[block]
        dirichlet(stream, column, column)
        for block in range(n_blocks):
            mass[block, topic] = column[block]
    return mass
