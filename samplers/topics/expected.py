"""The running mean of the expected topics."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt8Array, UInt16Array
from ppl_topics._util.compiled import parallel
from ppl_topics.core.sparse_topics import SparseTopics
from ppl_topics.samplers.counts import add_in_order, inverse_sums
from ppl_topics.samplers.topics.sparse_counts import sparse_mass

__all__ = ["MeanCells", "add_expected_sparse", "update_mean_included_phi", "update_mean_phi"]


class MeanCells(NamedTuple):
    """The running mean of sparse topics in the cells that had tokens in any draw so far.

    Attributes
    ----------
    pointer : ndarray of int64, shape (V + 1,)
        Word w has the entries ``pointer[w]`` to ``pointer[w + 1] - 1``.
    topics : ndarray of uint16, shape (L,)
        Ascending for each word.
    values : ndarray of float64, shape (L,)
    """

    pointer: IntArray
    topics: UInt16Array
    values: FloatArray


@parallel
def update_mean_phi(n_wk: Int32Array, n_k: IntArray, beta: FloatArray, weight: float, mean: Float32Array) -> None:
    """Move a running mean, shape (V, K), towards E[phi | z] = (n_wk + beta) / (n_k + sum of beta).

    The weight is 1 / n for the n-th draw. The mean of these expectations has the same limit as the mean of drawn
    topics, and less noise.
    """
    scale = inverse_sums(n_k, np.full(n_k.size, add_in_order(beta)))
    for word in numba.prange(n_wk.shape[0]):
        for topic in range(n_wk.shape[1]):
            expected = (n_wk[word, topic] + beta[word]) * scale[topic]
            mean[word, topic] += weight * (expected - mean[word, topic])


@parallel
def update_mean_included_phi(
    n_wk: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    included: UInt8Array,
    mass: FloatArray,
    weight: float,
    mean: Float32Array,
) -> None:
    """Move a running mean towards E[phi | z, I] = I (n_wk + beta) / (n_k + mass), mass the sum of beta included."""
    scale = inverse_sums(n_k, mass)
    for word in numba.prange(n_wk.shape[0]):
        for topic in range(n_wk.shape[1]):
            expected = included[word, topic] * (n_wk[word, topic] + beta[word]) * scale[topic]
            mean[word, topic] += weight * (expected - mean[word, topic])


def add_expected_sparse(
    sparse: SparseTopics, n_k: IntArray, beta: FloatArray, weight: float, mean: MeanCells
) -> MeanCells:
    """Return the mean of sparse topics moved towards E[phi | z, I], in the cells that had tokens in a draw so far."""
    sizes = np.zeros(len(beta) + 1, np.int64)
    measure_union(sparse, mean, sizes)
    pointer = np.cumsum(sizes)
    union = MeanCells(pointer, np.empty(pointer[-1], np.uint16), np.empty(pointer[-1]))
    merge_mean(sparse, n_k, beta, weight, mean, union)
    return union


@parallel
def measure_union(sparse: SparseTopics, mean: MeanCells, sizes: IntArray) -> None:
    """Count the cells of each word that have tokens now or did before, in parallel over words."""
    pointer, topics, counts = sparse.pointer, sparse.topics, sparse.counts
    mean_pointer, mean_topics = mean.pointer, mean.topics
    for word in numba.prange(pointer.size - 1):
        place, end = mean_pointer[word], mean_pointer[word + 1]
        number = end - place
        for new in range(pointer[word], pointer[word + 1]):
            if counts[new] > 0:
                while place < end and mean_topics[place] < topics[new]:
                    place += 1
                number += not (place < end and mean_topics[place] == topics[new])
        sizes[word + 1] = number


@parallel
def merge_mean(
    sparse: SparseTopics, n_k: IntArray, beta: FloatArray, weight: float, mean: MeanCells, union: MeanCells
) -> None:
    """Fill the cells that `measure_union` has counted, in parallel over words."""
    pointer, topics, counts = sparse.pointer, sparse.topics, sparse.counts
    mean_pointer, mean_topics, mean_values = mean.pointer, mean.topics, mean.values
    union_pointer, union_topics, union_values = union.pointer, union.topics, union.values
    scale = inverse_sums(n_k, sparse_mass(beta, sparse))
    for word in numba.prange(pointer.size - 1):
        old, old_end = mean_pointer[word], mean_pointer[word + 1]
        new, new_end = pointer[word], pointer[word + 1]
        for place in range(union_pointer[word], union_pointer[word + 1]):
            while new < new_end and counts[new] == 0:
                new += 1
            from_old = old < old_end and (new == new_end or mean_topics[old] <= topics[new])
            from_new = new < new_end and (old == old_end or topics[new] <= mean_topics[old])
            topic = topics[new] if from_new else mean_topics[old]
            value = (1.0 - weight) * mean_values[old] if from_old else 0.0
            if from_new:
                value += weight * (counts[new] + beta[word]) * scale[topic]
            old += from_old
            new += from_new
            union_topics[place], union_values[place] = topic, value
