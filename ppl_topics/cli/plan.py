"""``ppl-topics plan``: which kernel would update which variable, why, how long it would take, and how much memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ppl_topics.cli import corpus_options as co
from ppl_topics.cli.model_options import ModelName, Record, Schedule, Set, load
from ppl_topics.cli.output import AsJson, print_json, say
from ppl_topics.errors import PplTopicsError

__all__ = ["plan"]

OF_THE_CORPUS = (
    "format vocabulary text_column label_column id_column covariates label_kind encoding stop_words min_count "
    "min_df max_df max_vocabulary first_id token_pattern"
)
OF_THE_RUN = "draws warmup chains thin threads processes record"


def plan(
    context: typer.Context,
    model: ModelName,
    data: co.OptionalData = None,
    settings: Set = None,
    draws: Annotated[int, typer.Option(help="Kept draws of each chain.")] = 200,
    warmup: Annotated[int, typer.Option(help="Sweeps before them.")] = 200,
    chains: Annotated[int, typer.Option(help="Independent chains.")] = 2,
    thin: Annotated[int, typer.Option(help="Sweeps for each kept draw.")] = 1,
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
    encoding: co.Encoding = "utf-8",
    stop_words: co.StopWords = None,
    min_count: co.MinCount = 1,
    min_df: co.MinDf = "1",
    max_df: co.MaxDf = "1.0",
    max_vocabulary: co.MaxVocabulary = None,
    first_id: co.FirstId = None,
    token_pattern: co.TokenPattern = None,
    json: AsJson = False,
) -> None:
    """Show which kernels MODEL would run, and why.

    With --data, also how long a run as described by the other options would take on this machine, and how much
    memory: for every kernel that could serve, for a sweep, and for all.

    For example:
      ppl-topics plan lda
      ppl-topics plan lda --data posts.jsonl --set topics=200 --draws 500 --chains 4
      ppl-topics plan slda_covariates --data posts.jsonl --label-column topic --covariates author,year
    """
    from ppl_topics.api.planning import forecast
    from ppl_topics.api.sampling import make_settings
    from ppl_topics.schedule import make_plan
    from ppl_topics.schedule.costs import CorpusSizes

    given = [name for name in f"{OF_THE_CORPUS} {OF_THE_RUN}".split() if _is_given(context, name)]
    if data is None and given:
        raise PplTopicsError(f"--{given[0].replace('_', '-')}: means nothing without --data; add --data FILE")
    how = make_settings(
        draws=draws,
        warmup=warmup,
        chains=chains,
        thin=thin,
        seed=0,
        threads=threads,
        processes=processes,
        debug=False,
        call="--{name}",
    )
    spec = load(model, settings, record=record, schedule=schedule)
    chosen = make_plan(spec)
    if data is not None:
        corpus = co.read(
            data,
            format=format,
            vocabulary=vocabulary,
            text_column=text_column,
            label_column=label_column,
            id_column=id_column,
            covariates=covariates,
            label_kind=label_kind,
            encoding=encoding,
            stop_words=stop_words,
            min_count=min_count,
            min_df=min_df,
            max_df=max_df,
            max_vocabulary=max_vocabulary,
            first_id=first_id,
            token_pattern=token_pattern,
        )
        say(f"{data}: {co.describe(corpus)}")
        sizes = CorpusSizes.of(corpus)
        chosen = make_plan(spec, sizes)
        chosen = replace(chosen, forecast=forecast(chosen, sizes, how, chains, processes))
    if json:
        print_json(chosen.to_dict())
        return
    print(chosen)
    if chosen.forecast is not None:
        print(f"\n{chosen.forecast}")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
