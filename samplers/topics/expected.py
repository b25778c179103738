"""The running mean of the expected topics."""

from __future__ import annotations

import numba
import numpy as np

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray, UInt8Array, UInt16Array
from ppl_topics._util.compiled import parallel
from ppl_topics.samplers.topics.listing import listed_mass

__all__ = ["add_expected_listed", "update_mean_included_phi", "update_mean_phi"]


@parallel
def update_mean_phi(
    n_wk: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    weight: float,
    mean: Float32Array,
) -> None:
    """Move a running mean towards E[phi | z] = (n_wk + beta) / (n_k + sum of beta).

    The mean of these expectations has the same limit as the mean of drawn topics, and less noise.

    Parameters
    ----------
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    weight : float
        1 / n for the n-th draw.
    mean : ndarray of float32 of shape (V, K)
        Updated in place.
    """
    scale = 1.0 / (n_k + beta.sum())
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
    """Move a running mean towards E[phi | z, I] = I (n_wk + beta) / (n_k + sum of beta over the included words).

    Parameters
    ----------
    n_wk : ndarray of int32 of shape (V, K)
    n_k : ndarray of int64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    included : ndarray of uint8 of shape (V, K)
        I: 1 where a topic includes a word.
    mass : ndarray of float64 of shape (K,)
        Sum of beta over the words that each topic includes.
    weight : float
        1 / n for the n-th draw.
    mean : ndarray of float32 of shape (V, K)
        Updated in place.
    """
    scale = 1.0 / (n_k + mass)
    for word in numba.prange(n_wk.shape[0]):
        for topic in range(n_wk.shape[1]):
            expected = included[word, topic] * (n_wk[word, topic] + beta[word]) * scale[topic]
            mean[word, topic] += weight * (expected - mean[word, topic])


def add_expected_listed(
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    weight: float,
    mean_pointer: IntArray,
    mean_topics: UInt16Array,
    mean_values: FloatArray,
) -> tuple[IntArray, UInt16Array, FloatArray]:
    """Move the mean of topics that are held as lists towards E[phi | z, I], in the cells that have tokens.

    Parameters
    ----------
    pointer, topics, counts : ndarray
        Of the lists; see `ppl_topics.core.sparse_topics.TopicLists`.
    n_k : ndarray of int64 of shape (K,)
    beta : ndarray of float64 of shape (V,)
    weight : float
        1 / n for the n-th draw.
    mean_pointer, mean_topics, mean_values : ndarray
        The mean so far, as lists of the cells that had tokens in a draw before.

    Returns
    -------
    pointer, topics, values : ndarray
        The mean, as lists of the cells that had tokens in a draw so far.
    """
    sizes = np.zeros(len(beta) + 1, np.int64)
    measure_union(pointer, topics, counts, mean_pointer, mean_topics, sizes)
    union = np.cumsum(sizes)
    new_topics, values = np.empty(union[-1], np.uint16), np.empty(union[-1])
    merge_mean(
        pointer, topics, counts, n_k, beta, weight, mean_pointer, mean_topics, mean_values, union, new_topics, values
    )
    return union, new_topics, values


@parallel
def measure_union(
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    mean_pointer: IntArray,
    mean_topics: UInt16Array,
    sizes: IntArray,
) -> None:
    """Set the sizes of the lists of `add_expected_listed`, in parallel over words."""
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
    pointer: IntArray,
    topics: UInt16Array,
    counts: Int32Array,
    n_k: IntArray,
    beta: FloatArray,
    weight: float,
    mean_pointer: IntArray,
    mean_topics: UInt16Array,
    mean_values: FloatArray,
    union: IntArray,
    new_topics: UInt16Array,
    values: FloatArray,
) -> None:
    """Fill the lists that `measure_union` has measured; see `add_expected_listed`."""
    scale = 1.0 / (n_k + listed_mass(beta, pointer, topics, n_k.size))
    for word in numba.prange(pointer.size - 1):
        old, old_end = mean_pointer[word], mean_pointer[word + 1]
        new, new_end = pointer[word], pointer[word + 1]
        for place in range(union[word], union[word + 1]):
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
            new_topics[place], values[place] = topic, value
