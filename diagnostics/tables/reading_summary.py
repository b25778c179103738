"""The numbers on coefficients and zeros that the reports of a run quote."""

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
"""Probability of the intervals that separate signal from noise in reports."""


def reading_summary(groups: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """Return signal topics, effective coefficients and zeros in phi, if a trace has them.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset
        Groups of a trace.

    Returns
    -------
    dict
        For a supervised model with two draws or more: ``signal_topics`` and ``signal_coefficients``, the numbers of
        topics and of their coefficients with an interval that excludes 0, lists by chain; ``topics_with_coefficients``
        and ``coefficients_of_topics``, their totals (over all responses if each has its own topics);
        ``signal_probability``, of the intervals; ``effective_coefficients``, a list by chain, summed over responses;
        and ``slopes``, their total. For topics with zeros: ``zeros_in_phi``, a list by chain over all responses.
        Numbers that the trace does not allow are left out.
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
