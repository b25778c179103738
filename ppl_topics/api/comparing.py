"""Schedules of one posterior, run side by side over several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.api.sampling import ModelLike, resolve, sample
from ppl_topics.corpus import Corpus
from ppl_topics.diagnostics.comparison import DENSITIES
from ppl_topics.diagnostics.comparison import compare as compare_runs
from ppl_topics.diagnostics.plots.canvas import COLOURS, bare, grid, plain
from ppl_topics.engine.recorder import LARGE_DIMS
from ppl_topics.errors import PplTopicsError
from ppl_topics.spec import Model, Variable
from ppl_topics.spec.source import Source

__all__ = ["Comparison", "compare"]

CLOSE = 0.01
"""A chain is in the mode when log p(w, z) is within this share of the best schedule's median over kept draws."""

MODE = "seconds to the mode"


@dataclass(frozen=True)
class Comparison:
    """What schedules of one posterior have to show for their seconds.

    Attributes
    ----------
    runs : pandas.DataFrame
        A row for each seed, schedule and quantity: ``seed``, ``schedule``, ``quantity``, ``ess`` (bulk effective draws
        of its median scalar), ``seconds`` (of the kernels, over the kept draws) and ``ess_per_second``; and in the rows
        of the quantity ``"seconds to the mode"`` the ``seconds`` from the random start until log p(w, z) is within 1%
        of the best schedule's median, NaN if it does not get there.
    table : pandas.DataFrame
        A row for each quantity and schedule: ``quantity``, ``schedule``, ``seeds`` (with a value), ``mean``, ``low``
        and ``high`` (effective draws a second, or seconds to the mode), and ``ratio``, ``ratio_low`` and ``ratio_high``
        relative to the first schedule, seed by seed. Means are geometric; intervals are those of Student's t for the
        mean logarithm over seeds, NaN with one seed.
    confidence : float
        Of the intervals.
    """

    runs: pd.DataFrame
    table: pd.DataFrame
    confidence: float

    def __str__(self) -> str:
        """Return the table, rounded."""
        shown = pd.DataFrame(
            {
                "quantity": self.table["quantity"],
                "schedule": self.table["schedule"],
                "seeds": self.table["seeds"],
                "mean": [_with_interval(*row) for row in self.table[["mean", "low", "high"]].to_numpy()],
                "times the first": [
                    _with_interval(*row) for row in self.table[["ratio", "ratio_low", "ratio_high"]].to_numpy()
                ],
            }
        )
        about = f"Effective draws a second, and seconds to the mode; {self.confidence:.0%} intervals over seeds."
        return f"{about}\n{shown.to_string(index=False)}"

    def plot(self, axes: Any = None) -> NDArray[Any]:
        """Plot the means with their intervals: a panel for each quantity, a row for each schedule, a dot for each seed.

        Parameters
        ----------
        axes : matplotlib.axes.Axes or array of them, optional
            Axes to draw on, one for each quantity; by default those of a new figure.

        Returns
        -------
        ndarray of matplotlib.axes.Axes

        Raises
        ------
        PplTopicsError
            If matplotlib is not installed.
        """
        quantities = list(dict.fromkeys(self.table["quantity"]))
        panels = grid(axes, len(quantities), "quantities", columns=3, panel=(4.2, 2.4))
        for panel, quantity in zip(panels, quantities, strict=True):
            rows = self.table[self.table["quantity"] == quantity]
            own = self.runs[self.runs["quantity"] == quantity]
            values = "seconds" if quantity == MODE else "ess_per_second"
            for place, (_, row) in enumerate(rows.iterrows()):
                seeds = own.loc[own["schedule"] == row["schedule"], values]
                panel.plot(seeds, np.full(len(seeds), place), ".", color=COLOURS[0], alpha=0.4)
                if np.isfinite(row["low"]):
                    panel.plot([row["low"], row["high"]], [place, place], color=COLOURS[0], linewidth=2)
                panel.plot(row["mean"], place, "o", color=COLOURS[0])
            panel.set_yticks(range(len(rows)), [plain(name) for name in rows["schedule"]])
            label = "seconds" if quantity == MODE else "effective draws a second"
            panel.set(xscale="log", title=plain(quantity), xlabel=label)
            panel.invert_yaxis()
            bare(panel)
        return panels


