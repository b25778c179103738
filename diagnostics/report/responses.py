"""What the responses depend on: coefficients with intervals, signal topics, and zeros in topics."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from ppl_topics.diagnostics.report.columns import (
    interval_column,
    interval_name,
    number_column,
    text_column,
    topic_columns,
    views_of,
)
from ppl_topics.diagnostics.report.formats import MISSING, count, percent
from ppl_topics.diagnostics.report.sections import Cell, Column, Groups, Row, Section, Table, attempt, sentence
from ppl_topics.diagnostics.report.svg import interval_bar
from ppl_topics.diagnostics.tables import coefficient_table, effective_coefficients, signal_topics, zeros_in_phi
from ppl_topics.diagnostics.tables.zeros import DENSITY

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
    if "target_scale" in groups.get("constant_data", xr.Dataset()):
        section.notes.append("Coefficients are in standard deviations of the targets of the training documents.")
    names = list(dict.fromkeys(table["response"]))
    views, shown = views_of(groups), names[:MOST_RESPONSES]
    parts = dict(iter(table.groupby("response", sort=False)))
    section.parts["tables"] = [(name, _coefficients(parts[name], probability, views.get(name, 0))) for name in shown]
    if len(shown) < len(names):
        section.notes.append(f"To keep the page small, {len(shown):,} of {len(names):,} responses are shown.")
    section.add("effective", lambda: _effective(groups, chain, probability, shown),
                without="The effective number of coefficients is not available")  # fmt: skip
    if groups["posterior"].sizes["draw"] > 1:
        section.add("signal", lambda: _signal(groups, chain, probability))
    return section


def _coefficients(part: pd.DataFrame, probability: float, view: int) -> Table:
    """Return the table of one response."""
    bound = float(part[["mean", "low", "high"]].abs().max().max())

    def name(row: Row) -> Cell:
        text = f"{row['coefficient']} ({row['name']})" if row.get("name") else row["coefficient"]
        return Cell(text, topic=None if pd.isna(row["topic"]) else int(row["topic"]), view=view)

    def drawing(row: Row) -> Cell:
        return Cell("", drawing=interval_bar(row["mean"], row["low"], row["high"], bound))

    def excludes(row: Row) -> Cell:
        return Cell(MISSING if pd.isna(row["low"]) else "✓ yes" if row["excludes_0"] else "no")

    columns = [
        Column("coefficient", name, text=True),
        number_column("mean", "mean"),
        interval_column(probability),
        Column("", drawing, text=True, meaning="the interval and its mean, with a line at 0"),
        Column("excludes 0", excludes, text=True),
        number_column("ESS", "ess", meaning="effective sample size"),
        text_column("words"),
    ]
    title = f"The {TOP} largest coefficients, and the intercept if there is one"
    return Table(title, columns, part.to_dict("records"))


def _effective(groups: Groups, chain: int, probability: float, shown: list[str]) -> Table:
    """Return the effective number of coefficients of each response."""
    table = effective_coefficients(groups, chain=chain, probability=probability)
    columns = [
        text_column("response"),
        number_column("effective", "effective"),
        interval_column(probability),
        number_column("of coefficients", "coefficients", count),
    ]
    title = "Effective number of coefficients, which the data determine rather than the prior"
    return Table(title, columns, table[table["response"].isin(shown)].to_dict("records"))


def _signal(groups: Groups, chain: int, probability: float) -> Table:
    """Return the topics that responses clearly depend on, and the others."""
    table = signal_topics(groups, chain=chain, probability=probability, n_words=6)
    columns = [
        *topic_columns(groups),
        Column(
            "signal",
            lambda row: Cell("✓ signal" if row["signal"] else "noise", float(row["signal"])),
            text=True,
            meaning="signal if the interval of a coefficient of the topic excludes 0",
        ),
        number_column(
            "relevance",
            "relevance",
            meaning="posterior mean of the sum over responses of the topic's absolute coefficients",
        ),
        Column("for", lambda row: Cell(", ".join(row["responses"])), text=True),
        text_column("words"),
    ]
    most = f"; {MOST_TOPICS:,} are shown" if len(table) > MOST_TOPICS else ""
    title = f"{table['signal'].sum():,} of {len(table):,} topics are signal at {interval_name(probability)}s{most}"
    return Table(title, columns, table.head(MOST_TOPICS).to_dict("records"), sortable=True)


def zeros_section(groups: Groups, probability: float) -> Section | None:
    """Return the shares of zeros in phi, or None for a model whose topics have no zeros."""
    if DENSITY not in groups.get("sample_stats", xr.Dataset()):
        return None
    section = Section("zeros", "Zeros in topics")
    table, why = attempt(lambda: zeros_in_phi(groups, probability=probability))
    if table is None:
        section.absent = sentence(why)
        return section
    columns = [
        number_column("chain", "chain", count),
        *([text_column("response")] if "response" in table else []),
        number_column("zeros", "zeros", percent),
        interval_column(probability, percent),
    ]
    title = "Share of the cells of phi, topics by words, that are zero"
    section.parts["table"] = Table(title, columns, table.to_dict("records"))
    return section
