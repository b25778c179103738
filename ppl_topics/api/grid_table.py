"""The table of a grid of runs: what is measured of each run, and how runs compare."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ppl_topics._util.output_files import written_text
from ppl_topics.corpus import Corpus
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.fit import Fit
from ppl_topics.prediction.likelihood import HeldOut, HeldOutOptions
from ppl_topics.prediction.likelihood_errors import ratio_error
from ppl_topics.prediction.scoring import OverfitWarning
from ppl_topics.prediction.trained import TrainedTopics

__all__ = ["METRICS", "SCORES", "Row", "as_table", "measure", "over_folds", "write_table"]

LIKELIHOOD = (
    "log_likelihood",
    "error",
    "bias",
    "per_token",
    "per_token_error",
    "perplexity",
    "perplexity_error",
)

METRICS = ("accuracy", "f1_micro", "f1_macro", "r2", "log_score")
"""What is measured of predictions, where it applies; over folds each has a standard error."""

CHOICE = ("f1_micro", "r2", "per_token")
"""The measures by which the best row is chosen: the first of them that there is."""

NUMBERS = (
    *LIKELIHOOD[:5],
    "below_best",
    "below_best_error",
    *LIKELIHOOD[5:],
    "umass",
    "npmi",
    *(column for name in METRICS for column in (name, f"{name}_error")),
    "ess_lp",
    "seconds",
)

SCORES = (*NUMBERS, "path", "problem")
"""Columns of the table, after those of the parameters."""


class Row(NamedTuple):
    """The outcome of one combination: cells of the table, and the likelihood of the documents if it was estimated."""

    cells: dict[str, Any]
    likelihood: HeldOut | None


def measure(fit: Fit, test: Corpus, options: HeldOutOptions) -> Row:
    """Measure a run; what cannot be measured is explained under ``problem``."""
    cells: dict[str, Any] = {}
    likelihood, problems = None, []
    how: dict[str, Any] = {"seed": options.seed, "threads": options.threads}
    if TrainedTopics(fit.groups).apart:
        problems.append("each response has its own topics, so there is no one likelihood of the words")
    else:
        likelihood = fit.held_out(test, method=options.method, particles=options.particles, **how)
        cells |= {name: getattr(likelihood, name) for name in LIKELIHOOD}
    with suppress(TraceError):
        cells["ess_lp"] = float(fit.efficiency(["lp"])["ess_bulk_min"].iloc[0])
    chains = fit.posterior["chain"].values.tolist()
    try:
        tables = [fit.topic_quality(chain=chain, measures=["umass", "npmi"]) for chain in chains]
        cells |= {name: float(np.mean([table[name].mean() for table in tables])) for name in ("umass", "npmi")}
    except TraceError as error:
        problems.append(f"no coherence: {error}")
    if test.labels is not None and fit.spec.has_response:
        try:
            with warnings.catch_warnings():
                # The table shows it, and it compares what the warning advises to compare.
                warnings.simplefilter("ignore", OverfitWarning)
                metrics = fit.metrics(test, **how)
            cells |= {name: metrics[name] for name in METRICS if name in metrics}
        except PplTopicsError as error:
            problems.append(f"no accuracy: {error}")
    return Row({**cells, "problem": "; ".join(problems)}, likelihood)


def over_folds(rows: Sequence[Row]) -> Row:
    """Return the outcome of a combination from those of its folds: means, standard errors, and one likelihood of all.

    What one fold lacks is missing.
    """
    values = {name: np.array([row.cells.get(name, np.nan) for row in rows]) for name in NUMBERS}
    cells: dict[str, Any] = {name: values[name].mean() for name in (*METRICS, "umass", "npmi", "ess_lp")}
    # The log score of a label that a model finds impossible is minus infinity, and has no error.
    with np.errstate(invalid="ignore"):
        cells |= {f"{name}_error": values[name].std(ddof=1) / np.sqrt(len(rows)) for name in METRICS}
    cells["seconds"] = values["seconds"].sum()
    cells["path"] = "; ".join(row.cells["path"] for row in rows if "path" in row.cells)
    problems: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 1):
        if row.cells["problem"]:
            problems.setdefault(row.cells["problem"], []).append(str(number))
    cells["problem"] = "; ".join(
        problem if len(folds) == len(rows) else f"fold {', '.join(folds)}: {problem}"
        for problem, folds in problems.items()
    )
    parts = [row.likelihood for row in rows if row.likelihood is not None]
    if len(parts) < len(rows):
        return Row(cells, None)
    # Each document is in one fold, so that together they are those of the corpus.
    likelihood = HeldOut.joined(parts)
    return Row({**cells, **{name: getattr(likelihood, name) for name in LIKELIHOOD}}, likelihood)


def as_table(rows: Sequence[Row], over: list[str], stopped: bool) -> pd.DataFrame:
    """Return the rows as a table, each compared with the best."""
    table = pd.DataFrame([row.cells for row in rows], columns=[*over, *SCORES])
    for name in ("path", "problem"):
        table[name] = table[name].astype(object).where(table[name].notna(), "")
    table[list(NUMBERS)] = table[list(NUMBERS)].astype(np.float64)
    scored = {place: row.likelihood for place, row in enumerate(rows) if row.likelihood and row.likelihood.n_tokens}
    if scored:
        best = max(scored.values(), key=lambda likelihood: likelihood.log_likelihood)
        for place, likelihood in scored.items():
            table.loc[table.index[place], ["below_best", "below_best_error"]] = _difference(best, likelihood)
    by = next((name for name in CHOICE if table[name].notna().any()), None)
    # Of classes, not of sets of labels, the two are one.
    if by == "f1_micro" and np.allclose(table["f1_micro"], table["accuracy"], equal_nan=True):
        by = "accuracy"
    chosen = {} if by is None else {name: rows[int(table[by].argmax())].cells[name] for name in over}
    table.attrs.update(over=over, stopped=stopped, by=by, best=chosen)
    return table


def _difference(best: HeldOut, other: HeldOut) -> tuple[float, float]:
    """Return how much less log likelihood per token there is, and its standard error over documents."""
    if best is other:
        return 0.0, 0.0
    values = best.values - other.values
    return float(values.sum() / best.n_tokens), ratio_error(values, best.tokens)


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write the table to a ``.csv`` file, or to ``table.csv`` in a folder."""
    with written_text(path if path.suffix == ".csv" else path / "table.csv") as text:
        table.to_csv(text, index=False)
