"""UCI bag-of-words files: three header lines, then ``document word count`` with ids from 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ppl_topics.corpus.readers.bags import Bag, parse_id
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.triples import Shape, read_triples

__all__ = ["read_uci"]

_HEADER = ("number of documents", "number of words", "number of entries")


def read_uci(path: Path, encoding: str = "utf-8", *, sort: bool = False) -> tuple[Shape, Iterator[Bag]]:
    """Return the sizes of a ``docword.*.txt`` file of the UCI repository, and its documents; see `read_triples`."""
    lines = numbered_lines(path, encoding)
    header: list[int] = []
    for what in _HEADER:
        line, text = next(lines, (len(header) + 1, ""))
        if not text.strip():
            raise file_error(path, line, f"the header has no {what}, expected it alone on line {len(header) + 1}")
        header.append(parse_id(path, line, text.strip(), what))
    shape = Shape(1, *header)
    return shape, read_triples(path, lines, shape, sort=sort)
