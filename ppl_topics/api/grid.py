"""Runs over a grid of parameters, to choose among their values: held-out likelihood, coherence, accuracy, time."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import check_whole, is_whole
from ppl_topics._util.paths import as_path, file_names
from ppl_topics.api.destinations import check_file
from ppl_topics.api.grid_table import Row, as_table, measure, over_folds, write_table
from ppl_topics.api.run_arguments import check_corpus, check_warmup_schedule, run_settings
from ppl_topics.api.sampling import ModelLike, resolve
from ppl_topics.corpus import Corpus
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.cluster.connection import Cluster, ClusterLike, connected
from ppl_topics.engine.cluster.tasks import Here, run_tasks
from ppl_topics.engine.encode_observed import encode_observed
from ppl_topics.engine.processes import load_plan
from ppl_topics.engine.run import run_in_memory
from ppl_topics.errors import CorpusError, PplTopicsError, RunError, SpecError
from ppl_topics.fit import Fit
from ppl_topics.prediction.likelihood import HeldOutOptions, Method
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import Spec

__all__ = ["FOLDS_AND_TEST", "PreparedGrid", "grid", "prepare_grid"]

FOLDS_AND_TEST = "{}: folds are held out of the documents themselves; leave out {}"
"""What is said where both are given, with their names."""


def grid(
    model: ModelLike,
    corpus: Corpus,
    over: Mapping[str, Sequence[Any]],
    *,
    test: Corpus | None = None,
    held_out: float | int = 0.2,
    folds: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    method: Method = "left_to_right",
    particles: int | None = None,
    draws: int = 200,
    warmup: int = 200,
    chains: int = 2,
    thin: int = 1,
    seed: int | None = None,
    threads: int | None = None,
    processes: int = 1,
    progress: bool = True,
    record: Mapping[str, Any] | None = None,
    schedule: Any = None,
    warmup_schedule: Any = None,
    done: Callable[[dict[str, Any]], None] | None = None,
    cluster: ClusterLike | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Run a model with each combination of some parameters, and compare the runs, to choose among the values.

    All runs have the same training and held-out documents, seed and settings. Ctrl-C ends the run in progress, which is
    lost, and keeps those that are done. A combination that fails says why in the table, and the others go on.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    corpus : Corpus
    over : mapping of str to sequence
        Values of each parameter, such as ``{"topics": [10, 20, 50]}``; all combinations are run, the last parameter
        changing fastest.
    test : Corpus, optional
        Held-out documents; by default some of `corpus` are split off.
    held_out : float or int
        Share, or number, of the documents of `corpus` that are split off, at random by `seed`. Not used with `test` or
        `folds`.
    folds : int, optional
        Cross-validation instead of one split: the documents are dealt out to so many folds, each of which is held out
        of one run; see :meth:`Corpus.folds`. Each combination takes as many runs.
    out : path-like, optional
        A file that ends in ``.csv`` for the table, or a folder for the table (``table.csv``) and the trace of each run.
        The table is written again after each run.
    overwrite : bool
        Whether to replace an existing table, or runs in the folder.
    method, particles
        How the held-out likelihood is estimated, given the mean topics; see :meth:`Fit.held_out`. Where each response
        has its own topics (one-vs-all) there is none.
    draws, warmup, chains, thin, seed, threads, processes, progress, record, schedule, warmup_schedule
        As in :func:`sample`.
    done : callable, optional
        Called with the row of each combination, as soon as it is done.
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Spread the runs over the workers of a Dask cluster, as in :func:`sample`.
    **parameters
        Other model parameters to set.

    Returns
    -------
    pandas.DataFrame
        A row for each combination, with a column for each parameter of `over`, and ``log_likelihood`` of the held-out
        documents, its Monte Carlo ``error`` and ``bias``; ``per_token`` and ``per_token_error``; ``below_best``, how
        much less per token than in the best row, and ``below_best_error``, its standard error over documents, with the
        two runs compared document by document; ``perplexity`` and ``perplexity_error``; ``umass`` and ``npmi``, the
        coherence on the training documents, averaged over topics and chains; those that apply of ``accuracy``,
        ``f1_micro``, ``f1_macro``, ``r2`` and ``log_score`` (see :meth:`Fit.metrics`) if the model is supervised and
        the held-out documents have labels; ``ess_lp``, the effective sample size of the log posterior; ``seconds`` of
        sampling; ``path`` of the trace; ``problem``, what went wrong, else empty. Cells that do not apply are missing.

        With `folds`, the likelihood is that of all documents, each held out once; seconds are added; ``path`` names the
        traces of all folds; all else is the mean over folds, and ``accuracy_error`` and the like are standard errors of
        these means. A combination that fails in one fold has no mean.

        ``attrs`` holds ``over``, the names of the parameters; ``best``, their values in the best row; ``by``, the
        column whose highest value makes it so: ``accuracy`` for classes, ``f1_micro`` for sets of labels, ``r2`` for
        numbers, else ``per_token``; and ``stopped``.

    Raises
    ------
    SpecError
        If no combination makes a model.
    CorpusError
        If there is nothing to sample, nothing to hold out, or fewer documents than folds.
    PplTopicsError
        If a setting is wrong, or `out` cannot be written.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal", "team goal", "vote law vote", "law vote"] * 5)
    >>> table = pt.grid("lda", corpus, {"topics": [1, 2]}, draws=5, warmup=5, chains=1, seed=1, progress=False)
    >>> table["topics"].tolist(), bool((table["perplexity"] > 1.0).all()), table["problem"].tolist()
    ([1, 2], True, ['', ''])
    >>> corpus = corpus.with_labels(["sport", "sport", "politics", "politics"] * 5)
    >>> how = {"topics": 2, "draws": 5, "warmup": 5, "chains": 1, "seed": 1, "progress": False}
    >>> table = pt.grid("medlda", corpus, {"cost": [0.0, 1.0]}, folds=5, **how)
    >>> bool(table["accuracy"][1] > table["accuracy"][0] + table["accuracy_error"][0]), table.attrs["best"]
    (True, {'cost': 1.0})
    """
    if folds is not None and test is not None:
        raise PplTopicsError(FOLDS_AND_TEST.format(argument("folds"), argument("test")))
    with connected(cluster) as workers:
        prepared = prepare_grid(
            model,
            parameters,
            over,
            method=method,
            particles=particles,
            folds=folds,
            out=out,
            overwrite=overwrite,
            record=record,
            schedule=schedule,
            warmup_schedule=warmup_schedule,
            draws=draws,
            warmup=warmup,
            chains=chains,
            thin=thin,
            seed=seed,
            threads=threads,
            processes=processes,
            progress=progress,
            cluster=workers,
        )
        return prepared.run(corpus, test, held_out, done)


