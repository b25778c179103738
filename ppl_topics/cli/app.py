"""The commands of ``ppl-topics``, put together. Heavy imports wait until a command runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated

import typer
from typer.core import TyperCommand

from ppl_topics.cli.calibrate import calibrate
from ppl_topics.cli.coefficients import coefficients
from ppl_topics.cli.compare import compare
from ppl_topics.cli.demo import demo
from ppl_topics.cli.export import ExportCommand, export
from ppl_topics.cli.graph import graph
from ppl_topics.cli.grid import grid
from ppl_topics.cli.held_out import held_out
from ppl_topics.cli.listings import blocks, kernels, models
from ppl_topics.cli.new import new
from ppl_topics.cli.options import with_groups
from ppl_topics.cli.page import report
from ppl_topics.cli.plan import plan
from ppl_topics.cli.predict import predict
from ppl_topics.cli.prevalence import prevalence
from ppl_topics.cli.resume import resume
from ppl_topics.cli.run import run
from ppl_topics.cli.schema import schema
from ppl_topics.cli.shard import shard
from ppl_topics.cli.traces import diagnose, topics
from ppl_topics.cli.verify import verify
from ppl_topics.cli.warm import warm

__all__ = ["app"]

app = typer.Typer(
    name="ppl-topics",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def _version(asked: bool) -> None:
    if asked:
        import ppl_topics

        print(f"ppl-topics {ppl_topics.__version__}")
        raise typer.Exit


def _help(command: Callable[..., None]) -> str:
    """Return the docstring, marked so that the lines of its examples stay as they are."""
    return re.sub(r"^(For example:|Start with:)$", "\b\n\\1", inspect.getdoc(command) or "", flags=re.MULTILINE)


def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Bayesian topic models declared in YAML, sampled by exact and composable MCMC kernels, read in ArviZ.

    Start with:
      ppl-topics demo
      ppl-topics run lda --data posts.jsonl --set topics=20 --out run.nc
      ppl-topics diagnose run.nc

    Exit codes: 0 done, 1 ran and failed (or `verify` refused), 2 bad input or usage.
    """


app.callback(help=_help(_options))(_options)
for command in (
    demo,
    shard,
    run,
    resume,
    predict,
    held_out,
    grid,
    topics,
    coefficients,
    prevalence,
    diagnose,
    compare,
    report,
    export,
    models,
    kernels,
    blocks,
    plan,
    graph,
    verify,
    calibrate,
    warm,
    schema,
    new,
):
    kind = ExportCommand if command is export else TyperCommand
    app.command(help=_help(command), cls=kind)(with_groups(command))
