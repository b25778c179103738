"""Forest plots of supervised models: coefficients with a panel for each response, and the relevance of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ppl_topics._util.arrays import BoolArray
from ppl_topics.diagnostics.plots.canvas import SURE, UNSURE, bare, grid, groups_of, one_axes, plain, sequence_of
from ppl_topics.diagnostics.tables import coefficient_table, topic_relevance
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import coefficient_draws

__all__ = ["plot_coefficients", "plot_relevance"]

ROW_HEIGHT, PANEL_WIDTH, MARGIN = 0.28, 7.5, 1.1
"""Inches."""

COLUMNS = {1: 4, 2: 12, 3: np.inf}
"""Columns of panels, and the most responses for which there are so many."""


def plot_coefficients(
    groups: Any,
    response: str | Sequence[str] | None = None,
    *,
    chain: int = 0,
    probability: float = 0.9,
    top: int | None = 20,
    n_words: int = 5,
    axes: Any = None,
) -> NDArray[Any]:
    """Plot the coefficients of each response as a forest, with the words of topics as labels.

    Each panel shows a response, as in figures 5 and 6 of Magnusson, Jonsson, Villani (2020): posterior mean and
    interval, the largest at the top and the intercept at the bottom. Intervals that exclude 0 are dark. Panels of more
    than four responses are in two columns, those of more than twelve in three.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    response : str or sequence of str, optional
        Which classes, labels or targets; by default all.
    chain : int
        Whose topics; the coefficients of covariates are of all chains, see `coefficient_table`.
    probability : float
        Probability of the equal-tailed intervals.
    top : int, optional
        Number of coefficients of each response, the largest by abs(mean), besides the intercept; None for all.
    n_words : int
        Words in a topic's label.
    axes : matplotlib.axes.Axes or array of them, optional
        Axes to draw on, one for each response; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of responses,)

    Raises
    ------
    TraceError
        If the model has no response or no coefficients, they were not recorded, there is no such response or chain, or
        the number of axes is not the number of responses.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    names = list(coefficient_draws(groups, chain).responses) if response is None else list(sequence_of(response))
    options: dict[str, Any] = {"chain": chain, "probability": probability, "top": top, "n_words": n_words}
    tables = [coefficient_table(groups, response=name, **options) for name in names]
    if not tables:
        raise TraceError("response: name at least one")
    if not len(tables[0]):
        raise TraceError(
            "the model has no coefficients of topics, covariates or an intercept, so there is nothing to plot"
        )
    columns = next(number for number, most in COLUMNS.items() if len(tables) <= most)
    rows = [tables[first : first + columns] for first in range(0, len(tables), columns)]
    heights = [ROW_HEIGHT * max(map(len, row)) + MARGIN for row in rows]
    panels = grid(
        axes,
        len(tables),
        "responses",
        columns=columns,
        panel=(PANEL_WIDTH, sum(heights) / len(heights)),
        narrow="name some of them (response=)",
        gridspec_kw={"height_ratios": heights},
    )
    for panel, table, name in zip(panels, tables, names, strict=True):
        # The intercept is the last row.
        n_slopes = int((table["coefficient"] != "intercept").sum())
        _forest(panel, table, "mean", n_slopes, table["excludes_0"].to_numpy())
        panel.axvline(0.0, color="black", linewidth=0.8, zorder=0)
        panel.set_title(plain(name))
        panel.set_xlabel(f"coefficient, {100 * probability:g}% interval")
    return panels


def plot_relevance(
    groups: Any,
    response: str | None = None,
    *,
    chain: int = 0,
    probability: float = 0.9,
    top: int | None = 20,
    n_words: int = 5,
    ax: Any = None,
) -> Any:
    """Plot how much the responses depend on each topic, with the largest at the top; see `topic_relevance`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    chain, probability, n_words
        As in `plot_coefficients`.
    top : int, optional
        Number of topics; None for all.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If the model has no response or no topic with coefficients, they were not recorded, or there is no such response
        or chain.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    coefficients = coefficient_draws(groups, chain)
    table = topic_relevance(groups, chain=chain, probability=probability, n_words=n_words)
    if coefficients.apart:
        if response is None:
            raise TraceError("each response has its own topics; name one of them (response=)")
        coefficients.positions(response)
        table = table[table["response"] == response]
    elif response is not None:
        raise TraceError("response: all responses share the topics, and relevance covers them all; omit response=")
    if not len(table):
        raise TraceError("no topic of the model has coefficients (supervised_topics: 0), so there is nothing to plot")
    table = table.head(top) if top is not None else table
    table = table.assign(coefficient=[f"topic {topic}" for topic in table["topic"]])
    panel = one_axes(ax, (PANEL_WIDTH, ROW_HEIGHT * len(table) + MARGIN))
    _forest(panel, table, "relevance", len(table), np.ones(len(table), dtype=bool))
    panel.set_xlim(left=0.0)
    panel.set_xlabel(f"relevance, sum of |coefficient|, {100 * probability:g}% interval")
    return panel


def _forest(panel: Any, table: pd.DataFrame, middle: str, n_slopes: int, sure: BoolArray) -> None:
    """Draw each row of a table, the first at the top, and those after the slopes below a line."""
    apart = np.arange(len(table)) >= n_slopes
    heights = -np.arange(len(table), dtype=float) - 0.5 * apart
    value = table[middle].to_numpy(dtype=float)
    low, high = (table[end].to_numpy(dtype=float) for end in ("low", "high"))
    # With one draw there is no interval, only the mean.
    known = ~np.isnan(low)
    colours = np.where(sure, SURE, UNSURE)
    panel.hlines(heights[known], low[known], high[known], colors=colours[known], linewidth=2.0)
    panel.scatter(value, heights, c=colours, s=22, zorder=3)
    if apart.any() and n_slopes:
        panel.axhline(-n_slopes + 0.25, color="black", linewidth=0.5, linestyle=":")
    texts = table["words"].tolist()
    if "name" in table:
        texts = [f"{name}: {words}" if name else words for name, words in zip(table["name"], texts, strict=True)]
    labels = [
        f"{words}  ({name})" if words else str(name) for words, name in zip(texts, table["coefficient"], strict=True)
    ]
    panel.set_yticks(heights, [plain(label) for label in labels], fontsize="small")
    panel.set_ylim(heights[-1] - 0.7, 0.7)
    bare(panel)
