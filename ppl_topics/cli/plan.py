"""``ppl-topics plan``: which kernel would update which variable, and why."""

from __future__ import annotations

from ppl_topics.cli import corpus_options as co
from ppl_topics.cli.model_options import ModelName, Schedule, Set, load
from ppl_topics.cli.output import AsJson, print_json, say

__all__ = ["plan"]


def plan(
    model: ModelName,
    data: co.OptionalData = None,
    settings: Set = None,
    schedule: Schedule = None,
    format: co.Format = None,
    vocabulary: co.Vocabulary = None,
    text_column: co.TextColumn = "text",
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

    With --data the sizes of the corpus enter the choice.

    For example:
      ppl-topics plan lda
      ppl-topics plan lda --data posts.jsonl --set topics=200
    """
    from ppl_topics.api import corpus_sizes
    from ppl_topics.schedule import make_plan

    spec = load(model, settings, schedule=schedule)
    sizes = None
    if data is not None:
        corpus = co.read(
            data,
            format=format,
            vocabulary=vocabulary,
            text_column=text_column,
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
        sizes = corpus_sizes(corpus)
    chosen = make_plan(spec, sizes)
    if json:
        print_json(chosen.to_dict())
    else:
        print(chosen)