def prepare_grid(
    model: ModelLike,
    parameters: Mapping[str, Any],
    over: Mapping[str, Sequence[Any]],
    *,
    method: Method = "left_to_right",
    particles: int | None = None,
    folds: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    record: Mapping[str, Any] | None = None,
    schedule: Any = None,
    warmup_schedule: Any = None,
    **how: Any,
) -> PreparedGrid:
    """Check the arguments of :func:`grid` but the documents; `how` are those of `run_settings`."""
    chosen = combinations(over, parameters)
    if folds is not None:
        check_whole(argument("folds"), folds, 2)
    settings = run_settings(**how)
    scoring = HeldOutOptions(method, particles, seed=settings.seed, threads=settings.threads)
    path = None if out is None else _destination(out, overwrite)
    check_warmup_schedule(warmup_schedule, settings.warmup)
    # Wrong parameters that all combinations share are reported as such, not as those of the grid.
    own: dict[str, Any] = {"record": record, "schedule": schedule, "warmup_schedule": warmup_schedule}
    resolve(model, parameters, **own)
    place = argument("over") + " {name}"

    def spec(values: dict[str, Any]) -> Spec:
        return resolve(model, {**parameters, **values}, **own, call=place)

    return PreparedGrid(chosen, _results_or_errors(spec, chosen), settings, scoring, path, folds)


