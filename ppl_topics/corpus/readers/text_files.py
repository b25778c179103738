"""From the records of a text format to a corpus."""

from __future__ import annotations

from pathlib import Path

from ppl_topics.corpus.assembler import CorpusAssembler
from ppl_topics.corpus.parts import CorpusParts
from ppl_topics.corpus.readers.annotations import Annotations
from ppl_topics.corpus.readers.delimited import read_delimited
from ppl_topics.corpus.readers.jsonl import read_jsonl
from ppl_topics.corpus.readers.mallet import read_mallet
from ppl_topics.corpus.readers.options import ReadOptions

__all__ = ["read_texts"]


def read_texts(path: Path, kind: str, options: ReadOptions) -> CorpusParts:
    """Read a file of texts, one after another, whose format is jsonl, csv, tsv or mallet, and cut them into tokens."""
    columns = options.columns
    if kind == "jsonl":
        records = read_jsonl(path, columns, options.encoding)
    elif kind == "mallet":
        records = read_mallet(path, options.encoding)
    else:
        records = read_delimited(path, columns, "," if kind == "csv" else "\t", options.encoding)
    analyze = options.text.analyzer()
    assembler = CorpusAssembler(options.vocabulary)
    annotations = Annotations(path, columns.covariates, typed=kind == "jsonl")
    for record in records:
        assembler.add_tokens(analyze(record.text))
        annotations.add(record.line, record.label, record.doc_id, record.covariates)
    # MALLET users often give all documents the same name.
    known = annotations.arguments(options.label_kind, labelled=columns.label is not None, unique_ids=kind != "mallet")
    known["name"] = options.name
    with annotations.located():
        return assembler.assemble(pruning=options.text, **known)
