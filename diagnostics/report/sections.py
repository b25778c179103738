"""The parts of the report: sections, each with its content or a sentence on why it has none, and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ppl_topics.errors import PplTopicsError
from ppl_topics.results.groups import Groups

__all__ = ["Cell", "Column", "Groups", "Row", "Section", "Table", "attempt", "sentence"]

Row: TypeAlias = Mapping[Any, Any]
Part = TypeVar("Part")


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    value: float | None = None  # what the column is sorted by
    topic: int | None = None  # the topic in the browser that the cell links to
    view: int = 0  # position of the response, if each has its own topics
    drawing: str = ""  # safe markup of a small drawing beside the text


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    cell: Callable[[Row], Cell]
    text: bool = False  # text is aligned left, numbers right
    meaning: str = ""  # an explanation for the reader


@dataclass(frozen=True)
class Table:
    """A table with a caption; its first column names the rows."""

    caption: str
    columns: Sequence[Column]
    records: Sequence[Row]
    sortable: bool = False

    @property
    def rows(self) -> list[list[Cell]]:
        """The cells."""
        return [[column.cell(record) for column in self.columns] for record in self.records]


@dataclass
class Section:
    """A section of the page."""

    name: str  # its anchor
    title: str
    absent: str = ""  # why the section is empty, in a sentence
    notes: list[str] = field(default_factory=list)  # sentences below the heading
    parts: dict[str, Any] = field(default_factory=dict)  # what the template shows

    def add(self, key: str, make: Callable[[], Any], *, without: str = "") -> None:
        """Add a part, or a note that starts with ``without`` and says why it is missing."""
        part, why = attempt(make)
        if why:
            self.notes.append(sentence(f"{without}: {why}" if without else why))
        else:
            self.parts[key] = part


def attempt(make: Callable[[], Part]) -> tuple[Part | None, str]:
    """Return what ``make`` returns and "", or None and the reason why it cannot be made.

    Only errors with a message for a person are reasons; any other is a bug and propagates.
    """
    try:
        return make(), ""
    except PplTopicsError as error:
        return None, str(error)


def sentence(text: str) -> str:
    """Return a message as a sentence, with a capital at its start and a full stop at its end.

    Examples
    --------
    >>> sentence("the trace has no draws")
    'The trace has no draws.'
    >>> sentence("topic_share has 3 effective draws")
    'topic_share has 3 effective draws.'
    """
    text = " ".join(text.split())
    # Names of variables keep their case.
    if "_" not in text.split(" ")[0] and not text.startswith("lp "):
        text = text[:1].upper() + text[1:]
    return text + ("" if text.endswith((".", "!", "?")) else ".")
