"""How many probabilities of topics are zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import check_probability, interval

__all__ = ["DENSITY", "zeros_in_phi"]

DENSITY = "density_phi"
"""The sample statistic of models with zeros in topics."""


def zeros_in_phi(groups: Mapping[str, xr.Dataset], *, probability: float = 0.9) -> pd.DataFrame:
    """Return the share of the cells of phi, topics by words, that spike-and-slab topics exclude.

    As in table 6 of Magnusson et al. (2018). These are zeros of the prior; a drawn phi also stores values below 2^-40
    of a token as zero.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.
    probability : float
        Probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        A row for each chain (and response, if each has its own topics), with the columns ``chain``, ``response`` (if it
        applies), ``zeros`` (the posterior mean of the share), ``low`` and ``high`` (the ends of its interval; NaN with
        one draw). ``attrs`` holds ``probability``.

    Raises
    ------
    TraceError
        If the topics of the model have no zeros.
    """
    probability = check_probability(probability)
    statistics = groups.get("sample_stats", xr.Dataset())
    if DENSITY not in statistics:
        raise TraceError(
            f"the trace has no statistic `{DENSITY}`: only spike_slab topics have zeros; run a model with them, such "
            "as lda_spike_slab"
        )
    density = statistics[DENSITY]
    apart = "response" in density.dims
    zeros = 1.0 - density.transpose("draw", "chain", *(["response"] if apart else [])).values.astype(np.float64)
    mean = zeros.mean(axis=0)
    low, high = interval(zeros, probability)
    rows = []
    for position in np.ndindex(*mean.shape):
        row: dict[str, Any] = {"chain": int(statistics["chain"].values[position[0]])}
        if apart:
            row["response"] = str(statistics["response"].values[position[1]])
        rows.append({**row, "zeros": mean[position], "low": low[position], "high": high[position]})
    table = pd.DataFrame(rows)
    table.attrs = {"probability": probability}
    return table
