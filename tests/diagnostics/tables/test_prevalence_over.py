"""Mean shares of topics in groups of training documents, against loops over documents."""

import sys

import numpy as np
import pandas as pd
import pytest
from document_traces import LENGTHS, PARTY, YEAR, C, D, K, T, first_documents, trace, without_theta

import ppl_topics as pt
from ppl_topics.fit import Fit

MODULE = sys.modules["ppl_topics.diagnostics.tables.prevalence_over"]
"""Whose name its function has in the package."""

GROUPS = trace()
FIT = Fit(GROUPS)
THETA = GROUPS["posterior"]["theta"].values.astype(float)


def mean_by_hand(chain, draw, docs):
    total = np.zeros(K)
    for d in docs:
        total += THETA[chain, draw, d]
    return total / len(docs)


def test_each_draw_is_the_mean_over_the_documents_of_a_group():
    shares = FIT.prevalence_over("party")
    assert shares.dims == ("chain", "draw", "party", "topic")
    assert shares.shape == (C, T, 3, K)
    assert shares.dtype == np.float64
    assert shares["party"].values.tolist() == ["left", "right", "centre"]
    assert shares["documents"].values.tolist() == [3, 3, 2]
    for chain, draw in [(0, 0), (1, 17), (1, T - 1)]:
        for party in ("left", "right", "centre"):
            docs = [d for d in range(D) if PARTY[d] == party and LENGTHS[d]]
            expected = mean_by_hand(chain, draw, docs)
            np.testing.assert_allclose(shares.sel(chain=chain, draw=draw, party=party), expected, rtol=1e-6)
    np.testing.assert_allclose(shares.sum("topic"), 1.0, rtol=1e-12)
    difference = shares.sel(party="left") - shares.sel(party="right")
    by_draw = [mean_by_hand(0, t, [0, 3, 8])[1] - mean_by_hand(0, t, [1, 4, 5])[1] for t in range(T)]
    np.testing.assert_allclose(
        difference.sel(chain=0, topic=1).quantile([0.1, 0.9], "draw"), np.quantile(by_draw, [0.1, 0.9]), rtol=1e-5
    )


def test_a_few_draws_are_read_at_a_time(monkeypatch):
    whole = FIT.prevalence_over("party")
    monkeypatch.setattr(MODULE, "BYTES", 8 * D * K * 7)
    np.testing.assert_array_equal(FIT.prevalence_over("party"), whole)


def test_numbers_labels_and_given_values():
    by_name, by_value = FIT.prevalence_over("year"), FIT.prevalence_over(pd.Series(YEAR, name="year"))
    np.testing.assert_array_equal(by_name, by_value)
    assert by_name["year"].values.tolist() == [1990, 1991, 1992]
    np.testing.assert_allclose(by_name.sel(chain=1, draw=3, year=1992), mean_by_hand(1, 3, [3, 7]), rtol=1e-6)
    binned = FIT.prevalence_over("year", bins=[1990, 1991, 1992])
    np.testing.assert_allclose(binned["year"], [1990, np.mean([1991, 1991, 1991, 1992, 1992])])
    np.testing.assert_allclose(binned[1, 3, 1], mean_by_hand(1, 3, [1, 3, 5, 6, 7]), rtol=1e-6)
    # A document of two labels is in two groups.
    tags = FIT.prevalence_over("tags")
    np.testing.assert_allclose(tags.sel(chain=0, draw=0, tags="new"), mean_by_hand(0, 0, [0, 5, 8]), rtol=1e-6)
    np.testing.assert_allclose(tags.sel(chain=0, draw=0, tags="old"), mean_by_hand(0, 0, [0, 1, 6, 8]), rtol=1e-6)
    assert FIT.prevalence_over(PARTY).dims[2] == "group"
    assert FIT.prevalence_over(pd.Series(PARTY, name="topic")).dims == ("chain", "draw", "topic_", "topic")


def test_without_draws_of_all_documents():
    for groups, held in ((without_theta(GROUPS), 0), (first_documents(GROUPS, 4), 4)):
        with pytest.raises(
            pt.TraceError, match=rf"theta of {held} of 9 documents; run the model with record=\{{'theta'"
        ):
            Fit(groups).prevalence_over("party")
    fit = Fit(without_theta(GROUPS))
    shares = fit.prevalence_over("party", estimate="z_last")
    assert shares.dims == ("chain", "party", "topic")
    assert "draw" not in shares.coords
    alpha, z = GROUPS["constant_data"]["alpha"].values, GROUPS["constant_data"]["z_last"].values
    docs = np.repeat(np.arange(D), LENGTHS)
    for chain in range(C):
        theta = [(np.bincount(z[chain][docs == d], minlength=K) + alpha) / (LENGTHS[d] + 0.6) for d in (6, 7)]
        np.testing.assert_allclose(shares.sel(chain=chain, party="centre"), np.mean(theta, axis=0))


def test_what_cannot_be_is_refused(monkeypatch):
    with pytest.raises(pt.TraceError, match="estimate: expected draws or z_last, got 'auto'"):
        FIT.prevalence_over("party", estimate="auto")
    with pytest.raises(pt.TraceError, match="no covariate or labels 'partei'"):
        FIT.prevalence_over("partei")
    with pytest.raises(pt.TraceError, match="all responses share the topics"):
        FIT.prevalence_over("party", response="a")
    monkeypatch.setattr(MODULE, "MOST_GROUPS", 2)
    with pytest.raises(pt.TraceError, match="'year': there are 3 groups, more than 2; join some with bins="):
        FIT.prevalence_over("year")
    with pytest.raises(pt.TraceError, match=r"'party': there are 3 groups, more than 2; join some$"):
        FIT.prevalence_over("party")


def test_topics_of_each_response():
    how = {"draws": 4, "warmup": 2, "chains": 2, "seed": 1, "threads": 1, "progress": False}
    corpus = pt.Corpus.from_texts(["goal team goal", "vote law", "sea ship sea"] * 4, labels=["a", "b", "c"] * 4)
    fit = pt.sample("slda_logistic_one_vs_all", corpus, topics=2, **how)
    shares = fit.prevalence_over("labels", response="b")
    expected = fit.posterior["theta"].sel(response="b").isel(doc=slice(2, None, 3)).mean("doc")
    np.testing.assert_allclose(shares.sel(labels="c"), expected, rtol=1e-5)
    with pytest.raises(pt.TraceError, match="each response has its own topics"):
        fit.prevalence_over("labels")


@pytest.mark.filterwarnings("ignore:.* does not use covariate:ppl_topics.CovariateWarning")
@pytest.mark.parametrize("model", ["lda", "dmr", "hdp_lda", "one_topic"])
def test_planted_groups_differ_in_any_model(model):
    rows = [{"page": ("sport", "law")[i % 2]} for i in range(20)]
    corpus = pt.Corpus.from_texts(["goal match goal team goal", "vote law vote court law"] * 10, covariates=rows)
    fit = pt.sample(model, corpus, topics=2, draws=30, warmup=60, chains=1, seed=1, threads=1, progress=False)
    shares = fit.prevalence_over("page").isel(chain=0)
    np.testing.assert_allclose(shares.sum("topic"), 1.0)
    apart = (shares.sel(page="sport") - shares.sel(page="law")).quantile(0.05, "draw")
    assert float(apart.max()) > 0.3