@dataclass(frozen=True)
class PreparedGrid:
    """Runs whose arguments have been checked, those of each combination of parameters."""

    chosen: list[dict[str, Any]]
    specs: list[Spec | PplTopicsError]
    settings: Settings
    scoring: HeldOutOptions
    path: Path | None
    folds: int | None = None

    def run(
        self,
        corpus: Corpus,
        test: Corpus | None = None,
        held_out: float | int = 0.2,
        done: Callable[[dict[str, Any]], None] | None = None,
    ) -> pd.DataFrame:
        """Run all combinations; see :func:`grid`."""
        check_corpus(corpus)
        splits = self._splits(corpus, test, held_out)
        plans = [_plans(self.specs, train) for train, _ in splits]
        path, names = self.path, list(self.chosen[0])
        rows: list[Row] = []
        runs: list[Row] = []

        def add(run: Row) -> None:
            """Take the row of a run; those of all folds make the row of a combination."""
            runs.append(run)
            if len(runs) < len(splits):
                return
            row = runs[0] if self.folds is None else over_folds(runs)
            runs.clear()
            values = self.chosen[len(rows)]
            shown = {key: each if isinstance(each, int | float | str) else str(each) for key, each in values.items()}
            rows.append(row._replace(cells={**shown, **row.cells}))
            table = as_table(rows, names, False)
            if path is not None:
                write_table(table, path)
            if done is not None:
                done({str(name): value for name, value in table.iloc[-1].items()})

        job = _Job(splits, replace(self.settings, cluster=None), self.scoring)
        each = [_Run(plan, split, trace) for (plan, split), trace in zip(_by_run(plans), self._traces(), strict=True)]
        stopped = False
        try:
            if self.settings.cluster is None:
                for run in each:
                    add(_run(job, run))
            else:
                _run_on_cluster(self.settings.cluster, job, each, add)
        except KeyboardInterrupt:
            stopped = True
        return as_table(rows, names, stopped)

    def _traces(self) -> list[Path | None]:
        """Return the file of each run's trace, all folds of a combination after another."""
        numbers = [{}] if self.folds is None else [{"fold": number} for number in range(1, self.folds + 1)]
        files = file_names([{**values, **number} for values in self.chosen for number in numbers])
        path = self.path
        return [path / f"{name}.nc" if path is not None and path.suffix != ".csv" else None for name in files]

    def _splits(self, corpus: Corpus, test: Corpus | None, held_out: float | int) -> list[tuple[Corpus, Corpus]]:
        """Return the training and the held-out documents of each run of a combination."""
        if test is not None:
            return [(corpus, test)]
        if self.folds is None:
            splits = [_hold_out(corpus, held_out, self.settings.seed)]
        elif self.folds <= corpus.n_docs:
            splits = corpus.folds(self.folds, seed=self.settings.seed)
        else:
            raise CorpusError(
                f"{argument('folds')}: the corpus has {corpus.n_docs:,} documents, so at most as many folds, "
                f"got {self.folds:,}"
            )
        for train, _ in splits:
            check_corpus(train)
        return splits


@dataclass(frozen=True)
class _Job:
    """What all runs share."""

    splits: list[tuple[Corpus, Corpus]]
    settings: Settings
    scoring: HeldOutOptions


@dataclass(frozen=True)
class _Run:
    """A run: its plan, the number of its training and held-out documents, and the file of its trace."""

    plan: Plan | PplTopicsError
    split: int
    trace: Path | None


def _by_run(plans: list[list[Plan | PplTopicsError]]) -> list[tuple[Plan | PplTopicsError, int]]:
    """Return the plan of each run and the number of its split, given the plans of all combinations for each split."""
    return [(plan, split) for by_split in zip(*plans, strict=True) for split, plan in enumerate(by_split)]


def _run_on_cluster(cluster: Cluster, job: _Job, runs: Sequence[_Run], add: Callable[[Row], None]) -> None:
    """Do runs on the workers of a cluster, their models as plain data, and take their rows in order."""
    items = [
        (run.plan if isinstance(run.plan, PplTopicsError) else run.plan.model.spec.to_dict(), run.split, run.trace)
        for run in runs
    ]
    quiet = replace(job, settings=replace(job.settings, progress=False))
    run_tasks(cluster, _task, quiet, items, threads=job.settings.threads, finished=lambda _, row: add(row))


def _task(job: _Job, item: tuple[dict[str, Any] | PplTopicsError, int, Path | None], here: Here) -> Row:
    """Do a run on a worker."""
    model, split, trace = item
    if trace is not None and not trace.parent.is_dir():
        raise RunError(
            f"{trace.parent}: the workers do not see this folder; give one on a file system that all machines share, "
            "by its whole path, or a .csv file"
        )
    plan = model if isinstance(model, PplTopicsError) else load_plan(model, job.splits[split][0])
    return _run(job, _Run(plan, split, trace))


