"""The running mean of the expected topics."""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from ppl_topics.samplers.compiled import parallel

__all__ = ["update_mean_included_phi", "update_mean_phi"]


@parallel
def update_mean_phi(
    n_wk: npt.NDArray[np.int32],
    n_k: npt.NDArray[np.int64],
    beta: npt.NDArray[np.float64],
    weight: float,
    mean: npt.NDArray[np.float32],
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
    n_wk: npt.NDArray[np.int32],
    n_k: npt.NDArray[np.int64],
    beta: npt.NDArray[np.float64],
    included: npt.NDArray[np.uint8],
    mass: npt.NDArray[np.float64],
    weight: float,
    mean: npt.NDArray[np.float32],
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
