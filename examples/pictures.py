r"""The pictures of the documentation that need real data, one for each kind of block.

    python examples/pictures.py DATA --to docs/pictures [--only labels ratings]

DATA is a folder with 20news-bydate.jsonl.gz, gadarian.csv (of R's stm), and hotel/train.svmlight.gz with its vocab.txt
(hotel reviews, rated). The picture of keywords and of a random walk is that of bills.py.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt

import ppl_topics as pt

COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa3377")

ALL_WORDS: dict[str, Any] = {"warmup": 150, "draws": 100, "record": {"phi": "all"}, "chains": 1, "seed": 1}
"""A run that has intervals for each word."""


def newsgroups(data: Path, **options: Any) -> pt.Corpus:
    """Return the training postings of 20 Newsgroups, their headers and quotes removed."""
    remove = ("headers", "footers", "quotes")
    return pt.load_20newsgroups(data / "20news-bydate.jsonl.gz", remove=remove, min_df=10, **options)


def hotels(data: Path) -> pt.Corpus:
    """Return hotel reviews with their ratings from 1 to 5."""
    folder = data / "hotel"
    reviews = pt.read_corpus(folder / "train.svmlight.gz", vocabulary=folder / "vocab.txt", stop_words="english")
    values = reviews.labels.values
    stars = 1 + np.searchsorted(np.unique(values), values)
    return reviews.with_labels(stars, kind="real").with_labels(stars, name="stars", kind="class")


def words_of(fit: pt.Fit, number: int = 3) -> dict[int, str]:
    """Return the first words of each topic of the first chain."""
    return fit.topics(number).set_index("topic")["words"].to_dict()


def forest(panel: Any, draws: Mapping[str, xr.DataArray], labels: Sequence[str]) -> None:
    """Draw intervals of 90% for rows of draws, side by side for each name; arrays have dims (draw, row)."""
    for place, (name, values) in enumerate(draws.items()):
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
        rows = -np.arange(len(labels)) - 0.7 * ((place + 0.5) / len(draws) - 0.5)
        colour = COLOURS[place % len(COLOURS)]
        panel.hlines(rows, low, high, color=colour, linewidth=2.0)
        panel.scatter(middle, rows, color=colour, s=14, zorder=3, label=name)
    panel.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
    panel.set_yticks(-np.arange(len(labels)), labels, fontsize="small")
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
    panel.tick_params(axis="y", length=0)
    if len(draws) > 1:
        panel.legend(frameon=False, fontsize="small")


def treatment(data: Path) -> Any:
    """Covariates above the topics: shares by party, treatment beside it."""
    how = {"text_column": "text", "covariates": ["treatment", "party"], "stop_words": "english", "min_df": 3}
    answers = pt.read_corpus(data / "gadarian.csv", **how)
    options = {"topics": 3, "prevalence": "treatment + bs(party, 4)", "warmup": 3000, "draws": 4000, "thin": 4}
    fit = pt.sample("dmr", answers, **options, chains=1, seed=2)
    figure, panels = plt.subplots(1, 2, figsize=(13.0, 4.0), layout="constrained", width_ratios=(1, 2))
    shares = fit.prevalence("treatment", [0, 1]).isel(chain=0)
    effect = (shares.sel(treatment=1) - shares.sel(treatment=0)).transpose("draw", "topic")
    forest(panels[0], {"": effect}, [words_of(fit)[int(topic)] for topic in shares["topic"]])
    panels[0].set_xlabel("effect of the treatment on the share")
    fit.plot_prevalence("party", ax=panels[1])
    return figure


def many_covariates(data: Path) -> Any:
    """A horseshoe above the topics, beside a normal prior: what twenty groups do to one topic."""
    corpus = newsgroups(data, stop_words="english")
    groups = [str(corpus.labels.classes[value]) for value in corpus.labels.values]
    corpus = corpus.with_covariates(pd.DataFrame({"group": groups}))
    shrunk = {"name": "shrunk", "extends": "dmr", "blocks": {"gamma": {"block": "horseshoe", "per": "topic"}}}
    how: dict[str, Any] = {"topics": 20, "warmup": 150, "draws": 150, "chains": 1, "seed": 1}
    plain = pt.sample("dmr", corpus, **how)
    # The same topics under both priors; from its own start the horseshoe takes some 300 sweeps to leave zero.
    fits = {"normal": plain, "horseshoe": pt.sample(shrunk, corpus, given={"phi": plain}, init=plain, **how)}
    draws = {name: fit.posterior["gamma"].isel(chain=0) for name, fit in fits.items()}
    features = draws["normal"]["prevalence"].values[:-1]
    spread = draws["normal"].mean("draw").sel(prevalence=features).std("prevalence")
    topic = int(spread.argmax("topic"))
    figure, panel = plt.subplots(figsize=(7.0, 5.4), layout="constrained")
    rows = {name: values.sel(prevalence=features).isel(topic=topic) for name, values in draws.items()}
    forest(panel, rows, [str(name).removeprefix("group[").removesuffix("]") for name in features])
    panel.set_xlabel(f"coefficients of the topic {words_of(plain, 5)[topic]}")
    return figure


def labels(data: Path) -> Any:
    """Topics that are labels: words of four groups."""
    corpus = newsgroups(data, stop_words="english")
    fit = pt.sample("labelled_lda", corpus, topics=30, background=10, **ALL_WORDS)
    names = list(corpus.labels.classes)
    shown = [names.index(name) for name in ("sci.med", "talk.politics.guns", "comp.graphics", "rec.autos")]
    panels = fit.plot_topics(shown, n_words=8)
    for panel, topic in zip(panels, shown, strict=True):
        panel.set_title(names[topic], fontsize="medium")
    return panels[0].figure


def topics_in_use(data: Path) -> Any:
    """How many topics a hierarchical Dirichlet process uses, of at most a hundred."""
    corpus = newsgroups(data, stop_words="english")
    fit = pt.sample("hdp_lda", corpus, topics=100, warmup=250, draws=250, chains=1, seed=1)
    figure, panel = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
    for place, least in enumerate((0.002, 0.005, 0.01)):
        used = (fit.posterior["topic_share"] > least).sum("topic").values.ravel()
        number, draws = np.unique(used, return_counts=True)
        panel.bar(number, draws / draws.sum(), width=0.9, color=COLOURS[place], label=f"share above {least:g}")
    panel.set_xlabel("topics")
    panel.set_ylabel("share of the draws")
    panel.legend(frameon=False, fontsize="small")
    return figure


def background(data: Path) -> Any:
    """A background of common words, and the topics without it whose words are most their own."""
    corpus = newsgroups(data)
    corpus = corpus.with_vocabulary([word for word in corpus.vocabulary if word.isalpha()])
    fit = pt.sample(
        "background_lda", corpus, topics=20, a=700_000.0, b=300_000.0, warmup=200, draws=100, chains=1, seed=1
    )
    draws = fit.posterior[["phi", "background", "background_share"]].isel(chain=0)
    own = draws["phi"] - draws["background"] * draws["background_share"]
    mean = own.mean("draw")
    shares = (mean / mean.sum("topic")).transpose("topic", "word").values
    first = np.argsort(-mean.transpose("topic", "word").values, axis=1)[:, :12]
    distinct = np.argsort(-np.take_along_axis(shares, first, axis=1).mean(axis=1))[:4]
    figure, panels = plt.subplots(1, 5, figsize=(12.0, 3.0), layout="constrained")
    columns = {"background": draws["background"]} | {f"topic {k}, own words": own.sel(topic=k) for k in distinct}
    for panel, (name, values) in zip(panels, columns.items(), strict=True):
        mean = values.mean("draw")
        best = np.argsort(-mean.values)[:12]
        panel.barh(-np.arange(len(best)), mean.values[best], color=COLOURS[0])
        panel.set_yticks(-np.arange(len(best)), mean["word"].values[best], fontsize="small")
        panel.set_title(name, fontsize="medium")
        panel.locator_params(axis="x", nbins=3)
    return figure


def seeds(data: Path) -> Any:
    """Two topics with seed words."""
    corpus = newsgroups(data, stop_words="english")
    words = {"space": ["orbit", "nasa", "launch"], "medicine": ["disease", "patients", "doctor"]}
    fit = pt.sample("seeded_lda", corpus, topics=20, keywords=words, weight=200, **ALL_WORDS)
    return fit.plot_topics([0, 1], n_words=10)[0].figure


def short_texts(data: Path) -> Any:
    """One topic a document: the subject lines of postings."""
    with gzip.open(data / "20news-bydate.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    subjects = [found.group(1) for text in texts if (found := re.search(r"Subject: (?:Re: )?([^\t\n]*)", text))]
    corpus = pt.Corpus.from_texts(subjects, stop_words="english", min_df=5)
    fit = pt.sample("one_topic", corpus, topics=30, warmup=300, draws=300, chains=1, seed=1)
    return fit.plot_topics(fit.topics(1)["topic"][:8].tolist(), n_words=8)[0].figure


def ratings(data: Path) -> Any:
    """Levels in order: what topics do to the stars of a hotel, and where the levels begin."""
    model = {"name": "stars", "extends": "slda_ordinal", "blocks": {"y": {"observed": "stars"}}}
    fit = pt.sample(model, hotels(data), topics=12, warmup=300, draws=300, chains=1, seed=1)
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained", width_ratios=(3, 2))
    fit.plot_coefficients(axes=panels[:1])
    cuts = fit.posterior["y_cutpoints"].isel(chain=0)
    cuts = cuts.transpose("draw", *(dim for dim in cuts.dims if dim != "draw")).values.reshape(len(cuts["draw"]), -1)
    # The first is 0: an intercept moves all of them.
    cuts = np.column_stack([np.zeros(len(cuts)), cuts])
    forest(panels[1], {"": cuts}, [f"{star} to {star + 1} stars" for star in range(1, 1 + cuts.shape[1])])
    panels[1].set_xlabel("cut points")
    return figure


def with_the_same_topics(data: Path, changes: Mapping[str, Mapping[str, Any]], reviews: int | None = None) -> Any:
    """Coefficients of the ratings of some hotel reviews under several blocks, given the topics of one fit to all."""
    corpus, how = hotels(data), {"topics": 12, "warmup": 200, "draws": 300, "chains": 1, "seed": 1}
    first = pt.sample("slda_gaussian", corpus, **how)
    corpus = corpus.select(slice(reviews))
    draws = {}
    for name, blocks in changes.items():
        model = {"name": "changed", "extends": "slda_gaussian", "blocks": blocks}
        fit = pt.sample(model, corpus, given={"phi": first}, **how)
        eta = fit.posterior["eta"].isel(chain=0, response=0)
        draws[name] = eta.isel(coefficient=slice(0, 12)).transpose("draw", "coefficient")
    figure, panel = plt.subplots(figsize=(7.5, 5.0), layout="constrained")
    order = np.argsort(-next(iter(draws.values())).mean("draw").values)
    forest(panel, {name: values[:, order] for name, values in draws.items()}, [words_of(first)[int(k)] for k in order])
    panel.set_xlabel("coefficient of the rating")
    return figure


def quantiles(data: Path) -> Any:
    """Quantiles of the rating, and its mean with outliers."""
    half_cauchy = {"block": "half_cauchy"}
    common = {"coefficients": "eta", "features": ["z"], "observed": "labels", "sigma": half_cauchy}
    changes = {f"quantile {q:g}": {"y": {"block": "quantile", "quantile": q, **common}} for q in (0.1, 0.5, 0.9)}
    return with_the_same_topics(data, {**changes, "student_t": {"y": {"block": "student_t", **common}}})


def priors(data: Path) -> Any:
    """Priors of the coefficients of the same topics, where reviews are few."""
    kinds = ("normal", "laplace", "student_t_coefficients", "horseshoe")
    return with_the_same_topics(data, {kind: {"eta": {"block": kind, "per": "response"}} for kind in kinds}, 100)


PICTURES: dict[str, Callable[[Path], Any]] = {
    function.__name__: function
    for function in (
        treatment,
        many_covariates,
        labels,
        topics_in_use,
        background,
        seeds,
        short_texts,
        ratings,
        quantiles,
        priors,
    )
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES))
    chosen = parser.parse_args()
    chosen.to.mkdir(parents=True, exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "ppl-topics"
    for name in chosen.only:
        PICTURES[name](chosen.data).savefig(chosen.to / f"{name}.svg", metadata={"Date": None})
        print(chosen.to / f"{name}.svg")
