"""``ppl-topics export``: topics, documents and coefficients of a stored run for other programs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import typer

from ppl_topics.cli.output import working
from ppl_topics.cli.target import check_file
from ppl_topics.cli.traces import Run, naming_run
from ppl_topics.errors import PplTopicsError

__all__ = ["export"]

WORDS, PROBABILITY = 20, 0.9

OPTIONS = {
    "topics": ("words", "all_words", "probability"),
    "theta": ("estimate",),
    "eta": ("words", "probability"),
    "state": (),
    "json": ("words", "all_words", "probability", "estimate"),
}
"""Which options have a part in what."""


@naming_run
def export(
    run: Run,
    what: Annotated[str, typer.Option(help="topics, theta, eta, state or json; see above.", metavar="WHAT")],
    out: Annotated[str, typer.Option("--out", "-o", help="File to write; its suffix is the format.", metavar="FILE")],
    chain: Annotated[int, typer.Option(help="Chains number their topics each in its own way.")] = 0,
    response: Annotated[
        str | None,
        typer.Option(
            help="Coefficients of this class, label or target; or its topics, where each has its own.", metavar="NAME"
        ),
    ] = None,
    words: Annotated[int | None, typer.Option(help=f"Words of each topic; {WORDS} by default.")] = None,
    all_words: Annotated[bool, typer.Option("--all-words", help="All words of each topic, not the first.")] = False,
    probability: Annotated[
        float | None, typer.Option(help=f"Of the equal-tailed intervals; {PROBABILITY} by default.")
    ] = None,
    estimate: Annotated[
        str | None,
        typer.Option(
            help="Shares of documents: draws (mean of the recorded theta), z_last (smoothed from the last state), or "
            "auto, the default: draws if all documents have them."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that stands there.")] = False,
) -> None:
    """Write what one chain of RUN found to a file for other programs.

    --what topics is the words of topics, with intervals; theta the shares of topics in the training documents; eta the
    coefficients of classes, labels or targets. They are tables: .csv, .tsv (either with .gz) or .parquet. state is the
    last state of the chain as MALLET's --output-state writes it, .gz. json is topics, coefficients and documents in one
    file, .json or .json.gz.

    For example:
      ppl-topics export run.nc --what topics -o topics.csv
      ppl-topics export run.nc --what theta -o theta.parquet
      ppl-topics export run.nc --what state -o state.gz
    """
    from ppl_topics.diagnostics.tables.export import destination
    from ppl_topics.fit import load_fit

    place, _ = destination(what, out)
    asked = {"words": words, "all_words": all_words or None, "probability": probability, "estimate": estimate}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    check_options(what, given)
    given.pop("all_words", None)
    check_file(out, overwrite)
    fit = load_fit(run)
    options: dict[str, Any] = {"n_words": None if all_words else given.pop("words", WORDS), "response": response}
    with working(f"writing {out}"):
        # Of coefficients, words only say which topic it is.
        fit.export(what, place, chain=chain, **options, **given)
    print(f"written: {out}")


def check_options(what: str, given: Collection[str]) -> None:
    """Refuse options that have no part in what is exported, or that contradict each other.

    Raises
    ------
    PplTopicsError
    """
    for name in given:
        if name not in OPTIONS[what]:
            known = ", ".join(kind for kind, names in OPTIONS.items() if name in names)
            raise PplTopicsError(
                f"--{name.replace('_', '-')}: has no part in --what {what}, but in {known}; leave it out"
            )
    if {"words", "all_words"} <= set(given):
        raise PplTopicsError("--words and --all-words: give one of them")
