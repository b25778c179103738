"""``ppl-topics prevalence``: how much there is of each topic at values of a covariate."""

from __future__ import annotations

from typing import Annotated

import typer

from ppl_topics.cli.options import AsJson, ChainOption, Overwrite, Probability
from ppl_topics.cli.output import print_frame, print_json, records
from ppl_topics.cli.traces import Run, naming_run

__all__ = ["prevalence"]


@naming_run
def prevalence(
    run: Run,
    covariate: Annotated[str, typer.Argument(help="A covariate that the topics depend on.")],
    values: Annotated[
        str | None, typer.Option(help="At these values; by default all categories, or 9 numbers.", metavar="V1,V2,...")
    ] = None,
    difference: Annotated[
        bool, typer.Option("--difference", help="Of two values, the share at the second less that at the first.")
    ] = False,
    chain: ChainOption = 0,
    probability: Probability = 0.95,
    words: Annotated[int, typer.Option(help="Words of each topic.")] = 5,
    plot: Annotated[
        str | None, typer.Option(help="Plot the shares that change most: .png, .pdf or .svg.", metavar="FILE")
    ] = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Print the expected share of each topic at values of COVARIATE, in a RUN whose topics depend on covariates.

    All documents of training are given the value and keep their other covariates, so a difference between two values
    is what the covariate makes in the same documents. Intervals are of the posterior of one chain.

    For example:
      ppl-topics prevalence run.nc year --plot years.svg
      ppl-topics prevalence run.nc treatment --values 0,1 --difference
    """
    from ppl_topics.api.destinations import check_file
    from ppl_topics.cli.grid import check_plot, save_figure
    from ppl_topics.fit import load_fit

    if plot is not None:
        check_plot(plot)
        check_file(plot, overwrite, "plot")
    fit = load_fit(run)
    chosen = None if values is None else [value.strip() for value in values.split(",")]
    table = fit.prevalence_table(
        covariate, chosen, difference=difference, chain=chain, probability=probability, n_words=words
    )
    if json:
        print_json({"covariate": covariate, "chain": chain, "probability": probability, "topics": records(table)})
    else:
        what = f"{covariate}: {'difference of the expected shares' if difference else 'expected shares'}"
        print(f"{what}, chain {chain}, {100 * probability:g}% intervals\n")
        if "value" in table:
            table = table.assign(value=[f"{each:.10g}" if isinstance(each, float) else each for each in table["value"]])
        print_frame(table, {name: name for name in table.columns}, text=["name", "value", "words"])
    if plot is not None:
        save_figure([fit.plot_prevalence(covariate, values=chosen, chain=chain, probability=probability)], plot)
        print(f"written: {plot}")
