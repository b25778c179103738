"""The tables of efficiency, topic quality, and agreement between chains."""

from __future__ import annotations

import pandas as pd

from ppl_topics.diagnostics.alignment import Alignment, agreement_table
from ppl_topics.diagnostics.alignment.recurrence import RECURS, recurrence
from ppl_topics.diagnostics.draws import holds_draws
from ppl_topics.diagnostics.quality import topic_quality
from ppl_topics.diagnostics.report.columns import number_column, text_column, topic_columns
from ppl_topics.diagnostics.report.formats import count, percent, rhat, seconds
from ppl_topics.diagnostics.report.sections import Cell, Column, Groups, Section, Table, attempt, sentence
from ppl_topics.diagnostics.summary import efficiency, seconds_by_kernel
from ppl_topics.errors import TraceError

__all__ = ["agreement_section", "efficiency_section", "quality_section"]

EFFICIENCY = [
    text_column("variable"),
    number_column("scalars", "scalars", count),
    number_column("ESS, median", "ess_bulk_median"),
    number_column("ESS, least", "ess_bulk_min"),
    number_column("tail ESS, median", "ess_tail_median"),
    number_column("tail ESS, least", "ess_tail_min"),
    number_column("IF, median", "inefficiency_median"),
    number_column("IF, most", "inefficiency_max"),
    number_column("R-hat, most", "rhat_max", rhat),
]

KERNELS = [
    text_column("kernel"),
    number_column("time per sweep", "seconds", seconds),
    number_column("share of the sweep", "share", percent),
]

MEASURES = {
    "umass": ("UMass", "coherence after Mimno et al. (2011): 0 is best"),
    "npmi": ("NPMI", "coherence by normalised pointwise mutual information, from −1 to 1, 1 is best"),
    "c_v": ("C_V", "coherence after Röder et al. (2015): 1 is best"),
    "entropy": ("entropy (nats)", "of the topic's tokens over documents: low if few documents have it"),
    "exclusivity": ("exclusivity", "of the top words to the topic, from 0 to 1"),
    "effective_words": ("effective words", "exp of the entropy of the topic's words"),
}
"""Columns of the quality table and what they mean."""

SIMILARITY = "the smallest over chains, from 0 (no common word) to 1 (equal)"
BEFORE = "largest over the topic's top words, with topics as each chain numbers them"

FEW_TOPICS = 1_000
"""Maximum number of rows of a table."""


def efficiency_section(groups: Groups, alignment: Alignment | None) -> Section:
    """Return how well each variable was sampled, with the topics of the verdict, and the time of each kernel."""
    section = Section("efficiency", "Efficiency")
    section.add("table", lambda: _efficiency_table(groups, alignment), without="The efficiency table is not available")
    section.add("kernels", lambda: _kernel_table(groups))
    if not section.parts:
        section.absent, section.notes = " ".join(section.notes), []
    return section


def _efficiency_table(groups: Groups, alignment: Alignment | None) -> Table:
    posterior = groups["posterior"]
    if not posterior.sizes.get("chain") or not posterior.sizes.get("draw"):
        raise TraceError("the trace has no draws with the dimensions chain and draw")
    # Another program's trace may hold text or constants, which have no efficiency.
    numbers = [name for name, array in posterior.data_vars.items() if holds_draws(array)]
    table = efficiency({**groups, "posterior": posterior[numbers]}, alignment=alignment)
    if table.empty:
        raise TraceError("the trace holds no variable")
    title = "Effective sample size (ESS), inefficiency factor (IF) and R-hat of each variable"
    return Table(title, EFFICIENCY, table.reset_index(names="variable").to_dict("records"))


def _kernel_table(groups: Groups) -> Table:
    found = seconds_by_kernel(groups)
    if not found:
        raise TraceError("the trace does not hold the times of kernels")
    total = sum(found.values()) or 1.0
    rows = [{"kernel": kernel, "seconds": value, "share": value / total} for kernel, value in found.items()]
    return Table("Time of each kernel, mean over draws", KERNELS, rows)


def quality_section(groups: Groups, chain: int) -> Section:
    """Return measures of the quality of each topic."""
    section = Section("quality", "Quality of topics")
    table, why = attempt(lambda: topic_quality(groups, chain=chain))
    if table is None:
        section.absent = sentence(why)
        return section
    for measure, reason in table.attrs["left_out"].items():
        section.notes.append(sentence(f"{MEASURES[measure][0]} is left out: {reason}"))
    if table.attrs["reference"] == "training documents":
        section.notes.append("Coherence is measured on the training documents, each of which is one window.")
    columns = [
        *topic_columns(groups),
        number_column("share", "share", percent),
        *(number_column(name, key, meaning=text) for key, (name, text) in MEASURES.items() if key in table),
        text_column("words"),
    ]
    _add_topics(section, "Topics, the largest first; choose a heading to sort by it", columns, table)
    return section


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
    if agreeing < len(table):
        section.notes.append(sentence(recurrence(alignment)))
    for switch in alignment.switches:
        topics = ", ".join(map(str, switch.topics))
        section.notes.append(f"Chain {switch.chain}: topics {topics} swap numbers at draw {switch.draw}.")
    names, shown = [f"topic in chain {each}" for each in alignment.chains], f"topic in chain {chain}"
    table[names] = table["numbers"].tolist()
    others = len(alignment.chains) - 1
    columns = [number_column(name, name, "{:.0f}".format) for name in names]
    *response, columns[names.index(shown)] = topic_columns(groups, shown, shown)
    columns = [
        *response,
        *columns,
        Column("agree", lambda row: Cell("✓ yes" if row["agrees"] else "✗ no", float(row["agrees"])), text=True),
        Column(
            "recurs in",
            lambda row: Cell(f"{row['recurs_in']} of {others}", float(row["recurs_in"])),
            meaning=f"of the other chains: similarity of at least {RECURS}, and no less than to another topic",
        ),
        number_column(
            "similarity", "similarity", rhat, "the smallest over chains, from 0 (no common word) to 1 (equal)"
        ),
        number_column(
            "R-hat before",
            "rhat_before",
            rhat,
            "largest over the topic's top words, with topics as each chain numbers them",
        ),
        number_column("R-hat after", "rhat", rhat, "the same, with topics matched"),
        text_column("words"),
    ]
    title = "Topics and agreement between chains; choose a heading to sort by it"
    _add_topics(section, title, columns, table)
    return section


def _add_topics(section: Section, title: str, columns: list[Column], table: pd.DataFrame) -> None:
    """Add a table with a row for each topic, or as many as fit on a page."""
    section.parts["table"] = Table(title, columns, table.head(FEW_TOPICS).to_dict("records"), sortable=True)
    if len(table) > FEW_TOPICS:
        section.notes.append(f"To keep the page small, {FEW_TOPICS:,} of {len(table):,} topics are shown.")
