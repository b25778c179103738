"""Simulation-based calibration: whole runs on corpora from the model, and the ranks of true values among the draws."""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import Progress

from ppl_topics._util.argument_names import argument, arguments
from ppl_topics._util.arguments import check_whole
from ppl_topics._util.arrays import FloatArray, IntArray
from ppl_topics._util.user_warning import warn_user
from ppl_topics.api.run_arguments import check_warmup_schedule, run_settings
from ppl_topics.api.sampling import ModelLike, Prepared, resolve
from ppl_topics.api.simulating import prepare_simulation
from ppl_topics.core.keys import Key, Reserved
from ppl_topics.corpus.parts import VocabularyLike
from ppl_topics.diagnostics.calibration import Calibration, Quantities, Quantity
from ppl_topics.diagnostics.efficiency import ess
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.cluster.connection import Cluster, ClusterLike, connected
from ppl_topics.engine.cluster.tasks import Here, run_tasks
from ppl_topics.engine.run import InexactKernelWarning, run_in_memory
from ppl_topics.engine.simulator import Simulator
from ppl_topics.errors import PplTopicsError, RunError, SpecError, StoppedError
from ppl_topics.schedule import make_plan
from ppl_topics.spec import Model, Spec, load_spec

__all__ = ["PreparedCalibration", "calibrate", "prepare_calibration"]

FEWEST = 10
"""Replicates at least: fewer show nothing."""

SEED, TIES = 1, 2
"""Units of a replicate's random stream: the seed of its run, and what breaks ties."""

ROUNDING = 1e-9
"""Values this close, relative to the true one, are ties: topics numbered otherwise are summed in another order."""


