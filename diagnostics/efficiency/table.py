"""A table of how well a posterior was sampled, with a row for each variable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.efficiency.dataset import all_statistics

__all__ = ["efficiency_table"]

STATISTICS = ("ess_bulk", "ess_tail", "ess_mean", "rhat")
CONVERGED = 1.01


def _row(bulk: FloatArray, tail: FloatArray, factor: FloatArray,
         rhat: FloatArray) -> dict[str, float]:  # fmt: skip
    """Summarise the scalars of one variable; those for which a statistic is undefined are left out of it."""
    row: dict[str, float] = {"scalars": rhat.size, "undefined": int(np.isnan(rhat).sum())}
    for name, values in (("ess_bulk", bulk), ("ess_tail", tail)):
        known = values[~np.isnan(values)]
        row[f"{name}_median"] = float(np.median(known)) if known.size else np.nan
        row[f"{name}_q05"] = float(np.quantile(known, 0.05)) if known.size else np.nan
        row[f"{name}_min"] = float(known.min()) if known.size else np.nan
    factor = factor[~np.isnan(factor)]
    row["inefficiency_median"] = float(np.median(factor)) if factor.size else np.nan
    row["inefficiency_max"] = float(factor.max()) if factor.size else np.nan
    known = rhat[~np.isnan(rhat)]
    row["rhat_max"] = float(known.max()) if known.size else np.nan
    row["rhat_above"] = float((known > CONVERGED).mean()) if known.size else np.nan
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
        ``rhat_max``, and ``rhat_above``, the share of the defined R-hat above 1.01.

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
        found = all_statistics(posterior[name], STATISTICS)
        bulk, tail, mean, rhat = (found[statistic].values.ravel() for statistic in STATISTICS)
        draws = posterior[name].sizes["chain"] * posterior[name].sizes["draw"]
        rows[name] = _row(bulk, tail, draws / mean, rhat)
    columns = list(_row(*[np.empty(0)] * 4))
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.astype({"scalars": "int64", "undefined": "int64"})
