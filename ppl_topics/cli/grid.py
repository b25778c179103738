"""``ppl-topics sweep``: runs over a grid of parameters, to choose the number of topics."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ppl_topics.cli import corpus_options as co
from ppl_topics.cli.held_out import Estimator, Particles
from ppl_topics.cli.model_options import ModelName, Record, Schedule, Set, assignments, load, read_schedule
from ppl_topics.cli.new_documents import in_words_of, read_new
from ppl_topics.cli.output import AsJson, number, print_json, print_table, say
from ppl_topics.cli.target import check_file
from ppl_topics.errors import PplTopicsError, RunError, SpecError

if TYPE_CHECKING:
    import pandas as pd

    from ppl_topics.spec import Spec

__all__ = ["sweep"]

SHOWN = {
    "perplexity": "perplexity",
    "+-": "perplexity_error",
    "below best\na token": "below_best",
    "+- ": "below_best_error",
    "UMass": "umass",
    "NPMI": "npmi",
    "accuracy": "accuracy",
    "R2": "r2",
    "ESS\nlp": "ess_lp",
    "seconds": "seconds",
}
"""Headings of the table and the columns behind them; those without a value are left out."""


def sweep(
    model: ModelName,
    data: co.Data,
    over: Annotated[
        list[str],
        typer.Option(
            help="A parameter and its values; given several times, all combinations are run.", metavar="NAME=V1,V2,..."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(help="A .csv file for the table, or a folder for it and the draws of each run.", metavar="PATH"),
    ] = None,
    test: Annotated[str | None, typer.Option(help="Held-out documents.", metavar="FILE")] = None,
    held_out: Annotated[float, typer.Option(help="Without --test: share of the documents that are held out.")] = 0.2,
    method: Estimator = "left_to_right",
    particles: Particles = None,
    plot: Annotated[str | None, typer.Option(help="Plot the table: .png, .pdf or .svg.", metavar="FILE")] = None,
    settings: Set = None,
    draws: Annotated[int, typer.Option(help="Kept draws of each chain.")] = 200,
    warmup: Annotated[int, typer.Option(help="Sweeps before them.")] = 200,
    chains: Annotated[int, typer.Option(help="Independent chains.")] = 2,
    thin: Annotated[int, typer.Option(help="Sweeps for each kept draw.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Same seed, same table, at any number of threads.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of each process; all cores by default.")] = None,
    processes: Annotated[int, typer.Option(help="Processes that the chains are spread over.")] = 1,
    schedule: Schedule = None,
    record: Record = None,
    format: co.Format = None,
    vocabulary: co.Vocabulary = None,
    text_column: co.TextColumn = "text",
    label_column: co.LabelColumn = None,
    id_column: co.IdColumn = None,
    covariates: co.Covariates = None,
    label_kind: co.LabelKind = None,
    first_id: co.FirstId = None,
    encoding: co.Encoding = "utf-8",
    stop_words: co.StopWords = None,
    min_count: co.MinCount = 1,
    min_df: co.MinDf = "1",
    max_df: co.MaxDf = "1.0",
    max_vocabulary: co.MaxVocabulary = None,
    token_pattern: co.TokenPattern = None,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that stand there.")] = False,
    json: AsJson = False,
) -> None:
    """Run MODEL with each combination of some parameters, and compare how well the runs predict held-out documents.

    The best row has the lowest perplexity; the others tell how much less log likelihood per token they have, with its
    standard error over documents. UMass and NPMI are the coherence of topics, the higher the better. What fails is told
    in the table, and the others go on; Ctrl-C keeps what is done.

    For example:
      ppl-topics sweep lda --data posts.jsonl --over topics=10,20,50 --out table.csv --plot table.png
      ppl-topics sweep medlda --data train.csv --label-column y --test test.csv --over topics=20,50 --over cost=1,4
    """
    from ppl_topics.api.grid import sweep as run_all
    from ppl_topics.api.sampling import InexactKernelWarning
    from ppl_topics.corpus.covariates import CovariateWarning

    warnings.simplefilter("always", InexactKernelWarning)
    warnings.simplefilter("always", CovariateWarning)
    if test is None and not 0.0 < held_out < 1.0:
        raise PplTopicsError(
            f"--held-out: expected a share of the documents, above 0 and below 1, such as 0.2, got {held_out:g}"
        )
    values = assignments("--over", [in_brackets(text) for text in over])
    fixed = assignments("--set", settings)
    # Wrong names are refused before a large corpus is read; wrong values are told in the table.
    check_names(load(model, settings, record=record, schedule=schedule), values)
    if out is not None:
        check_out(out, overwrite)
    if plot is not None:
        check_plot(plot)
        check_file(plot, overwrite, "--plot")
    reader: dict[str, Any] = {
        "format": format,
        "vocabulary": vocabulary,
        "text_column": text_column,
        "label_column": label_column,
        "id_column": id_column,
        "covariates": covariates,
        "label_kind": label_kind,
        "first_id": first_id,
        "encoding": encoding,
        "stop_words": stop_words,
        "token_pattern": token_pattern,
    }
    words: dict[str, Any] = {
        "min_count": min_count,
        "min_df": min_df,
        "max_df": max_df,
        "max_vocabulary": max_vocabulary,
    }
    corpus = co.read(data, **words, **reader)
    say(f"{data}: {co.describe(corpus)}")
    new = None
    if test is not None:
        new = in_words_of(corpus.vocabulary, read_new(test, **reader), test)
        say(f"{test}: {co.describe(new)}")

    def done(row: Mapping[str, Any]) -> None:
        chosen = ", ".join(f"{name} {row[name]}" for name in values)
        found = "" if math.isnan(row["perplexity"]) else f"perplexity {number(row['perplexity'])}"
        say(f"{chosen}: {'; '.join(text for text in (found, row['problem']) if text)}")

    table = run_all(
        model,
        corpus,
        values,
        test=new,
        held_out=held_out,
        out=out,
        method=method,
        particles=particles,
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        seed=seed,
        threads=threads,
        processes=processes,
        progress=not no_progress,
        record=assignments("--record", record) or None,
        schedule=None if schedule is None else read_schedule(schedule),
        call="--{name}",
        done=done,
        **fixed,
    )
    if table.attrs["stopped"]:
        say(f"stopped: {len(table)} of {math.prod(map(len, values.values()))} combinations were done, and are kept")
    if plot is not None and len(table):
        save_plot(table, plot)
    if json:
        print_json({"over": list(values), "stopped": table.attrs["stopped"], "rows": table.to_dict("records")})
    else:
        show(table, list(values))
        for path in (out, plot):
            if path is not None and len(table):
                print(f"written: {path}")
    if not len(table) or table["seconds"].isna().all():
        raise RunError("no combination was run to its end")


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


def check_names(spec: Spec, values: Mapping[str, Any]) -> None:
    """Refuse parameters that the model has not, and values that are no list.

    Raises
    ------
    SpecError
    """
    from ppl_topics._util.nearest import nearest

    for name, given in values.items():
        if name.split(".")[0] not in spec.parameters:
            known = list(spec.parameters)
            raise SpecError(f"--over {name}: model {spec.name!r} has no parameter {name!r}{nearest(name, known)}")
        if not isinstance(given, list) or not given:
            raise SpecError(f"--over {name}: expected values with commas between them, such as topics=10,20,50")


def check_out(out: str, overwrite: bool) -> None:
    """Refuse a table, or a folder of runs, that would take the place of another.

    Raises
    ------
    PplTopicsError
    """
    path = Path(out)
    if path.suffix == ".csv" or not out:
        check_file(out, overwrite)
    elif path.is_dir() and not overwrite:
        taken = sorted(each.name for each in path.iterdir() if each.suffix in (".csv", ".nc"))
        if taken:
            raise PplTopicsError(f"{out}: holds {taken[0]} already; choose another --out, or give --overwrite")


def check_plot(path: str) -> None:
    """Refuse a plot that could not be written, before anything is run.

    Raises
    ------
    PplTopicsError
    """
    from ppl_topics.diagnostics.plots.canvas import pyplot

    if Path(path).suffix not in (".png", ".pdf", ".svg"):
        raise PplTopicsError(f"--plot {path}: expected a file that ends in .png, .pdf or .svg")
    if not Path(path).parent.is_dir():
        raise PplTopicsError(f"--plot {path}: no such folder")
    pyplot()


def save_plot(table: pd.DataFrame, path: str) -> None:
    """Plot the table into a file.

    Raises
    ------
    RunError
        If it cannot be written: the runs are done, so the input was not at fault.
    """
    from ppl_topics.diagnostics.grid_plot import plot_sweep

    axes = plot_sweep(table)
    try:
        axes[0].figure.savefig(path, dpi=150)
    except OSError as error:
        raise RunError(f"--plot {path}: cannot be written ({error.strerror or error})") from None


def show(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Print the table, without the columns that have no value."""
    columns = {heading: name for heading, name in SHOWN.items() if table[name].notna().any()}
    problems = ["problem"] if (table["problem"] != "").any() else []
    rows = []
    for row in table.to_dict("records"):
        numbers = [number(float(row[name])) for name in columns.values()]
        rows.append([*(str(row[name]) for name in names), *numbers, *(str(row[name]) for name in problems)])
    print_table([*names, *columns, *problems], rows, text=[*names, *problems])
