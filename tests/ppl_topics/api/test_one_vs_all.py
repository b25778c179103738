"""One-vs-all: each class has its own model, run side by side."""

from __future__ import annotations

import numpy as np
import pytest

import ppl_topics as pt

TEXTS = ["red green red apple", "green blue apple", "blue blue red sky", "sky sea blue", "pear apple pie", "pie pear"]
LABELS = ["a", "b", "c", "c", "b", "a"]
HOW = {"topics": 3, "draws": 3, "warmup": 2, "progress": False, "threads": 1}


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS * 4, labels=LABELS * 4)


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("medlda_one_vs_all", corpus, chains=2, seed=1, **HOW)


def test_all_that_a_class_has_of_its_own_has_the_dim_response(fit):
    dims = {name: array.dims for name, array in fit.posterior.data_vars.items()}
    assert dims["eta"] == ("chain", "draw", "response", "coefficient")
    assert dims["phi"] == ("chain", "draw", "response", "topic", "word")
    assert dims["theta"] == ("chain", "draw", "response", "doc", "topic")
    assert fit.groups["sample_stats"]["lp"].dims == ("chain", "draw", "response")
    assert fit.groups["constant_data"]["phi_mean"].dims == ("chain", "response", "topic", "word")
    assert fit.groups["constant_data"]["z_last"].dims == ("chain", "response", "token")
    assert fit.posterior["response"].values.tolist() == ["a", "b", "c"]
    assert fit.posterior["chain"].values.tolist() == [0, 1]


def test_a_class_is_what_a_binary_model_of_it_is(fit, corpus):
    # Chain 1 of class c has the streams of chain number 1 * 3 + 2, so a binary model reproduces it.
    labels = ["rest" if label != "c" else "then" for label in LABELS * 4]
    binary = pt.Corpus.from_texts(TEXTS * 4, labels=labels)
    again = pt.sample("medlda", binary, chains=6, seed=1, **HOW)
    part = fit.posterior["eta"].sel(chain=1, response="c").values
    assert np.array_equal(part, again.posterior["eta"].sel(chain=5).values[:, 0])
    z = fit.groups["constant_data"]["z_last"].sel(chain=1, response="c").values
    assert np.array_equal(z, again.groups["constant_data"]["z_last"].sel(chain=5).values)


def test_the_exp_proposal_looks_at_the_class_at_hand(corpus):
    schedule = {
        "cycle": [
            {"xi": "inverse_gaussian"},
            {"eta": "joint_normal"},
            {"z": {"kernel": "light_partially_collapsed", "proposals": {"doc": 1, "exp": 1}}},
            {"phi": "dirichlet_rows"},
        ]
    }
    fit = pt.sample("medlda_one_vs_all", corpus, chains=1, seed=1, schedule=schedule, **HOW)
    binary = pt.Corpus.from_texts(TEXTS * 4, labels=["rest" if label != "b" else "then" for label in LABELS * 4])
    again = pt.sample("medlda", binary, chains=2, seed=1, schedule=schedule, **HOW)
    part = fit.posterior["eta"].sel(chain=0, response="b").values
    assert np.array_equal(part, again.posterior["eta"].sel(chain=1).values[:, 0])


def test_processes_do_not_change_the_draws(fit, corpus):
    again = pt.sample("medlda_one_vs_all", corpus, chains=2, seed=1, processes=2, **HOW)
    assert np.array_equal(again.posterior["eta"], fit.posterior["eta"])


def test_topics_name_whose_they_are(fit, tmp_path):
    table = fit.topics(2)
    assert table["response"].tolist() == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    assert table.columns.tolist() == ["response", "topic", "share", "words"]
    fit.save(tmp_path / "run.nc")
    loaded = pt.load_fit(tmp_path / "run.nc")
    assert loaded.topics(2).equals(table)


def test_two_classes_make_one_model():
    corpus = pt.Corpus.from_texts(TEXTS, labels=["a", "b"] * 3)
    fit = pt.sample("slda_logistic_one_vs_all", corpus, chains=1, seed=1, **HOW)
    assert fit.posterior["phi"].dims == ("chain", "draw", "topic", "word")
    assert fit.posterior["eta"].shape[2:] == (1, 3)
