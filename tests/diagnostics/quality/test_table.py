"""The table of topic quality."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from quality_data import DEFAULT, FAST

import ppl_topics as pt
from ppl_topics.diagnostics.predictive_checks import predictive_checks
from ppl_topics.diagnostics.quality import (
    cv_coherence,
    document_entropy,
    frex_words,
    npmi_coherence,
    relevance_terms,
    to_pyldavis,
    topic_diversity,
    topic_quality,
    umass_coherence,
)
from ppl_topics.results.best_words import best_words


def test_a_row_is_what_its_measures_say(fits, corpus):
    groups = fits["lda"].groups
    table = topic_quality(groups, n_words=3, chain=1)
    assert list(table.columns) == DEFAULT
    constants = groups["constant_data"]
    phi, z = constants["phi_mean"].values[1], constants["z_last"].values[1]
    best = np.argsort(-phi, axis=1, kind="stable")[:, :3]
    n_dk = np.zeros((corpus.n_docs, 3))
    np.add.at(n_dk, (np.repeat(np.arange(corpus.n_docs), corpus.doc_lengths), z), 1)
    expected = {
        "umass": umass_coherence(best, corpus),
        "npmi": npmi_coherence(best, corpus),
        "c_v": cv_coherence(best, corpus),
        "entropy": document_entropy(n_dk),
        "exclusivity": (phi / phi.sum(axis=0))[np.arange(3)[:, None], best].mean(axis=1),
        "effective_words": np.exp(-(phi * np.log(phi)).sum(axis=1)),
        "share": groups["posterior"]["topic_share"].values[1].mean(axis=0),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values[table["topic"]], rtol=1e-5, err_msg=name)
    assert table["share"].is_monotonic_decreasing
    # Topics, and their words, are called as everywhere.
    pd.testing.assert_frame_equal(table[["topic", "share", "words"]], fits["lda"].topics(3, 1))
    assert table.attrs == {
        "chain": 1,
        "n_words": 3,
        "convention": "paper",
        "reference": "training documents",
        "windows": {"npmi": "document", "c_v": "document"},
        "absent": [],
        "left_out": {},
    }


def test_given_documents_and_texts(fits, corpus):
    groups = fits["lda"].groups
    same = topic_quality(groups, corpus=corpus)
    assert same.attrs["reference"] == "given documents"
    pd.testing.assert_frame_equal(same, topic_quality(groups), check_flags=False)
    texts = ["the goal of the match", "law and order", "vote"]
    found = topic_quality(groups, corpus=texts, measures=["npmi", "c_v"], n_words=8)
    assert list(found.columns) == ["topic", "share", "npmi", "c_v", "words"]
    assert found.attrs["reference"] == "given texts"
    assert found.attrs["windows"] == {"npmi": 10, "c_v": 110}
    assert found.attrs["absent"] == ["election", "rule", "team"]
    assert np.isfinite(found[["npmi", "c_v"]]).all().all()
    assert topic_quality(groups, corpus=texts, window=2).attrs["windows"] == {"npmi": 2, "c_v": 2}
    with pytest.raises(pt.CorpusError, match="order of words"):
        topic_quality(groups, window=2)


@pytest.mark.parametrize("model", ["lda", "spike", "medlda", "dolda", "apart", "one", "none"])
def test_models_give_numbers(fits, model):
    groups = fits[model].groups
    table = topic_quality(groups, measures=[*DEFAULT[2:-1], "frex"])
    numbers = table.select_dtypes("number")
    assert np.isfinite(numbers).all().all()
    assert table[["npmi", "c_v"]].abs().max().max() <= 1.0
    assert ((table["effective_words"] >= 1.0) & (table["exclusivity"] <= 1.0 + 1e-9)).all()
    terms = relevance_terms(groups, n_words=4)
    assert np.isfinite(terms.select_dtypes("number")).all().all()
    words = frex_words(groups, n_words=3)
    checks = predictive_checks(groups, replications=5)
    assert np.isfinite(checks.select_dtypes("number")).all().all()
    assert checks.attrs["replicate"] == ("permutation" if model == "spike" else "predictive")
    assert 0.0 < topic_diversity(groups, n_words=2) <= 1.0
    if model == "apart":
        responses = ["law", "politics", "sport"]
        for each in (table, terms, words, checks):
            assert list(each["response"].unique()) == responses
        assert len(table) == len(words) == 9
        with pytest.raises(pt.TraceError, match=r"name one of them .*: law, politics, sport"):
            to_pyldavis(groups)
    else:
        assert "response" not in table
        assert sorted(table["topic"]) == sorted(words["topic"]) == sorted(terms["topic"].unique())


def test_what_a_trace_lacks(fits):
    groups = fits["lda"].groups
    bare = {**groups, "constant_data": groups["constant_data"].drop_vars(["z_last", "doc_length"])}
    table = topic_quality(bare)
    assert set(table.attrs["left_out"]) == {"umass", "npmi", "c_v", "entropy"}
    assert list(table.columns) == ["topic", "share", "exclusivity", "effective_words", "words"]
    for measure, words in (("npmi", "training documents"), ("entropy", "z_last")):
        with pytest.raises(pt.TraceError, match=words):
            topic_quality(bare, measures=[measure])
    unshared = {**groups, "posterior": groups["posterior"].drop_vars("topic_share")}
    last = groups["constant_data"]["z_last"].values[0]
    np.testing.assert_allclose(sorted(topic_quality(unshared)["share"]), sorted(np.bincount(last) / len(last)))
    for call, words in (
        ({"measures": ["npim"]}, "no 'npim'; did you mean 'npmi'"),
        ({"n_words": 0}, "n_words: must be a whole number"),
        ({"chain": 7}, "no chain 7; it has 0, 1"),
        ({"chain": "a"}, "chain: must be a whole number"),
        ({"probability": 90}, "between 0 and 1"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            topic_quality(groups, **call)
    for function in (topic_quality, frex_words, relevance_terms, to_pyldavis):
        with pytest.raises(pt.TraceError, match="phi_mean"):
            function({"posterior": groups["posterior"]})
    with pytest.raises(pt.TraceError, match="word_count"):
        relevance_terms({**groups, "constant_data": groups["constant_data"].drop_vars("word_count")})


def test_words_of_probability_zero_are_no_top_words():
    phi = np.array([[0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0], [0.25, 0.25, 0.25, 0.25]])
    assert best_words(phi, 3).tolist() == [[0, 2, -1], [3, -1, -1], [0, 1, 2]]
    assert best_words(phi, 9).shape == (3, 4)
    assert best_words(phi, 3, zeros=True).tolist() == np.argsort(-phi, axis=1, kind="stable")[:, :3].tolist()
    assert best_words(phi[None], 2).tolist() == [best_words(phi, 2).tolist()]
    constants = xr.Dataset(
        {
            "phi_mean": (("chain", "topic", "word"), phi[None].astype(np.float32)),
            "doc_length": ("doc", [2, 2]),
            "z_last": (("chain", "token"), [[0, 0, 0, 1]]),
        },
        {"chain": [0], "topic": [0, 1, 2], "word": list("abcd")},
    )
    observed = xr.Dataset({"words": ("token", np.array([0, 2, 2, 3], dtype=np.uint32))})
    groups = {"constant_data": constants, "observed_data": observed, "posterior": xr.Dataset()}
    table = topic_quality(groups, n_words=3).set_index("topic")
    assert table["words"].to_dict() == {0: "a c", 1: "d", 2: "a b c"}
    assert table.loc[1, ["umass", "npmi", "c_v", "entropy", "effective_words"]].tolist() == [0.0, 0.0, 1.0, 0.0, 1.0]
    assert table["exclusivity"].to_dict() == pytest.approx({0: 2 / 3, 1: 0.8, 2: (1 / 3 + 1 + 1 / 3) / 3})
    # Topic 2 is empty.
    assert table.loc[2, ["share", "entropy"]].tolist() == [0.0, 0.0]
    assert topic_diversity(groups, n_words=2) == 4 / 5
    assert table.attrs["absent"] == ["b"]


def test_a_vocabulary_longer_than_the_corpus():
    corpus = pt.Corpus.from_tokens([["a", "b"], ["b", "c"]] * 5, vocabulary=["a", "b", "c", "unused"])
    fit = pt.sample("lda", corpus, topics=2, **FAST)
    assert to_pyldavis(fit.groups)["vocab"] == ["a", "b", "c"]
    assert "unused" not in set(relevance_terms(fit.groups, weight=0.0)["word"])
    assert "unused" in topic_quality(fit.groups).attrs["absent"]


def test_methods_of_a_fit(fits, corpus):
    fit = fits["lda"]
    options = {"n_words": 4, "chain": 1}
    for found, expected in (
        (fit.topic_quality(corpus=corpus, **options), topic_quality(fit.groups, corpus=corpus, **options)),
        (fit.frex_words(**options), frex_words(fit.groups, **options)),
        (fit.relevance_terms(**options), relevance_terms(fit.groups, **options)),
    ):
        pd.testing.assert_frame_equal(found, expected)
    assert fit.topic_diversity(**options) == topic_diversity(fit.groups, **options)
    assert fit.to_pyldavis(1)["vocab"] == to_pyldavis(fit.groups, 1)["vocab"]
