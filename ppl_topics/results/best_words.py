"""The words of the largest weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import IntArray

__all__ = ["best_words"]


def best_words(weights: npt.ArrayLike, n_words: int, *, zeros: bool = False) -> IntArray:
    """Return the positions of the largest weights of each row, largest first; ties are ordered by position.

    For weights of shape (..., V), the result has shape (..., min(n_words, V)). Without ``zeros``, -1 at the end of a
    row stands for weights that are not above 0.
    """
    array = np.asarray(weights)
    rows = array.reshape(-1, array.shape[-1])
    number = min(n_words, array.shape[-1])
    best = np.full((len(rows), number), -1, dtype=np.int64)
    for row, chosen in zip(rows, best, strict=True):
        # Sort only the candidates, since the vocabulary may be large.
        least = np.partition(row, len(row) - number)[len(row) - number]
        possible = row >= least
        candidates = np.flatnonzero(possible if zeros else possible & (row > 0))
        candidates = candidates[np.argsort(-row[candidates], kind="stable")][:number]
        chosen[: len(candidates)] = candidates
    return best.reshape(*array.shape[:-1], number)
