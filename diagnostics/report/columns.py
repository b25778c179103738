"""The columns that tables of the report are made of: text, numbers, intervals, and links to topics."""

from __future__ import annotations

import math
from collections.abc import Callable

from ppl_topics.diagnostics.report.formats import MISSING, number
from ppl_topics.diagnostics.report.sections import Cell, Column, Groups, Row
from ppl_topics.results.response_topics import own_topics
from ppl_topics.results.topic_names import called, topic_names

__all__ = ["interval_column", "interval_name", "number_column", "text_column", "topic_columns", "views_of"]


def text_column(name: str, key: str = "") -> Column:
    """Return a column of the text under a key, by default the name."""
    return Column(name, lambda row: Cell(str(row[key or name])), text=True)


def number_column(name: str, key: str, show: Callable[[float], str] = number, meaning: str = "") -> Column:
    """Return a column of the numbers under a key, which it can be sorted by."""

    def cell(row: Row) -> Cell:
        value = float(row[key])
        return Cell(show(value), None if math.isnan(value) else value)

    return Column(name, cell, meaning=meaning)


def interval_name(probability: float) -> str:
    """Return what an interval is called."""
    return f"{100 * probability:g}% interval"


def interval_column(probability: float, show: Callable[[float], str] = number) -> Column:
    """Return a column of intervals from ``low`` to ``high``."""

    def cell(row: Row) -> Cell:
        return Cell(MISSING if math.isnan(row["low"]) else f"{show(row['low'])} to {show(row['high'])}")

    return Column(interval_name(probability), cell)


def views_of(groups: Groups) -> dict[str, int]:
    """Return the position in the browser of each response that has its own topics."""
    return {name: place for place, name in enumerate(own_topics(groups))}


def topic_columns(groups: Groups, name: str = "topic", key: str = "topic") -> list[Column]:
    """Return a column of links to the topics under a key, after one of responses if each has its own topics."""
    views, names = views_of(groups), topic_names(groups)

    def cell(row: Row) -> Cell:
        topic = int(row[key])
        return Cell(called(names, topic), float(topic), topic, views.get(str(row.get("response")), 0))

    return [*([text_column("response")] if views else []), Column(name, cell)]
