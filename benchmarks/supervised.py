r"""Supervised models: seconds of training, and how well new documents are predicted.

    python benchmarks/supervised.py --train train.svmlight.gz --test test.svmlight.gz --vocabulary vocab.txt \
        --topics 20 50 --threads 1 2

Without files it runs small, on simulated documents of three classes. Training is all of ``ppl_topics.sample`` with
nothing recorded that prediction does not need: warmup, draws, and what is kept of them; compilation is left out by a
first run of two sweeps. Prediction averages over the draws, with the defaults of ``fit.metrics``. With ``--calibrate``
tomotopy's LDA (K = 100, 1 worker) runs on the same documents, so that seconds can be compared between machines.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from typing import Any

import numpy as np
import yaml
from common import Results, default_threads, load, name_of, parser, print_table
from peers import Tomotopy

import ppl_topics as pt

CALIBRATION_TOPICS, CALIBRATION_SWEEPS = 100, 10


def main() -> None:
    """Run the benchmark."""
    arguments = parse()
    train, test = read(arguments)
    classes = f", {len(arguments.classes)} classes" if arguments.classes else ""
    corpus = name_of(arguments.train, "simulated") + classes
    question = "How fast is a supervised model trained, and how well does it predict?"
    results = Results(arguments.results, "supervised", question, corpus=corpus)
    program = " ".join([arguments.model, *arguments.set])
    print(f"{train}; {test}; {arguments.model}, warmup {arguments.warmup}, draws {arguments.draws}")
    rows = []
    for topics in arguments.topics:
        for threads in arguments.threads:
            fit_once(train, topics, threads, 0, arguments, warmup=1, draws=1)
            runs = [measure(train, test, topics, threads, seed, arguments) for seed in arguments.seeds]
            rows.append(summarise(topics, threads, runs))
            metric = metric_of(runs)
            heads = {"train": "seconds", "sampling": "seconds of sampling", "processor": "processor seconds"}
            for name, head in {**heads, metric: metric, "score": "log p(w, z) / N"}.items():
                results.add(program, head, [run[name] for run in runs], K=topics, threads=threads)
    print_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])
    if arguments.calibrate:
        rate = calibrate(train)
        print(f"tomotopy's LDA, K = {CALIBRATION_TOPICS}, 1 worker: {rate:.2f} M tokens/s")


def parse() -> argparse.Namespace:
    """Read the command line."""
    result = parser(__doc__)
    result.add_argument("--train")
    result.add_argument("--test")
    result.add_argument("--vocabulary")
    result.add_argument("--classes", nargs="+", help="keep only the documents of these classes")
    result.add_argument("--model", default="medlda")
    result.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="parameters of the model")
    result.add_argument("--schedule", help="in YAML; by default the model's own")
    result.add_argument("--topics", type=int, nargs="+", default=[5])
    result.add_argument("--threads", type=int, nargs="+", default=[1])
    result.add_argument("--warmup", type=int, default=10)
    result.add_argument("--draws", type=int, default=10)
    result.add_argument("--seeds", type=int, nargs="+", default=[1])
    result.add_argument("--stop-words", action="store_true", help="drop scikit-learn's list of English stop words")
    result.add_argument("--min-count", type=int, default=1, help="drop words that training has less often (1)")
    result.add_argument("--calibrate", action="store_true")
    return result.parse_args()


def read(arguments: argparse.Namespace) -> tuple[pt.Corpus, pt.Corpus]:
    """Read the corpora, or simulate them."""
    if arguments.train is None:
        return simulate(300, 1), simulate(200, 2)
    stop_words = "english" if arguments.stop_words else None
    # Rare words are those of training; new documents lose what training lacks.
    corpora = [
        pt.read_corpus(path, vocabulary=arguments.vocabulary, stop_words=stop_words, min_count=min_count)
        for path, min_count in ((arguments.train, arguments.min_count), (arguments.test, 1))
    ]
    if arguments.classes:
        corpora = [keep_classes(corpus, arguments.classes) for corpus in corpora]
    return corpora[0], corpora[1]


def keep_classes(corpus: pt.Corpus, classes: list[str]) -> pt.Corpus:
    """Return the documents of some classes."""
    assert corpus.labels is not None, "the corpus has no labels"
    names = corpus.labels.classes
    kept = corpus.select(np.flatnonzero(np.isin(names[corpus.labels.values], classes)))
    assert kept.labels is not None
    codes = np.array([classes.index(names[code]) for code in kept.labels.values], dtype=np.int32)
    return dataclasses.replace(kept, labels=pt.Labels("class", codes, np.array(classes, dtype=object)))


def with_a_test(arguments: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options of a script that trains models on one corpus, and tests them on another."""
    arguments.add_argument("--data")
    arguments.add_argument("--test")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, default=8)
    arguments.add_argument("--sweeps", type=int, default=20)
    arguments.add_argument("--threads", type=int, default=default_threads()[-1])
    return arguments


