"""The coefficients of topics as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.plots.canvas import (
    LABEL,
    check_positive,
    groups_of,
    heat_map,
    one_axes,
    plain,
    sequence_of,
    topic_labels,
)
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability, coefficient_draws, interval
from ppl_topics.results.documents import Part

__all__ = ["plot_eta"]

MOST_RESPONSES = 100
CROWDED = 60
"""Labels are smaller with more rows."""


def plot_eta(
    groups: Any,
    response: str | Sequence[str] | None = None,
    *,
    chain: int = 0,
    probability: float = 0.9,
    top: int | None = 40,
    n_words: int = 4,
    ax: Any = None,
) -> Any:
    """Plot the posterior means of topic coefficients as a heat map, topics by responses.

    A dot marks coefficients whose interval excludes 0. Topics are ordered by the response with their largest
    coefficient, so that large coefficients lie near a diagonal; they keep their numbers.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    response, chain, probability, n_words
        As in `plot_coefficients`. With one draw there are no intervals, and no dots.
    top : int, optional
        Number of topics to show, those with the largest sum of abs(mean); None for all.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If the model has no response or no topic with coefficients, they were not recorded, each response has its own
        topics, or there is no such response or chain.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    level = check_probability(probability)
    check_positive("top", top, none=True)
    coefficients = coefficient_draws(groups, chain)
    if coefficients.apart:
        raise TraceError(
            "each response has its own topics, so there is no table of topics by responses; use plot_coefficients"
        )
    names = coefficients.responses if response is None else sequence_of(response)
    columns = [place for name in names for place in coefficients.positions(name)]
    if not columns:
        raise TraceError("response: name at least one")
    if len(columns) > MOST_RESPONSES:
        raise TraceError(f"there are {len(columns)} responses, too many to read; name some of them (response=)")
    if not coefficients.n_topics:
        raise TraceError("no topic of the model has coefficients (supervised_topics: 0), so there is nothing to plot")
    draws = coefficients.draws[:, columns, : coefficients.n_topics]
    mean = draws.mean(axis=0).T
    low, high = (end.T for end in interval(draws, level))
    rows = _rows(mean, top)
    label = topic_labels(groups, Part(coefficients.chain, None), n_words)
    size = (max(0.36 * len(columns), 1.6) + 4.6, max(0.24 * len(rows), 0.8) + 1.9)
    panel = one_axes(ax, (min(size[0], 24.0), min(size[1], 20.0)))
    reach = heat_map(panel, mean[rows], "posterior mean")
    sure = ((low > 0) | (high < 0))[rows]
    at = np.argwhere(sure)
    if len(at):
        # Black on pale cells, white on dark ones.
        dark = np.abs(mean[rows][sure]) > 0.6 * reach
        panel.scatter(at[:, 1], at[:, 0], s=7, c=np.where(dark, "white", "black"), linewidths=0)
    texts = 6.0 if len(rows) > CROWDED else "small"
    panel.set_yticks(np.arange(len(rows)), [label(topic) for topic in rows.tolist()], fontsize=texts)
    panel.set_xticks(
        np.arange(len(columns)),
        [plain(name, LABEL) for name in names],
        rotation=45 if len(columns) > 1 else 0,
        ha="right" if len(columns) > 1 else "center",
        rotation_mode="anchor" if len(columns) > 1 else "default",
        fontsize="small",
    )
    if len(draws) > 1:
        panel.set_title(f"dot: {100 * level:g}% interval excludes 0", fontsize="small", loc="right")
    return panel


def _rows(mean: FloatArray, top: int | None) -> IntArray:
    """Return the topics to show, ordered by the response of their largest coefficient and then by its size."""
    chosen = np.argsort(-np.abs(mean).sum(axis=1), kind="stable")[:top]
    best = mean[chosen].argmax(axis=1)
    return np.asarray(chosen[np.lexsort((-mean[chosen].max(axis=1), best))], dtype=np.int64)
