r"""What each block adds to a sweep of a model that does without it.

    python benchmarks/blocks.py --data train.svmlight.gz --vocabulary vocab.txt --topics 50 --threads 2

Above the topics, and in them, blocks are compared with LDA of fixed concentrations; below them, with a response of
normal errors and normal coefficients. All have the kernels that the scheduler chooses, and start at random. Covariates
and labels are the class of a document, keywords the five words that are most in excess in each of ten classes, and the
targets how long the document is: its logarithm, or its fifth. Without --data it runs small, on simulated documents.
"""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pandas as pd
from common import ALPHA, BETA, Results, classes_of, default_threads, load, name_of, parser, print_table
from prevalence import EACH, measure, ours
from supervised import simulate

import ppl_topics as pt
from ppl_topics._util.threads import use_threads

Named = tuple[Any, dict[str, Any]]
"""A model and its parameters."""


def with_targets(corpus: pt.Corpus) -> pt.Corpus:
    """Return the documents with their class as a covariate, and targets that follow from their lengths."""
    lengths = np.log1p(np.asarray(corpus.doc_lengths, dtype=float))
    fifth = np.searchsorted(np.quantile(lengths, [0.2, 0.4, 0.6, 0.8]), lengths) + 1
    corpus = corpus.with_covariates(pd.DataFrame({"class": classes_of(corpus)}))
    return corpus.with_labels(lengths, name="length", kind="real").with_labels(fifth, name="fifth", kind="class")


def keywords_of(corpus: pt.Corpus, most: int = 10, words: int = 5) -> dict[str, list[str]]:
    """Return words for some classes: those that their documents have most in excess of what all have."""
    classes, counts = np.array(classes_of(corpus)), corpus.to_matrix().tocsr()
    overall = corpus.word_counts / corpus.n_tokens
    found: dict[str, list[str]] = {}
    taken: set[int] = set()
    for name in sorted(set(classes))[:most]:
        own = np.asarray(counts[classes == name].sum(axis=0)).ravel()
        order = np.argsort(-(own / own.sum() - overall), kind="stable")
        best = [w for w in order.tolist() if w not in taken][:words]
        taken.update(best)
        found[name] = corpus.vocabulary[best].tolist()
    return found


def above(corpus: pt.Corpus, topics: int) -> dict[str, Named]:
    """Return models by what they add to LDA."""
    assert corpus.labels is not None, "a corpus with classes"
    fixed = {"alpha": ALPHA, "beta": BETA}
    keywords = keywords_of(corpus, most=min(10, topics))
    horseshoe = {"block": "horseshoe", "per": "topic"}
    both = {"block": "keywords_and_background", "over": "word", "per": "topic", "concentration": "$beta"}
    return {
        "lda": ("lda", fixed),
        "alpha and beta learned": ("lda_learned", {}),
        "hierarchical_dirichlet": ("hdp_lda", {"beta": BETA}),
        "dirichlet_regression": ("dmr", {"beta": BETA}),
        "the same, horseshoe": ({"name": "h", "extends": "dmr", "blocks": {"gamma": horseshoe}}, {"beta": BETA}),
        "the same, random_walk": ("dmr_time", {"beta": BETA, "over": "class"}),
        "labelled": ("labelled_lda", {**fixed, "background": max(1, topics - len(corpus.labels.classes))}),
        "keywords": ("keyword_lda", {**fixed, "keywords": keywords}),
        "seeded": ("seeded_lda", {**fixed, "keywords": keywords}),
        "background": ("background_lda", fixed),
        "keywords_and_background": (
            {"name": "b", "extends": "lda", "blocks": {"phi": {**both, "keywords": keywords}}},
            fixed,
        ),
        "spike_slab": ("lda_spike_slab", fixed),
        "assignments, per: doc": ("one_topic", {"beta": BETA}),
    }


def below(corpus: pt.Corpus) -> dict[str, Named]:
    """Return models by their response or coefficient prior, the plain one first."""
    fixed = {"alpha": ALPHA, "beta": BETA}
    half_cauchy = {"block": "half_cauchy"}

    def response(**options: Any) -> dict[str, Any]:
        return {"coefficients": "eta", "features": ["z"], "intercept": True, "observed": "length", **options}

    def made(y: dict[str, Any], prior: str = "normal") -> Named:
        eta = {"block": prior, "per": "response"}
        return {"name": "below", "extends": "lda", "blocks": {"eta": eta, "y": response(**y)}}, fixed

    gaussian = {"block": "gaussian"}
    cutpoints = {"block": "ordered_half_normal", "scale": 3.0}
    several = {"eta": {"block": "normal", "per": "response"}, "y": response(**gaussian)}
    several |= {
        "eta_class": {"block": "normal", "per": "response"},
        "y_class": response(block="stick_breaking_logistic", coefficients="eta_class", observed="labels"),
    }
    return {
        "gaussian": made(gaussian),
        "student_t": made({"block": "student_t", "sigma": half_cauchy}),
        "quantile": made({"block": "quantile", "sigma": half_cauchy}),
        "ordinal_probit": made({"block": "ordinal_probit", "cutpoints": cutpoints, "observed": "fifth"}),
        "stick_breaking_logistic": made({"block": "stick_breaking_logistic", "observed": "labels"}),
        "gaussian and stick_breaking_logistic": ({"name": "two", "extends": "lda", "blocks": several}, fixed),
        "gaussian, laplace": made(gaussian, "laplace"),
        "gaussian, student_t_coefficients": made(gaussian, "student_t_coefficients"),
        "gaussian, horseshoe": made(gaussian, "horseshoe"),
        "gaussian, regularised_horseshoe": made(gaussian, "regularised_horseshoe"),
    }


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data")
    arguments.add_argument("--vocabulary")
    arguments.add_argument("--topics", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=default_threads()[-1])
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    use_threads(options.threads)
    if options.data is None:
        corpus = simulate(400, 3)
        # Simulated documents are equally long, but not in every second word.
        corpus = corpus.with_vocabulary(corpus.vocabulary[::2])
    else:
        corpus = load(options.data, options.vocabulary)
    corpus = with_targets(corpus)
    about: dict[str, Any] = {"corpus": name_of(options.data, "simulated"), "threads": options.threads}
    results, rows = Results(options.results, "blocks", "What does a block add to a sweep?", **about), []
    for models in (above(corpus, options.topics), below(corpus)):
        runs = {
            name: ours(corpus, model, topics=options.topics, **parameters)
            for name, (model, parameters) in models.items()
        }
        seconds, _ = measure(runs, options.rounds)
        plain = next(iter(models))
        base = statistics.median(seconds[plain])
        for name, values in seconds.items():
            each = [1000.0 * value / EACH for value in values]
            times = statistics.median(values) / base
            results.add(name, "milliseconds a sweep", each, K=options.topics, beside=plain)
            results.add(name, "times the seconds of the plain model", times, K=options.topics, beside=plain)
            rows.append([name, plain, f"{statistics.median(each):.3g}", f"{times:.2f}"])
    print_table(["block", "beside", "ms a sweep", "times"], rows)


if __name__ == "__main__":
    main()
