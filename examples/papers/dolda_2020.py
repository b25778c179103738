"""Accuracy and seconds of DOLDA, after Figures 2, 3 and 9 of Magnusson, Jonsson, Villani 2020.

    python examples/papers/dolda_2020.py --study fig2 --train train.svmlight.gz --test test.svmlight.gz \
        --vocabulary vocab.txt --stop-words --min-count 10 --out fig2.csv fig2.png

fig2     accuracy against K: horseshoe and normal coefficients; two steps, LDA and then the same regression on the mean
         shares of its topics; Gibbs MedLDA; LDA or words with a linear SVM
fig3     the same with covariates, the domain of the sender of a posting (--postings), where the paper has the directors
         and producers of films
fig9     seconds against the share of the documents, K = 100
fig9b    seconds against the number of threads, K = 20 and 100

`dolda_2020_topics.py` has the figures of coefficients and topics.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from supervised_studies import Line, Study, Words, main

import ppl_topics as pt

X: Mapping[str, Any] = {"block": "covariates", "observed": "covariates", "standardise": False}
THREADS = [threads for threads in (1, 2, 4, 8, 16, 32, 64) if threads <= (os.cpu_count() or 1)]
COVARIATES = {"blocks": {"x": X, "y": {"features": ["z", "x"]}}}
HORSESHOE = {"name": "horseshoe", "extends": "dolda", **COVARIATES}
NORMAL = {"name": "normal", "extends": "dolda_normal", **COVARIATES}


def regression(prior: str) -> Mapping[str, Any]:
    """Return DOLDA whose topics play no part (one is enough): a regression on covariates."""
    response = {"features": ["z", "x"], "supervised_topics": 0}
    return {"name": "two_step", "extends": prior, "blocks": {"x": X, "y": response}}


@dataclass(frozen=True)
class TwoSteps(Line):
    """LDA, and then a regression of the labels on the documents' shares of its topics, and their covariates."""

    prior: str = "dolda"

    def run(self, train: pt.Corpus, topics: int, **options: Any) -> Sequence[pt.Fit]:
        """Run one chain of each."""
        (lda,) = super().run(dataclasses.replace(train, covariates=None), topics, **options)
        second = dataclasses.replace(self, model=regression(self.prior))
        return [lda, *Line.run(second, self.with_shares(lda, train, **options), 1, **options)]

    def measure(self, fits: Sequence[pt.Fit], corpus: pt.Corpus, train: pt.Corpus, **options: Any) -> dict[str, float]:
        """Return how well both together predict a corpus."""
        return super().measure(fits, self.with_shares(fits[0], corpus, **options), train, **options)

    def with_shares(self, lda: pt.Fit, corpus: pt.Corpus, **options: Any) -> pt.Corpus:
        """Return a corpus whose covariates are the mean shares of the topics, beside those that it has."""
        shares = lda.transform(dataclasses.replace(corpus, covariates=None), **options)
        columns = [shares] if corpus.covariates is None else [shares, corpus.covariates.toarray()]
        return dataclasses.replace(corpus, covariates=pt.Covariates.from_matrix(np.hstack(columns)))


@dataclass(frozen=True)
class Part(Line):
    """A model on a random share of the documents, or with a number of threads."""

    def run(self, train: pt.Corpus, topics: int, **options: Any) -> Sequence[pt.Fit]:
        """Run one chain."""
        order = np.random.default_rng(0).permutation(train.n_docs)
        part = train.select(order[: round(self.settings.get("share", 1.0) * train.n_docs)])
        return super().run(part, topics, **options | {"threads": self.settings.get("threads", options["threads"])})


def lines(horseshoe: Any, normal: Any) -> tuple[Line, ...]:
    """Return the paper's lines for both priors of the coefficients."""
    return (
        Line("horseshoe", horseshoe, None, 120, draws=60),
        Line("normal", normal, None, 120, draws=60),
        TwoSteps("two steps, horseshoe", "lda", None, 120, draws=60),
        TwoSteps("two steps, normal", "lda", None, 120, draws=60, prior="dolda_normal"),
    )


STUDIES = {
    "fig2": Study(
        "DOLDA, 20 Newsgroups",
        "classes",
        (20, 40, 100),
        (
            *lines("dolda", "dolda_normal"),
            Line("MedLDA", "medlda", None, 120, draws=60),
            Line("LDA, then SVM", "lda", None, 120, draws=60),
            Words("words, SVM", "lda", None, 1),
        ),
    ),
    "fig3": Study("DOLDA with covariates", "senders", (20, 80), lines(HORSESHOE, NORMAL)),
    "fig9": Study(
        "Seconds of 100 sweeps against the share of the documents",
        "classes",
        (100,),
        tuple(Part("DOLDA", "dolda", None, 100, settings={"share": share}) for share in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)),
        x="share",
        panels=("seconds",),
    ),
    "fig9b": Study(
        "Seconds of 100 sweeps against the number of threads",
        "classes",
        (20, 100),
        tuple(Part("DOLDA", "dolda", None, 100, settings={"threads": threads}) for threads in THREADS),
        x="threads",
        panels=("seconds",),
    ),
}

if __name__ == "__main__":
    main(__doc__, STUDIES)
