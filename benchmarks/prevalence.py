r"""What covariates above the topics add to a sweep, beside tomotopy's Dirichlet-multinomial regression.

    python benchmarks/prevalence.py --data train.svmlight.gz --vocabulary vocab.txt --topics 20 100 --threads 2

The covariate of a document is its class: a column for each. "lda" is a sweep of LDA with the same kernel of z and alpha
fixed, "dmr" one that draws the coefficients too, and "dmr, rows" the same with a number beside the class, so that each
document has concentrations of its own. tomotopy's DMRModel has the class as its metadata, and estimates coefficients
by L-BFGS every 10 sweeps, its default; its sweeps are approximate with several workers. Without --data it runs small,
on simulated documents.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from common import ALPHA, BETA, Results, default_threads, load, name_of, parser, print_table
from peers import quiet
from supervised import simulate

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes

EACH = 10
"""Sweeps that are timed together: as many as tomotopy makes between two estimates of its coefficients."""

Run = Callable[[], None]


def ours(corpus: pt.Corpus, model: str, topics: int) -> Run:
    """Return what runs some sweeps of a model."""
    fixed = {"alpha": ALPHA} if model == "lda" else {}
    plan = make_plan(pt.load_spec(model, {"topics": topics, "beta": BETA, **fixed}), CorpusSizes.of(corpus))
    bound = bind(plan, corpus)
    executor, state, done = Executor(bound), bound.initial_state(1, 0), [0]
    memories = executor.memories(state)

    def run() -> None:
        for _ in range(EACH):
            executor.sweep(state, memories, 1, 0, done[0])
            done[0] += 1

    return run


def tomotopy_dmr(corpus: pt.Corpus, classes: list[str], topics: int, threads: int) -> Run:
    """Return what runs some sweeps of tomotopy's model."""
    import tomotopy

    model = tomotopy.DMRModel(k=topics, alpha=ALPHA, eta=BETA, seed=1)
    words, doc_ptr = corpus.vocabulary.tolist(), corpus.doc_ptr
    for d in np.flatnonzero(np.diff(doc_ptr)):
        model.add_doc([words[w] for w in corpus.words[doc_ptr[d] : doc_ptr[d + 1]]], metadata=classes[d])

    def run() -> None:
        with quiet():
            model.train(EACH, workers=threads)

    return run


def programs(corpus: pt.Corpus, topics: int, threads: int) -> dict[str, Run]:
    """Return the programs by name."""
    labels = corpus.labels
    assert labels is not None, "a corpus with classes"
    classes = [str(labels.classes[value]) for value in labels.values]
    number = np.random.default_rng(1).normal(size=len(classes))
    by_class = corpus.with_covariates(pd.DataFrame({"class": classes}))
    rows = corpus.with_covariates(pd.DataFrame({"class": classes, "number": number}))
    return {
        "lda": ours(corpus, "lda", topics),
        "dmr": ours(by_class, "dmr", topics),
        "dmr, rows": ours(rows, "dmr", topics),
        "tomotopy": tomotopy_dmr(by_class, classes, topics, threads),
    }


def measure(made: dict[str, Run], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each program's rounds, taken in turn after one that is left out."""
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for number in range(rounds + 1):
        for name, run in made.items():
            started = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, nargs="+", default=[5])
    arguments.add_argument("--threads", type=int, default=default_threads()[-1])
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    use_threads(options.threads)
    about: dict[str, Any] = {"corpus": name_of(options.data, "simulated"), "threads": options.threads}
    results = Results(options.results, "prevalence", "What do covariates above the topics cost?", **about)
    corpus = simulate(400, 3) if options.data is None else load(options.data, options.vocabulary)
    rows = []
    for topics in options.topics:
        seconds = measure(programs(corpus, topics, options.threads), options.rounds)
        median = {name: statistics.median(values) for name, values in seconds.items()}
        for name, values in seconds.items():
            speed = [EACH * corpus.n_tokens / value / 1e6 for value in values]
            ratios = {} if name == "tomotopy" else {"tomotopy": median["tomotopy"] / median[name]}
            ratios |= {"lda": median["lda"] / median[name]} if name.startswith("dmr") else {}
            results.add(name, "million tokens a second", speed, ratios, K=topics)
            rows.append([name, str(topics), f"{statistics.median(speed):.3g}", *(f"{r:.2f}" for r in ratios.values())])
    print_table(
        ["program", "K", "million tokens / s", "over tomotopy", "over lda"], [r + [""] * (5 - len(r)) for r in rows]
    )


if __name__ == "__main__":
    main()
