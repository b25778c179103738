"""Documents of the text formats, and the columns that they are read from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ppl_topics._util.argument_names import argument
from ppl_topics._util.nearest import did_you_mean
from ppl_topics.corpus.readers.lines import file_error

__all__ = ["Cell", "Columns", "Record", "check_columns", "shown", "typed_record"]

Cell = str | int | float | bool | list[str] | None


class Columns(NamedTuple):
    """Names of the columns to read, None for those without a column."""

    text: str
    label: str | None = None
    id: str | None = None
    covariates: tuple[str, ...] = ()
    more_labels: tuple[str, ...] = ()

    def wanted(self) -> list[str]:
        """Return all names that are not None, that of the text first."""
        names = (self.text, self.label, self.id, *self.covariates, *self.more_labels)
        return [name for name in names if name is not None]

    def named(self) -> list[tuple[str, object]]:
        """Return the arguments that name columns, always that of the text, with their values."""
        chosen = [(argument("label_column"), self.label), (argument("id_column"), self.id)]
        given: list[tuple[str, object]] = [(name, value) for name, value in chosen if value is not None]
        names = [(f"a name in {argument('covariates')}", value) for value in self.covariates]
        names += [(f"a name in {argument('more_labels')}", value) for value in self.more_labels]
        return [(argument("text_column"), self.text), *given, *names]


class Record(NamedTuple):
    """One document of a text format, and the line of the file on which it starts; None is a missing value.

    The text may be a list of its tokens.
    """

    line: int
    text: str | list[str]
    label: Cell = None
    doc_id: str | None = None
    covariates: tuple[Cell, ...] = ()
    more_labels: tuple[Cell, ...] = ()


def check_columns(path: object, line: int, wanted: Iterable[str], present: Sequence[str], where: str) -> None:
    """Refuse columns that are missing from ``where``, such as "the header"."""
    for name in wanted:
        if name not in present:
            listed = ", ".join(present[:20]) + (", ..." if len(present) > 20 else "")
            hint = did_you_mean(name, present)
            raise file_error(path, line, f"{where} has no column '{name}', only {listed}{hint}")


def typed_record(path: object, line: int, columns: Columns, entry: Mapping[str, Any]) -> Record:
    """Return a document from values that have types, as they have in JSON and Parquet.

    A label is a string, a number, a boolean, a list of strings or numbers (several labels), or None (missing).
    """
    text = entry[columns.text]
    tokens = isinstance(text, list) and all(isinstance(token, str) for token in text)
    if not tokens and not isinstance(text, str):
        raise file_error(path, line, f"'{columns.text}' is {shown(text)}, expected a string or a list of its tokens")
    return Record(
        line,
        [_well_formed(token) for token in text] if tokens else _well_formed(text),
        _label(path, line, columns.label, entry[columns.label]) if columns.label is not None else None,
        _doc_id(path, line, columns.id, entry[columns.id]) if columns.id is not None else None,
        tuple(_scalar(path, line, name, entry[name]) for name in columns.covariates),
        tuple(_label(path, line, name, entry[name]) for name in columns.more_labels),
    )


def shown(value: object) -> str:
    """Return a value for a message, as JSON writes it."""
    try:
        text = json.dumps(value, default=str)
    except RecursionError:
        return "nested very deeply"
    return text if len(text) <= 40 else text[:37] + "..."


def _label(path: object, line: int, name: str, value: object) -> Cell:
    if isinstance(value, list):
        return [str(_scalar(path, line, name, part)) for part in value]
    return _scalar(path, line, name, value)


def _doc_id(path: object, line: int, name: str, value: object) -> str:
    if isinstance(value, str):
        return _well_formed(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise file_error(path, line, f"the id '{name}' is {shown(value)}, expected a string or a whole number")


def _scalar(path: object, line: int, name: str, value: object) -> Cell:
    if isinstance(value, str):
        return _well_formed(value)
    if isinstance(value, float) and math.isinf(value):
        raise file_error(path, line, f"'{name}' is infinite, expected a finite number")
    if value is None or isinstance(value, bool | int | float):
        return value
    raise file_error(path, line, f"'{name}' is {shown(value)}, expected a string, a number, true, false or null")


def _well_formed(text: str) -> str:
    """Join surrogate pairs, and replace half pairs, which JSON allows but UTF-8 does not."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
