"""What an experiment changes in what people write: the example of R's stm, with draws of the posterior.

    python examples/treatment.py gadarian.csv --plot treatment.svg

Answers to an open question on immigration; those of the treated were first asked what makes them anxious. The file
(stm's data `gadarian`) has the columns text, treatment (0 or 1) and party (0 for a strong Democrat, 1 for a strong
Republican). The table has each topic's expected share of an answer with and without treatment, and the interval of the
difference, each averaged over the parties of all who answered.
"""

from __future__ import annotations

import argparse

import pandas as pd

import ppl_topics as pt


def effects(corpus: pt.Corpus, **options: int) -> tuple[pt.Fit, pd.DataFrame]:
    """Return a fit, and a table with a row for each topic of its first chain, the largest difference first."""
    fit = pt.sample("dmr", corpus, **{"topics": 3, "seed": 1, **options})
    shares = fit.prevalence("treatment", [0, 1]).isel(chain=0)
    treated, control = shares.sel(treatment=1), shares.sel(treatment=0)
    low, high = (treated - control).quantile([0.025, 0.975], "draw").values
    words = fit.topics(6).set_index("topic")["words"]
    table = pd.DataFrame(
        {
            "control": control.mean("draw").values,
            "treated": treated.mean("draw").values,
            "difference": (treated - control).mean("draw").values,
            "2.5%": low,
            "97.5%": high,
            "words": words.loc[shares["topic"].values].values,
        },
        index=pd.Index(shares["topic"].values, name="topic"),
    )
    return fit, table.sort_values("difference", ascending=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--plot", help="where the shares by party go")
    chosen = parser.parse_args()
    answers = pt.read_corpus(
        chosen.data, text_column="text", covariates=["treatment", "party"], stop_words="english", min_df=3
    )
    fit, found = effects(answers, warmup=1000, draws=1000, chains=4)
    print(fit.verdict())
    print(found.round(3).to_string())
    if chosen.plot:
        panel = fit.plot_prevalence("party", [int(topic) for topic in found.index])
        panel.figure.savefig(chosen.plot)
