"""Shares of topics at values: lines with bands over numbers, points with intervals by category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ppl_topics.diagnostics.plots.canvas import (
    COLOURS,
    bare,
    check_positive,
    legend_columns,
    one_axes,
    plain,
    sequence_of,
    topic_labels,
)
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import Part

__all__ = ["draw_shares"]

SIZE = (7.5, 4.8)
"""Inches."""

SPREAD = 0.6
"""Part of the room of a category that its topics take."""

ACROSS = 60
"""Letters of the names of categories that fit side by side; more are turned."""


def draw_shares(
    groups: Mapping[str, xr.Dataset],
    part: Part,
    shares: xr.DataArray,
    topics: int | Sequence[int] | None,
    *,
    meaning: str,
    probability: float,
    top: int,
    n_words: int,
    ax: Any,
) -> Any:
    """Draw shares with the dims (draw, a dim of values, topic) and their intervals, or without the dim draw and these.

    The topics are those named, or the ``top`` whose shares change most. Values are numbers in increasing order, or
    text.
    """
    level = check_probability(probability)
    check_positive("top", top)
    drawn = "draw" in shares.dims
    dim = next(str(each) for each in shares.dims if each not in ("draw", "topic"))
    values = shares.transpose(*(["draw"] if drawn else []), "topic", dim).values
    mean = values.mean(axis=0) if drawn else values
    low, high = interval(values if drawn else values[None], level)
    numbers = shares["topic"].values.tolist()
    if topics is None:
        # The first is the topic whose share has the widest range.
        rows = np.argsort(-np.ptp(mean, axis=1), kind="stable")[:top].tolist()
    else:
        named = list(sequence_of(topics))
        unknown = next((topic for topic in named if topic not in numbers), None)
        if unknown is not None:
            raise TraceError(f"topics: there is no topic {unknown!r}; they are {numbers[0]} to {numbers[-1]}")
        rows = [numbers.index(topic) for topic in named]
    panel, label = one_axes(ax, SIZE), topic_labels(groups, part, n_words)
    at = shares[dim].values
    categories = at.dtype.kind in "OU"
    x = np.arange(len(at), dtype=float) if categories else at.astype(float)
    for place, row in enumerate(rows):
        colour, name = COLOURS[place % len(COLOURS)], label(numbers[row])
        if categories:
            beside = x + SPREAD * ((place + 0.5) / len(rows) - 0.5)
            panel.vlines(beside, low[row], high[row], colors=colour, linewidth=2.0)
            panel.scatter(beside, mean[row], color=colour, s=22, zorder=3, label=name)
        else:
            panel.fill_between(x, low[row], high[row], color=colour, alpha=0.2, linewidth=0.0)
            panel.plot(x, mean[row], color=colour, marker="o", markersize=3.0, label=name)
    if categories:
        texts = [plain(str(value)) for value in at]
        panel.set_xticks(x, texts)
        if sum(map(len, texts)) > ACROSS:
            panel.tick_params(axis="x", rotation=40)
            for text in panel.get_xticklabels():
                text.set(ha="right", rotation_mode="anchor")
    elif (x == np.round(x)).all():
        panel.locator_params(axis="x", integer=True)
    panel.set_xlabel(plain(dim))
    panel.set_ylabel(meaning if np.isnan(low).all() else f"{meaning}, {100 * level:g}% interval")
    panel.set_ylim(bottom=0.0)
    # Above, since shares may be anywhere.
    panel.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=legend_columns(panel), fontsize="small", frameon=False
    )
    bare(panel)
    return panel
