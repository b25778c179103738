"""``ppl-topics report``: a stored run as one web page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.options import AsJson, Overwrite, Probability
from ppl_topics.cli.output import print_json, working
from ppl_topics.cli.traces import OfResponse, Run, load_one, naming_run
from ppl_topics.errors import PplTopicsError

__all__ = ["report"]


@naming_run
def report(
    run: Run,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="File to write; by default RUN with the ending .html.", metavar="FILE"),
    ] = None,
    chain: Annotated[
        int | None,
        typer.Option(help="Show the topics and coefficients of this chain; by default of the most typical one."),
    ] = None,
    probability: Probability = 0.9,
    title: Annotated[str | None, typer.Option(help="By default the model, and the corpus if it has a name.")] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(help="Another run to compare with; may be given several times.", metavar="RUN"),
    ] = None,
    of_response: OfResponse = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Write RUN as one web page: verdict, traces, efficiency, topics to browse, responses, how to reproduce.

    The page needs no network, and no other file.

    For example:
      ppl-topics report run.nc -o report.html
      ppl-topics report run.nc --beside other.nc --beside third.nc
    """
    from ppl_topics.diagnostics.report.formats import size
    from ppl_topics.fit import trace_path

    place = Path(run) if os.path.isfile(run) else trace_path(run)
    target = place.with_suffix(".html") if out is None else Path(out)
    if os.path.exists(place) and os.path.exists(target) and os.path.samefile(place, target):
        raise PplTopicsError(f"{out}: that is the run itself; name another file, such as report.html")
    fit = load_one(run, of_response)
    check_file(target if out is None else out, overwrite)
    with working("writing the report"):
        path = fit.report(
            target,
            chain=chain,
            probability=probability,
            title=title,
            source=place.name,
            beside={each: load_one(each, of_response) for each in beside or ()},
        )
    n_bytes = os.path.getsize(path)
    if json:
        print_json({"path": str(path), "bytes": n_bytes})
    else:
        print(f"{path}: {size(n_bytes)}")
