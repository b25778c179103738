"""Shares of topics at values of a covariate: bands over a number, intervals by category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppl_topics.diagnostics.plots.canvas import (
    COLOURS,
    bare,
    check_positive,
    groups_of,
    one_axes,
    plain,
    sequence_of,
    topic_labels,
)
from ppl_topics.errors import TraceError
from ppl_topics.prediction.prevalence import prevalence
from ppl_topics.results.documents import part_of

__all__ = ["plot_prevalence"]

SIZE = (7.5, 4.5)
"""Inches."""

SPREAD = 0.6
"""Part of the room of a category that its topics take."""


def plot_prevalence(
    groups: Any,
    covariate: str,
    topics: int | Sequence[int] | None = None,
    *,
    values: Sequence[Any] | None = None,
    chain: int = 0,
    probability: float = 0.9,
    top: int = 5,
    n_words: int = 4,
    ax: Any = None,
) -> Any:
    """Plot the expected shares of topics at values of a covariate, with intervals; see `prevalence`.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace of a model whose topics depend on covariates.
    covariate : str
    topics : int or sequence of int, optional
        Which topics; by default those whose shares change most.
    values : sequence, optional
        As for `prevalence`.
    chain : int
        Whose topics.
    probability : float
        Probability of the equal-tailed intervals.
    top : int
        Number of topics, if none are named.
    n_words : int
        Words in a topic's label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If no topic depends on the covariate, or there is no such topic or chain.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    part = part_of(groups, chain)
    if not 0.0 < probability < 1.0:
        raise TraceError(f"probability: must lie between 0 and 1, got {probability!r}")
    check_positive("top", top)
    shares = prevalence(groups, covariate, values).sel(chain=part.chain)
    dim = str(shares.dims[1])
    mean = shares.mean("draw").transpose("topic", dim)
    if topics is None:
        # The first is the topic whose share has the widest range.
        order = np.argsort(-np.ptp(mean.values, axis=1), kind="stable")[:top]
        chosen = mean["topic"].values[order].tolist()
    else:
        chosen = list(sequence_of(topics))
    unknown = next((topic for topic in chosen if topic not in mean["topic"].values), None)
    if unknown is not None:
        raise TraceError(f"topics: there is no topic {unknown!r}; they are 0 to {mean.sizes['topic'] - 1}")
    tail = 0.5 - 0.5 * probability
    low, high = (shares.quantile(q, "draw").transpose("topic", dim) for q in (tail, 1.0 - tail))
    panel, label = one_axes(ax, SIZE), topic_labels(groups, part, n_words)
    categories = shares[dim].dtype.kind in "OU"
    x = np.arange(shares.sizes[dim], dtype=float) if categories else shares[dim].values.astype(float)
    for place, topic in enumerate(chosen):
        colour = COLOURS[place % len(COLOURS)]
        rows = [array.sel(topic=topic).values for array in (mean, low, high)]
        if categories:
            at = x + SPREAD * ((place + 0.5) / len(chosen) - 0.5)
            panel.vlines(at, rows[1], rows[2], colors=colour, linewidth=2.0)
            panel.scatter(at, rows[0], color=colour, s=22, zorder=3, label=label(topic))
        else:
            panel.fill_between(x, rows[1], rows[2], color=colour, alpha=0.2, linewidth=0.0)
            panel.plot(x, rows[0], color=colour, label=label(topic))
    if categories:
        panel.set_xticks(x, [plain(str(value)) for value in shares[dim].values])
    panel.set_xlabel(plain(covariate))
    panel.set_ylabel(f"expected share, {100 * probability:g}% interval")
    panel.set_ylim(bottom=0.0)
    panel.legend(fontsize="small", frameon=False)
    bare(panel)
    return panel
