"""``ppl-topics run``: draw from the posterior of a model."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ppl_topics.cli.corpus_options import Data, Training, describe
from ppl_topics.cli.model_options import RecordedModel, Run, Seed, assignments
from ppl_topics.cli.new_documents import check_test, measure, metric_lines, refuse_test
from ppl_topics.cli.options import AsJson, NoProgress, OnCluster, OnDevice, Overwrite, SplitOver
from ppl_topics.cli.output import print_json, say
from ppl_topics.cli.report import print_efficiency, reading_lines, verdict_data

if TYPE_CHECKING:
    from ppl_topics.corpus import Corpus
    from ppl_topics.fit import Fit

__all__ = ["report_run", "run", "say_if_stopped"]

READ_AT_ONCE = 2**28
"""Bytes of draws in a folder up to which they are judged at once."""


def run(
    model: RecordedModel,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            help="A folder, which draws are streamed to, with checkpoints, or a file that ends in .nc.", metavar="PATH"
        ),
    ],
    run: Run,
    corpus: Training,
    seed: Seed = None,
    init: Annotated[
        str | None,
        typer.Option(help="A fit to the same corpus, in whose last state the chains start.", metavar="FIT"),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            help="Hold a variable fixed at its mean in a fit, such as phi, its topics; may be given several times.",
            metavar="NAME=FIT",
        ),
    ] = None,
    test: Annotated[str | None, typer.Option(help="Labelled documents to predict and measure.", metavar="FILE")] = None,
    overwrite: Overwrite = False,
    checkpoint_sweeps: Annotated[int | None, typer.Option(help="Sweeps between checkpoints, in a folder.")] = None,
    checkpoint_minutes: Annotated[float | None, typer.Option(help="Minutes between checkpoints; 1 by default.")] = None,
    ignore_memory: Annotated[
        bool, typer.Option("--ignore-memory", help="Run even if it may not fit in memory.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Hold every step against what its kernel declares. Slow.")
    ] = False,
    cluster: OnCluster = None,
    split: SplitOver = "chains",
    device: OnDevice = "cpu",
    no_progress: NoProgress = False,
    json: AsJson = False,
) -> None:
    r"""Draw from the posterior of MODEL, and write it for ArviZ.

    For example:
      ppl-topics run lda --data posts.jsonl --stop-words english --set topics=20 --out run.nc
      ppl-topics run lda --data train.svmlight.gz --vocabulary vocab.txt --set topics=100 \
          --draws 100 --warmup 100 --chains 2 --seed 1 --out run.nc
      ppl-topics run medlda --data train.csv --label-column topic --test test.csv --out runs/a

    Ctrl-C, or SIGTERM, ends the run after the sweep in progress and keeps what was drawn. A run whose --out is a
    folder can be continued by `ppl-topics resume`, whatever ended it.
    """
    from ppl_topics.api.sampling import prepare
    from ppl_topics.engine.cluster.connection import connected
    from ppl_topics.fit import load_fit

    # All else is checked before a large file is read.
    with connected(cluster) as workers:
        prepared = prepare(
            model.model,
            **model.given(),
            init=None if init is None else load_fit(init),
            given={name: load_fit(str(path)) for name, path in assignments("--given", given).items()} or None,
            out=out,
            seed=seed,
            overwrite=overwrite,
            checkpoint_sweeps=checkpoint_sweeps,
            checkpoint_minutes=checkpoint_minutes,
            ignore_memory=ignore_memory,
            debug=debug,
            progress=not no_progress,
            cluster=workers,
            split=split,
            device=device,
            **asdict(run),
        )
        if test is not None:
            refuse_test(prepared.spec)
        train = corpus.read(data)
        say(f"{data}: {describe(train)}")
        held_out: Corpus | None = None
        if test is not None:
            held_out = check_test(corpus.read_new(test), test, train)
            say(f"{test}: {describe(held_out)}")
        started = time.perf_counter()
        fit = prepared.run(train)
        seconds = time.perf_counter() - started
    path = Path(out)
    say_if_stopped(fit, None if path.suffix == ".nc" else path)
    metrics = {} if test is None or held_out is None else measure(fit, held_out, test, run.threads)
    report_run(fit, path, seconds, json, metrics)


def say_if_stopped(fit: Fit, folder: Path | None = None) -> None:
    """Say so if the run was ended before all draws were made."""
    about = fit.posterior.attrs
    if about["stopped"]:
        more = "" if folder is None else f"; `ppl-topics resume {folder}` makes the others"
        made = fit.posterior.sizes["draw"]
        say(f"stopped: {made} of {int(about['draws'])} draws a chain were made, and are kept{more}")


def report_run(fit: Fit, path: Path, seconds: float, as_json: bool, metrics: Mapping[str, float] | None = None) -> None:
    """Print what was run, how efficiently, how well it predicts, and where the draws are."""
    from ppl_topics.diagnostics.summary import summary

    # Many draws stay on disk: the memory of a run must not depend on their number.
    read = path.suffix == ".nc" or fit.posterior.nbytes <= READ_AT_ONCE
    verdict = fit.verdict() if read else None
    table = None if verdict is None else fit.efficiency(alignment=verdict.alignment)
    what = summary(fit.groups)
    if as_json:
        found = {**what, "seconds": seconds, "path": str(path), **(metrics or {})}
        judged = None if verdict is None else verdict_data(verdict)
        print_json({**found, "verdict": judged, "efficiency": None if table is None else table.to_dict("index")})
        return
    print(
        f"{what['model']}: {what['documents']:,} documents, {what['tokens']:,} tokens, {what['words']:,} words; "
        f"chains {what['chains']}, draws {what['draws']}, warmup {what['warmup']}, seed {what['seed']}; {seconds:.1f} s"
    )
    if what["empty_documents"]:
        print(f"empty documents, kept: {what['empty_documents']:,}")
    if what["dropped_tokens"]:
        print(f"tokens dropped, their words being outside the vocabulary: {what['dropped_tokens']:,}")
    for line in reading_lines(what):
        print(line)
    print()
    if table is not None and verdict is not None:
        print_efficiency(table)
        print()
        print(f"verdict: {verdict}")
    else:
        print(f"the draws take {fit.posterior.nbytes:,} bytes; `ppl-topics diagnose {path}` reads and judges them")
    print()
    for line in metric_lines(metrics or {}):
        print(f"test {line}")
    print(f"written: {path}")
