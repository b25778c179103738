"""``ppl-topics export``: topics, documents and coefficients of a stored run for other programs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ppl_topics.cli.output import working
from ppl_topics.cli.target import check_file
from ppl_topics.cli.traces import Run

__all__ = ["export"]


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
    words: Annotated[int, typer.Option(help="Words of each topic.")] = 20,
    all_words: Annotated[bool, typer.Option("--all-words", help="All words of each topic, not the first.")] = False,
    probability: Annotated[float, typer.Option(help="Of the equal-tailed intervals.")] = 0.9,
    estimate: Annotated[
        str,
        typer.Option(
            help="Shares of documents: draws (mean of the recorded theta), z_last (smoothed from the last state), or "
            "auto: draws if all documents have them."
        ),
    ] = "auto",
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
    from ppl_topics.exporting.what import destination
    from ppl_topics.fit import load_fit

    place, _ = destination(what, out)
    check_file(out, overwrite)
    fit = load_fit(run)
    options: dict[str, Any] = {"response": response, "probability": probability, "estimate": estimate}
    with working(f"writing {out}"):
        # Of coefficients, words only say which topic it is.
        fit.export(what, place, chain=chain, n_words=None if all_words else words, **options)
    print(f"written: {out}")
