"""JSON Lines: one object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ppl_topics.corpus.readers.lines import file_error, numbered_lines
from ppl_topics.corpus.readers.records import Cell, Columns, Record, check_columns, well_formed

__all__ = ["read_jsonl"]


def read_jsonl(path: Path, columns: Columns, encoding: str = "utf-8") -> Iterator[Record]:
    """Yield the documents of a JSON Lines file; blank lines are skipped.

    A label is a string, a number, a boolean, a list of strings or numbers (several labels), or null (missing).
    """
    wanted = columns.wanted()
    for line, source in numbered_lines(path, encoding):
        if not source.strip():
            continue
        entry = _parse_object(path, line, source)
        check_columns(path, line, wanted, list(entry), "the object")
        text = entry[columns.text]
        if not isinstance(text, str):
            raise file_error(path, line, f"'{columns.text}' is {_show(text)}, expected a string")
        yield Record(
            line,
            well_formed(text),
            _label(path, line, columns.label, entry[columns.label]) if columns.label is not None else None,
            _doc_id(path, line, columns.id, entry[columns.id]) if columns.id is not None else None,
            tuple(_scalar(path, line, name, entry[name]) for name in columns.covariates),
        )


def _parse_object(path: Path, line: int, source: str) -> dict[str, Any]:
    try:
        entry = json.loads(source)
    except json.JSONDecodeError as error:
        raise file_error(path, line, f"this is not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits, or thousands of nested lists.
        raise file_error(path, line, f"this JSON cannot be read: {error}") from None
    if not isinstance(entry, dict):
        raise file_error(path, line, f'found {_show(entry)}, expected a JSON object such as {{"text": "..."}}')
    return entry


def _label(path: Path, line: int, name: str, value: object) -> Cell:
    if isinstance(value, list):
        return [str(_scalar(path, line, name, part)) for part in value]
    return _scalar(path, line, name, value)


def _doc_id(path: Path, line: int, name: str, value: object) -> str:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise file_error(path, line, f"the id '{name}' is {_show(value)}, expected a string or a whole number")


def _scalar(path: Path, line: int, name: str, value: object) -> Cell:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float) and math.isinf(value):
        raise file_error(path, line, f"'{name}' is infinite, expected a finite number")
    if value is None or isinstance(value, bool | int | float):
        return value
    raise file_error(path, line, f"'{name}' is {_show(value)}, expected a string, a number, true, false or null")


def _show(value: object) -> str:
    try:
        shown = json.dumps(value)
    except RecursionError:
        return "nested very deeply"
    return shown if len(shown) <= 40 else shown[:37] + "..."
