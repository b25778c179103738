"""Plots of how chains went: their paths, the ranks of their draws, and how the effective sample size grew.

ArviZ 0.x and 1.x draw such plots by interfaces that have nothing in common, so these are drawn here, from numbers that
equal ArviZ's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ppl_topics.diagnostics.efficiency import all_statistics
from ppl_topics.diagnostics.plots.canvas import COLOURS, GREY, bare, grid, groups_of, reach_over
from ppl_topics.diagnostics.plots.scalars import Scalar, scalars
from ppl_topics.errors import TraceError

__all__ = ["plot_ess", "plot_rank", "plot_trace"]

LOG_DENSITIES = ("lp", "log_marginal")

PATHS = (*LOG_DENSITIES, "training_loss", "acceptance_rate")

FEWEST_DRAWS = 4
"""Of a chain, for ranks and effective sample sizes."""

FEWER = "show fewer (var_names=, coords=)"

MOST_BINS, DRAWS_OF_A_BIN = 20, 5

POINTS = 20

ENOUGH = 100
"""Effective draws for each chain, below which ESS and R-hat are rough themselves (Vehtari et al. 2021)."""


def plot_trace(
    groups: Any,
    var_names: str | Sequence[str] | None = None,
    *,
    coords: Mapping[str, Any] | None = None,
    warmup: bool = True,
    axes: Any = None,
) -> NDArray[Any]:
    """Plot the path of each chain by sweep, the warm-up shaded.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    var_names : str or sequence of str, optional
        Variables of ``sample_stats`` or ``posterior``. By default what of ``lp``, ``log_marginal``, ``training_loss``
        and ``acceptance_rate`` there is and varies (Gibbs steps always accept); ``log_marginal`` only where it
        differs from ``lp``.
    coords : mapping, optional
        For each dim the coordinates that are wanted, such as ``{"topic": [3, 7], "chain": 0}``; by default all.
    warmup : bool
        Whether to show the warm-up. The panels reach over the kept draws and the second half of the warm-up; what
        the first half has beyond it runs off.
    axes : matplotlib.axes.Axes or array of them, optional
        To draw on, one for each scalar; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of scalars,)

    Raises
    ------
    TraceError
        If there is no such variable or coordinate, or there are more than 50 panels.
    PplTopicsError
        If matplotlib is not installed.
    """
    groups = groups_of(groups)
    shown = scalars(groups, var_names, coords, PATHS)
    thin = int(groups["posterior"].attrs.get("thin", 1))
    columns = 1 if len(shown) <= 4 else 2
    panels = grid(axes, len(shown), "scalars", columns=columns, panel=(8.0 / columns, 2.0), narrow=FEWER)
    for panel, scalar in zip(panels, shown, strict=True):
        n_warmup = int(groups["posterior"].attrs.get("warmup", scalar.warmup.shape[1]))
        kept = n_warmup + thin * np.arange(1, scalar.draws.shape[1] + 1)
        early = np.arange(1, scalar.warmup.shape[1] + 1) if warmup else np.zeros(0)
        if len(early):
            panel.axvspan(0, n_warmup, color=GREY, linewidth=0)
        sparse = len(early) + len(kept) < 30
        for colour, chain, draws, before in zip(
            _cycle(len(scalar.chains)), scalar.chains, scalar.draws, scalar.warmup, strict=True
        ):
            path = np.concatenate([before[: len(early)], draws])
            style = {"linewidth": 0.9, "marker": "." if sparse else None, "markersize": 4.0}
            panel.plot(np.concatenate([early, kept]), path, color=colour, label=chain, **style)
        late = scalar.warmup[:, scalar.warmup.shape[1] // 2 :] if warmup else scalar.draws
        reach_over(panel, np.hstack([scalar.draws, late]).ravel())
        panel.set_xlim(0 if len(early) else n_warmup, kept[-1] + 0.01 * (kept[-1] - (0 if len(early) else n_warmup)))
        _finish(panel, scalar)
    # One label for all panels of a column.
    for panel in panels if axes is not None else panels[-columns:]:
        panel.set_xlabel("sweep (warm-up shaded)" if warmup and shown[0].warmup.size else "sweep")
    if 1 < len(shown[0].chains) <= len(COLOURS):
        if axes is None:
            lines = panels[0].get_lines()
            panels[0].figure.legend(handles=lines, fontsize="small", frameon=False, ncols=5, loc="outside upper right")
        else:
            panels[0].legend(fontsize="small", frameon=False, loc="best")
    return panels


def plot_rank(
    groups: Any,
    var_names: str | Sequence[str] | None = None,
    *,
    coords: Mapping[str, Any] | None = None,
    axes: Any = None,
) -> NDArray[Any]:
    """Plot histograms of the ranks that each chain's draws have among the draws of all chains.

    Chains that sample the same distribution have even histograms, near the dashed lines; a chain that sits elsewhere,
    or moves too little, leans to a side or has a gap or peak (Vehtari et al. 2021, section 4.3). Of a single chain its
    halves are compared.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    var_names : str or sequence of str, optional
        Variables of ``sample_stats`` or ``posterior``; by default ``lp`` and, where it differs, ``log_marginal``.
    coords : mapping, optional
        For each dim the coordinates that are wanted, such as ``{"topic": [3, 7]}``; by default all.
    axes : matplotlib.axes.Axes or array of them, optional
        To draw on, one for each scalar; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of scalars,)

    Raises
    ------
    TraceError
        If there is no such variable or coordinate, there are fewer than four draws a chain, some are not numbers, or
        there are more than 50 panels.
    PplTopicsError
        If matplotlib is not installed.
    """
    shown = _enough(scalars(groups_of(groups), var_names, coords, LOG_DENSITIES))
    shown = [_halves(scalar) for scalar in shown]
    rows = max(len(scalar.chains) for scalar in shown)
    columns = min(2, len(shown))
    panels = grid(axes, len(shown), "scalars", columns=columns, panel=(4.6, 0.9 + 0.5 * rows), narrow=FEWER)
    for panel, scalar in zip(panels, shown, strict=True):
        n_chains, n_draws = scalar.draws.shape
        n_bins = int(np.clip(n_draws // DRAWS_OF_A_BIN, 2, MOST_BINS))
        edges = np.linspace(0.5, n_chains * n_draws + 0.5, n_bins + 1)
        ranks = rankdata(scalar.draws, method="average").reshape(scalar.draws.shape)
        counts = np.array([np.histogram(each, edges)[0] for each in ranks])
        expected = n_draws / n_bins
        height = 0.85 / max(float(counts.max()), 1.5 * expected)
        levels = np.arange(n_chains - 1, -1, -1)
        for colour, level, of_chain in zip(_cycle(n_chains), levels, counts, strict=True):
            panel.bar(
                edges[:-1],
                of_chain * height,
                np.diff(edges),
                bottom=level,
                align="edge",
                color=colour,
                edgecolor="white",
                linewidth=0.5,
            )
            panel.axhline(level + expected * height, color="black", linestyle="--", linewidth=0.8)
        panel.set_yticks(levels, scalar.chains)
        panel.set_ylim(0, n_chains)
        panel.set_xlim(edges[0], edges[-1])
        _finish(panel, scalar)
        panel.set_xlabel("rank among all draws")
    return panels


def plot_ess(
    groups: Any,
    var_names: str | Sequence[str] | None = None,
    *,
    coords: Mapping[str, Any] | None = None,
    axes: Any = None,
) -> NDArray[Any]:
    """Plot the effective sample size of the first draws, by their number.

    It grows in proportion where the chains mix; where it stays low or falls, more draws only show that they do not.
    The dashed line is 100 for each chain (Vehtari et al. 2021).

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    var_names : str or sequence of str, optional
        Variables of ``sample_stats`` or ``posterior``; by default ``lp`` and, where it differs, ``log_marginal``.
    coords : mapping, optional
        For each dim the coordinates that are wanted, such as ``{"topic": [3, 7]}``; by default all.
    axes : matplotlib.axes.Axes or array of them, optional
        To draw on, one for each scalar; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of scalars,)

    Raises
    ------
    TraceError
        If there is no such variable or coordinate, there are fewer than four draws a chain, some are not numbers, or
        there are more than 50 panels.
    PplTopicsError
        If matplotlib is not installed.
    """
    shown = _enough(scalars(groups_of(groups), var_names, coords, LOG_DENSITIES))
    panels = grid(axes, len(shown), "scalars", columns=2, panel=(4.6, 3.0), narrow=FEWER)
    for panel, scalar in zip(panels, shown, strict=True):
        n_chains, n_draws = scalar.draws.shape
        numbers = np.unique(np.linspace(max(FEWEST_DRAWS, n_draws / POINTS), n_draws, POINTS).astype(int))
        found = [all_statistics(scalar.draws[:, :number], ["ess_bulk", "ess_tail"]) for number in numbers]
        for name, colour, marker in (("bulk", COLOURS[0], "o"), ("tail", COLOURS[1], "s")):
            sizes = [float(each[f"ess_{name}"]) for each in found]
            panel.plot(numbers * n_chains, sizes, color=colour, marker=marker, markersize=3.5, label=name)
        panel.axhline(ENOUGH * n_chains, color="black", linestyle="--", linewidth=0.8, label=f"{ENOUGH} a chain")
        panel.set_ylim(bottom=0)
        panel.set_xlim(left=0)
        _finish(panel, scalar)
        panel.set_xlabel("draws of all chains")
        panel.set_ylabel("effective sample size")
    panels[0].legend(fontsize="small", frameon=False)
    return panels


def _enough(shown: list[Scalar]) -> list[Scalar]:
    """Refuse draws that make no ranks."""
    for scalar in shown:
        if scalar.draws.shape[1] < FEWEST_DRAWS:
            raise TraceError(
                f"{scalar.title}: {scalar.draws.shape[1]} draws a chain are too few; draw {FEWEST_DRAWS} or more"
            )
        if not np.isfinite(scalar.draws).all():
            raise TraceError(f"{scalar.title}: some draws are not finite numbers")
    return shown


def _halves(scalar: Scalar) -> Scalar:
    """Return a scalar of one chain as one of two, its halves."""
    if len(scalar.chains) > 1:
        return scalar
    half = scalar.draws.shape[1] // 2
    parts = np.vstack([scalar.draws[:, :half], scalar.draws[:, -half:]])
    return scalar._replace(chains=["first half", "second half"], draws=parts)


def _cycle(number: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(number)]


def _finish(panel: Any, scalar: Scalar) -> None:
    panel.set_title(scalar.title, fontsize="medium", loc="left")
    bare(panel)
