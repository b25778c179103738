r"""Seconds a sweep and memory of a supervised model against documents, classes, topics and threads.

    python benchmarks/supervised_scaling.py --data train.svmlight.gz --vocabulary vocab.txt --stop-words \
        --min-count 10 --model dolda --topics 20 50 --documents 0.25 0.5 1 --classes 20 --threads 1 2

As Figure 9 of Magnusson, Jonsson, Villani 2020. Each configuration runs in a fresh process: everything is compiled on a
few documents, then come the sweeps of --burn-in, and those that are timed, of which the median is printed, in all and
by step of the schedule. --documents takes that share of the documents, every n-th one. --classes above the number that
the corpus has deals documents to classes at random: then the seconds are right, and nothing is learned. Without --data
it runs small, on simulated documents.

Memory: "resident" is the largest resident memory of the process, Python and its libraries included; "state" is that
less what was resident before the model was bound to the corpus. "growth" is the seconds a document over those at the
next smaller number of documents: 1 is linear.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import statistics
import sys
import time
from typing import Any

import numpy as np
import yaml
from common import Results, default_threads, name_of, parser, print_table, reset_peak, resident
from scaling import in_fresh_process
from supervised import simulate

import ppl_topics as pt
from ppl_topics._util.threads import use_threads
from ppl_topics.engine.bind import bind
from ppl_topics.engine.executor import Executor, step_labels
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.schedule.tree import steps


def measure(one: dict[str, Any]) -> dict[str, Any]:
    """Run one configuration in this process."""
    use_threads(one["threads"])
    corpus = read(one)
    few = corpus.select(slice(0, 200))
    advance(with_classes(few.with_vocabulary(few.vocabulary[few.word_counts > 0]), one["classes"]), one, 2)
    before = resident("VmRSS")
    reset_peak()
    seconds, labels = advance(corpus, one, one["burn_in"] + one["sweeps"])
    timed = np.array(seconds[one["burn_in"] :])
    by_step = dict(zip(labels, np.median(timed, axis=0).tolist(), strict=True))
    assert corpus.labels is not None
    return one | {
        "documents": corpus.n_docs,
        "tokens": corpus.n_tokens,
        "classes": corpus.labels.n_responses,
        "seconds": statistics.median(timed.sum(axis=1).tolist()),
        "steps": by_step,
        "resident": resident("VmHWM"),
        "state": resident("VmHWM") - before,
    }


def read(one: dict[str, Any]) -> pt.Corpus:
    """Return the share of the documents that was asked for, with the number of classes that was."""
    if one["data"] is None:
        corpus = simulate(400, 1)
    else:
        stop_words = "english" if one["stop_words"] else None
        how = {"vocabulary": one["vocabulary"], "stop_words": stop_words, "min_count": one["min_count"]}
        corpus = pt.read_corpus(one["data"], **how)
    chosen = np.unique((np.arange(round(corpus.n_docs * one["share"])) / one["share"]).astype(np.int64))
    return with_classes(corpus.select(chosen), one["classes"])


def with_classes(corpus: pt.Corpus, classes: int | None) -> pt.Corpus:
    """Return the corpus as it is, or with its documents assigned at random to a number of classes."""
    if classes is None or (corpus.labels is not None and classes == corpus.labels.n_responses):
        return corpus
    codes = np.random.default_rng(1).integers(classes, size=corpus.n_docs).astype(np.int32)
    names = np.array([f"class {number}" for number in range(classes)], dtype=object)
    return dataclasses.replace(corpus, labels=pt.Labels("class", codes, names))


def advance(corpus: pt.Corpus, one: dict[str, Any], sweeps: int) -> tuple[list[list[float]], list[str]]:
    """Run some sweeps; return the seconds of each by step, those in no step last, and the names of the steps."""
    parameters = {name: yaml.safe_load(value) for name, value in (item.split("=", 1) for item in one["set"])}
    spec = pt.load_spec(one["model"], {"topics": one["topics"], **parameters})
    plan = make_plan(spec, CorpusSizes.of(corpus))
    if one["kernel"] is not None:
        # As the model's own schedule would be, but for z.
        named = {step.variable: step.kernel.name for step in steps(plan.schedule)} | {"z": one["kernel"]}
        plan = make_plan(spec.with_schedule(pt.cycle(*(pt.step(*item) for item in named.items())), "--kernel"))
    bound = bind(plan, corpus)
    executor = Executor(bound)
    state = bound.initial_state(1, 0)
    memories = executor.memories(state)
    result = []
    for sweep in range(sweeps):
        started = time.perf_counter()
        spent = executor.sweep(state, memories, 1, 0, sweep, frozenset()).seconds.tolist()
        result.append([*spent, time.perf_counter() - started - sum(spent)])
    return result, [*step_labels(bound.plan.schedule), "rest"]


def add_growth(records: list[dict[str, Any]]) -> None:
    """Add to each record its seconds a document over those at the next smaller number of documents."""
    before: dict[tuple[Any, ...], float] = {}
    for record in sorted(records, key=lambda r: r["documents"]):
        key = tuple(record[name] for name in ("topics", "classes", "threads"))
        rate = record["seconds"] / record["documents"]
        if key in before:
            record["growth"] = rate / before[key]
        before[key] = rate


def show(records: list[dict[str, Any]]) -> None:
    """Print the records as a table."""
    header = ["K", "D", "N", "C", "threads", "s / sweep", "growth", "MB resident", "MB state", "steps"]
    rows = []
    for r in records:
        growth = f"{r['growth']:.2f}" if "growth" in r else "-"
        steps = ", ".join(f"{name} {seconds:.3g}" for name, seconds in r["steps"].items())
        sizes = [str(r["topics"]), f"{r['documents']:,}", f"{r['tokens']:,}", str(r["classes"]), str(r["threads"])]
        memory = [f"{r[name] / 1e6:,.0f}" for name in ("resident", "state")]
        rows.append([*sizes, f"{r['seconds']:.4f}", growth, *memory, steps])
    print_table(header, rows)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--stop-words", action="store_true", help="drop scikit-learn's list of English stop words")
    arguments.add_argument("--min-count", type=int, default=1)
    arguments.add_argument("--model", default="dolda")
    arguments.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="parameters of the model")
    arguments.add_argument("--kernel", help="of z, at every size; by default what the size decides on")
    arguments.add_argument("--topics", type=int, nargs="+", default=[5])
    arguments.add_argument("--documents", type=float, nargs="+", default=[0.5, 1.0], help="shares of the documents")
    arguments.add_argument("--classes", type=int, nargs="+", default=[None], help="those of the corpus by default")
    arguments.add_argument("--threads", type=int, nargs="+", default=default_threads()[-1:])
    arguments.add_argument("--burn-in", type=int, default=5)
    arguments.add_argument("--sweeps", type=int, default=10)
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        print(json.dumps(measure(json.loads(options.one))))
        return
    about = {"corpus": name_of(options.data, "simulated"), "model": " ".join([options.model, *options.set])}
    name = "classes" if len(options.classes) > 1 else "documents"
    question = f"How does a supervised model scale with {name}?"
    results = Results(options.results, "supervised_scaling", question, **about)
    fixed = {
        name: getattr(options, name)
        for name in ("data", "vocabulary", "stop_words", "min_count", "model", "set", "kernel", "burn_in", "sweeps")
    }
    records = []
    for topics, share, classes, threads in itertools.product(
        options.topics, options.documents, options.classes, options.threads
    ):
        one = fixed | {"topics": topics, "share": share, "classes": classes, "threads": threads}
        line = in_fresh_process("supervised_scaling.py", "--one", json.dumps(one))
        if line is None:
            raise SystemExit(f"K = {topics}, {share:g} of the documents, {threads} thread(s): failed")
        records.append(json.loads(line))
        print(f"K = {topics}, {share:g}: {records[-1]['seconds']:.4f} s a sweep", file=sys.stderr, flush=True)
    add_growth(records)
    show(records)
    program = options.kernel or "kernel of z chosen by size"
    for r in records:
        setting = {key: r[key] for key in ("threads", "documents", "classes")} | {"K": r["topics"]}
        results.add(program, "seconds a sweep", r["seconds"], **setting)
        results.add(program, "MB", r["state"] / 1e6, **setting)


if __name__ == "__main__":
    main()
