"""What the papers' parameters do on data that they were not made for, beside other values and a linear model of words.

    python examples/papers/defaults.py --study ratings --train train.svmlight.gz --test test.svmlight.gz \
        --vocabulary vocab.txt --scale 1 5 --docs 300 --out ratings.csv ratings.png

ratings   regression: `medlda_regression` with targets as they are and standardised, at other costs; ridge on words
reviews   numbers above and below their mean: `medlda` at other costs, margins and variances; an SVM on words
near      two classes that share their words
labels    42 labels of which many are rare (--postings)

Chains start by label, as the models do by default, and their last half is kept. `tables` in docs/supervised.md are from
here.
"""

from __future__ import annotations

from typing import Any

from supervised_studies import Line, Study, Words, main

INTERCEPT = {"name": "medlda_intercept", "extends": "medlda", "blocks": {"y": {"intercept": True}}}


def line(name: str, model: Any = "medlda", sweeps: int = 200, **parameters: Any) -> Line:
    """Return a model whose last half of the sweeps is kept."""
    return Line(name, model, None, sweeps, parameters, draws=sweeps // 2)


RATINGS = (
    line("cost 262.4, epsilon 0.001", "medlda_regression", 120),
    line("the same, not standardised", "medlda_regression", 120, standardise=False),
    line("cost 4, epsilon 0.1", "medlda_regression", 120, cost=4.0, epsilon=0.1),
    line("cost 1, epsilon 0.1", "medlda_regression", 120, cost=1.0, epsilon=0.1),
    line("slda_gaussian", "slda_gaussian", 120),
    line("slda_gaussian, not standardised", "slda_gaussian", 120, standardise=False),
    Words("words, ridge", "lda", None, 1),
)
LABELS = (
    line("medlda"),
    line("intercept", INTERCEPT),
    line("variance 10", variance=10.0),
    line("variance 100", variance=100.0),
    line("margin 8", margin=8.0),
    line("cost 0.5", cost=0.5),
    line("cost 0.1", cost=0.1),
    line("variance 100, cost 0.1", variance=100.0, cost=0.1),
    line("20 + 20 sweeps", sweeps=40),
    line("20 + 20 sweeps, variance 100", sweeps=40, variance=100.0),
    line("400 + 400 sweeps", sweeps=800),
    line("400 + 400 sweeps, variance 100", sweeps=800, variance=100.0),
    line("uniform start", start="uniform"),
    line("medlda_horseshoe", "medlda_horseshoe"),
    line("slda_logistic", "slda_logistic"),
    Words("words, SVM", "lda", None, 1),
)

STUDIES = {
    "ratings": Study("Ratings", "numbers", (20,), RATINGS, panels=("r2", "seconds")),
    "reviews": Study("Ratings above and below the mean", "halves", (50,), LABELS),
    "near": Study("Two classes that share their words", "pair", (50,), LABELS),
    "labels": Study("Labels, many of them rare", "threads", (50,), LABELS, panels=("f1_micro", "f1_macro", "seconds")),
}

if __name__ == "__main__":
    main(__doc__, STUDIES)
