"""How the outcome of a run is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ppl_topics.cli.output import number, print_table

if TYPE_CHECKING:
    import pandas as pd

    from ppl_topics.fit import Fit

__all__ = ["advice", "as_rows", "print_efficiency", "print_topics", "reading_lines"]

CONVERGED = 1.01
FEW_DRAWS = 20
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


def as_rows(table: pd.DataFrame) -> dict[str, Any]:
    """Return the efficiency table as plain data, by variable."""
    return {str(name): row.to_dict() for name, row in table.iterrows()}


def advice(fit: Fit, table: pd.DataFrame) -> list[str]:
    """Return what a reader of the efficiency table should know, a sentence each."""
    posterior = fit.posterior
    chains, draws = posterior.sizes["chain"], posterior.sizes["draw"]
    high = [str(name) for name in table.index if table.loc[name, "rhat_max"] > CONVERGED]
    by_topic = [name for name in high if name in posterior and {"topic", "coefficient"} & set(posterior[name].dims)]
    others = [name for name in high if name not in by_topic]
    result = []
    if not bool(posterior.attrs.get("exact", 1)):
        result.append("a kernel of this run is not exact: the draws are approximate, however many there are")
    if draws < FEW_DRAWS:
        result.append(f"{draws} draws a chain say little of ESS, IF and R-hat; draw {FEW_DRAWS} or more")
    if others:
        result.append(f"R-hat above {CONVERGED} for {', '.join(others)}: not converged; warm up and draw longer")
    if by_topic:
        why = (
            "chains number their topics each in its own way, so judge convergence across chains by lp"
            if chains > 1
            else "the topics still moved; warm up and draw longer"
        )
        result.append(f"R-hat above {CONVERGED} for {', '.join(by_topic)}: {why}")
    if chains == 1:
        result.append("one chain: R-hat compares its halves only; run --chains 2 or more to see more")
    return result


def reading_lines(what: Mapping[str, Any]) -> list[str]:
    """Return what a summary says of coefficients and zeros, a line each; chains are told apart where they differ."""
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
    """Print topics with their shares and words."""
    rows = [[str(row.topic), f"{row.share:.1%}", str(row.words)] for row in table.itertuples()]
    print_table(["topic", "share", "words"], rows, text=["words"])
