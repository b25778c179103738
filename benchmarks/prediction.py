"""How fast the topics of new documents are found, and how good they and the predictions by them are.

    python benchmarks/prediction.py --data TRAIN --test TEST --vocabulary vocab.txt --topics 50 400

Quality is that of document completion: the topics of a random half of a document's tokens are found, and the figure is
the mean log probability of a token of the other half. Seconds are those of whole documents, for the whole call.
tomotopy's `infer` has topics of its own, after as many sweeps of training.

With --model, predictions of a supervised model are measured instead: seconds, accuracy and, where it has one, the log
score.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import ALPHA, BETA, Results, default_threads, load, name_of, parser
from numpy.typing import NDArray

import ppl_topics as pt

METHODS = ("gibbs", "cvb0")
ITERATIONS = 100
"""Of tomotopy's `infer`; those of `gibbs` are 20 and 100."""
MANY = 1_000
"""Sweeps whose mean is taken for the truth; its distance from theta is the root of the mean square over documents."""


def halves(corpus: pt.Corpus) -> tuple[pt.Corpus, pt.Corpus]:
    """Return documents of half of the tokens, at random, and of the others."""
    rng = np.random.default_rng(1)
    orders = [rng.permutation(np.array(corpus.tokens(d))) for d in range(corpus.n_docs)]
    result = []
    for parity in (0, 1):
        documents = [order[parity::2] for order in orders]
        doc_ptr = np.cumsum([0, *map(len, documents)])
        result.append(pt.Corpus.from_arrays(doc_ptr, np.concatenate(documents), corpus.vocabulary))
    return result[0], result[1]


def completion(theta: NDArray[Any], phi: NDArray[Any], second: pt.Corpus) -> float:
    """Return the mean log probability of a token of the second halves; phi has shape (V, K)."""
    total = 0.0
    for doc in range(second.n_docs):
        total += float(np.log(phi[second.tokens(doc)] @ theta[doc]).sum())
    return total / second.n_tokens


def seconds_of(call: Callable[[], Any], rounds: int) -> list[float]:
    """Return the seconds of calls after a first one, which compiles."""
    call()
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return found


def main() -> None:
    """Do what the command line asks for."""
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--test")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, nargs="+", default=[50])
    arguments.add_argument("--model", help="supervised model whose predictions are measured")
    arguments.add_argument("--sweeps", type=int, default=200, help="of training, of which the last 20 are kept")
    arguments.add_argument("--documents", type=int, help="number of new documents, at random")
    arguments.add_argument("--peers", nargs="*", choices=["tomotopy"], default=["tomotopy"])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, nargs="+", default=default_threads())
    options = arguments.parse_args()
    train = load(options.data, options.vocabulary)
    if options.test:
        test = pt.read_corpus(options.test, vocabulary=options.vocabulary)
    else:
        train, test = train.split(0.2, seed=1)
    test = test.with_vocabulary(train.vocabulary)
    if options.documents:
        test = test.select(np.random.default_rng(1).permutation(test.n_docs)[: options.documents])
    how: dict[str, Any] = {"warmup": options.sweeps - 20, "draws": 20, "chains": 1, "seed": 1, "progress": False}
    for topics in options.topics:
        about = {"corpus": f"{test.n_docs:,} documents of {name_of(options.test or options.data)}", "K": topics}
        if options.model:
            predictions(options, pt.sample(options.model, train, topics=topics, **how), test, about)
        else:
            topics_of_new_documents(options, train, test, about, how)


