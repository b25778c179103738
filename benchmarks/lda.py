"""LDA: seconds a sweep, log p(w, z) / N and memory of our kernels, of tomotopy and of pyrmallet in one run.

    python benchmarks/lda.py --data train.svmlight.gz --vocabulary vocab.txt --topics 20 100 1000
    python benchmarks/lda.py --topics 100 --sweeps 200 --burn-in 0 --trajectory 1 2 5 10 20 50 100
    python benchmarks/lda.py --topics 100 --sweeps 40 --burn-in 40 --all-in --kernels

Without a file, the corpus is the embedded one, the docstrings of the scientific Python stack.

Each program runs the same number of sweeps on the same tokens with the same fixed concentrations, and states are
scored by the same function, off the clock. In each round the programs take turns, so that a drift of the machine's
speed falls on all of them alike; read the ratios, not the seconds. Each program starts once a round, from random
topics; its clock starts after the sweeps of --burn-in, which are slower than later ones for some and faster for
others. A ratio is that of the seconds of one round, peer over program (2: the program is twice as fast); medians
over the rounds are printed.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from common import (
    Ours,
    Point,
    Program,
    Results,
    Sampled,
    default_kernels,
    default_threads,
    load,
    name_of,
    parser,
    print_table,
)
from common import uses_threads as parallel
from peers import peers

import ppl_topics as pt

Rounds = list[list[Point]]
"""The points of one program, by round."""


def seconds(points: list[Point], burn_in: int, sweeps: int) -> float:
    """Return the seconds of a sweep, after the first ``burn_in``."""
    return (at(burn_in + sweeps, points).seconds - at(burn_in, points).seconds) / sweeps


def seconds_to(target: float, points: list[Point]) -> float:
    """Return the seconds after which a trajectory reaches a score, by linear interpolation; NaN if it never does."""
    before: Point | None = None
    for point in points:
        if point.score >= target:
            if before is None or not np.isfinite(before.score):
                return point.seconds
            share = (target - before.score) / (point.score - before.score)
            return before.seconds + share * (point.seconds - before.seconds)
        before = point
    return float("nan")


def measure(program: Program, corpus: pt.Corpus, topics: int, seed: int, marks: list[int]) -> list[Point]:
    """Run a program to each of the marks."""
    return list(program.trajectory(corpus, topics, seed, marks))


def reach(
    program: Program, corpus: pt.Corpus, topics: int, seed: int, marks: list[int], target: float, limit: float
) -> list[Point]:
    """Run a program to each of the marks, and on until it reaches a score or a number of seconds."""
    points: list[Point] = []

    def ahead() -> Iterator[int]:
        yield from marks
        sweep = marks[-1]
        while points[-1].seconds < limit and max(point.score for point in points) < target:
            sweep += max(1, marks[-1] // 10)
            yield sweep

    for point in program.trajectory(corpus, topics, seed, ahead()):
        points.append(point)
    return points


def warmed(
    work: Callable[..., list[Point]], program: Program, corpus: pt.Corpus, topics: int, *rest: Any
) -> list[Point]:
    """Do a piece of work after a sweep over a few documents, which loads what is compiled."""
    if isinstance(program, Ours | Sampled):
        measure(program, corpus.select(slice(0, 20)), topics, 0, [1, 2])
    return work(program, corpus, topics, *rest)


def apart(*work: Any) -> list[Point]:
    """Do a piece of work in its own process: what one program leaves behind must not slow down the next."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(warmed, *work).result()


