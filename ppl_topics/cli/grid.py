"""``ppl-topics grid``: runs over a grid of parameters, to choose among their values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.corpus_options import Data, Training, describe
from ppl_topics.cli.held_out import Estimator, Particles
from ppl_topics.cli.model_options import RecordedModel, Run, assignments
from ppl_topics.cli.new_documents import in_words_of
from ppl_topics.cli.options import AsJson, NoProgress, OnCluster, Overwrite
from ppl_topics.cli.output import number, print_frame, print_json, say
from ppl_topics.errors import PplTopicsError, RunError

if TYPE_CHECKING:
    import pandas as pd

    from ppl_topics.corpus import Corpus
    from ppl_topics.prediction.likelihood import Method

__all__ = ["grid"]

SHOWN = {
    "perplexity": "perplexity",
    "+-": "perplexity_error",
    "below best\na token": "below_best",
    "+- ": "below_best_error",
    "UMass": "umass",
    "NPMI": "npmi",
    "accuracy": "accuracy",
    "+-  ": "accuracy_error",
    "micro\nF1": "f1_micro",
    "+-   ": "f1_micro_error",
    "macro\nF1": "f1_macro",
    "+-    ": "f1_macro_error",
    "R2": "r2",
    "+-     ": "r2_error",
    "log\nscore": "log_score",
    "+-      ": "log_score_error",
    "ESS\nlp": "ess_lp",
    "seconds": "seconds",
}
"""Headings of the table, and their columns; columns without a value are left out."""

BEST_BY = {"accuracy": "accuracy", "f1_micro": "micro F1", "r2": "R2", "per_token": "held-out log likelihood a token"}
"""Words for the measures by which a row is best."""


def grid(
    model: RecordedModel,
    data: Data,
    over: Annotated[
        list[str],
        typer.Option(
            help="A parameter and its values; if given several times, all combinations are run.",
            metavar="NAME=V1,V2,...",
        ),
    ],
    run: Run,
    corpus: Training,
    seed: Annotated[int | None, typer.Option(help="Same seed, same table, at any number of threads.")] = None,
    out: Annotated[
        str | None,
        typer.Option(help="A .csv file for the table, or a folder for it and the draws of each run.", metavar="PATH"),
    ] = None,
    test: Annotated[str | None, typer.Option(help="Held-out documents.", metavar="FILE")] = None,
    held_out: Annotated[
        float, typer.Option(help="Without --test and --folds: share of the documents to hold out.")
    ] = 0.2,
    folds: Annotated[
        int | None, typer.Option(help="Cross-validation: hold out each of so many parts of the documents in turn.")
    ] = None,
    method: Estimator = "left_to_right",
    particles: Particles = None,
    plot: Annotated[str | None, typer.Option(help="Plot the table: .png, .pdf or .svg.", metavar="FILE")] = None,
    cluster: OnCluster = None,
    no_progress: NoProgress = False,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Run MODEL with each combination of some parameters, and compare how well the runs predict held-out documents.

    The best row has the lowest perplexity; the others show how much less log likelihood per token they have, with its
    standard error over documents. UMass and NPMI are the coherence of topics, the higher the better. With --folds,
    accuracy and the like are means over folds, each with its standard error. A combination that fails says why in the
    table, and the others go on; Ctrl-C keeps what is done.

    For example:
      ppl-topics grid lda --data posts.jsonl --over topics=10,20,50 --out table.csv --plot table.png
      ppl-topics grid medlda --data train.csv --label-column y --test test.csv --over topics=20,50 --over cost=1,4
      ppl-topics grid medlda --data train.csv --label-column y --over cost=0.1,0.5,1.6,5 --folds 5
    """
    from ppl_topics.api.grid import FOLDS_AND_TEST, prepare_grid
    from ppl_topics.engine.cluster.connection import connected

    if test is not None and folds is not None:
        raise PplTopicsError(FOLDS_AND_TEST.format("--folds", "--test"))
    if test is None and not 0.0 < held_out < 1.0:
        raise PplTopicsError(
            f"--held-out: expected a share of the documents, above 0 and below 1, such as 0.2, got {held_out:g}"
        )
    values = assignments("--over", [in_brackets(text) for text in over])
    if plot is not None:
        check_plot(plot)
        check_file(plot, overwrite, "plot")

    def done(row: Mapping[str, Any]) -> None:
        chosen = ", ".join(f"{name} {row[name]}" for name in values)
        found = "" if math.isnan(row["perplexity"]) else f"perplexity {number(row['perplexity'])}"
        say(f"{chosen}: {'; '.join(text for text in (found, row['problem']) if text)}")

    # All else is checked before a large file is read.
    with connected(cluster) as workers:
        prepared = prepare_grid(
            model.model,
            **model.given(),
            over=values,
            method=cast("Method", method),
            particles=particles,
            folds=folds,
            out=out,
            overwrite=overwrite,
            seed=seed,
            progress=not no_progress,
            cluster=workers,
            **asdict(run),
        )
        train = corpus.read(data)
        say(f"{data}: {describe(train)}")
        new: Corpus | None = None
        if test is not None:
            new = in_words_of(train.vocabulary, corpus.read_new(test), test)
            say(f"{test}: {describe(new)}")
        table = prepared.run(train, new, held_out, done)
    if table.attrs["stopped"]:
        say(f"stopped: {len(table)} of {math.prod(map(len, values.values()))} combinations were done, and are kept")
    if plot is not None and len(table):
        save_plot(table, plot)
    if json:
        print_json({**table.attrs, "rows": table.to_dict("records")})
    else:
        show(table, list(values))
        if table.attrs["best"]:
            print("best by " + best(table))
        for path in (out, plot):
            if path is not None and len(table):
                print(f"written: {path}")
    if not len(table) or table["seconds"].isna().all():
        raise RunError("no combination was run to its end")


