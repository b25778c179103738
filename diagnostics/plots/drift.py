"""How an approximate sampler drifts from the posterior: its path next to those of exact samplers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics.diagnostics.plots.canvas import COLOURS, bare, grid, groups_of, plain, reach_over
from ppl_topics.errors import TraceError

__all__ = ["plot_drift"]

MEASURES = {
    "log_marginal": "log p(w, z) / N",
    "density_n_dk": "nonzero share of n_dk",
    "density_n_kw": "nonzero share of n_kw",
}
"""Statistics and their labels; the first is divided by the number of tokens."""


def plot_drift(runs: Mapping[str, Any], *, skip: float = 0.1, axes: Any = None) -> NDArray[Any]:
    """Plot the paths of several runs on one corpus: log p(w, z) per token, and the density of the counts.

    After figures 4.2 and 4.3 of Magnusson, Jonsson, Villani, Broman (2018). AD-LDA samples shards of documents
    separately, so with many shards each finds its own topics: the word-topic counts have more nonzero cells, and the
    document-topic counts fewer, than under the posterior. Runs with inexact kernels are dashed.

    Parameters
    ----------
    runs : mapping of str to traces
        Groups, fits, ``arviz.InferenceData`` or ``xarray.DataTree``, by name in the legend.
    skip : float
        Share of the sweeps, from 0 to below 1, that the y axis ignores: the first sweeps lie far beyond the later
        differences.
    axes : array of three matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (3,)
        With a line for each chain, including the warm-up.

    Raises
    ------
    TraceError
        If there are no runs, one lacks these statistics, or their numbers of tokens differ.
    PplTopicsError
        If matplotlib is not installed.
    """
    if not isinstance(runs, Mapping) or not runs:
        raise TraceError("runs: expected traces by name, such as {'AD-LDA': fit, 'exact': other}")
    if isinstance(skip, bool) or not isinstance(skip, int | float) or not 0 <= skip < 1:
        raise TraceError(f"skip: must be a number from 0 to below 1, got {skip!r}")
    traces = {str(name): groups_of(trace) for name, trace in runs.items()}
    tokens = {name: _tokens(name, groups) for name, groups in traces.items()}
    if len(set(tokens.values())) > 1:
        held = ", ".join(f"{name} {number:,}" for name, number in tokens.items())
        raise TraceError(f"the runs have different numbers of tokens ({held}): their corpora differ")
    paths = {name: {measure: _path(name, groups, measure) for measure in MEASURES} for name, groups in traces.items()}
    panels = grid(axes, len(MEASURES), "measures", columns=3, panel=(11.0 / 3, 3.2))
    for panel, (measure, title) in zip(panels, MEASURES.items(), strict=True):
        seen = []
        for number, (name, groups) in enumerate(traces.items()):
            sweeps, values = paths[name][measure]
            values = values / tokens[name] if measure == "log_marginal" else values
            exact = bool(groups["posterior"].attrs.get("exact", 1))
            for chain, path in enumerate(values):
                panel.plot(
                    sweeps,
                    path,
                    color=COLOURS[number % len(COLOURS)],
                    linestyle="-" if exact else (0, (4, 1.5)),
                    linewidth=1.1,
                    marker="." if len(sweeps) == 1 else None,
                    label=(plain(name) if exact else f"{plain(name)} (not exact)") if chain == 0 else None,
                )
            seen.append(values[:, sweeps >= skip * sweeps[-1]].ravel())
        reach_over(panel, np.concatenate(seen))
        panel.set_xlabel("sweep")
        panel.set_title(title, fontsize="medium")
        bare(panel)
    panels[0].legend(fontsize="small", frameon=False, loc="lower right")
    return panels


def _tokens(name: str, groups: Mapping[str, xr.Dataset]) -> int:
    constants = groups.get("constant_data", xr.Dataset())
    if "doc_length" not in constants or not int(constants["doc_length"].sum()):
        raise TraceError(f"run {name!r} holds no numbers of tokens (`doc_length` in `constant_data`)")
    return int(constants["doc_length"].sum())


def _path(name: str, groups: Mapping[str, xr.Dataset], measure: str) -> tuple[IntArray, FloatArray]:
    """Return the sweeps (M,) and the values of a statistic (chains, M), including the warm-up."""
    kept = groups.get("sample_stats", xr.Dataset())
    if measure not in kept:
        raise TraceError(f"run {name!r} holds no {measure} in `sample_stats`; it was not written by ppl-topics")
    if "response" in kept[measure].dims:
        raise TraceError(f"run {name!r}: each response has its own topics, so there is no single path")
    attributes = groups["posterior"].attrs
    values = kept[measure].transpose("chain", "draw").values
    early = groups.get("warmup_sample_stats", xr.Dataset())
    before = early[measure].transpose("chain", "draw").values if measure in early else np.zeros((len(values), 0))
    n_warmup = int(attributes["warmup"]) if "warmup" in attributes else before.shape[1]
    after = n_warmup + int(attributes.get("thin", 1)) * np.arange(1, values.shape[1] + 1)
    return np.concatenate([np.arange(1, before.shape[1] + 1), after]), np.hstack([before, values])
