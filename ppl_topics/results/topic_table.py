"""The words of topics as a table, with intervals over draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import Part, mean_phi, part_of, recorded, recorded_words, topic_numbers
from ppl_topics.results.response_topics import own_topics
from ppl_topics.results.topic_names import with_names

__all__ = ["topic_shares", "topic_table"]


def topic_table(
    groups: Mapping[str, xr.Dataset],
    *,
    chain: int = 0,
    response: str | None = None,
    n_words: int | None = 20,
    probability: float = 0.9,
) -> pd.DataFrame:
    """Return the most probable words of each topic, with a row for each topic and word, and intervals over draws.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    chain : int
        Chains number their topics independently, so they are not combined.
    response : str, optional
        Whose topics, if each response has its own topics (one-vs-all); by default those of all responses.
    n_words : int, optional
        Words per topic; None for all. Words of probability exactly 0 are left out: those that no draw of a `spike_slab`
        topic includes.
    probability : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        Columns ``topic``, ``share`` (posterior mean share of the tokens), ``rank`` (from 1), ``word``, ``probability``
        (the posterior mean of phi), ``low`` and ``high``, by topic number. The ends of the interval are missing for
        words without recorded draws of phi (by default all but the 1,000 most frequent), and if there is one draw. If
        each response has its own topics, ``response`` is the first column. ``attrs`` holds ``chain`` and
        ``probability`` (of the intervals).

    Raises
    ------
    TraceError
        If there is no such chain or response, the trace holds no mean topics, or a number is out of range.
    """
    level = check_probability(probability)
    if n_words is not None and (not is_whole(n_words) or n_words < 1):
        raise TraceError(
            f"{argument('n_words')}: must be a whole number of at least 1, or None for all, got {n_words!r}"
        )
    apart = own_topics(groups)
    if response is not None or not apart:
        parts = [part_of(groups, chain, response)]
    else:
        parts = [part_of(groups, chain, name) for name in apart]
    tables = [_words_of(groups, part, n_words, level) for part in parts]
    table = with_names(pd.concat(tables, ignore_index=True), groups)
    if not apart:
        table = table.drop(columns="response")
    table.attrs = {"chain": int(chain), "probability": level}
    return table


def _words_of(groups: Mapping[str, xr.Dataset], part: Part, n_words: int | None, level: float) -> pd.DataFrame:
    """Return the rows of one set of topics."""
    phi = mean_phi(groups, part)
    constants = groups["constant_data"]
    numbers = np.array(topic_numbers(groups))
    best = best_words(phi, phi.shape[1] if n_words is None else n_words, zeros=True)
    low, high = _intervals(groups, part, best, level)
    k, place = np.nonzero(np.take_along_axis(phi, best, axis=1) > 0.0)
    words = best[k, place]
    share = topic_shares(groups, part, len(phi))
    return pd.DataFrame(
        {
            "response": part.response,
            "topic": numbers[k].astype(np.int64),
            "share": share[k],
            "rank": place + 1,
            "word": [str(word) for word in constants["word"].values[words]],
            "probability": phi[k, words].astype(np.float64),
            "low": low[k, place],
            "high": high[k, place],
        }
    )


def topic_shares(groups: Mapping[str, xr.Dataset], part: Part, n_topics: int) -> FloatArray:
    """Return the posterior mean share of the tokens of each topic, shape (K,), NaN if it was not recorded."""
    posterior = groups["posterior"]
    if "topic_share" not in posterior:
        return np.full(n_topics, np.nan)
    return np.asarray(part.of(posterior["topic_share"]).mean("draw").values, dtype=np.float64)


def _intervals(
    groups: Mapping[str, xr.Dataset], part: Part, best: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals of the words ``best`` (K, M) of each topic, NaN without draws."""
    low, high = np.full(best.shape, np.nan), np.full(best.shape, np.nan)
    draws = recorded(groups, "phi")
    if draws is None or draws.sizes["draw"] < 2:
        return low, high
    columns = recorded_words(groups, draws)[best]
    phi = part.of(draws).transpose("topic", "draw", "word").values
    for topic, chosen in enumerate(columns):
        known = chosen >= 0
        ends = interval(phi[topic][:, chosen[known]].astype(np.float64), level)
        low[topic, known], high[topic, known] = ends
    return low, high