def best(table: pd.DataFrame) -> str:
    """Return the measure by which a row is best, its parameters, and its value with the error that it has."""
    by = table.attrs["by"]
    row = table.iloc[int(table[by].argmax())]
    error = "" if math.isnan(row[f"{by}_error"]) else f" +- {number(row[f'{by}_error'])}"
    chosen = ", ".join(f"{name} {value}" for name, value in table.attrs["best"].items())
    return f"{BEST_BY[by]}: {chosen} ({number(row[by])}{error})"


def in_brackets(text: str) -> str:
    """Return NAME=V1,V2 as NAME=[V1,V2], which is a YAML list.

    Examples
    --------
    >>> in_brackets("topics=10,20"), in_brackets("topics=[10, 20]")
    ('topics=[10,20]', 'topics=[10, 20]')
    """
    name, _, values = text.partition("=")
    values = values.strip()
    return text if not values or values.startswith("[") else f"{name}=[{values}]"


def check_plot(path: str) -> None:
    """Refuse a plot that could not be written, before anything is run."""
    from ppl_topics.diagnostics.plots.canvas import pyplot

    if Path(path).suffix not in (".png", ".pdf", ".svg"):
        raise PplTopicsError(f"--plot {path}: expected a file that ends in .png, .pdf or .svg")
    pyplot()


def save_plot(table: pd.DataFrame, path: str) -> None:
    """Plot the table into a file."""
    from ppl_topics.diagnostics.grid_plot import plot_grid

    save_figure(plot_grid(table), path)


def save_figure(axes: Any, path: str) -> None:
    """Write the figure of some axes."""
    try:
        axes[0].figure.savefig(path, dpi=150)
    except OSError as error:
        # The runs are done, so the input was not at fault.
        raise RunError(f"--plot {path}: cannot be written ({error.strerror or error})") from None


def show(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Print the table, without the columns that have no value."""
    columns = {heading: name for heading, name in SHOWN.items() if table[name].notna().any()}
    if table.attrs["by"] == "accuracy":
        columns = {heading: name for heading, name in columns.items() if not name.startswith("f1_micro")}
    problems = ["problem"] if (table["problem"] != "").any() else []
    text = [*names, *problems]
    shown = table.astype(dict.fromkeys(names, str))
    print_frame(shown, {**{name: name for name in names}, **columns, **{name: name for name in problems}}, text)
