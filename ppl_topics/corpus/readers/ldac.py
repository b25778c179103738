"""LDA-C files: ``n_pairs id:count id:count ...``, word ids from 0."""

from __future__ import annotations

from collections.abc import Iterator

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.bags import Bag, parse_id, parse_pairs
from ppl_topics.corpus.readers.lines import file_error, numbered_lines

__all__ = ["read_ldac"]


def read_ldac(path: File, encoding: str = "utf-8") -> Iterator[Bag]:
    """Yield the documents of a file in the format of Blei's ``lda-c``; blank lines are skipped."""
    for line, text in numbered_lines(path, encoding):
        fields = text.split(maxsplit=1)
        if not fields:
            continue
        if ":" in fields[0]:
            raise file_error(path, line, f"found '{fields[0]}' first, expected the number of pairs on the line")
        announced = parse_id(path, line, fields[0], "number of pairs")
        ids, counts = parse_pairs(path, line, fields[1].rstrip() if len(fields) > 1 else "")
        if ids.size != announced:
            raise file_error(
                path, line, f"the line announces {announced} pairs 'id:count', but has {ids.size}; is it truncated?"
            )
        yield Bag(line, ids, counts)
