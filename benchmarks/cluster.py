"""Seconds a sweep of one chain on Dask workers of one thread each, against one process with as many threads.

    python benchmarks/cluster.py --tokens 1e7 --topics 100 --workers 2

The corpus comes from simulate.py. Both run the same kernel, and draw the same, which is checked; they take turns, a few
sweeps each, and the ratio is the median over turns. Each sweep is recorded as in warmup. Also printed are the bytes
that members send each other in a sweep, of --members logical ones in this process, over those of the formula given how
many counts are not zero.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from common import Results, bound_model, parser
from simulate import simulate

from ppl_topics._util.threads import use_threads
from ppl_topics.core.keys import Key
from ppl_topics.core.state import ChainState
from ppl_topics.engine.cluster.connection import connected
from ppl_topics.engine.cluster.members import Inline
from ppl_topics.engine.cluster.sharded import ShardedExecutor
from ppl_topics.engine.cluster.workers import Workers
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.recorder import ChainDraws, Recorder
from ppl_topics.schedule.spread import reduction_bytes, rotation_bytes


class Chain:
    """A chain that goes on by some sweeps at a time."""

    def __init__(self, executor: Executor) -> None:
        self.executor, self.state, self.done = executor, executor.bound.initial_state(1, 0), 0
        self.memories = executor.memories(self.state)
        self.recorder = Recorder(executor.bound, ChainDraws())

    def seconds(self, sweeps: int) -> float:
        """Return the seconds of each of some sweeps, which are recorded as in warmup."""
        started = time.perf_counter()
        for _ in range(sweeps):
            wanted = self.recorder.needed(warmup=True)
            self.record = self.executor.sweep(self.state, self.memories, 1, 0, self.done, wanted)
            self.recorder.record(self.state, self.record, Key(1, 0, self.done), warmup=True)
            self.done += 1
        return (time.perf_counter() - started) / sweeps


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--tokens", type=lambda text: int(float(text)), default=1_000_000)
    arguments.add_argument("--topics", type=int, default=100)
    arguments.add_argument("--kernel", default="sparse_partially_collapsed")
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--members", type=int, default=64)
    arguments.add_argument("--burn-in", type=int, default=20)
    arguments.add_argument("--turns", type=int, default=7)
    arguments.add_argument("--sweeps", type=int, default=3, help="of each turn")
    options = arguments.parse_args()
    corpus = simulate(options.tokens)
    bound, workers = bound_model(corpus, options.kernel, options.topics), options.workers
    results = Results(
        options.results,
        "cluster",
        "What does it cost to spread one chain over workers?",
        **{"million tokens": corpus.n_tokens / 1e6},
    )
    use_threads(workers)
    with connected(f"local:{workers}") as cluster:
        assert cluster is not None
        alone, spread = Chain(Executor(bound)), Chain(ShardedExecutor(bound, Workers(cluster), 1))
        for chain in (alone, spread):
            chain.seconds(options.burn_in)
        turns = [(alone.seconds(options.sweeps), spread.seconds(options.sweeps)) for _ in range(options.turns)]
        spread.executor.settle(spread.state, spread.memories, 1, 0, spread.done)
    if not np.array_equal(alone.state.z, spread.state.z):
        raise SystemExit("the workers drew other topics than one process")
    one, several = (statistics.median(turn) for turn in zip(*turns, strict=True))
    ratios = [b / a for a, b in turns]
    ratio, name = statistics.median(ratios), f"{workers} workers of one thread"
    print(f"{corpus}; K = {options.topics}, {options.kernel}")
    print(f"one process, {workers} threads: {one:.3f} s a sweep")
    print(f"{name}: {several:.3f} s, {ratio:.2f} times ({min(ratios):.2f} to {max(ratios):.2f})")
    at = {"K": options.topics, "kernel": options.kernel}
    results.add(f"one process, {workers} threads", "seconds a sweep", [a for a, _ in turns], **at)
    results.add(name, "seconds a sweep", [b for _, b in turns], {"one process": ratio}, **at)
    counted = Chain(ShardedExecutor(bound, Inline(options.members)))
    counted.state.z[:] = alone.state.z
    counted.executor.bound.count(counted.state)
    counted.seconds(1)
    sent, members = counted.record.sent, counted.record.members
    expected = formula(counted.executor, counted.state, options.kernel == "block_collapsed")
    print(f"{members} members: {sent / 1e6:.1f} MB a sweep in all, {sent / expected:.3f} of the formula's")
    results.add(f"{members} members", "MB a sweep", sent / 1e6, {"the formula": sent / expected}, **at)


def formula(executor: ShardedExecutor, state: ChainState, rotates: bool) -> float:
    """Return the bytes of a sweep by the formula of the plan, given the counts that are not zero after it."""
    executor.settle(state, [], 1, 0, 1)
    words, doc_ptr, topics = executor.bound.tokens.words, executor.bound.tokens.doc_ptr, state.sizes.topics
    total, members = np.count_nonzero(state.n_wk), len(executor.spans)
    if rotates:
        return rotation_bytes(members, total, state.sizes.words)
    cells = words.astype(np.int64) * topics + state.z
    spans = [slice(doc_ptr[first], doc_ptr[last]) for first, last in executor.spans.values()]
    own = np.mean([len(np.unique(cells[span])) for span in spans])
    return reduction_bytes(members, float(own), total, state.sizes.words)


if __name__ == "__main__":
    main()
