"""``ppl-topics plan``: which kernel would update which variable, why, how long it would take, and how much memory."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Annotated

import typer

from ppl_topics.cli.corpus_options import DATA, Training, describe
from ppl_topics.cli.model_options import RecordedModel, Run
from ppl_topics.cli.options import AsJson, OnDevice
from ppl_topics.cli.output import print_json, say
from ppl_topics.errors import PplTopicsError

__all__ = ["plan"]


def plan(
    context: typer.Context,
    model: RecordedModel,
    run: Run,
    corpus: Training,
    data: Annotated[str | None, DATA] = None,
    machines: Annotated[int, typer.Option(help="Plan for several machines, which share the documents.")] = 1,
    cores: Annotated[int | None, typer.Option(help="Cores of each machine; --threads by default.")] = None,
    gbits: Annotated[float, typer.Option(help="Gigabits a second that each machine can send.")] = 10.0,
    device: OnDevice = "cpu",
    json: AsJson = False,
) -> None:
    """Show which kernels MODEL would run, and why.

    With --data, also how long a run with the given options would take on this machine, and how much memory: for every
    kernel that could be used, for a sweep, and for the whole run.

    For example:
      ppl-topics plan lda
      ppl-topics plan lda --data posts.jsonl --set topics=200 --draws 500 --chains 4
      ppl-topics plan lda --data posts.jsonl --machines 16 --cores 16
      ppl-topics plan lda --data posts.jsonl --device cuda
      ppl-topics plan slda_covariates --data posts.jsonl --label-column topic --covariates author,year
    """
    from ppl_topics.api.planning import check_machines, planned
    from ppl_topics.api.sampling import prepare

    if data is None:
        for name in (*(field.name for field in (*fields(corpus), *fields(run))), "record"):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise PplTopicsError(f"--{name.replace('_', '-')}: means nothing without --data; add --data FILE")

    # All else is checked before a large file is read.
    prepared = prepare(model.model, **model.given(), **asdict(run))
    spread = check_machines(machines, cores, gbits, prepared.settings.threads)
    read = None
    if data is not None:
        read = corpus.read(data)
        say(f"{data}: {describe(read)}")
    made = planned(prepared, read, spread, device)
    if json:
        print_json(made.to_dict())
        return
    print(made)
    if made.forecast is not None:
        print(f"\n{made.forecast}")
