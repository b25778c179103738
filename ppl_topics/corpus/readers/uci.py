"""UCI bag-of-words files: three header lines, then ``document word count`` with ids from 1."""

from __future__ import annotations

from collections.abc import Iterator

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.bags import Bag, parse_id
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.triples import SIZES, Shape, read_triples

__all__ = ["read_uci"]


def read_uci(path: File, encoding: str = "utf-8", *, sort: bool = False) -> tuple[Shape, Iterator[Bag]]:
    """Return the sizes of a ``docword.*.txt`` file of the UCI repository, and its documents; see `read_triples`."""
    lines = numbered_lines(path, encoding)
    header: list[int] = []
    for expected, what in enumerate(SIZES, 1):
        line, text = next(lines, (expected, ""))
        if not text.strip():
            raise file_error(path, line, f"the header has no {what}, expected it alone on line {expected}")
        header.append(parse_id(path, line, text.strip(), what))
    shape = Shape(1, *header)
    return shape, read_triples(path, lines, shape, sort=sort)
