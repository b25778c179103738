"""``ppl-topics held-out``: how probable new documents are, by a stored run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ppl_topics.cli import corpus_options as co
from ppl_topics.cli.new_documents import in_words_of, read_new
from ppl_topics.cli.output import AsJson, print_json, say, write_text
from ppl_topics.cli.target import check_file
from ppl_topics.cli.traces import Run, naming_run
from ppl_topics.errors import PplTopicsError

if TYPE_CHECKING:
    from ppl_topics.prediction.held_out import HeldOut

__all__ = ["Estimator", "Particles", "held_out"]

Estimator = Annotated[str, typer.Option("--method", help="left_to_right, or document_completion.")]
Particles = Annotated[
    int | None, typer.Option(help="Of each document, a multiple of 4; by default 40, or 4 chains of draws.")
]


@naming_run
def held_out(
    run: Run,
    data: co.Data,
    method: Estimator = "left_to_right",
    particles: Particles = None,
    phi: Annotated[str, typer.Option(help="Topics: the mean of each chain, or its draws.")] = "mean",
    draws: Annotated[int | None, typer.Option(help="Of each chain, with --phi draws; 10 by default.")] = None,
    moves: Annotated[
        int | None, typer.Option(help="Earlier tokens drawn again before each token; 32 by default.")
    ] = None,
    response: Annotated[
        str | None, typer.Option(help="Whose topics, where each has its own (one-vs-all).", metavar="NAME")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers, at any number of threads.")] = 0,
    threads: Annotated[int | None, typer.Option(help="All cores by default.")] = None,
    out: Annotated[str | None, typer.Option(help="CSV file to write, a document a row.", metavar="FILE")] = None,
    format: co.Format = None,
    vocabulary: co.Vocabulary = None,
    text_column: co.TextColumn = "text",
    label_column: co.LabelColumn = None,
    id_column: co.IdColumn = None,
    label_kind: co.LabelKind = None,
    first_id: co.FirstId = None,
    encoding: co.Encoding = "utf-8",
    stop_words: co.StopWords = None,
    token_pattern: co.TokenPattern = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that stands there.")] = False,
    json: AsJson = False,
) -> None:
    """Estimate the likelihood of new documents by RUN, and their perplexity per token.

    The file is read as the training file was: give the same options, --vocabulary of a count format included. Words
    that do not occur in training are dropped and counted. The Monte Carlo error is that of a repetition with another
    seed; the bias is what the logarithm of a noisy estimate is off by on average.

    For example:
      ppl-topics held-out run.nc --data test.jsonl
      ppl-topics held-out run.nc --data test.svmlight.gz --vocabulary vocab.txt --method document_completion --json
    """
    from ppl_topics.fit import load_fit
    from ppl_topics.prediction.held_out import HeldOutOptions
    from ppl_topics.prediction.held_out import held_out as estimate
    from ppl_topics.prediction.trained import TrainedTopics

    if draws is not None and phi == "mean":
        raise PplTopicsError("--draws: are those of phi that are averaged over; give --phi draws too, or leave it out")
    if moves is not None and method == "document_completion":
        raise PplTopicsError("--moves: has no part in --method document_completion; leave it out")
    given: dict[str, Any] = {name: value for name, value in (("draws", draws), ("moves", moves)) if value is not None}
    how = HeldOutOptions(cast(Any, method), particles, cast(Any, phi), seed=seed, threads=threads, **given)
    how = how.check("--{name}")
    if out is not None:
        check_file(out, overwrite)
    trained = TrainedTopics(load_fit(run).groups)
    trained.place_of(response)
    new = read_new(
        data,
        format=format,
        vocabulary=vocabulary,
        text_column=text_column,
        label_column=label_column,
        id_column=id_column,
        covariates=None,
        label_kind=label_kind,
        first_id=first_id,
        encoding=encoding,
        stop_words=stop_words,
        token_pattern=token_pattern,
    )
    corpus = in_words_of(trained.vocabulary, new, data)
    say(f"{data}: {co.describe(corpus)}")
    found = estimate(trained, corpus, how, response)
    if out is not None:
        write_text(found.to_frame().to_csv(index=False), out)
    if json:
        summary = found.summary()
        documents = {"by_document": found.to_frame().to_dict("records")} if out is None else {"path": out}
        print_json({**summary, **documents})
        return
    for line in lines_of(found):
        print(line)
    if out is not None:
        print(f"written: {out}")


def lines_of(found: HeldOut) -> list[str]:
    """Return what is said of all documents together, a line each."""
    what = found.summary()
    over = f"{what['averaged']} {'chains' if what['phi'] == 'mean' else 'draws'}"
    lines = [
        f"{what['method']}, phi {what['phi']} ({over}), particles {what['particles']}",
        f"{what['documents']:,} documents, {what['tokens']:,} tokens scored",
        f"log likelihood {what['log_likelihood']:,.1f} (Monte Carlo error {what['error']:.2g}, "
        f"bias {what['bias']:.2g})",
        f"per token {what['per_token']:.5f} (Monte Carlo error {what['per_token_error']:.2g}; over documents "
        f"{what['per_token_spread']:.2g})",
        f"perplexity {what['perplexity']:,.2f} (Monte Carlo error {what['perplexity_error']:.2g})",
    ]
    if what["empty_documents"]:
        lines.append(f"documents without a token to score: {what['empty_documents']:,}")
    if what["unknown_tokens"]:
        lines.append(f"tokens dropped, their words not being in training: {what['unknown_tokens']:,}")
    return lines
