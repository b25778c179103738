"""New documents in the words, and with the labels, of a training corpus."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ppl_topics._util.argument_names import argument
from ppl_topics._util.user_warning import warn_user
from ppl_topics.corpus import Corpus, DroppedWords, Labels
from ppl_topics.corpus.assembler import CorpusAssembler
from ppl_topics.corpus.covariate_alignment import align_covariates
from ppl_topics.corpus.covariates import CovariateWarning
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.names import StrArray, document_name, iterate
from ppl_topics.corpus.text_options import TextOptions
from ppl_topics.errors import CorpusError

if TYPE_CHECKING:
    from ppl_topics.prediction.trained import TrainedTopics

__all__ = ["UnknownWordsWarning", "align_corpus", "align_labels", "new_corpus"]


class UnknownWordsWarning(UserWarning):
    """New documents have words, none of which is in the vocabulary of training."""


def new_corpus(
    new: Any, trained: TrainedTopics, covariates: Any = None, *, with_labels: bool = True, partial: bool = False
) -> Corpus:
    """Return new documents in the words, and with the columns of the covariates, of a fit.

    Covariates that only labels depend on are not needed where these play no part. Of documents that are some of many
    (``partial``), those without a known word are not told.
    """
    corpus = align_corpus(new, trained.vocabulary, None if isinstance(new, Corpus) else trained.word_ids)
    if corpus.dropped.documents_emptied and not partial:
        warn_user(
            f"{corpus.dropped.documents_emptied:,} of {corpus.n_docs:,} documents have no word of the training "
            "vocabulary; they count as empty, so their topics are those of the prior",
            UnknownWordsWarning,
        )
    if covariates is not None:
        corpus = corpus.with_covariates(covariates)
    columns = trained.covariates if with_labels or trained.depends_on_covariates else ()
    if not columns:
        return corpus
    if corpus.covariates is None:
        names = ", ".join(column.name for column in columns[:8])
        more = ", ..." if len(columns) > 8 else ""
        raise CorpusError(
            f"the documents have no covariates, and the model has coefficients for {names}{more}; give them "
            f"({argument('covariates')})"
        )
    aligned, unknown = align_covariates(corpus.covariates, columns, corpus.ids)
    for name, count in unknown.items():
        warn_user(
            f"covariate {name!r}: categories that training lacks, in {count:,} of {corpus.n_docs:,} documents; they "
            "count as none of those of training",
            CovariateWarning,
        )
    return dataclasses.replace(corpus, covariates=aligned)


def align_corpus(new: Any, vocabulary: StrArray, word_ids: dict[str, int] | None = None) -> Corpus:
    """Return new documents in the words of a vocabulary, perhaps of known places; others are dropped and counted."""
    if not isinstance(new, Corpus):
        return _from_texts(new, vocabulary, word_ids)
    if new.vocabulary is vocabulary or np.array_equal(new.vocabulary, vocabulary):
        return new
    aligned = new.with_vocabulary(vocabulary)
    if new.n_tokens and not aligned.n_tokens:
        raise CorpusError(
            f"none of the {new.n_tokens:,} tokens is a word of the training corpus (here for example "
            f"{str(new.vocabulary[new.words[0]])!r}, there {str(vocabulary[0])!r}); read both corpora in the same way"
        )
    pairs = zip(dataclasses.astuple(new.dropped), dataclasses.astuple(aligned.dropped), strict=True)
    return dataclasses.replace(aligned, dropped=DroppedWords(*(before + after for before, after in pairs)))


def align_labels(labels: Labels, kind: LabelKind, classes: StrArray | None) -> tuple[Labels, int]:
    """Return the labels of new documents in terms of those of a training corpus."""
    if labels.kind != kind:
        try:
            labels = labels.to_kind(kind)
        except CorpusError as error:
            raise CorpusError(f"the labels are of kind {labels.kind!r}, in training {kind!r}: {error}") from None
    if classes is None:
        if labels.values.ndim > 1:
            raise CorpusError(f"the labels have {labels.values.shape[1]} columns, in training one")
        return labels, 0
    if kind != "class" and labels.values.ndim == 1:
        raise CorpusError(f"the labels have one column without a name, in training {len(classes)}")
    aligned = labels.align(classes, unknown="missing")
    if kind == "class":
        return aligned, int(np.count_nonzero(aligned.missing & ~labels.missing))
    lost = ~np.isin(labels.classes.astype(str), classes.astype(str))
    held = ~labels.missing[:, lost] if kind != "multi_label" else labels.values[:, lost] == 1
    return aligned, int(np.count_nonzero(held))


@cache
def _analyzer() -> Callable[[str], list[str]]:
    """Return what cuts texts as is done by default, made once: that takes as long as inferring a short text."""
    return TextOptions().analyzer()


def _from_texts(texts: Any, vocabulary: StrArray, word_ids: dict[str, int] | None) -> Corpus:
    if isinstance(texts, str | bytes):
        raise CorpusError("expected a Corpus or a list of texts, got a single string; put it into a list")
    given: Iterable[Any] = iterate(texts, "a Corpus or a list of texts")
    analyze, assembler, any_tokens = _analyzer(), CorpusAssembler(vocabulary, word_ids), False
    for index, text in enumerate(given):
        if not isinstance(text, str):
            raise CorpusError(
                f"{document_name(index)} is {str(text)[:40]!r}, of type {type(text).__name__}; expected a text"
            )
        tokens = analyze(text)
        any_tokens |= bool(tokens)
        assembler.add_tokens(tokens)
    if any_tokens:
        return Corpus.from_parts(assembler.assemble())
    # Other than for training, it is all right that all documents are empty.
    return Corpus(np.zeros(assembler.n_docs + 1, np.int64), np.zeros(0, np.uint32), vocabulary)