def run(corpus: pt.Corpus, topics: int, options: argparse.Namespace) -> dict[Program, Rounds]:
    """Run all programs in turn, round after round, the peers first."""
    last = options.burn_in + options.sweeps
    marks = sorted({options.burn_in, last, *(mark for mark in options.trajectory if mark < last)})
    found = peers(options.threads, options.schemes) if options.peers else []
    others: list[Program] = [peer for peer in found if peer.name.split()[0] in options.peers]
    own: list[Program] = [Sampled(n) for n in options.threads if options.all_in]
    own += [Ours(kernel, n) for kernel in options.kernels for n in options.threads if n == 1 or parallel(kernel)]
    results: dict[Program, Rounds] = {program: [] for program in [*others, *own]}
    for seed in range(1, options.rounds + 1):
        for program in others:
            results[program].append(apart(measure, program, corpus, topics, seed, marks))
        for program in own:
            ends = [at(last, results[peer][-1]) for peer in tomotopies(results, program.threads)]
            if isinstance(program, Sampled):
                every = list(range(options.burn_in, last + 1)) if options.trajectory else marks
                results[program].append(apart(measure, program, corpus, topics, seed, every))
            elif options.trajectory and ends:
                target, limit = max(end.score for end in ends), options.patience * max(end.seconds for end in ends)
                results[program].append(apart(reach, program, corpus, topics, seed, marks, target, limit))
            else:
                results[program].append(apart(measure, program, corpus, topics, seed, marks))
    return results


def at(sweeps: int, points: list[Point]) -> Point:
    """Return the point after a number of sweeps."""
    return next(point for point in points if point.sweeps == sweeps)


def tomotopies(results: dict[Program, Rounds], threads: int) -> list[Program]:
    """Return the schemes of tomotopy that ran with a number of workers."""
    return [program for program in results if program.name.startswith("tomotopy") and program.threads == threads]


def reference(results: dict[Program, Rounds], threads: int, options: argparse.Namespace) -> Program | None:
    """Return the fastest tomotopy with a number of workers."""

    def median(program: Program) -> float:
        return statistics.median(seconds(points, options.burn_in, options.sweeps) for points in results[program])

    return min(tomotopies(results, threads), key=median, default=None)


