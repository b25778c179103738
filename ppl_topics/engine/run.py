"""How a checked plan is run: in memory, or in a folder that it can be resumed from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ppl_topics._util.arguments import MAX_SWEEPS, check_threads, check_whole
from ppl_topics._util.files import remove_parts
from ppl_topics._util.paths import as_path
from ppl_topics.corpus import Corpus
from ppl_topics.corpus.covariates import CovariateWarning
from ppl_topics.engine.bind import BoundModel, bind
from ppl_topics.engine.chains import Settings, run_chains
from ppl_topics.engine.checkpointing import Keeping, check_resumable
from ppl_topics.engine.executor import Executor, step_labels
from ppl_topics.engine.group_builder import GroupBuilder, attributes_of, build_groups
from ppl_topics.engine.interrupt import GracefulStop
from ppl_topics.engine.memory import Demand, check_memory
from ppl_topics.engine.processes import run_in_processes
from ppl_topics.engine.progress import ProgressBars
from ppl_topics.engine.recorder import ChainDraws
from ppl_topics.errors import PplTopicsError, RunError, TraceError
from ppl_topics.fit import Fit
from ppl_topics.results.run_folder.draws import Place
from ppl_topics.results.run_folder.folder import RunFolder
from ppl_topics.results.run_folder.lock import locked
from ppl_topics.results.run_folder.log import log
from ppl_topics.results.run_folder.manifest import software
from ppl_topics.results.run_folder.reading import load_run
from ppl_topics.schedule import Plan, make_plan
from ppl_topics.schedule.costs import CorpusSizes

__all__ = ["CheckpointPolicy", "InexactKernelWarning", "make_policy", "resume", "run_in_folder", "run_plan"]

CONTEXT = 60
"""Characters of a plan that are told on either side of where it changed."""


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
    """Check when checkpoints are asked for; None for a run without a folder.

    Raises
    ------
    PplTopicsError
        If they are no positive numbers, or given for a run without a folder.
    """
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
) -> Fit:
    """Run a plan that was checked, in memory; see :func:`ppl_topics.sample`."""
    if not ignore_memory:
        check_memory(Demand.of(chosen, corpus, settings, chains, processes))
    bound = _bind(chosen, corpus)
    # Responses that are apart have chains of their own.
    results = _run(Executor(bound, settings.debug), corpus, settings, chains * bound.parts, processes, progress)
    return Fit(build_groups(bound, corpus, results, settings, step_labels(chosen.schedule)))


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
) -> Fit:
    """Run a plan that was checked, in a new folder; see :func:`ppl_topics.sample`.

    Raises
    ------
    RunError
        If a run, or something else, stands there; it cannot be written; a kernel cannot be resumed; or the run fails.
    """
    path = as_path(out, "a run", TraceError)
    if not ignore_memory:
        check_memory(Demand.of(chosen, corpus, settings, chains, processes, streamed=True))
    bound = _bind(chosen, corpus)
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
        return _run_on(folder, executor, corpus, settings, builder, processes, progress)


def resume(
    path: str | Path,
    *,
    draws: int | str | None = None,
    corpus: Corpus | None = None,
    threads: int | None = None,
    processes: int | None = None,
    progress: bool = True,
    ignore_memory: bool = False,
    call: str = "{name}",
) -> Fit:
    """Continue a run from the checkpoints in its folder: its draws are those of a run that was never stopped.

    Parameters
    ----------
    path : str or path-like
        Folder of a run (``out`` of :func:`ppl_topics.sample`), whether it was stopped, killed, or has ended.
    draws : int or str, optional
        Kept draws of each chain in all, or ``"+100"`` for so many more; by default those that were asked for.
    corpus : Corpus, optional
        Of the run, which has a copy of it; one that is given must be the same.
    threads, processes : int, optional
        Other ones than before; the draws do not depend on them.
    progress : bool
        Whether to show progress on standard error.
    ignore_memory : bool
        Whether to go on where the memory that the run would take is not there.
    call : str
        How messages call an argument.

    Returns
    -------
    Fit

    Raises
    ------
    TraceError
        If the folder is no run's, or model, corpus, schedule or random streams are not those that it began with.
    PplTopicsError
        If fewer draws are asked for than before.
    RunError
        If another process runs in the folder, or the run fails.

    Warns
    -----
    RunWarning
        If a checkpoint is damaged, so that one before it is taken; or other versions of libraries are installed than
        when the run began, so that the last bits of draws may differ.
    """
    place = as_path(path, "a run", TraceError)
    folder = RunFolder.opened(place)
    manifest = folder.manifest
    folder.check_streams()
    asked = _asked_draws(draws, manifest.draws, call.format(name="draws"))
    processes = manifest.processes if processes is None else processes
    check_whole(call.format(name="processes"), processes, 1, MAX_SWEEPS)
    if threads is not None:
        check_threads(call.format(name="threads"), threads)
    with locked(place):
        remove_parts(place)
        _warn_of_versions(folder)
        spec = folder.spec()
        held = folder.corpus(corpus)
        chosen = make_plan(spec, CorpusSizes.of(held))
        if str(chosen) != manifest.plan:
            raise TraceError(
                f"{place}: the model now has another schedule than when the run began, as where kernels were added or "
                f"changed: {_first_change(manifest.plan, str(chosen))}. Resume with the version that began the run"
            )
        if asked > manifest.draws:
            folder = folder.grown(asked)
        settings = Settings(
            asked,
            manifest.warmup,
            manifest.thin,
            manifest.seed,
            _threads(manifest.threads) if threads is None else threads,
            manifest.debug,
        )
        if not ignore_memory:
            check_memory(Demand.of(chosen, held, settings, manifest.chains, processes, streamed=True))
        bound = _bind(chosen, held)
        executor = Executor(bound, settings.debug)
        check_resumable(executor)
        builder = GroupBuilder(bound, held, range(manifest.units), step_labels(chosen.schedule))
        log(place, "resumed")
        return _run_on(folder, executor, held, settings, builder, processes, progress)


def _run_on(
    folder: RunFolder,
    executor: Executor,
    corpus: Corpus,
    settings: Settings,
    builder: GroupBuilder,
    processes: int,
    progress: bool,
) -> Fit:
    manifest = folder.manifest
    place = Place(
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
    keeping = Keeping(place, manifest)
    try:
        ends = _run(executor, corpus, settings, manifest.units, processes, progress, keeping)
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
            "goes on from there"
        )
    return Fit(load_run(folder.path))


def _run(
    executor: Executor,
    corpus: Corpus,
    settings: Settings,
    units: int,
    processes: int,
    progress: bool,
    keeping: Keeping | None = None,
) -> dict[int, ChainDraws]:
    with GracefulStop() as stop, ProgressBars(units, settings.sweeps, progress) as report:
        if processes == 1:
            return run_chains(executor, list(range(units)), settings, report, stop, keeping)
        shared = min(processes, units)
        return run_in_processes(executor.bound.plan, corpus, units, shared, settings, report, stop, keeping)


def _bind(chosen: Plan, corpus: Corpus) -> BoundModel:
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


def _asked_draws(draws: int | str | None, before: int, name: str) -> int:
    if draws is None:
        return before
    more = isinstance(draws, str) and draws.startswith("+")
    try:
        number = int(draws) if isinstance(draws, str) else draws
    except ValueError:
        raise PplTopicsError(
            f"{name}: must be a whole number, or one after a + for so many more, got {draws!r}"
        ) from None
    check_whole(name, number, 1, MAX_SWEEPS)
    asked = before + number if more else number
    if asked < before:
        raise PplTopicsError(
            f"{name}: the run was asked for {before:,} draws a chain, and they are not taken back; give {before:,} or "
            f"more in all, or +{number:,} for so many more"
        )
    check_whole(name, asked, 1, MAX_SWEEPS)
    return asked


def _threads(before: int) -> int:
    """Return the threads that a run had, or as many as this machine has."""
    import numba

    return min(before, int(numba.config.NUMBA_NUM_THREADS))


def _first_change(before: str, after: str) -> str:
    """Say where two plans differ first."""
    lines = zip_longest(before.splitlines(), after.splitlines(), fillvalue="")
    was, now = next(((one, other) for one, other in lines if one != other), ("", ""))
    unlike = (i for i, (one, other) in enumerate(zip(was, now, strict=False)) if one != other)
    at = next(unlike, min(len(was), len(now)))
    begin = max(0, at - CONTEXT)
    return f"{was[begin:][: 2 * CONTEXT]!r} is {now[begin:][: 2 * CONTEXT]!r} now"


def _warn_of_versions(folder: RunFolder) -> None:
    now, then = software(), folder.manifest.software
    changed = [
        f"{name} {then.get(name, 'of no known version')}, now {now[name]}"
        for name in now
        if now[name] != then.get(name)
    ]
    if changed:
        log(
            folder.path,
            f"begun with {'; '.join(changed)}: the draws to come follow the same law, but their last bits may differ "
            "from those of a run that was never stopped",
            warn=True,
        )
