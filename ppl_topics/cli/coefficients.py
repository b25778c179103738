"""``ppl-topics coefficients``: what the classes, labels or targets of a stored run depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.cli.options import AsJson, ChainOption, Probability
from ppl_topics.cli.output import number, print_frame, print_json, records, say
from ppl_topics.cli.traces import OfResponse, Run, load_one, naming_run
from ppl_topics.errors import TraceError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["coefficients"]

TOP = 10
"""Number of coefficients of each response in tables, by default."""


@naming_run
def coefficients(
    run: Run,
    response: Annotated[str | None, typer.Option(help="Show this class, label or target only.", metavar="NAME")] = None,
    chain: ChainOption = 0,
    probability: Probability = 0.9,
    top: Annotated[
        int | None, typer.Option(help=f"Only the largest of each response; {TOP} by default, all with --json.")
    ] = None,
    words: Annotated[int, typer.Option(help="Words of each topic.")] = 5,
    of_response: OfResponse = None,
    json: AsJson = False,
) -> None:
    """Print the coefficients of the classes of RUN, the largest first, with the words of their topics.

    Chains number their topics independently, so those are of one chain; the rows of covariates are of the draws of all.
    A row is marked * if the interval excludes 0: the data determine the sign of the coefficient. A topic with such a
    coefficient is a signal topic; its relevance is the sum of the sizes of its coefficients over all classes. With
    --json these are given for each topic too.

    For example:
      ppl-topics coefficients run.nc --response sci.med --top 5
      ppl-topics coefficients run.nc --probability 0.99 --json
    """
    from ppl_topics.diagnostics.tables import effective_coefficients, signal_topics

    fit = load_one(run, of_response)
    most = top if json or top is not None else TOP
    table = fit.coefficients(response, chain=chain, probability=probability, top=most, n_words=words)
    what: dict[str, Any] = {"chain": chain, "probability": probability, "draws": fit.posterior.sizes["draw"]}
    topics = None
    if what["draws"] > 1:
        topics = signal_topics(fit.groups, chain=chain, probability=probability, n_words=words)
        if response is not None and "response" in topics:
            topics = topics[topics["response"] == response]
        signal = topics["signal"] if response is None else topics["responses"].map(lambda names: response in names)
        what["signal_topics"] = int(signal.sum())
        what["topics_with_coefficients"] = len(topics)
    effective = None
    options: dict[str, Any] = {"response": response, "chain": chain, "probability": probability}
    try:
        effective = effective_coefficients(fit.groups, **options)
    except TraceError as error:
        # It needs more than the coefficients, which may not have been recorded; the coefficients can be read anyway.
        say(f"note: no effective number of coefficients: {error}")
    if json:
        what["effective_coefficients"] = None if effective is None else effective.to_dict("records")
        what["coefficients"] = [
            row if isinstance(row["topic"], int) else {**row, "topic": None}
            for row in records(table.astype({"topic": object}))
        ]
        what["topics"] = None if topics is None else records(topics)
        print_json(what)
        return
    chains = fit.posterior.sizes["chain"]
    of_all = f" (covariates: all {chains} chains)" if chains > 1 and _has_covariates(table) else ""
    print(f"chain {chain}{of_all}, draws {what['draws']}, {100 * probability:g}% intervals; * excludes 0")
    if topics is not None:
        print(f"signal topics: {what['signal_topics']:,} of {what['topics_with_coefficients']:,}")
    if effective is not None:
        total, of = float(effective["effective"].sum()), int(effective["coefficients"].sum())
        print(f"effective coefficients: {number(total)} of {of:,}")
    print()
    _print(table)


def _has_covariates(table: pd.DataFrame) -> bool:
    return bool((table["topic"].isna() & (table["coefficient"] != "intercept")).any())


def _print(table: pd.DataFrame) -> None:
    same = ("response", "coefficient", "name", "mean", "sd", "low", "high")
    columns = {**{name: name for name in same if name in table}, "*": "mark", "ESS": "ess", "words": "words"}
    marked = table.assign(mark=table["excludes_0"].map({True: "*", False: ""}))
    print_frame(marked, columns, text=["response", "coefficient", "name", "*", "words"])