def calibrate(
    model: ModelLike,
    *,
    documents: int | None = None,
    lengths: int | Sequence[int] | IntArray | None = None,
    words: int | VocabularyLike | None = None,
    responses: int | Mapping[str, int] | None = None,
    covariates: Any = None,
    replicates: int = 200,
    draws: int = 100,
    warmup: int = 200,
    chains: int = 1,
    thin: int = 1,
    seed: int | None = None,
    threads: int | None = None,
    processes: int = 1,
    progress: bool = True,
    schedule: Any = None,
    warmup_schedule: Any = None,
    quantities: Mapping[str, Quantity] | None = None,
    false_alarm: float = 0.01,
    cluster: ClusterLike | None = None,
    **parameters: Any,
) -> Calibration:
    """Test whole runs of a model by simulation-based calibration.

    Again and again, parameters and a corpus are drawn from the model by :func:`simulate`, and the model is run on that
    corpus as by :func:`sample`. If everything is right, from the prior and the start to the kernels, the warm-up and
    what is recorded, the true value of any quantity is one more draw: its rank among the draws is uniform.

    Quantities do not depend on how topics are numbered: log p(w, z) with theta and phi integrated out, log p(w | theta,
    phi), the log posterior, the entropy of theta, sums of squares of phi and of the counts of topics; concentrations,
    scales and probabilities that are learned; of a response the norm of the coefficients, those of covariates and the
    intercept, the linear predictor, and log p(y | eta, z). Draws are thinned to the effective sample size of each
    quantity in each replicate, and ties (but for rounding) get random ranks.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
    documents, lengths, words, responses, covariates
        Sizes of the corpora, as in :func:`simulate`. Small corpora, such as 20 documents of 20 tokens in 30 words, mix
        fast and show errors as large ones do.
    replicates : int
        How many corpora; at least 10. The size of the errors that are found falls with the square root of it.
    draws, warmup, chains, thin, schedule, warmup_schedule
        Of each run, as in :func:`sample`. All chains of a run together give the draws.
    seed : int, optional
        The same seed gives the same result at any number of processes and workers.
    threads : int, optional
        Threads of each run; 1 by default, for on small corpora more gain nothing.
    processes : int
        Processes that the replicates are spread over.
    progress : bool
        Whether to show on standard error how many are done.
    quantities : mapping of str to callable, optional
        Further quantities by name: functions of the values of one draw, an xarray Dataset with the dims of a trace, and
        the corpus, that return a number. They must not depend on how topics are numbered.
    false_alarm : float
        Probability at most that a right program is refused, over all quantities (Bonferroni).
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Spread the replicates over the workers of a Dask cluster, as in :func:`sample`.
    **parameters
        Model parameters to set.

    Returns
    -------
    Calibration
        Ctrl-C keeps the replicates that are done.

    Raises
    ------
    SpecError, ScheduleError
        If the model, its parameters or its schedule are wrong; if it cannot be simulated, or standardises the targets,
        whose units would then differ from those of the true values.
    CorpusError, PplTopicsError
        If an argument is wrong.
    RunError
        If a run fails; the message has its replicate.

    Warns
    -----
    InexactKernelWarning
        If a kernel of the schedule does not leave the posterior invariant: ranks then show how far off its draws are.

    Notes
    -----
    Of L draws, rank r and a uniform number u, (r + u) / (L + 1) is uniform whatever L is, so replicates with different
    effective sample sizes count alike. The test and the band of the plot are those of Säilynoja et al. (2022), with the
    probability of leaving the band computed exactly. It sees what a run gets wrong on average over the prior, and only
    in these quantities; :func:`verify` tests single kernels more sharply.

    References
    ----------
    S. Talts, M. Betancourt, D. Simpson, A. Vehtari, A. Gelman (2018). Validating Bayesian inference algorithms with
    simulation-based calibration. arXiv 1804.06788, theorem 1 and algorithm 2.

    M. Modrák, A. H. Moon, S. Kim, P. Bürkner, N. Huurre, K. Faltejsková, A. Gelman, A. Vehtari (2023). Simulation-based
    calibration checking for Bayesian computation: the choice of test quantities shapes sensitivity. Bayesian Analysis.

    T. Säilynoja, P.-C. Bürkner, A. Vehtari (2022). Graphical test for discrete uniformity and its applications in
    goodness-of-fit evaluation and multiple sample comparison. Statistics and Computing 32.

    Examples
    --------
    >>> import ppl_topics as pt
    >>> sizes = {"topics": 2, "documents": 5, "lengths": 8, "words": 6}
    >>> result = pt.calibrate("lda", **sizes, replicates=20, draws=30, warmup=20, seed=1, progress=False)
    >>> result.passed, result.table().columns.tolist()
    (True, ['p', 'coverage_50', 'coverage_90', 'mean', 'kept', 'reading'])
    """
    with connected(cluster) as workers:
        prepared = prepare_calibration(
            model,
            parameters,
            {
                "documents": documents,
                "lengths": lengths,
                "words": words,
                "responses": responses,
                "covariates": covariates,
            },
            replicates=replicates,
            draws=draws,
            warmup=warmup,
            chains=chains,
            thin=thin,
            seed=seed,
            threads=threads,
            processes=processes,
            schedule=schedule,
            warmup_schedule=warmup_schedule,
            quantities=quantities,
            false_alarm=false_alarm,
            cluster=workers,
        )
        return prepared.run(progress)


