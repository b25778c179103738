"""Word ids and counts as numbers: what the parsers of all count formats share."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ppl_topics._util.arrays import IntArray
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.lines import file_error

__all__ = ["MAX_COUNT", "MAX_ID", "Bag", "LabelValue", "parse_count", "parse_id", "parse_pairs"]

LabelValue = int | float | str | list[str] | None

MAX_ID = 2**31 - 1
# More of one word in one document is a mistake that would take gigabytes.
MAX_COUNT = 10**8

# With so few digits, a match is within both bounds and needs no further check.
_PLAIN_PAIRS = re.compile(r"[0-9]{1,9}:[0-9]{1,8}(?:[ \t]+[0-9]{1,9}:[0-9]{1,8})*+", re.ASCII)
# Possessive, or a long row of digits that ends in a letter would be split in every possible way.
_NUMBER = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?|[+-]?(?:inf|nan)", re.A | re.I)


class Bag(NamedTuple):
    """One document of a count format: its line (0 if it has none), word ids as in the file, counts, and label.

    Ids may repeat; both arrays have shape (n_pairs,). The label is None if the document has none.
    """

    line: int
    ids: IntArray
    counts: IntArray
    label: LabelValue = None


def parse_pairs(path: File, line: int, text: str) -> tuple[IntArray, IntArray]:
    """Parse ``id:count id:count ...`` into ids and counts; no white space around the pairs."""
    if not text:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if _PLAIN_PAIRS.fullmatch(text):
        numbers = np.fromstring(text.replace(":", " "), dtype=np.int64, sep=" ")
        return numbers[0::2], numbers[1::2]
    ids: list[int] = []
    counts: list[int] = []
    for pair in text.split():
        word_id, colon, count = pair.partition(":")
        if not colon:
            raise file_error(path, line, f"found '{pair}', expected a pair 'id:count' such as '17:2'")
        ids.append(parse_id(path, line, word_id))
        counts.append(parse_count(path, line, count, f"of word id {word_id}"))
    return np.array(ids, np.int64), np.array(counts, np.int64)


def parse_id(path: File, line: int, text: str, what: str = "word id") -> int:
    """Parse a whole number from 0 to ``MAX_ID``."""
    if not (text.isascii() and text.isdigit()):
        raise file_error(path, line, f"the {what} is '{text}', expected a whole number such as 17")
    # Check the length first: Python refuses to convert thousands of digits, even zeros.
    digits = text.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > MAX_ID:
        raise file_error(path, line, f"the {what} {text[:20]} is too large, expected at most {MAX_ID}")
    return int(digits)


def parse_count(path: File, line: int, text: str, of: str) -> int:
    """Parse a count, which may be written as 2.0 but must be whole and not negative."""
    if not _NUMBER.fullmatch(text):
        raise file_error(path, line, f"the count {of} is '{text}', expected a whole number such as 2")
    value = float(text)
    if not 0 <= value <= MAX_COUNT or value != int(value):
        raise file_error(
            path,
            line,
            f"the count {of} is {text}, expected a whole number from 0 to {MAX_COUNT}; "
            "topic models need word counts, not weights such as tf-idf",
        )
    return int(value)
