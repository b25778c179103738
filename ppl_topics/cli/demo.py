"""``ppl-topics demo``: LDA on a corpus that every installation has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ppl_topics.cli.corpus_options import describe
from ppl_topics.cli.options import NoProgress
from ppl_topics.cli.output import say, working
from ppl_topics.cli.report import print_topics
from ppl_topics.cli.run import report_run, say_if_stopped

__all__ = ["demo"]

TOPICS = 20
DRAWS = 50
WARMUP = 50
CHAINS = 2

MEANING = """
What to make of that: two short chains find good topics and prove nothing. They still climb, and longer
ones would end in different modes, as topic models do. Topics that recur in both chains may be reported, with
predictions and effects on which all chains agree; the page "What may I report?" of the documentation says how. For a
study run four chains, `--warmup 1000 --draws 1000`, and read the verdict again."""


def demo(
    out: Annotated[str, typer.Option(help="Where to write the draws.", metavar="PATH")] = "demo.nc",
    seed: Annotated[int, typer.Option(help="Same seed, same draws.")] = 1,
    no_progress: NoProgress = False,
) -> None:
    """Run LDA on texts that every installation has, and show the result.

    The texts are the docstrings of the installed scientific Python packages. Nothing is downloaded. It takes
    about a minute, and replaces the result of an earlier demo.

    For example:
      ppl-topics demo --out /tmp/demo.nc
    """
    started = time.perf_counter()
    with working("loading"):
        from ppl_topics.api.sampling import prepare
        from ppl_topics.corpus import load_docstrings

    how: dict[str, Any] = {"draws": DRAWS, "warmup": WARMUP, "chains": CHAINS, "seed": seed}
    prepared = prepare("lda", {"topics": TOPICS}, out=out, overwrite=True, progress=not no_progress, **how)
    say("reading the docstrings of the installed scientific Python packages")
    corpus = load_docstrings()
    say(describe(corpus))
    say(f"running LDA with {TOPICS} topics: {CHAINS} chains, {WARMUP} sweeps of warmup, {DRAWS} draws")
    fit = prepared.run(corpus)
    say_if_stopped(fit)
    print("Topics, their share of the tokens and their most probable words (chain 0):\n")
    print_topics(fit.topics(8))
    print()
    report_run(fit, Path(out), time.perf_counter() - started, as_json=False)
    print(MEANING)
    print("\nTry next:")
    print(f"  ppl-topics report {out}")
    print(f"  ppl-topics diagnose {out}")
    print(f"  ppl-topics topics {out} --words 15")
