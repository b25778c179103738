"""``ppl-topics topics`` and ``ppl-topics diagnose``: what a stored run says."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.cli.options import AsJson, ChainOption
from ppl_topics.cli.output import number, print_json, print_table, records
from ppl_topics.cli.quality import print_quality
from ppl_topics.cli.report import print_efficiency, print_topics, reading_lines, verdict_data
from ppl_topics.errors import PplTopicsError, TraceError

if TYPE_CHECKING:
    import pandas as pd

    from ppl_topics.fit import Fit

__all__ = ["OfResponse", "Run", "diagnose", "load_one", "naming_run", "topics"]

Run = Annotated[str, typer.Argument(metavar="RUN", help="What `ppl-topics run --out` wrote: a .nc file or a folder.")]

OfResponse = Annotated[
    str | None,
    typer.Option("--of-response", help="Of a model of several responses, take this one.", metavar="NAME"),
]


def load_one(run: str, response: str | None) -> Fit:
    """Open a run, with one of several responses if it is named."""
    from ppl_topics.fit import load_fit

    fit = load_fit(run)
    return fit if response is None else fit.of_response(response)


def naming_run(command: Callable[..., None]) -> Callable[..., None]:
    """Start each message about what RUN lacks with the name of RUN."""

    @functools.wraps(command)
    def named(run: str, **options: Any) -> None:
        try:
            command(run, **options)
        except TraceError as error:
            # The message about a file that cannot be read starts with its name already.
            named_already = str(error).startswith((f"{Path(run)}:", f"{Path(run)}{os.sep}"))
            raise error if named_already else TraceError(f"{run}: {error}") from None

    return named


@naming_run
def topics(
    run: Run,
    words: Annotated[int, typer.Option(help="Words of each topic.")] = 10,
    chain: ChainOption = 0,
    quality: Annotated[bool, typer.Option("--quality", help="Add coherence, spread and exclusivity.")] = False,
    reference: Annotated[
        str | None,
        typer.Option(help="Documents to measure coherence on; by default the training documents.", metavar="FILE"),
    ] = None,
    text_column: Annotated[
        str | None, typer.Option(help="Column of the text of --reference; `text` by default.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Print the topics of RUN: shares and most probable words; with --quality, how good they are.

    Coherence is how often the top words of a topic share documents: UMass is near 0 at best, NPMI and C_V near 1. In a
    --reference of texts, NPMI and C_V use windows of 10 and 110 words. Entropy, in nats, measures over how many
    documents a topic spreads; effective words, over how many words; exclusivity, how far its top words are in no other
    topic (at most 1).

    For example:
      ppl-topics topics run.nc --words 15
      ppl-topics topics run.nc --quality --reference wikipedia.jsonl.gz
    """
    from ppl_topics.fit import load_fit

    if text_column is not None and reference is None:
        raise PplTopicsError("--text-column: applies to --reference only; give that too, or leave this out")
    fit = load_fit(run)
    if quality or reference is not None:
        print_quality(fit, words, chain, reference, text_column or "text", json)
        return
    table = fit.topics(words, chain)
    if json:
        print_json({"chain": chain, "topics": records(table)})
    else:
        print_topics(table)