def train_and_test(options: argparse.Namespace) -> tuple[pt.Corpus, pt.Corpus]:
    """Read the corpora of these options, or simulate them."""
    if options.data is None:
        train, test = simulate(400, 3).split(0.2, seed=1)
        return train, test
    return load(options.data, options.vocabulary), pt.read_corpus(options.test, vocabulary=options.vocabulary)


def simulate(n_docs: int, seed: int) -> pt.Corpus:
    """Simulate short texts of three classes, each with its own words among common ones."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_docs)
    texts = [
        " ".join(f"w{word}" for word in np.where(rng.random(40) < 0.3, 50 + 20 * label, 0) + rng.integers(20, size=40))
        for label in labels
    ]
    return pt.Corpus.from_texts(texts, labels=[f"class {label}" for label in labels])


def fit_once(
    train: pt.Corpus, topics: int, threads: int, seed: int, arguments: argparse.Namespace, **sweeps: int
) -> pt.Fit:
    """Train one chain."""
    parameters = {name: yaml.safe_load(value) for name, _, value in (pair.partition("=") for pair in arguments.set)}
    return pt.sample(
        arguments.model,
        train,
        chains=1,
        seed=seed,
        threads=threads,
        progress=False,
        record={"phi": "none", "theta": "none"},
        schedule=None if arguments.schedule is None else yaml.safe_load(arguments.schedule),
        topics=topics,
        **sweeps,
        **parameters,
    )


def measure(
    train: pt.Corpus, test: pt.Corpus, topics: int, threads: int, seed: int, arguments: argparse.Namespace
) -> dict[str, float]:
    """Train and predict once."""
    started, before = time.perf_counter(), time.process_time()
    fit = fit_once(train, topics, threads, seed, arguments, warmup=arguments.warmup, draws=arguments.draws)
    trained, processor = time.perf_counter(), time.process_time() - before
    metrics = fit.metrics(test, threads=threads)
    done = time.perf_counter()
    groups = (fit.groups["warmup_sample_stats"], fit.groups["sample_stats"])
    sampling = sum(float(group["step_seconds"].sum()) for group in groups)
    numbers = {name: float(value) for name, value in metrics.items() if isinstance(value, int | float)}
    seconds = {"train": trained - started, "sampling": sampling, "processor": processor, "predict": done - trained}
    score = float(fit.groups["sample_stats"]["log_marginal"].mean()) / train.n_tokens
    return {**seconds, "score": score, **numbers}


def summarise(topics: int, threads: int, runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return medians of the seconds and of the log likelihood, and mean and range of the metric."""
    metric = metric_of(runs)
    values = [run[metric] for run in runs]
    row: dict[str, Any] = {"K": topics, "threads": threads}
    row["log p(w, z) / N"] = round(statistics.median(run["score"] for run in runs), 4)
    for name in ("train", "sampling", "processor", "predict"):
        row[f"{name} s"] = round(statistics.median(run[name] for run in runs), 3)
    spread = f"{min(values):.4f}..{max(values):.4f}"
    return {**row, metric: round(statistics.mean(values), 4), "min..max": spread}


def metric_of(runs: list[dict[str, float]]) -> str:
    """Return the name of what says how well a model predicts."""
    return "accuracy" if "accuracy" in runs[0] else "r2"


def calibrate(train: pt.Corpus) -> float:
    """Return the million tokens a second of tomotopy's LDA, one worker."""
    occurring = train.with_vocabulary(train.vocabulary[train.word_counts > 0])
    points = list(
        Tomotopy(1, "partition").trajectory(
            occurring, CALIBRATION_TOPICS, 1, [CALIBRATION_SWEEPS, 2 * CALIBRATION_SWEEPS]
        )
    )
    seconds = points[1].seconds - points[0].seconds
    return train.n_tokens * CALIBRATION_SWEEPS / seconds / 1e6


if __name__ == "__main__":
    main()
