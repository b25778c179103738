"""Schedules of one posterior, run side by side over several seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SEED, MAX_SWEEPS, check_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.api.comparison import MODE, Comparison
from ppl_topics.api.sampling import ModelLike, resolve, sample
from ppl_topics.corpus import Corpus
from ppl_topics.diagnostics.comparison import DENSITIES
from ppl_topics.diagnostics.comparison import compare as compare_runs
from ppl_topics.diagnostics.draws import holds_draws
from ppl_topics.engine.recorder import LARGE_DIMS
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.fit import Fit
from ppl_topics.spec import Model, Variable
from ppl_topics.spec.source import Source

__all__ = ["Comparison", "compare"]

SEEDS = range(8)
"""Seeds of a comparison by default."""

CLOSE = 0.01
"""A chain is in the mode when log p(w, z) is within this share of the best schedule's median over kept draws."""


def compare(
    model: ModelLike | Mapping[str, Fit],
    corpus: Corpus | None = None,
    schedules: Mapping[str, Any] | None = None,
    *,
    seeds: Iterable[int] = SEEDS,
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

    Fits that have been made can be compared too, as ``compare({"collapsed": fit, "kept": other})``; each chain counts
    as a seed then. :func:`ppl_topics.diagnostics.comparison.compare` adds up chains, as ``ppl-topics compare`` does.

    For each seed, the schedules run one after another from the same random topics, in an order that turns from seed to
    seed, so that a machine whose speed drifts favours none. Before, each runs a sweep, so that all is compiled. Seconds
    are those of the kernels, without recording.

    Parameters
    ----------
    model : str, path-like, mapping or Spec; or mapping of str to Fit
        A model to run; or fits by name, of equally many chains, for which only `quantities` and `confidence` are given.
    corpus : Corpus
    schedules : mapping of str to schedule
        By the names to show; None is the schedule of the model, or the scheduler's choice. To compare what runs before
        the first kept draw too, an entry is a mapping with the keys ``schedule`` and ``warmup``, or one of them. Where
        neither it nor the model says so, the warmup is not annealed, for then the mode comes at its end.
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
    TraceError
        If there are fewer than two fits, their corpora or numbers of chains differ, or one lacks a quantity.

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
    if not 0 < confidence < 1:
        raise PplTopicsError(f"{argument('confidence')}: must be between 0 and 1, got {confidence!r}")
    if isinstance(model, Mapping) and model and all(isinstance(each, Fit) for each in model.values()):
        to_run = (corpus, schedules, threads, record, parameters or None)
        if seeds is not SEEDS or (draws, warmup, thin) != (200, 200, 1) or any(each is not None for each in to_run):
            raise PplTopicsError(
                "fits are compared as they are; leave out all but quantities and confidence, or name a model to run"
            )
        return _of_fits(model, quantities, confidence)
    if corpus is None:
        raise PplTopicsError(f"{argument('corpus')}: missing; give a corpus to run the model on, or fits by name")
    seeds = list(seeds)
    for seed in seeds:
        check_whole(argument("seeds"), seed, 0, MAX_SEED)
    check_whole(argument("draws"), draws, 4, MAX_SWEEPS)
    if not isinstance(schedules, Mapping) or len(schedules) < 2:
        raise PplTopicsError(f"{argument('schedules')}: expected two schedules or more, by name")
    if not seeds or len(set(seeds)) < len(seeds):
        raise PplTopicsError(f"{argument('seeds')}: expected one or more, all different, got {seeds}")
    spec = resolve(model, parameters).with_plain_warmup()
    variables = Model.of(spec).variables
    known = [*DENSITIES, "topic_share", *variables, *(record or {})]
    for name in quantities or ():
        if name not in known:
            raise PplTopicsError(f"{argument('quantities')}: no quantity has the name {name!r}{nearest(name, known)}")
    rules = _rules(variables, quantities)
    how: dict[str, Any] = {"chains": 1, "threads": threads, "progress": False}
    trees = {name: _trees(name, value) for name, value in schedules.items()}
    for each in trees.values():
        sample(spec, corpus, **each, draws=1, warmup=1, seed=0, record=rules, **how)
    rows = []
    how |= {"draws": draws, "warmup": warmup, "thin": thin, "record": {**rules, **(record or {})}}
    for turn, seed in enumerate(seeds):
        names = list(schedules)
        order = names[turn % len(names) :] + names[: turn % len(names)]
        groups = {name: sample(spec, corpus, **trees[name], seed=seed, **how).groups for name in order}
        rows += _rows_of(seed, {name: groups[name] for name in names}, quantities)
    runs = pd.DataFrame(rows)
    return Comparison(runs, _table(runs, list(schedules), confidence), confidence)


def _of_fits(fits: Mapping[str, Fit], quantities: Sequence[str] | None, confidence: float) -> Comparison:
    """Compare fits; each chain counts as a seed."""
    groups = {str(name): fit.groups for name, fit in fits.items()}
    sizes = {name: each["posterior"].sizes.get("chain", 0) for name, each in groups.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{name} {number}" for name, number in sizes.items())
        raise TraceError(f"the fits have different numbers of chains ({said}), each of which counts as a seed")
    small = [_small(fit) for fit in fits.values()]
    names = quantities or [name for name in small[0] if all(name in others for others in small)]
    notes = compare_runs(groups, names).attrs["notes"]
    rows: list[dict[str, Any]] = []
    for chain in range(max(sizes.values())):
        of_chain = {name: {key: _chain(group, chain) for key, group in each.items()} for name, each in groups.items()}
        rows += _rows_of(chain, of_chain, names)
    runs = pd.DataFrame(rows)
    return Comparison(runs, _table(runs, list(groups), confidence), confidence, "chains", tuple(notes))


def _small(fit: Fit) -> list[str]:
    """Return the quantities of a fit that are few numbers."""
    statistics = fit.groups.get("sample_stats", xr.Dataset())
    densities = [name for name in DENSITIES if name in statistics]
    return densities + [name for name in fit.small if holds_draws(fit.posterior[name])]


def _chain(group: xr.Dataset, chain: int) -> xr.Dataset:
    return group.isel(chain=[chain]) if "chain" in group.dims else group


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
    timed = {"log_marginal", "step_seconds"}
    parts = ("warmup_sample_stats", "sample_stats")
    if not all(timed <= set(each.get(part, xr.Dataset()).data_vars) for each in groups.values() for part in parts):
        return rows
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
        thin = 1 if name.startswith("warmup") else int(group.attrs.get("thin", 1))
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
