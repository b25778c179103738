r"""Models of tomotopy that have a relative among ours, on the same documents: held-out likelihood, and seconds.

    python benchmarks/relatives.py --data train.svmlight.gz --test test.svmlight.gz --vocabulary vocab.txt \
        --topics 50 --sweeps 200 --documents 500 --threads 2

Covariates of DMR are the classes, and so are the labels of (partially) labelled LDA, which has the other topics for all
documents; there the likelihood is that given the class. The likelihood is estimated by one function for all: from left
to right, given the topics at the end of the run and the concentrations of each document. tomotopy's HDP is scored as
the LDA that it converts itself into. Ours with the HDP has --topics at most. Without --data it runs small, on simulated
documents. tomotopy's PTModel (pseudo-documents) has no relative.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import ALPHA, BETA, Results, classes_of, name_of, parser, print_table
from peers import quiet
from supervised import train_and_test, with_a_test

import ppl_topics as pt
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.prediction.likelihood import MOVES, PARTICLES
from ppl_topics.samplers.held_out.left_to_right import estimate_left_to_right
from ppl_topics.samplers.held_out.replicates import REPLICATES


class Found(NamedTuple):
    """A program's seconds, log likelihood a held-out token, its Monte Carlo error, and topics in use."""

    seconds: float
    per_token: float
    error: float
    topics: int


def ours(model: str, train: pt.Corpus, test: pt.Corpus, sweeps: int, threads: int, **parameters: Any) -> Found:
    """Return what a shipped model of ours finds: the topics' mean given the last assignments."""
    how = {"beta": BETA, "chains": 1, "seed": 1, "progress": False, "threads": threads, **parameters}
    how["record"] = {"theta": "none", "phi": "none"}
    # Compiles.
    pt.sample(model, train, warmup=0, draws=1, **how)
    started = time.perf_counter()
    fit = pt.sample(model, train, warmup=sweeps - 1, draws=1, **how)
    seconds = time.perf_counter() - started
    found = fit.held_out(test, seed=1, threads=threads)
    share = fit.posterior["topic_share"].values.reshape(-1)
    return Found(seconds, found.per_token, found.error / found.n_tokens, int((share > 0.0).sum()))


def theirs(
    model: Any, train: pt.Corpus, test: pt.Corpus, sweeps: int, threads: int, of_documents: Callable[[Any], Any]
) -> Found:
    """Return what a model of tomotopy finds; ``of_documents`` gives it, trained, with alpha by document, (D, K)."""
    started = time.perf_counter()
    with quiet():
        model.train(sweeps, workers=threads)
    seconds = time.perf_counter() - started
    model, alpha = of_documents(model)
    place = {str(word): w for w, word in enumerate(train.vocabulary)}
    known = np.array([place[word] for word in model.used_vocabs])
    phi = np.zeros((train.n_words, alpha.shape[1]), np.float32)
    for topic in range(alpha.shape[1]):
        phi[known, topic] = model.get_topic_word_dist(topic)
    seen = np.isin(test.words, known)
    doc_ptr = np.concatenate([[0], np.cumsum(seen)])[test.doc_ptr].astype(np.int64)
    row = np.arange(test.n_docs) if len(alpha) > 1 else np.empty(0, np.int64)
    values = estimate_left_to_right(
        doc_ptr,
        np.ascontiguousarray(test.words[seen]),
        phi,
        Alpha(alpha, row, alpha.mean(axis=0)),
        PARTICLES["left_to_right"] // REPLICATES,
        MOVES,
        Key(1, 0, 0),
    )
    total = values.sum(axis=0) / seen.sum()
    used = sum(count > 0 for count in model.get_count_by_topics())
    return Found(seconds, float(total.mean()), float(total.std(ddof=1) / np.sqrt(REPLICATES)), used)


