"""``ppl-topics compare``: which schedule gives more effective draws a second."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.corpus_options import Training
from ppl_topics.cli.model_options import assignments, read_schedule
from ppl_topics.cli.options import AsJson
from ppl_topics.cli.output import number, print_json, print_table
from ppl_topics.errors import PplTopicsError

if TYPE_CHECKING:
    import pandas as pd

    from ppl_topics.api.comparing import Comparison

__all__ = ["compare"]


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN...|MODEL",
            help="What `ppl-topics run --out` wrote: .nc files or folders; with --schedules, a model.",
        ),
    ],
    corpus: Training,
    var: Annotated[list[str] | None, typer.Option(help="Only this variable; may be given several times.")] = None,
    schedules: Annotated[
        list[str] | None,
        typer.Option(
            help="YAML file with a schedule to run MODEL with, or `schedule` and `warmup`; given twice or more.",
            metavar="FILE",
        ),
    ] = None,
    data: Annotated[str | None, typer.Option(help="With --schedules: the documents.", metavar="FILE")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="With --schedules: set a parameter of the model.", metavar="NAME=VALUE"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="With --schedules: seeds, from 0 on.")] = 8,
    draws: Annotated[int, typer.Option(help="With --schedules: kept draws for each seed.")] = 200,
    warmup: Annotated[int, typer.Option(help="With --schedules: sweeps before the first kept draw.")] = 200,
    threads: Annotated[int | None, typer.Option(help="With --schedules; all cores by default.")] = None,
    plot: Annotated[str | None, typer.Option(help="With --schedules: a figure to write.", metavar="FILE")] = None,
    json: AsJson = False,
) -> None:
    """Compare RUNs of one model on one corpus by their effective draws a second, to choose a schedule.

    With --schedules, MODEL runs with each of them from several seeds, in turn: effective draws a second, and seconds to
    the mode, have intervals over seeds then.

    ESS is the effective sample size of a typical number of a variable, each chain's own added up; it is divided by the
    seconds that the kernels took. The ratio is to the first RUN. The inefficiency factor IF is draws / ESS, by coda's
    ESS, with its standard deviation over numbers.

    For example:
      ppl-topics compare collapsed.nc partially_collapsed.nc
      ppl-topics compare a.nc b.nc --var phi --var lp --json
      ppl-topics compare lda --schedules collapsed.yaml --schedules kept.yaml --data posts.jsonl --set topics=20
    """
    if schedules:
        from ppl_topics._util.arguments import MAX_SWEEPS, check_whole

        how = {"draws": draws, "warmup": warmup, "threads": threads, "quantities": var or None}
        parameters = assignments("--set", settings)
        check_whole("--seeds", seeds, 1, MAX_SWEEPS)
        found = _run(runs, schedules, corpus, data, {**how, "seeds": range(seeds), **parameters}, plot)
        if json:
            print_json({"table": found.table.to_dict("records"), "runs": found.runs.to_dict("records")})
        else:
            print(found)
        return
    if data is not None or settings or plot is not None:
        raise PplTopicsError("--data, --set and --plot go with --schedules, which run a model; give them too")
    from ppl_topics.diagnostics.comparison import compare as compare_runs
    from ppl_topics.diagnostics.comparison import inefficiency_table, kernel_seconds
    from ppl_topics.fit import load_fit

    groups = {name: load_fit(path).groups for name, path in zip(_names(runs), runs, strict=True)}
    table = compare_runs(groups, var or None)
    seconds = kernel_seconds(groups)
    factors = inefficiency_table(groups, var or None)
    notes = table.attrs["notes"]
    if json:
        print_json(
            {
                "runs": list(groups),
                "variables": table.to_dict("records"),
                "kernels": seconds.to_dict("records"),
                "inefficiency": factors.to_dict("records"),
                "notes": notes,
            }
        )
        return
    _print(table)
    if len(seconds):
        print()
        rows = [
            [row["run"], row["kernel"], number(row["seconds"]), f"{row['share']:.0%}"]
            for row in seconds.to_dict("records")
        ]
        print_table(["run", "kernel", "seconds\na sweep", "share"], rows, text=["run", "kernel"])
    if len(factors):
        print()
        _print_factors(factors)
    if notes:
        print()
    for note in notes:
        print(f"note: {note}")


def _run(
    models: list[str],
    schedules: list[str],
    corpus: Training,
    data: str | None,
    how: Mapping[str, Any],
    plot: str | None,
) -> Comparison:
    """Run a model with several schedules."""
    from ppl_topics.api.comparing import compare as compare_schedules

    if len(models) != 1:
        raise PplTopicsError(f"--schedules: expected one MODEL to run, got {', '.join(models)}")
    if data is None:
        raise PplTopicsError("--schedules: the documents are missing; name their file, --data FILE")
    if len(schedules) < 2:
        raise PplTopicsError(
            "--schedules: one schedule is nothing to compare; give the option again, with another file"
        )
    names = _names(schedules)
    keys = ("schedule", "warmup")
    named = {name: read_schedule(path, "--schedules", *keys) for name, path in zip(names, schedules, strict=True)}
    if plot is not None:
        check_file(plot, True, "plot")
    found = compare_schedules(models[0], corpus.read(data), named, **how)
    if plot is not None:
        found.plot()[0].figure.savefig(plot, bbox_inches="tight")
    return found


def _names(paths: list[str]) -> list[str]:
    """Return a name for each run: of its file or folder, or if two have the same, the whole path."""
    for i, path in enumerate(paths):
        same = (each for each in paths[:i] if each == path or (os.path.exists(each) and _same(each, path)))
        other = next(same, None)
        if other is not None:
            by = "" if other == path else f" ({other} and {path} are one file)"
            raise PplTopicsError(f"{path}: the run is given twice{by}; give runs that differ")
    short = [Path(path).stem for path in paths]
    return short if len(set(short)) == len(short) else list(paths)


def _same(one: str, other: str) -> bool:
    return os.path.exists(other) and os.path.samefile(one, other)


def _print(table: pd.DataFrame) -> None:
    numbers = ("ess_median", "ess_q05", "seconds", "ess_per_second", "ratio")
    rows = [[row["variable"], row["run"], *(number(row[name]) for name in numbers)] for row in table.to_dict("records")]
    columns = ["variable", "run", "ESS\nmedian", "ESS\n5%", "seconds", "ESS\na second", "ratio"]
    print_table(columns, rows, text=["variable", "run"])


def _print_factors(factors: pd.DataFrame) -> None:
    rows = []
    for row in factors.to_dict("records"):
        mean = f"{number(row['mean'])} ({number(row['sd'])})"
        others = [number(row[name]) for name in ("median", "q95", "ratio")]
        rows.append([str(row["variable"]), str(row["topics"]), str(row["run"]), mean, *others])
    columns = ["variable", "K", "run", "IF\nmean (sd)", "IF\nmedian", "IF\n95%", "ratio"]
    print_table(columns, rows, text=["variable", "run"])
