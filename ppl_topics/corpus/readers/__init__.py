"""Corpora from files: `read_corpus`, and one module for each format that it reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from ppl_topics.corpus.corpus import Corpus
from ppl_topics.corpus.keywords import TextKeywords, takes
from ppl_topics.corpus.labels import LabelKind
from ppl_topics.corpus.parts import VocabularyLike
from ppl_topics.corpus.readers.addresses import File, as_file
from ppl_topics.corpus.readers.count_files import read_counts
from ppl_topics.corpus.readers.formats import COUNT_FORMATS, Format, format_of
from ppl_topics.corpus.readers.lines import file_error, missing_file
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.records import Columns
from ppl_topics.corpus.readers.text_files import read_texts
from ppl_topics.errors import CorpusError

__all__ = ["read_corpus"]


@takes(TextKeywords)
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
    more_labels: Sequence[str] | Mapping[str, LabelKind | None] | None = None,
    first_id: int | None = None,
    encoding: str = "utf-8",
    **options: Unpack[TextKeywords],
) -> Corpus:
    r"""Read a corpus from a file, line by line, or from a folder that `Corpus.save` wrote.

    ========================================  ======================================================
    suffix (``.gz`` or ``.zst`` may follow)   content
    ========================================  ======================================================
    .jsonl .ndjson                            one JSON object a line, with named members
    .csv .tsv                                 a header that names the columns, then a document a row
    .mallet                                   ``name label text ...``, a document a line
    .parquet                                  named columns; needs ``ppl-topics[parquet]``
    .svmlight .libsvm .svm                    ``label id:count id:count ...``; labels may be ``1,3``
    .ldac .lda-c                              ``n_pairs id:count ...``, ids from 0
    .docword.txt .uci, docword.*.txt          UCI: three header lines, then ``document word count``
    .mm .mtx                                  Matrix Market (SciPy, gensim): documents are rows
    a folder                                  the native format
    ========================================  ======================================================

    Parameters
    ----------
    path : str or pathlib.Path
        The file or folder, or the address of a file that fsspec opens, such as ``"s3://bucket/posts.jsonl.gz"``.
    format : str, optional
        "jsonl", "csv", "tsv", "mallet", "parquet", "svmlight", "ldac", "uci", "matrix_market" or "native", if the
        suffix does not tell.
    vocabulary : str, pathlib.Path, sequence of str or Corpus, optional
        The words: a file with one word a line, a list, or a corpus. In a count format these are the names of the
        ids in the file, the first word having the first id, so it must be the complete list that belongs to
        the file; without it, words are named by their ids. In a text format and the native format, it is
        the vocabulary of a training corpus, and other words are dropped and counted.
    text_column : str, default "text"
        Column of the text (JSON Lines, CSV, TSV, Parquet). In JSON Lines and Parquet it may be a list of tokens.
    label_column, id_column : str, optional
        Columns of the label and of the document's id (JSON Lines, CSV, TSV, Parquet). MALLET files always have both.
    covariates : sequence of str, optional
        Columns of the covariates (JSON Lines, CSV, TSV, Parquet).
    label_kind : {"class", "multi_label", "real", "count"}, optional
        Kind of the labels; by default as `Labels.infer` finds.
    more_labels : sequence of str, or mapping of str to str, optional
        Columns of further labels, for models of several responses that observe them by these names; or their kinds by
        column, None where it is to be inferred (JSON Lines, CSV, TSV, Parquet).
    first_id : {0, 1}, optional
        The first word id of an svmlight or LDA-C file. By default, an svmlight file starts with 0 if id 0
        occurs in it, else with 1; LDA-C with 0. Give it if the training and the test file might differ in that.
    encoding : str, default "utf-8"
        Text encoding of the file and the vocabulary.
    **options
        `stop_words`, `min_count`, `min_df`, `max_df`, `max_vocabulary`, `lowercase`, `token_pattern`, `tokenizer` and
        `ngrams` as in `Corpus.from_texts`. In a count format `stop_words` needs a vocabulary, and `lowercase` applies
        to the words before they are compared with the stop words.

    Returns
    -------
    Corpus
        Its name is that of the file, without suffixes.

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
    file = as_file(path, "a corpus")
    # Not file.exists(), which raises where the name is too long for the file system.
    if isinstance(file, Path) and not os.path.exists(file):
        raise missing_file(file)
    kind = format_of(file, format)
    read_options = ReadOptions.of(
        file.name,
        Columns(text_column, label_column, id_column),
        options,
        vocabulary=vocabulary,
        covariates=covariates,
        label_kind=label_kind,
        encoding=encoding,
        first_id=first_id,
        more_labels=more_labels,
    )
    read_options.check(file, kind)
    try:
        if kind == "native":
            return _read_native(file, read_options)
        read = read_counts if kind in COUNT_FORMATS else read_texts
        return Corpus.from_parts(read(file, kind, read_options))
    except CorpusError as error:
        # What the assembler refuses has no file name yet.
        if str(error).startswith(str(file)):
            raise
        raise file_error(file, 0, str(error)) from None


def _read_native(path: File, options: ReadOptions) -> Corpus:
    if not isinstance(path, Path) or path.is_file():
        raise file_error(path, 0, "this is a file, expected the folder of a saved corpus")
    corpus = Corpus.load(path)
    if options.vocabulary is not None:
        corpus = corpus.with_vocabulary(options.vocabulary)
    if options.label_kind is not None and corpus.labels is not None:
        corpus = corpus.with_labels(corpus.labels, kind=options.label_kind)
    return corpus
