"""How leave-one-out ranks numbers of topics, on documents whose number is known.

    python examples/number_of_topics.py    # four minutes on two cores

Words and classes are drawn from supervised LDA with 20 topics. Models with 10, 20 and 50 are fitted, and compared by
PSIS-LOO of the words, PSIS-LOO of the labels given the words, and the likelihood and the classes of new documents.
"""

from __future__ import annotations

import arviz as az
import numpy as np
import pandas as pd

import ppl_topics as pt

MODEL = "slda_multinomial"
CLASSES = 3


def study(
    topics: tuple[int, ...] = (10, 20, 50),
    truth: int = 20,
    documents: int = 500,
    words: int = 1000,
    warmup: int = 300,
    draws: int = 50,
    chains: int = 2,
) -> pd.DataFrame:
    """Return a table with a row for each number of topics."""
    sizes = {"topics": truth, "documents": documents, "lengths": 80, "responses": CLASSES - 1, "variance": 100.0}
    training = pt.simulate(MODEL, words=words, seed=1, **sizes)
    given = {name: training.values[name] for name in ("phi", "eta")}
    new = pt.simulate(MODEL, given=given, seed=2, **sizes).corpus
    rows = {}
    for number in topics:
        fit = pt.sample(
            MODEL,
            training.corpus,
            topics=number,
            variance=100.0,
            warmup=warmup,
            draws=draws,
            chains=chains,
            seed=1,
            record={"phi": "all"},
            progress=False,
        )
        row = {}
        for of in ("words", "labels"):
            whole = fit.with_groups(log_likelihood=fit.log_likelihood(of))
            found = az.loo(whole.idata, pointwise=True, reff=1.0)
            elpd = "elpd_loo" if hasattr(found, "elpd_loo") else "elpd"
            row |= {
                f"LOO, {of}": float(getattr(found, elpd)),
                f"its error, {of}": float(found.se),
                f"k > 0.7, {of}": float(np.mean(np.asarray(found.pareto_k) > 0.7)),
            }
        row["new documents"] = fit.held_out(new, phi="draws").log_likelihood
        row["log p of their classes"] = fit.metrics(new, phi="draws")["log_score"]
        rows[number] = row
    return pd.DataFrame(rows).T.rename_axis("topics")


if __name__ == "__main__":
    print(study().round(3).T.to_string())
