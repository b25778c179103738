"""``ppl-topics resume``: continue a run from its checkpoints."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ppl_topics.cli.options import AsJson, NoProgress, OnCluster, SplitOver
from ppl_topics.cli.run import report_run, say_if_stopped

__all__ = ["resume"]


def resume(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="What `ppl-topics run --out FOLDER` wrote.")],
    draws: Annotated[
        str | None, typer.Option(help="Kept draws of each chain in all, or +N for N more.", metavar="N|+N")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each process; as before by default.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that the chains are spread over; as before by default.")
    ] = None,
    ignore_memory: Annotated[
        bool, typer.Option("--ignore-memory", help="Continue even if the run may not fit in memory.")
    ] = False,
    cluster: OnCluster = None,
    split: SplitOver = "chains",
    no_progress: NoProgress = False,
    json: AsJson = False,
) -> None:
    """Continue the run in FOLDER after it was stopped or killed, or to make more draws.

    The draws are those of a run that was never stopped, bit for bit. Model, corpus and settings are read from the
    folder. A folder whose model or corpus has changed is refused, and so is one from a version of ppl-topics that
    would make other draws.

    For example:
      ppl-topics resume runs/a
      ppl-topics resume runs/a --draws +500
    """
    from ppl_topics.api.resuming import resume as continue_run

    started = time.perf_counter()
    fit = continue_run(
        folder,
        draws=draws,
        threads=threads,
        processes=processes,
        progress=not no_progress,
        ignore_memory=ignore_memory,
        cluster=cluster,
        split=split,
    )
    say_if_stopped(fit, Path(folder))
    report_run(fit, Path(folder), time.perf_counter() - started, json)