def compare(
    model: ModelLike,
    corpus: Corpus,
    schedules: Mapping[str, Any],
    *,
    seeds: Iterable[int] = range(8),
    quantities: Sequence[str] | None = None,
    draws: int = 200,
    warmup: int = 200,
    thin: int = 1,
    threads: int | None = None,
    record: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
    **parameters: Any,
) -> Comparison:
    """Compare schedules of one posterior: effective draws a second, and seconds to the mode, over several seeds.

    For each seed, the schedules run one after another from the same random topics, in an order that turns from seed to
    seed, so that a machine whose speed drifts favours none. Before, each runs a sweep, so that all is compiled. Seconds
    are those of the kernels, without recording.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    corpus : Corpus
    schedules : mapping of str to schedule
        By the names to show; None is the schedule of the model, or the scheduler's choice. To compare what runs before
        the first kept draw too, an entry is a mapping with the keys ``schedule`` and ``warmup``, or one of them.
    seeds : iterable of int
    quantities : sequence of str, optional
        Variables of the trace to compare; by default ``lp``, ``log_marginal`` and all variables without the dims
        ``word``, ``doc`` and ``token``. Of several scalars, that with the median of the effective draws counts.
    draws, warmup, thin : int
        As in :func:`ppl_topics.sample`, of one chain.
    threads : int, optional
    record : mapping, optional
        Functions of the state to compare too, as in :func:`ppl_topics.sample`.
    confidence : float
        Of the intervals, between 0 and 1.
    **parameters
        Model parameters to set.

    Returns
    -------
    Comparison

    Raises
    ------
    PplTopicsError
        If there are fewer than two schedules, no seed, or one of the arguments of `sample` is wrong.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"] * 5)
    >>> kernels = ("collapsed_gibbs", "block_collapsed")
    >>> schedules = {name: pt.cycle(pt.step("z", name), pt.step("phi", "dirichlet_rows")) for name in kernels}
    >>> found = pt.compare("lda", corpus, schedules, seeds=range(2), topics=2, draws=20, warmup=5)
    >>> found.table["schedule"].tolist()[:2]
    ['collapsed_gibbs', 'block_collapsed']
    """
    seeds = list(seeds)
    for seed in seeds:
        check_whole(argument("seeds"), seed, 0, MAX_SEED)
    check_whole(argument("draws"), draws, 4, MAX_SWEEPS)
    if not isinstance(schedules, Mapping) or len(schedules) < 2:
        raise PplTopicsError(f"{argument('schedules')}: expected two schedules or more, by name")
    if not seeds or len(set(seeds)) < len(seeds):
        raise PplTopicsError(f"{argument('seeds')}: expected one or more, all different, got {seeds}")
    if not 0 < confidence < 1:
        raise PplTopicsError(f"{argument('confidence')}: must be between 0 and 1, got {confidence!r}")
    variables = Model.of(resolve(model, parameters)).variables
    known = [*DENSITIES, "topic_share", *variables, *(record or {})]
    for name in quantities or ():
        if name not in known:
            raise PplTopicsError(f"{argument('quantities')}: no quantity has the name {name!r}{nearest(name, known)}")
    rules = _rules(variables, quantities)
    how: dict[str, Any] = {"chains": 1, "threads": threads, "progress": False, **parameters}
    trees = {name: _trees(name, value) for name, value in schedules.items()}
    for each in trees.values():
        sample(model, corpus, **each, draws=1, warmup=1, seed=0, record=rules, **how)
    rows = []
    how |= {"draws": draws, "warmup": warmup, "thin": thin, "record": {**rules, **(record or {})}}
    for turn, seed in enumerate(seeds):
        names = list(schedules)
        order = names[turn % len(names) :] + names[: turn % len(names)]
        groups = {name: sample(model, corpus, **trees[name], seed=seed, **how).groups for name in order}
        rows += _rows_of(seed, {name: groups[name] for name in names}, quantities)
    runs = pd.DataFrame(rows)
    return Comparison(runs, _table(runs, list(schedules), confidence), confidence)


