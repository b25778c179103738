"""From the records of a text format to a corpus."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.corpus.build import CorpusBuilder
from ppl_topics.corpus.core import Corpus
from ppl_topics.corpus.readers.annotations import Annotations
from ppl_topics.corpus.readers.delimited import read_delimited
from ppl_topics.corpus.readers.jsonl import read_jsonl
from ppl_topics.corpus.readers.mallet import read_mallet
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.texts import text_analyzer

__all__ = ["read_texts"]


def read_texts(path: Path, kind: str, options: ReadOptions) -> Corpus:
    """Read a file of texts, one after another, and cut them into tokens.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    kind : {"jsonl", "csv", "tsv", "mallet"}
        Its format.
    options : ReadOptions
        What to do with it.

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusError
        If the file is not what its format demands, or lacks a column.
    """
    columns = options.columns
    if kind == "jsonl":
        records = read_jsonl(path, columns, options.encoding)
    elif kind == "mallet":
        records = read_mallet(path, options.encoding)
    else:
        records = read_delimited(path, columns, "," if kind == "csv" else "\t", options.encoding)
    analyze = text_analyzer(
        stop_words=options.stop_words or None,
        lowercase=options.lowercase,
        token_pattern=options.token_pattern,
    )
    builder = CorpusBuilder(options.vocabulary)
    annotations = Annotations(path, columns.covariates, typed=kind == "jsonl")
    for record in records:
        builder.add_tokens(analyze(record.text))
        annotations.add(record.line, record.label, record.doc_id, record.covariates)
    # MALLET users often give all documents one name.
    known = annotations.arguments(options.label_kind, labelled=columns.label is not None, unique_ids=kind != "mallet")
    return builder.build(**known, **options.thresholds, name=options.name)