def topics_of_new_documents(
    options: Any, train: pt.Corpus, test: pt.Corpus, about: dict[str, Any], how: dict[str, Any]
) -> None:
    """Measure the topics of new documents, by both methods and by tomotopy."""
    results = Results(options.results, "prediction", "How fast are the topics of new documents found?", **about)
    fit = pt.sample("lda", train, topics=about["K"], alpha=ALPHA, beta=BETA, **how)
    first, second = halves(test)
    phi = fit.groups["constant_data"]["phi_mean"].values[0].T
    many = fit.transform(test, warmup=MANY // 10, draws=MANY, seed=2)
    for method in METHODS:
        distance = np.sqrt(((fit.transform(test, method=method) - many) ** 2).sum(axis=1).mean())
        print(f"{method}: {distance:.4f} from the mean of {MANY} sweeps", flush=True)
        results.add(
            method, f"distance of theta from that of {MANY:,} sweeps", float(distance), threads=max(options.threads)
        )
    for threads in options.threads:
        peer = of_tomotopy(options, train, first, second, about["K"], threads) if options.peers else None
        for method in METHODS:
            seconds = seconds_of(lambda m=method, t=threads: fit.transform(test, method=m, threads=t), options.rounds)
            theta = fit.transform(first, method=method)
            found = (seconds, completion(theta, phi, second))
            report(
                results, method, found, test.n_docs, threads, {"tomotopy": float(np.median(peer[0]))} if peer else {}
            )
        if peer:
            report(results, f"tomotopy infer, {ITERATIONS} iterations", peer, test.n_docs, threads, {})


def report(
    results: Results,
    program: str,
    found: tuple[list[float], float],
    documents: int,
    threads: int,
    peers: dict[str, float],
) -> None:
    """Print and store the figures of a program."""
    seconds, quality = found
    ratios = {name: value / float(np.median(seconds)) for name, value in peers.items()}
    print(f"{program}, {threads} threads: {np.median(seconds):.2f} s, {quality:.4f}, {ratios}", flush=True)
    results.add(program, "seconds", seconds, ratios, threads=threads)
    results.add(program, "documents a second", [documents / value for value in seconds], threads=threads)
    results.add(program, "log p of a token of the second half", quality, threads=threads)


def of_tomotopy(
    options: Any, train: pt.Corpus, first: pt.Corpus, second: pt.Corpus, topics: int, threads: int
) -> tuple[list[float], float]:
    """Return seconds of tomotopy's `infer` for whole documents, and the quality of the topics of first halves."""
    from peers import Tomotopy, quiet

    peer = Tomotopy(threads, "none" if threads == 1 else "partition")
    how: dict[str, Any] = {"workers": threads, "parallel": peer.scheme}
    with quiet():
        model = peer._model(train, topics, 1)
        model.train(options.sweeps, **how)
        words = train.vocabulary.tolist()
        known = set(model.used_vocabs)

        def texts(corpus: pt.Corpus) -> list[list[str]]:
            return [[words[w] for w in corpus.tokens(d) if words[w] in known] for d in range(corpus.n_docs)]

        of_first, of_second = texts(first), texts(second)
        whole = [text for text in (a + b for a, b in zip(of_first, of_second, strict=True)) if text]
        seconds = []
        for _ in range(options.rounds):
            documents = [model.make_doc(text) for text in whole]
            began = time.perf_counter()
            model.infer(documents, iterations=ITERATIONS, **how)
            seconds.append(time.perf_counter() - began)
        documents = [model.make_doc(text) for text in of_first if text]
        model.infer(documents, iterations=ITERATIONS, **how)
    theta = np.full((first.n_docs, topics), 1 / topics)
    theta[[d for d, text in enumerate(of_first) if text]] = [d.get_topic_dist() for d in documents]
    own = {word: row for row, word in enumerate(model.used_vocabs)}
    phi = np.full((len(words), topics), 1e-12)
    rows = [own.get(word, -1) for word in words]
    by_topic = np.array([model.get_topic_word_dist(k) for k in range(topics)]).T
    phi[[row >= 0 for row in rows]] = by_topic[[row for row in rows if row >= 0]]
    return seconds, completion(theta, phi, second)


def predictions(options: Any, fit: pt.Fit, test: pt.Corpus, about: dict[str, Any]) -> None:
    """Measure the predictions of a supervised model by both methods."""
    question = "How fast are new documents classified, and how well?"
    results = Results(options.results, "prediction", question, model=options.model, **about)
    for method in METHODS:
        for threads in options.threads:
            call = lambda m=method, t=threads: fit.predict(test, method=m, threads=t)  # noqa: E731
            results.add(method, "seconds", seconds_of(call, options.rounds), threads=threads)
        found = fit.metrics(test, method=method)
        print(method, found, flush=True)
        for measure in ("accuracy", "log_score"):
            if measure in found:
                results.add(method, measure.replace("_", " "), float(found[measure]), threads=max(options.threads))


if __name__ == "__main__":
    main()
