"""The coefficients of a supervised model as a table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics.errors import TraceError
from ppl_topics.results.coefficient_draws import CoefficientDraws, check_probability, interval, topic_texts
from ppl_topics.results.topic_names import with_names

__all__ = ["coefficient_summary"]

COLUMNS = ["response", "coefficient", "topic", "mean", "sd", "low", "high", "excludes_0", "share", "words"]


def coefficient_summary(
    groups: Mapping[str, xr.Dataset],
    coefficients: CoefficientDraws,
    *,
    response: str | None = None,
    probability: float = 0.9,
    top: int | None = None,
    n_words: int = 10,
) -> pd.DataFrame:
    """Return the table of given draws that `ppl_topics.diagnostics.tables` adds ``ess`` and ``rhat`` to."""
    probability = check_probability(probability)
    if top is not None and (not is_whole(top) or top < 1):
        raise TraceError(f"{argument('top')}: must be a whole number of at least 1, got {top!r}")
    asked = coefficients.positions(response)
    texts = topic_texts(groups, n_words, coefficients)
    columns = _columns(coefficients.draws, probability)
    columns[:, :, coefficients.common] = _columns(np.concatenate(coefficients.of_all), probability)
    mean, spread, low, high = columns
    rows = []
    for c in asked:
        order = np.argsort(-np.abs(mean[c, : coefficients.n_slopes]), kind="stable")[:top].tolist()
        for j in [*order, *range(coefficients.n_slopes, len(coefficients.names))]:
            text = texts[c][j] if j < coefficients.n_topics else None
            rows.append(
                {
                    "response": coefficients.responses[c],
                    "coefficient": coefficients.names[j],
                    "topic": None if text is None else j,
                    "mean": mean[c, j],
                    "sd": spread[c, j],
                    "low": low[c, j],
                    "high": high[c, j],
                    "excludes_0": bool(low[c, j] > 0 or high[c, j] < 0),
                    "share": np.nan if text is None else text.share,
                    "words": "" if text is None else text.words,
                }
            )
    table = with_names(pd.DataFrame(rows, columns=COLUMNS).astype({"topic": "Int64"}), groups)
    table.attrs = {"chain": coefficients.chain, "probability": probability}
    return table


def _columns(draws: FloatArray, probability: float) -> FloatArray:
    """Return mean, standard deviation and ends of the interval over draws, shape (4, C, F)."""
    mean = draws.mean(axis=0)
    spread = draws.std(axis=0, ddof=1) if len(draws) > 1 else np.full(mean.shape, np.nan)
    return np.stack([mean, spread, *interval(draws, probability)])
