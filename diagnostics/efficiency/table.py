"""A table of how well a posterior was sampled, with a row for each variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.efficiency.dataset import all_statistics

__all__ = ["efficiency_table"]

STATISTICS = ("ess_bulk", "ess_tail", "ess_mean", "rhat")
CONVERGED = 1.01


def _row(found: Mapping[str, FloatArray], draws: int) -> dict[str, float]:
    """Summarise the scalars of one variable; those for which a statistic is undefined are left out of it."""
    known = {name: values[~np.isnan(values)] for name, values in found.items()}
    scalars = found["rhat"].size

    def of(summary: Callable[[FloatArray], Any], values: FloatArray) -> float:
        return float(summary(values)) if values.size else np.nan

    row: dict[str, float] = {"scalars": scalars, "undefined": scalars - known["rhat"].size}
    for name in ("ess_bulk", "ess_tail"):
        row[f"{name}_median"] = of(np.median, known[name])
        row[f"{name}_q05"] = of(lambda values: np.quantile(values, 0.05), known[name])
        row[f"{name}_min"] = of(np.min, known[name])
    factors = draws / known["ess_mean"]
    row["inefficiency_median"], row["inefficiency_max"] = of(np.median, factors), of(np.max, factors)
    row["rhat_q95"] = of(lambda values: np.quantile(values, 0.95, method="higher"), known["rhat"])
    row["rhat_max"] = of(np.max, known["rhat"])
    row["rhat_above"] = of(lambda values: (values > CONVERGED).mean(), known["rhat"])
    return row


def efficiency_table(posterior: xr.Dataset, var_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Summarise how well each variable of a posterior was sampled.

    Parameters
    ----------
    posterior : xarray.Dataset
        Draws; every variable has the dimensions ``chain`` and ``draw``.
    var_names : sequence of str, optional
        The variables to show, in this order; by default all.

    Returns
    -------
    pandas.DataFrame
        A row for each variable, with the columns ``scalars`` (their number), ``undefined`` (number without R-hat, since
        the draws are all equal, not finite, or fewer than four per chain), the median, 5% quantile and minimum over
        scalars of the bulk and tail effective sample sizes (``ess_bulk_median``, ``ess_bulk_q05``, ``ess_bulk_min``,
        and so on), ``inefficiency_median`` and ``inefficiency_max`` (draws over the effective sample size of the mean),
        ``rhat_q95`` and ``rhat_max`` (95% quantile, which the verdict goes by, and maximum), and ``rhat_above``, the
        share of the defined R-hat above 1.01.

    Raises
    ------
    KeyError
        If a name is not a variable of the posterior.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from ppl_topics.diagnostics.efficiency import efficiency_table
    >>> draws = np.random.default_rng(1).normal(size=(4, 500, 10))
    >>> table = efficiency_table(xr.Dataset({"eta": (("chain", "draw", "topic"), draws)}))
    >>> int(table.loc["eta", "scalars"]), bool(table.loc["eta", "rhat_max"] < 1.02)
    (10, True)
    """
    names = [str(name) for name in posterior.data_vars] if var_names is None else list(var_names)
    unknown = [name for name in names if name not in posterior.data_vars]
    if unknown:
        raise KeyError(f"no variable {unknown[0]!r} in the posterior, which has {', '.join(map(str, posterior))}")
    rows = {}
    for name in names:
        draws = posterior[name].sizes["chain"] * posterior[name].sizes["draw"]
        rows[name] = _row(
            {key: each.values for key, each in all_statistics(posterior[name], STATISTICS).items()}, draws
        )
    columns = list(_row({name: np.empty(0) for name in STATISTICS}, 0))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.astype({"scalars": "int64", "undefined": "int64"})
