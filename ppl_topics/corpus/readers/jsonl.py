"""JSON Lines: one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ppl_topics.corpus.readers.addresses import File
from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.records import Columns, Record, check_columns, shown, typed_record

__all__ = ["read_jsonl"]


def read_jsonl(path: File, columns: Columns, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the documents of a JSON Lines file, see `typed_record`; blank lines are skipped."""
    wanted = columns.wanted()
    for line, source in numbered_lines(path, encoding):
        if not source.strip():
            continue
        entry = _parse_object(path, line, source)
        check_columns(path, line, wanted, list(entry), "the object")
        yield typed_record(path, line, columns, entry)


def _parse_object(path: File, line: int, source: str) -> dict[str, Any]:
    try:
        entry = json.loads(source)
    except json.JSONDecodeError as error:
        raise file_error(path, line, f"this is not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or thousands of nested lists.
        raise file_error(path, line, f"this JSON cannot be read: {error}") from None
    if not isinstance(entry, dict):
        raise file_error(path, line, f'found {shown(entry)}, expected a JSON object such as {{"text": "..."}}')
    return entry
