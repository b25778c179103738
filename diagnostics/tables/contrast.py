"""Two topics word by word, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import Part, mean_phi, part_of, recorded, recorded_words, topic_numbers

__all__ = ["contrast"]


def contrast(
    groups: Mapping[str, xr.Dataset],
    a: int,
    b: int,
    *,
    response: str | None = None,
    chain: int = 0,
    n_words: int | None = 10,
    probability: float = 0.9,
) -> pd.DataFrame:
    """Return the words whose probabilities in two topics differ most, with intervals over draws.

    The measure is the difference phi_aw - phi_bw, as in the perspectives of R's stm. It puts first the words that make
    up most of the difference: half the sum of its sizes over all words is the total variation distance of the topics.
    A log ratio would put rare words first, whose ratio says little more than how few tokens they have.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    a, b : int
        Numbers of two topics.
    response : str, optional
        Whose topics; required if each response has its own topics (one-vs-all), and not allowed otherwise.
    chain : int
        Chains number their topics independently, so they are not combined.
    n_words : int, optional
        Words of each of the two topics; None for all words that differ.
    probability : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        A row for each word, from the most of topic a to the most of topic b, with the columns ``word``, ``difference``
        (the posterior mean), ``low`` and ``high`` (the ends of its interval), ``probability_a`` and ``probability_b``
        (the posterior means of phi). The ends of the interval are missing for words without recorded draws of phi (by
        default all but the 1,000 most frequent), and if there is one draw. ``attrs`` holds ``chain``, ``topics`` (a, b)
        and ``probability`` (of the intervals).

    Raises
    ------
    TraceError
        If there is no such topic, chain or response, both topics are the same, the trace holds no mean topics, or a
        number is out of range.
    """
    level = check_probability(probability)
    if n_words is not None and (not is_whole(n_words) or n_words < 1):
        raise TraceError(f"n_words: must be a whole number of at least 1, or None for all, got {n_words!r}")
    part = part_of(groups, chain, response)
    phi = mean_phi(groups, part)
    numbers = topic_numbers(groups)
    places = [_place(numbers, name, topic) for name, topic in (("a", a), ("b", b))]
    if places[0] == places[1]:
        raise TraceError(f"b: is topic {b}, as a is; name two different topics")
    first, second = phi[places].astype(np.float64)
    difference = first - second
    of_a, of_b = best_words(np.stack([difference, -difference]), phi.shape[1] if n_words is None else n_words)
    words = np.concatenate([of_a[of_a >= 0], of_b[of_b >= 0][::-1]])
    low, high = _intervals(groups, part, places, words, level)
    table = pd.DataFrame(
        {
            "word": [str(word) for word in groups["constant_data"]["word"].values[words]],
            "difference": difference[words],
            "low": low,
            "high": high,
            "probability_a": first[words],
            "probability_b": second[words],
        }
    )
    table.attrs = {"chain": part.chain, "topics": (int(a), int(b)), "probability": level}
    return table


def _place(numbers: list[int], name: str, topic: Any) -> int:
    """Return the position of a topic, and refuse what is none."""
    if not is_whole(topic) or topic not in numbers:
        raise TraceError(f"{name}: the trace has no topic {topic!r}; it has {numbers[0]} to {numbers[-1]}")
    return numbers.index(topic)


def _intervals(
    groups: Mapping[str, xr.Dataset], part: Part, places: list[int], words: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals of the differences of words, NaN without draws."""
    low, high = np.full(len(words), np.nan), np.full(len(words), np.nan)
    draws = recorded(groups, "phi")
    if draws is None:
        return low, high
    columns = recorded_words(groups, draws)[words]
    known = columns >= 0
    pair = part.of(draws).isel(topic=places, word=columns[known]).transpose("topic", "draw", "word")
    first, second = pair.values.astype(np.float64)
    low[known], high[known] = interval(first - second, level)
    return low, high
