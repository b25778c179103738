"""What commands print: results on standard output, as tables or JSON, and messages on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ppl_topics._util.jsonable import jsonable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["number", "print_frame", "print_json", "print_table", "records", "say", "working", "write_text"]

PIPED_WIDTH = 10_000
"""Columns of a table that is piped: as many as it needs."""


def say(message: str) -> None:
    """Print a message to standard error."""
    print(message, file=sys.stderr, flush=True)


@contextmanager
def working(message: str) -> Iterator[None]:
    """Show a message, on a screen only, while something slow is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(message):
            yield
    else:
        yield


def print_json(data: Any) -> None:
    """Print valid JSON: what is not finite becomes null."""
    print(json.dumps(jsonable(data), indent=2, allow_nan=False))


def number(value: float) -> str:
    """Format a statistic with about three significant digits.

    Examples
    --------
    >>> [number(x) for x in (12345.6, 123.4, 1.2345, 0.01234, float("nan"))]
    ['12,346', '123', '1.23', '0.0123', '-']
    """
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, text: Sequence[str] = ()) -> None:
    """Print a table: one line for each row if it is piped, else no wider than the screen."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    screen = sys.stdout.isatty()
    console = Console(highlight=False, width=None if screen else PIPED_WIDTH)
    table = Table(box=box.SIMPLE_HEAD if screen else None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        heading = Text(column if screen else column.replace("\n", " "))
        if column in text:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        # As Text, so that rich reads no markup in it.
        table.add_row(*map(Text, row))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


def print_frame(table: pd.DataFrame, columns: Mapping[str, str], text: Sequence[str]) -> None:
    """Print the columns of a table that have a heading; see `print_table`."""
    rows = [
        [number(cell) if isinstance(cell, float) else str(cell) for cell in (row[name] for name in columns.values())]
        for row in table.to_dict("records")
    ]
    print_table(list(columns), rows, text=text)


def records(table: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a table for JSON, with their words one by one."""
    return [
        {**row, "words": [word for word in str(row["words"]).split(" ") if word]} for row in table.to_dict("records")
    ]


def write_text(text: str, path: str) -> None:
    """Write a text file, whole or not at all."""
    from ppl_topics._util.output_files import written_text

    with written_text(Path(path)) as file:
        file.write(text)
