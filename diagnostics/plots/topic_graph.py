"""Which topics occur together, as a graph."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.plots.canvas import (
    LETTER,
    MOST_WORDS,
    SURE,
    groups_of,
    inches,
    one_axes,
    topic_labels,
    width,
)
from ppl_topics.diagnostics.plots.correlations import by_similarity, drawn_correlations
from ppl_topics.diagnostics.plots.springs import apart, springs
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import Estimate, part_of
from ppl_topics.results.topic_table import topic_shares

__all__ = ["plot_topic_graph"]

LEAST = 0.1
"""Least correlation of an edge where there are no draws to say whether it is above 0."""

LARGEST, SMALLEST = 0.26, 0.03
"""Inches: radius of the largest topic, and of the smallest."""

LINE, LETTERS = 0.145, 26
"""Height of a line of a label in inches, and its letters."""

GAP = 0.06
"""Inches around a topic and its label."""

FULL, FULLEST = 0.42, 0.6
"""Part of the area that topics and labels take in a new figure, and may take in given axes."""

THICK, THIN = 5.0, 0.6
"""Width in points of the edges of the largest correlation and of none."""

FAINT = 0.45
"""Opacity of edges."""


def plot_topic_graph(
    groups: Any,
    *,
    response: str | None = None,
    chain: int = 0,
    estimate: Estimate = "auto",
    probability: float = 0.9,
    least: float | None = None,
    n_words: int = 3,
    ax: Any = None,
) -> Any:
    """Plot topics as a graph whose edges join topics that occur in the same documents.

    The area of a topic is its share of the tokens. An edge is a correlation of shares over documents whose interval
    over draws lies above 0, the thicker the larger. Negative correlations have no edges: shares sum to 1, so most pairs
    have one; `plot_topic_correlations` shows them all. Topics are placed by springs (Fruchterman, Reingold 1991),
    always from the same start, and moved apart where labels would overlap: joined topics are near each other, but other
    distances say little.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    response, chain
        As in `plot_topics`.
    estimate : {"auto", "draws", "z_last"}
        Where correlations are from, as in `plot_topic_correlations`. By ``z_last``, or with one draw, there is no
        interval, and the correlation itself is compared with `least`.
    probability : float
        Probability of the equal-tailed intervals.
    least : float, optional
        An edge needs a correlation that is larger, with the whole interval. By default 0, and 0.1 without intervals.
    n_words : int
        Words in a topic's label. With more than 60 topics, the labels are numbers.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure. Places are computed for the size that the axes have then, so
        of several in a figure with a constrained layout, draw on these last.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If fewer than two documents have tokens, there is no such chain or response, the trace lacks what the estimate
        needs, or a number is out of range.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    level = check_probability(probability)
    if least is not None and (isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least < 1):
        raise TraceError(f"least: must be a number from 0 to 1, such as 0.1, or None, got {least!r}")
    found, drawn = drawn_correlations(groups, response, chain, estimate)
    correlation, (low, _) = drawn.mean(axis=0), interval(drawn, level)
    known = len(drawn) > 1
    bound = least if least is not None else (0.0 if known else LEAST)
    # A correlation that is missing is no edge.
    edges = (low if known else correlation) > bound
    np.fill_diagonal(edges, False)
    pull = np.where(edges, correlation, 0.0)
    part = part_of(groups, chain, response)
    shares = topic_shares(groups, part, len(pull))
    radii = np.maximum(np.sqrt(np.nan_to_num(shares / shares.max(), nan=0.25)) * LARGEST, SMALLEST)
    texts = _texts(found.topics.tolist(), topic_labels(groups, part, n_words))
    boxes = _boxes(texts, radii, 1.0)
    area = float(np.prod(boxes, axis=1).sum()) / FULL
    across = float(np.clip(np.sqrt(1.4 * area), 6.0, 20.0))
    panel = one_axes(ax, (across, max(area / across, 3.0) + 0.8))
    panel.set_axis_off()
    above = f"{100 * level:g}% interval above {bound:g}" if known else f"above {bound:g} in one state"
    panel.set_title(f"area: share of tokens\nlines: correlation over documents, {above}", fontsize="small")
    _key(panel, pull)
    size = inches(panel)
    # Labels are smaller in axes that are small for them.
    scale = min(1.0, np.sqrt(FULLEST * size[0] * size[1] / float(np.prod(boxes, axis=1).sum())))
    boxes = _boxes(texts, radii * scale, scale)
    order = by_similarity(correlation)
    centres = apart(0.5 * boxes + springs(pull / (pull.max() or 1.0), order) * (np.asarray(size) - boxes), boxes, size)
    # A box has the topic at its top and the label below.
    places = centres + np.column_stack([np.zeros(len(boxes)), 0.5 * boxes[:, 1] - GAP - radii * scale])
    _draw(panel, places, radii * scale, pull, texts, scale)
    panel.set_xlim(0.0, size[0])
    panel.set_ylim(0.0, size[1])
    return panel


