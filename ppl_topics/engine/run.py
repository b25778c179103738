"""Run a plan: in memory, in a new folder that the run can be resumed from, or continued from there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

from ppl_topics._util.argument_names import argument
from ppl_topics._util.user_warning import warn_user
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.covariates import CovariateWarning
from ppl_topics.engine.bind import BoundModel, bind
from ppl_topics.engine.chains import Settings, run_chains
from ppl_topics.engine.checkpointing import Checkpointing, check_resumable
from ppl_topics.engine.cluster.chains import run_on_cluster
from ppl_topics.engine.cluster.sharded import ShardedExecutor
from ppl_topics.engine.cluster.workers import Workers
from ppl_topics.engine.compilation import announcing_compilation
from ppl_topics.engine.group_builder import GroupBuilder, attributes_of, build_groups
from ppl_topics.engine.interrupt import GracefulStop
from ppl_topics.engine.memory import check_memory
from ppl_topics.engine.model_sizes import Demand
from ppl_topics.engine.phases import Phases
from ppl_topics.engine.placing import using_device
from ppl_topics.engine.processes import run_in_processes
from ppl_topics.engine.progress import ProgressBars
from ppl_topics.engine.recorder import ChainDraws
from ppl_topics.errors import RunError, TraceError
from ppl_topics.results.groups import Groups
from ppl_topics.results.run_folder.draws import DrawLayout
from ppl_topics.results.run_folder.folder import RunFolder
from ppl_topics.results.run_folder.log import log
from ppl_topics.results.run_folder.reading import load_run
from ppl_topics.schedule import Plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.spread import check_spread

__all__ = ["InexactKernelWarning", "resume_in_folder", "run_in_folder", "run_in_memory"]


class InexactKernelWarning(UserWarning):
    """A schedule has a kernel that does not leave the posterior invariant."""


def run_in_memory(plan: Plan, corpus: Corpus, settings: Settings) -> Groups:
    """Run a plan and keep the draws in memory."""
    _check_memory(plan, corpus, settings, streamed=False)
    bound = _bind(plan, corpus)
    draws = _run_chains(_phases(bound, settings), corpus, settings, settings.chains * bound.parts)
    return build_groups(bound, corpus, draws, settings)


def run_in_folder(
    plan: Plan,
    corpus: Corpus,
    settings: Settings,
    path: Path,
    *,
    overwrite: bool = False,
    checkpoint_sweeps: int | None = None,
    checkpoint_minutes: float | None = None,
) -> Groups:
    """Run a plan and stream the draws to a new folder, with checkpoints."""
    _check_memory(plan, corpus, settings, streamed=True)
    bound = _bind(plan, corpus)
    phases = _phases(bound, settings)
    check_resumable(phases)
    units = settings.chains * bound.parts
    builder = GroupBuilder(bound, corpus, range(units))
    groups = builder.empty(attributes_of(bound, corpus, settings, stopped=True))
    with RunFolder.made(path, overwrite=overwrite):
        folder = RunFolder.begin(
            path,
            plan.model.spec,
            corpus,
            groups,
            settings.start,
            plan=str(plan),
            seed=settings.seed,
            draws=settings.draws,
            warmup=settings.warmup,
            thin=settings.thin,
            chains=settings.chains,
            units=units,
            processes=settings.processes,
            threads=settings.threads,
            debug=settings.debug,
            device=settings.device,
            variables=list(builder.all_dims()),
            checkpoint_sweeps=checkpoint_sweeps,
            checkpoint_minutes=checkpoint_minutes,
        )
        return _run_on(folder, phases, corpus, settings, builder)


def resume_in_folder(folder: RunFolder, plan: Plan, corpus: Corpus, settings: Settings) -> Groups:
    """Continue the run of a folder from its checkpoints."""
    _check_memory(plan, corpus, settings, streamed=True)
    bound = _bind(plan, corpus)
    phases = _phases(bound, settings)
    check_resumable(phases)
    builder = GroupBuilder(bound, corpus, range(folder.manifest.units))
    log(folder.path, "resumed")
    return _run_on(folder, phases, corpus, settings, builder)


def _run_on(folder: RunFolder, phases: Phases, corpus: Corpus, settings: Settings, builder: GroupBuilder) -> Groups:
    """Run the chains of a folder from its checkpoints, and read its trace."""
    manifest, parts = folder.manifest, phases.bound.parts
    layout = DrawLayout(
        folder=folder.path,
        chain=0,
        response=0 if parts > 1 else None,
        chains=manifest.chains,
        responses=parts,
        draws=settings.draws,
        warmup=settings.warmup,
        dims=builder.all_dims(),
        kernels=len(builder.labels),
        warmup_kernels=len(builder.warmup_labels),
    )
    try:
        ends = _run_chains(phases, corpus, settings, manifest.units, Checkpointing(layout, manifest))
    except (RunError, TraceError, MemoryError) as error:
        log(folder.path, f"failed: {error or 'out of memory'}")
        raise
    except KeyboardInterrupt:
        log(folder.path, "interrupted at once; the checkpoints are kept")
        raise
    sweeps = min(chain.sweeps for chain in ends.values())
    if sweeps < settings.sweeps:
        log(folder.path, f"stopped after {sweeps:,} of {settings.sweeps:,} sweeps")
    else:
        log(folder.path, "finished: all draws are made")
    if sweeps < settings.warmup + settings.thin:
        raise RunError(
            f"{folder.path}: stopped after {sweeps:,} sweeps, before the first draw; "
            f"`ppl-topics resume {folder.path}` continues the run"
        )
    return load_run(folder.path)


def _run_chains(
    phases: Phases, corpus: Corpus, settings: Settings, units: int, checkpointing: Checkpointing | None = None
) -> dict[int, ChainDraws]:
    """Run chains until they are done or the user stops them; responses that are apart each have their chains."""
    with (
        GracefulStop() as stop,
        ProgressBars(units, settings.sweeps, settings.progress) as report,
        announcing_compilation(report.say),
    ):
        if settings.cluster is not None:
            report.say(str(settings.cluster))
        if settings.cluster is not None and settings.split == "chains":
            plan = phases.bound.plan
            return run_on_cluster(settings.cluster, plan, corpus, units, settings, report, stop, checkpointing)
        if settings.processes == 1:
            return run_chains(phases, list(range(units)), settings, report, stop, checkpointing)
        processes = min(settings.processes, units)
        return run_in_processes(phases.bound.plan, corpus, units, processes, settings, report, stop, checkpointing)


def _phases(bound: BoundModel, settings: Settings) -> Phases:
    """Return what advances chains: in this process, or on workers that have some documents each."""
    if settings.cluster is None or settings.split == "chains":
        with using_device(settings.device):
            return Phases.here(bound, settings.warmup, settings.debug, settings.chains * bound.parts)
    check_spread(bound.plan.first_schedule)
    workers, deals = Workers(settings.cluster), count(1)
    return Phases(bound, settings.warmup, lambda part: ShardedExecutor(part, workers, settings.threads, deals))


def _check_memory(plan: Plan, corpus: Corpus, settings: Settings, *, streamed: bool) -> None:
    """Refuse a run that is not expected to fit in memory; workers that have chains do so themselves."""
    if not settings.ignore_memory and (settings.cluster is None or settings.split == "documents"):
        check_memory(Demand(plan, CorpusSizes.of(corpus), settings, streamed))


def _bind(plan: Plan, corpus: Corpus) -> BoundModel:
    """Bind a plan to a corpus, and warn of inexact kernels, and of covariates that are not used or constant."""
    if not plan.exact:
        warn_user(
            f"{', '.join(plan.inexact_kernels)} does not leave the posterior invariant: the draws are approximate, "
            "and more of them do not make them less so",
            InexactKernelWarning,
        )
    if corpus.covariates is not None and corpus.covariates.columns and "x" not in plan.model.names:
        names = [repr(column.name) for column in corpus.covariates.columns]
        what = "covariate {}" if len(names) == 1 else "covariates {}"
        warn_user(
            f"model {plan.model.spec.name!r} does not use {what.format(_some(names))} of the corpus; use a model with "
            f"the block 'covariates', such as slda_covariates or dmr, or leave out {argument('covariates')}",
            CovariateWarning,
        )
    bound = bind(plan, corpus)
    # Covariates are the same wherever they are observed, and their columns come first.
    observed = next((each for each in (bound.observed, bound.prevalence) if each is not None and each.scaling), None)
    if observed is None or observed.scaling is None:
        return bound
    names = [repr(name) for name, scale in zip(observed.columns, observed.scaling.scale, strict=False) if scale == 0.0]
    if names:
        what = "covariate {} is constant; its coefficient" if len(names) == 1 else "covariates {} are constant; each"
        warn_user(f"{what.format(_some(names))} follows its prior only", CovariateWarning)
    return bound


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
