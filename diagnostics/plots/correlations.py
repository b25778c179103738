"""Which topics occur together: correlations of their shares over documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.plots.canvas import (
    LETTER,
    MOST_WORDS,
    groups_of,
    heat_map,
    one_axes,
    row_labels,
    topic_labels,
)
from ppl_topics.diagnostics.tables.hierarchy import QUICKLY_ORDERED
from ppl_topics.errors import TraceError
from ppl_topics.results.documents import DocumentTopics, Estimate, concentration, document_topics, part_of, recorded

__all__ = ["by_similarity", "drawn_correlations", "plot_topic_correlations", "topic_correlations"]

ANNOTATED = 10
"""Maximum number of topics whose cells show their numbers."""


def topic_correlations(
    groups: Any, *, response: str | None = None, chain: int = 0, estimate: Estimate = "auto"
) -> tuple[IntArray, FloatArray, str]:
    """Return topic numbers (K,), correlations of topic shares over documents (K, K), and the estimate used.

    A topic whose share is the same in all documents has NaN.
    """
    found, drawn = drawn_correlations(groups_of(groups), response, chain, estimate)
    # The mean of the correlations, since the correlation of the means would ignore their uncertainty.
    return found.topics, drawn.mean(axis=0), found.estimate


def drawn_correlations(
    groups: Mapping[str, xr.Dataset], response: str | None, chain: int, estimate: Estimate
) -> tuple[DocumentTopics, FloatArray]:
    """Return topic shares, and the correlations (M, K, K) in each recorded draw of theta or, alone, the last state."""
    found = document_topics(groups, chain, response, estimate)
    # An empty document has the shares of the prior.
    full = found.lengths != 0
    if full.sum() < 2:
        raise TraceError("correlations over documents need at least two documents with tokens")
    if found.estimate != "draws":
        return found, _correlation(_zbar(groups, found)[full])[None]
    theta = recorded(groups, "theta")
    assert theta is not None, "shares of draws without draws"
    draws = found.part.of(theta).transpose("draw", "doc", "topic").values
    return found, np.stack([_correlation(draw[full].astype(np.float64)) for draw in draws])


def _zbar(groups: Mapping[str, xr.Dataset], found: DocumentTopics) -> FloatArray:
    """Return the shares of tokens, n_dk / N_d, from the smoothed shares: (N_d + sum of alpha) theta - alpha = n_dk."""
    alpha = concentration(groups, "alpha", found.part, draw=-1)
    lengths = found.lengths[:, None]
    return np.asarray(
        np.round((lengths + alpha.sum(axis=-1, keepdims=True)) * found.theta - alpha) / np.maximum(lengths, 1)
    )


def _correlation(shares: FloatArray) -> FloatArray:
    """Return Pearson's correlations of columns, NaN for columns that do not vary."""
    centred = shares - shares.mean(axis=0)
    varies = np.ptp(shares, axis=0) > 0
    norm = np.where(varies, np.linalg.norm(centred, axis=0), 1.0)
    result = (centred / norm).T @ (centred / norm)
    result[~varies] = np.nan
    result[:, ~varies] = np.nan
    return np.asarray(np.clip(result, -1.0, 1.0))


def plot_topic_correlations(
    groups: Any,
    *,
    response: str | None = None,
    chain: int = 0,
    estimate: Estimate = "auto",
    n_words: int = 4,
    ax: Any = None,
) -> Any:
    """Plot the correlations of topic shares over documents as a heat map, with similar topics side by side.

    Shares sum to 1, so most correlations are slightly negative. Topics are ordered by hierarchical clustering and keep
    their numbers. A topic whose share is the same in all documents has no correlation and is grey.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    response, chain
        As in `plot_topics`.
    estimate : {"auto", "draws", "z_last"}
        ``draws``: the mean over recorded draws of theta of the correlations in each. ``z_last``: the correlations of
        the shares of tokens in the last state. ``auto``: ``draws`` if theta was recorded for all documents, else
        ``z_last``. Documents without tokens are left out.
    n_words : int
        Words in a topic's label. With more than 60 topics, the labels are numbers.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If fewer than two documents have tokens, there is no such chain or response, or the trace lacks what the
        estimate needs.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    topics, correlation, used = topic_correlations(groups, response=response, chain=chain, estimate=estimate)
    label = topic_labels(groups, part_of(groups, chain, response), n_words)
    order = by_similarity(correlation)
    shown = correlation[np.ix_(order, order)].copy()
    n_topics = len(order)
    np.fill_diagonal(shown, np.nan)
    side = float(np.clip(0.26 * n_topics, 2.2, 12.0))
    longest = max(len(label(number)) for number in topics.tolist()) if n_topics <= MOST_WORDS else 4
    panel = one_axes(ax, (side + LETTER * longest + 1.3, side + 0.9))
    reach = heat_map(panel, shown, "correlation over documents", shrink=0.8)
    _ticks(panel, topics[order], label)
    if n_topics <= ANNOTATED:
        for row, column in zip(*np.nonzero(~np.isnan(shown)), strict=True):
            value = shown[row, column]
            colour = "white" if abs(value) > 0.6 * reach else "black"
            panel.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize="x-small", color=colour)
    how = "mean over draws of theta" if used == "draws" else "last state of the chain"
    panel.set_title(f"topics over documents, {how}", fontsize="medium")
    return panel


def _ticks(panel: Any, numbers: IntArray, label: Any) -> None:
    """Label rows by words and columns by numbers, if there is space."""
    places, texts, size = row_labels(numbers, label)
    short = [str(number) for number in numbers[places].tolist()]
    panel.set_yticks(places, texts, fontsize=size)
    panel.set_xticks(places, short, fontsize=size, rotation=90 if len(numbers) > 20 else 0)
    panel.set_xlabel("topic", fontsize="small")


def by_similarity(correlation: FloatArray) -> IntArray:
    """Return an order that puts strongly correlated topics side by side, with topics without correlations last."""
    known = np.flatnonzero(~np.isnan(np.diag(correlation)))
    unknown = np.setdiff1d(np.arange(len(correlation)), known)
    if len(known) > 2:
        distance = 1.0 - correlation[np.ix_(known, known)]
        np.fill_diagonal(distance, 0.0)
        apart = squareform(np.maximum(distance, 0.0), checks=False)
        tree = linkage(apart, "average", optimal_ordering=len(known) <= QUICKLY_ORDERED)
        known = known[leaves_list(tree)]
    return np.concatenate([known, unknown]).astype(np.int64)
