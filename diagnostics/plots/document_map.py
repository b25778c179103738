"""A map of the training documents: those with similar topics are neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ppl_topics._util.arguments import MAX_SEED, is_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.plots.canvas import (
    COLOURS,
    LABEL,
    check_positive,
    groups_of,
    legend_columns,
    one_axes,
    plain,
    topic_labels,
    topic_texts,
)
from ppl_topics.errors import TraceError
from ppl_topics.results.document_groups import document_groups
from ppl_topics.results.documents import Estimate, document_topics

__all__ = ["document_places", "plot_document_map"]

SIZE = (7.5, 7.5)
"""Inches."""

OTHER = "#c4c4c4"
"""Colour of documents without a colour of their own."""

PERPLEXITY = 30.0
"""Neighbours that a document of a large corpus is held to."""

FEWEST = 4

LABEL_WORDS = 2
"""Words of a topic's label on the map."""

LABELLED = 0.01
"""Least part of the documents of which a topic is the largest that has a label on the map."""


def plot_document_map(
    groups: Any,
    colour: str | npt.ArrayLike | None = None,
    *,
    response: str | None = None,
    chain: int = 0,
    estimate: Estimate = "auto",
    max_documents: int = 2000,
    seed: int = 0,
    top: int = 10,
    n_words: int = 3,
    ax: Any = None,
) -> Any:
    """Plot a map on which training documents with similar topics are neighbours, coloured by topic or by group.

    It is t-SNE (van der Maaten, Hinton 2008) of the square roots of the topic shares, between which distances are
    those of Hellinger, started from their principal components. It shows which documents are neighbours, and no more:
    distances between clusters, their sizes, their shapes and the empty room between them mean nothing, another seed
    turns and moves them, and a topic that many documents share a little has no place on it. How similar topics are,
    ``plot_topic_correlations`` shows, and how many documents have them, the tables.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    colour : str or array_like, shape (D,), optional
        A covariate, labels or a value for each training document, as `by` of `prevalence_over`; numbers have a scale
        of colours. By default, the topic with the largest share of the document.
    response, chain
        As in `plot_topics`.
    estimate : {"auto", "draws", "z_last"}
        Where shares are from, as in `plot_topic_correlations`.
    max_documents : int
        Maximum number of documents; of more, a random sample is shown, and the title says so. Documents without tokens
        are left out.
    seed : int
        Of the sample and of t-SNE, whose last digits, and so the map, may differ between machines.
    top : int
        Maximum number of topics, or groups, with a colour, at most 10; those with the most documents have one, and the
        others are grey. A topic that is the largest of 1% of the documents or more has a label at their medians.
    n_words : int
        Words in a topic's label in the legend.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TraceError
        If there is no such chain or response, fewer than four documents have tokens, there is one topic, all documents
        have the same shares, or the colours are not one for each document.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    check_positive("max_documents", max_documents)
    check_positive("top", top)
    if not is_whole(seed) or not 0 <= seed <= MAX_SEED:
        raise TraceError(f"seed: must be a whole number from 0, got {seed!r}")
    shares = document_topics(groups, chain, response, estimate)
    label, short = topic_labels(groups, shares.part, n_words), topic_texts(groups, shares.part, LABEL_WORDS)
    full = np.flatnonzero(shares.lengths != 0)
    shown = full
    if len(full) > max_documents:
        shown = np.sort(np.random.default_rng(seed).choice(full, max_documents, replace=False))
    theta = shares.theta[shown]
    largest, top = theta.argmax(axis=1), min(top, len(COLOURS))
    if colour is None:
        names = [label(number) for number in shares.topics.tolist()]
        codes, values = largest, None
    else:
        codes, values, names = _colours(groups, colour, shown)
    places = document_places(theta, seed)
    panel = one_axes(ax, SIZE)
    size = float(np.clip(9000.0 / len(shown), 5.0, 30.0))
    if values is None:
        _points(panel, places, codes, names, top, size)
    else:
        known = ~np.isnan(values)
        panel.scatter(*places[~known].T, s=size, color=OTHER, linewidths=0.0)
        points = panel.scatter(*places[known].T, s=size, c=values[known], cmap="viridis", linewidths=0.0)
        bar = panel.figure.colorbar(points, ax=panel, aspect=25, pad=0.02, shrink=0.8)
        bar.set_label(names[0], fontsize="small")
        bar.ax.tick_params(labelsize="small")
    for topic in _most_frequent(largest, theta.shape[1]):
        if (largest == topic).mean() < LABELLED:
            break
        middle = np.median(places[largest == topic], axis=0)
        number = int(shares.topics[topic])
        _write(panel, middle, f"{number}: {short[number]}" if number in short else str(number))
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_aspect("equal", adjustable="datalim")
    sample = f"{len(shown):,} of " if len(shown) < len(full) else ""
    many = f"{sample}{len(full):,} documents{', at random' if sample else ''}"
    panel.set_title(f"{many}, neighbours by their topics (t-SNE)", fontsize="medium")
    for spine in panel.spines.values():
        spine.set_color("#d0d0d0")
    return panel


def document_places(theta: FloatArray, seed: int) -> FloatArray:
    """Return places in the plane, shape (D, 2), of documents with topic shares of shape (D, K)."""
    # Takes half a second to import.
    from sklearn.manifold import TSNE

    if len(theta) < FEWEST:
        raise TraceError(f"a map needs at least {FEWEST} documents with tokens, and there are {len(theta)}")
    if theta.shape[1] < 2:
        raise TraceError("a map of documents by their topics needs at least two topics")
    if np.ptp(theta, axis=0).max() < 1e-6:
        raise TraceError("all documents have the same shares of topics, so there is nothing to see on a map")
    tsne = TSNE(
        perplexity=min(PERPLEXITY, (len(theta) - 1) / 3.0),
        init="pca",
        learning_rate="auto",
        # scikit-learn takes seeds of 32 bits.
        random_state=np.random.RandomState(np.random.MT19937(seed)),
    )
    return np.asarray(tsne.fit_transform(np.sqrt(theta)), dtype=np.float64)


def _colours(
    groups: Mapping[str, xr.Dataset], colour: Any, shown: IntArray
) -> tuple[IntArray, FloatArray | None, list[str]]:
    """Return the group of each document that is shown, or its number, and the names of the groups or of the number."""
    made = document_groups(groups, colour)
    codes = made.codes()[shown]
    if made.ordered:
        return codes, np.append(made.values.astype(np.float64), np.nan)[codes], [plain(made.name)]
    return codes, None, [plain(str(value), LABEL) for value in made.values]


def _most_frequent(codes: IntArray, top: int) -> list[int]:
    """Return the most frequent codes, the most frequent first; -1 is none."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    order = np.argsort(-counts, kind="stable")[:top]
    return [int(code) for code in order if counts[code]]


def _points(panel: Any, places: FloatArray, codes: IntArray, names: Sequence[str], top: int, size: float) -> None:
    """Draw documents in the colours of their topics or groups, the others in grey behind them, and a legend."""
    coloured = _most_frequent(codes, top)
    rest = ~np.isin(codes, coloured)
    if rest.any():
        panel.scatter(*places[rest].T, s=size, color=OTHER, linewidths=0.0, zorder=1)
    for place, code in enumerate(coloured):
        own = codes == code
        style = {"color": COLOURS[place], "label": names[code], "zorder": 2}
        panel.scatter(*places[own].T, s=size, alpha=0.8, linewidths=0.0, **style)
    if rest.any():
        panel.scatter([], [], s=size, color=OTHER, label=f"others ({rest.sum():,})")
    panel.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=legend_columns(panel),
        fontsize="small",
        frameon=False,
        markerscale=(40.0 / size) ** 0.5,
    )


def _write(panel: Any, place: FloatArray, text: str) -> None:
    """Write a label that can be read over points."""
    from matplotlib.patheffects import withStroke

    over = [withStroke(linewidth=2.5, foreground="white")]
    panel.text(*place, text, ha="center", va="center", fontsize="small", path_effects=over, zorder=4)
