"""What it costs to run in a folder: seconds of checkpoints and streamed draws, and memory against the number of draws.

    python benchmarks/streaming.py --tokens 1e7 --topics 500 --warmup 5 --draws 40 --threads 2
    python benchmarks/streaming.py --memory 100 10000

Seconds. One chain of LDA on a simulated corpus, with the checkpoints that are the default. The time in which draws are
handed to the store, and that of checkpoints, are taken inside the run, and given as shares of the sampling.

Memory. The largest resident memory of a process that makes a given number of draws, each in its own process, in a
folder and with all draws in memory; the same small corpus, whose phi is recorded whole.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import Results, parser, resident
from simulate import simulate

import ppl_topics as pt
from ppl_topics.engine.checkpointing import ChainCheckpoints
from ppl_topics.results.run_folder.draws import ChainStream

MEMORY_TOKENS, MEMORY_TOPICS, MEMORY_WORDS = 20_000, 20, 1_000


def clocked(function: Callable[..., Any], spent: dict[str, float], name: str) -> Callable[..., Any]:
    """Return a function that adds its seconds to ``spent``."""

    def timed(*given: Any, **named: Any) -> Any:
        started = time.perf_counter()
        try:
            return function(*given, **named)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - started

    return timed


def seconds(given: argparse.Namespace) -> None:
    """Measure what checkpoints and streaming add to the sampling."""
    corpus, topics, warmup, draws = simulate(int(given.tokens), seed=1), given.topics, given.warmup, given.draws
    spent: dict[str, float] = {}
    saves: list[float] = []
    save, add, restore = ChainCheckpoints.save, ChainStream.add, ChainCheckpoints.restore

    def noted(*given: Any, **named: Any) -> None:
        started = time.perf_counter()
        save(*given, **named)
        saves.append(time.perf_counter() - started)

    began = []

    def marked(*given: Any, **named: Any) -> Any:
        result = restore(*given, **named)
        began.append(time.perf_counter())
        return result

    ChainCheckpoints.save = noted  # type: ignore[method-assign]
    ChainCheckpoints.restore = marked  # type: ignore[method-assign]
    ChainStream.add = clocked(add, spent, "stream")  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        fit = pt.sample(
            "lda",
            corpus,
            topics=topics,
            warmup=warmup,
            draws=draws,
            chains=1,
            threads=given.threads,
            seed=1,
            progress=False,
            out=Path(folder) / "run",
        )
        step = fit.groups["sample_stats"]["step_seconds"].sum("kernel").values[0]
        warm = fit.groups["warmup_sample_stats"]["step_seconds"].sum("kernel").values[0]
        total = time.perf_counter() - began[0]
        size = sum(path.stat().st_size for path in (Path(folder) / "run").rglob("*") if path.is_file())
        checkpoint = max(path.stat().st_size for path in (Path(folder) / "run").rglob("*.ckpt"))
    sampling = float(step.sum() + warm.sum())
    print(f"{corpus.n_tokens:,} tokens, {corpus.n_words:,} words, {topics} topics; {warmup} + {draws} sweeps")
    print(f"sampling {sampling:.1f} s ({float(step[1:].mean()):.3f} s a sweep); all {total:.1f} s")
    streaming, kept = spent.get("stream", 0.0), sum(saves)
    print(f"streaming {streaming:.2f} s: {streaming / sampling:.2%} of the sampling")
    print(f"{len(saves)} checkpoints {kept:.2f} s (the last {saves[-1]:.2f} s): {kept / sampling:.2%}")
    about = {"corpus": f"{given.tokens / 1e6:g} million simulated tokens", "K": topics, "threads": given.threads}
    results = Results(given.results, "streaming", "What does it cost to run in a folder?", **about)
    for name, share in (("streamed draws", streaming), ("checkpoints", kept), ("both", streaming + kept)):
        results.add(name, "per cent of the sampling", 100 * share / sampling)
    print(f"together {(streaming + kept) / sampling:.2%}; a checkpoint {checkpoint:,} bytes, the folder {size:,}")


def memory(counts: list[int], folder_of_results: Path) -> None:
    """Measure the largest resident memory of runs with these numbers of draws."""
    about = {"corpus": f"simulated, {MEMORY_WORDS:,} words", "K": MEMORY_TOPICS}
    results = Results(folder_of_results, "streaming", "How much memory do draws take?", **about)
    print("| draws | MB, in a folder | MB, in memory |\n|---|---|---|")
    for draws in counts:
        shown = []
        for folder in (True, False):
            command = [sys.executable, __file__, "--one", str(draws), *(["--folder"] if folder else [])]
            shown.append(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
            results.add("in a folder" if folder else "in memory", "MB", shown[-1], draws=draws)
        print(f"| {draws:,} | {shown[0]:,.1f} | {shown[1]:,.1f} |")


def one(draws: int, in_folder: bool) -> None:
    """Make draws, and print the largest resident memory in MB."""
    whole = simulate(MEMORY_TOKENS, seed=1)
    corpus = whole.with_vocabulary(whole.vocabulary[np.argsort(-whole.word_counts, kind="stable")[:MEMORY_WORDS]])
    options: dict[str, Any] = {"topics": MEMORY_TOPICS, "warmup": 10, "draws": draws, "chains": 2, "seed": 1}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run" if in_folder else None
        pt.sample("lda", corpus, threads=1, progress=False, out=out, record={"theta": "none"}, **options)
    print(resident("VmHWM") / 2**20)


def main() -> None:
    """Read the arguments, and measure."""
    arguments = parser(__doc__)
    arguments.add_argument("--tokens", type=float, default=1e7)
    arguments.add_argument("--topics", type=int, default=500)
    arguments.add_argument("--warmup", type=int, default=5)
    arguments.add_argument("--draws", type=int, default=40)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--memory", type=int, nargs="+", help="measure memory for these numbers of draws")
    arguments.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments.add_argument("--folder", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.one is not None:
        one(given.one, given.folder)
    elif given.memory:
        memory(given.memory, given.results)
    else:
        seconds(given)


if __name__ == "__main__":
    main()
