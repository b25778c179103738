"""``ppl-topics topics`` and ``ppl-topics diagnose``: what a stored run says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.cli.output import AsJson, number, print_json, print_table
from ppl_topics.cli.report import advice, as_rows, print_efficiency, print_topics, reading_lines

if TYPE_CHECKING:
    from ppl_topics.fit import Fit

__all__ = ["diagnose", "topics"]

Run = Annotated[str, typer.Argument(metavar="RUN", help="What `ppl-topics run --out` wrote: a .nc file or a folder.")]


def topics(
    run: Run,
    words: Annotated[int, typer.Option(help="Words of each topic.")] = 10,
    chain: Annotated[int, typer.Option(help="Chains number their topics each in its own way.")] = 0,
    json: AsJson = False,
) -> None:
    """Print the topics of RUN: shares and most probable words.

    For example:
      ppl-topics topics run.nc --words 15
    """
    from ppl_topics.fit import load_fit

    table = load_fit(run).topics(words, chain)
    if json:
        rows = [{**row, "words": str(row["words"]).split(" ")} for row in table.to_dict("records")]
        print_json({"chain": chain, "topics": rows})
    else:
        print_topics(table)


def diagnose(
    run: Run,
    var: Annotated[list[str] | None, typer.Option(help="Only this variable; may be given several times.")] = None,
    json: AsJson = False,
) -> None:
    """Print how well RUN was sampled: ESS, IF, R-hat, seconds.

    ESS, the effective sample size, is how many independent draws the draws are worth; the inefficiency factor
    IF is draws / ESS; R-hat near 1 means that the chains, and their halves, agree.

    For example:
      ppl-topics diagnose run.nc --var phi --var lp
    """
    from ppl_topics.diagnostics.report import efficiency, seconds_by_kernel, summary
    from ppl_topics.fit import load_fit

    fit = load_fit(run)
    table = efficiency(fit.groups, var or None)
    seconds = seconds_by_kernel(fit.groups)
    what = summary(fit.groups)
    notes = advice(fit, table)
    if json:
        print_json({**what, "efficiency": as_rows(table), "seconds_per_sweep": seconds, "notes": notes})
        return
    _print_heading(what)
    print()
    print_efficiency(table)
    if seconds:
        print()
        print_table(["kernel", "seconds a sweep"], [[k, number(s)] for k, s in seconds.items()], text=["kernel"])
    _print_log_posterior(fit)
    if notes:
        print()
    for sentence in notes:
        print(f"note: {sentence}")


def _print_heading(what: dict[str, Any]) -> None:
    sizes = [f"{what[name]:,} {name}" for name in ("documents", "tokens", "words") if what[name] is not None]
    if what["empty_documents"]:
        sizes.append(f"empty documents {what['empty_documents']:,}")
    print(f"{what['model'] or 'model not recorded'}: {', '.join(sizes) or 'sizes not recorded'}")
    names = ("chains", "draws", "warmup", "thin", "seed")
    how = [f"{name} {what[name]}" for name in names if what[name] is not None]
    if what["exact"] is not None:
        how.append("all kernels exact" if what["exact"] else "NOT exact")
    if what["stopped"]:
        how.append("stopped before its end")
    print(", ".join(how))
    for line in reading_lines(what):
        print(line)


def _print_log_posterior(fit: Fit) -> None:
    """Print the mean log posterior of each chain, first and second half: a drift shows at a glance."""
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
