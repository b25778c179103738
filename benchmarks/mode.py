"""Seconds to the mode by kernel of z, size of corpus and threads, and what the scheduler chooses.

    python benchmarks/mode.py --docs 500 2500 0 --topics 20 100 --data train.svmlight.gz --vocabulary vocab.txt

Each kernel starts from the same random topics. The mode is reached when log p(w, z) / N is within 1% of the best that
any of them has after --sweeps. Seconds are the sweeps until then, by the median seconds of a sweep: of later sweeps for
the threads of this machine, and for more threads the forecast of `ppl-topics plan`, which stands for a machine with as
many cores. --docs takes so many documents at random (0: all), with words that occur 5 times.
"""

from __future__ import annotations

import itertools
import statistics

import numpy as np
from common import ALPHA, BETA, Results, bound_model, default_threads, load, name_of, parser, score

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule.costs import CorpusSizes, sweep_seconds
from ppl_topics.schedule.tree import steps

KERNELS = ["block_collapsed", "partially_collapsed", "sparse_partially_collapsed"]
CLOSE = 0.01
FORECAST = [4, 16, 64]
"""Threads that this machine need not have."""


def climb(corpus: pt.Corpus, kernel: str, topics: int, seed: int, sweeps: int) -> tuple[list[float], dict[int, float]]:
    """Return log p(w, z) / N after each sweep, and the seconds of a later sweep by threads."""
    bound = bound_model(corpus, kernel, topics)
    executor, state = Executor(bound), bound.initial_state(seed, 0)
    memories, scores = executor.memories(state), []
    for sweep in range(sweeps):
        executor.sweep(state, memories, seed, 0, sweep)
        scores.append(score(corpus, state.z, topics))
    seconds: dict[int, list[float]] = {threads: [] for threads in default_threads()}
    # In turn, so that what disturbs the machine disturbs all alike.
    for sweep, threads in itertools.product(range(sweeps, sweeps + 9), seconds):
        use_threads(threads)
        seconds[threads].append(executor.sweep(state, memories, seed, 0, sweep).seconds.sum())
    return scores, {threads: statistics.median(values) for threads, values in seconds.items()}


def sweeps_to(level: float, scores: list[float]) -> float:
    """Return the number of sweeps until the scores reach a level, NaN if they do not."""
    reached = np.flatnonzero(np.asarray(scores) >= level)
    return float(reached[0] + 1) if len(reached) else float("nan")


def compare(corpus: pt.Corpus, topics: int, seeds: int, sweeps: int, results: Results) -> None:
    """Measure one corpus and one number of topics."""
    sizes = CorpusSizes.of(corpus)
    runs = {(k, s): climb(corpus, k, topics, s, sweeps) for s, k in itertools.product(range(1, seeds + 1), KERNELS)}
    plan = pt.plan("lda", corpus, topics=topics, alpha=ALPHA, beta=BETA)
    chosen = next(step.kernel.name for step in steps(plan.schedule) if step.variable == "z")
    for kernel in KERNELS:
        needed = []
        for seed in range(1, seeds + 1):
            best = max(runs[other, seed][0][-1] for other in KERNELS)
            needed.append(sweeps_to(best * (1 + CLOSE), runs[kernel, seed][0]))
        at = {"docs": corpus.n_docs, "tokens": corpus.n_tokens, "K": topics}
        program = f"{kernel} (chosen)" if kernel == chosen else kernel
        results.add(program, "sweeps to the mode", needed, **at)
        here = {t: statistics.median(runs[kernel, s][1][t] for s in range(1, seeds + 1)) for t in default_threads()}
        node = bound_model(corpus, kernel, topics).plan.schedule
        forecast = {t: sweep_seconds(node, sizes, topics, t) for t in FORECAST}
        for threads, seconds in (here | forecast).items():
            name = f"seconds, {threads} thread{'s' * (threads > 1)}{' (forecast)' * (threads in forecast)}"
            results.add(program, name, [seconds * n for n in needed], **at)
            print(
                f"{corpus.n_tokens:,} tokens, K = {topics}, {program}: {name} {seconds * np.median(needed):.3g}",
                flush=True,
            )


def main() -> None:
    """Do what the command line asks for."""
    arguments = parser(__doc__)
    arguments.add_argument("--data", help="corpus; by default the docstrings of the scientific Python stack")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--docs", type=int, nargs="+", default=[500, 0], help="documents, 0 for all (500 0)")
    arguments.add_argument("--topics", type=int, nargs="+", default=[20])
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--sweeps", type=int, default=50, help="after which the best is the mode (50)")
    options = arguments.parse_args()
    whole = load(options.data, options.vocabulary)
    order = np.random.default_rng(0).permutation(whole.n_docs)
    question = "Which kernel is first at the mode?"
    results = Results(options.results, "mode", question, corpus=name_of(options.data), sweeps=options.sweeps)
    for docs, topics in itertools.product(options.docs, options.topics):
        part = whole.select(order[: docs or whole.n_docs])
        part = part.with_vocabulary(part.vocabulary[part.word_counts >= 5])
        compare(part, topics, options.seeds, options.sweeps, results)


if __name__ == "__main__":
    main()
