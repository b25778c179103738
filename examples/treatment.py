"""What an experiment changes in what people write: the example of R's stm, with draws of the posterior.

    python examples/treatment.py gadarian.csv --plot treatment.svg

Answers to an open question on immigration; those of the treated were first asked what makes them anxious. The file
(stm's data `gadarian`) has the columns text, treatment (0 or 1) and party (0 for a strong Democrat, 1 for a strong
Republican). The table has each topic's expected share of an answer with and without treatment, and the interval of the
difference, each averaged over the parties of all who answered, in each of four chains.
"""

from __future__ import annotations

import argparse

import pandas as pd

import ppl_topics as pt


def effects(corpus: pt.Corpus, **options: int) -> tuple[pt.Fit, pd.DataFrame]:
    """Return a fit whose chains are aligned, and a table of each topic in each chain, the largest difference first."""
    spline = "treatment + bs(party, 4)"
    fit = pt.sample("dmr", corpus, **{"topics": 3, "prevalence": spline, "seed": 1, **options}).aligned()
    shares = fit.prevalence("treatment", [0, 1])
    treated, control = shares.sel(treatment=1), shares.sel(treatment=0)
    columns = {
        "control": control.mean("draw"),
        "treated": treated.mean("draw"),
        "difference": (treated - control).mean("draw"),
        "2.5%": (treated - control).quantile(0.025, "draw"),
        "97.5%": (treated - control).quantile(0.975, "draw"),
    }
    values = {name: of.reset_coords(drop=True).to_series() for name, of in columns.items()}
    table = pd.DataFrame(values).reorder_levels(["topic", "chain"])
    chains = shares["chain"].values.tolist()
    words = pd.concat({chain: fit.topics(6, chain=chain).set_index("topic")["words"] for chain in chains})
    table["words"] = words.reorder_levels([1, 0]).reindex(table.index)
    order = -table["difference"].groupby("topic").transform("mean")
    return fit, table.assign(order=order).sort_values(["order", "topic", "chain"]).drop(columns="order")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--plot", help="where the shares by party go")
    chosen = parser.parse_args()
    answers = pt.read_corpus(
        chosen.data, text_column="text", covariates=["treatment", "party"], stop_words="english", min_df=3
    )
    fit, found = effects(answers, warmup=3000, draws=4000, thin=4, chains=4)
    print(fit.verdict())
    print(found.round(2).to_string())
    if chosen.plot:
        fit.plot_prevalence("party").figure.savefig(chosen.plot)
