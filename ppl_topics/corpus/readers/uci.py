"""UCI bag-of-words files: three header lines, then ``document word count`` with ids from 1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ppl_topics.corpus.readers.bags import Bag, parse_id
from ppl_topics.corpus.readers.stream import fail, numbered_lines
from ppl_topics.corpus.readers.triples import Shape, read_triples

__all__ = ["read_uci"]

_HEADER = ("number of documents", "number of words", "number of entries")


def read_uci(path: Path, encoding: str = "utf-8", *, sort: bool = False) -> tuple[Shape, Iterator[Bag]]:
    """Read a ``docword.*.txt`` file of the UCI repository.

    Parameters
    ----------
    path : pathlib.Path
        The file, plain or compressed.
    encoding : str, default "utf-8"
        Text encoding.
    sort : bool, default False
        Whether to order the rows by document first.

    Returns
    -------
    shape : Shape
        What the three header lines announce.
    bags : iterator of Bag
        The documents, see :func:`read_triples`.

    Raises
    ------
    CorpusError
        If the header or a row is not of this form, or they disagree.
    """
    lines = numbered_lines(path, encoding)
    header: list[int] = []
    for what in _HEADER:
        line, text = next(lines, (len(header) + 1, ""))
        if not text.strip():
            raise fail(path, line, f"the header has no {what}, expected it alone on line {len(header) + 1}")
        header.append(parse_id(path, line, text.strip(), what))
    shape = Shape(1, *header)
    return shape, read_triples(path, lines, shape, sort=sort)
