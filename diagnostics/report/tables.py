"""The tables of efficiency, topic quality, and agreement between chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ppl_topics.diagnostics.alignment import Alignment, agreement_table
from ppl_topics.diagnostics.quality import topic_quality
from ppl_topics.diagnostics.report.formats import count, number, percent, rhat, seconds
from ppl_topics.diagnostics.report.sections import Cell, Column, Groups, Section, Table, attempt, sentence
from ppl_topics.diagnostics.summary import efficiency, seconds_by_kernel
from ppl_topics.errors import TraceError

__all__ = ["agreement_section", "efficiency_section", "quality_section", "topic_cell"]

EFFICIENCY = {
    "ess_bulk_median": ("ESS, median", number),
    "ess_bulk_min": ("ESS, least", number),
    "ess_tail_median": ("tail ESS, median", number),
    "ess_tail_min": ("tail ESS, least", number),
    "inefficiency_median": ("IF, median", number),
    "inefficiency_max": ("IF, most", number),
    "rhat_max": ("R-hat, most", rhat),
}
"""Columns of the efficiency table."""

MEASURES = {
    "umass": ("UMass", "coherence after Mimno et al. (2011): 0 is best"),
    "npmi": ("NPMI", "coherence by normalised pointwise mutual information, from −1 to 1, 1 is best"),
    "c_v": ("C_V", "coherence after Röder et al. (2015): 1 is best"),
    "entropy": ("entropy (nats)", "of the topic's tokens over documents: low if few documents have it"),
    "exclusivity": ("exclusivity", "of the top words to the topic, from 0 to 1"),
    "effective_words": ("effective words", "exp of the entropy of the topic's words"),
}
"""Columns of the quality table and what they mean."""

FEW_TOPICS = 1_000
"""Maximum number of rows of a table."""


def topic_cell(topic: int, view: int = 0) -> Cell:
    """Return a cell that links to a topic."""
    return Cell(str(topic), float(topic), topic, view)


def efficiency_section(groups: Groups) -> Section:
    """Return how well each variable was sampled, and the time of each kernel."""
    section = Section("efficiency", "Efficiency")
    section.add(
        "table", lambda: _efficiency_table(_checked_efficiency(groups)), without="The efficiency table is not available"
    )
    section.add("kernels", lambda: _kernel_table(groups))
    if not section.parts:
        section.absent, section.notes = " ".join(section.notes), []
    return section


def _checked_efficiency(groups: Groups) -> pd.DataFrame:
    posterior = groups["posterior"]
    if not posterior.sizes.get("chain") or not posterior.sizes.get("draw"):
        raise TraceError("the trace has no draws with the dimensions chain and draw")
    # Another program's trace may hold text or constants, which have no efficiency.
    numbers = [n for n, a in posterior.data_vars.items() if {"chain", "draw"} <= set(a.dims) and a.dtype.kind in "biuf"]
    kept = {**groups, "posterior": posterior[numbers]}
    return efficiency(kept)


def _efficiency_table(table: pd.DataFrame) -> Table:
    if table.empty:
        raise TraceError("the trace holds no variable")
    columns = [Column("variable", text=True), Column("scalars"), *(Column(text) for text, _ in EFFICIENCY.values())]
    rows = []
    for name, row in table.iterrows():
        values = [float(row[column]) for column in EFFICIENCY]
        cells = [Cell(show(value), value) for value, (_, show) in zip(values, EFFICIENCY.values(), strict=True)]
        rows.append([Cell(str(name)), Cell(count(float(row["scalars"])), float(row["scalars"])), *cells])
    return Table("Effective sample size (ESS), inefficiency factor (IF) and R-hat of each variable", columns, rows)


def _kernel_table(groups: Groups) -> Table:
    found = seconds_by_kernel(groups)
    if not found:
        raise TraceError("the trace does not hold the times of kernels")
    total = sum(found.values()) or 1.0
    columns = [Column("kernel", text=True), Column("time per sweep"), Column("share of the sweep")]
    rows = [[Cell(k), Cell(seconds(s), s), Cell(percent(s / total), s)] for k, s in found.items()]
    return Table("Time of each kernel, mean over draws", columns, rows)


def quality_section(groups: Groups, chain: int) -> Section:
    """Return measures of the quality of each topic."""
    section = Section("quality", "Quality of topics")
    table, why = attempt(lambda: topic_quality(groups, chain=chain))
    if table is None:
        section.absent = sentence(why)
        return section
    for measure, reason in table.attrs.get("left_out", {}).items():
        section.notes.append(
            sentence(f"{MEASURES[measure][0] if measure in MEASURES else measure} is left out: {reason}")
        )
    if table.attrs.get("reference") == "training documents":
        section.notes.append("Coherence is measured on the training documents, each of which is one window.")
    section.parts["table"] = _quality_table(table, _views(table))
    section.notes += _cut(table)
    return section


def _views(table: pd.DataFrame) -> dict[str, int]:
    """Return the positions of the responses, if each has its own topics."""
    if "response" not in table:
        return {}
    return {str(name): place for place, name in enumerate(dict.fromkeys(table["response"]))}


def _cut(table: pd.DataFrame) -> list[str]:
    if len(table) <= FEW_TOPICS:
        return []
    return [f"To keep the page small, {FEW_TOPICS:,} of {len(table):,} topics are shown."]


def _quality_table(table: pd.DataFrame, views: dict[str, int]) -> Table:
    measures = [name for name in MEASURES if name in table]
    columns = [Column("response", text=True)] if views else []
    columns += [Column("topic"), Column("share")]
    columns += [Column(MEASURES[name][0], meaning=MEASURES[name][1]) for name in measures]
    columns += [Column("words", text=True)]
    rows = []
    for row in table.head(FEW_TOPICS).to_dict("records"):
        cells = [Cell(str(row["response"]))] if views else []
        cells.append(topic_cell(int(row["topic"]), views.get(str(row.get("response")), 0)))
        cells.append(Cell(percent(float(row["share"])), float(row["share"])))
        cells += [Cell(number(float(row[name])), float(row[name])) for name in measures]
        rows.append([*cells, Cell(str(row["words"]))])
    return Table("Topics, the largest first; choose a heading to sort by it", columns, rows, sortable=True)


def agreement_section(groups: Groups, chain: int, alignment: Alignment | None, why: str) -> Section:
    """Return which topics the chains agree on, with R-hat before and after alignment, or why there is no alignment."""
    section = Section("agreement", "Agreement between chains")
    if alignment is None:
        section.absent = sentence(why)
        return section
    table = agreement_table(groups, alignment=alignment)
    agreeing = int(table["agrees"].sum())
    section.notes.append(
        f"Chains number their topics independently; here each topic of chain {alignment.reference} is matched "
        f"with the most similar ones of the other chains. All chains have {agreeing:,} of {len(table):,} topics."
    )
    for switch in alignment.switches:
        topics = ", ".join(map(str, switch.topics))
        section.notes.append(f"Chain {switch.chain}: topics {topics} swap numbers at draw {switch.draw}.")
    section.parts["table"] = _agreement(table, alignment.chains, chain)
    section.notes += _cut(table)
    return section


def _agreement(table: pd.DataFrame, chains: list[int], shown: int) -> Table:
    views = _views(table)
    columns = [Column("response", text=True)] if views else []
    columns += [Column(f"topic in chain {chain}") for chain in chains]
    columns += [
        Column("agree", text=True),
        Column("similarity", meaning="the smallest over chains, from 0 (no common word) to 1 (equal)"),
        Column("R-hat before", meaning="largest over the topic's top words, with topics as each chain numbers them"),
        Column("R-hat after", meaning="the same, with topics matched"),
        Column("words", text=True),
    ]
    rows = []
    for row in table.head(FEW_TOPICS).to_dict("records"):
        cells = [Cell(str(row["response"]))] if views else []
        view = views.get(str(row.get("response")), 0)
        for chain, topic in zip(chains, row["numbers"], strict=True):
            cells.append(topic_cell(topic, view) if chain == shown else Cell(str(topic), float(topic)))
        cells.append(Cell("✓ yes" if row["agrees"] else "✗ no", float(row["agrees"])))
        cells.append(Cell(f"{row['similarity']:.3f}", float(row["similarity"])))
        cells += [Cell(rhat(float(row[name])), _sortable(row[name])) for name in ("rhat_before", "rhat")]
        rows.append([*cells, Cell(str(row["words"]))])
    title = "Topics and agreement between chains; choose a heading to sort by it"
    return Table(title, columns, rows, sortable=True)


def _sortable(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
