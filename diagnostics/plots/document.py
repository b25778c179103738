"""One training document: its topics, and its words in the colours of their topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.diagnostics.plots.canvas import (
    COLOURS,
    bars,
    check_positive,
    given_axes,
    groups_of,
    inches,
    plain,
    pyplot,
    topic_labels,
    width,
)
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import (
    DocumentTopics,
    Part,
    checked_topics,
    document_lengths,
    document_topics,
    last_topics,
    recorded,
    words_of_tokens,
)

__all__ = ["plot_document"]

OTHER = "#9a9a9a"
"""Colour of the words of topics without a bar."""

LEAST_SHARE = 0.01
"""Smallest share of a topic that has a bar but no word."""

LINE, SHORTEST_LINE = 100, 20
"""Characters in a line of words: in a new figure, and at least in given axes, however narrow."""

LONGEST_WORD = 40

LINE_HEIGHT, FONT_SIZE, SMALL = 1.5, 9.0, 7.5

CHARACTER = 0.602
"""Ratio of width to font size of a monospaced character."""


class _Word(NamedTuple):
    """A word of a document, and how often one topic has it."""

    topic: int
    word: str
    times: int

    @property
    def text(self) -> str:
        word = self.word if len(self.word) <= LONGEST_WORD else f"{self.word[:LONGEST_WORD]}…"
        return word if self.times == 1 else f"{word} ×{self.times}"


def plot_document(
    groups: Any,
    doc: int | str,
    *,
    response: str | None = None,
    chain: int = 0,
    probability: float = 0.9,
    top: int = 8,
    n_words: int = 4,
    max_tokens: int = 300,
    axes: Any = None,
) -> NDArray[Any]:
    """Plot the largest topic shares of a training document, and its words in the colours of their topics.

    A corpus is a bag of words, so the order of the text is not known: words are grouped by topic, the topic with the
    largest share first, and within a topic by frequency.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    doc : int or str
        The position of the document as a number, or its id as text.
    response, chain
        As in `plot_topics`.
    probability : float
        Probability of the equal-tailed intervals of the shares, which need recorded draws of theta. Without them, the
        bars are E[theta | z, alpha] at the last state of the chain.
    top : int
        Maximum number of topics with a bar; words of other topics are grey.
    n_words : int
        Words in a topic's label.
    max_tokens : int
        Maximum number of words shown; the plot says how many more there are.
    axes : array of two matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,)
        The shares, and the words. Each word has its most frequent topic over draws if z was recorded, else its topic in
        the last state.

    Raises
    ------
    TraceError
        If there is no such document, chain or response, or the trace lacks the words or their topics.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    level = check_probability(probability)
    check_positive("top", top)
    check_positive("max_tokens", max_tokens)
    place, name = _place(groups, doc)
    shares, low, high, how = _shares(groups, place, chain, response, level)
    part = shares.part
    label = topic_labels(groups, part, n_words)
    words, source = _words(groups, part, place, shares)
    theta = shares.theta[place]
    here = {word.topic for word in words}
    shown = np.array(
        [k for k in np.argsort(-theta, kind="stable") if theta[k] >= LEAST_SHARE or shares.topics[k] in here]
    )[: min(top, len(COLOURS))]
    shown = shown if len(shown) else np.array([theta.argmax()])
    numbers = shares.topics[shown].tolist()
    colour_of = dict(zip(numbers, COLOURS, strict=False))
    if axes is None:
        line = LINE
        lines, left = _flow(words, max_tokens, line)
        panels = _new_panels(len(shown), max(len(lines), 1))
    else:
        panels = given_axes(axes, 2, "panels, the shares and the words")
        line = int(np.clip(inches(panels[1])[0] * 72 / (CHARACTER * SMALL), SHORTEST_LINE, LINE))
        lines, left = _flow(words, max_tokens, line)
    labels, colours = [label(number) for number in numbers], [colour_of[number] for number in numbers]
    bars(panels[0], theta[shown], low[shown], high[shown], labels, height=0.7, color=colours)
    panels[0].set_ylim(0.4 - len(shown), 0.6)
    panels[0].set_xlim(left=0.0)
    panels[0].set_xlabel(how, fontsize="small")
    tokens = "1 token" if shares.lengths[place] == 1 else f"{shares.lengths[place]:,} tokens"
    panels[0].set_title(f"document {plain(name)} ({tokens})", fontsize="medium")
    _write(panels[1], lines, left, line, colour_of, source)
    return panels


def _new_panels(bars: int, lines: int) -> NDArray[Any]:
    """Return the panels of a new figure; the lower one is as wide as the upper one with its labels."""
    high, low = 0.28 * bars + 0.8, 0.19 * lines + 0.5
    figure = pyplot().figure(figsize=(7.5, high + low), layout="constrained")
    places = figure.add_gridspec(2, 2, width_ratios=[0.001, 1.0], height_ratios=[high, low])
    return np.array([figure.add_subplot(places[0, 1]), figure.add_subplot(places[1, :])], dtype=object)


