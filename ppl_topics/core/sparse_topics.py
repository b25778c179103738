"""Sparse topics: for each word, the topics that include it, with their counts and probabilities.

Where a tenth of the cells is not zero, they take a ninth of the memory of phi, the indicators and the counts as dense
arrays of shape (V, K).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import Float32Array, Int32Array, IntArray, UInt16Array

__all__ = ["PADDING", "SparseTopics"]

PADDING = 8
"""Unused entries at the end of each array: compiled code reads eight at a time and ignores those beyond the end."""


class SparseTopics(NamedTuple):
    """The topics that include each word, with counts and probabilities: phi as a sparse matrix of V rows.

    Compiled functions take it as it is.

    Attributes
    ----------
    pointer : ndarray of int64, shape (V + 1,)
        Word w has the entries ``pointer[w]`` to ``pointer[w + 1] - 1`` of the other arrays.
    topics : ndarray of uint16, shape (L + 8,)
        Topics that include the word, ascending. The last eight entries are unused, here and below.
    counts : ndarray of int32, shape (L + 8,)
        Tokens of the word in the topic. A word is included in each topic where it has tokens.
    values : ndarray of float32, shape (L + 8,)
        phi_kw.
    n_topics : int
        K.
    """

    pointer: IntArray
    topics: UInt16Array
    counts: Int32Array
    values: Float32Array
    n_topics: int

    @classmethod
    def of(cls, included: NDArray[Any], n_wk: NDArray[Any]) -> SparseTopics:
        """Return the sparse form of dense indicators and counts, of shape (V, K), with all probabilities zero.

        Examples
        --------
        >>> sparse = SparseTopics.of(np.array([[1, 0], [1, 1]]), np.array([[2, 0], [0, 1]]))
        >>> sparse.pointer, sparse.topics[:3], sparse.counts[:3]
        (array([0, 1, 3]), array([0, 0, 1], dtype=uint16), array([2, 0, 1], dtype=int32))
        """
        words, topics = np.nonzero(included)
        sparse = cls.empty(np.bincount(words, minlength=len(included)), included.shape[1])
        sparse.topics[: len(topics)] = topics
        sparse.counts[: len(topics)] = n_wk[words, topics]
        return sparse

    @classmethod
    def empty(cls, sizes: IntArray, n_topics: int) -> SparseTopics:
        """Return arrays of zeros for words that are each included in ``sizes[w]`` topics."""
        pointer = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=pointer[1:])
        length = int(pointer[-1]) + PADDING
        topics, counts = np.zeros(length, np.uint16), np.zeros(length, np.int32)
        return cls(pointer, topics, counts, np.zeros(length, np.float32), n_topics)

    @classmethod
    def restored(
        cls,
        n_topics: int,
        pointer: NDArray[Any],
        topics: NDArray[Any],
        counts: NDArray[Any],
        values: NDArray[Any],
    ) -> SparseTopics:
        """Return copies of stored arrays, which lack the unused entries at the end.

        Raises
        ------
        ValueError
            If the arrays do not fit each other or the number of topics.
        """
        steps = np.diff(pointer)
        used = int(pointer[-1]) if len(pointer) else -1
        same = len(topics) == len(counts) == len(values) == used
        if not same or pointer[0] != 0 or (steps < 0).any() or (used and int(topics.max()) >= n_topics):
            raise ValueError("the arrays of the sparse topics do not fit each other")
        inside = np.ones(used, dtype=bool)
        inside[pointer[:-1][steps > 0]] = False
        if (np.diff(topics.astype(np.int64), prepend=-1)[inside] <= 0).any():
            raise ValueError("the topics of a word are not in ascending order")
        sparse = cls.empty(steps, n_topics)
        for array, stored in ((sparse.topics, topics), (sparse.counts, counts), (sparse.values, values)):
            array[:used] = stored
        return sparse

    @property
    def size(self) -> int:
        """L, the number of cells that are stored."""
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
        return np.bincount(self.topics[: self.size], minlength=self.n_topics)

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
        # The entries of each word in turn, counted from its first.
        first = np.repeat(self.pointer[chosen] - np.append(0, np.cumsum(sizes)[:-1]), sizes) if len(chosen) else rows
        places = first + np.arange(len(rows))
        held: NDArray[Any] = {"phi": self.values, "counts": self.counts}.get(what, np.ones_like(self.topics, np.uint8))
        result = np.zeros((len(chosen), self.n_topics), held.dtype)
        result[rows, self.topics[places]] = held[places]
        return result

    def set_phi(self, phi: NDArray[Any]) -> None:
        """Set the probabilities of what is included to those of a dense array of shape (V, K)."""
        words = np.repeat(np.arange(self.shape[0]), self.topics_of_words)
        self.values[: self.size] = phi[words, self.topics[: self.size]]

    def copy(self) -> SparseTopics:
        """Return a copy that shares no array."""
        return SparseTopics(
            self.pointer.copy(), self.topics.copy(), self.counts.copy(), self.values.copy(), self.n_topics
        )
