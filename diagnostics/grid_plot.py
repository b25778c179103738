"""The plot of a grid of runs: held-out likelihood, coherence, accuracy, seconds against the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ppl_topics.diagnostics.plots.canvas import COLOURS, bare, grid, plain
from ppl_topics.errors import PplTopicsError

__all__ = ["plot_grid"]

PANELS = {
    "per_token": "held-out log likelihood a token",
    "npmi": "coherence, NPMI",
    "umass": "coherence, UMass",
    "accuracy": "accuracy",
    "r2": "predictive $R^2$",
    "seconds": "seconds of sampling",
}
"""Columns that are plotted if they have a value, and the labels of their axes."""


def plot_grid(table: pd.DataFrame, axes: Any = None) -> NDArray[Any]:
    """Plot how the runs of a grid compare: a panel for each measure, a line for each value of the other parameters.

    Bars of the held-out likelihood are the standard error, over documents, of the difference from the best run, which a
    ring marks; those of the accuracy and R2 of cross-validation are the standard errors over folds.

    Parameters
    ----------
    table : pandas.DataFrame
        From :func:`ppl_topics.grid`, or read from its ``table.csv``.
    axes : matplotlib.axes.Axes or array of them, optional
        Axes to draw on, one for each measure that has a value; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of measures,)

    Raises
    ------
    PplTopicsError
        If the table is not one of a grid, has nothing to plot, or matplotlib is not installed.
    """
    if not {"per_token", "problem"} <= set(table.columns):
        raise PplTopicsError("the table lacks per_token and problem; expected what ppl_topics.grid returns")
    # A table that was read from a file has no attributes: its parameters are the columns before the scores.
    over = list(table.attrs.get("over") or table.columns[: list(table.columns).index("log_likelihood")])
    shown = [name for name in PANELS if name in table and table[name].notna().any()]
    if not shown or not over:
        raise PplTopicsError("no run of the table has a value to plot")
    panels = grid(axes, len(shown), "measures", columns=3, panel=(4.2, 3.0))
    table = table[table[shown].notna().any(axis=1)]
    values = list(dict.fromkeys(table[over[0]].tolist()))
    numeric = all(isinstance(value, int | float) for value in values)
    places = {value: float(value) if numeric else float(place) for place, value in enumerate(values)}
    lines: list[Any] = list(table.groupby(over[1:], sort=False)) if len(over) > 1 else [((), table)]
    for panel, name in zip(panels, shown, strict=True):
        for number, (chosen, rows) in enumerate(lines):
            label = ", ".join(f"{key} {value}" for key, value in zip(over[1:], chosen, strict=True))
            _line(panel, rows, name, over[0], places, COLOURS[number % len(COLOURS)], plain(label))
        panel.set_xlabel(plain(over[0]))
        panel.set_ylabel(PANELS[name])
        if numeric and len(values) <= 8:
            panel.set_xticks([places[value] for value in values], [str(value) for value in values])
        elif not numeric:
            panel.set_xticks(list(places.values()), [plain(str(value)) for value in values])
        bare(panel)
    if len(lines) > 1:
        panels[0].legend(fontsize="small", frameon=False)
    return panels


def _line(
    panel: Any, rows: pd.DataFrame, name: str, by: str, places: dict[Any, float], colour: str, label: str
) -> None:
    """Draw a measure of some runs, in the order of the parameter, with bars and a ring where it is the likelihood."""
    rows = rows[rows[name].notna()]
    rows = rows.iloc[np.argsort([places[value] for value in rows[by]], kind="stable")]
    x = np.array([places[value] for value in rows[by]])
    y = rows[name].to_numpy(dtype=float)
    error = "below_best_error" if name == "per_token" else f"{name}_error"
    if error not in rows or rows[error].isna().all():
        panel.plot(x, y, "o-", color=colour, markersize=4, label=label)
        return
    bars = rows[error].fillna(0.0).to_numpy(dtype=float)
    panel.errorbar(x, y, yerr=bars, fmt="o-", color=colour, markersize=4, capsize=3, label=label)
    if name != "per_token":
        return
    best = rows["below_best"].to_numpy(dtype=float) == 0.0
    panel.scatter(x[best], y[best], s=110, facecolors="none", edgecolors="black", zorder=3)
