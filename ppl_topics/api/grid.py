"""Runs over a grid of parameters, to choose the number of topics: held-out likelihood, coherence, accuracy, time."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ppl_topics._util.arguments import is_whole
from ppl_topics._util.arrays import FloatArray
from ppl_topics._util.paths import as_path, file_names
from ppl_topics.api.sampling import ModelLike, check_corpus, make_settings, resolve
from ppl_topics.corpus import Corpus
from ppl_topics.engine.encode_observed import encode_observed
from ppl_topics.engine.run import run_plan
from ppl_topics.errors import CorpusError, PplTopicsError, RunError, SpecError, TraceError
from ppl_topics.fit import Fit
from ppl_topics.prediction.held_out import HeldOut, HeldOutOptions, ratio_error
from ppl_topics.results.export.writing import written_text
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes

__all__ = ["SCORES", "sweep"]

SCORES = (
    "log_likelihood",
    "error",
    "bias",
    "per_token",
    "per_token_error",
    "below_best",
    "below_best_error",
    "perplexity",
    "perplexity_error",
    "umass",
    "npmi",
    "accuracy",
    "r2",
    "ess_lp",
    "seconds",
    "path",
    "problem",
)
"""Columns of the table, after those of the parameters."""


class Row(NamedTuple):
    """What came of one combination: cells of the table, and the likelihood of the documents if it was estimated."""

    cells: dict[str, Any]
    found: HeldOut | None


def sweep(
    model: ModelLike,
    corpus: Corpus,
    over: Mapping[str, Sequence[Any]],
    *,
    test: Corpus | None = None,
    held_out: float | int = 0.2,
    out: str | Path | None = None,
    method: Any = "left_to_right",
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
    call: str = "{name}",
    done: Callable[[dict[str, Any]], None] | None = None,
    **parameters: Any,
) -> pd.DataFrame:
    """Run a model with each combination of some parameters, and compare the runs, to choose the number of topics.

    All runs have the same training and held-out documents, seed and settings. Ctrl-C ends the run in progress, which is
    lost, and keeps those that were done; what fails is told in the table, and the others go on.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    corpus : Corpus
    over : mapping of str to sequence
        Values of each parameter, such as ``{"topics": [10, 20, 50]}``; all combinations are run, the last parameter
        changing fastest.
    test : Corpus, optional
        Held-out documents. Without them some of `corpus` are split off.
    held_out : float or int
        Share, or number, of the documents of `corpus` that are split off, at random by `seed`.
    out : path-like, optional
        A file that ends in ``.csv`` for the table, or a folder for the table (``table.csv``) and the trace of each run.
        Written again after each run.
    method, particles
        Of the held-out likelihood, by the mean topics; see :meth:`Fit.held_out`. Where each response has topics of its
        own (one-vs-all) there is none.
    draws, warmup, chains, thin, seed, threads, processes, progress, record, schedule
        As in :func:`sample`.
    call : str
        How messages call an argument.
    done : callable, optional
        Called with the row of each combination, as soon as it is done.
    **parameters
        Other model parameters to set.

    Returns
    -------
    pandas.DataFrame
        A row for each combination, with a column for each parameter of `over`, and ``log_likelihood`` of the held-out
        documents, its Monte Carlo ``error`` and ``bias``; ``per_token`` and ``per_token_error``; ``below_best``, how
        much less per token than the best row, and ``below_best_error``, its standard error over documents, the two runs
        being compared document by document; ``perplexity`` and ``perplexity_error``; ``umass`` and ``npmi``, the
        coherence on the training documents, averaged over topics and chains; ``accuracy`` or ``r2`` where the model is
        supervised and the held-out documents have labels; ``ess_lp``, the effective sample size of the log posterior;
        ``seconds`` of sampling; ``path`` of the trace; ``problem``, what went wrong, else empty. Cells that do not
        apply are missing. ``attrs`` holds ``over``, the names of the parameters, and ``stopped``.

    Raises
    ------
    SpecError
        If no combination makes a model.
    CorpusError
        If there is nothing to sample, or nothing to hold out.
    PplTopicsError
        If a setting is wrong, or `out` cannot be written.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> corpus = pt.Corpus.from_texts(["goal match goal", "team goal", "vote law vote", "law vote"] * 5)
    >>> table = pt.sweep("lda", corpus, {"topics": [1, 2]}, draws=5, warmup=5, chains=1, seed=1, progress=False)
    >>> table["topics"].tolist(), bool((table["perplexity"] > 1.0).all()), table["problem"].tolist()
    ([1, 2], True, ['', ''])
    """
    check_corpus(corpus)
    grid = combinations(over, parameters, call)
    settings = make_settings(
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        seed=seed,
        threads=threads,
        processes=processes,
        debug=False,
        call=call,
    )
    how = HeldOutOptions(method, particles, seed=settings.seed, threads=settings.threads).check(call)
    folder = None if out is None else target(out)
    first_error: PplTopicsError | None = None
    if test is not None:
        train = corpus
    else:
        train, test = hold_out(corpus, held_out, settings.seed, call)
    check_corpus(train)
    plans: list[Plan | PplTopicsError] = []
    for chosen in grid:
        try:
            place = call.format(name="over") + " {name}"
            spec = resolve(model, {**parameters, **chosen}, record=record, schedule=schedule, call=place)
            made = make_plan(spec, CorpusSizes.of(train))
            # Labels that the model observes and the corpus lacks are told before anything is run.
            encode_observed(made.model, train)
            plans.append(made)
        except PplTopicsError as error:
            first_error = first_error or error
            plans.append(error)
    if first_error is not None and all(isinstance(plan, PplTopicsError) for plan in plans):
        raise first_error

    def run(plan: Plan | PplTopicsError) -> Fit:
        if isinstance(plan, PplTopicsError):
            raise plan
        return Fit(run_plan(plan, train, settings, chains=chains, processes=processes, progress=progress))

    rows: list[Row] = []
    stopped = False
    try:
        for chosen, plan, name in zip(grid, plans, file_names(grid), strict=True):
            cells: dict[str, Any] = {}
            found = None
            started = time.perf_counter()
            try:
                fit = run(plan)
                if fit.posterior.attrs["stopped"]:
                    raise KeyboardInterrupt
                cells["seconds"] = time.perf_counter() - started
                if folder is not None and folder.suffix != ".csv":
                    cells["path"] = str(fit.save(folder / f"{name}.nc"))
                found = measure(fit, test, how, cells)
            except PplTopicsError as error:
                if isinstance(error, RunError) and str(error).startswith("stopped after"):
                    # Before the first draw.
                    raise KeyboardInterrupt from None
                cells["problem"] = str(error)
            rows.append(Row({**{name: shown(value) for name, value in chosen.items()}, **cells}, found))
            table = as_table(rows, list(over), stopped)
            if folder is not None:
                write(table, folder)
            if done is not None:
                done({str(name): value for name, value in table.iloc[-1].items()})
    except KeyboardInterrupt:
        stopped = True
    return as_table(rows, list(over), stopped)


def combinations(over: Mapping[str, Sequence[Any]], fixed: Mapping[str, Any], call: str) -> list[dict[str, Any]]:
    """Return each combination of the values of some parameters.

    Raises
    ------
    SpecError
    """
    place = call.format(name="over")
    if not isinstance(over, Mapping) or not over:
        raise SpecError(f"{place}: expected parameters and their values, such as topics=10,20,50")
    for name, values in over.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__len__") or not len(values):
            raise SpecError(f"{place} {name}: expected a list of values, got {values!r}")
        if name in fixed:
            raise SpecError(f"{name}: both set and swept over; give it once")
    lists = [list(values) for values in over.values()]
    for name, given in zip(over, lists, strict=True):
        twice = next((value for i, value in enumerate(given) if value in given[:i]), None)
        if twice is not None:
            raise SpecError(f"{place} {name}: {twice!r} is given twice; give each value once")
    return [dict(zip(over, chosen, strict=True)) for chosen in itertools.product(*lists)]


def hold_out(corpus: Corpus, held_out: float | int, seed: int, call: str) -> tuple[Corpus, Corpus]:
    """Return training and held-out documents.

    Raises
    ------
    CorpusError
        If either part would be empty, or `held_out` is neither a share nor a number.
    """
    name = call.format(name="held_out")
    place, n_docs = name.replace("_", "-") if name.startswith("--") else name, corpus.n_docs
    if n_docs < 2:
        raise CorpusError(f"{place}: the corpus has one document, so none can be held out; give test documents")
    share = isinstance(held_out, float | np.floating) and 0.0 < held_out < 1.0
    if not share and not (is_whole(held_out) and 0 < held_out < n_docs):
        raise CorpusError(
            f"{place}: expected a share of the documents, above 0 and below 1, such as 0.2, or a number of them, from "
            f"1 to {n_docs - 1:,}, got {held_out!r}"
        )
    return corpus.split(held_out, seed=seed)


def measure(fit: Fit, test: Corpus, how: HeldOutOptions, cells: dict[str, Any]) -> HeldOut | None:
    """Fill the cells of a run, and return the likelihood of the held-out documents where there is one.

    What cannot be had of a run is told under ``problem``, and the rest is measured all the same.
    """
    from ppl_topics.core.response import Response
    from ppl_topics.diagnostics.quality import topic_quality
    from ppl_topics.diagnostics.report import efficiency
    from ppl_topics.prediction.trained import TrainedTopics

    found, problems = None, []
    if TrainedTopics(fit.groups).apart:
        problems.append("each response has topics of its own, so there is no one likelihood of the words")
    else:
        found = fit.held_out(test, method=how.method, particles=how.particles, seed=how.seed, threads=how.threads)
        for name in (
            "log_likelihood",
            "error",
            "bias",
            "per_token",
            "per_token_error",
            "perplexity",
            "perplexity_error",
        ):
            cells[name] = getattr(found, name)
    with suppress(TraceError):
        cells["ess_lp"] = float(efficiency(fit.groups, ["lp"])["ess_bulk_min"].iloc[0])
    try:
        tables = [topic_quality(fit.groups, chain=chain, measures=["umass", "npmi"]) for chain in chains_of(fit)]
        for name in ("umass", "npmi"):
            cells[name] = float(np.mean([table[name].mean() for table in tables]))
    except TraceError as error:
        problems.append(f"no coherence: {error}")
    supervised = any(isinstance(block, Response) for block in fit.spec.blocks.values())
    if supervised and test.labels is not None:
        try:
            metrics = fit.metrics(test, seed=how.seed, threads=how.threads)
            cells.update({name: metrics[name] for name in ("accuracy", "r2") if name in metrics})
        except PplTopicsError as error:
            problems.append(f"no accuracy: {error}")
    if problems:
        cells["problem"] = "; ".join(problems)
    return found


def chains_of(fit: Fit) -> list[int]:
    """Return the numbers of the chains."""
    return [int(chain) for chain in fit.posterior["chain"].values]


def as_table(rows: Sequence[Row], over: list[str], stopped: bool) -> pd.DataFrame:
    """Return the rows as a table, each compared with the best."""
    table = pd.DataFrame([row.cells for row in rows], columns=[*over, *SCORES])
    for name in ("path", "problem"):
        table[name] = table[name].astype(object).where(table[name].notna(), "")
    numbers = [name for name in SCORES if name not in ("path", "problem")]
    table[numbers] = table[numbers].astype(np.float64)
    scored = [(place, row.found) for place, row in enumerate(rows) if row.found is not None and row.found.n_tokens]
    if scored:
        best = max((found for _, found in scored), key=lambda found: found.log_likelihood)
        for place, found in scored:
            below, error = difference(best, found)
            table.loc[table.index[place], ["below_best", "below_best_error"]] = below, error
    table.attrs.update(over=over, stopped=stopped)
    return table


def difference(best: HeldOut, other: HeldOut) -> tuple[float, float]:
    """Return by how much less log likelihood per token there is, and its standard error over documents."""
    values: FloatArray = best.values - other.values
    if best is other:
        return 0.0, 0.0
    return float(values.sum() / best.n_tokens), ratio_error(values, best.tokens)


def target(out: str | Path) -> Path:
    """Return where to write, having checked that it can be.

    Raises
    ------
    PplTopicsError
    """
    path = as_path(out, "a .csv file or a folder", PplTopicsError)
    if path.suffix == ".csv":
        if path.is_dir():
            raise PplTopicsError(f"{path}: a folder stands there; name a file")
        folder = path.parent
    else:
        if os.path.exists(path) and not path.is_dir():
            raise PplTopicsError(f"{path}: a file stands there; name a folder, or a file that ends in .csv")
        folder = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PplTopicsError(f"{path}: cannot make the folder ({error.strerror})") from None
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise PplTopicsError(f"{path}: cannot be written; the folder {folder} is missing or not writable")
    return path


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table.

    Raises
    ------
    PplTopicsError
    """
    file = path if path.suffix == ".csv" else path / "table.csv"
    with written_text(file) as text:
        table.to_csv(text, index=False)


def shown(value: Any) -> Any:
    """Return a value as a cell: numbers and texts as they are."""
    return value if isinstance(value, int | float | str) else str(value)
