"""Tables of topic quality, words by FREX and relevance, the map of topics, and what pyLDAvis takes."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.predictive_checks import predictive_checks
from ppl_topics.diagnostics.quality import (
    cv_coherence,
    document_entropy,
    effective_words,
    entropy_of_assignments,
    exclusivity,
    frex,
    frex_words,
    jensen_shannon,
    npmi_coherence,
    relevance,
    relevance_terms,
    to_pyldavis,
    topic_diversity,
    topic_map,
    topic_quality,
    umass_coherence,
)
from ppl_topics.diagnostics.quality.exclusivity import mean_over
from ppl_topics.diagnostics.quality.intervals import evenly
from ppl_topics.results.best_words import best_words

TEXTS = ["goal match goal team", "team match goal", "law vote law rule", "law vote election rule"] * 6 + [""]
LABELS = ["sport", "sport", "politics", "law"] * 6 + ["sport"]
FAST = {"draws": 8, "warmup": 10, "chains": 1, "seed": 1, "progress": False}
DEFAULT = ["topic", "share", "umass", "npmi", "c_v", "entropy", "exclusivity", "effective_words", "words"]


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS, labels=LABELS)


@pytest.fixture(scope="module")
def fits(corpus):
    def sample(model, **more):
        return pt.sample(model, corpus, **{"topics": 3, **FAST, **more})

    return {
        "lda": sample("lda", chains=2, record={"phi": "all", "z": "all"}),
        "spike": sample("lda_spike_slab"),
        "medlda": sample("medlda"),
        "dolda": sample("dolda"),
        "apart": sample("medlda_one_vs_all", margin=1.0),
        "one": sample("lda", topics=1, draws=1),
        "none": sample("lda", record={"phi": "none", "theta": "none"}),
    }


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


def test_intervals_over_draws(fits):
    groups = fits["lda"].groups
    table = topic_quality(groups, n_words=4, probability=0.5, measures=[*DEFAULT[2:-1], "frex"])
    assert (table.attrs["probability"], table.attrs["draws"]) == (0.5, 8)
    constants = groups["constant_data"]
    reference = pt.Corpus.from_texts(TEXTS)
    words = [str(word) for word in constants["word"].values]
    assert words == reference.vocabulary.tolist()
    draws = groups["posterior"]["phi"].sel(chain=0).transpose("draw", "topic", "word").values
    z = groups["posterior"]["z"].sel(chain=0).values
    best = [best_words(phi, 4) for phi in draws]
    values = {
        "npmi": [npmi_coherence(each, reference) for each in best],
        "exclusivity": [exclusivity(phi, each) for phi, each in zip(draws, best, strict=True)],
        "effective_words": [effective_words(phi) for phi in draws],
        "entropy": [entropy_of_assignments(reference.doc_ptr, each, 3) for each in z],
        "frex": [mean_over(frex(phi), each) for phi, each in zip(draws, best, strict=True)],
    }
    for name, by_draw in values.items():
        for end, quantile in (("low", 0.25), ("high", 0.75)):
            expected = np.quantile(by_draw, quantile, axis=0)[table["topic"]]
            np.testing.assert_allclose(table[f"{name}_{end}"], expected, rtol=1e-6, atol=1e-12)
    # One draw has no interval; draws that are not there give no columns.
    assert topic_quality(fits["one"].groups, probability=0.9)["npmi_low"].isna().all()
    assert list(topic_quality(fits["none"].groups, probability=0.9).columns) == DEFAULT
    assert "entropy_low" not in topic_quality(fits["spike"].groups, probability=0.9)


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


def test_entropy_of_assignments_is_that_of_counts():
    rng = np.random.default_rng(2)
    doc_ptr = np.array([0, 5, 5, 30, 60])
    z = rng.integers(0, 4, 60).astype(np.uint8)
    n_dk = np.zeros((4, 6))
    np.add.at(n_dk, (np.repeat(np.arange(4), np.diff(doc_ptr)), z), 1)
    np.testing.assert_allclose(entropy_of_assignments(doc_ptr, z, 6), document_entropy(n_dk), atol=1e-12)


def test_effective_words():
    np.testing.assert_allclose(effective_words([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]]), [4, 1, 2])
    for wrong, words in (
        ([[0, 0]], "topic 0 has no word"),
        ([[-1, 2]], "negative"),
        ([1, 2], "shape"),
        ([[]], "shape"),
    ):
        with pytest.raises(pt.PplTopicsError, match=words):
            effective_words(wrong)


def test_frex_by_hand():
    phi = np.array([[0.6, 0.3, 0.1], [0.2, 0.1, 0.7]])
    own = phi / phi.sum(axis=0)
    # Ranks from below, over 3: of exclusivity, and of frequency. Topic 0: words 0 and 1 have the exclusivity 3/4 both.
    ranks_own = np.array([[3, 3, 1], [2, 2, 3]]) / 3
    ranks_phi = np.array([[3, 2, 1], [2, 1, 3]]) / 3
    own[0, 1] = own[0, 0]
    np.testing.assert_allclose(frex(phi, weight=0.25), 1 / (0.25 / ranks_own + 0.75 / ranks_phi))
    np.testing.assert_allclose(frex(phi, weight=0.0), ranks_phi)
    with pytest.raises(pt.PplTopicsError, match="weight"):
        frex(phi, weight=2)


def test_relevance_by_hand():
    phi, share = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]), np.array([3, 3, 4])
    found = relevance(phi, share, weight=0.3)
    p = share / 10
    for k, v in np.ndindex(phi.shape):
        expected = 0.3 * math.log(phi[k, v]) + 0.7 * math.log(phi[k, v] / p[v]) if phi[k, v] else -np.inf
        assert found[k, v] == pytest.approx(expected)
    assert relevance(phi, [1, 0, 1], weight=0.0)[:, 1].tolist() == [-np.inf, -np.inf]
    for wrong, words in (
        ({"weight": -1}, "weight"),
        ({"share": [1, 2]}, "3 shares"),
        ({"share": [0, 0, 0]}, "not all"),
    ):
        with pytest.raises(pt.PplTopicsError, match=words):
            relevance(phi, **{"share": share, **wrong})


def test_relevance_terms(fits):
    groups = fits["lda"].groups
    terms = relevance_terms(groups, n_words=4, weight=0.0)
    assert list(terms.columns) == ["topic", "word", "relevance", "probability", "lift"]
    assert terms["topic"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    np.testing.assert_allclose(terms["relevance"], np.log(terms["lift"]))
    by_probability = relevance_terms(groups, n_words=4, weight=1.0)
    words = by_probability.groupby("topic")["word"].apply(" ".join)
    assert words.to_dict() == fits["lda"].topics(4).set_index("topic")["words"].to_dict()


def test_topic_map():
    # Two topics alike, one apart; JSD of topics without a common word is 1 bit.
    phi = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(jensen_shannon(phi), [[0, 0, 1], [0, 0, 1], [1, 1, 0]], atol=1e-7)
    places = topic_map(phi)
    np.testing.assert_allclose(places, [[-1 / 3, 0], [-1 / 3, 0], [2 / 3, 0]], atol=1e-7)
    assert topic_map(phi[:1]).tolist() == [[0.0, 0.0]]
    np.testing.assert_allclose(topic_map(phi[1:]), [[0.5, 0.0], [-0.5, 0.0]], atol=1e-12)
    assert topic_map(np.ones((4, 5))).tolist() == [[0.0, 0.0]] * 4
    # Three topics make a triangle, whose sides the plane holds.
    three = np.random.default_rng(1).dirichlet(np.ones(6), 3)
    found = topic_map(three)
    sides = np.linalg.norm(found[:, None] - found[None], axis=2)
    np.testing.assert_allclose(sides, jensen_shannon(three), atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)
    # Signs do not depend on the order of the topics.
    np.testing.assert_allclose(topic_map(three[::-1]), found[::-1], atol=1e-10)
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()


def test_jensen_shannon_is_scipys():
    from scipy.spatial import distance

    phi = np.random.default_rng(7).dirichlet(np.full(30, 0.1), 14)
    phi[3] = phi[9]
    expected = [[distance.jensenshannon(p, q, base=2) for q in phi] for p in phi]
    np.testing.assert_allclose(jensen_shannon(phi), expected, atol=1e-7)


def test_pyldavis(fits, corpus):
    groups = fits["lda"].groups
    data = to_pyldavis(groups, 1)
    assert sorted(data) == sorted(
        ["topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency", "sort_topics", "start_index"]
    )
    np.testing.assert_allclose(data["topic_term_dists"].sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(data["doc_topic_dists"].sum(axis=1), 1.0, rtol=1e-12)
    assert data["topic_term_dists"].shape == (3, len(data["vocab"])) == (3, len(data["term_frequency"]))
    # The empty document is left out.
    assert data["doc_lengths"].tolist() == [4, 3, 4, 4] * 6
    assert data["doc_topic_dists"].shape == (24, 3)
    assert data["term_frequency"].sum() == data["doc_lengths"].sum() == corpus.n_tokens
    assert (data["term_frequency"] > 0).all()
    last = groups["constant_data"]["z_last"].values[1][:4]
    alpha = groups["constant_data"]["alpha"].values
    expected = (np.bincount(last, minlength=3) + alpha) / (4 + alpha.sum())
    np.testing.assert_allclose(data["doc_topic_dists"][0], expected)
    assert to_pyldavis(fits["apart"].groups, response="law")["topic_term_dists"].shape[0] == 3
    for model, call, words in (
        ("one", {}, "the trace has one"),
        ("lda", {"response": "law"}, "all responses share the topics"),
        ("apart", {"response": "lwa"}, "no response 'lwa'; did you mean 'law'"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            to_pyldavis(fits[model].groups, **call)


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


def test_evenly():
    assert evenly(3, 5) == [0, 1, 2]
    assert evenly(10, 3) == [2, 5, 9]
    assert evenly(4, 1) == [3]
