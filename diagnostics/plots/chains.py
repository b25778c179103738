"""Plots of how chains went: their paths, the ranks of their draws, and how the effective sample size grew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ppl_topics.diagnostics.plots.canvas import COLOURS, GREY, bare, grid, groups_of, reach_over
from ppl_topics.diagnostics.plots.scalars import Scalar, scalars
from ppl_topics.errors import TraceError
from ppl_topics.results.arviz_compat import ess_plot, rank_plot

__all__ = ["plot_ess", "plot_rank", "plot_trace"]

LOG_DENSITIES = ("lp", "log_marginal")

PATHS = (*LOG_DENSITIES, "training_loss", "acceptance_rate")

FEWEST_DRAWS = 4
"""Draws per chain that ranks and effective sample sizes need."""

FEWER = "show fewer (var_names=, coords=)"

POINTS = 20

ENOUGH = 100
"""Effective draws per chain below which ESS and R-hat are rough themselves (Vehtari et al. 2021)."""


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
        Variables of ``sample_stats`` or ``posterior``. By default ``lp``, ``log_marginal``, ``training_loss`` and
        ``acceptance_rate``, if they were recorded and vary (Gibbs steps always accept); ``log_marginal`` only if it
        differs from ``lp``.
    coords : mapping, optional
        Coordinates to show, by dimension, such as ``{"topic": [3, 7], "chain": 0}``; by default all.
    warmup : bool
        Show the warm-up too. The y axis spans the kept draws and the second half of the warm-up, so the start of a
        chain may lie outside the panel.
    axes : matplotlib.axes.Axes or array of them, optional
        Axes to draw on, one for each scalar; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of scalars,)

    Raises
    ------
    TraceError
        If a variable or coordinate does not exist, or there are more than 50 panels.
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
        for c, (chain, draws, before) in enumerate(zip(scalar.chains, scalar.draws, scalar.warmup, strict=True)):
            colour = COLOURS[c % len(COLOURS)]
            path = np.concatenate([before[: len(early)], draws])
            style = {"linewidth": 0.9, "marker": "." if sparse else None, "markersize": 4.0}
            panel.plot(np.concatenate([early, kept]), path, color=colour, label=chain, **style)
        late = scalar.warmup[:, scalar.warmup.shape[1] // 2 :] if warmup else scalar.draws
        reach_over(panel, np.hstack([scalar.draws, late]).ravel())
        start = 0 if len(early) else n_warmup
        panel.set_xlim(start, kept[-1] + 0.01 * (kept[-1] - start))
        _finish(panel, scalar)
    # Only the last panel of each column has a label.
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
    """Draw ArviZ's rank plot: how the draws of each chain rank among the draws of all chains.

    The ranks of chains that sample the same distribution are uniform (Vehtari et al. 2021, section 4.3). ArviZ 0.x
    shows a histogram for each chain, with a dashed line where the bars should end; ArviZ 1.x shows the difference
    between the ranks' distribution function and the uniform one, which should stay near 0. With a single chain, its
    halves are compared.

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    var_names, coords, axes
        As in `plot_trace`, but the default variables are ``lp`` and, if it differs, ``log_marginal``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of scalars,)

    Raises
    ------
    TraceError
        If a variable or coordinate does not exist, there are fewer than four draws per chain, some draws are not
        finite, or there are more than 50 panels.
    PplTopicsError
        If matplotlib is not installed.
    """

    def draw(panel: Any, scalar: Scalar) -> None:
        halves = _halves(scalar)
        rank_plot(halves.draws, halves.chains, panel)

    return _draw_each(groups, var_names, coords, axes, draw)


def plot_ess(
    groups: Any,
    var_names: str | Sequence[str] | None = None,
    *,
    coords: Mapping[str, Any] | None = None,
    axes: Any = None,
) -> NDArray[Any]:
    """Draw ArviZ's plot of the effective sample size by the number of draws.

    It grows in proportion to the draws if the chains mix; if it stays low or falls, drawing more will not help. The
    dashed line is at 100 per chain (Vehtari et al. 2021).

    Parameters
    ----------
    groups : mapping of str to xarray.Dataset, arviz.InferenceData, xarray.DataTree or Fit
        A trace.
    var_names, coords, axes
        As in `plot_trace`, but the default variables are ``lp`` and, if it differs, ``log_marginal``.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (number of scalars,)

    Raises
    ------
    TraceError, PplTopicsError
        As `plot_rank` does.
    """

    def draw(panel: Any, scalar: Scalar) -> None:
        n_chains, n_draws = scalar.draws.shape
        # The first point must have the draws that an effective sample size needs.
        ess_plot(scalar.draws, ENOUGH * n_chains, min(POINTS, n_draws // FEWEST_DRAWS), panel)
        panel.set_ylim(bottom=0)

    return _draw_each(groups, var_names, coords, axes, draw)


def _draw_each(
    groups: Any,
    var_names: str | Sequence[str] | None,
    coords: Mapping[str, Any] | None,
    axes: Any,
    draw: Callable[[Any, Scalar], None],
) -> NDArray[Any]:
    """Draw each scalar on a panel, and refuse draws that are too few or not finite."""
    shown = scalars(groups_of(groups), var_names, coords, LOG_DENSITIES)
    for scalar in shown:
        if scalar.draws.shape[1] < FEWEST_DRAWS:
            raise TraceError(
                f"{scalar.title}: {scalar.draws.shape[1]} draws per chain are too few; draw at least {FEWEST_DRAWS}"
            )
        if not np.isfinite(scalar.draws).all():
            raise TraceError(f"{scalar.title}: some draws are not finite numbers")
    panels = grid(axes, len(shown), "scalars", columns=2, panel=(4.6, 3.0), narrow=FEWER)
    for panel, scalar in zip(panels, shown, strict=True):
        draw(panel, scalar)
        _finish(panel, scalar)
    return panels


def _halves(scalar: Scalar) -> Scalar:
    """Return a scalar of one chain as one of two, its halves."""
    if len(scalar.chains) > 1:
        return scalar
    half = scalar.draws.shape[1] // 2
    parts = np.vstack([scalar.draws[:, :half], scalar.draws[:, -half:]])
    return scalar._replace(chains=["first half", "second half"], draws=parts)


def _finish(panel: Any, scalar: Scalar) -> None:
    """Give a panel its title in place of ArviZ's."""
    panel.set_title("")
    panel.set_title(scalar.title, fontsize="medium", loc="left")
    bare(panel)
