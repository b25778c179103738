"""Which words to keep: thresholds on corpus counts and document frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ppl_topics._util.arrays import IntArray, UInt32Array
from ppl_topics.corpus.names import StrArray
from ppl_topics.corpus.tokens import count_documents, count_words
from ppl_topics.errors import CorpusError

__all__ = ["Pruning"]


@dataclass(frozen=True)
class Pruning:
    """Thresholds for words.

    Parameters
    ----------
    min_count : int
        Least number of occurrences in the corpus.
    min_df, max_df : int or float
        Least and greatest number (int) or share (float) of documents that hold the word.
    max_vocabulary : int, optional
        Number of words to keep, the most frequent; ties go to the first in sort order.

    Raises
    ------
    CorpusError
        If a threshold is of the wrong type or out of range.
    """

    min_count: int = 1
    min_df: float | int = 1
    max_df: float | int = 1.0
    max_vocabulary: int | None = None

    def __post_init__(self) -> None:
        _check_number("min_count", self.min_count)
        if self.max_vocabulary is not None:
            _check_number("max_vocabulary", self.max_vocabulary)
        for field in ("min_df", "max_df"):
            value = getattr(self, field)
            if isinstance(value, float | np.floating):
                if not 0 <= value <= 1:
                    raise CorpusError(f"{field} is {value}; a share of the documents lies in [0, 1]")
            else:
                _check_number(field, value)

    @property
    def is_trivial(self) -> bool:
        """Whether every word that occurs is kept."""
        whole = isinstance(self.max_df, float | np.floating) and self.max_df == 1
        least = not isinstance(self.min_df, float | np.floating) and self.min_df == 1
        return self.min_count == 1 and least and whole and self.max_vocabulary is None

    def choose(self, doc_ptr: IntArray, words: UInt32Array, names: StrArray) -> IntArray:
        """Return the ids of the words to keep, in increasing order.

        Raises
        ------
        CorpusError
            If no word is left.
        """
        if self.is_trivial:
            return np.arange(len(names))
        n_docs = len(doc_ptr) - 1
        counts = count_words(words, len(names))
        keep = counts >= self.min_count
        least = math.ceil(_documents(self.min_df, n_docs) - ROUNDING)
        most = math.floor(_documents(self.max_df, n_docs) + ROUNDING)
        if least > 0 or most < n_docs:
            frequency = count_documents(doc_ptr, words, len(names))
            keep &= (frequency >= least) & (frequency <= most)
        kept = np.flatnonzero(keep)
        if self.max_vocabulary is not None and len(kept) > self.max_vocabulary:
            by_name = kept[np.argsort(names[kept], kind="stable")]
            by_count = by_name[np.argsort(-counts[by_name], kind="stable")]
            kept = np.sort(by_count[: self.max_vocabulary])
        if not len(kept):
            raise CorpusError(
                f"none of the {len(names)} words passes min_count={self.min_count}, min_df={self.min_df}, "
                f"max_df={self.max_df}; relax them"
            )
        return kept


ROUNDING = 1e-9  # 0.1 of 30 documents is 3.0000000000000004 in floating point, and means 3


def _documents(threshold: float | int, n_docs: int) -> float:
    return threshold * n_docs if isinstance(threshold, float | np.floating) else threshold


def _check_number(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise CorpusError(f"{field} is {value!r}; expected a whole number, 1 or more")
