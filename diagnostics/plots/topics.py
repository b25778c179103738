"""Topics as bars: the probabilities of their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ppl_topics.diagnostics.plots.canvas import SURE, WORD, bars, check_positive, grid, groups_of, plain, sequence_of
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability
from ppl_topics.results.documents import part_of, topic_numbers
from ppl_topics.results.topic_names import called, topic_names
from ppl_topics.results.topic_table import topic_shares, topic_table

__all__ = ["plot_topics"]

SHOWN = 12
"""Topics shown by default."""


def plot_topics(
    groups: Any,
    topics: int | Sequence[int] | None = None,
    *,
    response: str | None = None,
    chain: int = 0,
    n_words: int = 10,
    probability: float = 0.9,
    axes: Any = None,
) -> NDArray[Any]:
    """Plot the most probable words of topics as bars of their probabilities, with intervals over draws.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    topics : int or sequence of int, optional
        Topic numbers; by default the 12 topics with the largest shares of the tokens, the largest first.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    chain : int
        Chains number their topics independently, so they are not combined.
    n_words : int
        Words per topic; words of probability 0 are left out.
    probability : float
        Probability of the equal-tailed intervals, which need recorded draws of the word's phi.
    axes : matplotlib.axes.Axes or array of them, optional
        Axes to draw on, one for each topic; by default those of a new figure. Each has its own scale: one word
        of nearly all of a topic would leave no bars in the others.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of topics,)

    Raises
    ------
    TraceError
        If there is no such topic, chain or response, the trace holds no mean topics, or there are more than 50 panels.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    check_positive("n_words", n_words)
    level = check_probability(probability)
    part = part_of(groups, chain, response)
    table = topic_table(groups, chain=chain, response=response, n_words=n_words, probability=level)
    numbers, names = topic_numbers(groups), topic_names(groups)
    shares = dict(zip(numbers, topic_shares(groups, part, len(numbers)).tolist(), strict=True))
    if topics is None:
        # By share, if it was recorded; sorting is stable, so ties stay in order of number.
        shown = sorted(numbers, key=lambda number: -np.nan_to_num(shares[number]))[:SHOWN]
    else:
        shown = list(sequence_of(topics))
    for number in shown:
        if number not in shares:
            raise TraceError(f"topics: the trace has no topic {number!r}; it has {numbers[0]} to {numbers[-1]}")
    if not shown:
        raise TraceError("topics: name at least one")
    panels = grid(
        axes,
        len(shown),
        "topics",
        columns=min(4, int(np.ceil(np.sqrt(len(shown))))),
        panel=(3.1, 0.9 + 0.19 * n_words),
        narrow="name some of them (topics=)",
    )
    for panel, number in zip(panels, shown, strict=True):
        _bars(panel, table[table["topic"] == number], n_words)
        share = "" if np.isnan(shares[number]) else f" ({100 * shares[number]:.1f}% of tokens)"
        panel.set_title(f"topic {plain(called(names, number), WORD)}{share}", fontsize="medium")
    return panels


def _bars(panel: Any, rows: pd.DataFrame, n_words: int) -> None:
    """Draw the words of a topic, the most probable at the top."""
    low, high = (rows[end].to_numpy(dtype=float) for end in ("low", "high"))
    words = [plain(str(word), WORD) for word in rows["word"]]
    bars(panel, rows["probability"].to_numpy(), low, high, words, height=0.72, color=SURE, alpha=0.75)
    reach = float(np.nanmax(rows[["probability", "high"]].to_numpy(dtype=float), initial=0.0))
    panel.set_xlim(0.0, 1.04 * reach if reach > 0 else 1.0)
    # As high as the other panels, however few the words.
    panel.set_ylim(-n_words + 0.4, 0.6)
    panel.locator_params(axis="x", nbins=4)
    panel.tick_params(axis="x", labelsize="small")