def tomotopy_models(train: pt.Corpus, test: pt.Corpus, topics: int) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return the models of tomotopy with their documents, and what gives their concentrations."""
    import tomotopy

    classes, wanted = classes_of(train), classes_of(test)
    names = sorted(set(classes))
    how = {"alpha": ALPHA, "eta": BETA, "seed": 1}
    latent = max(1, topics - len(names))
    models = {
        "lda": tomotopy.LDAModel(k=topics, **how),
        "dmr": tomotopy.DMRModel(k=topics, **how),
        "labelled_lda": tomotopy.PLDAModel(latent_topics=latent, topics_per_label=1, **how),
        "hdp_lda": tomotopy.HDPModel(initial_k=2, gamma=1.0, **how),
    }
    words = train.vocabulary.tolist()
    for d in np.flatnonzero(train.doc_lengths):
        text = [words[w] for w in train.tokens(d)]
        models["lda"].add_doc(text)
        models["hdp_lda"].add_doc(text)
        models["dmr"].add_doc(text, metadata=classes[d])
        models["labelled_lda"].add_doc(text, labels=[classes[d]])
    models["lda"].optim_interval = models["labelled_lda"].optim_interval = 0

    def of_labels(model: Any) -> Any:
        places = {name: place for place, name in enumerate(model.topic_label_dict)}
        alpha = np.zeros((len(wanted), model.k))
        alpha[:, len(places) :] = ALPHA
        for d, name in enumerate(wanted):
            alpha[d, places[name]] = ALPHA
        return model, alpha

    def of_tables(model: Any) -> Any:
        lda, _ = model.convert_to_lda()
        return lda, np.array(lda.alpha, np.float64)[None]

    return {
        "lda": (models["lda"], lambda model: (model, np.full((1, topics), ALPHA))),
        "dmr": (models["dmr"], lambda model: (model, np.stack([model.get_topic_prior(name) for name in wanted]))),
        "labelled_lda": (models["labelled_lda"], of_labels),
        "hdp_lda": (models["hdp_lda"], of_tables),
    }


def main() -> None:
    arguments = with_a_test(parser(__doc__))
    arguments.add_argument("--documents", type=int, default=50, help="held out, at random")
    options = arguments.parse_args()
    train, test = train_and_test(options)
    test = test.select(np.random.default_rng(1).permutation(test.n_docs)[: options.documents])
    by_class = [corpus.with_covariates(pd.DataFrame({"class": classes_of(corpus)})) for corpus in (train, test)]
    assert train.labels is not None
    parameters: dict[str, dict[str, Any]] = {
        "lda": {"alpha": ALPHA, "topics": options.topics},
        "dmr": {"topics": options.topics},
        "labelled_lda": {
            "alpha": ALPHA,
            "topics": options.topics,
            "background": max(1, options.topics - len(train.labels.classes)),
        },
        "hdp_lda": {"topics": options.topics},
    }
    about: dict[str, Any] = {
        "corpus": name_of(options.data, "simulated"),
        "threads": options.threads,
        "sweeps": options.sweeps,
        "held out": f"{test.n_docs:,} documents",
    }
    results = Results(options.results, "relatives", "How do other models compare with tomotopy's?", **about)
    peers, rows = tomotopy_models(train, test, options.topics), []
    for name, given in parameters.items():
        corpora = by_class if name == "dmr" else (train, test)
        found = {
            "ppl-topics": ours(name, *corpora, options.sweeps, options.threads, **given),
            "tomotopy": theirs(peers[name][0], train, test, options.sweeps, options.threads, peers[name][1]),
        }
        for program, of in found.items():
            ratio = {"tomotopy": found["tomotopy"].seconds / of.seconds} if program == "ppl-topics" else {}
            results.add(f"{name}, {program}", "seconds", of.seconds, ratio, K=options.topics)
            results.add(f"{name}, {program}", "held-out log likelihood a token", of.per_token, K=options.topics)
            rows.append([name, program, f"{of.seconds:.1f}", f"{of.per_token:.4f}", f"{of.error:.4f}", str(of.topics)])
    print_table(["model", "program", "seconds", "log likelihood a token", "error", "topics in use"], rows)


if __name__ == "__main__":
    main()