def _texts(numbers: list[int], label: Callable[[int], str]) -> list[list[str]]:
    """Return the lines of the labels: words, or numbers if there are many topics."""
    if len(numbers) > MOST_WORDS:
        return [[str(number)] for number in numbers]
    result = []
    for number in numbers:
        # The number of a topic stays on one line.
        text = label(number).replace(f"topic {number}", f"topic\xa0{number}")
        lines = textwrap.wrap(text, LETTERS, break_long_words=False, break_on_hyphens=False)
        result.append([line.replace("\xa0", " ") for line in lines])
    return result


def _boxes(texts: list[list[str]], radii: FloatArray, scale: float) -> FloatArray:
    """Return width and height in inches of each topic with its label, shape (K, 2)."""
    wide = np.array([max(width(line) for line in lines) for lines in texts]) * LETTER * scale
    tall = np.array([len(lines) for lines in texts]) * LINE * scale
    return np.column_stack([np.maximum(wide, 2.0 * radii), 2.0 * radii + tall]) + 2.0 * GAP


def _draw(
    panel: Any, places: FloatArray, radii: FloatArray, pull: FloatArray, texts: list[list[str]], scale: float
) -> None:
    """Draw edges, topics above them, and labels below each topic."""
    from matplotlib.collections import LineCollection

    ends = np.argwhere(np.triu(pull) > 0.0)
    widths = _widths(pull[ends[:, 0], ends[:, 1]], pull)
    panel.add_collection(LineCollection(list(places[ends]), linewidths=widths, colors=SURE, alpha=FAINT, zorder=1))
    # The size of a marker is the square of its diameter in points.
    panel.scatter(*places.T, s=(144.0 * radii) ** 2, color=SURE, linewidths=0, zorder=2)
    for (x, y), radius, lines in zip(places.tolist(), radii.tolist(), texts, strict=True):
        panel.text(
            x,
            y - radius - 0.02,
            "\n".join(lines),
            ha="center",
            va="top",
            fontsize=8.3 * scale,
            linespacing=1.1,
            bbox={"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 0.5},
            zorder=3,
        )


def _widths(correlations: NDArray[Any], pull: FloatArray) -> FloatArray:
    """Return the widths in points of edges."""
    return np.asarray(THIN + (THICK - THIN) * correlations / (float(pull.max()) or 1.0))


def _key(panel: Any, pull: FloatArray) -> None:
    """Say what correlation the thinnest and the thickest edge have, or that there is none."""
    found = pull[pull > 0.0]
    ends = np.unique([found.min(), found.max()]) if len(found) else np.empty(0)
    lines = [
        panel.plot([], [], color=SURE, alpha=FAINT, linewidth=size, label=f"{end:.2f}")[0]
        for end, size in zip(ends.tolist(), _widths(ends, pull).tolist(), strict=True)
    ]
    title = "correlation" if len(found) else "no correlation is large enough for an edge"
    panel.legend(
        handles=lines,
        title=title,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=2,
        fontsize="small",
        title_fontsize="small",
        frameon=False,
    )
