"""Which topics are near each other, as a tree with the share of draws that agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ppl_topics.diagnostics.plots.canvas import (
    LETTER,
    SURE,
    UNSURE,
    bare,
    groups_of,
    one_axes,
    row_labels,
    topic_labels,
)
from ppl_topics.diagnostics.tables import topic_hierarchy
from ppl_topics.results.documents import part_of

__all__ = ["plot_hierarchy"]

ROW, WIDTH, TALLEST = 0.24, 4.8, 16.0
"""Inches: of a topic, of the tree, and of the tallest figure."""

MOST_NUMBERED = 120
"""Maximum number of topics whose merges show their support."""

TEXT = "#6e6e6e"
"""Colour of the support of grey merges, as a text needs it."""

MAJORITY = 0.5
"""Least support of dark merges."""


def plot_hierarchy(
    groups: Any,
    *,
    response: str | None = None,
    chain: int = 0,
    n_words: int = 4,
    ax: Any = None,
) -> Any:
    """Plot the topics of a chain as a tree: the nearer two are, the further left they meet; see `topic_hierarchy`.

    The distance is that of the distributions of words. A number beside a merge is its support, the percentage of draws
    whose own tree has a node of the same topics; merges that most draws lack are grey. Without recorded draws of phi
    there are no numbers. The axis need not start at 0.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    response, chain
        As in `plot_topics`.
    n_words : int
        Words in a topic's label. With more than 60 topics, the labels are numbers; with more than 120, support is shown
        by colour only.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If there is no such chain or response, the trace holds no mean topics, or it has one topic.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    table = topic_hierarchy(groups, response=response, chain=chain)
    label = topic_labels(groups, part_of(groups, chain, response), n_words)
    order = np.array([*table["left"].iloc[-1], *table["right"].iloc[-1]], dtype=np.int64)
    places, texts, size = row_labels(order, label)
    longest = max(len(text) for text in texts)
    panel = one_axes(ax, (WIDTH + LETTER * longest, min(ROW * len(order) + 1.0, TALLEST)))
    _draw(panel, table, order.tolist(), size)
    panel.set_yticks(-places.astype(float), texts, fontsize=size)
    panel.set_ylim(0.6 - len(order), 0.6)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize="small")
    bare(panel)
    panel.spines["left"].set_visible(False)
    words, vocabulary, draws = (table.attrs[name] for name in ("words", "vocabulary", "draws"))
    of = "" if words == vocabulary else f" ({words:,} words and the rest)"
    panel.set_xlabel(f"Hellinger distance{of}", fontsize="small")
    if draws and len(order) > 2:
        what = f"numbers: % of {draws:,} draws with the same topics together"
        if len(order) > MOST_NUMBERED:
            what = f"grey: less than half of {draws:,} draws"
        panel.set_title(what, fontsize="small", loc="right")
    return panel


def _draw(panel: Any, table: pd.DataFrame, order: list[int], size: float) -> None:
    """Draw the merges, each as a bracket, and write their support, but for the last, which all draws have."""
    distances = table["distance"].to_numpy()
    low, high = float(distances[0]), float(distances[-1])
    # Most topics are far from each other, so a tree from 0 would be a comb.
    start = max(low - 0.2 * (high - low), 0.0) if high - low > 0.01 else 0.0
    height = {(number,): -float(row) for row, number in enumerate(order)}
    reach = {(number,): start for number in order}
    for left, right, distance, support in zip(table["left"], table["right"], distances, table["support"], strict=True):
        sides = (left, right)
        (x0, x1), (y0, y1) = ([of[side] for side in sides] for of in (reach, height))
        colour = UNSURE if support < MAJORITY else SURE
        panel.plot([x0, distance, distance, x1], [y0, y0, y1, y1], color=colour, linewidth=1.3)
        node = left + right
        height[node], reach[node] = 0.5 * (y0 + y1), float(distance)
        if not np.isnan(support) and len(node) < len(order) and len(order) <= MOST_NUMBERED:
            panel.annotate(
                f"{100 * support:.0f}",
                (distance, height[node]),
                xytext=(2, 1),
                textcoords="offset points",
                fontsize=0.8 * size,
                color=colour if colour == SURE else TEXT,
                va="bottom",
            )
    panel.set_xlim(start, high + 0.02 * (high - start))
