r"""What it costs to look after each kernel for numbers that are not finite, as a share of a sweep.

    python benchmarks/finite.py --data train.svmlight.gz --vocabulary vocab.txt --models lda slda_logistic dolda \
        --topics 100 500 --threads 2

Sweeps are run as those of draws are: what the trace keeps is drawn in each. "checks" are the seconds spent looking
through arrays after the steps, and "share" is that over the seconds of the whole sweep, both medians over sweeps. The
kernels of phi that look at their sums spend a few operations a topic on it, which are not told apart. "recording" is
what the same look at the values that are drawn for the trace alone, and the log posterior, takes. Without --data it
runs small, on simulated documents.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from common import Results, default_threads, load, name_of, parser, print_table
from supervised import simulate

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.core.state import ChainState
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.finite_check import FiniteCheck, check_recorded
from ppl_topics.engine.recorder import selections
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes


class Clock:
    """Adds up the seconds of the checks."""

    def __init__(self) -> None:
        self.seconds = 0.0
        look = FiniteCheck.__call__

        def timed(check: FiniteCheck, state: ChainState, sweep: int, chain: int) -> None:
            started = time.perf_counter()
            look(check, state, sweep, chain)
            self.seconds += time.perf_counter() - started

        FiniteCheck.__call__ = timed  # type: ignore[method-assign]

    def taken(self) -> float:
        """Return the seconds since the last call."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def measure(corpus: pt.Corpus, model: str, topics: int, burn_in: int, sweeps: int, clock: Clock) -> dict[str, Any]:
    """Return the medians over sweeps of their seconds, and of those that looking took."""
    bound = bind(make_plan(pt.load_spec(model, {"topics": topics}), CorpusSizes.of(corpus)), corpus)
    executor = Executor(bound)
    state = bound.initial_state(1, 0)
    memories = executor.memories(state)
    kept = selections(bound)
    seconds, checks = [], []
    for sweep in range(burn_in + sweeps):
        clock.taken()
        started = time.perf_counter()
        executor.sweep(state, memories, 1, 0, sweep, kept.keys())
        seconds.append(time.perf_counter() - started)
        checks.append(clock.taken())
    recording = [look_at_drawn(bound.sizes.docs, topics, kept) for _ in range(sweeps)]
    whole, looking = statistics.median(seconds[burn_in:]), statistics.median(checks[burn_in:])
    return {
        "model": model,
        "topics": topics,
        "sweep": whole,
        "checks": looking,
        "share": looking / whole,
        "recording": statistics.median(recording),
    }


def look_at_drawn(docs: int, topics: int, kept: dict[str, Any]) -> float:
    """Return the seconds of looking at the recorded part of theta and the log posterior."""
    n_docs = kept["theta"].docs or docs if "theta" in kept else 0
    theta = np.ones((n_docs, topics), np.float32)
    started = time.perf_counter()
    check_recorded({"lp": -1.0, "theta": theta}, 0, 0)
    return time.perf_counter() - started


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--models", nargs="+", default=["lda", "dolda"])
    arguments.add_argument("--topics", type=int, nargs="+", default=[5])
    arguments.add_argument("--threads", type=int, default=default_threads()[-1])
    arguments.add_argument("--burn-in", type=int, default=3)
    arguments.add_argument("--sweeps", type=int, default=9)
    options = arguments.parse_args()
    use_threads(options.threads)
    clock = Clock()
    about = {"corpus": name_of(options.data, "simulated"), "threads": options.threads}
    results = Results(options.results, "finite", "What do checks for non-finite numbers cost?", **about)
    corpus = simulate(400, 1) if options.data is None else load(options.data, options.vocabulary)
    found = [
        measure(corpus, model, topics, options.burn_in, options.sweeps, clock)
        for model in options.models
        for topics in options.topics
    ]
    header = ["model", "K", "s / sweep", "ms checks", "share", "ms recording"]
    rows = [
        [
            *(r["model"], str(r["topics"]), f"{r['sweep']:.4f}", f"{1e3 * r['checks']:.3f}"),
            *(f"{100 * r['share']:.3f}%", f"{1e3 * r['recording']:.3f}"),
        ]
        for r in found
    ]
    print_table(header, rows)
    for r in found:
        results.add(r["model"], "per cent of a sweep", 100 * r["share"], K=r["topics"])


if __name__ == "__main__":
    main()
