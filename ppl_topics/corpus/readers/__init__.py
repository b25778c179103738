"""Corpora from files: `read_corpus`, and one module for each format that it reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ppl_topics._util.paths import as_path
from ppl_topics.corpus.core import Corpus, VocabularyLike
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.names import entries
from ppl_topics.corpus.readers.counting import read_counts
from ppl_topics.corpus.readers.formats import COUNT_FORMATS, Format, format_of
from ppl_topics.corpus.readers.native import read_native
from ppl_topics.corpus.readers.options import ReadOptions, Thresholds, stop_word_set
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.readers.stream import fail, missing
from ppl_topics.corpus.readers.texts import read_texts
from ppl_topics.corpus.readers.wordlist import load_vocabulary
from ppl_topics.corpus.texts import TOKEN_PATTERN, StopWords
from ppl_topics.errors import CorpusError

__all__ = ["read_corpus"]


def read_corpus(
    path: str | Path,
    *,
    format: Format | str | None = None,
    vocabulary: str | Path | VocabularyLike | None = None,
    text_column: str = "text",
    label_column: str | None = None,
    id_column: str | None = None,
    covariates: Sequence[str] | None = None,
    label_kind: LabelKind | None = None,
    first_id: int | None = None,
    encoding: str = "utf-8",
    stop_words: StopWords = None,
    min_count: int = 1,
    min_df: float | int = 1,
    max_df: float | int = 1.0,
    max_vocabulary: int | None = None,
    lowercase: bool = True,
    token_pattern: str = TOKEN_PATTERN,
) -> Corpus:
    r"""Read a corpus from a file, line by line, or from a folder that `Corpus.save` wrote.

    ========================================  ======================================================
    suffix (``.gz`` or ``.zst`` may follow)   content
    ========================================  ======================================================
    .jsonl .ndjson                            one JSON object a line, with named members
    .csv .tsv                                 a header that names the columns, then a document a row
    .mallet                                   ``name label text ...``, a document a line
    .svmlight .libsvm .svm                    ``label id:count id:count ...``; labels may be ``1,3``
    .ldac .lda-c                              ``n_pairs id:count ...``, ids from 0
    .docword.txt .uci, docword.*.txt          UCI: three header lines, then ``document word count``
    .mm .mtx                                  Matrix Market (SciPy, gensim): documents are rows
    a folder                                  the native format
    ========================================  ======================================================

    Parameters
    ----------
    path : str or pathlib.Path
        The file or folder.
    format : str, optional
        "jsonl", "csv", "tsv", "mallet", "svmlight", "ldac", "uci", "matrix_market" or "native", where the
        suffix does not tell.
    vocabulary : str, pathlib.Path, sequence of str or Corpus, optional
        The words: a file with one word a line, a list, or a corpus that has them. In a count format it names
        the ids of the file, the first word having the first id, so it must be the whole list that belongs to
        the file; without it, words are named by their ids. In a text format, and for the native one, it is
        the vocabulary of a training corpus, and other words are dropped and counted.
    text_column : str, default "text"
        Column of the text (JSON Lines, CSV, TSV).
    label_column, id_column : str, optional
        Columns of the label and of the document's id (JSON Lines, CSV, TSV). MALLET has both in place.
    covariates : sequence of str, optional
        Columns of the covariates (JSON Lines, CSV, TSV).
    label_kind : {"class", "multi_label", "real", "count"}, optional
        Kind of the labels; without it `Labels.infer` tells.
    first_id : {0, 1}, optional
        The first word id of an svmlight or LDA-C file. Without it an svmlight file begins with 0 if id 0
        occurs in it, else with 1; LDA-C with 0. Give it where training and test file might differ in that.
    encoding : str, default "utf-8"
        Text encoding of the file and the vocabulary.
    stop_words : {"english"} or iterable of str, optional
        Words to leave out: scikit-learn's English list, or yours. In a count format this needs a vocabulary.
    min_count : int, default 1
        Leave out words that occur less often in the corpus.
    min_df, max_df : int or float
        Leave out words that occur in fewer, or more, documents: an int is a number, a float a share.
    max_vocabulary : int, optional
        Keep only so many words, the most frequent.
    lowercase : bool, default True
        Turn texts to lower case first. In a count format, compare words with stop words in lower case.
    token_pattern : str
        Regular expression of a token (text formats).

    Returns
    -------
    Corpus
        Its name is the name of the file without suffixes.

    Raises
    ------
    CorpusError
        If the file is missing, damaged, empty or not of its format; the message names the file and the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ppl_topics.corpus.readers import read_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.svmlight")
    ...     _ = path.write_text("1 1:2 3:1\n2 2:1\n")
    ...     read_corpus(path, vocabulary=["cat", "dog", "milk"])
    Corpus 'pets': 2 documents, 4 tokens, 3 words, 2 classes
    """
    path = as_path(path, "a corpus", CorpusError)
    # Not path.exists(), which raises where the name is too long for the file system.
    if not os.path.exists(path):
        raise missing(path)
    kind = format_of(path, format)
    columns = Columns(text_column, label_column, id_column, _names_of(covariates))
    options = ReadOptions(
        encoding=encoding,
        vocabulary=load_vocabulary(vocabulary, encoding),
        first_id=first_id,
        columns=columns,
        label_kind=label_kind,
        stop_words=stop_word_set(stop_words),
        lowercase=lowercase,
        token_pattern=token_pattern,
        thresholds=Thresholds(min_count=min_count, min_df=min_df, max_df=max_df, max_vocabulary=max_vocabulary),
        # Names of files need not be UTF-8.
        name=os.fsencode(path.name.split(".")[0]).decode(errors="replace"),
    )
    options.check(path, kind)
    try:
        if kind == "native":
            return read_native(path, options)
        return read_counts(path, kind, options) if kind in COUNT_FORMATS else read_texts(path, kind, options)
    except CorpusError as error:
        # The builder, which knows no files, says what is wrong with the documents.
        if str(error).startswith(str(path)):
            raise
        raise fail(path, 0, str(error)) from None


def _names_of(covariates: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(covariates, str):
        raise CorpusError(f"covariates must be a list of columns, such as ['{covariates}']")
    return () if covariates is None else tuple(entries(covariates, "a list of columns as covariates"))
