"""What the estimators of the likelihood of documents share: replicates, streams, and the draw of one topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import Float32Array, FloatArray, Int32Array, IntArray
from ppl_topics._util.compiled import compiled
from ppl_topics.samplers.assignments.given_phi import draw_in_log_space
from ppl_topics.samplers.variates.simd_categorical import SAFE_TOTAL, find_cell, running_sums_of_products
from ppl_topics.samplers.variates.streams import Stream, uniform

__all__ = [
    "CHUNKS",
    "REPLICATES",
    "draw_topic",
    "gather_factors",
    "total_of",
]

REPLICATES = 4
"""Independent estimates of the likelihood of each document; their spread gives the Monte Carlo error."""

CHUNKS = 256


@compiled
def gather_factors(distinct: IntArray, phi: Float32Array, factors: Float32Array, log_scale: npt.NDArray[Any]) -> None:
    """Copy the rows of phi that a document needs, each over its largest entry: they stay in the cache.

    Parameters
    ----------
    distinct : ndarray of int64 of shape (U,)
        Words.
    phi : ndarray of float32 of shape (V, K)
    factors : ndarray of float32 of shape (U, K)
        Overwritten.
    log_scale : ndarray of float64 of shape (U,)
        Overwritten with the logarithms of the largest entries.
    """
    for row in range(distinct.size):
        largest = np.float32(0.0)
        for topic in range(phi.shape[1]):
            largest = max(largest, phi[distinct[row], topic])
        log_scale[row] = np.log(np.float64(largest))
        for topic in range(phi.shape[1]):
            factors[row, topic] = phi[distinct[row], topic] / largest if largest > 0.0 else np.float32(0.0)


@compiled
def total_of(
    weight: Float32Array,
    factors: Float32Array,
    row: int,
    counts: Int32Array,
    alpha: FloatArray,
    sums: Float32Array,
) -> float:
    """Return the sum over topics of (counts_k + alpha_k) factors[row, k], in float64 where float32 would underflow."""
    total = float(running_sums_of_products(weight, factors, row, sums))
    if total < SAFE_TOTAL:
        total = 0.0
        for topic in range(alpha.size):
            total += (counts[topic] + alpha[topic]) * np.float64(factors[row, topic])
    return total


@compiled
def draw_topic(
    stream: Stream,
    weight: Float32Array,
    factors: Float32Array,
    row: int,
    counts: Int32Array,
    alpha: FloatArray,
    sums: Float32Array,
) -> int:
    """Draw a topic with probability proportional to (counts_k + alpha_k) factors[row, k].

    Parameters
    ----------
    stream : ndarray of uint64 of shape (15,)
    weight : ndarray of float32 of shape (K,)
        counts + alpha.
    factors : ndarray of float32 of shape (U, K)
    row : int
    counts : ndarray of int32 of shape (K,)
    alpha : ndarray of float64 of shape (K,)
    sums : ndarray of float32
        From `new_sums` for K cells; overwritten.
    """
    total = running_sums_of_products(weight, factors, row, sums)
    if total >= SAFE_TOTAL:
        return find_cell(sums, weight.size, uniform(stream) * total)  # type: ignore[no-any-return]
    return draw_in_log_space(stream, 0, row, counts, alpha, factors)
