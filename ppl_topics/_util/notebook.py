"""Pieces of HTML that notebooks show: all text escaped, in the colours of the page around them, without scripts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

from ppl_topics.errors import on_one_line

__all__ = ["facts", "fragment", "line", "listing", "note", "preformatted", "shown", "table"]

MOST_CHARACTERS = 80
"""Characters of a text that is shown, such as a word or the name of a class."""


def shown(text: object) -> str:
    """Return a text for HTML: escaped, on one line, shortened, and without effect on the direction of what follows.

    Examples
    --------
    >>> shown("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    line = on_one_line(str(text))
    return f"<bdi>{escape(line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 1] + '…')}</bdi>"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Return names and values in a row, which wraps; a list is shown item by item."""
    style = "display:inline-block;margin-right:1.5em"
    each = (
        f'<span style="{style}"><small>{escape(name)}</small> <b>{_cell(value)}</b></span>' for name, value in pairs
    )
    return f"<div>{' '.join(each)}</div>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, text: Collection[str] = ()) -> str:
    """Return a table; the cells of the columns in ``text`` are aligned left, and a list is shown item by item."""
    styles = [f'style="text-align:{"left" if column in text else "right"}"' for column in columns]
    head = "".join(f"<th {style}>{escape(column)}</th>" for style, column in zip(styles, columns, strict=True))
    lines = (
        "".join(f"<td {style}>{_cell(cell)}</td>" for style, cell in zip(styles, row, strict=True)) for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def listing(items: Iterable[str]) -> str:
    """Return sentences as a list."""
    return f"<ul>{''.join(f'<li>{_whole(item)}</li>' for item in items)}</ul>"


def line(text: str) -> str:
    """Return a sentence."""
    return f"<div>{_whole(text)}</div>"


def note(text: str) -> str:
    """Return a sentence in small letters."""
    return f"<div><small>{_whole(text)}</small></div>"


def preformatted(text: str) -> str:
    """Return lines of text as they are, in a box that scrolls."""
    lines = "\n".join(map(_whole, text.split("\n")))
    return f'<pre style="max-height:30em;overflow:auto;color:inherit;background:none">{lines}</pre>'


def fragment(title: str, *parts: str) -> str:
    """Return a title above parts of HTML."""
    return f'<div style="color:inherit"><div><b>{shown(title)}</b></div>{"".join(parts)}</div>'


def _whole(text: str) -> str:
    return escape(on_one_line(text))


def _cell(value: object) -> str:
    """Return a cell, which is one text or several."""
    return ", ".join(map(shown, value)) if isinstance(value, list) else shown(value)
