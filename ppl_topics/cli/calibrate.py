"""``ppl-topics calibrate``: whole runs on simulated corpora, and the ranks of true values among the draws."""

from __future__ import annotations

from typing import Annotated

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.grid import check_plot, save_figure
from ppl_topics.cli.model_options import SampledModel
from ppl_topics.cli.options import AsJson, NoProgress, OnCluster, Overwrite
from ppl_topics.cli.output import print_json
from ppl_topics.errors import RunError

__all__ = ["calibrate"]


def calibrate(
    model: SampledModel,
    documents: Annotated[int | None, typer.Option(help="Documents of each corpus; 100 by default.")] = None,
    lengths: Annotated[int | None, typer.Option(help="Tokens of each document; 100 by default.")] = None,
    words: Annotated[int | None, typer.Option(help="Size of the vocabulary; 1,000 by default.")] = None,
    responses: Annotated[
        int | None, typer.Option(help="Targets, labels, or exclusive classes less one; 1 by default.")
    ] = None,
    covariates: Annotated[int | None, typer.Option(help="Standard normal covariates; 1 by default.")] = None,
    replicates: Annotated[int, typer.Option(help="Simulated corpora, each with a run.")] = 200,
    draws: Annotated[int, typer.Option(help="Kept draws of each chain.")] = 100,
    warmup: Annotated[int, typer.Option(help="Sweeps before the first kept draw.")] = 200,
    chains: Annotated[int, typer.Option(help="Chains of each run.")] = 1,
    thin: Annotated[int, typer.Option(help="Sweeps for each kept draw.")] = 1,
    threads: Annotated[int | None, typer.Option(help="Threads of each run; 1 by default.")] = None,
    processes: Annotated[int, typer.Option(help="Processes that the replicates are spread over.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Same seed, same result, at any number of processes.")] = None,
    false_alarm: Annotated[float, typer.Option(help="Probability at most that a right program is refused.")] = 0.01,
    out: Annotated[str | None, typer.Option(help="A .nc file for the ranks.", metavar="FILE")] = None,
    plot: Annotated[str | None, typer.Option(help="A plot of the ranks: .png, .pdf or .svg.", metavar="FILE")] = None,
    cluster: OnCluster = None,
    no_progress: NoProgress = False,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Test whole runs of MODEL by simulation-based calibration.

    Corpora are drawn from the model, with true values of all parameters, and the model is run on each. If everything is
    right, the rank of a true value among the draws is uniform. The table has, for each quantity, the p-value of that,
    and the shares of the central 50% and 90% intervals that hold the true value.

    For example:
      ppl-topics calibrate lda --set topics=3 --documents 20 --lengths 20 --words 30 --plot ranks.png
      ppl-topics calibrate slda_multinomial --set topics=3 --documents 40 --lengths 20 --words 30 --processes 4

    Exit code 0 if the ranks are uniform, 1 if a quantity is refused, 2 if the model or an argument is wrong.
    """
    from ppl_topics.api.calibrating import prepare_calibration
    from ppl_topics.engine.cluster.connection import connected

    if out is not None:
        check_file(out, overwrite)
    if plot is not None:
        check_plot(plot)
        check_file(plot, overwrite, "plot")
    sizes = {"documents": documents, "lengths": lengths, "words": words}
    sizes |= {"responses": responses, "covariates": covariates}
    with connected(cluster) as workers:
        result = prepare_calibration(
            model.model,
            **model.given(),
            sizes=sizes,
            replicates=replicates,
            draws=draws,
            warmup=warmup,
            chains=chains,
            thin=thin,
            threads=threads,
            processes=processes,
            seed=seed,
            false_alarm=false_alarm,
            cluster=workers,
        ).run(not no_progress)
    if out is not None:
        result.save(out)
    if plot is not None:
        save_figure(result.plot(), plot)
    if json:
        print_json(result.to_dict())
    else:
        print(result)
        for path in (out, plot):
            if path is not None:
                print(f"written: {path}")
    if not result.passed:
        raise RunError(f"model {result.values.attrs['model_name']}: refused: {', '.join(result.refused)}")
