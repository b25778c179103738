"""svmlight and LIBSVM files: ``label id:count id:count ... # comment``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from ppl_topics._util.argument_names import argument
from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.bags import Bag, LabelValue, parse_pairs
from ppl_topics.corpus.readers.lines import file_error, numbered_lines

__all__ = ["read_svmlight"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


def read_svmlight(path: File, encoding: str = "utf-8") -> Iterator[Bag]:
    """Yield the documents of an svmlight file; blank lines and comments are skipped, ``qid:`` is ignored.

    The label is an int, a float, a list of str for ``1,3``, or None if the line starts with a pair: a missing label, or
    an empty set of labels.
    """
    for line, text in numbered_lines(path, encoding):
        content = text.partition("#")[0].strip()
        if not content:
            continue
        first, *rest = content.split(maxsplit=1)
        label: LabelValue = None
        pairs = content
        if ":" not in first:
            label = _parse_label(path, line, first)
            pairs = rest[0] if rest else ""
        if pairs.startswith("qid:"):
            pairs = "".join(pairs.split(maxsplit=1)[1:])
        ids, counts = parse_pairs(path, line, pairs)
        yield Bag(line, ids, counts, label)


def _parse_label(path: File, line: int, text: str) -> LabelValue:
    if "," in text:
        labels = [part for part in text.split(",") if part]
        for part in labels:
            _parse_number(path, line, part)
        return labels
    return _parse_number(path, line, text)


def _parse_number(path: File, line: int, text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        # Python would read 1_0 as ten.
        number = float(text.replace("_", "?"))
    except ValueError:
        raise file_error(
            path,
            line,
            f"the label is '{text}', expected a number first on the line, as in '1 17:2 40:1'; "
            f"for another format give {argument('format')}",
        ) from None
    if math.isinf(number):
        raise file_error(path, line, f"the label is {text}, expected a finite number")
    return number
