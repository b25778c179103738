"""Which words are keywords of which topics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray

__all__ = ["KeywordCells"]


class KeywordCells(NamedTuple):
    """The keywords of topics, one after the other, as compiled functions take them.

    Attributes
    ----------
    pointer : ndarray of int64, shape (K + 1,)
        Those of topic k are ``words[pointer[k]:pointer[k + 1]]``; the last topics have none.
    words : ndarray of int64, shape (J,)
    """

    pointer: IntArray
    words: IntArray

    @property
    def topics(self) -> IntArray:
        """The topic of each keyword, shape (J,)."""
        return np.repeat(np.arange(len(self.pointer) - 1), np.diff(self.pointer))

    def sums(self, weights: NDArray[Any]) -> FloatArray:
        """Return sums over the keywords of each topic, of weights of shape (J,): shape (K,)."""
        return np.asarray(np.bincount(self.topics, weights, minlength=len(self.pointer) - 1), np.float64)
