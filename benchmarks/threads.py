"""How many times as fast a sweep of LDA can be with more threads than this machine has, by Amdahl's law.

    python benchmarks/threads.py --data train.svmlight.gz --vocabulary vocab.txt --topics 20 100 1000

`pt.sample` runs on one thread, with all that it records. What is not inside a parallel function counts as serial. The
tasks of each parallel loop go to threads in runs of equal number, as numba deals them: its longest run, over the mean,
is how much longer the loop takes than its share. Tiles of `block_collapsed` count their tokens diagonal by diagonal,
other sweeps those of documents; for other loops the worse of documents and words counts. Threads are taken not to wait
for memory: more than these figures is not to be had.

Whether they would wait is a matter of bytes. In the order in which one thread visits the tokens, it is counted how many
need a row of the matrix by word (counts, or phi) that a cache of 1 MiB with the latest rows does not hold. These rows,
read and, of counts, written, and what is read of each token give the bytes from memory; with the seconds of the kernel
of z they give the bandwidth that a thread needs, at most, since lists of a word's topics are shorter than rows. That of
this machine is what all its threads can read of a large array.
"""

from __future__ import annotations

import sys
import time
from typing import Any, ClassVar

import numba
import numpy as np
from common import Results, Sampled, load, name_of, parser
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray

import ppl_topics as pt
from ppl_topics._util.tasks import for_each
from ppl_topics.core.tokens import Tokens
from ppl_topics.engine.bind import index_tokens
from ppl_topics.samplers.assignments.tiling import Tiling, block_at, default_blocks, make_tiling
from ppl_topics.samplers.counts import WORD_CHUNKS, make_chunks
from ppl_topics.schedule.tree import steps

THREADS = [2, 4, 8, 16, 32, 64]
TILES = "sweep_with"
KERNELS = [None, f"block_collapsed:blocks={THREADS[-1]}", "partially_collapsed"]
WHOLE = "all of it"
CACHE, ARRAY = 2**20, 2**28
"""Bytes of a thread's cache, and of an array that no cache holds."""
OF_TOKEN = 4 + 4 + 2
"""Bytes of a token: its place in the order, its word and its topic."""


class Timed:
    """A parallel function, or `for_each`, and the seconds spent in each function or task."""

    seconds: ClassVar[dict[str, float]] = {}

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        began = time.perf_counter()
        result = self.function(*arguments)
        name = (arguments[0] if self.function is for_each else self.function).py_func.__name__
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
        return result


def time_parallel_functions() -> None:
    """Put a clock around each parallel function that Python calls, all of them compiled by now."""
    for name, module in list(sys.modules.items()):
        for attribute, value in list(vars(module).items()) if name.startswith("ppl_topics") else ():
            parallel = isinstance(value, Dispatcher) and "parallel" in value.targetoptions
            if parallel or value is for_each:
                setattr(module, attribute, Timed(value))


def longest_over_mean(loads: NDArray[Any], threads: int) -> float:
    """Return the longest of the runs that threads get, over their mean."""
    runs = [run.sum() for run in np.array_split(loads, threads)]
    return float(max(runs) / (loads.sum() / threads))


def tiling_of(tokens: Tokens, n_blocks: int) -> Tiling:
    """Return the tiling of all tokens."""
    every = np.ones(len(tokens.word_counts), np.bool_)
    return make_tiling(tokens, every, every, n_blocks)


def bounds_of(tiling: Tiling) -> NDArray[Any]:
    """Return where each tile begins and ends in the order, shape (diagonals, document groups, 2)."""
    ptr, groups = tiling.tile_ptr, range(len(tiling.tile_ptr))
    blocks = [[block_at.py_func(g, diagonal, len(ptr)) for g in groups] for diagonal in groups]
    return np.array([[ptr[block, g : g + 2] for g, block in enumerate(row)] for row in blocks])


def of_tiles(tiles: NDArray[Any], threads: int) -> float:
    """Return the same of the tiles of all diagonals, one diagonal after another."""
    longest = sum(max(run.sum() for run in np.array_split(diagonal, threads)) for diagonal in tiles)
    return float(longest / (tiles.sum() / threads))


@numba.njit  # type: ignore[untyped-decorator]
def misses(rows: NDArray[Any], n_rows: int, held: int) -> int:
    """Return how many of the rows are not among the `held` ones that were visited last."""
    # A Fenwick tree over visits, with a one at the latest visit of each row.
    tree, latest, missed = np.zeros(rows.size + 1, np.int64), np.full(n_rows, -1), 0
    for visit in range(rows.size):
        row, since = rows[visit], 0
        if latest[row] >= 0:
            for begin, sign in ((visit, 1), (latest[row] + 1, -1)):
                place = begin
                while place > 0:
                    since += sign * tree[place]
                    place -= place & -place
        missed += latest[row] < 0 or since >= held
        for change, at in ((-1, latest[row]), (1, visit)):
            place = at + 1
            while 0 < place <= rows.size:
                tree[place] += change
                place += place & -place
        latest[row] = visit
    return missed


