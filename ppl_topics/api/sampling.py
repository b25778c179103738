"""Draw from the posterior of a model: ``sample``, and what of it can be done before there is a corpus."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ppl_topics._util.argument_names import argument, parameter
from ppl_topics._util.nearest import nearest
from ppl_topics._util.threads import enough_threads
from ppl_topics.api.destinations import check_run
from ppl_topics.api.run_arguments import Split, check_checkpoints, check_corpus, check_warmup_schedule, run_settings
from ppl_topics.api.saving import save_somewhere
from ppl_topics.api.starting import Given, Init, start_values, with_start
from ppl_topics.core.tokens import DIMS
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.names import NAME
from ppl_topics.engine.bind import bind
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.cluster.connection import ClusterLike, connected
from ppl_topics.engine.placing import Device
from ppl_topics.engine.run import InexactKernelWarning, run_in_folder, run_in_memory
from ppl_topics.engine.traced import Traced
from ppl_topics.errors import SpecError
from ppl_topics.fit import Fit
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes, sweep_seconds
from ppl_topics.schedule.plan import to_data
from ppl_topics.schedule.warmup import parse_warmup
from ppl_topics.spec import Model, Spec, load_spec

__all__ = [
    "InexactKernelWarning",
    "ModelLike",
    "Prepared",
    "prepare",
    "resolve",
    "sample",
]

ModelLike: TypeAlias = str | Path | Mapping[str, Any] | Spec


def sample(
    model: ModelLike,
    corpus: Corpus,
    *,
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
    init: Init | None = None,
    given: Given | None = None,
    debug: bool = False,
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_sweeps: int | None = None,
    checkpoint_minutes: float | None = None,
    ignore_memory: bool = False,
    cluster: ClusterLike | None = None,
    split: Split = "chains",
    device: Device = "cpu",
    **parameters: Any,
) -> Fit:
    """Draw from the posterior of a topic model.

    Ctrl-C, or SIGTERM, ends the run after the sweep in progress and returns what was drawn. A run with a folder,
    ``out``, can be continued by :func:`ppl_topics.resume`, whatever ended it.

    Parameters
    ----------
    model : str, path-like, mapping or Spec
        Name of a shipped model or one of another package, a YAML file, its content, or a Spec.
    corpus : Corpus
    draws, warmup : int
        Kept draws, and sweeps before them, of each chain.
    chains : int
    thin : int
        Sweeps for each kept draw.
    seed : int, optional
        From 0 to 2**63 - 1; by default it is drawn, and recorded. The same seed gives the same draws at any number of
        threads and processes.
    threads : int, optional
        Threads of each process; by default the threads that numba uses (all cores, unless
        ``numba.set_num_threads`` says otherwise) are shared between the processes, and no more of them are used than a
        sweep has work for. The draws are the same with any number.
    processes : int
        Processes that the chains are spread over.
    progress : bool
        Whether to show progress on standard error.
    record : mapping, optional
        What to keep of each variable: ``"all"``, ``"none"``, ``{"top_words": n}``, ``{"docs": n}``. Under a name of its
        own also a function of the :class:`ppl_topics.ChainState` that returns a number, which becomes a variable of the
        trace, or an array, if it stands with its dims: ``{"largest": (function, ("topic",))}``. It must not change the
        state.
    schedule : mapping or list, optional
        Replaces the model's own schedule; see :func:`ppl_topics.cycle`.
    warmup_schedule : mapping or list, optional
        What runs in the sweeps before the first kept draw, in place of the model's own ``warmup``, or of the schedule.
        Its kernels may be inexact, for only kept draws must be exact; the trace and the verdict say what it was. Beside
        the kernels, or alone, ``"temperature": T`` anneals it: in sweep t of W, counted from 0, the concentrations of
        the Dirichlet distributions are those of the model times T^(1 - t / W). Where the model has no ``warmup``, no
        labels and no keywords, its concentrations are fixed and there is neither `init` nor `given`, T is 20.
    init : Fit or mapping, optional
        Where chains start: the last states of a fit to the same corpus, or values by variable, with the dims of the
        trace (phi is topic x word); a dim ``chain`` first gives each chain its own. Given phi but not z, z is drawn.
        What is not given starts as without.
    given : mapping, optional
        Variables to hold fixed at a value: the draws are of the posterior given these. A value is an array with the
        dims of the trace, or a fit, of which the mean in its first chain is taken: ``given={"phi": fit}`` has the
        topics of an earlier fit, whose vocabulary must hold the words of the corpus.
    debug : bool
        Whether to hold each step against the declaration of its kernel: what it changes, what it reads, and that the
        same key gives the same draws. It runs each step three times.
    out : str or path-like, optional
        A folder, which draws are streamed to, with checkpoints, so that memory does not grow with the number of draws;
        or a file that ends in ``.nc``, written at the end. By default draws are kept in memory only.
    overwrite : bool
        Whether to replace an existing run.
    checkpoint_sweeps : int, optional
        Sweeps between checkpoints of a chain.
    checkpoint_minutes : float, optional
        Minutes between checkpoints. If neither is given, one minute, or more if a checkpoint takes over 0.6 s, so
        that checkpoints take at most a hundredth of the time.
    ignore_memory : bool
        Whether to run even if the run may not fit in memory.
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Run on the workers of a Dask cluster: a client of it, the address of its scheduler
        (``"tcp://10.0.0.5:8786"``), or ``"local:2"`` for two workers on this machine while the run lasts. The draws
        are the same as without.
    split : {'chains', 'documents'}
        What the workers share: each has some chains, or each has some documents of every chain. If `out` is a folder,
        workers that have chains must see it.
    device : {'cpu', 'cuda'}
        Whether the kernels that can run there run on a GPU; the package needs the extra ``ppl-topics[cuda]`` then. The
        draws have the same distribution, but are others.
    **parameters
        Model parameters to set, such as ``topics=50``.

    Returns
    -------
    Fit

    Raises
    ------
    SpecError, ScheduleError
        If the model, its parameters or its schedule are wrong.
    CorpusError
        If the corpus has no tokens, or lacks the labels that the model observes.
    RunError
        If the run fails, is not expected to fit in memory, is stopped before the first draw, or its file cannot be
        written in the end; the draws are then in a temporary file, which the message names.
    TraceError
        If `out` cannot be written, or holds a run already.

    Warns
    -----
    InexactKernelWarning
        If a kernel of the schedule does not leave the posterior invariant.
    CovariateWarning
        If the corpus has covariates that the model does not use, or one that is constant, so that its coefficient
        follows its prior only.

    Examples
    --------
    >>> from ppl_topics import Corpus
    >>> corpus = Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    >>> fit = sample("lda", corpus, topics=2, draws=10, warmup=5, seed=1, progress=False)
    >>> fit.posterior["phi"].dims
    ('chain', 'draw', 'topic', 'word')
    """
    with connected(cluster) as workers:
        prepared = prepare(
            model,
            parameters,
            record=record,
            schedule=schedule,
            warmup_schedule=warmup_schedule,
            init=init,
            given=given,
            out=out,
            overwrite=overwrite,
            checkpoint_sweeps=checkpoint_sweeps,
            checkpoint_minutes=checkpoint_minutes,
            draws=draws,
            warmup=warmup,
            chains=chains,
            thin=thin,
            seed=seed,
            threads=threads,
            processes=processes,
            progress=progress,
            debug=debug,
            ignore_memory=ignore_memory,
            cluster=workers,
            split=split,
            device=device,
        )
        return prepared.run(corpus)


@dataclass(frozen=True)
class Prepared:
    """A run whose arguments have been checked: a wrong one is refused before a large corpus is read."""

    spec: Spec
    settings: Settings
    path: Path | None
    overwrite: bool
    checkpoints: Mapping[str, Any]
    written: Plan | None
    """Of a schedule that the user wrote, which does not depend on the corpus."""
    init: Init | None = None
    given: Given | None = None
    fits_threads: bool = False
    """Whether the corpus says how many of the threads are used."""

    def fitted_settings(self, plan: Plan, corpus: Corpus) -> Settings:
        """Return the settings, with no more threads than a sweep has work for unless they were given."""
        if not self.fits_threads:
            return self.settings
        sizes = CorpusSizes.of(corpus).for_model(plan.model)
        seconds = sweep_seconds(plan.schedule, sizes, plan.model.spec.topics, 1)
        return replace(self.settings, threads=min(self.settings.threads, enough_threads(None, seconds)))

    def plan(self, corpus: Corpus) -> Plan:
        """Return the plan of the model for a corpus."""
        check_corpus(corpus)
        if self.written is not None:
            return self.written
        sizes, device = CorpusSizes.of(corpus), self.settings.device
        if self.settings.split == "chains" and device == "cpu":
            return make_plan(self.spec, sizes)
        # Written down, so that the run can be resumed anywhere: alone it would have other kernels.
        distributed = self.settings.split == "documents"
        chosen = to_data(make_plan(self.spec, sizes, distributed=distributed, device=device).schedule)
        where = "documents on several machines" if distributed else device
        return make_plan(self.spec.with_schedule(chosen, f"the schedule chosen for {where}"))

    def run(self, corpus: Corpus) -> Fit:
        """Run the model on a corpus; see :func:`sample`."""
        plan = self.plan(corpus)
        settings = self.fitted_settings(plan, corpus)
        if self.init is not None or self.spec.given:
            start = start_values(bind(plan, corpus), corpus, self.init, self.given, settings.chains)
            settings = replace(settings, start=start)
        if self.path is None:
            return Fit(run_in_memory(plan, corpus, settings))
        if self.path.suffix != ".nc":
            how = {"overwrite": self.overwrite, **self.checkpoints}
            return Fit(run_in_folder(plan, corpus, settings, self.path, **how))
        fit = Fit(run_in_memory(plan, corpus, settings))
        save_somewhere(fit, self.path)
        return fit


def prepare(
    model: ModelLike,
    parameters: Mapping[str, Any],
    *,
    record: Mapping[str, Any] | None = None,
    schedule: Any = None,
    warmup_schedule: Any = None,
    init: Init | None = None,
    given: Given | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    checkpoint_sweeps: int | None = None,
    checkpoint_minutes: float | None = None,
    **how: Any,
) -> Prepared:
    """Check the arguments of :func:`sample` but the corpus; `how` are those of :func:`run_settings`."""
    rules, traced = _split_record(record)
    settings = replace(run_settings(**how), traced=traced)
    path = None if out is None else check_run(out, overwrite)
    in_folder = path is not None and path.suffix != ".nc"
    checkpoints = check_checkpoints(checkpoint_sweeps, checkpoint_minutes, in_folder)
    check_warmup_schedule(warmup_schedule, settings.warmup)
    trees = {"schedule": schedule, "warmup_schedule": warmup_schedule}
    spec = with_start(resolve(model, parameters, record=rules, **trees), init, given)
    # What is given is checked with the rest of the model.
    made = Model.of(spec)
    _check_traced(traced, made, settings, in_folder)
    written = None
    if spec.schedule is not None:
        written = make_plan(spec)
    else:
        parse_warmup(made)
    fits_threads = how.get("threads") is None and how.get("cluster") is None and settings.device == "cpu"
    return Prepared(spec, settings, path, overwrite, checkpoints, written, init, given, fits_threads)


def _split_record(record: Any) -> tuple[Any, list[Traced]]:
    """Separate the functions of a state from the rules for variables."""
    if not isinstance(record, Mapping):
        return record, []
    rules, traced = {}, []
    for name, value in record.items():
        function, dims = value if isinstance(value, tuple) and len(value) == 2 else (value, ())
        if not callable(function):
            rules[name] = value
            continue
        dims = (dims,) if isinstance(dims, str) else dims
        if (
            not isinstance(dims, tuple | list)
            or not NAME.match(name)
            or not all(isinstance(dim, str) and NAME.match(dim) for dim in dims)
        ):
            raise SpecError(
                f"{argument('record')}: {name!r}: a function and its dims need names of lower-case letters, digits "
                "and _, a letter first"
            )
        traced.append(Traced(name, function, tuple(dims)))
    return rules or None, traced


def _check_traced(traced: Sequence[Traced], model: Model, settings: Settings, in_folder: bool) -> None:
    """Refuse functions whose names are taken, or that cannot go where they are needed."""
    dims = {"chain", "draw", *DIMS, *(dim for each in traced for dim in each.dims)}
    for each in traced:
        what = f"{argument('record')}: {each.name}"
        if each.name in {*model.variables, "topic_share"}:
            raise SpecError(f"{what}: is a variable of model {model.spec.name!r}; give the function another name")
        if each.name in dims:
            raise SpecError(f"{what}: is a dim of the trace; give the function another name")
        if in_folder:
            raise SpecError(
                f"{what}: a run in a folder cannot keep a function, with which it would be resumed; write to a file "
                "that ends in .nc"
            )
        if settings.processes > 1:
            try:
                pickle.dumps(each.function)
            except Exception as error:
                raise SpecError(
                    f"{what}: cannot be sent to other processes ({error}); define the function at the top of a module, "
                    f"or leave out {argument('processes')}"
                ) from None


def resolve(
    model: ModelLike,
    parameters: Mapping[str, Any],
    *,
    record: Mapping[str, Any] | None = None,
    schedule: Any = None,
    warmup_schedule: Any = None,
    call: str | None = None,
) -> Spec:
    """Load a model with its parameters, its schedules and what to record, and check that they fit together.

    ``call`` is how messages name a parameter, with ``{name}`` for the name, if it was not set as usual.
    """
    spec = load_spec(model)
    call = call or parameter("{name}")
    for name in parameters:
        if name.split(".")[0] not in spec.parameters:
            # On the command line options have other names, and one of these is suggested.
            if name in OPTIONS and argument(name) == name:
                raise SpecError(f"{call.format(name=name)}: this is an option of `sample`, which is not taken here")
            known = [*spec.parameters, *map(argument, OPTIONS)]
            raise SpecError(
                f"{call.format(name=name)}: model {spec.name!r} has no parameter {name!r}{nearest(name, known)}"
            )
    # From the model again, not from the resolved spec: there the parameters' places are already taken.
    spec = load_spec(model, parameters, record=record, call=call)
    spec = spec if schedule is None else spec.with_schedule(schedule, "argument schedule")
    spec = spec if warmup_schedule is None else spec.with_warmup(warmup_schedule, "argument warmup_schedule")
    Model.of(spec)
    return spec


OPTIONS = [p.name for p in inspect.signature(sample).parameters.values() if p.kind is p.KEYWORD_ONLY]
"""What a wrong name of a parameter may have meant instead."""
