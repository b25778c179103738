"""MALLET's import format: ``name label text ...``, one document a line."""

from __future__ import annotations

from collections.abc import Iterator

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.records import Record

__all__ = ["read_mallet"]


def read_mallet(path: File, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the documents of a file for ``mallet import-file``: id, label, text. Blank lines are skipped."""
    for line, source in numbered_lines(path, encoding):
        fields = source.split(maxsplit=2)
        if not fields:
            continue
        if len(fields) == 1:
            raise file_error(path, line, f"found '{fields[0][:40]}' alone, expected 'name label text ...'")
        name, label, *text = fields
        yield Record(line, "".join(text), label, name)
