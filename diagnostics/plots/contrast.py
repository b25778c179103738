"""Two topics word by word, as bars to either side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ppl_topics.diagnostics.plots.canvas import (
    COLOURS,
    UNSURE,
    WORD,
    bars,
    check_positive,
    groups_of,
    one_axes,
    plain,
    topic_labels,
)
from ppl_topics.diagnostics.tables import contrast
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import part_of

__all__ = ["plot_contrast"]


def plot_contrast(
    groups: Any,
    a: int,
    b: int,
    *,
    response: str | None = None,
    chain: int = 0,
    n_words: int = 10,
    probability: float = 0.9,
    ax: Any = None,
) -> Any:
    """Plot the words whose probabilities in two topics differ most, as bars to either side; see `contrast`.

    Bars to the right are words of topic a, bars to the left words of topic b, with intervals over draws where phi was
    recorded for the word. Grey bars have an interval that includes 0.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    a, b : int
        Numbers of two topics.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    chain : int
        Chains number their topics independently, so they are not combined.
    n_words : int
        Words of each of the two topics.
    probability : float
        Probability of the equal-tailed intervals.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If there is no such topic, chain or response, both topics are the same or give all words the same probability,
        or the trace holds no mean topics.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    check_positive("n_words", n_words)
    options: dict[str, Any] = {"response": response, "chain": chain, "probability": probability}
    table = contrast(groups, a, b, n_words=n_words, **options)
    if not len(table):
        raise TraceError(f"topics {a} and {b} give all words the same probability, so there is nothing to plot")
    difference, low, high = (table[name].to_numpy(dtype=float) for name in ("difference", "low", "high"))
    panel = one_axes(ax, (7.5, 0.21 * len(table) + 1.3))
    unsure = (low <= 0.0) & (high >= 0.0)
    colours = np.where(unsure, UNSURE, np.where(difference > 0.0, COLOURS[0], COLOURS[1])).tolist()
    words = [plain(str(word), WORD) for word in table["word"]]
    bars(panel, difference, low, high, words, height=0.72, color=colours)
    panel.set_ylim(-len(table) + 0.4, 0.6)
    panel.axvline(0.0, color="black", linewidth=0.8)
    known = "" if np.isnan(low).all() else f", {100 * probability:g}% interval"
    panel.set_xlabel(f"difference of probabilities{known}")
    label = topic_labels(groups, part_of(groups, chain, response), 4)
    sides = zip(COLOURS, ("right", "left"), (a, b), strict=False)
    names = [
        panel.plot([], [], "s", color=colour, label=f"to the {side}: {label(topic)}")[0]
        for colour, side, topic in sides
    ]
    panel.legend(handles=names, loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize="small", frameon=False)
    return panel
