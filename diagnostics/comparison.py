"""Runs side by side: effective draws a second, seconds of kernels, and inefficiency factors of blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import xarray as xr
import yaml

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.nearest import nearest
from ppl_topics.diagnostics.convergence import ess_by_chain
from ppl_topics.diagnostics.draws import check_sampled, holds_draws
from ppl_topics.diagnostics.efficiency import inefficiency
from ppl_topics.diagnostics.plots.canvas import groups_of
from ppl_topics.diagnostics.summary import seconds_by_kernel
from ppl_topics.errors import TraceError
from ppl_topics.results.best_words import best_words

__all__ = ["DENSITIES", "compare", "inefficiency_table", "kernel_seconds"]

Runs: TypeAlias = Mapping[str, Any]
"""By name, fits, or the groups of traces."""

DENSITIES = ("lp", "log_marginal")

NOT_THE_POSTERIOR = ("name", "doc", "schedule", "warmup", "record", "extends", "start", "integrate_out")
"""Keys of a model's YAML that do not change its posterior."""

BLOCKS = ("theta", "phi", "eta")


def compare(runs: Runs, var_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Compare runs on the same posterior by the effective draws per second of each, to choose a schedule.

    The effective draws of the chains are added up, so chains in different modes or with different topic numbers count
    in full: this compares how well the kernels mix, not whether the chains agree. The seconds are those of all kernels
    over the kept draws and the sweeps between them, added up over chains; compilation and warm-up are not counted.

    Parameters
    ----------
    runs : mapping of str to Fit or mapping of str to xarray.Dataset
        Fits, or groups of traces, by name of the run.
    var_names : sequence of str, optional
        The variables to compare; by default ``lp``, ``log_marginal`` and all posterior variables that every run has.

    Returns
    -------
    pandas.DataFrame
        A row for each variable and run, with the columns ``variable``, ``run``, ``scalars``, ``ess_median`` and
        ``ess_q05`` (median and 5% quantile of the bulk effective draws, NaN with fewer than four draws per chain),
        ``seconds`` (of sampling), ``ess_per_second``, ``ess_per_second_q05``, and ``ratio``, the median effective draws
        per second relative to the first run. ``attrs["notes"]`` lists, in sentences, what makes the runs less
        comparable: different models, inexact kernels, different numbers of threads, missing times.

    Raises
    ------
    TraceError
        If there are fewer than two runs, their corpora differ, or a run lacks a requested variable.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> from ppl_topics.diagnostics.comparison import compare
    >>> corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    >>> how = {"topics": 2, "draws": 20, "warmup": 5, "chains": 1, "seed": 1, "progress": False}
    >>> runs = {name: pt.sample(name, corpus, **how) for name in ("lda", "lda_collapsed")}
    >>> table = compare(runs, ["lp"])
    >>> table[["variable", "run"]].values.tolist()
    [['lp', 'lda'], ['lp', 'lda_collapsed']]
    """
    traces = _traces(runs)
    notes = [*_notes(traces)]
    draws = {name: _draws(name, groups) for name, groups in traces.items()}
    seconds = {name: _seconds(groups) for name, groups in traces.items()}
    notes += [f"{name} holds no times of its kernels" for name, value in seconds.items() if np.isnan(value)]
    rows = []
    for variable, run, array in _by_variable(draws, _names(draws, var_names)):
        ess = ess_by_chain(array.transpose("chain", "draw", ...).values).reshape(-1)
        known = ess[~np.isnan(ess)]
        median, low = np.quantile(known, [0.5, 0.05]) if known.size else (np.nan, np.nan)
        rows.append((variable, run, ess.size, median, low, seconds[run]))
    table = pd.DataFrame(rows, columns=["variable", "run", "scalars", "ess_median", "ess_q05", "seconds"])
    table["ess_per_second"] = table["ess_median"] / table["seconds"]
    table["ess_per_second_q05"] = table["ess_q05"] / table["seconds"]
    table["ratio"] = table["ess_per_second"] / _of_first(table, "ess_per_second")
    table.attrs = {"notes": notes}
    return table


def kernel_seconds(runs: Runs) -> pd.DataFrame:
    """Return the mean seconds per sweep of each step of each run's schedule.

    Columns ``run``, ``kernel`` (``variable:kernel``), ``seconds`` and ``share`` of the run's sweep. A run without
    recorded times has no rows.
    """
    rows = []
    for run, groups in _traces(runs).items():
        seconds = seconds_by_kernel(groups)
        total = sum(seconds.values()) or 1.0
        rows += [{"run": run, "kernel": kernel, "seconds": s, "share": s / total} for kernel, s in seconds.items()]
    return pd.DataFrame(rows, columns=["run", "kernel", "seconds", "share"])


def inefficiency_table(
    runs: Runs, var_names: Sequence[str] | None = None, *, method: str = "spectral", top_words: int | None = 1000
) -> pd.DataFrame:
    """Return inefficiency factors by variable, as in tables 3 and 4 of Magnusson, Jonsson, Villani, Broman (2018).

    The inefficiency factor (IF) is the number of draws over the effective sample size. The paper uses coda's spectral
    estimate, for each scalar of theta and for the 1,000 most probable words of each topic of phi, and reports mean and
    standard deviation over scalars.

    Parameters
    ----------
    runs : mapping of str to Fit or mapping of str to xarray.Dataset
        Fits, or groups of traces, by name of the run.
    var_names : sequence of str, optional
        By default theta, phi and eta, if all runs have them.
    method : str
        Effective sample size; see :func:`ppl_topics.diagnostics.efficiency.ess`. ``spectral`` adds up over chains, so
        it does not depend on how chains number their topics.
    top_words : int, optional
        Number of most probable words of each topic of phi, by chain, among the recorded words; None for all.

    Returns
    -------
    pandas.DataFrame
        A row for each variable and run, with the columns ``variable``, ``run``, ``topics``, ``scalars``, ``constant``
        (scalars that never changed; they have no IF and are left out of the other columns), ``mean``, ``sd``, ``q05``,
        ``median``, ``q95``, and ``ratio``, the mean relative to the first run.

    Raises
    ------
    TraceError
        If there is no run, or a run lacks a requested variable.
    """
    if not runs:
        raise TraceError("inefficiency factors need at least one run, got none")
    if top_words is not None and (not is_whole(top_words) or top_words < 1):
        raise TraceError(f"top_words: must be a whole number of at least 1, or None, got {top_words!r}")
    traces = _traces(runs)
    draws = {name: _draws(name, groups) for name, groups in traces.items()}
    rows = []
    for variable, run, array in _by_variable(draws, _names(draws, var_names, BLOCKS)):
        factors = _factors(array, method, top_words)
        moving = factors[np.isfinite(factors)]
        topics = int(traces[run]["posterior"].sizes.get("topic", 0))
        statistics = [np.nan] * 5
        if moving.size:
            statistics = [moving.mean(), moving.std(), *np.quantile(moving, [0.05, 0.5, 0.95])]
        rows.append((variable, run, topics, factors.size, factors.size - moving.size, *statistics))
    columns = ["variable", "run", "topics", "scalars", "constant", "mean", "sd", "q05", "median", "q95"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(ratio=table["mean"] / _of_first(table, "mean"))


def _by_variable(
    draws: Mapping[str, Mapping[str, xr.DataArray]], names: Sequence[str]
) -> Iterator[tuple[str, str, xr.DataArray]]:
    """Yield each variable of each run, by variable."""
    for variable in names:
        for run, arrays in draws.items():
            yield variable, run, arrays[variable]


def _of_first(table: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return the value of the first run for each row's variable."""
    return table["variable"].map(table.drop_duplicates("variable").set_index("variable")[column])


def _factors(array: xr.DataArray, method: str, top_words: int | None) -> FloatArray:
    """Return the inefficiency factors of all scalars, NaN for constant draws."""
    values = array.transpose("chain", "draw", ...).values
    if "topic" in array.dims and "word" in array.dims and top_words is not None and top_words < array.sizes["word"]:
        values = array.transpose("chain", "draw", ..., "topic", "word").values
        # By chain, since each chain numbers its topics independently.
        parts = []
        for chain in values:
            best = best_words(chain.mean(axis=0, dtype=np.float64), top_words, zeros=True)
            parts.append(np.take_along_axis(chain, best[None], axis=-1))
        values = np.stack(parts)
    values = np.ascontiguousarray(values).reshape(*values.shape[:2], -1)
    moves = (values != values[:, :1]).any(axis=(0, 1))
    factors = np.asarray(inefficiency(values, method), dtype=np.float64)
    return np.where(moves, factors, np.nan)


def _traces(runs: Runs) -> dict[str, dict[str, xr.Dataset]]:
    """Return the groups of each run."""
    if not isinstance(runs, Mapping):
        raise TraceError(f"runs: expected fits by name, such as {{'collapsed': fit, 'kept': other}}, got {runs!r}")
    return {str(name): groups_of(run) for name, run in runs.items()}


def _notes(runs: Mapping[str, Mapping[str, xr.Dataset]]) -> Iterator[str]:
    """Yield what makes runs less comparable, in sentences; refuse runs on different corpora."""
    if len(runs) < 2:
        raise TraceError(f"a comparison needs at least two runs, got {len(runs)}")
    attributes = {name: groups["posterior"].attrs for name, groups in runs.items()}
    first = next(iter(runs))
    corpora = {name: each["corpus_fingerprint"] for name, each in attributes.items() if "corpus_fingerprint" in each}
    for name in corpora:
        if first in corpora and corpora[name] != corpora[first]:
            raise TraceError(
                f"{first} and {name} are runs on different corpora ({_called(attributes[first])} and "
                f"{_called(attributes[name])}), so their posteriors differ; compare runs on one corpus"
            )
    if len(corpora) < len(runs):
        unknown = ", ".join(name for name in runs if name not in corpora)
        yield f"{unknown}: the corpus is not recorded and may be different"
    models = {name: _posterior_of(each) for name, each in attributes.items()}
    for name in runs:
        if models[name] != models[first]:
            differences = _differences(models, first, name)
            yield f"{name} and {first} have different posteriors, since their models differ{differences}"
    for name, each in attributes.items():
        if not bool(each.get("exact", 1)):
            yield f"{name} is not exact: its draws are approximate, so more draws per second may be no gain"
    threads = {name: each.get("threads") for name, each in attributes.items()}
    if len(set(threads.values())) > 1:
        yield f"threads differ: {', '.join(f'{name} {value}' for name, value in threads.items())}"


def _called(attributes: Mapping[str, Any]) -> str:
    return f"{attributes.get('corpus_name') or 'no name'}, {str(attributes['corpus_fingerprint'])[:8]}"


def _posterior_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the model that determines its posterior."""

    def kept(entries: dict[str, Any]) -> dict[str, Any]:
        return {
            key: kept(value) if isinstance(value, dict) else value
            for key, value in entries.items()
            if key not in NOT_THE_POSTERIOR
        }

    return kept(yaml.safe_load(attributes.get("model_yaml", "{}")) or {})


def _differences(models: Mapping[str, dict[str, Any]], one: str, other: str) -> str:
    """Name the parameters that differ, if the blocks are the same."""
    a, b = (models[name].get("parameters", {}) for name in (one, other))
    differ = [f"{key} {a.get(key)} and {b.get(key)}" for key in {**a, **b} if a.get(key) != b.get(key)]
    return f" ({', '.join(differ)})" if differ else ""


def _draws(name: str, groups: Mapping[str, xr.Dataset]) -> dict[str, xr.DataArray]:
    """Return the log densities and variables of a run that hold draws of numbers."""
    posterior = check_sampled(groups, run=name, empty=True)
    statistics = groups.get("sample_stats", xr.Dataset())
    found = {density: statistics[density] for density in DENSITIES if density in statistics}
    for key, array in posterior.data_vars.items():
        if holds_draws(array) and "token" not in array.dims:
            found[str(key)] = array
    return found


def _names(
    draws: Mapping[str, Mapping[str, xr.DataArray]], asked: Sequence[str] | None, default: Sequence[str] | None = None
) -> list[str]:
    """Return the requested variables, or the default ones that all runs have."""
    if asked:
        for variable in asked:
            for run, arrays in draws.items():
                if variable not in arrays:
                    raise TraceError(f"{run} has no variable {variable!r}{nearest(variable, arrays)}")
        return list(asked)
    common = [name for name in next(iter(draws.values())) if all(name in arrays for arrays in draws.values())]
    return common if default is None else [name for name in default if name in common]


def _seconds(groups: Mapping[str, xr.Dataset]) -> float:
    """Return the seconds of all kernels and chains in the sweeps since the end of the warm-up."""
    seconds = seconds_by_kernel(groups)
    if not seconds:
        return float("nan")
    sizes, thin = groups["posterior"].sizes, int(groups["posterior"].attrs.get("thin", 1))
    return sum(seconds.values()) * sizes["chain"] * sizes["draw"] * thin
