"""Seconds to the mode by kernel of z, size of corpus and threads, and what the scheduler chooses.

    python benchmarks/mode.py --docs 500 2500 0 --topics 20 100 --data train.svmlight.gz --vocabulary vocab.txt

Each kernel starts from the same random topics. The mode is reached when log p(w, z) / N is within 1% of the best that
any of them has after --sweeps; chains go on until they are there. Seconds are the sweeps until then, by the median
seconds of a sweep: of later sweeps for the threads of this machine, and for more threads the forecast of `ppl-topics
plan`. --docs takes so many documents at random (0: all), with words that occur 5 times.
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

KERNELS = ["block_collapsed", "partially_collapsed"]
CLOSE = 0.01
MOST = 10
"""Chains go on for so many times --sweeps, to reach the mode."""
FORECAST = [16, 64]
"""Threads that this machine need not have."""


class Climb:
    """A chain of one kernel, and log p(w, z) / N after each of its sweeps."""

    def __init__(self, corpus: pt.Corpus, kernel: str, topics: int, seed: int) -> None:
        self.bound = bound_model(corpus, kernel, topics)
        self.corpus, self.topics, self.seed = corpus, topics, seed
        self.executor, self.state = Executor(self.bound), self.bound.initial_state(seed, 0)
        self.memories, self.scores = self.executor.memories(self.state), list[float]()

    def sweep(self) -> float:
        """Return the seconds of a sweep."""
        record = self.executor.sweep(self.state, self.memories, self.seed, 0, len(self.scores))
        self.scores.append(score(self.corpus, self.state.z, self.topics))
        return float(record.seconds.sum())

    def to(self, level: float, most: int) -> float:
        """Go on until a level is reached; return the number of sweeps, or NaN if so many do not."""
        while len(self.scores) < most and max(self.scores, default=-np.inf) < level:
            self.sweep()
        reached = np.flatnonzero(np.asarray(self.scores) >= level)
        return float(reached[0] + 1) if len(reached) else float("nan")

    def seconds(self, threads: int) -> float:
        """Return the median seconds of further sweeps."""
        use_threads(threads)
        return statistics.median(self.sweep() for _ in range(9))


def compare(corpus: pt.Corpus, topics: int, seeds: int, sweeps: int, sweeps_of: Results, ratio: Results) -> None:
    """Measure one corpus and one number of topics."""
    sizes = CorpusSizes.of(corpus)
    plan = pt.plan("lda", corpus, topics=topics, alpha=ALPHA, beta=BETA)
    chosen = next(step.kernel.name for step in steps(plan.schedule) if step.variable == "z")
    needed: dict[str, list[float]] = {kernel: [] for kernel in KERNELS}
    for seed in range(1, seeds + 1):
        use_threads(max(default_threads()))
        chains = {kernel: Climb(corpus, kernel, topics, seed) for kernel in KERNELS}
        for chain in chains.values():
            chain.to(0.0, sweeps)
        level = (1 + CLOSE) * max(chain.scores[-1] for chain in chains.values())
        for kernel, chain in chains.items():
            needed[kernel].append(chain.to(level, MOST * sweeps))
    at, seconds = {"tokens": corpus.n_tokens, "K": topics}, dict[str, dict[str, float]]()
    for kernel, chain in chains.items():
        name = f"{kernel} (chosen)" if kernel == chosen else kernel
        sweeps_of.add(name, "sweeps", needed[kernel], **at)
        by_threads = {str(threads): chain.seconds(threads) for threads in default_threads()}
        schedule = chain.bound.plan.schedule
        by_threads |= {f"{t} (forecast)": sweep_seconds(schedule, sizes, topics, t) for t in FORECAST}
        seconds[kernel] = {t: each * statistics.median(needed[kernel]) for t, each in by_threads.items()}
        shown = ", ".join(f"{t} threads {value:.3g}" for t, value in seconds[kernel].items())
        print(
            f"{corpus.n_tokens:,} tokens, K = {topics}, {name}: {needed[kernel]} sweeps, seconds: {shown}", flush=True
        )
    for threads, value in seconds["block_collapsed"].items():
        other = seconds["partially_collapsed"][threads]
        ratio.add("block_collapsed", f"threads: {threads}", value / other, **at)


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
    setting = {"corpus": name_of(options.data)}
    sweeps_of = Results(options.results, "mode", "How many sweeps does a kernel take to the mode?", **setting)
    ratio = Results(options.results, "mode", "Which kernel is first at the mode?", **setting)
    for docs, topics in itertools.product(options.docs, options.topics):
        part = whole.select(order[: docs or whole.n_docs])
        part = part.with_vocabulary(part.vocabulary[part.word_counts >= 5])
        compare(part, topics, options.seeds, options.sweeps, sweeps_of, ratio)


if __name__ == "__main__":
    main()
