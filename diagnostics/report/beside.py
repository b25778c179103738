"""Other runs beside this one: what they were, how they ended, and which of its topics they have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import linear_sum_assignment

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.alignment.topics import topics_of_chain, word_names
from ppl_topics.diagnostics.report.columns import number_column, text_column
from ppl_topics.diagnostics.report.formats import count, percent, seconds
from ppl_topics.diagnostics.report.sections import Groups, Section, Table, attempt
from ppl_topics.diagnostics.summary import seconds_by_kernel
from ppl_topics.diagnostics.verdict import Verdict, verdict
from ppl_topics.errors import TraceError

__all__ = ["beside_section", "similarities"]

COLUMNS = [
    text_column("run"),
    text_column("model"),
    number_column("topics", "topics", count),
    text_column("draws"),
    text_column("verdict"),
    number_column("log posterior", "lp", meaning="mean over draws; only runs of one model can be compared by it"),
    number_column("time per sweep", "seconds", seconds),
    number_column(
        "similarity of topics",
        "similarity",
        percent,
        meaning="of the topics of this run to those that match them in the first chain of the other, weighed by their "
        "shares: Bhattacharyya coefficients, 100% where all are equal",
    ),
]


def beside_section(groups: Groups, chain: int, found: Verdict | None, others: Mapping[str, Groups]) -> Section:
    """Return a table with a row for this run, whose verdict is known, and for each other."""
    section = Section("beside", "Beside other runs")
    rows = [_row("this run", groups, found), *(_other(name, each, groups, chain) for name, each in others.items())]
    title = "Runs side by side; choose a heading to sort by it"
    section.parts["table"] = Table(title, COLUMNS, rows, sortable=True)
    return section


def _other(name: str, groups: Groups, this: Groups, chain: int) -> dict[str, Any]:
    found, _ = attempt(lambda: verdict(groups))
    alike, _ = attempt(lambda: similarities(this, chain, groups))
    return _row(name, groups, found, np.nan if alike is None else float(np.average(alike[0], weights=alike[1])))


def _row(name: str, groups: Groups, found: Verdict | None, similarity: float = np.nan) -> dict[str, Any]:
    posterior, statistics = groups["posterior"], groups.get("sample_stats", xr.Dataset())
    return {
        "run": name,
        "model": str(posterior.attrs.get("model_name", "")),
        "topics": posterior.sizes.get("topic", np.nan),
        "draws": f"{posterior.sizes.get('chain', 1)} × {posterior.sizes.get('draw', 0):,}",
        "verdict": found.level if found else "",
        "lp": float(statistics["lp"].mean()) if "lp" in statistics else np.nan,
        "seconds": sum(seconds_by_kernel(groups).values()) or np.nan,
        "similarity": similarity,
    }


def similarities(this: Groups, chain: int, other: Groups) -> tuple[FloatArray, FloatArray]:
    """Return how similar each topic of a chain is to the one that matches it in another run, and the topics' shares.

    Matches are one to one. A topic without a match, where the other run has fewer, has similarity 0, and so has a word
    that the other run does not know.

    Raises
    ------
    TraceError
        If a run holds no topics, or each response has its own.
    """
    first = int(other["posterior"]["chain"].values[0])
    ours, theirs = topics_of_chain(this, chain), topics_of_chain(other, first)
    if len(ours) > 1 or len(theirs) > 1:
        raise TraceError("each response has its own topics")
    places = {str(word): place for place, word in enumerate(word_names(other))}
    known = [(w, places[str(word)]) for w, word in enumerate(word_names(this)) if str(word) in places]
    here, there = np.array(known, dtype=np.int64).reshape(-1, 2).T
    similarity = np.sqrt(ours[0][:, here]) @ np.sqrt(theirs[0][:, there]).T
    rows, columns = linear_sum_assignment(-similarity)
    alike = np.zeros(len(similarity))
    alike[rows] = similarity[rows, columns]
    shares = this["posterior"].get("topic_share")
    weights = np.ones(len(alike)) if shares is None else shares.sel(chain=chain).mean("draw").values
    return np.clip(alike, 0.0, 1.0), np.asarray(weights, dtype=np.float64)
