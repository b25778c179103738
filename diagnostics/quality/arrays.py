"""Topics as arrays, checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppl_topics._util.arrays import FloatArray
from ppl_topics.errors import PplTopicsError

__all__ = ["as_topics"]


def as_topics(phi: npt.ArrayLike) -> FloatArray:
    """Return topics (K, V) as float64 with rows that sum to 1, and refuse anything else."""
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
