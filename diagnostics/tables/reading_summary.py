"""What the reports of a run say of its coefficients and its zeros, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from ppl_topics.diagnostics.tables.effective_coefficients import effective_coefficients
from ppl_topics.diagnostics.tables.relevance import excluding_zero
from ppl_topics.diagnostics.tables.zeros import DENSITY, zeros_in_phi
from ppl_topics.errors import PplTopicsError
from ppl_topics.results.coefficient_draws import coefficient_draws

__all__ = ["PROBABILITY", "reading_summary"]

PROBABILITY = 0.9
"""Of the intervals that tell signal from noise in reports."""


def reading_summary(groups: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """Return numbers of signal topics, effective coefficients and zeros in phi, as far as a trace has them.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.

    Returns
    -------
    dict
        For a supervised model of two draws or more ``signal_topics``, a list of their numbers, by chain;
        ``topics_with_coefficients``, of how many (where each response has topics of its own, of all responses);
        ``signal_coefficients``, a list by chain of the numbers of coefficients of topics whose intervals exclude 0;
        ``coefficients_of_topics``, of how many; ``signal_probability``, that of the intervals;
        ``effective_coefficients``, a list by chain, summed over responses; and ``slopes``, of how many. For topics with
        zeros ``zeros_in_phi``, a list by chain, of all responses together. What a trace does not hold, or a model that
        cannot be read here does not say, is left out.
    """
    result: dict[str, Any] = {}
    chains = groups["posterior"]["chain"].values.tolist() if "chain" in groups["posterior"].dims else []
    try:
        draws = [coefficient_draws(groups, chain) for chain in chains]
    except PplTopicsError:
        draws = []
    if draws and len(draws[0].draws) > 1:
        first = draws[0]
        excludes = [excluding_zero(each, PROBABILITY) for each in draws]
        signal = [each.any(axis=1) for each in excludes]
        result["signal_topics"] = [int(each.sum()) for each in signal]
        result["topics_with_coefficients"] = int(signal[0].size)
        result["signal_coefficients"] = [int(each.sum()) for each in excludes]
        result["coefficients_of_topics"] = int(excludes[0].size)
        result["signal_probability"] = PROBABILITY
        try:
            numbers = [effective_coefficients(groups, chain=each.chain)["effective"].sum() for each in draws]
        except PplTopicsError:
            numbers = []
        if numbers:
            result["effective_coefficients"] = [float(number) for number in numbers]
            result["slopes"] = first.n_slopes * len(first.responses)
    if DENSITY in groups.get("sample_stats", xr.Dataset()):
        table = zeros_in_phi(groups)
        result["zeros_in_phi"] = [float(zeros) for zeros in table.groupby("chain")["zeros"].mean()]
    return result
