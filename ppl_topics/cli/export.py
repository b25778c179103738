"""``ppl-topics export``: topics, documents and coefficients of a stored run for other programs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.options import ChainOption, Overwrite
from ppl_topics.cli.output import working
from ppl_topics.cli.traces import OfResponse, Run, load_one, naming_run
from ppl_topics.errors import PplTopicsError

__all__ = ["ExportCommand", "export"]

WORDS, PROBABILITY = 20, 0.9


class ExportCommand(TyperCommand):
    """Lists what can be exported in its help; the table that says so is slow to import, so only --help reads it."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with the table of exports."""
        from ppl_topics.diagnostics.tables.export import EXPORTS

        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl([(what, f"{kind.help} ({', '.join(kind.suffixes)})") for what, kind in EXPORTS.items()])


@naming_run
def export(
    run: Run,
    what: Annotated[str, typer.Option(help="What to write; see the list above.", metavar="WHAT")],
    out: Annotated[str, typer.Option("--out", "-o", help="File to write; its suffix is the format.", metavar="FILE")],
    chain: ChainOption = 0,
    response: Annotated[
        str | None,
        typer.Option(
            help="Coefficients of this class, label or target; or its topics, if each has its own.", metavar="NAME"
        ),
    ] = None,
    words: Annotated[int | None, typer.Option(help=f"Words of each topic; {WORDS} by default.")] = None,
    all_words: Annotated[bool, typer.Option("--all-words", help="All words of each topic.")] = False,
    probability: Annotated[
        float | None,
        typer.Option(help=f"Probability of the equal-tailed intervals; {PROBABILITY} by default."),
    ] = None,
    estimate: Annotated[
        str | None,
        typer.Option(
            help="Shares of documents: draws (mean of the recorded theta), z_last (smoothed from the last state), or "
            "auto, the default: draws if all documents have them."
        ),
    ] = None,
    of_response: OfResponse = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a part of one chain of RUN to a file for other programs.

    For example:
      ppl-topics export run.nc --what topics -o topics.csv
      ppl-topics export run.nc --what theta -o theta.parquet
      ppl-topics export run.nc --what state -o state.gz

    WHAT can be one of these, with the endings of the file:
    """
    from ppl_topics.diagnostics.tables.export import destination

    place, _ = destination(what, out)
    asked = {"n_words": words, "all_words": all_words or None, "probability": probability, "estimate": estimate}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    check_options(what, given)
    given["n_words"] = None if given.pop("all_words", False) else given.get("n_words", WORDS)
    check_file(out, overwrite)
    fit = load_one(run, of_response)
    with working(f"writing {out}"):
        fit.export(what, place, chain=chain, response=response, **given)
    print(f"written: {out}")


def check_options(what: str, given: dict[str, Any]) -> None:
    """Refuse options that do not apply to what is exported, or that contradict each other."""
    from ppl_topics.diagnostics.tables.export import EXPORTS

    for name in given:
        if name not in EXPORTS[what].options:
            known = ", ".join(other for other, kind in EXPORTS.items() if name in kind.options)
            option = name.removeprefix("n_").replace("_", "-")
            raise PplTopicsError(f"--{option}: applies to --what {known}, not to {what}; leave it out")
    if {"n_words", "all_words"} <= set(given):
        raise PplTopicsError("--words and --all-words: give one of them")
