"""LDA: log p(w, z) per token, and seconds, of our kernels and of tomotopy in one run.

    python benchmarks/lda.py --data train.svmlight.gz --vocabulary vocab.txt

Without a file, the corpus is the embedded one, the docstrings of the scientific Python stack.

Each program runs the same number of sweeps on the same tokens with the same fixed concentrations, and every
state is scored by the same function. The programs take turns, so that a drift of the machine's speed falls
on all of them alike; read the ratios, not the seconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import tomotopy

import ppl_topics as pt
from ppl_topics.api import corpus_sizes
from ppl_topics.diagnostics.likelihood import log_marginal
from ppl_topics.run.bind import BoundModel, bind
from ppl_topics.run.chains import use_threads
from ppl_topics.run.execute import Executor
from ppl_topics.schedule import make_plan
from ppl_topics.state import ChainState

ALPHA, BETA = 0.1, 0.01
KERNELS = ("sparse_partially_collapsed", "partially_collapsed", "collapsed_gibbs")

Result = tuple[float, float]
"""Seconds of all sweeps, and log p(w, z) / N after them."""


def score(corpus: pt.Corpus, z: np.ndarray, topics: int) -> float:
    """Return log p(w, z) / N."""
    n_wk = np.zeros((corpus.n_words, topics), dtype=np.int32)
    np.add.at(n_wk, (corpus.words, z), 1)
    alpha, beta = np.full(topics, ALPHA), np.full(corpus.n_words, BETA)
    value = log_marginal(np.array(corpus.doc_ptr), z, n_wk, n_wk.sum(axis=0, dtype=np.int64), alpha, beta)
    return value / corpus.n_tokens


def bound_model(corpus: pt.Corpus, kernel: str, topics: int) -> BoundModel:
    """Return LDA under one assignment kernel, phi being drawn wherever the kernel leaves it stale or reads it."""
    model, schedule = "lda", pt.cycle(pt.step("z", kernel), pt.step("phi", "dirichlet_rows"))
    if kernel == "collapsed_gibbs":
        model, schedule = "lda_collapsed", pt.cycle(pt.step("z", kernel))
    spec = pt.load_spec(model, {"topics": topics, "alpha": ALPHA, "beta": BETA})
    return bind(make_plan(spec.with_schedule(schedule, "benchmark"), corpus_sizes(corpus)), corpus)


def ours(corpus: pt.Corpus, kernel: str, topics: int, sweeps: int, threads: int, seed: int) -> Result:
    """Time whole sweeps (z, counts, tables, phi) of one of our kernels; nothing is recorded."""
    bound = bound_model(corpus, kernel, topics)
    executor = Executor(bound)
    use_threads(threads)
    state: ChainState = bound.initial_state(seed, 0)
    memories = executor.memories(state)
    started = time.perf_counter()
    for sweep in range(sweeps):
        executor.sweep(state, memories, seed, 0, sweep)
    return time.perf_counter() - started, score(corpus, state.z, topics)


def theirs(corpus: pt.Corpus, topics: int, sweeps: int, workers: int, seed: int) -> Result:
    """Time tomotopy's training, its own tuning of the concentrations switched off."""
    model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=seed)
    model.optim_interval = 0
    words = corpus.vocabulary.tolist()
    lengths = corpus.doc_lengths
    for d in range(corpus.n_docs):
        if lengths[d]:
            model.add_doc([words[w] for w in corpus.tokens(d)])
    model.train(0)
    started = time.perf_counter()
    model.train(sweeps, workers=workers)
    seconds = time.perf_counter() - started
    # Its documents keep the order of ours, and of their tokens, so their topics line up.
    z = np.concatenate([np.asarray(doc.topics) for doc in model.docs]).astype(np.uint16)
    names = np.concatenate([np.asarray(doc.words) for doc in model.docs])
    assert np.array_equal(np.asarray(model.vocabs, dtype=object)[names], corpus.vocabulary[corpus.words])
    return seconds, score(corpus, z, topics)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--vocabulary")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    corpus = pt.read_corpus(options.data, vocabulary=options.vocabulary) if options.data else pt.load_docstrings()
    # Words of the test set alone would make our model larger than tomotopy's, which never sees them.
    corpus = corpus.with_vocabulary(corpus.vocabulary[corpus.word_counts > 0])
    print(f"{corpus}; K = {options.topics}, {options.sweeps} sweeps, {options.threads} threads")
    programs: dict[str, Callable[[int, int], Result]] = {}
    for kernel in KERNELS:
        programs[kernel] = lambda sweeps, seed, kernel=kernel: ours(
            corpus, kernel, options.topics, sweeps, options.threads, seed
        )
    for workers in sorted({1, options.threads}):
        programs[f"tomotopy, {workers} worker(s)"] = lambda sweeps, seed, workers=workers: theirs(
            corpus, options.topics, sweeps, workers, seed
        )
    for kernel in KERNELS:
        programs[kernel](1, 0)  # compiles
    results: dict[str, list[Result]] = {name: [] for name in programs}
    for seed in range(1, options.rounds + 1):
        for name, program in programs.items():
            results[name].append(program(options.sweeps, seed))
    reference = f"tomotopy, {options.threads} worker(s)"
    print(f"{'program':<28} {'seconds':>8} {'M tokens/s':>11} {'log p(w,z)/N':>13} {'speed / ' + reference:>30}")
    for name, runs in results.items():
        seconds = statistics.median(r[0] for r in runs)
        ratio = statistics.median(t[0] / r[0] for r, t in zip(runs, results[reference], strict=True))
        speed = corpus.n_tokens * options.sweeps / seconds / 1e6
        print(f"{name:<28} {seconds:8.1f} {speed:11.2f} {statistics.median(r[1] for r in runs):13.4f} {ratio:30.2f}")


if __name__ == "__main__":
    main()
