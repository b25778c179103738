"""Continue a run in a folder."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import numba

from ppl_topics._util.argument_names import argument
from ppl_topics._util.arguments import MAX_SWEEPS, check_threads, check_whole
from ppl_topics._util.files import remove_parts
from ppl_topics._util.paths import as_path
from ppl_topics.api.run_arguments import Split, check_device_of_run, check_split
from ppl_topics.corpus import Corpus
from ppl_topics.engine.chains import Settings
from ppl_topics.engine.cluster.connection import ClusterLike, connected
from ppl_topics.engine.run import resume_in_folder
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
"""Characters of a plan that are shown on either side of a change."""


def resume(
    path: str | Path,
    *,
    draws: int | str | None = None,
    corpus: Corpus | None = None,
    threads: int | None = None,
    processes: int | None = None,
    progress: bool = True,
    ignore_memory: bool = False,
    cluster: ClusterLike | None = None,
    split: Split = "chains",
) -> Fit:
    """Continue a run from the checkpoints in its folder: its draws are those of a run that was never stopped.

    Parameters
    ----------
    path : str or path-like
        Folder of a run (``out`` of :func:`ppl_topics.sample`), whether it was stopped or killed, or has finished.
    draws : int or str, optional
        Kept draws of each chain in all, or ``"+100"`` for 100 more; by default the number first asked for.
    corpus : Corpus, optional
        The corpus of the run, which has a copy of it; a given corpus must be the same.
    threads, processes : int, optional
        As before by default; the draws do not depend on them.
    progress : bool
        Whether to show progress on standard error.
    ignore_memory : bool
        Whether to continue even if the run may not fit in memory.
    cluster : distributed.Client, distributed.LocalCluster or str, optional
        Continue on the workers of a Dask cluster, as in :func:`ppl_topics.sample`, wherever the run began.
    split : {'chains', 'documents'}
        What the workers share.

    Returns
    -------
    Fit

    Raises
    ------
    TraceError
        If the folder is not that of a run, or model, corpus, schedule or random streams have changed since it began.
    PplTopicsError
        If fewer draws are asked for than before.
    RunError
        If another process is running in the folder, or the run fails.

    Warns
    -----
    RunWarning
        If a checkpoint is damaged, so that the one before it is used; or the installed versions of libraries differ
        from those when the run began, so that the last bits of draws may differ.
    """
    folder = RunFolder.opened(as_path(path, "a run", TraceError))
    before = folder.manifest
    folder.check_streams()
    asked = _asked_draws(draws, before.draws)
    check_split(split, cluster is not None, before.debug)
    check_device_of_run(before.device, cluster is not None, before.processes if processes is None else processes)
    processes = before.processes if processes is None else processes
    check_whole(argument("processes"), processes, 1, MAX_SWEEPS)
    if threads is not None:
        check_threads(argument("threads"), threads)
    with locked(folder.path), connected(cluster) as workers:
        remove_parts(folder.path)
        _warn_of_versions(folder)
        spec = folder.spec()
        run_corpus = folder.corpus(corpus)
        plan = make_plan(spec, CorpusSizes.of(run_corpus))
        if str(plan) != before.plan:
            raise TraceError(
                f"{folder.path}: the schedule of the model has changed since the run began, perhaps because kernels "
                f"were added or changed: {_first_change(before.plan, str(plan))}. Resume with the version that "
                "started the run"
            )
        if asked > before.draws:
            folder = folder.grown(asked)
        if threads is None and workers is not None:
            threads = workers.threads
        elif threads is None:
            # As many as before, or as this machine has.
            threads = min(before.threads, int(numba.config.NUMBA_NUM_THREADS))
        settings = Settings(
            draws=asked,
            warmup=before.warmup,
            thin=before.thin,
            seed=before.seed,
            threads=threads,
            chains=before.chains,
            processes=processes,
            debug=before.debug,
            progress=progress,
            ignore_memory=ignore_memory,
            cluster=workers,
            split=split,
            device=before.device,
            start=folder.start(),
        )
        return Fit(resume_in_folder(folder, plan, run_corpus, settings))


def _asked_draws(draws: int | str | None, before: int) -> int:
    """Return the number of draws of each chain in all."""
    if draws is None:
        return before
    name, more = argument("draws"), isinstance(draws, str) and draws.startswith("+")
    try:
        number = int(draws) if isinstance(draws, str) else draws
    except ValueError:
        raise PplTopicsError(f"{name}: must be a whole number, or +N for N more draws, got {draws!r}") from None
    check_whole(name, number, 1, MAX_SWEEPS)
    asked = before + number if more else number
    if asked < before:
        raise PplTopicsError(
            f"{name}: the run was asked for {before:,} draws a chain, and none are removed; give {before:,} or more in "
            f"all, or +{number:,} for {number:,} more"
        )
    check_whole(name, asked, 1, MAX_SWEEPS)
    return asked


def _first_change(before: str, after: str) -> str:
    """Say where two plans differ first."""
    lines = zip_longest(before.splitlines(), after.splitlines(), fillvalue="")
    was, now = next(((one, other) for one, other in lines if one != other), ("", ""))
    unlike = (i for i, (one, other) in enumerate(zip(was, now, strict=False)) if one != other)
    at = next(unlike, min(len(was), len(now)))
    start = max(0, at - CONTEXT)
    return f"{was[start:][: 2 * CONTEXT]!r} is now {now[start:][: 2 * CONTEXT]!r}"


def _warn_of_versions(folder: RunFolder) -> None:
    now, then = software(), folder.manifest.software
    changed = [
        f"{name} {then.get(name, 'of unknown version')}, now {now[name]}" for name in now if now[name] != then.get(name)
    ]
    if changed:
        log(
            folder.path,
            f"started with {'; '.join(changed)}: further draws have the same distribution, but their last bits may "
            "differ from those of a run that was never stopped",
            warn=True,
        )
