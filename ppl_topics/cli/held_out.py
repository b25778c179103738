"""``ppl-topics held-out``: how probable new documents are under a stored run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ppl_topics.api.destinations import check_file
from ppl_topics.cli.corpus_options import Data, Reading, describe
from ppl_topics.cli.new_documents import as_trained
from ppl_topics.cli.options import AsJson, OnCluster, Overwrite, Threads
from ppl_topics.cli.output import print_json, say, write_text
from ppl_topics.cli.traces import Run, naming_run
from ppl_topics.errors import PplTopicsError

if TYPE_CHECKING:
    from ppl_topics.prediction.likelihood import HeldOut

__all__ = ["Estimator", "Particles", "held_out"]

Estimator = Annotated[str, typer.Option("--method", help="left_to_right, or document_completion.")]
Particles = Annotated[
    int | None, typer.Option(help="Particles of each document, a multiple of 4; by default 128, or 4 chains of draws.")
]


@naming_run
def held_out(
    run: Run,
    data: Data,
    corpus: Reading,
    method: Estimator = "left_to_right",
    particles: Particles = None,
    phi: Annotated[str, typer.Option(help="Topics: the mean of each chain, or its draws.")] = "mean",
    draws: Annotated[int | None, typer.Option(help="Draws of each chain, with --phi draws; 10 by default.")] = None,
    moves: Annotated[
        int | None, typer.Option(help="Number of earlier tokens drawn again before each token; 4 by default.")
    ] = None,
    response: Annotated[
        str | None, typer.Option(help="Whose topics, if each has its own (one-vs-all).", metavar="NAME")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers, at any number of threads.")] = 0,
    threads: Threads = None,
    cluster: OnCluster = None,
    out: Annotated[str | None, typer.Option(help="CSV file to write, a document a row.", metavar="FILE")] = None,
    overwrite: Overwrite = False,
    json: AsJson = False,
) -> None:
    """Estimate the likelihood of new documents under RUN, and their perplexity per token.

    Read the file as the training file was read: give the same options, and --vocabulary for a count format. Words
    that do not occur in training are dropped and counted. The Monte Carlo error is how far a repetition with another
    seed is off; the bias is how far the logarithm of a noisy estimate is off on average.

    For example:
      ppl-topics held-out run.nc --data test.jsonl
      ppl-topics held-out run.nc --data test.svmlight.gz --vocabulary vocab.txt --method document_completion --json
    """
    from ppl_topics.fit import load_fit
    from ppl_topics.prediction.likelihood import HeldOutOptions, estimate
    from ppl_topics.prediction.trained import TrainedTopics

    if draws is not None and phi == "mean":
        raise PplTopicsError("--draws: counts the draws of phi to average over; give --phi draws too, or leave it out")
    if moves is not None and method == "document_completion":
        raise PplTopicsError("--moves: does not apply to --method document_completion; leave it out")
    given: dict[str, Any] = {name: value for name, value in (("draws", draws), ("moves", moves)) if value is not None}
    how = HeldOutOptions(
        cast(Any, method), particles, cast(Any, phi), seed=seed, threads=threads, cluster=cluster, **given
    )
    if out is not None:
        check_file(out, overwrite)
    trained = TrainedTopics(load_fit(run).groups)
    trained.place_of(response)
    new = as_trained(trained, corpus.read(data), data, with_labels=False)
    say(f"{data}: {describe(new)}")
    found = estimate(trained, new, how, response)
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
    """Return the estimates for all documents together, a line each."""
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
