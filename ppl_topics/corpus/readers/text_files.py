"""From the records of a text format to a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ppl_topics.corpus.assembler import CorpusAssembler
from ppl_topics.corpus.keywords import DocumentKeywords
from ppl_topics.corpus.parts import CorpusParts
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.annotations import Annotations
from ppl_topics.corpus.readers.delimited import read_delimited
from ppl_topics.corpus.readers.jsonl import read_jsonl
from ppl_topics.corpus.readers.mallet import read_mallet
from ppl_topics.corpus.readers.options import ReadOptions
from ppl_topics.corpus.readers.parquet import Partition, read_parquet, read_partition
from ppl_topics.corpus.readers.records import Record

__all__ = ["document_keywords", "new_annotations", "read_records", "read_texts"]


def read_texts(path: File, kind: str, options: ReadOptions) -> CorpusParts:
    """Read a file of one of the `TEXT_FORMATS`, one text after another, and cut the texts into tokens."""
    analyze = options.text.analyzer()
    assembler = CorpusAssembler(options.vocabulary)
    annotations = new_annotations(path, kind, options)
    for record in read_records(path, kind, options):
        assembler.add_tokens(analyze(record.text))
        annotations.add(record.line, record.label, record.doc_id, record.covariates, record.more_labels)
    known = document_keywords(annotations, kind, options)
    with annotations.located():
        made = assembler.assemble(pruning=options.text, **known)
        return replace(made, more_labels=annotations.more_labels())


def read_records(source: File | Partition, kind: str, options: ReadOptions) -> Iterator[Record]:
    """Yield the documents of a file of one of the `TEXT_FORMATS`, or of a partition."""
    columns, encoding = options.columns, options.encoding
    if isinstance(source, Partition):
        return read_partition(source, columns)
    if kind == "parquet":
        return read_parquet(source, columns)
    if kind == "jsonl":
        return read_jsonl(source, columns, encoding)
    if kind == "mallet":
        return read_mallet(source, encoding)
    return read_delimited(source, columns, "," if kind == "csv" else "\t", encoding)


def new_annotations(source: object, kind: str, options: ReadOptions) -> Annotations:
    """Return what gathers the labels, ids and covariates of a file."""
    columns = options.columns
    return Annotations(source, columns.covariates, typed=kind in ("jsonl", "parquet"), more_labels=options.more_kinds)


def document_keywords(annotations: Annotations, kind: str, options: ReadOptions) -> DocumentKeywords:
    """Return what was gathered, and the name of the corpus, as keyword arguments."""
    labelled = options.columns.label is not None
    # MALLET users often give all documents the same name.
    known = annotations.arguments(options.label_kind, labelled=labelled, unique_ids=kind != "mallet")
    known["name"] = options.name
    return known
