"""``ppl-topics compare``: which schedule gives more effective draws a second."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ppl_topics.cli.options import AsJson
from ppl_topics.cli.output import number, print_json, print_table
from ppl_topics.errors import PplTopicsError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN RUN...", help="What `ppl-topics run --out` wrote: .nc files or folders.")
    ],
    var: Annotated[list[str] | None, typer.Option(help="Only this variable; may be given several times.")] = None,
    json: AsJson = False,
) -> None:
    """Compare RUNs of one model on one corpus by their effective draws a second, to choose a schedule.

    ESS is the effective sample size of a typical number of a variable, each chain's own added up; it is divided by the
    seconds that the kernels took. The ratio is to the first RUN. The inefficiency factor IF is draws / ESS, by coda's
    ESS, with its standard deviation over numbers.

    For example:
      ppl-topics compare collapsed.nc partially_collapsed.nc
      ppl-topics compare a.nc b.nc --var phi --var lp --json
    """
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
