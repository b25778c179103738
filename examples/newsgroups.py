"""LDA on 20 Newsgroups, from raw text to ArviZ.

    python examples/newsgroups.py [20news-bydate.jsonl.gz]

Without a file, scikit-learn fetches the postings.
"""

from __future__ import annotations

import sys
from pathlib import Path

import arviz as az

import ppl_topics as pt


def fit_newsgroups(corpus: pt.Corpus, topics: int = 50, warmup: int = 200, draws: int = 200) -> pt.Fit:
    """Fit LDA and print its topics and the summary of ArviZ."""
    print(corpus)
    print(pt.plan("lda_learned", corpus, topics=topics))
    fit = pt.sample("lda_learned", corpus, topics=topics, warmup=warmup, draws=draws, chains=2, seed=1)
    print(fit.topics(n_words=8).to_string(index=False))
    print(az.summary(fit.posterior[["beta"]]))
    return fit


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    postings = pt.load_20newsgroups(
        path, subset="train", remove=("headers", "footers", "quotes"), stop_words="english", min_count=10
    )
    print("written:", fit_newsgroups(postings).save("newsgroups.nc"))
