"""What a corpus consists of: tokens, vocabulary, ids, labels and covariates, whose lengths must agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ppl_topics._util.arrays import IntArray, UInt32Array
from ppl_topics.corpus.covariates import Covariates, as_covariates
from ppl_topics.corpus.labels import LabelKind, Labels
from ppl_topics.corpus.names import DocIds, StrArray, as_doc_ids, as_names
from ppl_topics.errors import CorpusError

__all__ = ["CorpusParts", "DroppedWords", "VocabularyLike", "as_vocabulary", "check_not_empty", "described"]


@dataclass(frozen=True)
class DroppedWords:
    """What was lost when the vocabulary of another corpus was applied.

    Attributes
    ----------
    tokens : int
        Tokens dropped because their words are unknown.
    types : int
        Distinct words among them.
    documents_emptied : int
        Documents that had tokens and have none left; they are kept, empty.
    """

    tokens: int = 0
    types: int = 0
    documents_emptied: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class CorpusParts:
    """The fields of `Corpus`, which documents them, and the checks that they fit together."""

    doc_ptr: IntArray
    words: UInt32Array
    vocabulary: StrArray
    ids: DocIds = None
    labels: Labels | None = None
    covariates: Covariates | None = None
    name: str = ""
    dropped: DroppedWords = DroppedWords()
    more_labels: Mapping[str, Labels] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, dtype in (("doc_ptr", np.int64), ("words", np.uint32), ("vocabulary", np.object_)):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != dtype:
                raise CorpusError(f"{name} must be a one-dimensional array of {np.dtype(dtype).name}")
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        if self.n_docs < 1:
            raise CorpusError("the corpus has no documents; at least one is needed")
        if self.doc_ptr[0] != 0 or self.doc_ptr[-1] != len(self.words):
            raise CorpusError(
                f"doc_ptr runs from {self.doc_ptr[0]} to {self.doc_ptr[-1]}; "
                f"expected from 0 to the number of tokens, {len(self.words)}"
            )
        object.__setattr__(self, "more_labels", dict(self.more_labels))
        described = [(self.ids, "ids"), (self.labels, "labels"), (self.covariates, "covariates")]
        for part, what in [*described, *((part, f"labels {name!r}") for name, part in self.more_labels.items())]:
            if part is not None and len(part) != self.n_docs:
                raise CorpusError(
                    f"there are {what} for {len(part)} documents, but the corpus has {self.n_docs} documents; "
                    "give one entry per document"
                )

    @property
    def n_docs(self) -> int:
        """Number of documents D, including empty ones."""
        return len(self.doc_ptr) - 1

    @property
    def n_words(self) -> int:
        """Number of words V in the vocabulary."""
        return len(self.vocabulary)

    @property
    def n_tokens(self) -> int:
        """Number of tokens N."""
        return len(self.words)


def check_not_empty(n_docs: int, any_tokens: bool) -> None:
    """Refuse to make a corpus of no documents, or of empty ones only."""
    if not n_docs:
        raise CorpusError("the corpus has no documents; at least one is needed")
    if not any_tokens:
        raise CorpusError(f"all {n_docs} documents are empty; at least one must have a token")


def described(
    n_docs: int, doc_ids: Iterable[Any] | None, labels: Any, label_kind: LabelKind | None, covariates: Any
) -> tuple[DocIds, Labels | None, Covariates | None]:
    """Return the checked ids, labels and covariates of documents."""
    ids = as_doc_ids(doc_ids, n_docs)
    found = None if labels is None else Labels.infer(labels, kind=label_kind, doc_ids=ids)
    return ids, found, as_covariates(covariates, doc_ids=ids)


VocabularyLike: TypeAlias = Sequence[str] | StrArray | CorpusParts
"""A vocabulary: its words in order, or a corpus that has it."""


def as_vocabulary(vocabulary: VocabularyLike) -> StrArray:
    """Return a checked vocabulary, shape (V,), dtype object, read-only.

    Raises
    ------
    CorpusError
        If it is empty, a word is not a string, or occurs twice.
    """
    if isinstance(vocabulary, CorpusParts):
        return vocabulary.vocabulary
    words = as_names(vocabulary, "word")
    if not len(words):
        raise CorpusError("the vocabulary is empty; at least one word is needed")
    return words
