"""How the outcome of a run is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ppl_topics.cli.output import number, print_table

if TYPE_CHECKING:
    import pandas as pd

    from ppl_topics.diagnostics.verdict import Verdict

__all__ = ["print_efficiency", "print_topics", "reading_lines", "verdict_data"]

NUMBERS = {
    "ESS\nbulk\nmedian": "ess_bulk_median",
    "ESS\nbulk\nmin": "ess_bulk_min",
    "ESS\ntail\nmedian": "ess_tail_median",
    "ESS\ntail\nmin": "ess_tail_min",
    "IF\nmedian": "inefficiency_median",
    "IF\nmax": "inefficiency_max",
}
"""Headings of the efficiency table and the columns behind them."""


def print_efficiency(table: pd.DataFrame) -> None:
    """Print the efficiency table: effective sample sizes, inefficiency factors, R-hat."""
    rows = []
    for name, row in table.iterrows():
        values = [number(float(row[column])) for column in NUMBERS.values()]
        rhat = float(row["rhat_max"])
        spelled = "-" if math.isnan(rhat) else f"{rhat:.3f}" if rhat < 1e3 else f"{rhat:.0e}"
        rows.append([str(name), f"{row['scalars']:,.0f}", *values, spelled])
    print_table(["variable", "scalars", *NUMBERS, "R-hat\nmax"], rows, text=["variable"])


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data."""
    return {
        "level": verdict.level,
        "summary": verdict.summary,
        "findings": [asdict(finding) for finding in verdict.findings],
        "more_draws": verdict.more_draws,
    }


def reading_lines(what: Mapping[str, Any]) -> list[str]:
    """Return what a summary says of coefficients and zeros, a line each, by chain if chains differ."""
    lines = []
    if "signal_topics" in what:
        topics, coefficients = (
            _by_chain([f"{n:,}" for n in what[f"signal_{name}"]]) for name in ("topics", "coefficients")
        )
        lines.append(
            f"signal topics: {topics} of {what['topics_with_coefficients']:,} (a {100 * what['signal_probability']:g}% "
            f"interval excludes 0, as do those of {coefficients} of {what['coefficients_of_topics']:,} coefficients)"
        )
    if "effective_coefficients" in what:
        numbers = [number(each) for each in what["effective_coefficients"]]
        lines.append(f"effective coefficients: {_by_chain(numbers)} of {what['slopes']:,}")
    if "zeros_in_phi" in what:
        lines.append(f"zeros in phi: {_by_chain([f'{zeros:.1%}' for zeros in what['zeros_in_phi']])}")
    return lines


def _by_chain(values: list[str]) -> str:
    """Return a value that all chains have, or the values of the chains."""
    return values[0] if len(set(values)) == 1 else ", ".join(values)


def print_topics(table: pd.DataFrame) -> None:
    """Print topics with their shares and words, and names if they have any."""
    names = ["name"] if "name" in table else []
    rows = [
        [str(row["topic"]), *(str(row[name]) for name in names), f"{row['share']:.1%}", str(row["words"])]
        for row in table.to_dict("records")
    ]
    print_table(["topic", *names, "share", "words"], rows, text=[*names, "words"])
