"""The parts of the report: sections, each with its content or a sentence on why it has none, and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import xarray as xr

from ppl_topics.errors import PplTopicsError

__all__ = ["Cell", "Column", "Groups", "Section", "Table", "attempt", "chain_and_draw", "sentence"]

Groups = Mapping[str, xr.Dataset]
Part = TypeVar("Part")


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    value : float, optional
        What the column is sorted by.
    topic : int, optional
        The topic that the cell names; it leads to the topic in the browser.
    view : int
        Where each response has topics of its own: the position of the response.
    drawing : str
        Safe markup of a small drawing, beside the text.
    """

    text: str
    value: float | None = None
    topic: int | None = None
    view: int = 0
    drawing: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    text : bool
        Whether it holds text; numbers stand at the right.
    meaning : str
        What a reader may not know of it.
    """

    name: str
    text: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Attributes
    ----------
    caption : str
    columns : sequence of Column
        The first one names the rows.
    rows : sequence of sequences of Cell
    sortable : bool
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    sortable: bool = False


@dataclass
class Section:
    """A section of the page.

    Attributes
    ----------
    name : str
        Its anchor, and that of its template.
    title : str
    absent : str
        Why there is none, if so: a sentence.
    notes : list of str
        Sentences below the heading.
    parts : dict
        What the template shows.
    """

    name: str
    title: str
    absent: str = ""
    notes: list[str] = field(default_factory=list)
    parts: dict[str, Any] = field(default_factory=dict)

    def add(self, key: str, make: Callable[[], Any], *, without: str = "") -> None:
        """Add a part, or a note that says why it is missing, beginning with ``without``."""
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
    """Return a message as a sentence, with a capital at its beginning and a full stop at its end.

    Examples
    --------
    >>> sentence("the trace has no draws")
    'The trace has no draws.'
    >>> sentence("topic_share has 3 effective draws")
    'topic_share has 3 effective draws.'
    """
    text = " ".join(text.split())
    # Names of variables are left as they are.
    if "_" not in text.split(" ")[0] and not text.startswith("lp "):
        text = text[:1].upper() + text[1:]
    return text + ("" if text.endswith((".", "!", "?")) else ".")


def chain_and_draw(array: xr.DataArray) -> bool:
    """Return True if an array holds at least one draw of numbers."""
    return {"chain", "draw"} <= set(array.dims) and array.size > 0 and array.dtype.kind in "biuf"
