r"""What covariates above the topics add to a sweep, beside tomotopy's Dirichlet-multinomial regression.

    python benchmarks/prevalence.py --data train.svmlight.gz --vocabulary vocab.txt --topics 20 100 --threads 2
    python benchmarks/prevalence.py --documents 1000000 --topics 50 --threads 2

The covariate of a document is its class: a column for each. "lda" is a sweep of LDA with the same kernel of z and alpha
fixed, "dmr" one that draws the coefficients too, and "dmr, rows" the same with a number beside the class, so that each
document has concentrations of its own. tomotopy's DMRModel has the class as its metadata, and estimates coefficients
by L-BFGS every 10 sweeps, its default; its sweeps are approximate with several workers. Without --data it runs small,
on simulated documents. With --documents these have 100 tokens on average and three covariates: one of 2 values, one of
7, and one of 3 categories; "rows" has a number that differs in each beside them, and tomotopy is left out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from common import ALPHA, BETA, Results, classes_of, default_threads, load, name_of, parser, print_table
from peers import quiet
from simulate import simulate as simulate_tokens
from supervised import simulate

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.tree import steps

EACH = 10
"""Sweeps that are timed together by default: as many as tomotopy makes between two estimates of its coefficients."""

LENGTH = 100
"""Tokens of a simulated document, on average."""

Run = Callable[[], float]
"""Runs some sweeps, and returns the share of their time that the coefficients took."""


def ours(corpus: pt.Corpus, model: Any, sweeps: int = EACH, **parameters: Any) -> Run:
    """Return what runs some sweeps of a model."""
    plan = make_plan(pt.load_spec(model, parameters), CorpusSizes.of(corpus))
    bound = bind(plan, corpus)
    executor, state, done = Executor(bound), bound.initial_state(1, 0), [0]
    memories = executor.memories(state)

    steps_of_gamma = [step.variable == "gamma" for step in steps(plan.schedule)]

    def run() -> float:
        seconds = np.zeros(len(steps_of_gamma))
        for _ in range(sweeps):
            seconds += executor.sweep(state, memories, 1, 0, done[0]).seconds
            done[0] += 1
        return float(seconds[steps_of_gamma].sum() / seconds.sum())

    return run


def tomotopy_dmr(corpus: pt.Corpus, classes: list[str], topics: int, threads: int) -> Run:
    """Return what runs some sweeps of tomotopy's model."""
    import tomotopy

    model = tomotopy.DMRModel(k=topics, alpha=ALPHA, eta=BETA, seed=1)
    words, doc_ptr = corpus.vocabulary.tolist(), corpus.doc_ptr
    for d in np.flatnonzero(np.diff(doc_ptr)):
        model.add_doc([words[w] for w in corpus.words[doc_ptr[d] : doc_ptr[d + 1]]], metadata=classes[d])

    def run() -> float:
        with quiet():
            model.train(EACH, workers=threads)
        return np.nan

    return run


def programs(corpus: pt.Corpus, topics: int, threads: int) -> dict[str, Run]:
    """Return the programs by name."""
    classes = classes_of(corpus)
    number = np.random.default_rng(1).normal(size=len(classes))
    by_class = corpus.with_covariates(pd.DataFrame({"class": classes}))
    rows = corpus.with_covariates(pd.DataFrame({"class": classes, "number": number}))
    how: dict[str, Any] = {"topics": topics, "beta": BETA}
    return {
        "lda": ours(corpus, "lda", alpha=ALPHA, **how),
        "dmr": ours(by_class, "dmr", **how),
        "dmr, rows": ours(rows, "dmr", **how),
        "tomotopy": tomotopy_dmr(by_class, classes, topics, threads),
    }


def simulated_programs(documents: int, topics: int, sweeps: int) -> tuple[pt.Corpus, dict[str, Run]]:
    """Return simulated documents, and ours by name, whose topics depend on three covariates of few values."""
    corpus = simulate_tokens(LENGTH * documents, LENGTH, topics)
    rng, number = np.random.default_rng(1), corpus.n_docs
    few = {"treatment": rng.integers(0, 2, number), "party": rng.integers(1, 8, number)}
    frame = pd.DataFrame({**few, "region": rng.choice(["east", "north", "south"], number)})
    how: dict[str, Any] = {"topics": topics, "beta": BETA, "sweeps": sweeps}
    return corpus, {
        "lda": ours(corpus, "lda", alpha=ALPHA, **how),
        "dmr": ours(corpus.with_covariates(frame), "dmr", **how),
        "dmr, rows": ours(corpus.with_covariates(frame.assign(age=rng.normal(size=number))), "dmr", **how),
    }


def measure(made: dict[str, Run], rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the seconds of each program's rounds, taken in turn after one that is left out, and shares of gamma."""
    seconds: dict[str, list[float]] = {name: [] for name in made}
    shares: dict[str, list[float]] = {name: [] for name in made}
    for number in range(rounds + 1):
        for name, run in made.items():
            started = time.perf_counter()
            share = run()
            if number:
                seconds[name].append(time.perf_counter() - started)
                shares[name].append(share)
    return seconds, shares


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--documents", type=int, help="simulate as many")
    arguments.add_argument("--sweeps", type=int, default=EACH, help="of simulated documents, to time together")
    arguments.add_argument("--topics", type=int, nargs="+", default=[5])
    arguments.add_argument("--threads", type=int, default=default_threads()[-1])
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    use_threads(options.threads)
    about: dict[str, Any] = {"corpus": name_of(options.data, "simulated"), "threads": options.threads}
    results = Results(options.results, "prevalence", "What do covariates above the topics cost?", **about)
    if options.documents is None:
        corpus = simulate(400, 3) if options.data is None else load(options.data, options.vocabulary)
    rows = []
    for topics in options.topics:
        if options.documents is None:
            made = programs(corpus, topics, options.threads)
        else:
            corpus, made = simulated_programs(options.documents, topics, options.sweeps)
        sizes = {"K": topics} if options.documents is None else {"K": topics, "documents": corpus.n_docs}
        seconds, shares = measure(made, options.rounds)
        median = {name: statistics.median(values) for name, values in seconds.items()}
        for name, values in seconds.items():
            sweeps = EACH if options.documents is None else options.sweeps
            speed = [sweeps * corpus.n_tokens / value / 1e6 for value in values]
            peers = [peer for peer in ("tomotopy", "lda") if peer in median and name not in (peer, "tomotopy")]
            ratios = {peer: median[peer] / median[name] for peer in peers}
            results.add(name, "million tokens a second", speed, ratios, **sizes)
            if name.startswith("dmr"):
                results.add(name, "share of a sweep that draws the coefficients", shares[name], **sizes)
            found = [f"{peer} {ratio:.2f}" for peer, ratio in ratios.items()]
            rows.append([name, str(topics), f"{statistics.median(speed):.3g}", ", ".join(found)])
    print_table(["program", "K", "million tokens / s", "over"], rows)


if __name__ == "__main__":
    main()
