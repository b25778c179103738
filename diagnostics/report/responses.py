"""What the responses depend on: coefficients with intervals, signal topics, and zeros in topics."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from ppl_topics.diagnostics.report.formats import count, number, percent
from ppl_topics.diagnostics.report.sections import Cell, Column, Groups, Section, Table, attempt, sentence
from ppl_topics.diagnostics.report.svg import interval_bar
from ppl_topics.diagnostics.report.tables import topic_cell
from ppl_topics.diagnostics.tables import coefficient_table, effective_coefficients, signal_topics, zeros_in_phi
from ppl_topics.diagnostics.tables.zeros import DENSITY
from ppl_topics.results.response_topics import own_topics

__all__ = ["responses_section", "zeros_section"]

TOP = 10
"""Coefficients shown of each response."""

MOST_RESPONSES = 100
MOST_TOPICS = 300


def responses_section(groups: Groups, chain: int, probability: float) -> Section:
    """Return the coefficients of each response in one chain."""
    section = Section("responses", "Responses")
    if "topic_share" not in groups["posterior"]:
        section.absent = "The trace holds no topic shares (topic_share), which are shown with the coefficients."
        return section
    table, why = attempt(lambda: coefficient_table(groups, chain=chain, probability=probability, top=TOP, n_words=6))
    if table is None:
        section.absent = sentence(why)
        return section
    if groups["posterior"].sizes["draw"] < 2:
        section.notes.append("There is only one draw, so there are no intervals.")
    names = list(dict.fromkeys(table["response"]))
    views = {name: place for place, name in enumerate(own_topics(groups))}
    shown = [str(name) for name in names[:MOST_RESPONSES]]
    tables = {name: _coefficients(part, probability, views.get(str(name), 0))
              for name, part in table.groupby("response", sort=False) if name in shown}  # fmt: skip
    section.parts["tables"] = [(name, tables[name]) for name in shown]
    if len(shown) < len(names):
        section.notes.append(f"To keep the page small, {len(shown):,} of {len(names):,} responses are shown.")
    section.add("effective", lambda: _effective(groups, chain, probability, shown),
                without="The effective number of coefficients is not available")  # fmt: skip
    if groups["posterior"].sizes["draw"] > 1:
        section.add("signal", lambda: _signal(groups, chain, probability, views))
    return section


def _interval(probability: float) -> str:
    return f"{100 * probability:g}% interval"


def _coefficients(part: pd.DataFrame, probability: float, view: int) -> Table:
    bound = float(part[["mean", "low", "high"]].abs().max().max())
    columns = [
        Column("coefficient", text=True),
        Column("mean"),
        Column(_interval(probability)),
        Column("", text=True, meaning="the interval and its mean, with a line at 0"),
        Column("excludes 0", text=True),
        Column("ESS", meaning="effective sample size"),
        Column("words", text=True),
    ]
    rows = []
    for row in part.to_dict("records"):
        mean, low, high = (float(row[name]) for name in ("mean", "low", "high"))
        topic = None if pd.isna(row["topic"]) else int(row["topic"])
        rows.append(
            [
                Cell(str(row["coefficient"]), topic=topic, view=view),
                Cell(number(mean), mean),
                Cell(f"{number(low)} to {number(high)}" if low == low else "–", low),
                Cell("", drawing=interval_bar(mean, low, high, bound)),
                Cell("–" if low != low else "✓ yes" if row["excludes_0"] else "no"),
                Cell(number(float(row["ess"])), float(row["ess"])),
                Cell(str(row["words"])),
            ]
        )
    return Table(f"The {TOP} largest coefficients, and the intercept if there is one", columns, rows)


def _effective(groups: Groups, chain: int, probability: float, shown: list[str]) -> Table:
    table = effective_coefficients(groups, chain=chain, probability=probability)
    columns = [
        Column("response", text=True),
        Column("effective"),
        Column(_interval(probability)),
        Column("of coefficients"),
    ]
    rows: list[list[Cell]] = []
    for row in table.to_dict("records"):
        if str(row["response"]) in shown:
            low, high = float(row["low"]), float(row["high"])
            interval = f"{number(low)} to {number(high)}" if low == low else "–"
            cells = [Cell(str(row["response"])), Cell(number(float(row["effective"])), float(row["effective"]))]
            rows.append([*cells, Cell(interval), Cell(count(float(row["coefficients"])))])
    return Table("Effective number of coefficients, which the data determine rather than the prior", columns, rows)


def _signal(groups: Groups, chain: int, probability: float, views: dict[str, int]) -> Table:
    table = signal_topics(groups, chain=chain, probability=probability, n_words=6)
    columns = [Column("response", text=True)] if views else []
    columns += [
        Column("topic"),
        Column("signal", text=True, meaning="signal if the interval of a coefficient of the topic excludes 0"),
        Column("relevance", meaning="posterior mean of the sum over responses of the topic's absolute coefficients"),
        Column("for", text=True),
        Column("words", text=True),
    ]
    rows = []
    for row in table.head(MOST_TOPICS).to_dict("records"):
        own = str(row.get("response", ""))
        cells = [Cell(own)] if views else []
        responses: list[Any] = row["responses"]
        rows.append(
            [
                *cells,
                topic_cell(int(row["topic"]), views.get(own, 0)),
                Cell("✓ signal" if row["signal"] else "noise", float(row["signal"])),
                Cell(number(float(row["relevance"])), float(row["relevance"])),
                Cell(", ".join(map(str, responses))),
                Cell(str(row["words"])),
            ]
        )
    total = int(table["signal"].sum())
    most = f"; {MOST_TOPICS:,} are shown" if len(table) > MOST_TOPICS else ""
    caption = f"{total:,} of {len(table):,} topics are signal at {_interval(probability)}s{most}"
    return Table(caption, columns, rows, sortable=True)


def zeros_section(groups: Groups, probability: float) -> Section | None:
    """Return the shares of zeros in phi, or None for a model whose topics have no zeros."""
    if DENSITY not in groups.get("sample_stats", xr.Dataset()):
        return None
    section = Section("zeros", "Zeros in topics")
    table, why = attempt(lambda: zeros_in_phi(groups, probability=probability))
    if table is None:
        section.absent = sentence(why)
        return section
    apart = "response" in table
    columns = [Column("chain"), *([Column("response", text=True)] if apart else [])]
    columns += [Column("zeros"), Column(_interval(probability))]
    rows = []
    for row in table.to_dict("records"):
        low, high = float(row["low"]), float(row["high"])
        cells = [Cell(str(row["chain"])), *([Cell(str(row["response"]))] if apart else [])]
        interval = f"{percent(low)} to {percent(high)}" if low == low else "–"
        rows.append([*cells, Cell(percent(float(row["zeros"])), float(row["zeros"])), Cell(interval)])
    section.parts["table"] = Table("Share of the cells of phi, topics by words, that are zero", columns, rows)
    return section
