"""Writing a corpus as an svmlight file, which many other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np

from ppl_topics._util.output_files import written_text
from ppl_topics.corpus.corpus import Corpus
from ppl_topics.corpus.labels import Labels
from ppl_topics.corpus.token_arrays import document_chunks, run_lengths
from ppl_topics.errors import CorpusError

__all__ = ["write_svmlight"]


def write_svmlight(corpus: Corpus, path: str | Path, vocabulary_path: str | Path | None = None) -> None:
    """Write a corpus as ``label id:count id:count ...``, one document a line, word ids from 1.

    The files appear complete or not at all. The format has no document ids and no covariates.

    Parameters
    ----------
    corpus : Corpus
        The corpus. A class is written as its name if all names are whole numbers, otherwise as its position,
        from 1, in ``corpus.labels.classes``; several labels as ``1,3``. A missing class, real number or count is
        left out, and so is an empty set of labels.
    path : str or pathlib.Path
        The file; a name that ends in ``.gz`` or ``.zst`` is compressed.
    vocabulary_path : str or pathlib.Path, optional
        Where to write the words, one a line.

    Raises
    ------
    CorpusError
        If the labels have several columns of numbers, part of a document's multi-label is missing, a word
        contains a line break, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ppl_topics.corpus import Corpus
    >>> corpus = Corpus.from_tokens([["cat", "cat", "milk"], ["dog"]], labels=["feline", "canine"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.svmlight")
    ...     write_svmlight(corpus, path)
    ...     print(path.read_text())
    2 1:2 3:1
    1 2:1
    <BLANKLINE>
    """
    labels = _label_texts(corpus)
    vocabulary = None if vocabulary_path is None else _vocabulary_text(corpus)
    with written_text(Path(path), CorpusError) as file:
        for start, stop in document_chunks(corpus.doc_ptr):
            _write_documents(file, corpus, labels, start, stop)
    if vocabulary_path is not None and vocabulary is not None:
        with written_text(Path(vocabulary_path), CorpusError) as file:
            file.write(vocabulary)


def _write_documents(file: IO[str], corpus: Corpus, labels: list[str], start: int, stop: int) -> None:
    first, last = int(corpus.doc_ptr[start]), int(corpus.doc_ptr[stop])
    indptr, ids, counts = run_lengths(corpus.doc_ptr[start : stop + 1] - first, corpus.words[first:last])
    pairs = [f"{word_id}:{count}" for word_id, count in zip((ids + 1).tolist(), counts.tolist(), strict=True)]
    bounds = indptr.tolist()
    for label, begin, end in zip(labels[start:stop], bounds[:-1], bounds[1:], strict=True):
        line = " ".join([label, *pairs[begin:end]] if label else pairs[begin:end])
        # Readers skip blank lines; a count of zero makes an empty document.
        file.write((line or "1:0") + "\n")


def _label_texts(corpus: Corpus) -> list[str]:
    labels = corpus.labels
    if labels is None:
        return [""] * corpus.n_docs
    missing = labels.missing
    if labels.kind == "class":
        names = [*_class_numbers(labels), ""]
        return [names[code] for code in labels.values.tolist()]
    if labels.kind == "multi_label":
        if missing.any():
            raise CorpusError(
                f"document {int(np.argmax(missing.any(axis=1)))} has a missing label among several, which "
                "svmlight cannot distinguish from one that does not apply; use Corpus.save"
            )
        names = _class_numbers(labels)
        return [",".join(names[at] for at in np.flatnonzero(row == 1)) for row in labels.values]
    if labels.values.ndim > 1:
        raise CorpusError(
            f"svmlight has one label per document, but this corpus has {labels.values.shape[1]}; write each column "
            "separately, or use Corpus.save"
        )
    # repr is the shortest text that reads back as the same number.
    return ["" if gone else repr(value) for gone, value in zip(missing, labels.values.tolist(), strict=True)]


def _class_numbers(labels: Labels) -> list[str]:
    names = list(labels.classes)
    if all(name.isascii() and name.removeprefix("-").isdigit() for name in names):
        return names
    return [str(at) for at in range(1, len(names) + 1)]


def _vocabulary_text(corpus: Corpus) -> str:
    for word in corpus.vocabulary:
        if not word.strip() or word != word.strip(" \t\r") or "\n" in word:
            raise CorpusError(f"the word {word!r} cannot be written on a line of a vocabulary file")
    return "\n".join(corpus.vocabulary) + "\n"
