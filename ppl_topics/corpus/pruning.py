"""Which words to keep: thresholds on corpus counts and document frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from ppl_topics._util.argument_names import argument, arguments, setting
from ppl_topics._util.arrays import IntArray, UInt32Array
from ppl_topics.corpus.names import StrArray
from ppl_topics.corpus.token_arrays import count_documents, count_words
from ppl_topics.errors import CorpusError

__all__ = ["Pruning"]


@dataclass(frozen=True)
class Pruning:
    """Thresholds for words, which `Corpus.from_texts` documents."""

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
                    raise CorpusError(f"{argument(field)} is {value}; expected a share of the documents from 0 to 1")
            else:
                _check_number(field, value)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Pick the fields from keyword arguments."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    @property
    def is_trivial(self) -> bool:
        """Whether every word that occurs is kept."""
        whole = isinstance(self.max_df, float | np.floating) and self.max_df == 1
        least = not isinstance(self.min_df, float | np.floating) and self.min_df == 1
        return self.min_count == 1 and least and whole and self.max_vocabulary is None

    def check_vocabulary(self, vocabulary: object) -> None:
        """Refuse thresholds beside a given vocabulary, which chooses the words too."""
        if vocabulary is not None and not self.is_trivial:
            raise CorpusError(
                f"{arguments('min_count', 'min_df', 'max_df', 'max_vocabulary')} choose the words, and so does a given "
                "vocabulary; use one or the other"
            )

    def choose(self, doc_ptr: IntArray, words: UInt32Array, names: StrArray) -> IntArray:
        """Return the ids of the words to keep, in increasing order; see `choose_counted`."""
        if self.is_trivial:
            return np.arange(len(names))
        counts = count_words(words, len(names))
        return self.choose_counted(len(doc_ptr) - 1, names, counts, lambda: count_documents(doc_ptr, words, len(names)))

    def choose_counted(
        self, n_docs: int, names: StrArray, counts: IntArray, frequencies: Callable[[], IntArray]
    ) -> IntArray:
        """Choose words by their counts and document frequencies; raise a `CorpusError` if none is left.

        Frequencies are asked for only if they matter. Of words that are equally frequent, `max_vocabulary` keeps the
        first in sort order.
        """
        if self.is_trivial:
            return np.arange(len(names))
        keep = counts >= self.min_count
        least = math.ceil(_documents(self.min_df, n_docs) - ROUNDING)
        most = math.floor(_documents(self.max_df, n_docs) + ROUNDING)
        if least > 0 or most < n_docs:
            frequency = frequencies()
            keep &= (frequency >= least) & (frequency <= most)
        kept = np.flatnonzero(keep)
        if self.max_vocabulary is not None and len(kept) > self.max_vocabulary:
            by_name = kept[np.argsort(names[kept], kind="stable")]
            by_count = by_name[np.argsort(-counts[by_name], kind="stable")]
            kept = np.sort(by_count[: self.max_vocabulary])
        if not len(kept):
            thresholds = ("min_count", "min_df", "max_df")
            given = ", ".join(setting(field, getattr(self, field)) for field in thresholds)
            raise CorpusError(f"none of the {len(names)} words passes {given}; relax these thresholds")
        return kept


ROUNDING = 1e-9  # 0.1 of 30 documents is 3.0000000000000004 in floating point, but means 3


def _documents(threshold: float | int, n_docs: int) -> float:
    return threshold * n_docs if isinstance(threshold, float | np.floating) else threshold


def _check_number(field: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise CorpusError(f"{argument(field)} is {value!r}; expected a whole number, 1 or more")