@naming_run
def diagnose(
    run: Run,
    var: Annotated[list[str] | None, typer.Option(help="Only this variable; may be given several times.")] = None,
    align: Annotated[
        bool,
        typer.Option("--align", help="Show how the topics of the chains match, and in how many chains each recurs."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Print whether RUN has converged, and how well it was sampled: ESS, IF, R-hat, seconds.

    ESS, the effective sample size, is how many independent draws the draws are worth; the inefficiency factor
    IF is draws / ESS; R-hat near 1 means that the chains, and their halves, agree. Each chain numbers its topics in its
    own way; all numbers are of topics that have been matched, and given the numbers of one chain.

    For example:
      ppl-topics diagnose run.nc --align
      ppl-topics diagnose run.nc --var phi --var lp
    """
    from ppl_topics.diagnostics.alignment import agreement_table
    from ppl_topics.diagnostics.summary import efficiency, seconds_by_kernel, summary
    from ppl_topics.fit import load_fit

    fit = load_fit(run)
    verdict = fit.verdict()
    agreement = agreement_table(fit.groups, n_words=8, alignment=verdict.alignment) if align else None
    table = efficiency(fit.groups, var or None, alignment=verdict.alignment)
    seconds = seconds_by_kernel(fit.groups)
    what = summary(fit.groups)
    if json:
        found = {**what, "verdict": verdict_data(verdict), "aligned": verdict.alignment is not None}
        topics = None if agreement is None else records(agreement)
        print_json({**found, "efficiency": table.to_dict("index"), "topics": topics, "seconds_per_sweep": seconds})
        return
    _print_heading(what)
    print()
    print(f"verdict: {verdict}")
    print()
    print_efficiency(table)
    if seconds:
        print()
        print_table(["kernel", "seconds a sweep"], [[k, number(s)] for k, s in seconds.items()], text=["kernel"])
    _print_log_posterior(fit)
    if agreement is not None:
        print()
        _print_agreement(agreement)


def _print_agreement(table: pd.DataFrame) -> None:
    """Print the topics of the reference chain, and which chains have them."""
    rows = []
    for row in table.to_dict("records"):
        apart = [str(row["response"])] if "response" in row else []
        name = [str(row["name"])] if "name" in row else []
        similarities = " ".join(f"{each:.2f}" for each in row["similarities"])
        recurs = f"{row['recurs_in']} of {len(row['numbers']) - 1}"
        numbers = " ".join(map(str, row["numbers"]))
        rhat = [_rhat(row["rhat_before"]), _rhat(row["rhat"])]
        rows.append(
            [
                *apart,
                str(row["topic"]),
                *name,
                "yes" if row["agrees"] else "no",
                recurs,
                similarities,
                numbers,
                *rhat,
                row["words"],
            ]
        )
    first = ["response"] if "response" in table else []
    name, by_chain = ["name"] if "name" in table else [], ["recurs\nin", "similarity\nby chain", "number\nby chain"]
    columns = [*first, "topic", *name, "agree", *by_chain, "R-hat\nbefore", "R-hat", "words"]
    print_table(columns, rows, text=[*first, *name, "agree", *by_chain, "words"])


def _rhat(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _print_heading(what: dict[str, Any]) -> None:
    sizes = [f"{what[name]:,} {name}" for name in ("documents", "tokens", "words") if what[name] is not None]
    if what["empty_documents"]:
        sizes.append(f"empty documents {what['empty_documents']:,}")
    print(f"{what['model'] or 'model not recorded'}: {', '.join(sizes) or 'sizes not recorded'}")
    names = ("chains", "draws", "warmup", "thin", "seed")
    how = [f"{name} {what[name]}" for name in names if what[name] is not None]
    if what["exact"] is not None:
        before = f", before the first draw {what['warmup_inexact']}" if what["warmup_inexact"] else ""
        how.append(("all kernels exact" if what["exact"] else "NOT exact") + before)
    if what["stopped"]:
        how.append("stopped early")
    print(", ".join(how))
    for line in reading_lines(what):
        print(line)


def _print_log_posterior(fit: Fit) -> None:
    """Print the mean log posterior of each half of each chain, so that a drift shows at a glance."""
    statistics = fit.groups.get("sample_stats")
    if statistics is None or "lp" not in statistics:
        return
    half = statistics.sizes["draw"] // 2
    rows = []
    for chain in statistics["chain"].values.tolist():
        values = statistics["lp"].sel(chain=chain).values
        first = number(float(values[:half].mean())) if half else "-"
        rows.append([str(chain), first, number(float(values[half:].mean()))])
    print()
    print_table(["chain", "log posterior, first half", "second half"], rows)