def _run(job: _Job, run: _Run) -> Row:
    """Run one combination and measure it; what fails is explained in its row."""
    plan, trace = run.plan, run.trace
    if isinstance(plan, PplTopicsError):
        return Row({"problem": str(plan)}, None)
    train, test = job.splits[run.split]
    cells: dict[str, Any] = {}
    started = time.perf_counter()
    try:
        fit = Fit(run_in_memory(plan, train, job.settings))
        if fit.posterior.attrs["stopped"]:
            raise KeyboardInterrupt
        cells["seconds"] = time.perf_counter() - started
        if trace is not None:
            cells["path"] = str(fit.save(trace))
        row = measure(fit, test, job.scoring)
    except PplTopicsError as error:
        # Stopped before the first draw.
        if isinstance(error, RunError) and str(error).startswith("stopped after"):
            raise KeyboardInterrupt from None
        return Row({**cells, "problem": str(error)}, None)
    return row._replace(cells={**cells, **row.cells})


def _plans(specs: Sequence[Spec | PplTopicsError], train: Corpus) -> list[Plan | PplTopicsError]:
    """Plan the runs of some documents."""
    sizes = CorpusSizes.of(train)
    return _results_or_errors(lambda spec: _plan(spec, train, sizes), specs)


def _plan(spec: Spec | PplTopicsError, corpus: Corpus, sizes: CorpusSizes) -> Plan:
    """Plan a run, having checked that the corpus has the labels that the model observes."""
    if isinstance(spec, PplTopicsError):
        raise spec
    plan = make_plan(spec, sizes)
    encode_observed(plan.model, corpus)
    return plan


def _results_or_errors(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Call a function for each item and return the results, or errors; raise the first if there are only errors."""
    results: list[Any] = []
    for item in items:
        try:
            results.append(function(item))
        except PplTopicsError as error:
            results.append(error)
    if all(isinstance(result, PplTopicsError) for result in results):
        raise results[0]
    return results


def combinations(over: Mapping[str, Sequence[Any]], fixed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each combination of the values of some parameters."""
    place = argument("over")
    if not isinstance(over, Mapping) or not over:
        raise SpecError(f"{place}: expected parameters and their values, such as topics=10,20,50")
    for name, values in over.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__") or not len(values):
            raise SpecError(f"{place} {name}: expected a list of values, got {values!r}")
        if name in fixed:
            raise SpecError(f"{name}: given both a fixed value and values for the grid; give it once")
        given = list(values)
        twice = next((value for i, value in enumerate(given) if value in given[:i]), None)
        if twice is not None:
            raise SpecError(f"{place} {name}: {twice!r} is given twice; give each value once")
    return [dict(zip(over, chosen, strict=True)) for chosen in itertools.product(*over.values())]


def _hold_out(corpus: Corpus, held_out: float | int, seed: int) -> tuple[Corpus, Corpus]:
    """Return training and held-out documents."""
    place, n_docs = argument("held_out"), corpus.n_docs
    if n_docs < 2:
        raise CorpusError(f"{place}: the corpus has one document, so none can be held out; give test documents")
    share = isinstance(held_out, float | np.floating) and 0.0 < held_out < 1.0
    if not share and not (is_whole(held_out) and 0 < held_out < n_docs):
        raise CorpusError(
            f"{place}: expected a share of the documents, above 0 and below 1, such as 0.2, or a number of them, from "
            f"1 to {n_docs - 1:,}, got {held_out!r}"
        )
    return corpus.split(held_out, seed=seed)


def _destination(out: str | Path, overwrite: bool) -> Path:
    """Return the ``.csv`` file, or the folder, to write to, having checked that it can be."""
    path = as_path(out, "a .csv file or a folder", PplTopicsError)
    if path.suffix == ".csv" or not str(out):
        return check_file(out, overwrite)
    if path.is_dir() and not overwrite:
        taken = sorted(each.name for each in path.iterdir() if each.suffix in (".csv", ".nc"))
        if taken:
            raise PplTopicsError(
                f"{out}: {taken[0]} already exists there; choose another {argument('out')}, or give "
                f"{argument('overwrite')}"
            )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise PplTopicsError(f"{path}: an existing file; name a folder, or a file that ends in .csv") from None
    except OSError as error:
        raise PplTopicsError(f"{path}: cannot make the folder ({error.strerror})") from None
    # Refuses a folder that cannot be written to.
    check_file(path / "table.csv", True)
    return path
