"""Documents of the text formats, and the columns that they are read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ppl_topics._util.argument_names import argument
from ppl_topics._util.nearest import did_you_mean
from ppl_topics.corpus.readers.lines import file_error

__all__ = ["Cell", "Columns", "Record", "check_columns", "well_formed"]

Cell = str | int | float | bool | list[str] | None


class Columns(NamedTuple):
    """Names of the columns to read, None for those without a column."""

    text: str
    label: str | None = None
    id: str | None = None
    covariates: tuple[str, ...] = ()

    def wanted(self) -> list[str]:
        """Return all names that are not None, that of the text first."""
        return [name for name in (self.text, self.label, self.id, *self.covariates) if name is not None]

    def named(self) -> list[tuple[str, object]]:
        """Return the arguments that name columns, always that of the text, with their values."""
        chosen = [(argument("label_column"), self.label), (argument("id_column"), self.id)]
        given: list[tuple[str, object]] = [(name, value) for name, value in chosen if value is not None]
        names = [(f"a name in {argument('covariates')}", value) for value in self.covariates]
        return [(argument("text_column"), self.text), *given, *names]


class Record(NamedTuple):
    """One document of a text format, and the line of the file on which it starts; None is a missing value."""

    line: int
    text: str
    label: Cell = None
    doc_id: str | None = None
    covariates: tuple[Cell, ...] = ()


def check_columns(path: Path, line: int, wanted: Iterable[str], present: Sequence[str], where: str) -> None:
    """Refuse columns that are missing from ``where``, "the header" or "the object"."""
    for name in wanted:
        if name not in present:
            listed = ", ".join(present[:20]) + (", ..." if len(present) > 20 else "")
            hint = did_you_mean(name, present)
            raise file_error(path, line, f"{where} has no column '{name}', only {listed}{hint}")


def well_formed(text: str) -> str:
    """Join surrogate pairs, and replace half pairs, which JSON allows but UTF-8 does not."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
