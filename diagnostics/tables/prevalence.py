"""How much there is of each topic at values of a covariate, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.argument_names import argument
from ppl_topics.errors import TraceError
from ppl_topics.prediction.prevalence import prevalence
from ppl_topics.results.coefficient_draws import check_probability, interval
from ppl_topics.results.documents import part_of
from ppl_topics.results.topic_names import with_names
from ppl_topics.results.topics import top_words

__all__ = ["prevalence_table"]


def prevalence_table(
    groups: Mapping[str, xr.Dataset],
    covariate: str,
    values: Sequence[Any] | None = None,
    *,
    difference: bool = False,
    chain: int = 0,
    probability: float = 0.95,
    n_words: int = 5,
) -> pd.DataFrame:
    """Return the expected share of each topic at values of a covariate, or the difference between two, with intervals.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace, of a model whose topics depend on covariates, such as ``dmr``.
    covariate : str
        A column of the covariates, as the corpus names it.
    values : sequence, optional
        As for `prevalence`.
    difference : bool
        Of two values, the share at the second less that at the first, in the same documents.
    chain : int
        Chains number their topics independently, so they are not combined.
    probability : float
        Probability of the equal-tailed intervals.
    n_words : int
        Words of each topic.

    Returns
    -------
    pandas.DataFrame
        Columns ``topic``, ``value`` (a row for each), ``share``, ``low``, ``high`` and ``words``, the topic whose share
        has the widest range first; or ``topic``, ``difference``, ``low``, ``high`` and ``words``, the largest first.
        Beside the topic its ``name``, if topics have names.

    Raises
    ------
    TraceError
        If no topic depends on the covariate, a value is none of its categories, or there are not two for a difference.
    """
    check_probability(probability)
    part = part_of(groups, chain)
    draws = prevalence(groups, covariate, values).sel(chain=part.chain)
    dim = str(draws.dims[1])
    words = top_words(groups, n_words, chain).set_index("topic")["words"]
    shares, topics = draws.transpose("draw", "topic", dim).values, draws["topic"].values
    if difference:
        if shares.shape[2] != 2:
            number, name = shares.shape[2], argument("difference")
            raise TraceError(f"{name}: needs two values of {covariate!r}, and there are {number}; name two")
        shares = np.diff(shares, axis=2)
    mean, (low, high) = shares.mean(axis=0), interval(shares, probability)
    order = np.argsort(-(mean[:, 0] if difference else np.ptp(mean, axis=1)), kind="stable")
    n_values = mean.shape[1]
    columns = {
        "topic": np.repeat(topics[order], n_values),
        "value": np.tile([None] if difference else draws[dim].values, len(order)),
        "difference" if difference else "share": mean[order].ravel(),
        "low": low[order].ravel(),
        "high": high[order].ravel(),
        "words": np.repeat(words.loc[topics[order]].to_numpy(), n_values),
    }
    table = with_names(pd.DataFrame(columns), groups)
    return table.drop(columns="value") if difference else table
