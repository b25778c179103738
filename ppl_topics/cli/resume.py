"""``ppl-topics resume``: continue a run from its checkpoints."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ppl_topics.cli.output import AsJson
from ppl_topics.cli.run import report_run, say_if_stopped

__all__ = ["resume"]


def resume(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="What `ppl-topics run --out FOLDER` wrote.")],
    draws: Annotated[
        str | None,
        typer.Option(help="Kept draws of each chain in all, or +N for so many more.", metavar="N|+N"),
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each process; as before by default.")] = None,
    processes: Annotated[int | None, typer.Option(help="Processes that the chains are spread over; as before.")] = None,
    ignore_memory: Annotated[bool, typer.Option("--ignore-memory", help="Go on even if it cannot fit.")] = False,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress.")] = False,
    json: AsJson = False,
) -> None:
    """Continue the run in FOLDER, which was stopped or killed, or is to have more draws.

    The draws are those of a run that was never stopped, bit for bit. Model, corpus and settings are those in the
    folder; a folder whose model or corpus has changed is refused, and so is one of another version that would draw
    otherwise.

    For example:
      ppl-topics resume runs/a
      ppl-topics resume runs/a --draws +500
    """
    from ppl_topics.api.resuming import resume as go_on
    from ppl_topics.corpus.covariates import CovariateWarning
    from ppl_topics.engine.run import InexactKernelWarning

    for category in (InexactKernelWarning, CovariateWarning):
        warnings.simplefilter("always", category)
    started = time.perf_counter()
    fit = go_on(
        folder,
        draws=draws,
        threads=threads,
        processes=processes,
        progress=not no_progress,
        ignore_memory=ignore_memory,
        call="--{name}",
    )
    path = Path(folder)
    say_if_stopped(fit, int(fit.posterior.attrs["draws"]), path)
    report_run(fit, path, time.perf_counter() - started, json)
