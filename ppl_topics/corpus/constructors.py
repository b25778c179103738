"""The ways to make a corpus from texts, tokens, data frames, matrices and arrays: ``Corpus.from_*``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from ppl_topics.corpus.expand import check_csr
from ppl_topics.corpus.names import as_doc_ids, document_name, entries
from ppl_topics.corpus.texts import TOKEN_PATTERN, StopWords, text_analyzer
from ppl_topics.corpus.tokens import document_chunks
from ppl_topics.errors import CorpusError

if TYPE_CHECKING:
    from ppl_topics.corpus.core import Corpus, VocabularyLike
    from ppl_topics.corpus.labels import LabelKind

__all__ = ["CorpusConstructors"]


class CorpusConstructors:
    """The ``from_*`` methods of `Corpus`.

    Five keywords mean the same in all of them. `doc_ids`: one distinct string or integer per document.
    `labels`: `Labels`, or one label per document, from which `Labels.infer` tells the kind unless
    `label_kind` names it. `covariates`: `Covariates`, a data frame or a matrix, one row per document.
    `name`: a name for messages and reports. All raise `CorpusError`, naming the document, for input that is
    not what it should be; also when there are no documents, and when all are empty (unless a given
    vocabulary emptied them).
    """

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        doc_ids: Iterable[str | int] | None = None,
        labels: Any = None,
        label_kind: LabelKind | None = None,
        covariates: Any = None,
        vocabulary: VocabularyLike | None = None,
        stop_words: StopWords = None,
        min_count: int = 1,
        min_df: float | int = 1,
        max_df: float | int = 1.0,
        max_vocabulary: int | None = None,
        lowercase: bool = True,
        token_pattern: str = TOKEN_PATTERN,
        name: str = "",
    ) -> Corpus:
        """Cut texts into tokens and count them.

        Parameters
        ----------
        texts : iterable of str
            One text per document; read once, one after another.
        doc_ids, labels, label_kind, covariates, name : optional
            See `CorpusConstructors`.
        vocabulary : sequence of str, or Corpus, optional
            The words of a training corpus. Others are dropped and counted in `Corpus.dropped`. Without it the
            vocabulary is what occurs, sorted.
        stop_words : {"english"} or iterable of str, optional
            Words to leave out: scikit-learn's English list, or yours.
        min_count : int
            Leave out words that occur less often in the corpus.
        min_df, max_df : int or float
            Leave out words that occur in fewer, or more, documents: an int is a number, a float a share.
        max_vocabulary : int, optional
            Keep only so many words, the most frequent.
        lowercase : bool
            Turn the texts to lower case first.
        token_pattern : str
            Regular expression of a token.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> from ppl_topics.corpus import Corpus
        >>> corpus = Corpus.from_texts(["The cat sat.", "The dog sat."], stop_words="english")
        >>> list(corpus.vocabulary)
        ['cat', 'dog', 'sat']
        >>> Corpus.from_texts(["A cat barked."], vocabulary=corpus).dropped
        DroppedWords(tokens=1, types=1, documents_emptied=0)
        """
        if isinstance(texts, str | bytes):
            raise CorpusError("expected a list of texts, one per document, got a single string")
        given = entries(texts, "a list of texts, one per document")
        ids = None if doc_ids is None else list(entries(doc_ids, "one id per document"))
        analyze = text_analyzer(stop_words=stop_words, lowercase=lowercase, token_pattern=token_pattern)

        def token_lists() -> Iterator[list[str]]:
            for i, text in enumerate(given):
                if not isinstance(text, str):
                    raise CorpusError(
                        f"{document_name(i, ids)} is {text!r}, of type {type(text).__name__}; "
                        "expected a text (an empty string where there is none)"
                    )
                yield analyze(text)

        return cls.from_tokens(
            token_lists(),
            doc_ids=ids,
            labels=labels,
            label_kind=label_kind,
            covariates=covariates,
            vocabulary=vocabulary,
            min_count=min_count,
            min_df=min_df,
            max_df=max_df,
            max_vocabulary=max_vocabulary,
            name=name,
        )

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        doc_ids: Iterable[str | int] | None = None,
        labels: Any = None,
        label_kind: LabelKind | None = None,
        covariates: Any = None,
        vocabulary: VocabularyLike | None = None,
        min_count: int = 1,
        min_df: float | int = 1,
        max_df: float | int = 1.0,
        max_vocabulary: int | None = None,
        name: str = "",
    ) -> Corpus:
        """Count the words of documents that are lists of words already.

        Parameters
        ----------
        documents : iterable of iterables of str
            The words of each document.
        doc_ids, labels, label_kind, covariates, name : optional
            See `CorpusConstructors`.
        vocabulary, min_count, min_df, max_df, max_vocabulary : optional
            As in `from_texts`.

        Returns
        -------
        Corpus
        """
        from ppl_topics.corpus.build import CorpusBuilder

        if isinstance(documents, str | bytes):
            raise CorpusError("expected a list of lists of words, got a single string")
        ids = None if doc_ids is None else list(entries(doc_ids, "one id per document"))
        builder = CorpusBuilder(vocabulary)
        for i, document in enumerate(entries(documents, "a list of lists of words")):
            builder.add_tokens(document, doc_id=ids[i] if ids and i < len(ids) else None)
        return builder.build(
            doc_ids=ids,
            labels=labels,
            label_kind=label_kind,
            covariates=covariates,
            name=name,
            min_count=min_count,
            min_df=min_df,
            max_df=max_df,
            max_vocabulary=max_vocabulary,
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        text: str = "text",
        label: str | Sequence[str] | None = None,
        covariates: Sequence[str] | None = None,
        id: str | None = None,
        label_kind: LabelKind | None = None,
        vocabulary: VocabularyLike | None = None,
        stop_words: StopWords = None,
        min_count: int = 1,
        min_df: float | int = 1,
        max_df: float | int = 1.0,
        max_vocabulary: int | None = None,
        lowercase: bool = True,
        token_pattern: str = TOKEN_PATTERN,
        name: str = "",
    ) -> Corpus:
        """Take texts, labels, covariates and ids from the columns of a data frame, a document a row.

        Parameters
        ----------
        frame : pandas.DataFrame
            The index is ignored.
        text : str
            Column of the texts.
        label : str or sequence of str, optional
            Column of the labels; or several, for several responses.
        covariates : sequence of str, optional
            Columns of the covariates.
        id : str, optional
            Column of the document ids.
        label_kind, vocabulary, stop_words, min_count, min_df, max_df, max_vocabulary : optional
        lowercase, token_pattern, name : optional
            As in `from_texts`.

        Returns
        -------
        Corpus
        """
        if not isinstance(frame, pd.DataFrame):
            raise CorpusError(f"expected a pandas.DataFrame, got {str(frame)[:40]!r}, of type {type(frame).__name__}")
        columns = [] if label is None else [label] if isinstance(label, str) else list(label)
        columns += [text] + ([] if id is None else [id])
        if isinstance(covariates, str):
            raise CorpusError(f"covariates must be a list of columns, such as [{covariates!r}]")
        for column in [*columns, *(covariates or [])]:
            if column not in frame.columns:
                known = ", ".join(repr(str(c)) for c in frame.columns)
                raise CorpusError(f"the data frame has no column {column!r}; its columns are {known}")
            if isinstance(frame[column], pd.DataFrame):
                raise CorpusError(f"the data frame has several columns {column!r}; rename all but one")
        return cls.from_texts(
            frame[text],
            doc_ids=None if id is None else frame[id].tolist(),
            labels=None if label is None else frame[label if isinstance(label, str) else list(label)],
            label_kind=label_kind,
            covariates=frame[list(covariates)] if covariates else None,
            vocabulary=vocabulary,
            stop_words=stop_words,
            min_count=min_count,
            min_df=min_df,
            max_df=max_df,
            max_vocabulary=max_vocabulary,
            lowercase=lowercase,
            token_pattern=token_pattern,
            name=name,
        )

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        vocabulary: VocabularyLike | None = None,
        doc_ids: Iterable[str | int] | None = None,
        labels: Any = None,
        label_kind: LabelKind | None = None,
        covariates: Any = None,
        name: str = "",
    ) -> Corpus:
        """Take the counts of a documents-by-words matrix.

        Parameters
        ----------
        matrix : SciPy sparse matrix or array, or array-like, of shape (D, V)
            Whole numbers, zero or more.
        vocabulary : sequence of str, or Corpus, optional
            The word of each column; by default "0", "1", .... To go over to the words of a training corpus,
            use `Corpus.with_vocabulary` afterwards.
        doc_ids, labels, label_kind, covariates, name : optional
            See `CorpusConstructors`.

        Returns
        -------
        Corpus
        """
        from ppl_topics.corpus.core import as_vocabulary

        if not sparse.issparse(matrix):
            try:
                matrix = np.asarray(matrix)
            except ValueError:
                raise CorpusError("the rows of the matrix differ in length; expected documents by words") from None
        if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
            raise CorpusError("expected a matrix of counts with two dimensions, documents by words")
        rows = sparse.csr_array(matrix)
        words = None if vocabulary is None else as_vocabulary(vocabulary)
        if words is not None and len(words) != rows.shape[1]:
            raise CorpusError(
                f"the matrix has {rows.shape[1]} columns, but the vocabulary {len(words)} words; "
                "give one word per column"
            )
        return cls.from_counts(
            rows.indptr,
            rows.indices,
            rows.data,
            vocabulary=words,
            n_words=rows.shape[1],
            doc_ids=doc_ids,
            labels=labels,
            label_kind=label_kind,
            covariates=covariates,
            name=name,
        )

    @classmethod
    def from_counts(
        cls,
        indptr: npt.ArrayLike,
        word_ids: npt.ArrayLike,
        counts: npt.ArrayLike | None,
        *,
        vocabulary: VocabularyLike | None = None,
        n_words: int | None = None,
        doc_ids: Iterable[str | int] | None = None,
        labels: Any = None,
        label_kind: LabelKind | None = None,
        covariates: Any = None,
        name: str = "",
    ) -> Corpus:
        """Take word ids and counts in CSR form.

        Parameters
        ----------
        indptr : array-like of int, shape (D + 1,)
            Document d has the entries from ``indptr[d]`` to ``indptr[d + 1] - 1``.
        word_ids : array-like of int, shape (n,)
        counts : array-like of shape (n,), or None for 1 each
        vocabulary : sequence of str, or Corpus, optional
            The words that the ids refer to; by default "0", "1", ....
        n_words : int, optional
            In place of `vocabulary`, the number of words; by default the largest id plus one.
        doc_ids, labels, label_kind, covariates, name : optional
            See `CorpusConstructors`.

        Returns
        -------
        Corpus
        """
        from ppl_topics.corpus.build import CorpusBuilder

        pointer, entries, values = check_csr(indptr, word_ids, counts)
        ids = as_doc_ids(doc_ids, len(pointer) - 1)
        builder = CorpusBuilder()
        for start, stop in document_chunks(pointer):
            a, b = int(pointer[start]), int(pointer[stop])
            builder.add_block(
                pointer[start : stop + 1] - a,
                entries[a:b],
                None if values is None else values[a:b],
                doc_ids=None if ids is None else ids[start:stop].tolist(),
            )
        return builder.build(
            vocabulary=vocabulary,
            n_words=n_words,
            doc_ids=ids,
            labels=labels,
            label_kind=label_kind,
            covariates=covariates,
            name=name,
        )

    @classmethod
    def from_arrays(
        cls,
        doc_ptr: npt.ArrayLike,
        words: npt.ArrayLike,
        vocabulary: VocabularyLike | None = None,
        *,
        n_words: int | None = None,
        doc_ids: Iterable[str | int] | None = None,
        labels: Any = None,
        label_kind: LabelKind | None = None,
        covariates: Any = None,
        name: str = "",
    ) -> Corpus:
        """Take the word id of each token, in the form in which a corpus holds them.

        Parameters
        ----------
        doc_ptr : array-like of int, shape (D + 1,)
            The tokens of document d are ``words[doc_ptr[d]:doc_ptr[d + 1]]``.
        words : array-like of int, shape (N,)
            In any order inside a document; they are copied and sorted.
        vocabulary, n_words, doc_ids, labels, label_kind, covariates, name : optional
            As in `from_counts`.

        Returns
        -------
        Corpus
        """
        return cls.from_counts(
            doc_ptr,
            words,
            None,
            vocabulary=vocabulary,
            n_words=n_words,
            doc_ids=doc_ids,
            labels=labels,
            label_kind=label_kind,
            covariates=covariates,
            name=name,
        )
