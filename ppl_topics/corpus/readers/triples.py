"""Rows of three numbers, ``document word count``: what UCI and Matrix Market files share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import IntArray
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.bags import Bag, parse_count, parse_id
from ppl_topics.corpus.readers.limits import max_unused
from ppl_topics.corpus.readers.lines import file_error

__all__ = ["MAX_EMPTY", "SIZES", "OutOfOrderError", "Shape", "read_triples"]

# A header may not announce more documents or words than this, unless the entries mention them.
MAX_EMPTY = 50_000_000

SIZES = ("number of documents", "number of words", "number of entries")
"""What the numbers of a header are."""

_BLOCK = 1 << 16
_PLAIN_ROWS = re.compile(r"(?:[0-9]{1,9} [0-9]{1,9} [0-9]{1,8}(?:\.0*)?\n)*+", re.ASCII)


class OutOfOrderError(Exception):
    """The rows of a document are not consecutive; read again with ``sort=True``."""


class Shape(NamedTuple):
    """What the header of a file announces, and the line of that header."""

    line: int
    n_docs: int
    n_words: int
    n_entries: int


class _Block(NamedTuple):
    lines: IntArray
    rows: IntArray

    @classmethod
    def joined(cls, blocks: list[_Block]) -> _Block:
        return cls(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def read_triples(
    path: File, lines: Iterator[tuple[int, str]], shape: Shape, *, n_fields: int = 3, sort: bool = False
) -> Iterator[Bag]:
    """Yield the documents of ``document word count`` rows with ids from 1; those without rows are empty.

    The rows must agree with the header. With two fields there is no count, and it is 1. With ``sort`` all rows are kept
    in memory and ordered by document; without it, an `OutOfOrderError` says that they are not in order.
    """
    if shape.n_docs > max(MAX_EMPTY, shape.n_entries):
        raise file_error(
            path, shape.line, f"the header announces {shape.n_docs} documents for {shape.n_entries} entries"
        )
    blocks = _checked(path, lines, shape, n_fields)
    if sort:
        blocks = _sorted_by_document(blocks)
    doc = n_mentioned = 0
    for piece in _documents(path, blocks):
        here = int(piece.rows[0, 0])
        yield from _empty(here - doc - 1)
        yield Bag(int(piece.lines[0]), piece.rows[:, 1], piece.rows[:, 2])
        doc = here
        n_mentioned += 1
    _check_empty(path, shape.line, shape.n_docs, n_mentioned, shape.n_entries)
    yield from _empty(shape.n_docs - doc)


def _documents(path: File, blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Yield the rows of each document."""
    pending: list[_Block] = []
    n_entries = n_mentioned = 0
    for block in blocks:
        docs = block.rows[:, 0]
        # The last document of a block may continue in the next one.
        if (np.diff(docs) < 0).any() or (pending and docs[0] < pending[0].rows[0, 0]):
            raise OutOfOrderError
        n_entries += docs.size
        starts = [0, *(np.flatnonzero(np.diff(docs)) + 1).tolist(), docs.size]
        for start, end in pairwise(starts):
            if pending and pending[0].rows[0, 0] != docs[start]:
                yield _Block.joined(pending)
                pending = []
            if not pending:
                _check_empty(path, int(block.lines[start]), int(docs[start]), n_mentioned + 1, n_entries)
                n_mentioned += 1
            pending.append(_Block(block.lines[start:end], block.rows[start:end]))
    if pending:
        yield _Block.joined(pending)


def _check_empty(path: File, line: int, n_docs: int, n_mentioned: int, n_entries: int) -> None:
    if n_docs - n_mentioned > max_unused(n_entries):
        raise file_error(
            path,
            line,
            f"there would be {n_docs} documents for {n_entries} entries, nearly all empty; expected ids without gaps",
        )


def _empty(n: int) -> Iterator[Bag]:
    nothing = np.empty(0, np.int64)
    for _ in range(n):
        yield Bag(0, nothing, nothing)


def _sorted_by_document(blocks: Iterator[_Block]) -> Iterator[_Block]:
    held = list(blocks)
    if held:
        lines, rows = _Block.joined(held)
        order = np.argsort(rows[:, 0], kind="stable")
        yield _Block(lines[order], rows[order])


def _checked(path: File, lines: Iterator[tuple[int, str]], shape: Shape, n_fields: int) -> Iterator[_Block]:
    """Yield blocks of rows, each checked against the header."""
    n_entries = 0
    while taken := list(islice(lines, _BLOCK)):
        block = _parse_block(path, taken, n_fields)
        if not block.lines.size:
            continue
        for column, limit, what in ((0, shape.n_docs, "document"), (1, shape.n_words, "word")):
            wrong = (block.rows[:, column] < 1) | (block.rows[:, column] > limit)
            if wrong.any():
                at = int(np.argmax(wrong))
                raise file_error(
                    path,
                    int(block.lines[at]),
                    f"the {what} id is {block.rows[at, column]}, expected 1 to {limit} "
                    f"as announced on line {shape.line}",
                )
        n_entries += block.lines.size
        yield block
    if n_entries != shape.n_entries:
        raise file_error(
            path,
            shape.line,
            f"the header announces {shape.n_entries} entries, but the file has {n_entries}; is it truncated?",
        )


def _parse_block(path: File, taken: list[tuple[int, str]], n_fields: int) -> _Block:
    text = "\n".join(line for _, line in taken) + "\n"
    if n_fields == 3 and _PLAIN_ROWS.fullmatch(text):
        # float64 is exact for nine digits, and reads counts written as 2.0.
        numbers = np.fromstring(text, dtype=np.float64, sep=" ").astype(np.int64)
        return _Block(np.arange(taken[0][0], taken[-1][0] + 1), numbers.reshape(-1, 3))
    rows: list[tuple[int, int, int]] = []
    at: list[int] = []
    for line, row in taken:
        fields = row.split()
        if not fields or fields[0].startswith("%"):
            continue
        if len(fields) != n_fields:
            expected = "'document word count'" if n_fields == 3 else "'document word'"
            raise file_error(path, line, f"found {len(fields)} fields, expected the {n_fields} numbers {expected}")
        doc, word = parse_id(path, line, fields[0], "document id"), parse_id(path, line, fields[1])
        count = parse_count(path, line, fields[2], f"of word id {word}") if n_fields == 3 else 1
        rows.append((doc, word, count))
        at.append(line)
    return _Block(np.array(at, np.int64), np.array(rows, np.int64).reshape(-1, 3))
