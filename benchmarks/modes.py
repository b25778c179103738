"""Which warm-up brings four chains of LDA to better modes, and to the same topics.

    python benchmarks/modes.py --topics 20 --sweeps 300 --seeds 1 2 3 4 5

Each way runs four chains for --sweeps sweeps before 50 kept draws, with the kernel that the scheduler chooses, so that
all take about the same time. They are:

- plain: from random topics, not annealed;
- temperature T: from random topics, annealed (`warmup: {temperature: T}`, of which T = 20 is the default);
- clusters of documents: nine of ten tokens start in the topic of their document's cluster, by scikit-learn's k-means on
  tf-idf, started by k-means++ with another seed for each chain;
- anchor words: tokens start in topics drawn given the phi that anchor words lead to (Arora et al. 2013).

Its figures are log p(w, z) / N of the kept draws, how many nats of it are between the best and the worst chain, and how
many topics recur in all four; with `--draws N`, of more kept draws, instead how many effective draws of a topic's ten
most probable words the kernels make in a second of all chains (median over words and topics). `--figure FILE` draws
what the results have by now, and runs nothing.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import ALPHA, BETA, Results, load_frequent, name_of, parser
from starts import by_anchors, by_cluster

import ppl_topics as pt
from ppl_topics.diagnostics.comparison import inefficiency_table

CHAINS, DRAWS, TOP_WORDS = 4, 50, 10
ABREAST = 4
"""Runs side by side in the figure."""
CLUSTERS = "clusters of documents"
STARTS = {CLUSTERS: by_cluster, "anchor words": by_anchors}
MEASURES = ("log p(w, z) / N", "nats between the chains", "topics that recur in all", "seconds")
EFFECTIVE = ("effective draws of top words a second",)


def ends_of(fit: pt.Fit, corpus: pt.Corpus) -> tuple[float, float, int]:
    """Return log p(w, z) / N, its range over chains in nats, and how many topics recur in all chains."""
    ends = fit.groups["sample_stats"]["log_marginal"].values.mean(axis=1)
    alike = int((fit.topic_agreement()["recurs_in"] == CHAINS - 1).sum())
    return float(ends.mean()) / corpus.n_tokens, float(np.ptp(ends)), alike


def effective_draws(fit: pt.Fit) -> float:
    """Return the effective draws of top words in all chains, for each second of their kernels."""
    row = inefficiency_table({"fit": fit}, ["phi"], top_words=TOP_WORDS).iloc[0]
    draws = fit.posterior.sizes["chain"] * fit.posterior.sizes["draw"]
    return float(draws / row["median"] / fit.groups["sample_stats"]["step_seconds"].sum())


def draw(results: Path, figure: Path) -> None:
    """Draw log p(w, z) / N, above that of plain warm-ups, and the topics that recur in all chains."""
    import matplotlib.pyplot as plt

    records = [json.loads(line) for line in results.read_text().splitlines()]
    by_run = {(r["setting"]["corpus"], r["setting"]["K"], r["program"], r["measure"]): r for r in records}
    runs = sorted({(corpus, topics) for corpus, topics, *_ in by_run})
    ways = ["plain", *STARTS, "temperature 20", "temperature 100"]
    # Text stays text, and the file has the same bytes each time.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "modes", "font.family": "sans-serif"})
    lines = -(-len(runs) // ABREAST)
    fig, panels = plt.subplots(2 * lines, ABREAST, figsize=(10.5, 3.6 * lines), sharey=True)
    for unused in panels.flat:
        unused.set_visible(False)
    for number, run in enumerate(runs):
        own = panels[2 * (number // ABREAST) :, number % ABREAST]
        for row, measure in enumerate((MEASURES[0], MEASURES[2])):
            panel, zero = own[row], by_run[*run, "plain", measure]["median"] if row == 0 else 0.0
            panel.set_visible(True)
            for place, way in enumerate(ways):
                found = by_run.get((*run, way, measure))
                if found is None:
                    continue
                panel.plot([found["min"] - zero, found["max"] - zero], [place, place], color="0.6", lw=2)
                panel.plot(found["median"] - zero, place, "o", color="C0")
            panel.set_yticks(range(len(ways)), ways)
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_xlabel("log p(w, z) / N above plain" if row == 0 else "topics that recur in all four")
        corpus = "20 Newsgroups" if run[0].startswith("train") else run[0]
        own[0].set_title(f"{corpus}, K = {run[1]}", fontsize=10)
    panels[0, 0].invert_yaxis()
    fig.tight_layout()
    fig.savefig(figure, metadata={"Date": None} if figure.suffix == ".svg" else None)


def main() -> None:
    """Do what the command line asks for."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", help="corpus; by default the docstrings of the scientific Python stack")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, default=20)
    arguments.add_argument("--sweeps", type=int, default=300)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1])
    arguments.add_argument("--temperatures", type=float, nargs="+", default=[20, 100])
    arguments.add_argument("--ways", nargs="+", metavar="NAME", help="some of them, such as 'anchor words'")
    arguments.add_argument("--draws", type=int, metavar="N", help="measure effective draws a second, in so many")
    arguments.add_argument("--figure", type=Path, metavar="FILE", help="draw the results")
    options = arguments.parse_args()
    if options.figure:
        draw(options.results / "modes.jsonl", options.figure)
        return
    corpus = load_frequent(options.data, options.vocabulary)
    setting = {"corpus": name_of(options.data), "K": options.topics, "sweeps": options.sweeps}
    results = Results(options.results, "modes", "Which warm-up leads to better modes?", **setting)
    annealed = {f"temperature {t:g}": {"warmup_schedule": {"temperature": t}} for t in options.temperatures}
    plain = {"warmup_schedule": {"temperature": 1}}
    ways: dict[str, dict[str, Any]] = {"plain": plain, **{way: {} for way in STARTS}, **annealed}
    if not ways.keys() >= set(options.ways or ()):
        arguments.error(f"argument --ways: the ways are {', '.join(map(repr, ways))}")
    ways = {way: ways[way] for way in options.ways or ways}
    figures: dict[str, list[tuple[float, ...]]] = {way: [] for way in ways}
    measures = EFFECTIVE if options.draws else MEASURES
    for seed in options.seeds:
        for way, how in ways.items():
            began = time.perf_counter()
            start = {"init": STARTS[way](corpus, options.topics, CHAINS, seed)} if way in STARTS else {}
            fit = pt.sample(
                "lda",
                corpus,
                topics=options.topics,
                alpha=ALPHA,
                beta=BETA,
                warmup=options.sweeps,
                draws=options.draws or DRAWS,
                chains=CHAINS,
                seed=seed,
                progress=False,
                record={"theta": "none"},
                **how,
                **start,
            )
            seconds = time.perf_counter() - began
            figures[way].append((effective_draws(fit),) if options.draws else (*ends_of(fit, corpus), seconds))
            print(f"seed {seed}, {way}: {figures[way][-1]}", flush=True)
        # After each seed, so that a run that is stopped keeps what it has found.
        for way, found in figures.items():
            for measure, values in zip(measures, zip(*found, strict=True), strict=True):
                results.add(way, measure, values)


if __name__ == "__main__":
    main()
