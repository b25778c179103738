"""Which topics do four chains agree on? Alignment and verdict on 20 Newsgroups, K = 50, and a planted bad chain.

    python examples/alignment_20news.py [20news-bydate.jsonl.gz]    # half an hour on four cores

Without a file, scikit-learn fetches the postings. Words are three letters or more, the 5,000 most frequent but stop
words; alpha is 50 / K and beta 0.1, as in Griffiths and Steyvers (2004). R-hat of a topic is the median over its ten
most probable words. Then one chain is replaced by one that was hardly warmed up, for the verdict to name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.alignment import agreement_table
from ppl_topics.diagnostics.verdict import Verdict, verdict

BAD_WARMUP = 20
"""Sweeps that the planted chain is warmed up: it has just left its random start."""


def draw(
    corpus: pt.Corpus, topics: int = 50, warmup: int = 800, draws: int = 400, chains: int = 4, seed: int = 1
) -> Any:
    """Sample chains of LDA."""
    how: dict[str, Any] = {"warmup": warmup, "draws": draws, "chains": chains, "seed": seed}
    return pt.sample("lda", corpus, topics=topics, alpha=50 / topics, beta=0.1, record={"theta": {"docs": 100}}, **how)


def agreement(fit: pt.Fit) -> pd.DataFrame:
    """Print R-hat before and after alignment of the topics that agree, and name the others; return the table."""
    table = agreement_table(fit.groups)
    for agrees, rows in table.groupby("agrees", sort=False):
        before, after = rows["rhat_median_before"], rows["rhat_median"]
        print(
            f"{len(rows)} topics that {'agree' if agrees else 'do not agree'}: R-hat of their top words "
            f"{before.median():.2f} before alignment, {after.median():.2f} after "
            f"({after.min():.2f} to {after.max():.2f})"
        )
    columns = ["topic", "agrees", "similarity", "rhat_median_before", "rhat_median", "share", "words"]
    print(table.sort_values("similarity", ascending=False)[columns].round(3).to_string(index=False))
    return table


def planted(fit: pt.Fit, bad: pt.Fit) -> dict[str, xr.Dataset]:
    """Return the groups of a fit, its last chain replaced by a bad one."""

    def replaced(name: str, dataset: xr.Dataset) -> xr.Dataset:
        if "chain" not in dataset.dims:
            return dataset
        keys = [key for key, array in dataset.data_vars.items() if "chain" in array.dims]
        last = bad.groups[name][keys].assign_coords(chain=dataset["chain"].values[-1:])
        joined = xr.concat([dataset[keys].isel(chain=slice(-1)), last], "chain", join="override")
        return dataset.assign(joined)

    kept: Mapping[str, xr.Dataset] = {k: v for k, v in fit.groups.items() if not k.startswith("warmup")}
    return {name: replaced(name, dataset) for name, dataset in kept.items()}


def judge(fit: pt.Fit, bad: pt.Fit) -> tuple[Verdict, Verdict]:
    """Print the verdict on the chains, and on the chains with a bad one among them."""
    of_chains, of_planted = fit.verdict(), verdict(planted(fit, bad))
    print("\nverdict:", of_chains)
    print("\nverdict, the last chain planted:", of_planted)
    return of_chains, of_planted


def main(corpus: pt.Corpus, **sizes: int) -> tuple[pd.DataFrame, Verdict, Verdict]:
    """Do all of it."""
    print(corpus)
    fit = draw(corpus, **sizes)
    table = agreement(fit)
    bad = draw(corpus, **{**sizes, "warmup": BAD_WARMUP, "chains": 1, "seed": 2})
    return table, *judge(fit, bad)


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    words = {"stop_words": "english", "token_pattern": r"[a-z]{3,}", "max_vocabulary": 5000}
    main(pt.load_20newsgroups(path, subset="train", remove=("headers", "footers", "quotes"), **words))
