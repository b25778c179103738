"""Accuracy of DOLDA against the number of topics, after Figure 2 of Magnusson, Jonsson, Villani 2020.

    python examples/dolda_2020.py --train train.svmlight.gz --test test.svmlight.gz --vocabulary vocab.txt \
        --stop-words --min-count 10 --out fig2.csv fig2.png

Lines: horseshoe and normal coefficients; two steps, LDA and then the same regression, with a horseshoe, on the mean
shares of its topics as covariates; and Gibbs MedLDA. `dolda_2020_topics.py` has the figures of coefficients and topics.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from supervised_studies import Line, Study, main

import ppl_topics as pt

REGRESSION = {
    "name": "two_step",
    "extends": "dolda",
    "blocks": {
        "x": {"block": "covariates", "observed": "covariates", "standardise": False},
        "y": {"features": ["z", "x"], "supervised_topics": 0},
    },
}
"""Its topics play no part; one is enough."""


@dataclass(frozen=True)
class TwoSteps(Line):
    """LDA, and then a regression of the labels on the documents' shares of its topics."""

    def run(self, train: pt.Corpus, topics: int, **options: Any) -> Sequence[pt.Fit]:
        """Run one chain of each."""
        (lda,) = super().run(train, topics, **options)
        regression = dataclasses.replace(self, model=REGRESSION)
        return [lda, *Line.run(regression, self.with_shares(lda, train, **options), 1, **options)]

    def measure(self, fits: Sequence[pt.Fit], corpus: pt.Corpus, train: pt.Corpus, **options: Any) -> dict[str, float]:
        """Return how well both together predict a corpus."""
        return super().measure(fits, self.with_shares(fits[0], corpus, **options), train, **options)

    def with_shares(self, lda: pt.Fit, corpus: pt.Corpus, **options: Any) -> pt.Corpus:
        """Return a corpus whose covariates are the mean shares of the topics."""
        shares = pt.Covariates.from_matrix(lda.transform(corpus, **options))
        return dataclasses.replace(corpus, covariates=shares)


STUDIES = {
    "fig2": Study(
        "DOLDA, 20 Newsgroups",
        "classes",
        (20, 40, 100),
        (
            Line("horseshoe", "dolda", None, 200, draws=100),
            Line("normal", "dolda_normal", None, 200, draws=100),
            TwoSteps("two steps", "lda", None, 200, draws=100),
            Line("MedLDA", "medlda", None, 200, draws=100),
        ),
    ),
}

if __name__ == "__main__":
    main(__doc__, STUDIES)