def summary(
    results: dict[Program, Rounds], corpus: pt.Corpus, topics: int, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return one record a program."""
    last = options.burn_in + options.sweeps
    mallet = next((program for program in results if program.name == "pyrmallet"), None)
    records = []
    for program, rounds in results.items():
        own = [seconds(points, options.burn_in, options.sweeps) for points in rounds]
        record: dict[str, Any] = {"topics": topics, "program": program.name, "threads": program.threads}
        record |= {"seconds": statistics.median(own), "fastest": min(own), "slowest": max(own)}
        record["million_tokens_a_second"] = corpus.n_tokens / record["seconds"] / 1e6
        tomotopy = reference(results, program.threads, options)
        for name, peer in (("tomotopy", tomotopy), ("pyrmallet", mallet)):
            if peer is not None:
                theirs = [seconds(points, options.burn_in, options.sweeps) for points in results[peer]]
                record[f"{name}_over_this"] = statistics.median(t / o for t, o in zip(theirs, own, strict=True))
        ends = [at(last, points) for points in rounds]
        record["score"] = statistics.median(point.score for point in ends)
        record["memory"] = max(point.memory for point in ends)
        if options.trajectory:
            record["trajectory"] = [[point._asdict() for point in points] for points in rounds]
        if options.trajectory and tomotopy is not None:
            targets = [at(last, points) for points in results[tomotopy]]
            needed = [seconds_to(target.score, points) for target, points in zip(targets, rounds, strict=True)]
            ratios = [own / target.seconds for own, target in zip(needed, targets, strict=True)]
            # NaN where one round did not reach it.
            record |= {"seconds_to_reach": float(np.median(needed)), "reach_over_tomotopy": float(np.median(ratios))}
        records.append(record)
    return records


def cell(value: float | None, form: str) -> str:
    """Return a number as text, "-" where there is none."""
    return "-" if value is None or np.isnan(value) else format(value, form)


def show(records: list[dict[str, Any]], reached: bool) -> None:
    """Print the records as a table."""
    header = ["program", "threads", "s / sweep", "min..max", "M tokens/s", "vs tomotopy", "vs pyrmallet"]
    header += ["log p(w,z)/N", "MB"] + ["s to reach", "over tomotopy's"] * reached
    rows = []
    for r in records:
        row = [r["program"], str(r["threads"]), f"{r['seconds']:.4f}", f"{r['fastest']:.4f}..{r['slowest']:.4f}"]
        row += [f"{r['million_tokens_a_second']:.2f}"]
        row += [cell(r.get(f"{peer}_over_this"), ".2f") for peer in ("tomotopy", "pyrmallet")]
        row += [f"{r['score']:.4f}", cell(r["memory"] / 1e6, ".0f")]
        row += [cell(r.get(name), ".2f") for name in ("seconds_to_reach", "reach_over_tomotopy") if reached]
        rows.append(row)
    print_table(header, rows)


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    result = parser(__doc__)
    result.add_argument("--data", help="a corpus in any format that ppl_topics.read_corpus knows")
    result.add_argument("--vocabulary")
    result.add_argument("--topics", type=int, nargs="+", default=[20, 100])
    result.add_argument("--sweeps", type=int, default=10, help="timed, after those of --burn-in")
    result.add_argument("--burn-in", type=int, default=5)
    result.add_argument("--rounds", type=int, default=2)
    result.add_argument("--threads", type=int, nargs="+", default=default_threads())
    result.add_argument("--kernels", nargs="*", default=default_kernels(), help="name, or name:option=value,...")
    result.add_argument(
        "--all-in", action="store_true", help="also pt.sample with all that it records by default, timed from outside"
    )
    result.add_argument(
        "--schemes", nargs="+", default=["partition", "copy_merge"], help="of tomotopy with several workers"
    )
    result.add_argument("--peers", nargs="*", default=["tomotopy", "pyrmallet"], metavar="NAME")
    result.add_argument(
        "--trajectory", type=int, nargs="*", default=[], metavar="SWEEP", help="also score after these sweeps"
    )
    result.add_argument(
        "--patience", type=float, default=3.0, help="stop ours after this many times tomotopy's seconds (--trajectory)"
    )
    return result.parse_args(argv)


def main() -> None:
    options = arguments()
    corpus = load(options.data, options.vocabulary)
    results = Results(options.results, "lda", "", corpus=name_of(options.data))
    print(f"{corpus}; {options.burn_in} + {options.sweeps} sweeps, {options.rounds} rounds")
    for topics in options.topics:
        print(f"\nK = {topics}")
        found = summary(run(corpus, topics, options), corpus, topics, options)
        show(found, bool(options.trajectory))
        for record in found:
            keep(results, record, corpus.n_tokens, options)


def keep(results: Results, record: dict[str, Any], tokens: int, options: argparse.Namespace) -> None:
    """Append the figures of one program."""
    program, where = record["program"], {"K": record["topics"], "threads": record["threads"]}
    ours = not program.startswith(("tomotopy", "pyrmallet"))
    ratios = {peer: record[f"{peer}_over_this"] for peer in ("tomotopy", "pyrmallet") if f"{peer}_over_this" in record}
    rates = [tokens / record[name] / 1e6 for name in ("seconds", "fastest", "slowest")]
    sweeps, all_in = "How fast is a sweep of LDA?", "How fast is LDA, all that is recorded counted?"
    results.question = all_in if options.all_in else sweeps
    results.add(program, "million tokens a second", rates, ratios if ours else {}, **where)
    results.question = "How much memory does LDA take?"
    results.add(program, "MB above the corpus", record["memory"] / 1e6, K=record["topics"])
    if options.trajectory:
        results.question = "How soon is LDA as good as tomotopy?"
        where["sweeps"] = options.burn_in + options.sweeps
        results.add(program, "log p(w, z) / N", record["score"], **where)
        if ours and np.isfinite(share := record.get("reach_over_tomotopy", float("nan"))):
            results.add(program, "share of tomotopy's seconds", share, {"tomotopy": 1 / share}, **where)


if __name__ == "__main__":
    main()
