"""Topics that are known by their keywords, and how much of them there is over time: the example of R's keyATM.

    python examples/bills.py bills.jsonl.gz keywords.json --plot bills.svg

A line of the file is a bill: ``{"congress": 101, "counts": {"court": 3, ...}}``. The other file has the keywords of
each topic that is known, `pt.read_keywords`. The topics' prevalence is a random walk over the congresses. The table has
the words of the topics, and for those with keywords p, the probability that a word of the topic is drawn from them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import ppl_topics as pt


def model(keywords: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the model: `dmr_time` with topics that have keywords."""
    phi = {"block": "keywords", "over": "word", "per": "topic", "concentration": "$beta", "keywords": dict(keywords)}
    return {"name": "bills", "extends": "dmr_time", "parameters": {"over": "congress"}, "blocks": {"phi": phi}}


def read_bills(path: str | Path) -> pt.Corpus:
    """Read the bills as counts of their words, with the congress."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        bills = [json.loads(line) for line in lines]
    words = [[word for word, count in bill["counts"].items() for _ in range(count)] for bill in bills]
    return pt.Corpus.from_tokens(words, covariates=[{"congress": str(bill["congress"])} for bill in bills])


def topics(corpus: pt.Corpus, keywords: Mapping[str, Sequence[str]], **options: int) -> tuple[pt.Fit, pd.DataFrame]:
    """Return a fit, and a table with a row for each topic of its first chain, the largest first."""
    fit = pt.sample(model(keywords), corpus, **{"topics": 7, "seed": 1, **options})
    weight = fit.posterior["keyword_weight"].isel(chain=0)
    # A keyword is called by its topic and its word, "Law: court".
    name = weight["keyword"].to_series().str.split(": ").str[0].rename("name").to_xarray()
    p = weight.groupby(name).sum()
    table = fit.topics(8)
    for column, of_draws in {
        "p": p.mean("draw"),
        "2.5%": p.quantile(0.025, "draw"),
        "97.5%": p.quantile(0.975, "draw"),
    }.items():
        table.insert(table.columns.get_loc("words"), column, table["name"].map(of_draws.to_series()))
    return fit, table


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("keywords", help="CSV, YAML or JSON file")
    parser.add_argument("--plot", help="where the shares by congress go")
    chosen = parser.parse_args()
    bills = read_bills(chosen.data)
    started = time.monotonic()
    found, table = topics(bills, pt.read_keywords(chosen.keywords), warmup=1000, draws=1000, chains=4)
    print(f"{bills}: {time.monotonic() - started:.0f} s")
    print(found.verdict())
    print(table.round(3).to_string(index=False))
    if chosen.plot:
        panel = found.plot_prevalence("congress", [int(topic) for topic in sorted(table["topic"][table["name"] != ""])])
        panel.figure.savefig(chosen.plot)
