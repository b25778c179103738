"""MALLET's import format: ``name label text ...``, one document a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ppl_topics.corpus.readers.records import Record
from ppl_topics.corpus.readers.stream import fail, numbered_lines

__all__ = ["read_mallet"]


def read_mallet(path: Path, encoding: str = "utf-8") -> Iterator[Record]:
    """Read a file as ``mallet import-file`` takes it.

    Parameters
    ----------
    path : pathlib.Path
        The file, plain or compressed.
    encoding : str, default "utf-8"
        Text encoding.

    Yields
    ------
    Record
        One document: its id is the first field, its label the second, its text the rest, which may be
        empty. Blank lines are skipped.

    Raises
    ------
    CorpusError
        If a line has fewer than two fields.
    """
    for line, source in numbered_lines(path, encoding):
        fields = source.split(maxsplit=2)
        if not fields:
            continue
        if len(fields) == 1:
            raise fail(path, line, f"found '{fields[0][:40]}' alone, expected 'name label text ...'")
        name, label, *text = fields
        yield Record(line, "".join(text), label, name)
