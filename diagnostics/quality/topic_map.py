"""Distances between topics, and a map of topics in two dimensions.

References
----------
J. Lin (1991). Divergence measures based on the Shannon entropy. IEEE Transactions on Information Theory 37(1).
W. S. Torgerson (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17(4).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import prange

from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.compiled import parallel
from ppl_topics.diagnostics.quality.topic_set import as_topics

__all__ = ["jensen_shannon", "topic_map"]


def jensen_shannon(phi: npt.ArrayLike) -> FloatArray:
    """Return the Jensen-Shannon distance between topics, the root of H((p + q) / 2) - (H(p) + H(q)) / 2 in bits.

    Parameters
    ----------
    phi : array_like, shape (K, V)
        Topics.

    Returns
    -------
    ndarray of float64, shape (K, K)
        A metric from 0 to 1; 1 if two topics share no word.

    Raises
    ------
    PplTopicsError
        If phi holds no topics.
    """
    topics = as_topics(phi)
    result = np.zeros((len(topics), len(topics)))
    _fill_divergences(topics, result)
    return np.sqrt(np.clip(result + result.T, 0.0, 1.0))


@parallel
def _fill_divergences(topics: FloatArray, result: FloatArray) -> None:
    """Fill the triangle below the diagonal with divergences in bits."""
    n_topics, n_words = topics.shape
    negative = np.empty(n_topics)
    for i in prange(n_topics):
        total = 0.0
        for word in range(n_words):
            p = topics[i, word]
            if p > 0.0:
                total += p * math.log2(p)
        negative[i] = total
    pairs = n_topics * (n_topics - 1) // 2
    for pair in prange(pairs):
        # The row i that pair i (i - 1) / 2 + j belongs to, corrected for the rounding of the root.
        i = int((1.0 + math.sqrt(1.0 + 8.0 * pair)) / 2.0)
        if i * (i - 1) // 2 > pair:
            i -= 1
        elif i * (i + 1) // 2 <= pair:
            i += 1
        j = pair - i * (i - 1) // 2
        total = 0.0
        for word in range(n_words):
            middle = 0.5 * (topics[i, word] + topics[j, word])
            if middle > 0.0:
                total += middle * math.log2(middle)
        result[i, j] = 0.5 * (negative[i] + negative[j]) - total


def topic_map(phi: npt.ArrayLike) -> FloatArray:
    """Return a position in the plane for each topic, with similar topics close together.

    This is classical multidimensional scaling (Torgerson 1952) of the Jensen-Shannon distances: the two axes along
    which topics at these distances vary most.

    Parameters
    ----------
    phi : array_like, shape (K, V)
        Topics.

    Returns
    -------
    ndarray of float64, shape (K, 2)
        Centred on 0, in the order of the topics; the first column has the larger spread. On each axis, the topic
        farthest from 0 (the first of equals) has a positive coordinate. One topic is at 0, and two are on the first
        axis.

    Raises
    ------
    PplTopicsError
        If phi holds no topics.
    """
    squared = jensen_shannon(phi) ** 2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    places = np.zeros((len(squared), 2))
    for axis in range(min(2, len(squared))):
        # Without any spread, rounding leaves a tiny value.
        spread = values[-1 - axis]
        if spread <= 1e-12:
            break
        coordinates = vectors[:, -1 - axis] * math.sqrt(spread)
        sizes = np.abs(coordinates)
        # Sizes may be equal up to rounding: the first one decides.
        farthest = int(np.flatnonzero(sizes >= sizes.max() * (1.0 - 1e-9))[0])
        places[:, axis] = coordinates * np.sign(coordinates[farthest])
    return places
