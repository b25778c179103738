"""Arguments, schedules and paths of chains that `inefficiency.py`, `ad_lda_drift.py` and `race.py` share."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.log_joint import density_n_dk, density_n_kw, log_marginal

LOG, DENSITY_DOCS, DENSITY_WORDS = "log p(w, z) / N", "density of n_dk", "density of n_wk"


def parser(description: str | None, topics: Sequence[int], kernels: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with the arguments of every study."""
    result = argparse.ArgumentParser(description=(description or "").split("\n\n")[0])
    result.add_argument("--data", help="corpus; by default the docstrings of the scientific Python stack")
    result.add_argument("--vocabulary", help="the words of a corpus that has only their ids, one a line")
    result.add_argument("--min-count", type=int, default=10, help="drop words that occur less often (10)")
    result.add_argument("--topics", type=int, nargs="+", default=list(topics), metavar="K")
    result.add_argument("--kernels", nargs="+", default=list(kernels), help=f"kernels of z ({', '.join(kernels)})")
    result.add_argument("--seed", type=int, default=1)
    result.add_argument("--threads", type=int, help="all cores by default; the draws do not depend on it")
    result.add_argument("--out", type=Path, nargs="+", default=[], help="files to write: .csv, or .png for a figure")
    return result


def check_out(out: Sequence[Path], *suffixes: str) -> None:
    """Before hours of sampling, make sure that the results can be written."""
    for path in out:
        if path.suffix not in suffixes or not path.parent.is_dir():
            raise SystemExit(f"--out {path}: give a file that ends in {' or '.join(suffixes)}, in a folder that exists")
        if path.suffix == ".png":
            new_figure()


def read(options: argparse.Namespace, *suffixes: str) -> pt.Corpus:
    """Read the corpus, if the results can be written."""
    check_out(options.out, *suffixes)
    if options.threads is not None:
        use_threads(options.threads)
    if options.data is None:
        corpus = pt.load_docstrings(min_count=options.min_count)
    else:
        corpus = pt.read_corpus(options.data, vocabulary=options.vocabulary, min_count=options.min_count)
    print(corpus, flush=True)
    return corpus


def plan(kernel: str, topics: int, **options: Any) -> pt.Plan:
    """Return LDA under a kernel of z: topics integrated out if the kernel does so, else drawn once in each sweep."""
    z, phi = pt.step("z", kernel, **options), pt.step("phi", "dirichlet_rows")
    refused: list[pt.ScheduleError] = []
    for model, schedule in (("lda_collapsed", pt.cycle(z)), ("lda", pt.cycle(z, phi)), ("lda", pt.cycle(z))):
        try:
            return pt.plan(model, schedule=schedule, topics=topics)
        except pt.ScheduleError as error:
            refused.append(error)
    raise refused[0]


def path(plan: pt.Plan, corpus: pt.Corpus, *, seed: int, sweeps: int, seconds: float = float("inf")) -> pd.DataFrame:
    """Run one chain from random topics, the same for all plans of a seed; return a row for the start and each sweep.

    It ends after a number of sweeps, or of seconds of sampling, compiling and measuring not included.
    """
    bound = bind(plan, corpus)
    executor, rows = Executor(bound), []
    # One sweep first, from another state, so that everything is compiled.
    trial, state = bound.initial_state(seed, 0), bound.initial_state(seed, 0)
    executor.sweep(trial, executor.memories(trial), seed, 0, 0)
    started = time.perf_counter()
    memories = executor.memories(state)
    elapsed = time.perf_counter() - started
    for sweep in range(sweeps + 1):
        value = log_marginal(bound.tokens.doc_ptr, state.z, state.n_wk, state.n_k, state.alpha, state.beta)
        rows.append(
            {
                "topics": plan.model.spec.topics,
                "sweep": sweep,
                "seconds": elapsed,
                LOG: value / corpus.n_tokens,
                DENSITY_DOCS: density_n_dk(bound.tokens.doc_ptr, state.z, bound.sizes.topics),
                DENSITY_WORDS: density_n_kw(state.n_wk),
            }
        )
        if sweep == sweeps or elapsed >= seconds:
            break
        elapsed += executor.sweep(state, memories, seed, 0, sweep).seconds.sum()
    return pd.DataFrame(rows)


def write(paths: pd.DataFrame, out: Sequence[Path], x: str, measures: Sequence[str], skip: float = 0.0) -> None:
    """Write the paths as .csv, or as .png without the first share of x, whose range would hide later differences."""
    for path in out:
        if path.suffix == ".csv":
            paths.to_csv(path, index=False)
            continue
        groups = list(paths[paths[x] >= skip * paths[x].max()].groupby("topics"))
        figure = new_figure(figsize=(4.5 * len(measures) + 2, 3.5 * len(groups)), layout="constrained")
        panels = figure.subplots(len(groups), len(measures), squeeze=False)
        for row, (topics, group) in zip(panels, groups, strict=True):
            for panel, measure in zip(row, measures, strict=True):
                for sampler, line in group.groupby("sampler", sort=False):
                    panel.plot(line[x], line[measure], label=sampler)
                panel.set(title=f"K = {topics}", xlabel=x, ylabel=measure)
        panels[0, -1].legend(loc="upper left", bbox_to_anchor=(1, 1))
        figure.savefig(path, dpi=150)


def new_figure(**options: Any) -> Any:
    """Return a matplotlib figure; nothing else here needs matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise SystemExit("a figure needs matplotlib: pip install 'ppl-topics[examples]'") from None
    return Figure(**options)
