"""Efficiency statistics of arrays, DataArrays and Datasets of draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics.diagnostics.efficiency.arrays import STATISTICS, array_statistics

__all__ = ["all_statistics", "ess", "inefficiency", "mcse", "rhat"]

Draws = TypeVar("Draws", NDArray[Any], xr.DataArray, xr.Dataset)

ESS_METHODS = ("bulk", "tail", "mean", "sd", "spectral")
MCSE_METHODS = ("mean", "sd")


def all_statistics(draws: Draws, statistics: Sequence[str] = STATISTICS) -> dict[str, Draws]:
    """Compute several efficiency statistics of every scalar, sharing the work between them.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, ...), DataArray or Dataset
        Draws, float, integer or bool. A DataArray, and every variable of a Dataset, has the dimensions ``chain`` and
        ``draw``.
    statistics : sequence of str
        Any of ``ess_bulk``, ``ess_tail``, ``rhat``, ``ess_mean``, ``ess_sd``, ``mcse_mean``, ``mcse_sd`` and
        ``ess_spectral``; by default all.

    Returns
    -------
    dict of str to ndarray of the remaining shape, DataArray or Dataset
        Each statistic, float64, in the same kind of container as the draws. NaN if a draw is NaN, or with fewer than
        four draws per chain.

    Raises
    ------
    ValueError
        If a statistic is unknown, or the draws lack the dimensions of chains and draws.
    TypeError
        If the draws are not real numbers.

    Notes
    -----
    Everything is computed in float64, so float32 draws give what ArviZ gives for them cast to float64. Effective sample
    sizes, their Monte Carlo standard errors and R-hat are those of ArviZ 1.x [1]_, with two exceptions: R-hat of a
    single chain compares its halves (NaN in ArviZ), and the tails are always those beyond the 5% and 95% quantiles, as
    ArviZ computes for ``prob=(0.05, 0.95)``.

    References
    ----------
    .. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner (2021). Rank-normalization, folding, and
       localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16(2).

    Examples
    --------
    >>> import numpy as np
    >>> from ppl_topics.diagnostics.efficiency import all_statistics
    >>> draws = np.random.default_rng(1).normal(size=(4, 500, 10))
    >>> {name: values.shape for name, values in all_statistics(draws, ["ess_bulk", "rhat"]).items()}
    {'ess_bulk': (10,), 'rhat': (10,)}
    """
    if isinstance(draws, xr.Dataset):
        tables = {name: all_statistics(array, statistics) for name, array in draws.data_vars.items()}
        return {
            statistic: xr.Dataset({name: table[statistic] for name, table in tables.items()}, attrs=draws.attrs)
            for statistic in statistics
        }
    if isinstance(draws, xr.DataArray):
        missing = {"chain", "draw"}.difference(map(str, draws.dims))
        if missing:
            raise ValueError(f"{draws.name!r} has no dimension {' or '.join(sorted(missing))}: {draws.dims}")
        values = draws.transpose("chain", "draw", ...).values
        event = [dim for dim in draws.dims if dim not in ("chain", "draw")]
        coords = {name: coord for name, coord in draws.coords.items() if not {"chain", "draw"} & set(coord.dims)}
        return {
            statistic: xr.DataArray(result, dims=event, coords=coords, name=draws.name)
            for statistic, result in zip(statistics, array_statistics(values, statistics), strict=True)
        }
    return dict(zip(statistics, array_statistics(np.asarray(draws), statistics), strict=True))


def _named(kind: str, method: str, methods: Sequence[str]) -> str:
    """Return the name of a statistic, and refuse an unknown method."""
    if method not in methods:
        raise ValueError(f"unknown {kind} method {method!r}; known: {', '.join(methods)}")
    return f"{kind}_{method}"


def ess(draws: Draws, method: str = "bulk") -> Draws:
    """Compute the effective sample size of every scalar.

    Parameters
    ----------
    draws
        As in `all_statistics`.
    method : {"bulk", "tail", "mean", "sd", "spectral"}
        ``bulk``: of the rank-normalised split chains. ``tail``: the smaller of those for the 5% and 95% quantiles.
        ``mean``, ``sd``: of the draws, and of their squared distances from the mean. All as in ArviZ, with Geyer's
        initial monotone sequence [1]_. ``spectral``: ``effectiveSize`` of R's coda [2]_, from the spectral density at
        zero of an autoregression [3]_, added up over whole chains.

    Returns
    -------
    ndarray of the remaining shape, DataArray or Dataset
        If all draws are equal, their number (after halving the chains), or zero for ``spectral``. As in ArviZ, ``mean``
        and ``sd`` treat a range below 1e-15 as constant.

    References
    ----------
    .. [1] C. J. Geyer (1992). Practical Markov chain Monte Carlo. Statistical Science 7(4).
    .. [2] M. Plummer, N. Best, K. Cowles, K. Vines (2006). CODA: convergence diagnosis and output analysis for MCMC. R
       News 6(1).
    .. [3] P. Heidelberger, P. D. Welch (1981). A spectral method for confidence interval generation and run length
       control in simulations. Communications of the ACM 24(4).

    Examples
    --------
    >>> import numpy as np
    >>> from ppl_topics.diagnostics.efficiency import ess
    >>> ess(np.zeros((4, 100, 2)))
    array([400., 400.])
    """
    name = _named("ess", method, ESS_METHODS)
    return all_statistics(draws, [name])[name]


def inefficiency(draws: Draws, method: str = "mean") -> Draws:
    """Compute the inefficiency factor of every scalar: the number of draws over the effective sample size.

    It estimates ``1 + 2 sum_t rho_t``, the number of draws that are worth one independent draw.

    Parameters
    ----------
    draws
        As in `all_statistics`.
    method : {"mean", "bulk", "tail", "sd", "spectral"}
        The effective sample size; see `ess`.

    Returns
    -------
    ndarray of the remaining shape, DataArray or Dataset
        Infinite if the effective sample size is zero.
    """
    name = _named("ess", method, ESS_METHODS)
    chains, length = draws.shape[:2] if isinstance(draws, np.ndarray) else (draws.sizes["chain"], draws.sizes["draw"])
    with np.errstate(divide="ignore"):
        factors: Any = chains * length / all_statistics(draws, [name])[name]
    result: Draws = factors.assign_attrs(draws.attrs) if isinstance(draws, xr.Dataset) else factors
    return result


def rhat(draws: Draws) -> Draws:
    """Compute the rank-normalised split R-hat of every scalar, the larger of the plain and the folded one.

    ``draws`` and the result are as in `all_statistics`; R-hat is also NaN if all draws are equal.
    """
    return all_statistics(draws, ["rhat"])["rhat"]


def mcse(draws: Draws, method: str = "mean") -> Draws:
    """Compute the Monte Carlo standard error of every scalar's posterior mean or standard deviation (``method``).

    ``draws`` and the result are as in `all_statistics`.
    """
    name = _named("mcse", method, MCSE_METHODS)
    return all_statistics(draws, [name])[name]
