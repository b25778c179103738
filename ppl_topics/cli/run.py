"""``ppl-topics run``: draw from the posterior of a model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.cli import corpus_options as co
from ppl_topics.cli.model_options import ModelName, Record, Schedule, Set, load
from ppl_topics.cli.new_documents import check_test, measure, metric_lines, read_new, refuse_test
from ppl_topics.cli.output import AsJson, print_json, say
from ppl_topics.cli.report import as_rows, print_efficiency, print_verdict, reading_lines, verdict_data
from ppl_topics.cli.target import check_target

if TYPE_CHECKING:
    from pathlib import Path

    from ppl_topics.fit import Fit

__all__ = ["report_run", "run", "save", "say_if_stopped"]

READ_AT_ONCE = 2**28
"""Bytes of draws in a folder up to which they are judged at once."""


def run(
    model: ModelName,
    data: co.Data,
    out: Annotated[
        str,
        typer.Option(
            help="File that ends in .nc, or a folder: draws go there at once, with checkpoints.", metavar="PATH"
        ),
    ],
    settings: Set = None,
    draws: Annotated[int, typer.Option(help="Kept draws of each chain.")] = 200,
    warmup: Annotated[int, typer.Option(help="Sweeps before them.")] = 200,
    chains: Annotated[int, typer.Option(help="Independent chains.")] = 2,
    thin: Annotated[int, typer.Option(help="Sweeps for each kept draw.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Same seed, same draws, at any number of threads.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each process; all cores by default.")] = None,
    processes: Annotated[int, typer.Option(help="Processes that the chains are spread over.")] = 1,
    schedule: Schedule = None,
    record: Record = None,
    format: co.Format = None,
    vocabulary: co.Vocabulary = None,
    text_column: co.TextColumn = "text",
    label_column: co.LabelColumn = None,
    id_column: co.IdColumn = None,
    covariates: co.Covariates = None,
    label_kind: co.LabelKind = None,
    first_id: co.FirstId = None,
    encoding: co.Encoding = "utf-8",
    stop_words: co.StopWords = None,
    min_count: co.MinCount = 1,
    min_df: co.MinDf = "1",
    max_df: co.MaxDf = "1.0",
    max_vocabulary: co.MaxVocabulary = None,
    token_pattern: co.TokenPattern = None,
    test: Annotated[str | None, typer.Option(help="Labelled documents to predict and measure.", metavar="FILE")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a result that stands there.")] = False,
    checkpoint_sweeps: Annotated[int | None, typer.Option(help="Sweeps between checkpoints, in a folder.")] = None,
    checkpoint_minutes: Annotated[float | None, typer.Option(help="Minutes between them; by default 1.")] = None,
    ignore_memory: Annotated[
        bool, typer.Option("--ignore-memory", help="Begin also what is not expected to fit into memory.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Check the state after every kernel. Slow.")] = False,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress.")] = False,
    json: AsJson = False,
) -> None:
    r"""Draw from the posterior of MODEL, and write it for ArviZ.

    For example:
      ppl-topics run lda --data posts.jsonl --stop-words english --set topics=20 --out run.nc
      ppl-topics run lda --data train.svmlight.gz --vocabulary vocab.txt --set topics=100 \
          --draws 100 --warmup 100 --chains 2 --seed 1 --out run.nc
      ppl-topics run medlda --data train.csv --label-column topic --test test.csv --out runs/a

    Ctrl-C, or SIGTERM, ends the run after the sweep in progress and keeps what was drawn. A run whose --out is a
    folder is continued by `ppl-topics resume`, whatever ended it.
    """
    from ppl_topics.api.sampling import InexactKernelWarning, make_settings
    from ppl_topics.corpus.covariates import CovariateWarning
    from ppl_topics.schedule import make_plan
    from ppl_topics.schedule.costs import CorpusSizes

    warnings.simplefilter("always", InexactKernelWarning)
    warnings.simplefilter("always", CovariateWarning)
    from ppl_topics.engine.run import make_policy, run_in_folder, run_plan
    from ppl_topics.fit import Fit

    path = check_target(out, overwrite)
    policy = make_policy(checkpoint_sweeps, checkpoint_minutes, out, "--checkpoint-{name}")
    how = make_settings(
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        seed=seed,
        threads=threads,
        processes=processes,
        debug=debug,
        call="--{name}",
    )
    spec = load(model, settings, record=record, schedule=schedule)
    if test is not None:
        refuse_test(spec)
    # A wrong schedule is refused before a large corpus is read; its sizes may still change the choice.
    make_plan(spec)
    reader: dict[str, Any] = {
        "format": format,
        "vocabulary": vocabulary,
        "text_column": text_column,
        "label_column": label_column,
        "id_column": id_column,
        "label_kind": label_kind,
        "first_id": first_id,
        "encoding": encoding,
        "stop_words": stop_words,
        "token_pattern": token_pattern,
    }
    words: dict[str, Any] = {
        "min_count": min_count,
        "min_df": min_df,
        "max_df": max_df,
        "max_vocabulary": max_vocabulary,
    }
    corpus = co.read(data, covariates=covariates, **words, **reader)
    say(f"{data}: {co.describe(corpus)}")
    held_out = None if test is None else check_test(read_new(test, covariates=covariates, **reader), test, corpus)
    if held_out is not None:
        say(f"{test}: {co.describe(held_out)}")
    chosen = make_plan(spec, CorpusSizes.of(corpus))
    started = time.perf_counter()
    shares: dict[str, Any] = {"chains": chains, "processes": processes, "progress": not no_progress}
    shares["ignore_memory"] = ignore_memory
    if policy is not None:
        fit = Fit(run_in_folder(chosen, corpus, how, path, policy=policy, overwrite=overwrite, **shares))
    else:
        fit = Fit(run_plan(chosen, corpus, how, **shares))
    seconds = time.perf_counter() - started
    say_if_stopped(fit, draws, path if policy is not None else None)
    written = path if policy is not None else save(fit, out)
    metrics = {} if test is None or held_out is None else measure(fit, held_out, test, how)
    report_run(fit, written, seconds, json, metrics)


def save(fit: Fit, out: str) -> Path:
    """Write the draws, or put them aside.

    Raises
    ------
    RunError
        If they cannot be written: the run is done, so the input was not at fault.
    """
    from ppl_topics.api.rescue import save_somewhere

    return save_somewhere(fit, out)


def say_if_stopped(fit: Fit, draws: int, folder: Path | None = None) -> None:
    """Say so if the run was ended before all draws were made."""
    if fit.posterior.attrs["stopped"]:
        more = "" if folder is None else f"; `ppl-topics resume {folder}` makes the others"
        say(f"stopped: {fit.posterior.sizes['draw']} of {draws} draws a chain were made, and are kept{more}")


def report_run(fit: Fit, path: Path, seconds: float, as_json: bool, metrics: Mapping[str, float] | None = None) -> None:
    """Print what was run, how efficiently, how well it predicts, and where the draws are."""
    from ppl_topics.diagnostics.report import summary

    # Draws that are on disk stay there where they are many: a run's memory must not depend on how many.
    read = path.suffix == ".nc" or fit.posterior.nbytes <= READ_AT_ONCE
    table, verdict = (fit.efficiency(), fit.verdict()) if read else (None, None)
    what = summary(fit.groups)
    if as_json:
        found = {**what, "seconds": seconds, "path": str(path), **(metrics or {})}
        judged = None if verdict is None else verdict_data(verdict)
        print_json({**found, "verdict": judged, "efficiency": None if table is None else as_rows(table)})
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
        print_verdict(verdict)
    else:
        print(f"the draws take {fit.posterior.nbytes:,} bytes; `ppl-topics diagnose {path}` reads and judges them")
    print()
    for line in metric_lines(metrics or {}):
        print(f"test {line}")
    print(f"written: {path}")
