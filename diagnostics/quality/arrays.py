"""Topics as arrays: checks, and their most probable words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppl_topics.errors import PplTopicsError

__all__ = ["as_topics", "best_words"]


def as_topics(phi: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return topics as float64, each row divided by its sum.

    Parameters
    ----------
    phi : array_like, shape (K, V)

    Raises
    ------
    PplTopicsError
        If it has no such shape, a probability is negative or not finite, or a row has none.
    """
    array = np.array(phi, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise PplTopicsError(f"phi: must have the shape (topics, words), one of each at least, got {array.shape}")
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise PplTopicsError("phi: holds a probability that is negative or not finite")
    totals = array.sum(axis=1)
    if (totals == 0.0).any():
        raise PplTopicsError(f"phi: topic {int(np.argmin(totals))} has no word with a probability above 0")
    array /= totals[:, None]
    return array


def best_words(weights: npt.ArrayLike, n_words: int) -> npt.NDArray[np.int64]:
    """Return the words of the largest weights of each row, the largest first, ties by their number.

    Parameters
    ----------
    weights : array_like, shape (K, V)
    n_words : int

    Returns
    -------
    ndarray of int64, shape (K, min(n_words, V))
        -1 in place of words whose weight is not above 0, at the end of a row.
    """
    array = np.asarray(weights)
    number = min(n_words, array.shape[1])
    best = np.full((len(array), number), -1, dtype=np.int64)
    for row, chosen in zip(array, best, strict=True):
        # Sorting only what can be among them: a vocabulary is long.
        least = np.partition(row, len(row) - number)[len(row) - number]
        candidates = np.flatnonzero((row >= least) & (row > 0))
        candidates = candidates[np.argsort(-row[candidates], kind="stable")][:number]
        chosen[: len(candidates)] = candidates
    return best
