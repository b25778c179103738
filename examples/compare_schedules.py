"""Two schedules of one posterior, compared by the effective draws that each gives a second.

    python examples/compare_schedules.py    # a minute or two

Fits LDA to the docstrings of the scientific Python stack, once with the topics integrated out and once with the
topics kept, and compares the inefficiency factor of alpha and of the log posterior.
"""

from __future__ import annotations

import pandas as pd

import ppl_topics as pt

COLLAPSED = pt.cycle(pt.step("z", "collapsed_gibbs"), pt.step("alpha", "slice_alpha"), pt.step("phi", "dirichlet_rows"))
KEPT = pt.cycle(
    pt.step("z", "sparse_partially_collapsed"), pt.step("alpha", "slice_alpha"), pt.step("phi", "dirichlet_rows")
)
MODEL = {
    "name": "lda_alpha",
    "extends": "lda",
    "blocks": {"alpha": {"block": "gamma", "shape": 1.0, "rate": 1.0}, "theta": {"concentration": "alpha"}},
}


def compare(corpus: pt.Corpus, topics: int = 10, warmup: int = 50, draws: int = 100) -> pd.DataFrame:
    """Return a table with a row for each schedule."""
    rows = {}
    for name, schedule in {"collapsed": COLLAPSED, "topics kept": KEPT}.items():
        record = {"phi": "none", "theta": "none"}
        fit = pt.sample(
            MODEL, corpus, topics=topics, schedule=schedule, warmup=warmup, draws=draws, seed=1, record=record
        )
        table = fit.efficiency()
        seconds = float(fit.groups["sample_stats"]["step_seconds"].sum())
        rows[name] = {
            "IF of alpha": table.loc["alpha", "inefficiency_median"],
            "IF of log posterior": table.loc["lp", "inefficiency_median"],
            "seconds": seconds,
            "effective draws of alpha a second": table.loc["alpha", "ess_bulk_median"] / seconds,
        }
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    print(compare(pt.load_docstrings()).round(2).to_string())
