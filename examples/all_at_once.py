r"""Covariates above the topics, keywords and a background in them, and two responses below, each under a horseshoe.

    python examples/all_at_once.py 20news-bydate.jsonl.gz --report report.html

A line of the file is a posting: ``{"split": "train", "label": "sci.space", "text": "From: ...\tSubject: ...\t"}``.
Whether a posting is a reply says which topics it may have; below them are its group and how long it is. No stop words
are removed: they find their place in the background.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ppl_topics as pt

KEYWORDS = {
    "space": ["orbit*", "nasa", "launch*"],
    "faith": ["god", "jesus", "church*"],
    "hockey": ["hockey", "nhl"],
    "medicine": ["disease*", "patient*", "doctor*"],
    "guns": ["gun", "guns", "firearm*"],
}

MODEL = {
    "name": "all_at_once",
    "extends": "dmr",
    "parameters": {"topics": 30, "prevalence": "reply"},
    "blocks": {
        "phi": {
            "block": "keywords_and_background",
            "over": "word",
            "per": "topic",
            "concentration": "$beta",
            "keywords": KEYWORDS,
            # Six of ten tokens are in the background, says a prior that weighs as much as the tokens of a topic.
            "background_a": 60_000.0,
            "background_b": 40_000.0,
        },
        "eta_group": {"block": "horseshoe", "per": "response"},
        "group": {
            "block": "stick_breaking_logistic",
            "coefficients": "eta_group",
            "features": ["z"],
            "intercept": True,
            "observed": "labels",
            "start": "uniform",
        },
        "eta_length": {"block": "horseshoe", "per": "response"},
        "length": {
            "block": "gaussian",
            "coefficients": "eta_length",
            "features": ["z"],
            "intercept": True,
            "observed": "length",
        },
    },
}


def read_postings(path: str | Path, split: str = "train", least: int = 5) -> pt.Corpus:
    """Read the postings of one half without their headers, with whether each is a reply, its group and its length."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        postings = [posting for posting in map(json.loads, lines) if posting["split"] == split]
    heads, _, bodies = zip(*(posting["text"].partition("\t\t") for posting in postings), strict=True)
    replies = [{"reply": "yes" if "subject: re:" in head.lower() else "no"} for head in heads]
    corpus = pt.Corpus.from_texts(bodies, labels=[p["label"] for p in postings], covariates=replies, min_df=least)
    return corpus.with_labels(np.log([1 + body.count("\t") for body in bodies]), name="length", kind="real")


def fit_all(corpus: pt.Corpus, **options: Any) -> pt.Fit:
    """Return a fit, after the plan of its kernels."""
    print(pt.plan(MODEL, corpus, **{name: value for name, value in options.items() if name == "topics"}))
    return pt.sample(MODEL, corpus, **{"seed": 1, **options})


def own_words(fit: pt.Fit, number: int = 8) -> pd.DataFrame:
    """Return a table of the topics of the first chain, the largest first, by their words without the background."""
    draws = fit.posterior[["phi", "background", "background_share"]].isel(chain=0).mean("draw")
    own = draws["phi"] - draws["background"] * draws["background_share"]
    table = fit.topics(1)
    best = own.values.argsort(axis=own.get_axis_num("word"))[:, : -1 - number : -1]
    words = [" ".join(own["word"].values[row]) for row in best]
    return table.assign(words=[words[topic] for topic in table["topic"]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--report", help="where the report goes")
    parser.add_argument("--verify", action="store_true", help="first test the kernels on small corpora, some minutes")
    chosen = parser.parse_args()
    if chosen.verify:
        print(pt.verify(MODEL))
    postings = read_postings(chosen.data)
    started = time.monotonic()
    fit = fit_all(postings, warmup=300, draws=100, chains=1)
    print(f"{postings}: {time.monotonic() - started:.0f} s")
    print(fit.verdict())
    print(own_words(fit).round(3).to_string(index=False))
    background = fit.posterior["background"].mean(("chain", "draw")).to_series().nlargest(20)
    print(f"background: {' '.join(background.index)}")
    print(fit.prevalence_table("reply", ["no", "yes"], difference=True).round(3).to_string(index=False))
    if chosen.report:
        fit.report(chosen.report)
