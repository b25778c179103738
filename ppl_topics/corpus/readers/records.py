"""Documents of the text formats, and the choice of columns that make one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ppl_topics.corpus.readers.stream import fail, nearest

__all__ = ["Cell", "Columns", "Record", "check_columns", "well_formed"]

Cell = str | int | float | bool | list[str] | None


class Columns(NamedTuple):
    """Names of the columns to read; None where there is none.

    Attributes
    ----------
    text, label, id : str or None
        Columns of the text, the label and the document's id.
    covariates : tuple of str
        Columns of the covariates.
    """

    text: str
    label: str | None = None
    id: str | None = None
    covariates: tuple[str, ...] = ()

    def wanted(self) -> list[str]:
        """List all names that are not None, the text first."""
        return [name for name in (self.text, self.label, self.id, *self.covariates) if name is not None]

    def named(self) -> list[tuple[str, object]]:
        """List the arguments that name columns, the text's always, with their values."""
        chosen = [("label_column", self.label), ("id_column", self.id)]
        given: list[tuple[str, object]] = [(name, value) for name, value in chosen if value is not None]
        return [("text_column", self.text), *given, *(("a name in covariates", value) for value in self.covariates)]


class Record(NamedTuple):
    """One document of a text format.

    Attributes
    ----------
    line : int
        Line of the file that the document begins on.
    text : str
        The text.
    label : str, int, float, bool, list of str or None
        The label, None where it is missing.
    doc_id : str or None
        The document's id.
    covariates : tuple of (str, int, float, bool or None)
        One value per covariate column.
    """

    line: int
    text: str
    label: Cell = None
    doc_id: str | None = None
    covariates: tuple[Cell, ...] = ()


def check_columns(path: Path, line: int, wanted: Iterable[str], present: Sequence[str], where: str) -> None:
    """Refuse columns that are not there.

    Parameters
    ----------
    path, line
        The file, and the line that lacks the column.
    wanted : iterable of str
        Columns asked for.
    present : sequence of str
        Columns there are.
    where : str
        What lacks the column: "the header" or "the object".

    Raises
    ------
    CorpusError
        If a wanted column is missing; the message lists those present and names the nearest.
    """
    for name in wanted:
        if name not in present:
            listed = ", ".join(present[:20]) + (", ..." if len(present) > 20 else "")
            raise fail(path, line, f"{where} has no column '{name}', only {listed}{nearest(name, list(present))}")


def well_formed(text: str) -> str:
    """Join surrogate pairs, and replace the halves of pairs that JSON lets through and UTF-8 cannot hold."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
