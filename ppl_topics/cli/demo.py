"""``ppl-topics demo``: LDA on a corpus that every installation has."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from ppl_topics.cli import corpus_options as co
from ppl_topics.cli.output import say
from ppl_topics.cli.report import print_topics
from ppl_topics.cli.run import report_run, save, say_if_stopped
from ppl_topics.cli.target import check_target

__all__ = ["demo"]

TOPICS = 20
DRAWS = 50
WARMUP = 50
CHAINS = 2


def demo(
    out: Annotated[str, typer.Option(help="Where to write the draws.", metavar="PATH")] = "demo.nc",
    seed: Annotated[int, typer.Option(help="Same seed, same draws.")] = 1,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress.")] = False,
) -> None:
    """Run LDA on texts that are here already, and show the result.

    The texts are the docstrings of the installed scientific Python packages. Nothing is downloaded. It takes
    about a minute, and replaces the result of an earlier demo.

    For example:
      ppl-topics demo --out /tmp/demo.nc
    """
    started = time.perf_counter()
    check_target(out, overwrite=True)
    say("loading")
    from ppl_topics.api.sampling import make_settings, resolve
    from ppl_topics.corpus import load_docstrings
    from ppl_topics.engine.run import run_plan
    from ppl_topics.fit import Fit
    from ppl_topics.schedule import make_plan
    from ppl_topics.schedule.costs import CorpusSizes

    how = make_settings(
        draws=DRAWS,
        warmup=WARMUP,
        chains=CHAINS,
        thin=1,
        seed=seed,
        threads=None,
        processes=1,
        debug=False,
        call="--{name}",
    )
    spec = resolve("lda", {"topics": TOPICS})
    say("reading the docstrings of the installed scientific Python packages")
    corpus = load_docstrings()
    say(co.describe(corpus))
    chosen = make_plan(spec, CorpusSizes.of(corpus))
    say(f"running LDA with {TOPICS} topics: {CHAINS} chains, {WARMUP} sweeps of warmup, {DRAWS} draws")
    fit = Fit(run_plan(chosen, corpus, how, chains=CHAINS, processes=1, progress=not no_progress))
    say_if_stopped(fit, DRAWS)
    path = save(fit, out)
    print("Topics, their share of the tokens and their most probable words (chain 0):\n")
    print_topics(fit.topics(8))
    print()
    report_run(fit, path, time.perf_counter() - started, as_json=False)
    print("\nTry next:")
    print(f"  ppl-topics diagnose {out}")
    print(f"  ppl-topics topics {out} --words 15")
