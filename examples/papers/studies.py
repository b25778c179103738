"""Arguments, schedules and paths of chains that `inefficiency.py`, `ad_lda_drift.py` and `race.py` share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numba
import pandas as pd

import ppl_topics as pt

LOG, DENSITY_DOCS, DENSITY_WORDS = "log p(w, z) / N", "density of n_dk", "density of n_wk"


def parser(description: str | None, topics: Sequence[int], kernels: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser with the arguments of every study."""
    result = argparse.ArgumentParser(description=(description or "").split("\n\n")[0])
    result.add_argument("--data", help="corpus; by default the docstrings of the scientific Python stack")
    result.add_argument("--vocabulary", help="the words of a corpus that has only their ids, one a line")
    result.add_argument("--min-count", type=int, default=10, help="drop words that occur less often (10)")
    result.add_argument("--topics", type=int, nargs="+", default=list(topics), metavar="K")
    result.add_argument("--kernels", nargs="+", default=list(kernels), help=f"kernels of z ({', '.join(kernels)})")
    result.add_argument("--seeds", type=int, default=1, help="chains for each point (1)")
    result.add_argument("--threads", type=int, nargs="+", default=[None], help="all cores by default")
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
    use(options.threads[0])
    if options.data is None:
        corpus = pt.load_docstrings(min_count=options.min_count)
    else:
        corpus = pt.read_corpus(options.data, vocabulary=options.vocabulary, min_count=options.min_count)
    print(corpus, flush=True)
    return corpus


def use(threads: int | None) -> int:
    """Use a number of threads, where one is given; return how many are used."""
    if threads is not None:
        numba.set_num_threads(threads)
    return numba.get_num_threads()


def plan(kernel: str, topics: int, parameters: Mapping[str, float] | None = None, **options: Any) -> pt.Plan:
    """Return LDA under a kernel of z: topics integrated out if the kernel does so, else drawn once in each sweep."""
    z, phi = pt.step("z", kernel, **options), pt.step("phi", "dirichlet_rows")
    refused: list[pt.ScheduleError] = []
    for model, schedule in (("lda_collapsed", pt.cycle(z)), ("lda", pt.cycle(z, phi)), ("lda", pt.cycle(z))):
        try:
            return pt.plan(model, schedule=schedule, topics=topics, **(parameters or {}))
        except pt.ScheduleError as error:
            refused.append(error)
    raise refused[0]


def path(plan: pt.Plan, corpus: pt.Corpus, *, seed: int, sweeps: int, seconds: float = float("inf")) -> pd.DataFrame:
    """Run one chain from random topics, the same for all plans of a seed; return a row for the start and each sweep.

    It ends after a number of sweeps, or of seconds of sampling, compiling and measuring not included.
    """
    chain, rows, elapsed = pt.Chain(plan.model.spec, corpus, seed=seed), [], 0.0
    # One sweep first, of a copy, so that everything is compiled.
    chain.copy().sweep()
    for sweep in range(sweeps + 1):
        of_state = chain.statistics()
        elapsed += float(of_state["step_seconds"].sum())
        rows.append(
            {
                "topics": plan.model.spec.topics,
                "sweep": sweep,
                "seconds": elapsed,
                LOG: of_state["log_marginal"] / corpus.n_tokens,
                DENSITY_DOCS: of_state["density_n_dk"],
                DENSITY_WORDS: of_state["density_n_kw"],
            }
        )
        if sweep == sweeps or elapsed >= seconds:
            break
        chain.sweep()
    return pd.DataFrame(rows)


def save(table: pd.DataFrame, out: Sequence[Path]) -> None:
    """Write a table to the files that end in .csv."""
    for path in out:
        if path.suffix == ".csv":
            table.to_csv(path, float_format="%.5g")


def draw(paths: pd.DataFrame, out: Sequence[Path], x: str, measures: Sequence[str], skip: float = 0.0) -> None:
    """Draw paths to the files that end in .png, without the first share of x, whose range would hide later differences.

    The chains of a sampler, one for each seed, have one colour.
    """
    for path in out:
        if path.suffix != ".png":
            continue
        groups = list(paths.groupby("topics"))
        figure = new_figure(figsize=(3.6 * len(measures) + 2, 3 * len(groups)), layout="constrained")
        panels = figure.subplots(len(groups), len(measures), squeeze=False)
        for row, (topics, group) in zip(panels, groups, strict=True):
            shown = group[group[x] >= skip * group[x].max()]
            for panel, measure in zip(row, measures, strict=True):
                for colour, (sampler, chains) in enumerate(shown.groupby("sampler", sort=False)):
                    for number, (_, line) in enumerate(chains.groupby("seed")):
                        label = None if number else sampler
                        panel.plot(line[x], line[measure], color=f"C{colour}", linewidth=1, label=label)
                panel.set(title=f"K = {topics}", xlabel=x, ylabel=measure)
        panels[0, -1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
        figure.savefig(path, dpi=80)


def new_figure(**options: Any) -> Any:
    """Return a matplotlib figure; nothing else here needs matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise SystemExit("a figure needs matplotlib: pip install 'ppl-topics[examples]'") from None
    return Figure(**options)
