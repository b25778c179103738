"""Likelihood of held-out documents: tokens a second from left to right, against document completion and tomotopy.

The log likelihood that tomotopy's ``infer`` returns is log p(w, z) of the last draw of the topics, no estimate of
log p(w): no peer has one. What can be compared is the processor time of the draw of one topic, of which both
are made.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import ALPHA, BETA, Results, load, name_of, parser, print_table

import ppl_topics as pt
from ppl_topics.prediction.likelihood import MOVES, PARTICLES
from ppl_topics.samplers.held_out.completion import DRAWS, WARMUP

ITERATIONS = 100

METHODS = ("left_to_right", "document_completion")


def main() -> None:
    arguments = parse()
    corpus = load(arguments.data, arguments.vocabulary)
    if arguments.test:
        train, test = corpus, pt.read_corpus(arguments.test, vocabulary=arguments.vocabulary)
    else:
        train, test = corpus.split(0.2, seed=1)
    how: dict[str, Any] = {"topics": arguments.topics, "alpha": ALPHA, "beta": BETA, "seed": 1, "chains": 1}
    record = {"theta": "none", "phi": "none"}
    fit = pt.sample("lda", train, draws=10, warmup=arguments.burn_in, progress=False, record=record, **how)
    if arguments.documents:
        test = test.select(np.random.default_rng(1).permutation(test.n_docs)[: arguments.documents])
    rows = [ours(fit, test, method, arguments) for method in METHODS if method in arguments.programs]
    if "tomotopy" in arguments.programs:
        rows += [tomotopy(train, test, arguments, threads) for threads in arguments.threads]
    print(f"{test.n_docs:,} documents, {test.n_tokens:,} tokens, K = {arguments.topics}")
    header = [
        "program",
        "threads",
        "seconds",
        "tokens a second",
        "CPU ns a draw",
        "log likelihood a token",
        "error",
        "bias",
    ]
    flat = [row for group in rows for row in group]
    print_table(
        header, [[str(row["program"]), str(row["threads"]), *map(spell, list(row.values())[2:])] for row in flat]
    )
    corpus_name = f"{test.n_docs:,} documents of {name_of(arguments.test or arguments.data)}"
    about = {"corpus": corpus_name, "K": arguments.topics}
    results = Results(arguments.results, "held_out", "How fast are held-out likelihoods?", **about)
    for row in flat:
        results.add(row["program"], "tokens a second", row["tokens_a_second"], threads=row["threads"])
        results.add(row["program"], "processor ns a draw of a topic", row["cpu_ns_a_draw"], threads=row["threads"])


def parse() -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--test")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, default=20)
    arguments.add_argument("--burn-in", type=int, default=50)
    arguments.add_argument("--documents", type=int, help="number of held-out documents, at random")
    arguments.add_argument("--threads", type=int, nargs="+", default=[1])
    programs = (*METHODS, "tomotopy")
    arguments.add_argument("--programs", nargs="+", choices=programs, default=programs)
    arguments.add_argument("--rounds", type=int, default=3, help="of which the fastest counts")
    return arguments.parse_args()


def ours(fit: pt.Fit, test: pt.Corpus, method: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    fit.held_out(test.select([0, 1]), method=method)
    rows = []
    for threads in arguments.threads:
        seconds = []
        for _ in range(arguments.rounds):
            started = (time.perf_counter(), time.process_time())
            found = fit.held_out(test, method=method, seed=1, threads=threads)
            seconds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
        lengths = test.doc_lengths
        if method == "left_to_right":
            draws = PARTICLES[method] * int(sum(np.minimum(np.arange(n), MOVES).sum() + n for n in lengths.tolist()))
        else:
            draws = PARTICLES[method] * (WARMUP + DRAWS) * int((lengths // 2).sum())
        best, busy = map(min, zip(*seconds, strict=True))
        rows.append(
            {
                "program": method,
                "threads": threads,
                "seconds": best,
                "tokens_a_second": test.n_tokens / best,
                "cpu_ns_a_draw": 1e9 * busy / draws,
                "per_token": found.per_token,
                "error": found.error / found.n_tokens,
                "bias": found.bias / found.n_tokens,
            }
        )
    return rows


def tomotopy(train: pt.Corpus, test: pt.Corpus, arguments: argparse.Namespace, threads: int) -> list[dict[str, Any]]:
    try:
        from peers import Tomotopy, quiet

        model = Tomotopy._model(train, arguments.topics, 1)
    except ImportError:
        return []
    with quiet():
        model.train(arguments.burn_in, workers=threads)
        aligned = test.with_vocabulary(train.vocabulary)
        words = train.vocabulary.tolist()
        texts = [[words[w] for w in aligned.tokens(d)] for d in np.flatnonzero(aligned.doc_lengths)]
        seconds = []
        for _ in range(arguments.rounds):
            documents = [model.make_doc(text) for text in texts]
            started = (time.perf_counter(), time.process_time())
            model.infer(documents, iterations=ITERATIONS, workers=threads)
            seconds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    best, busy = map(min, zip(*seconds, strict=True))
    return [
        {
            "program": f"tomotopy infer, {ITERATIONS} iterations",
            "threads": threads,
            "seconds": best,
            "tokens_a_second": aligned.n_tokens / best,
            "cpu_ns_a_draw": 1e9 * busy / (ITERATIONS * aligned.n_tokens),
            "per_token": float("nan"),
            "error": float("nan"),
            "bias": float("nan"),
        }
    ]


def spell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"


if __name__ == "__main__":
    main()
