"""Which topics the responses depend on, how much, and how certainly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import BoolArray, FloatArray
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import (
    CoefficientDraws,
    check_probability,
    coefficient_draws,
    interval,
    topic_texts,
)
from ppl_topics.results.topic_names import with_names

__all__ = ["excluding_zero", "signal_topics", "topic_relevance"]


def topic_relevance(
    groups: Mapping[str, xr.Dataset], *, chain: int = 0, probability: float = 0.9, n_words: int = 10
) -> pd.DataFrame:
    """Return how much the responses depend on each topic, r_k = sum_l abs(eta_lk), in one chain, the largest first.

    The sum is over responses; it is the supervised effect of Magnusson, Jonsson, Villani (2020), figure 8.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    chain, probability, n_words
        As in `coefficient_table`.

    Returns
    -------
    pandas.DataFrame
        A row for each topic with coefficients, the largest first, with the columns ``topic``, ``relevance`` (the
        posterior mean of r_k), ``low`` and ``high`` (the ends of its interval; NaN with one draw), ``share`` (of the
        tokens) and ``words``. If each response has its own topics, ``response`` is the first column, and r_k has one
        term. ``attrs`` holds ``chain`` and ``probability``.

    Raises
    ------
    TraceError
        If the model has no response, its coefficients were not recorded, or there is no such chain.
    """
    probability = check_probability(probability)
    coefficients = coefficient_draws(groups, chain)
    relevance = np.abs(_by_topics(coefficients)).sum(axis=2)
    low, high = interval(relevance, probability)
    columns = {"relevance": relevance.mean(axis=0), "low": low, "high": high}
    return _table(groups, coefficients, probability, n_words, columns, sort_by=["relevance"])


def signal_topics(
    groups: Mapping[str, xr.Dataset], *, chain: int = 0, probability: float = 0.9, n_words: int = 10
) -> pd.DataFrame:
    """Separate the topics that responses clearly depend on (signal) from the others (noise), in one chain.

    A topic is signal if the equal-tailed interval of its coefficient excludes 0 for at least one response. The
    probability applies to each interval, not to all together: with many responses, use a larger one.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    chain, probability, n_words
        As in `coefficient_table`.

    Returns
    -------
    pandas.DataFrame
        A row for each topic with coefficients, signal first and then by relevance, with the columns ``topic``,
        ``signal``, ``responses`` (names of those whose interval excludes 0, the largest abs(mean) first), ``relevance``
        (see `topic_relevance`), ``share`` (of the tokens) and ``words``. If each response has its own topics,
        ``response`` is the first column. ``attrs`` holds ``chain`` and ``probability``.

    Raises
    ------
    TraceError
        If the model has no response, its coefficients were not recorded, there is no such chain, or it has only one
        draw.
    """
    probability = check_probability(probability)
    coefficients = coefficient_draws(groups, chain)
    if len(coefficients.draws) < 2:
        raise TraceError(f"chain {coefficients.chain} has one draw, and an interval needs at least two")
    eta = _by_topics(coefficients)
    excludes = excluding_zero(coefficients, probability)
    size = np.abs(eta.mean(axis=0))
    names = np.array(coefficients.responses, dtype=object).reshape(size.shape[:2])
    responses = np.empty((len(size), size.shape[2]), dtype=object)
    for part, topic in np.ndindex(*responses.shape):
        order = np.argsort(-size[part, :, topic], kind="stable")
        responses[part, topic] = [str(names[part, c]) for c in order if excludes[part, c, topic]]
    columns = {
        "signal": excludes.any(axis=1),
        "responses": responses,
        "relevance": np.abs(eta).sum(axis=2).mean(axis=0),
    }
    return _table(groups, coefficients, probability, n_words, columns, sort_by=["signal", "relevance"])


def excluding_zero(coefficients: CoefficientDraws, probability: float) -> BoolArray:
    """Return which intervals of topic coefficients exclude 0, shaped as `_by_topics` without draws."""
    low, high = interval(_by_topics(coefficients), probability)
    return np.asarray((low > 0) | (high < 0))


def _by_topics(coefficients: CoefficientDraws) -> FloatArray:
    """Return the coefficients of topics, shape (M, sets of topics, responses of each set, n)."""
    eta = coefficients.draws[:, :, : coefficients.n_topics]
    return eta[:, :, None] if coefficients.apart else eta[:, None]


def _table(
    groups: Mapping[str, xr.Dataset],
    coefficients: CoefficientDraws,
    probability: float,
    n_words: int,
    columns: Mapping[str, NDArray[Any]],
    sort_by: list[str],
) -> pd.DataFrame:
    """Return a table of columns of shape (sets of topics, n), with a row for each topic, the largest first."""
    texts = topic_texts(groups, n_words, coefficients)
    rows = []
    for part, name in enumerate(coefficients.responses if coefficients.apart else [""]):
        for topic in range(coefficients.n_topics):
            values = {key: column[part, topic] for key, column in columns.items()}
            rows.append({"response": name, "topic": topic, **values, **texts[part][topic]._asdict()})
    names = [*(["response"] if coefficients.apart else []), "topic", *columns, "share", "words"]
    table = with_names(pd.DataFrame(rows, columns=names), groups)
    table = table.sort_values(sort_by, ascending=False, kind="stable", ignore_index=True)
    table.attrs = {"chain": coefficients.chain, "probability": probability}
    return table
