"""Folders that `Corpus.save` wrote, with what a caller of `read_corpus` may still ask of them."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.corpus.core import Corpus
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.stream import fail

__all__ = ["read_native"]


def read_native(path: Path, options: ReadOptions) -> Corpus:
    """Open a saved corpus, and go over to another vocabulary or kind of labels if asked.

    Parameters
    ----------
    path : pathlib.Path
        The folder.
    options : ReadOptions
        Only ``vocabulary`` and ``label_kind`` apply.

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusError
        If the folder holds no corpus.
    """
    if path.is_file():
        raise fail(path, 0, "this is a file, expected the folder of a saved corpus")
    corpus = Corpus.load(path)
    if options.vocabulary is not None:
        corpus = corpus.with_vocabulary(options.vocabulary)
    if options.label_kind is not None and corpus.labels is not None:
        corpus = corpus.with_labels(corpus.labels, kind=options.label_kind)
    return corpus
