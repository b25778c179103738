r"""What the classes of documents do for their topics: held-out likelihood of the words alone, accuracy, seconds.

    python benchmarks/classes.py --data train.svmlight.gz --test test.svmlight.gz --vocabulary vocab.txt \
        --topics 50 --sweeps 200 --threads 2

Without labels (`lda`, `one_topic`), with topics that are the classes and others that are a background (`labelled_lda`,
which predicts the class whose topic a document has most of), and with classes below the topics (`slda_multinomial`),
all but `labelled_lda` with one topic a document too. The likelihood is that of new documents whose class is not known.
Without --data it runs small, on simulated documents.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import ALPHA, BETA, Results, classes_of, name_of, parser, print_table
from supervised import train_and_test, with_a_test

import ppl_topics as pt


def of_documents(base: str) -> dict[str, Any]:
    """Return a model with one topic a document, whose shares are learned."""
    alpha = {"block": "gamma", "shape": 1.0, "rate": 1000.0, "per": "topic"}
    blocks = {"alpha": alpha, "theta": {"concentration": "alpha"}, "z": {"per": "doc"}}
    return {"name": f"{base}, per doc", "extends": base, "parameters": {"alpha": None}, "blocks": blocks}


def accuracy(fit: pt.Fit, model: str, test: pt.Corpus) -> float | None:
    """Return the share of documents whose class is predicted; None if nothing predicts it."""
    assert test.labels is not None
    truth = np.array(classes_of(test))
    if model.startswith("slda"):
        return float((fit.predict(test) == truth).mean())
    if model != "labelled_lda":
        return None
    classes = np.array([str(name) for name in test.labels.classes])
    return float((classes[fit.transform(test)[:, : len(classes)].argmax(axis=1)] == truth).mean())


def main() -> None:
    arguments = with_a_test(parser(__doc__))
    arguments.add_argument("--documents", type=int, default=500, help="whose likelihood is estimated, at random")
    options = arguments.parse_args()
    train, test = train_and_test(options)
    some = test.select(np.random.default_rng(1).permutation(test.n_docs)[: options.documents])
    assert train.labels is not None
    background = max(1, options.topics - len(train.labels.classes))
    models: dict[str, tuple[Any, dict[str, Any]]] = {
        "lda": ("lda", {"alpha": ALPHA}),
        "one_topic": ("one_topic", {}),
        "labelled_lda": ("labelled_lda", {"alpha": ALPHA, "background": background}),
        "slda_multinomial": ("slda_multinomial", {"alpha": ALPHA}),
        "slda_multinomial, per doc": (of_documents("slda_multinomial"), {}),
    }
    about = {"corpus": name_of(options.data, "simulated"), "threads": options.threads, "sweeps": options.sweeps}
    question = "What do classes and whole documents do for topics?"
    results, rows = Results(options.results, "classes", question, **about), []
    half = options.sweeps // 2
    for name, (model, parameters) in models.items():
        how = {"topics": options.topics, "beta": BETA, "chains": 1, "seed": 1, "progress": False, **parameters}
        how |= {"threads": options.threads, "record": {"theta": "none", "phi": "none"}}
        # Compiles.
        pt.sample(model, train, warmup=0, draws=1, **how)
        started = time.perf_counter()
        fit = pt.sample(model, train, warmup=options.sweeps - half, draws=half, **how)
        seconds = time.perf_counter() - started
        held_out = fit.held_out(some, seed=1, threads=options.threads)
        found = accuracy(fit, name, test)
        results.add(name, "seconds", seconds, K=options.topics)
        results.add(name, "held-out log likelihood a token", held_out.per_token, K=options.topics)
        if found is not None:
            results.add(name, "accuracy", found, K=options.topics)
        shown = "" if found is None else f"{found:.3f}"
        rows.append([name, f"{seconds:.1f}", f"{held_out.per_token:.4f}", shown])
    print_table(["model", "seconds", "log likelihood a token", "accuracy"], rows)


if __name__ == "__main__":
    main()
