"""Charts of the chains' statistics by sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ppl_topics._util.arrays import FloatArray
from ppl_topics.diagnostics.draws import holds_draws
from ppl_topics.diagnostics.report.sections import Groups, Section
from ppl_topics.diagnostics.report.svg import Line, line_chart
from ppl_topics.errors import TraceError

__all__ = ["traces_section"]

STATISTICS = {
    "lp": ("Log posterior", "lp: log joint density of all sampled variables, up to a constant"),
    "log_marginal": ("Log marginal", "log_marginal: log p(w, z) with theta and phi integrated out"),
    "log_likelihood_y": (
        "Log likelihood of the responses",
        "log_likelihood_y: log likelihood of labels or targets, part of lp",
    ),
    "log_likelihood_class": (
        "Log likelihood of the classes",
        "log_likelihood_class: log probability of the classes, normalised over classes",
    ),
    "training_loss": ("Training loss", "training_loss: share of wrong signs, or mean squared error"),
    "acceptance_rate": ("Acceptance", "acceptance_rate: share of accepted proposals"),
    "density_n_dk": ("Density of document counts", "density_n_dk: share of nonzero counts n_dk"),
    "density_n_kw": ("Density of topic counts", "density_n_kw: share of nonzero counts n_kw"),
    "density_phi": ("Density of phi", "density_phi: share of words that topics include"),
}
"""Titles and meanings of the statistics that are shown if they were recorded."""

ADDED = {"lp", "log_marginal", "log_likelihood_y"}
"""Log densities, which are added over responses with their own topics; other statistics are averaged."""


def traces_section(groups: Groups) -> Section:
    """Return a chart of each statistic, with a line for each chain."""
    section = Section("traces", "Traces")
    statistics = groups.get("sample_stats", xr.Dataset())
    charts: list[dict[str, Any]] = []
    for name, (title, meaning) in STATISTICS.items():
        if not _drawn(statistics, name):
            continue
        whole = _whole(groups, name)
        by_kernel = whole if "kernel" in whole.dims else whole.expand_dims(kernel=[""])
        by_kernel = by_kernel.transpose("kernel", "chain", "draw").astype(np.float64)
        for kernel, values in zip(map(str, by_kernel["kernel"].values), by_kernel.values, strict=True):
            known = values[np.isfinite(values)]
            # Skip Gibbs steps, which always accept, and steps that report nothing.
            if known.size and not (kernel and (known == 1.0).all()):
                charts.append(_chart(groups, f"{title}: {kernel}" if kernel else title, meaning, values))
    if not charts:
        section.absent = "The trace holds no statistics of its sweeps, such as the log posterior."
        return section
    section.parts["charts"] = charts
    section.parts["chains"] = [str(chain) for chain in statistics["chain"].values.tolist()]
    if not _n_warmup(groups):
        section.notes.append("The trace holds no warm-up.")
    if "lp" not in statistics:
        section.notes.append("The log posterior (lp) was not recorded.")
    if any("response" in statistics[name].dims for name in STATISTICS if name in statistics):
        section.notes.append(
            "Each response has its own topics: log densities are added over responses, other statistics are averaged."
        )
    if any(chart["cut"] for chart in charts):
        section.notes.append("If a chain started far away, the start of its line runs along the edge of the chart.")
    return section


def _drawn(statistics: xr.Dataset, name: str) -> bool:
    return name in statistics and holds_draws(statistics[name]) and statistics[name].size > 0


def _n_warmup(groups: Groups) -> int:
    return int(groups.get("warmup_sample_stats", xr.Dataset()).sizes.get("draw", 0))


def _whole(groups: Groups, name: str) -> xr.DataArray:
    """Return a statistic over warm-up and draws, with responses combined."""
    held = [groups.get(group, xr.Dataset()) for group in ("warmup_sample_stats", "sample_stats")]
    parts = [statistics[name].drop_vars("draw", errors="ignore") for statistics in held if _drawn(statistics, name)]
    if len(parts) == 1 and _n_warmup(groups):
        # Gives all charts the same x axis.
        parts.insert(0, parts[0].isel(draw=[0] * _n_warmup(groups)).astype(np.float64) * np.nan)
    try:
        joined = xr.concat(parts, "draw", join="outer", coords="minimal", compat="override")
    except ValueError:
        raise TraceError(f"{name} of the warm-up and of the draws belong to different steps") from None
    others = [dim for dim in joined.dims if dim not in ("chain", "draw", "kernel")]
    return joined.sum(others, skipna=False) if name in ADDED else joined.mean(others) if others else joined


def _chart(groups: Groups, title: str, meaning: str, values: FloatArray) -> dict[str, Any]:
    """Return a chart of draws by chain, the warm-up first."""
    statistics, warmup = groups["sample_stats"], _n_warmup(groups)
    thin = int(groups["posterior"].attrs.get("thin", 1))
    sweeps = np.concatenate([np.arange(1, warmup + 1), warmup + thin * np.arange(1, values.shape[1] - warmup + 1)])
    if len(values) != statistics.sizes["chain"]:
        raise TraceError("the warm-up and the draws have different chains")
    names = [f"chain {chain}" for chain in statistics["chain"].values.tolist()]
    lines = [Line(name, sweeps.astype(np.float64), values[c], c) for c, name in enumerate(names)]
    label = f"{title} of {len(names)} chains over {int(sweeps[-1])} sweeps, {warmup} of them warm-up"
    svg, cut = line_chart(lines, label, x_label="sweep", shade_to=float(warmup))
    return {"title": title, "meaning": meaning, "svg": svg, "cut": cut}
