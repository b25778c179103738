"""Which words are keywords of which topics, and counts that differ there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.core.state import ChainState

__all__ = ["KeywordCells", "with_tokens"]


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


@contextmanager
def with_tokens(state: ChainState, cells: KeywordCells, number: IntArray | int) -> Iterator[None]:
    """Let topics have other numbers of tokens of their keywords for a while: so many more, or less.

    The counts are changed in place, since a copy would be as large as phi.
    """
    number = np.broadcast_to(np.asarray(number, np.int64), cells.words.shape)
    of_topics = cells.sums(number).astype(np.int64)
    place = cells.words, cells.topics
    state.n_wk[place] += number.astype(np.int32)
    state.n_k += of_topics
    try:
        yield
    finally:
        state.n_wk[place] -= number.astype(np.int32)
        state.n_k -= of_topics
