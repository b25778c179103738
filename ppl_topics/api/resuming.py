"""How a run in a folder is continued."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from ppl_topics._util.arguments import MAX_SWEEPS, check_threads, check_whole
from ppl_topics._util.files import remove_parts
from ppl_topics._util.paths import as_path
from ppl_topics.corpus import Corpus
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.checkpointing import check_resumable
from ppl_topics.engine.executor import Executor, step_labels
from ppl_topics.engine.group_builder import GroupBuilder
from ppl_topics.engine.memory import Demand, check_memory
from ppl_topics.engine.run import bind_with_warnings, run_on
from ppl_topics.errors import PplTopicsError, TraceError
from ppl_topics.fit import Fit
from ppl_topics.results.run_folder.folder import RunFolder
from ppl_topics.results.run_folder.lock import locked
from ppl_topics.results.run_folder.log import log
from ppl_topics.results.run_folder.manifest import software
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes

__all__ = ["resume"]

CONTEXT = 60
"""Characters of a plan that are told on either side of where it changed."""


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
        bound = bind_with_warnings(chosen, held)
        executor = Executor(bound, settings.debug)
        check_resumable(executor)
        builder = GroupBuilder(bound, held, range(manifest.units), step_labels(chosen.schedule))
        log(place, "resumed")
        return Fit(run_on(folder, executor, held, settings, builder, processes, progress))


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
            f"begun with {'; '.join(changed)}: the draws to come have the same distribution, but their last bits may "
            "differ from those of a run that was never stopped",
            warn=True,
        )