def prepare_calibration(
    model: ModelLike,
    parameters: Mapping[str, Any],
    sizes: dict[str, Any],
    *,
    replicates: int,
    processes: int = 1,
    threads: int | None = None,
    schedule: Any = None,
    warmup_schedule: Any = None,
    quantities: Mapping[str, Quantity] | None = None,
    false_alarm: float = 0.01,
    cluster: Cluster | None = None,
    **how: Any,
) -> PreparedCalibration:
    """Check the arguments of :func:`calibrate`, `sizes` being those of `simulate` and `how` those of `run_settings`."""
    check_whole(argument("replicates"), replicates, FEWEST)
    check_whole(argument("processes"), processes, 1)
    if cluster is not None and processes != 1:
        raise PplTopicsError(f"give one of {arguments('processes', 'cluster')}, not both")
    is_number = isinstance(false_alarm, int | float) and not isinstance(false_alarm, bool)
    if not is_number or not 0.0 < false_alarm < 1.0:
        raise PplTopicsError(
            f"{argument('false_alarm')}: expected a probability above 0 and below 1, got {false_alarm!r}"
        )
    own = dict(quantities or {})
    for name, quantity in own.items():
        if not callable(quantity):
            raise PplTopicsError(f"{argument('quantities')}: {name!r}: expected a function, got {quantity!r}")
    settings = run_settings(threads=1 if threads is None else threads, progress=False, cluster=cluster, **how)
    check_warmup_schedule(warmup_schedule, settings.warmup)
    # Ranks need an effective sample size.
    check_whole(argument("draws"), settings.draws, 4)
    # Errors in the model and its schedule show before any run.
    spec = resolve(model, parameters, schedule=schedule, warmup_schedule=warmup_schedule)
    if spec.schedule is not None:
        make_plan(spec)
    made = Model.of(spec)
    simulator = prepare_simulation(spec, {}, **sizes)
    for alone in (each.model for each in made.by_response.values()):
        if alone.response is not None and getattr(alone.response, "standardise", False):
            raise SpecError(
                f"block {alone.names['y']!r} ({alone.response.kind}) standardises the targets, so that a fit has other "
                "units than the true values; set standardise: false"
            )
    job = _Job(_recording_all(made).to_dict(), sizes, replace(settings, cluster=None), own)
    return PreparedCalibration(job, simulator, replicates, processes, false_alarm, cluster)


def _recording_all(model: Model) -> Spec:
    """Return the model with a record of all its variables, but those that only help to sample."""
    kept = {n: "all" for n, v in model.variables.items() if v.role != "augmentation" or "doc" not in v.dims}
    return load_spec(model.spec, record=kept)


@dataclass(frozen=True)
class PreparedCalibration:
    """Runs whose arguments have been checked."""

    job: _Job
    simulator: Simulator
    replicates: int
    processes: int
    false_alarm: float
    cluster: Cluster | None

    def run(self, progress: bool) -> Calibration:
        """Run all replicates; see :func:`calibrate`."""
        rows: list[_Row] = []
        stopped = False
        with Progress(console=Console(stderr=True), disable=not progress) as bar:
            task = bar.add_task("replicates", total=self.replicates)

            def add(row: _Row) -> None:
                rows.append(row)
                bar.advance(task)

            try:
                self._each(add)
            except KeyboardInterrupt:
                stopped = True
        if not rows:
            raise RunError("stopped before the first replicate was done; nothing to keep")
        inexact = sorted({name for row in rows for name in row.inexact})
        if inexact:
            warn_user(
                f"{', '.join(inexact)} does not leave the posterior invariant: ranks show how far off its draws are",
                InexactKernelWarning,
            )
        settings, model = self.job.settings, self.simulator.model
        about = {
            "model_name": model.spec.name,
            "model_yaml": self.simulator.yaml,
            "schedules": "\n".join(sorted({row.schedule for row in rows})),
            "exact": int(not inexact),
            "inexact": ", ".join(inexact),
            "seed": settings.seed,
            "documents": len(self.simulator.doc_ptr) - 1,
            "draws": settings.draws,
            "warmup": settings.warmup,
            "thin": settings.thin,
            "chains": settings.chains,
            "replicates": self.replicates,
            "false_alarm": float(self.false_alarm),
            "stopped": int(stopped),
        }
        names = rows[0].quantities
        columns = {name: np.stack([row.ranks[name] for row in rows]) for name in rows[0].ranks}
        data = {name: (("replicate", "quantity"), values) for name, values in columns.items()}
        coords = {"replicate": np.arange(len(rows)), "quantity": np.array(names, dtype=object)}
        return Calibration(xr.Dataset(data, coords).assign_attrs(about))

    def _each(self, add: Callable[[_Row], None]) -> None:
        """Run the replicates, and take each in order as soon as it is done."""
        numbers, threads = range(self.replicates), self.job.settings.threads
        if self.cluster is not None:
            run_tasks(self.cluster, _on_cluster, self.job, numbers, threads=threads, finished=lambda _, row: add(row))
        elif self.processes == 1:
            for number in numbers:
                add(self.job.replicate(number))
        else:
            spawn = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(min(self.processes, self.replicates), spawn, _begin, (self.job,))
            try:
                for row in pool.map(_in_process, numbers):
                    add(row)
            finally:
                pool.shutdown(cancel_futures=True)


