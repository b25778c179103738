"""The ways to make a corpus from texts, tokens, data frames, matrices and arrays: ``Corpus.from_*``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ppl_topics.corpus.assembler import CorpusAssembler
from ppl_topics.corpus.counts import check_csr
from ppl_topics.corpus.frames import to_pandas
from ppl_topics.corpus.keywords import (
    DocumentKeywords,
    TextKeywords,
    TextsKeywords,
    TokensKeywords,
    document_keywords,
    takes,
)
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.names import as_doc_ids, column_names, document_name, iterate
from ppl_topics.corpus.parts import CorpusParts, VocabularyLike, as_vocabulary
from ppl_topics.corpus.pruning import Pruning
from ppl_topics.corpus.text_options import TextOptions
from ppl_topics.corpus.token_arrays import document_chunks
from ppl_topics.errors import CorpusError

__all__ = ["CorpusConstructors"]


class CorpusConstructors(CorpusParts):
    """The ``from_*`` methods of `Corpus`.

    Keywords mean the same in all of them; `from_texts` documents them. All raise a `CorpusError` that names the
    document for input that is not what it should be, if there are no documents, and if all documents are empty
    (unless a given vocabulary emptied them).
    """

    @classmethod
    def from_parts(cls, parts: CorpusParts) -> Self:
        """Return the corpus that consists of these parts."""
        return cls(**vars(parts))

    @classmethod
    @takes(TextsKeywords)
    def from_texts(
        cls, texts: Iterable[str], *, vocabulary: VocabularyLike | None = None, **options: Unpack[TextsKeywords]
    ) -> Self:
        """Cut texts into tokens and count them.

        Parameters
        ----------
        texts : iterable of str
            One text per document; read once, one after another.
        vocabulary : sequence of str, or Corpus, optional
            The words of a training corpus. Others are dropped and counted in `Corpus.dropped`. By default the
            vocabulary is the words that occur, sorted.
        doc_ids : iterable of str or int, optional
            One distinct id per document; "0", "1", ... by default.
        labels : Labels, sequence, pandas Series or DataFrame, or ndarray, optional
            One label per document.
        label_kind : {"class", "multi_label", "real", "count"}, optional
            Kind of the labels; by default as `Labels.infer` finds.
        covariates : Covariates, pandas.DataFrame or matrix, optional
            One row per document.
        name : str
            A name for messages and reports.
        stop_words : {"english"} or iterable of str, optional
            Words to leave out: scikit-learn's English list, or yours.
        min_count : int
            Leave out words that occur less often in the corpus.
        min_df, max_df : int or float
            Leave out words that occur in fewer, or more, documents: an int is a number, a float a share.
        max_vocabulary : int, optional
            Keep at most this number of words, the most frequent; ties go to the first in sort order.
        lowercase : bool
            Turn the texts to lower case first.
        token_pattern : str
            Regular expression of a token.
        tokenizer : callable of str to list of str, optional
            What cuts a text into tokens in place of `token_pattern`: a lemmatiser, say, or a segmenter of Chinese.
        ngrams : int
            Also count runs of up to so many tokens, joined by ``_``: at 2, ``new_york`` beside ``new`` and ``york``.

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
        given = iterate(texts, "a list of texts, one per document")
        documents, text_options = document_keywords(options), TextOptions.of(options)
        ids = documents["doc_ids"] = _listed(documents["doc_ids"])
        analyze = text_options.analyzer()

        def token_lists() -> Iterator[list[str]]:
            for i, text in enumerate(given):
                if not isinstance(text, str):
                    raise CorpusError(
                        f"{document_name(i, ids)} is {text!r}, of type {type(text).__name__}; "
                        "expected a text (an empty string if there is none)"
                    )
                yield analyze(text)

        return cls._from_token_lists(token_lists(), vocabulary, text_options, documents)

    @classmethod
    @takes(TokensKeywords)
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        vocabulary: VocabularyLike | None = None,
        **options: Unpack[TokensKeywords],
    ) -> Self:
        """Count the words of documents that are lists of words already.

        Parameters
        ----------
        documents : iterable of iterables of str
            The words of each document.
        vocabulary, **options : optional
            As in `from_texts`.

        Returns
        -------
        Corpus
        """
        return cls._from_token_lists(
            iterate(documents, "a list of lists of words"), vocabulary, Pruning.of(options), document_keywords(options)
        )

    @classmethod
    def _from_token_lists(
        cls,
        token_lists: Iterator[Iterable[str]],
        vocabulary: VocabularyLike | None,
        pruning: Pruning,
        documents: DocumentKeywords,
    ) -> Self:
        ids = documents["doc_ids"] = _listed(documents["doc_ids"])
        assembler = CorpusAssembler(vocabulary)
        for i, tokens in enumerate(token_lists):
            assembler.add_tokens(tokens, doc_id=ids[i] if ids and i < len(ids) else None)
        return cls.from_parts(assembler.assemble(pruning=pruning, **documents))

    @classmethod
    @takes(TextKeywords)
    def from_frame(
        cls,
        frame: Any,
        *,
        text_column: str = "text",
        label_column: str | Sequence[str] | None = None,
        id_column: str | None = None,
        covariates: Sequence[str] | None = None,
        label_kind: LabelKind | None = None,
        vocabulary: VocabularyLike | None = None,
        name: str = "",
        **options: Unpack[TextKeywords],
    ) -> Self:
        """Take texts, labels, covariates and ids from the columns of a data frame, a document a row.

        Parameters
        ----------
        frame : pandas.DataFrame, or a table that speaks Arrow
            Such as one of Polars, DuckDB or pyarrow. The index of pandas is ignored.
        text_column : str
            Column of the texts.
        label_column : str or sequence of str, optional
            Column of the labels; or several, for several responses.
        id_column : str, optional
            Column of the document ids.
        covariates : sequence of str, optional
            Columns of the covariates.
        label_kind, vocabulary, name, **options : optional
            As in `from_texts`.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> import pandas as pd
        >>> from ppl_topics.corpus import Corpus
        >>> frame = pd.DataFrame({"body": ["a good film", "a bad film"], "stars": [4.5, 1.0]})
        >>> Corpus.from_frame(frame, text_column="body", label_column="stars", stop_words=["a"])
        Corpus: 2 documents, 4 tokens, 3 words, real labels
        """
        labels = [label_column] if isinstance(label_column, str) else list(label_column or ())
        features = list(column_names(covariates, "covariates"))
        ids = [] if id_column is None else [id_column]
        frame = to_pandas(frame, [text_column, *labels, *ids, *features])
        return cls.from_texts(
            frame[text_column],
            vocabulary=vocabulary,
            doc_ids=None if id_column is None else frame[id_column].tolist(),
            labels=None if label_column is None else frame[label_column if isinstance(label_column, str) else labels],
            label_kind=label_kind,
            covariates=frame[features] if features else None,
            name=name,
            **options,
        )

    @classmethod
    @takes(DocumentKeywords)
    def from_matrix(
        cls, matrix: Any, *, vocabulary: VocabularyLike | None = None, **options: Unpack[DocumentKeywords]
    ) -> Self:
        """Take the counts of a documents-by-words matrix.

        Parameters
        ----------
        matrix : SciPy sparse matrix or array, or array-like, of shape (D, V)
            Whole numbers, zero or more.
        vocabulary : sequence of str, or Corpus, optional
            The word of each column; by default "0", "1", .... To use the words of a training corpus instead,
            apply `Corpus.with_vocabulary` afterwards.
        **options : optional
            As in `from_texts`.

        Returns
        -------
        Corpus
        """
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
                f"the matrix has {rows.shape[1]} columns, but the vocabulary has {len(words)} words; "
                "give one word per column"
            )
        return cls.from_counts(rows.indptr, rows.indices, rows.data, vocabulary=words, n_words=rows.shape[1], **options)

    @classmethod
    @takes(DocumentKeywords)
    def from_counts(
        cls,
        indptr: npt.ArrayLike,
        word_ids: npt.ArrayLike,
        counts: npt.ArrayLike | None,
        *,
        vocabulary: VocabularyLike | None = None,
        n_words: int | None = None,
        **options: Unpack[DocumentKeywords],
    ) -> Self:
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
            Instead of `vocabulary`, the number of words; by default the largest id plus one.
        **options : optional
            As in `from_texts`.

        Returns
        -------
        Corpus
        """
        pointer, ids, values = check_csr(indptr, word_ids, counts)
        doc_ids = options["doc_ids"] = as_doc_ids(options["doc_ids"], len(pointer) - 1)
        assembler = CorpusAssembler()
        for start, stop in document_chunks(pointer):
            a, b = int(pointer[start]), int(pointer[stop])
            assembler.add_block(
                pointer[start : stop + 1] - a,
                ids[a:b],
                None if values is None else values[a:b],
                doc_ids=None if doc_ids is None else doc_ids[start:stop].tolist(),
            )
        return cls.from_parts(assembler.assemble(vocabulary=vocabulary, n_words=n_words, **options))

    @classmethod
    @takes(DocumentKeywords)
    def from_arrays(
        cls,
        doc_ptr: npt.ArrayLike,
        words: npt.ArrayLike,
        vocabulary: VocabularyLike | None = None,
        *,
        n_words: int | None = None,
        **options: Unpack[DocumentKeywords],
    ) -> Self:
        """Take the word id of each token, in the form in which a corpus stores them.

        Parameters
        ----------
        doc_ptr : array-like of int, shape (D + 1,)
            The tokens of document d are ``words[doc_ptr[d]:doc_ptr[d + 1]]``.
        words : array-like of int, shape (N,)
            In any order inside a document; they are copied and sorted.
        vocabulary, n_words, **options : optional
            As in `from_counts`.

        Returns
        -------
        Corpus
        """
        return cls.from_counts(doc_ptr, words, None, vocabulary=vocabulary, n_words=n_words, **options)


def _listed(doc_ids: Iterable[str | int] | None) -> list[str | int] | None:
    return None if doc_ids is None else list(iterate(doc_ids, "one id per document"))