def _trees(name: str, value: Any) -> dict[str, Any]:
    """Return the arguments of `sample` that an entry of the schedules stands for."""
    data = value.data if isinstance(value, Source) else value
    if not isinstance(data, Mapping) or not data.keys() & {"schedule", "warmup"}:
        return {"schedule": value}
    for other in data.keys() - {"schedule", "warmup"}:
        raise PplTopicsError(f"{argument('schedules')}: {name}: expected `schedule` and `warmup`, found {other!r}")
    given = {"schedule": data.get("schedule"), "warmup_schedule": data.get("warmup")}
    # A file brings the places of its lines.
    return {key: None if tree is None else value if value is not data else tree for key, tree in given.items()}


def _rules(variables: Mapping[str, Variable], quantities: Sequence[str] | None) -> dict[str, str]:
    """Return what to record: no large variable that is not compared."""
    large = [name for name, variable in variables.items() if LARGE_DIMS & set(variable.dims)]
    return {name: "all" if quantities is not None and name in quantities else "none" for name in large}


def _rows_of(
    seed: int, groups: Mapping[str, Mapping[str, xr.Dataset]], quantities: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Return the rows of the runs of one seed."""
    table = compare_runs(groups, quantities)
    rows = [
        {
            "seed": seed,
            "schedule": row["run"],
            "quantity": row["variable"],
            "ess": row["ess_median"],
            "seconds": row["seconds"],
            "ess_per_second": row["ess_per_second"],
        }
        for row in table.to_dict("records")
    ]
    best = max(float(each["sample_stats"]["log_marginal"].median()) for each in groups.values())
    reached = best - CLOSE * abs(best)
    return rows + [
        {"seed": seed, "schedule": name, "quantity": MODE, "ess": np.nan, "seconds": _seconds_until(each, reached)}
        for name, each in groups.items()
    ]


def _seconds_until(groups: Mapping[str, xr.Dataset], reached: float) -> float:
    """Return the seconds of the kernels until log p(w, z) is as high, NaN if it does not get there."""
    seconds = 0.0
    for name in ("warmup_sample_stats", "sample_stats"):
        group = groups[name].isel(chain=0)
        thin = 1 if name.startswith("warmup") else int(group.attrs["thin"])
        for value, spent in zip(group["log_marginal"].values, group["step_seconds"].values, strict=True):
            seconds += thin * float(np.nansum(spent))
            if value >= reached:
                return seconds
    return float("nan")


def _table(runs: pd.DataFrame, schedules: Sequence[str], confidence: float) -> pd.DataFrame:
    """Return means and ratios over seeds, with intervals."""
    rows = []
    for quantity in dict.fromkeys(runs["quantity"]):
        own = runs[runs["quantity"] == quantity]
        values = own.pivot(index="seed", columns="schedule", values="seconds" if quantity == MODE else "ess_per_second")
        logs = np.log(values)
        for name in schedules:
            mean, low, high = _interval(logs[name].dropna().to_numpy(), confidence)
            ratio = _interval((logs[name] - logs[schedules[0]]).dropna().to_numpy(), confidence)
            rows.append((quantity, name, int(logs[name].notna().sum()), mean, low, high, *ratio))
    columns = ["quantity", "schedule", "seeds", "mean", "low", "high", "ratio", "ratio_low", "ratio_high"]
    return pd.DataFrame(rows, columns=columns)


def _interval(logs: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Return the geometric mean of values, given their logarithms, and the interval for it."""
    if not logs.size:
        return float("nan"), float("nan"), float("nan")
    mean = float(logs.mean())
    if logs.size == 1:
        return float(np.exp(mean)), float("nan"), float("nan")
    half = float(stats.t.ppf((1 + confidence) / 2, logs.size - 1) * logs.std(ddof=1) / np.sqrt(logs.size))
    return float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half))


def _with_interval(mean: float, low: float, high: float) -> str:
    if np.isnan(mean):
        return "not reached"
    return f"{mean:.3g}" if np.isnan(low) else f"{mean:.3g} ({low:.3g} to {high:.3g})"