class _Row(NamedTuple):
    """What a replicate gives: an array by name for all quantities, and what was run."""

    quantities: tuple[str, ...]
    ranks: dict[str, FloatArray]
    schedule: str
    inexact: tuple[str, ...]


@dataclass(frozen=True)
class _Job:
    """What all replicates share, as plain data: workers make the model from it."""

    model: dict[str, Any]
    sizes: dict[str, Any]
    settings: Settings
    own: dict[str, Quantity]

    @cached_property
    def simulator(self) -> Simulator:
        """What draws corpora."""
        return prepare_simulation(self.model, {}, **self.sizes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "simulator"}

    def replicate(self, number: int) -> _Row:
        """Simulate a corpus, run the model on it, and rank the true values among the draws."""
        seed, settings = self.settings.seed, self.settings
        stream = Key(seed, number, 0).reserved(Reserved.SIMULATION)
        simulation = self.simulator.draw(seed, number)
        model = self.simulator.model
        written = None if model.spec.schedule is None else make_plan(model.spec)
        own_seed = int(stream.generator(SEED).integers(2**63 - 1))
        prepared = Prepared(model.spec, replace(settings, seed=own_seed), None, False, {}, written)
        plan = prepared.plan(simulation.corpus)
        try:
            with warnings.catch_warnings():
                # Told once, of all replicates.
                warnings.simplefilter("ignore", InexactKernelWarning)
                groups = run_in_memory(plan, simulation.corpus, prepared.settings)
        except StoppedError:
            raise KeyboardInterrupt from None
        except RunError as error:
            raise RunError(f"replicate {number} of seed {seed}: {error}") from error
        posterior = groups["posterior"]
        if posterior.attrs["stopped"]:
            raise KeyboardInterrupt
        quantities = Quantities(model, simulation.corpus, self.own)
        truth = quantities.of(simulation.values)
        draws = quantities.of_draws(posterior[list(simulation.values)], list(truth))
        for name, values in zip(truth, draws.T, strict=True):
            if np.isnan(truth[name]) or np.isnan(values).any():
                raise RunError(f"replicate {number} of seed {seed}: the quantity {name!r} is not a number")
        ranks = ranks_of(np.array(list(truth.values())), draws, stream.generator(TIES))
        return _Row(tuple(truth), ranks, str(plan), tuple(plan.inexact_kernels))


def ranks_of(truth: FloatArray, draws: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return the ranks of true values, shape (Q,), among draws, shape (chains, draws, Q), thinned to their ESS."""
    n_chains, n_draws, size = draws.shape
    effective = ess(draws, method="bulk")
    thin = np.ceil(n_chains * n_draws / np.clip(effective, 1.0, n_chains * n_draws)).astype(np.int64)
    rank, kept = np.zeros(size), np.zeros(size)
    for i in range(size):
        # The last draws, the farthest from the start.
        left = draws[:, ::-1, i][:, :: thin[i]]
        same = np.isclose(left, truth[i], rtol=ROUNDING, atol=0.0)
        below, ties = ((left < truth[i]) & ~same).sum(), same.sum()
        rank[i], kept[i] = below + rng.integers(ties + 1), left.size
    pit = (rank + rng.random(size)) / (kept + 1.0)
    return {"truth": truth, "rank": rank, "kept": kept, "pit": pit, "ess": effective}


def _on_cluster(job: _Job, number: int, here: Here) -> _Row:
    return job.replicate(number)


_jobs: list[_Job] = []
"""In a process of its own: the job that it works on."""


def _begin(job: _Job) -> None:
    # Ctrl-C is for the process that waits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _jobs.append(job)


def _in_process(number: int) -> _Row:
    return _jobs[-1].replicate(number)
