"""How a checked plan is run: in memory, or in a folder that it can be resumed from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from ppl_topics._util.arguments import MAX_SWEEPS, check_whole
from ppl_topics._util.paths import as_path
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.covariates import CovariateWarning
from ppl_topics.engine.bind import BoundModel, bind
from ppl_topics.engine.chains import Settings, run_chains
from ppl_topics.engine.checkpointing import Checkpointing, check_resumable
from ppl_topics.engine.executor import Executor, step_labels
from ppl_topics.engine.group_builder import GroupBuilder, attributes_of, build_groups
from ppl_topics.engine.interrupt import GracefulStop
from ppl_topics.engine.memory import Demand, check_memory
from ppl_topics.engine.processes import run_in_processes
from ppl_topics.engine.progress import ProgressBars
from ppl_topics.engine.recorder import ChainDraws
from ppl_topics.errors import PplTopicsError, RunError, TraceError
from ppl_topics.results.run_folder.draws import DrawLayout
from ppl_topics.results.run_folder.folder import RunFolder
from ppl_topics.results.run_folder.log import log
from ppl_topics.results.run_folder.reading import load_run
from ppl_topics.schedule import Plan

__all__ = [
    "CheckpointPolicy",
    "InexactKernelWarning",
    "bind_with_warnings",
    "make_policy",
    "run_in_folder",
    "run_on",
    "run_plan",
]


class InexactKernelWarning(UserWarning):
    """A schedule holds a kernel that does not leave the posterior invariant."""


@dataclass(frozen=True)
class CheckpointPolicy:
    """When checkpoints are written; see :func:`ppl_topics.sample`."""

    sweeps: int | None = None
    minutes: float | None = None


def make_policy(
    sweeps: Any, minutes: Any, out: str | Path | None, call: str = "checkpoint_{name}"
) -> CheckpointPolicy | None:
    """Check when checkpoints are asked for; None for a run without a folder."""
    folder = out is not None and as_path(out, "a run", TraceError).suffix != ".nc"
    for name, value in (("sweeps", sweeps), ("minutes", minutes)):
        if value is not None and not folder:
            raise PplTopicsError(
                f"{call.format(name=name)}: only a run with a folder has checkpoints; give an output that does not end "
                "in .nc, or leave it out"
            )
    if sweeps is not None:
        check_whole(call.format(name="sweeps"), sweeps, 1, MAX_SWEEPS)
    if minutes is not None:
        number = isinstance(minutes, (int, float)) and not isinstance(minutes, bool)
        if not number or not 0 < minutes < float("inf"):
            raise PplTopicsError(f"{call.format(name='minutes')}: must be a number above 0, got {minutes!r}")
        minutes = float(minutes)
    return CheckpointPolicy(sweeps, minutes) if folder else None


def run_plan(
    chosen: Plan,
    corpus: Corpus,
    settings: Settings,
    *,
    chains: int,
    processes: int,
    progress: bool,
    ignore_memory: bool = False,
) -> dict[str, xr.Dataset]:
    """Run a plan that was checked, in memory; see :func:`ppl_topics.sample`."""
    if not ignore_memory:
        check_memory(Demand.of(chosen, corpus, settings, chains, processes))
    bound = bind_with_warnings(chosen, corpus)
    # Responses that are apart have chains of their own.
    results = _run(Executor(bound, settings.debug), corpus, settings, chains * bound.parts, processes, progress)
    return build_groups(bound, corpus, results, settings, step_labels(chosen.schedule))


def run_in_folder(
    chosen: Plan,
    corpus: Corpus,
    settings: Settings,
    out: str | Path,
    *,
    policy: CheckpointPolicy,
    chains: int,
    processes: int,
    progress: bool,
    overwrite: bool = False,
    ignore_memory: bool = False,
) -> dict[str, xr.Dataset]:
    """Run a plan that was checked, in a new folder; see :func:`ppl_topics.sample`."""
    path = as_path(out, "a run", TraceError)
    if not ignore_memory:
        check_memory(Demand.of(chosen, corpus, settings, chains, processes, streamed=True))
    bound = bind_with_warnings(chosen, corpus)
    executor = Executor(bound, settings.debug)
    check_resumable(executor)
    units = chains * bound.parts
    builder = GroupBuilder(bound, corpus, range(units), step_labels(chosen.schedule))
    groups = builder.empty(attributes_of(bound, corpus, settings, stopped=True))
    with RunFolder.made(path, overwrite=overwrite):
        folder = RunFolder.begin(
            path,
            chosen.model.spec,
            corpus,
            groups,
            plan=str(chosen),
            seed=settings.seed,
            draws=settings.draws,
            warmup=settings.warmup,
            thin=settings.thin,
            chains=chains,
            units=units,
            processes=processes,
            threads=settings.threads,
            debug=settings.debug,
            variables=list(builder.all_dims()),
            checkpoint_sweeps=policy.sweeps,
            checkpoint_minutes=policy.minutes,
        )
        return run_on(folder, executor, corpus, settings, builder, processes, progress)


def run_on(
    folder: RunFolder,
    executor: Executor,
    corpus: Corpus,
    settings: Settings,
    builder: GroupBuilder,
    processes: int,
    progress: bool,
) -> dict[str, xr.Dataset]:
    """Run the chains of a folder from where its checkpoints are, and return the groups of its trace."""
    manifest = folder.manifest
    place = DrawLayout(
        folder=folder.path,
        chain=0,
        response=0 if executor.bound.parts > 1 else None,
        chains=manifest.chains,
        responses=executor.bound.parts,
        draws=settings.draws,
        warmup=settings.warmup,
        dims=builder.all_dims(),
        kernels=len(builder.labels),
    )
    checkpointing = Checkpointing(place, manifest)
    try:
        ends = _run(executor, corpus, settings, manifest.units, processes, progress, checkpointing)
    except (RunError, TraceError, MemoryError) as error:
        log(folder.path, f"failed: {error or 'out of memory'}")
        raise
    except KeyboardInterrupt:
        log(folder.path, "interrupted at once; the checkpoints stand")
        raise
    sweeps = min(chain.sweeps for chain in ends.values())
    if sweeps < settings.sweeps:
        log(folder.path, f"stopped after {sweeps:,} of {settings.sweeps:,} sweeps")
    else:
        log(folder.path, "ended: all draws are made")
    if sweeps < settings.warmup + settings.thin:
        raise RunError(
            f"{folder.path}: stopped after {sweeps:,} sweeps, before the first draw; `ppl-topics resume {folder.path}` "
            "continues from there"
        )
    return load_run(folder.path)


def _run(
    executor: Executor,
    corpus: Corpus,
    settings: Settings,
    units: int,
    processes: int,
    progress: bool,
    checkpointing: Checkpointing | None = None,
) -> dict[int, ChainDraws]:
    with GracefulStop() as stop, ProgressBars(units, settings.sweeps, progress) as report:
        if processes == 1:
            return run_chains(executor, list(range(units)), settings, report, stop, checkpointing)
        shared = min(processes, units)
        return run_in_processes(executor.bound.plan, corpus, units, shared, settings, report, stop, checkpointing)


def bind_with_warnings(chosen: Plan, corpus: Corpus) -> BoundModel:
    """Bind a plan to a corpus, and warn of what a user should know of them."""
    if not chosen.exact:
        inexact = ", ".join(chosen.inexact_kernels)
        warnings.warn(
            f"{inexact} does not leave the posterior invariant: the draws are approximate in a way that more of "
            "them does not mend",
            InexactKernelWarning,
            stacklevel=4,
        )
    bound = bind(chosen, corpus)
    observed = bound.observed
    if observed is None or observed.scaling is None:
        return bound
    # The columns of the covariates come first.
    names = [repr(name) for name, scale in zip(observed.columns, observed.scaling.scale, strict=False) if scale == 0.0]
    if names:
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
        what = "covariate {} is constant; its coefficient" if len(names) == 1 else "covariates {} are constant; each"
        warnings.warn(f"{what.format(shown)} follows its prior alone", CovariateWarning, stacklevel=4)
    return bound
