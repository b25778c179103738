"""Seconds a sweep and peak memory against tokens, topics and threads, on simulated corpora.

    python benchmarks/scaling.py --tokens 1e6 1e7 1e8 --topics 100 1000 5000 --threads 1 2
    python benchmarks/scaling.py --tokens 1e8 --topics 1000 --kernels sparse_partially_collapsed --folder corpora

Corpora come from simulate.py, once for each size, and are mapped into memory from disk. Each configuration runs in a
fresh process: the kernel is compiled on a few documents, then come the sweeps of --burn-in, from random topics, and
those that are timed, of which the median is printed. If a run needs more memory than there is, only that run fails.

Memory is the process's largest resident memory, less what it held before the corpus was opened and after all was
compiled: "start" from then to the first sweep (index of words, random topics, first phi), "sweeps" during the sweeps.
Bytes a token are given for the larger of the two, and, during the sweeps, without the tables of V x K cells, which
are listed in bytes a cell: n_wk 4, phi 4 where it is kept, and the kernel's own. The tokens themselves count (4
bytes), as do their index by word (4), z (1 or 2), and what grows only with V.

"growth" is seconds a token over those at the next smaller N of the same kernel, K and threads: 1 is linear.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    Results,
    bound_model,
    default_kernels,
    default_threads,
    parser,
    print_table,
    reset_peak,
    resident,
    uses_threads,
)

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.core.state import ChainState
from ppl_topics.engine.executor import Executor

HERE = Path(__file__).parent


def measure(folder: str, kernel: str, topics: int, threads: int, burn_in: int, sweeps: int) -> dict[str, Any]:
    """Run one configuration in this process."""
    use_threads(threads)
    few = pt.Corpus.load(folder, verify=False).select(slice(0, 20))
    advance(few.with_vocabulary(few.vocabulary[few.word_counts > 0]), kernel, topics, 2)
    before = resident("VmRSS")
    corpus = pt.Corpus.load(folder, verify=False)
    reset_peak()
    times, peaks, tables = advance(corpus, kernel, topics, burn_in + sweeps)
    cells, tokens = corpus.n_words * topics, corpus.n_tokens
    start, moving = (peak - before for peak in peaks)
    return {
        "kernel": kernel,
        "tokens": tokens,
        "words": corpus.n_words,
        "topics": topics,
        "threads": threads,
        "seconds": statistics.median(times[burn_in:]),
        "sweeps": times,
        "memory_start": start,
        "memory_sweeps": moving,
        "tables": {name: size / cells for name, size in tables.items()},
        "bytes_a_token": max(start, moving) / tokens,
        "bytes_a_token_without_tables": (moving - sum(tables.values())) / tokens,
    }


def advance(
    corpus: pt.Corpus, kernel: str, topics: int, sweeps: int
) -> tuple[list[float], tuple[float, float], dict[str, int]]:
    """Run some sweeps; return the seconds of each, the peaks of start and sweeps, and the bytes of large tables."""
    bound = bound_model(corpus, kernel, topics)
    executor = Executor(bound)
    state = bound.initial_state(1, 0)
    memories = executor.memories(state)
    start = resident("VmHWM")
    reset_peak()
    times = []
    for sweep in range(sweeps):
        started = time.perf_counter()
        executor.sweep(state, memories, 1, 0, sweep)
        times.append(time.perf_counter() - started)
    return times, (start, resident("VmHWM")), large_tables(state, memories)


def large_tables(state: ChainState, memories: list[Any]) -> dict[str, int]:
    """Return the bytes of n_wk, of phi, and of what kernels keep in tables of words by topics."""
    known = {"n_wk": state.n_wk, **state.arrays}
    inside = {id(array): array for array in arrays(memories)}
    for array in known.values():
        inside.pop(id(array), None)

    def large(array: np.ndarray) -> bool:
        return array.size == state.n_wk.size or (array.ndim > 1 and state.sizes.words in array.shape)

    found = {name: array.nbytes for name, array in known.items() if large(array)}
    kernel = sum(array.nbytes for array in inside.values() if large(array))
    return found | ({"kernel": kernel} if kernel else {})


def arrays(thing: Any, seen: set[int] | None = None) -> Iterator[np.ndarray]:
    """Find the arrays inside what a kernel keeps, wherever they are."""
    seen = set() if seen is None else seen
    if id(thing) in seen or callable(thing):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        return
    parts = thing.values() if isinstance(thing, Mapping) else thing if isinstance(thing, list | tuple) else ()
    for part in [*parts, *vars(thing).values()] if hasattr(thing, "__dict__") else parts:
        yield from arrays(part, seen)


def in_fresh_process(script: str, *words: str) -> str | None:
    """Run a script of this folder and return what it prints last; None if it fails, as for lack of memory."""
    command = [sys.executable, str(HERE / script), *words]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, preexec_fn=limit_memory)
    return None if done.returncode else done.stdout.strip().splitlines()[-1]


def limit_memory() -> None:
    """Let this process fail, rather than the machine, when it wants more memory than there is."""
    with suppress(OSError, ValueError, IndexError):
        available = Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]
        resource.setrlimit(resource.RLIMIT_DATA, (int(0.95 * 1024 * int(available)),) * 2)


def configurations(options: argparse.Namespace, root: Path) -> Iterator[dict[str, Any]]:
    """Simulate the corpora that are not there, run each configuration, and yield the records of those that ended."""
    root.mkdir(parents=True, exist_ok=True)
    for tokens in options.tokens:
        folder = root / f"{tokens}-{options.mean_length:g}"
        if not folder.exists():
            words = ["--tokens", str(tokens), "--mean-length", str(options.mean_length), "--out", str(folder)]
            in_fresh_process("simulate.py", *words)
        for topics, kernel, threads in itertools.product(options.topics, options.kernels, options.threads):
            if threads > 1 and not uses_threads(kernel):
                continue
            one = {"folder": str(folder), "kernel": kernel, "topics": topics, "threads": threads}
            one |= {"burn_in": options.burn_in, "sweeps": options.sweeps}
            line = in_fresh_process("scaling.py", "--one", json.dumps(one))
            record = None if line is None else json.loads(line)
            what = f"{kernel}, N = {tokens:,}, K = {topics:,}, {threads} thread(s)"
            result = "failed" if record is None else f"{record['seconds']:.4g} s a sweep"
            print(f"{what}: {result}", file=sys.stderr, flush=True)
            if record is not None:
                yield record


def add_growth(records: Iterable[dict[str, Any]]) -> None:
    """Add to each record its seconds a token over those at the next smaller number of tokens."""
    before: dict[tuple[Any, ...], float] = {}
    for record in sorted(records, key=lambda r: r["tokens"]):
        key = tuple(record[name] for name in ("kernel", "topics", "threads"))
        rate = record["seconds"] / record["tokens"]
        if key in before:
            record["growth"] = rate / before[key]
        before[key] = rate


def show(records: list[dict[str, Any]]) -> None:
    """Print the records as a table."""
    header = ["kernel", "N", "V", "K", "threads", "s / sweep", "M tokens/s", "growth", "MB start", "MB sweeps"]
    header += ["bytes / token", "without tables", "tables, bytes / cell"]
    rows = []
    for r in records:
        row = [r["kernel"], f"{r['tokens']:,}", f"{r['words']:,}", f"{r['topics']:,}", str(r["threads"])]
        row += [f"{r['seconds']:.4g}", f"{r['tokens'] / r['seconds'] / 1e6:.2f}"]
        row += [f"{r['growth']:.2f}" if "growth" in r else "-"]
        row += [f"{r[f'memory_{part}'] / 1e6:,.0f}" for part in ("start", "sweeps")]
        row += [f"{r['bytes_a_token']:.1f}", f"{r['bytes_a_token_without_tables']:.1f}"]
        row += [" + ".join(f"{name} {size:.3g}" for name, size in r["tables"].items())]
        rows.append(row)
    print_table(header, rows)


def number(text: str) -> int:
    """Read 1e6 as a whole number."""
    return int(float(text))


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--tokens", type=number, nargs="+", default=[250_000, 1_000_000])
    arguments.add_argument("--topics", type=int, nargs="+", default=[100])
    arguments.add_argument("--threads", type=int, nargs="+", default=default_threads()[-1:])
    arguments.add_argument("--kernels", nargs="+", default=default_kernels(), help="name, or name:option=value,...")
    arguments.add_argument("--mean-length", type=float, default=250.0)
    arguments.add_argument("--burn-in", type=int, default=2)
    arguments.add_argument("--sweeps", type=int, default=3)
    arguments.add_argument("--folder", help="keep the corpora here, and take those that are here")
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(measure(**json.loads(options.one))))
        return
    results = Results(options.results, "scaling", "How does LDA scale with the corpus?", corpus="simulated")
    with tempfile.TemporaryDirectory() as temporary:
        records = list(configurations(options, Path(options.folder or temporary)))
    add_growth(records)
    show(records)
    for r in records:
        setting = {"million tokens": r["tokens"] / 1e6, "K": r["topics"], "threads": r["threads"]}
        results.add(r["kernel"], "seconds a sweep", r["sweeps"][options.burn_in :], **setting)
        results.add(r["kernel"], "bytes a token", r["bytes_a_token"], **setting)


if __name__ == "__main__":
    main()