def _place(groups: Mapping[str, xr.Dataset], doc: int | str) -> tuple[int, str]:
    """Return the position and the id of a document."""
    lengths = document_lengths(groups)
    constants = groups["constant_data"]
    ids = [str(name) for name in constants["doc"].values.tolist()] if "doc" in constants.coords else []
    ids = ids or [str(number) for number in range(len(lengths))]
    if isinstance(doc, str):
        if doc not in ids:
            hint = nearest(doc, ids) if len(ids) <= 10_000 else ""
            raise TraceError(f"the trace has no document {doc!r}{hint}")
        return ids.index(doc), doc
    if not is_whole(doc) or not 0 <= doc < len(ids):
        raise TraceError(f"doc: expected a position from 0 to {len(ids) - 1}, or an id as text, got {doc!r}")
    return int(doc), ids[int(doc)]


def _shares(
    groups: Mapping[str, xr.Dataset], place: int, chain: int, response: str | None, level: float
) -> tuple[DocumentTopics, FloatArray, FloatArray, str]:
    """Return the shares, the ends of the document's intervals, and a description of the shares."""
    theta = recorded(groups, "theta")
    if theta is None or not theta.sizes["draw"] or place >= theta.sizes["doc"]:
        shares = document_topics(groups, chain, response, "z_last")
        missing = np.full(shares.theta.shape[1], np.nan)
        return shares, missing, missing, "share of the document, last state of the chain"
    shares = document_topics(groups, chain, response, "draws")
    draws = shares.part.of(theta).isel(doc=place).transpose("draw", "topic").values.astype(np.float64)
    low, high = interval(draws, level)
    if len(draws) < 2:
        return shares, low, high, "share of the document, one draw"
    return shares, low, high, f"share of the document, mean and {100 * level:g}% interval"


def _words(groups: Mapping[str, xr.Dataset], part: Part, place: int, shares: DocumentTopics) -> tuple[list[_Word], str]:
    """Return the words of a document by topic, and a description of where their topics come from."""
    lengths = document_lengths(groups)
    start = int(lengths[:place].sum())
    tokens = slice(start, start + int(lengths[place]))
    words = words_of_tokens(groups)[tokens]
    z = recorded(groups, "z")
    n_topics = int(groups["constant_data"].sizes.get("topic", shares.theta.shape[1]))
    if z is not None and "token" in z.dims and z.sizes["draw"]:
        drawn = part.of(z).transpose("draw", "token").isel(token=tokens).values
        drawn = checked_topics(drawn, n_topics).astype(np.int64)
        counts = np.array([np.bincount(column, minlength=n_topics) for column in drawn.T]).reshape(-1, n_topics)
        topics, source = counts.argmax(axis=1), f"most frequent topic of each word over {len(drawn):,} draws"
    else:
        topics, source = last_topics(groups, part)[tokens], "topic of each word in the last state of the chain"
    vocabulary = groups["constant_data"]["word"].values
    pairs, number = np.unique(np.column_stack([topics, words]), axis=0, return_counts=True)
    rank = np.empty(shares.theta.shape[1], dtype=np.int64)
    rank[np.argsort(-shares.theta[place], kind="stable")] = np.arange(len(rank))
    order = np.lexsort((pairs[:, 1], -number, rank[pairs[:, 0]]))
    return [
        _Word(int(shares.topics[pairs[i, 0]]), str(vocabulary[pairs[i, 1]]), int(number[i])) for i in order.tolist()
    ], source


def _flow(words: list[_Word], most: int, length: int) -> tuple[list[list[tuple[int, _Word]]], int]:
    """Break words into lines; return those of each line with their columns, and the number of tokens left over."""
    lines: list[list[tuple[int, _Word]]] = []
    column = length + 1
    for word in words[:most]:
        if column + width(word.text) > length:
            lines.append([])
            column = 0
        lines[-1].append((column, word))
        column += width(word.text) + 2
    return lines, sum(word.times for word in words[most:])


def _write(
    panel: Any,
    lines: list[list[tuple[int, _Word]]],
    left: int,
    length: int,
    colour_of: Mapping[int, str],
    source: str,
) -> None:
    """Write words on coloured backgrounds, in a panel whose units are characters and lines."""
    from matplotlib.patches import FancyBboxPatch

    rows = max(len(lines), 1) + (1 if left else 0)
    panel.set_xlim(-0.5, length + 0.5)
    panel.set_ylim(rows - 0.4, -0.6)
    # Given axes may be narrow or low.
    wide, tall = inches(panel)
    size = min(FONT_SIZE, 72 * wide / (length + 1) / CHARACTER, 72 * tall / rows / LINE_HEIGHT)
    for row, line in enumerate(lines):
        for column, word in line:
            colour = colour_of.get(word.topic, OTHER)
            box = FancyBboxPatch(
                (column - 0.2, row - 0.36),
                width(word.text) + 0.4,
                0.72,
                boxstyle="round,pad=0,rounding_size=0.15",
                mutation_aspect=0.5,
                facecolor=colour,
                alpha=0.3,
                linewidth=0,
            )
            panel.add_patch(box)
            panel.text(column, row, plain(word.text), family="monospace", fontsize=size, va="center", clip_on=True)
    if not lines:
        panel.text(0, 0, "the document has no tokens", fontsize="small", va="center", color="#555555")
    if left:
        more = "1 more token" if left == 1 else f"{left:,} more tokens"
        panel.text(0, rows - 1, f"and {more}", fontsize="small", va="center", color="#555555")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_xlabel(source, fontsize="small")
    for spine in panel.spines.values():
        spine.set_visible(False)