@numba.njit(parallel=True)  # type: ignore[untyped-decorator]
def sums(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of each row, in parallel."""
    result = np.zeros(len(numbers), numbers.dtype)
    for row in numba.prange(len(numbers)):
        for number in numbers[row]:
            result[row] += number
    return result


def bandwidth() -> float:
    """Return the bytes that all threads read in a second, the best of five times."""
    numbers, best = np.ones((64, ARRAY // (8 * 64)), np.int64), np.inf
    sums(numbers)
    for _ in range(5):
        began = time.perf_counter()
        sums(numbers)
        best = min(best, time.perf_counter() - began)
    return ARRAY / best


def bytes_a_token(words: NDArray[Any], topics: int, copies: int) -> float:
    """Return the bytes of a token from memory, given words in the order of visits; rows are moved `copies` times."""
    missed = misses(words.astype(np.int64), int(words.max()) + 1, CACHE // (4 * topics)) / len(words)
    return OF_TOKEN + missed * 4 * topics * copies


def main() -> None:
    """Do what the command line asks for."""
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, nargs="+", default=[20])
    arguments.add_argument("--sweeps", type=int, default=20, help="sweeps that are timed, after as many others")
    options = arguments.parse_args()
    corpus = load(options.data, options.vocabulary)
    tokens = index_tokens(np.array(corpus.doc_ptr), np.array(corpus.words), len(corpus.vocabulary))
    docs = np.diff(tokens.doc_ptr[tokens.chunk_ptr])
    words = np.diff(tokens.word_ptr[make_chunks(tokens.word_ptr, WORD_CHUNKS)])
    question = "How much faster can a sweep of LDA be with more threads?"
    results = Results(options.results, "threads", question, corpus=name_of(options.data))
    runs = [(kernel, topics) for kernel in KERNELS for topics in options.topics]
    results.add("this machine", "GB/s from memory", bandwidth() / 1e9)
    for kernel, topics in runs:
        seconds_of(kernel, corpus, topics, 2)
    time_parallel_functions()
    for kernel, topics in runs:
        fewer, more = (seconds_of(kernel, corpus, topics, sweeps) for sweeps in (options.sweeps, 2 * options.sweeps))
        # What the start takes is in both.
        parts = {name: seconds - fewer.get(name, 0.0) for name, seconds in more.items()}
        whole = parts.pop(WHOLE)
        # Two runs are not alike to a percent, and what is left may be below zero.
        serial = max(0.0, 1.0 - sum(parts.values()) / whole)
        program = f"pt.sample, {kernel or default_kernel(corpus, topics)}"
        n_blocks = THREADS[-1] if kernel and "blocks=" in kernel else default_blocks(corpus.n_tokens)
        tiling = tiling_of(tokens, n_blocks)
        bounds = bounds_of(tiling)
        tiles = np.diff(bounds)[..., 0]
        results.add(program, "serial, % of a sweep on one thread", 100 * serial, K=topics)
        print(
            f"{program}, K = {topics}: {whole / options.sweeps:.4f} s a sweep, of which {serial:.1%} serial", flush=True
        )
        if kernel == "partially_collapsed":
            number = bytes_a_token(tokens.words, topics, copies=1)
        else:
            visits = np.concatenate([tiling.order[first:last] for first, last in bounds.reshape(-1, 2)])
            number = bytes_a_token(tokens.words[visits], topics, copies=2)
        busy = sum(seconds for name, seconds in parts.items() if name.startswith("sweep")) / options.sweeps
        results.add(program, "bytes a token from memory", number, K=topics)
        if busy:
            rate = number * corpus.n_tokens / busy / 1e9
            results.add(program, "GB/s from memory, a thread", rate, K=topics)
            print(f"  {number:.0f} bytes a token, {rate:.2f} GB/s a thread", flush=True)
        for threads in THREADS:
            by_docs, by_words = (longest_over_mean(loads, threads) for loads in (docs, words))
            by_tiles, worse = of_tiles(tiles, threads), max(by_docs, by_words)
            shared = {
                n: by_tiles if n.startswith(TILES) else by_docs if n.startswith("sweep") else worse for n in parts
            }
            rest = sum(seconds * shared[name] / threads for name, seconds in parts.items()) / whole
            results.add(program, f"{threads} threads", 1.0 / (serial + rest), K=topics)
            print(f"  {threads} threads: {1.0 / (serial + rest):.1f} times as fast", flush=True)


def default_kernel(corpus: pt.Corpus, topics: int) -> str:
    """Return the kernel of z that the scheduler chooses."""
    return next(s.kernel.name for s in steps(pt.plan("lda", corpus, topics=topics).schedule) if s.variable == "z")


def seconds_of(kernel: str | None, corpus: pt.Corpus, topics: int, sweeps: int) -> dict[str, float]:
    """Return the seconds of so many sweeps on one thread, and those in each parallel function."""
    Timed.seconds = {}
    *_, last = Sampled(1, kernel).trajectory(corpus, topics, 1, [sweeps // 2, sweeps])
    return {WHOLE: last.seconds, **Timed.seconds}


if __name__ == "__main__":
    main()
