"""Topics of which most words have probability zero, held as lists by word: no array has a cell for each topic and word.

Where a tenth of the cells is not zero, the lists take a ninth of the memory of phi, the indicators and the counts as
arrays of shape (V, K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import Float32Array, Int32Array, IntArray, UInt16Array

__all__ = ["PADDING", "TopicLists"]

PADDING = 8
"""Entries after the last list: compiled code reads eight at a time, and leaves out what is beyond the end."""


@dataclass
class TopicLists:
    """The words that topics include, with their counts and probabilities.

    Attributes
    ----------
    name : str
        Of the variable that `values` holds.
    n_topics : int
        K.
    pointer : ndarray of int64, shape (V + 1,)
        Word w is included in the topics of the entries ``pointer[w]`` to ``pointer[w + 1] - 1``.
    topics : ndarray of uint16, shape (L + 8,)
        Ascending in each list. The last eight entries mean nothing, here and below.
    counts : ndarray of int32, shape (L + 8,)
        Tokens of the word in the topic. A word is included in each topic where it has tokens.
    values : ndarray of float32, shape (L + 8,)
        phi_kw.
    """

    name: str
    n_topics: int
    pointer: IntArray
    topics: UInt16Array
    counts: Int32Array
    values: Float32Array

    @classmethod
    def of(cls, name: str, included: NDArray[Any], n_wk: NDArray[Any]) -> TopicLists:
        """Return the lists of dense arrays of shape (V, K), with all probabilities zero.

        Examples
        --------
        >>> lists = TopicLists.of("phi", np.array([[1, 0], [1, 1]]), np.array([[2, 0], [0, 1]]))
        >>> lists.pointer, lists.topics[:3], lists.counts[:3]
        (array([0, 1, 3]), array([0, 0, 1], dtype=uint16), array([2, 0, 1], dtype=int32))
        """
        words, topics = np.nonzero(included)
        pointer = np.searchsorted(words, np.arange(len(included) + 1)).astype(np.int64)
        return cls(
            name,
            included.shape[1],
            pointer,
            np.append(topics, np.zeros(PADDING)).astype(np.uint16),
            np.append(n_wk[words, topics], np.zeros(PADDING)).astype(np.int32),
            np.zeros(len(topics) + PADDING, np.float32),
        )

    @classmethod
    def restored(
        cls,
        name: str,
        n_topics: int,
        pointer: NDArray[Any],
        topics: NDArray[Any],
        counts: NDArray[Any],
        values: NDArray[Any],
    ) -> TopicLists:
        """Return lists of arrays without the last eight entries, of which copies are made.

        Raises
        ------
        ValueError
            If they are no lists of topics that there are.
        """
        steps = np.diff(pointer)
        used = int(pointer[-1]) if len(pointer) else -1
        same = len(topics) == len(counts) == len(values) == used
        if not same or pointer[0] != 0 or (steps < 0).any() or (used and int(topics.max()) >= n_topics):
            raise ValueError("no lists of topics by word")
        inside = np.ones(used, dtype=bool)
        inside[pointer[:-1][steps > 0]] = False
        if (np.diff(topics.astype(np.int64), prepend=-1)[inside] <= 0).any():
            raise ValueError("topics of a list that do not ascend")
        room = np.zeros(PADDING)
        return cls(
            name,
            n_topics,
            pointer.astype(np.int64),
            np.append(topics, room).astype(np.uint16),
            np.append(counts, room).astype(np.int32),
            np.append(values, room).astype(np.float32),
        )

    def __len__(self) -> int:
        """Return L, the number of cells that are held."""
        return int(self.pointer[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """(V, K)."""
        return len(self.pointer) - 1, self.n_topics

    @property
    def topics_of_words(self) -> IntArray:
        """How many topics include each word, shape (V,)."""
        return np.diff(self.pointer)

    @property
    def words_of_topics(self) -> IntArray:
        """How many words each topic includes, shape (K,)."""
        return np.bincount(self.topics[: len(self)], minlength=self.n_topics)

    def dense(self, what: str, words: IntArray | None = None) -> NDArray[Any]:
        """Return rows of a variable as a dense array.

        Parameters
        ----------
        what : {"phi", "included", "counts"}
            Probabilities (float32), indicators (uint8) or counts (int32).
        words : ndarray of int64, shape (n,), optional
            The rows; by default all.

        Returns
        -------
        ndarray, shape (n, K)
        """
        chosen = np.arange(self.shape[0]) if words is None else np.asarray(words)
        sizes = self.topics_of_words[chosen]
        rows = np.repeat(np.arange(len(chosen)), sizes)
        # The places of each list in turn: those of its word, counted from its begin.
        first = np.repeat(self.pointer[chosen] - np.append(0, np.cumsum(sizes)[:-1]), sizes) if len(chosen) else rows
        places = first + np.arange(len(rows))
        held: NDArray[Any] = {"phi": self.values, "counts": self.counts}.get(what, np.ones_like(self.topics, np.uint8))
        result = np.zeros((len(chosen), self.n_topics), held.dtype)
        result[rows, self.topics[places]] = held[places]
        return result

    def set_phi(self, phi: NDArray[Any]) -> None:
        """Set the probabilities of what is included to those of a dense array of shape (V, K)."""
        self.values[: len(self)] = phi[self._words(), self.topics[: len(self)]]

    def copy(self) -> TopicLists:
        """Return a copy that shares nothing."""
        arrays = (self.pointer, self.topics, self.counts, self.values)
        return TopicLists(self.name, self.n_topics, *(array.copy() for array in arrays))  # type: ignore[arg-type]

    def _words(self) -> IntArray:
        return np.repeat(np.arange(self.shape[0]), self.topics_of_words)
