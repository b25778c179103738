"""Hold the forecasts of `ppl-topics plan` against whole sweeps: seconds of each kernel, and the peak of memory.

Example: ``python benchmarks/cost_model.py --data train.svmlight.gz --topics 20 100 1000 --sweeps 50``. Without --data,
it runs on the docstrings of the installed packages.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from common import Meter, Results, bound_model, load, name_of, parser, print_table

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.core.tokens import topic_dtype
from ppl_topics.engine.bind import BoundModel
from ppl_topics.engine.executor import Executor
from ppl_topics.engine.machine_speed import machine_speed
from ppl_topics.samplers.counts import count_tokens
from ppl_topics.schedule.costs import CorpusSizes, step_seconds
from ppl_topics.schedule.tree import steps


def all_kernels() -> list[str]:
    """Return the names of the kernels of z, inexact ones among them."""
    return [kernel.name for kernel in pt.kernels().values() if "z" in kernel.updates]


def burnt_in(corpus: pt.Corpus, kernel: str, topics: int, sweeps: int) -> np.ndarray:
    """Return topics of the tokens after some sweeps of a kernel."""
    executor = Executor(bound_model(corpus, kernel, topics))
    state = executor.bound.initial_state(1, 0)
    memories = executor.memories(state)
    for sweep in range(sweeps):
        executor.sweep(state, memories, 1, 0, sweep)
    return state.z


def measure(corpus: pt.Corpus, kernel: str, z: np.ndarray, topics: int, threads: int, repeats: int) -> list[Any]:
    """Return the median seconds of each step of a sweep that starts at z, and the most memory."""
    use_threads(threads)
    # What compiling takes, or loading what was compiled, is not of interest.
    few = corpus.select(slice(0, 50))
    sweep_from(few, kernel, np.zeros(few.n_tokens, z.dtype), topics, 1)
    meter = Meter()
    with meter.untimed():
        seconds = sweep_from(corpus, kernel, z, topics, 1 + repeats)
    return [np.median(seconds[1:], axis=0), meter.memory]


def sweep_from(corpus: pt.Corpus, kernel: str, z: np.ndarray, topics: int, sweeps: int) -> list[np.ndarray]:
    """Run some sweeps from z, and return the seconds of their steps; from the second, phi is one drawn for z."""
    executor = Executor(bound_model(corpus, kernel, topics))
    state = executor.bound.initial_state(1, 0)
    state.z[:] = z
    count_tokens(state.tokens.words, state.z, state.n_wk, state.n_k)
    memories = executor.memories(state)
    return [executor.sweep(state, memories, 1, 0, sweep).seconds for sweep in range(sweeps)]


def forecast_bytes(bound: BoundModel, corpus: CorpusSizes) -> float:
    """Return the bytes of the state and of what kernels keep; here nothing is recorded, and the corpus was there."""
    topics = bound.sizes.topics
    cells = 4 * corpus.n_words * topics
    held = cells * (2 if "phi" in bound.model.latent else 1)
    chosen = steps(bound.plan.schedule)
    kept = sum(step.kernel.bytes(corpus.formula_sizes(topics), step.options) for step in chosen)
    return held + corpus.n_tokens * np.dtype(topic_dtype(topics)).itemsize + kept


def measured(args: argparse.Namespace, corpus: pt.Corpus) -> Iterator[dict[str, Any]]:
    sizes, speed = CorpusSizes.of(corpus), machine_speed()
    for topics in args.topics:
        z = burnt_in(corpus, args.burn_in, topics, args.sweeps)
        for kernel in args.kernels:
            for threads in args.threads:
                seconds, memory = measure(corpus, kernel, z, topics, threads, args.repeats)
                bound = bound_model(corpus, kernel, topics)
                own = sizes.for_model(bound.model)
                for step, taken in zip(steps(bound.plan.schedule), seconds, strict=True):
                    yield {
                        "topics": topics,
                        "kernel": kernel,
                        "step": step.kernel.name,
                        "threads": threads,
                        "predicted_seconds": step_seconds(step, own, topics, threads) / speed,
                        "measured_seconds": float(taken),
                        "predicted_bytes": forecast_bytes(bound, own),
                        "measured_bytes": memory,
                    }


def as_row(result: dict[str, Any]) -> list[str]:
    """Format a result: forecast, measured, and the one over the other."""
    row = [result["kernel"], result["step"], str(result["topics"]), str(result["threads"])]
    for unit, size in (("seconds", 1e-3), ("bytes", 1e6)):
        predicted, measured = result[f"predicted_{unit}"], result[f"measured_{unit}"]
        ratio = f"{predicted / measured:.2f}" if measured > 0 else "-"
        row += [f"{predicted / size:.1f}", f"{measured / size:.1f}", ratio]
    return row


HEADER = ["kernel of z", "step", "K", "threads", "ms forecast", "ms", "ratio", "MB forecast", "MB", "ratio"]


def main(words: Sequence[str] | None = None) -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data", help="a corpus that ppl-topics reads; by default the docstrings")
    arguments.add_argument("--vocabulary", help="its vocabulary")
    arguments.add_argument("--topics", type=int, nargs="+", default=[20, 100])
    arguments.add_argument("--threads", type=int, nargs="+", default=[1])
    arguments.add_argument("--kernels", nargs="+", default=all_kernels())
    arguments.add_argument("--sweeps", type=int, default=20, help="before anything is measured")
    arguments.add_argument("--burn-in", default="block_collapsed", help="the kernel of those sweeps")
    arguments.add_argument("--repeats", type=int, default=3, help="sweeps of each kernel, of which the median counts")
    args = arguments.parse_args(words)
    corpus = load(args.data, args.vocabulary)
    results = Results(args.results, "cost_model", "How good are the forecasts of a sweep?", corpus=name_of(args.data))
    print(f"{corpus}; speed {machine_speed():.2f}\n")
    found = list(measured(args, corpus))
    print_table(HEADER, map(as_row, found))
    for row in found:
        if row["step"] in (row["kernel"], "dirichlet_rows"):
            ratio = row["predicted_seconds"] / row["measured_seconds"]
            program = row["step"] if row["step"] == row["kernel"] else f"{row['step']}, after {row['kernel']}"
            results.add(program, "forecast / measured seconds", ratio, threads=row["threads"], K=row["topics"])


if __name__ == "__main__":
    main()
