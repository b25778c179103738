"""Tables of coefficients, relevance, signal and noise, and zeros: exact values on traces made by hand."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import ppl_topics as pt
from ppl_topics.diagnostics.efficiency import ess, rhat
from ppl_topics.diagnostics.summary import summary
from ppl_topics.diagnostics.tables import (
    coefficient_table,
    effective_coefficients,
    reading_summary,
    signal_topics,
    topic_relevance,
    zeros_in_phi,
)

WORDS = ["ball", "team", "law", "vote", "sea"]


def made(eta, names, responses=None, apart=False, chains=None):
    """Groups of a trace with these coefficients, shape (chains, draws, responses, coefficients)."""
    eta = np.asarray(eta, dtype=np.float64)
    n_chains, n_draws, n_responses, _ = eta.shape
    responses = responses or [f"c{c}" for c in range(n_responses)]
    k = sum(name.startswith("topic ") for name in names)
    # Topic k of chain c has most of word k + c, and of part r twice the shift.
    phi = np.empty((n_chains, n_responses, k, len(WORDS)), dtype=np.float32)
    for c, r, t in np.ndindex(*phi.shape[:3]):
        phi[c, r, t] = np.roll([0.6, 0.3, 0.1, 0.0, 0.0], t + c + 2 * r)
    share = np.broadcast_to(np.arange(1, k + 1) / (k * (k + 1) / 2), (n_chains, n_draws, n_responses, k))
    dims = ("response",) if apart else ()
    coords = {"chain": np.arange(n_chains) if chains is None else chains, "response": responses}
    posterior = xr.Dataset(
        {
            "eta": (("chain", "draw", "response", "coefficient"), eta),
            "topic_share": (("chain", "draw", *dims, "topic"), share if apart else share[:, :, 0]),
        },
        {**coords, "draw": np.arange(n_draws), "coefficient": names, "topic": np.arange(k)},
    )
    constants = xr.Dataset(
        {"phi_mean": (("chain", *dims, "topic", "word"), phi if apart else phi[:, 0])},
        {**(coords if apart else {"chain": coords["chain"]}), "topic": np.arange(k), "word": WORDS},
    )
    return {"posterior": posterior, "constant_data": constants}


NAMES = ["topic 0", "topic 1", "age", "intercept"]


@pytest.fixture(scope="module")
def groups():
    """Two chains of eleven draws, two responses: topic 1 is signal for the second, topic 0 is noise."""
    steps = np.linspace(-1.0, 1.0, 11)
    eta = np.zeros((2, 11, 2, 4))
    eta[0, :, 0, 0] = steps  # from -1 to 1: mean 0
    eta[0, :, 0, 1] = 0.2 * steps - 0.1
    eta[0, :, 1, 0] = -steps
    eta[0, :, 1, 1] = steps + 3.0
    eta[0, :, :, 2] = steps[:, None] - 5.0
    eta[0, :, :, 3] = 9.0
    eta[1] = 7.0
    eta[1, :, :, 2] = eta[0, :, :, 2]
    return made(eta, NAMES, ["calm", "loud"])


def test_a_row_is_what_its_draws_say(groups):
    table = coefficient_table(groups, probability=0.8, n_words=2)
    assert table.attrs == {"chain": 0, "probability": 0.8}
    columns = "response coefficient topic mean sd low high excludes_0 ess rhat share words"
    assert list(table.columns) == columns.split()
    # The largest |mean| first, the intercept last whatever it is.
    assert table["coefficient"].tolist()[:4] == ["age", "topic 1", "topic 0", "intercept"]
    assert table["coefficient"].tolist()[4:] == ["age", "topic 1", "topic 0", "intercept"]
    assert table["response"].tolist() == ["calm"] * 4 + ["loud"] * 4
    row = table.iloc[5]
    draws = groups["posterior"]["eta"].values[0, :, 1, 1]
    assert (row["topic"], row["words"], row["share"]) == (1, "team law", pytest.approx(2 / 3))
    np.testing.assert_allclose([row["mean"], row["low"], row["high"]], [3.0, 2.2, 3.8])
    np.testing.assert_allclose(row["sd"], draws.std(ddof=1))
    np.testing.assert_allclose([row["ess"], row["rhat"]], [ess(draws[None])[()], rhat(draws[None])[()]])
    assert table["excludes_0"].tolist() == [True, False, False, True] * 1 + [True, True, False, True]
    assert table["topic"].isna().tolist() == [True, False, False, True] * 2
    assert table["words"].tolist()[::4] == ["", ""]


def test_arviz_gives_the_same_efficiency(groups):
    import arviz

    rng = np.random.default_rng(1)
    draws = rng.normal(size=(1, 40, 1, 3)).cumsum(axis=1)
    found = made(draws, ["topic 0", "topic 1", "topic 2"])
    table = coefficient_table(found).sort_values("topic")
    expected = arviz.ess(found["posterior"][["eta"]])["eta"].values.ravel()
    np.testing.assert_allclose(table["ess"], expected, rtol=1e-10)


@pytest.mark.parametrize("names", [["topic 0", "age", "intercept"], ["age", "intercept"], ["age"], ["topic 0"]])
def test_coefficients_without_a_topic_are_of_all_chains(names):
    """Those of topics, and the intercept beside them, mean another thing in each chain."""
    draws = np.random.default_rng(2).normal(size=(3, 20, 2, len(names))) + np.arange(3.0)[:, None, None, None]
    table = coefficient_table(made(draws, names, chains=[0, 1, 2]), chain=2).set_index(["response", "coefficient"])
    for c, response in enumerate(("c0", "c1")):
        for j, name in enumerate(names):
            of_all = name == "age" or (name == "intercept" and "topic 0" not in names)
            kept = draws[:, :, c, j] if of_all else draws[2:, :, c, j]
            row = table.loc[(response, name)]
            np.testing.assert_allclose([row["mean"], row["sd"]], [kept.mean(), kept.std(ddof=1)])
            np.testing.assert_allclose([row["low"], row["high"]], np.quantile(kept, [0.05, 0.95]))
            np.testing.assert_allclose([row["ess"], row["rhat"]], [ess(kept)[()], rhat(kept)[()]])


def test_one_response_few_coefficients_another_chain(groups):
    table = coefficient_table(groups, response="loud", top=1)
    assert table[["response", "coefficient"]].values.tolist() == [["loud", "age"], ["loud", "intercept"]]
    table = coefficient_table(groups, chain=1, n_words=1)
    assert set(table.loc[table["coefficient"] != "age", "mean"]) == {7.0}
    assert table.loc[table["topic"] == 0, "words"].tolist() == ["team", "team"]


def test_relevance_is_the_sum_of_sizes(groups):
    table = topic_relevance(groups, probability=0.8, n_words=1)
    assert table["topic"].tolist() == [1, 0]
    eta = groups["posterior"]["eta"].values[0, :, :, :2]
    relevance = np.abs(eta).sum(axis=1)
    np.testing.assert_allclose(table["relevance"], relevance.mean(axis=0)[::-1])
    np.testing.assert_allclose(table["low"], np.quantile(relevance, 0.1, axis=0)[::-1])
    np.testing.assert_allclose(table["high"], np.quantile(relevance, 0.9, axis=0)[::-1])
    assert table["words"].tolist() == ["team", "ball"]
    assert list(table.columns) == ["topic", "relevance", "low", "high", "share", "words"]


def test_signal_and_noise_depend_on_the_probability(groups):
    table = signal_topics(groups)
    assert table[["topic", "signal"]].values.tolist() == [[1, True], [0, False]]
    assert table["responses"].tolist() == [["loud"], []]
    assert table.attrs == {"chain": 0, "probability": 0.9}
    # -0.1 + 0.2 * (-1 .. 1) excludes 0 at probabilities below 0.5 only.
    assert signal_topics(groups, probability=0.4)["responses"].tolist() == [["loud", "calm"], []]
    # A small relevance that is sure goes before a large one that is not.
    eta = np.zeros((1, 10, 1, 2))
    eta[0, :, 0, 0] = np.linspace(-9, 9, 10)
    eta[0, :, 0, 1] = 0.5
    table = signal_topics(made(eta, NAMES[:2]))
    assert table[["topic", "signal"]].values.tolist() == [[1, True], [0, False]]


def test_noise_is_called_signal_at_the_rate_that_is_stated():
    # 2,000 topics whose draws are of Normal(mu, 1) with mu ~ Normal(0, 1): intervals that are calibrated, of truth 0.
    rng = np.random.default_rng(3)
    k = 2000
    eta = rng.normal(size=k) + rng.normal(size=(1, 400, 1, k))
    table = signal_topics(made(eta, [f"topic {i}" for i in range(k)]), probability=0.9)
    # Of false alarms there are Binomial(2000, 0.1), a little more for the noise of quantiles of 400 draws.
    low, high = stats.binom.ppf([1e-6, 1 - 1e-6], k, 0.1)
    assert low < table["signal"].sum() < high + 0.005 * k


def test_topics_of_their_own():
    steps = np.linspace(0.0, 1.0, 5)
    eta = np.zeros((1, 5, 2, 2))
    eta[0, :, 0, 0] = 2.0 + steps
    eta[0, :, 1, 1] = -1.0 - steps
    found = made(eta, NAMES[:2], ["a", "b"], apart=True)
    table = topic_relevance(found, n_words=1)
    assert table[["response", "topic", "words"]].values.tolist() == [
        ["a", 0, "ball"],
        ["b", 1, "vote"],
        ["a", 1, "team"],
        ["b", 0, "law"],
    ]
    np.testing.assert_allclose(table["relevance"], [2.5, 1.5, 0, 0])
    table = signal_topics(found)
    assert table[["response", "topic", "signal"]].values.tolist()[:2] == [["a", 0, True], ["b", 1, True]]
    assert table["responses"].tolist() == [["a"], ["b"], [], []]
    rows = coefficient_table(found, response="b", n_words=1)
    assert rows["words"].tolist() == ["vote", "law"]
    assert reading_summary(found)["signal_topics"] == [2]
    assert reading_summary(found)["topics_with_coefficients"] == 4


def test_degenerate_traces():
    one_draw = made(np.full((1, 1, 1, 2), 3.0), ["topic 0", "intercept"])
    row = coefficient_table(one_draw).iloc[0]
    assert (row["mean"], row["excludes_0"]) == (3.0, False)
    assert np.isnan([row["sd"], row["low"], row["high"], row["ess"], row["rhat"]]).all()
    assert np.isnan(topic_relevance(one_draw)["low"]).all()
    with pytest.raises(pt.TraceError, match="one draw"):
        signal_topics(one_draw)
    assert reading_summary(one_draw) == {}
    # No topics supervised, no covariates, no intercept: a table without rows.
    nothing = coefficient_table(made(np.ones((1, 3, 2, 0)), []))
    assert (len(nothing), list(nothing)) == (0, list(coefficient_table(one_draw)))
    # Some topics unsupervised, or all of them: no rows of theirs.
    assert topic_relevance(made(np.ones((1, 3, 1, 1)), ["topic 0"]))["topic"].tolist() == [0]
    none = made(np.ones((1, 3, 1, 2)), ["age", "intercept"])
    assert topic_relevance(none).empty
    assert signal_topics(none).empty
    assert coefficient_table(none)["coefficient"].tolist() == ["age", "intercept"]
    # Draws that are all equal have an interval, of no length.
    same = coefficient_table(made(np.full((1, 8, 1, 1), -2.0), ["topic 0"])).iloc[0]
    assert (same["low"], same["high"], same["sd"], same["excludes_0"]) == (-2.0, -2.0, 0.0, True)
    # The order of dims is the trace's own business.
    turned = made(np.arange(24.0).reshape(1, 4, 2, 3), ["topic 0", "topic 1", "intercept"])
    posterior = turned["posterior"].transpose("coefficient", "response", "draw", ...)
    pd.testing.assert_frame_equal(coefficient_table({**turned, "posterior": posterior}), coefficient_table(turned))


FUNCTIONS = [coefficient_table, topic_relevance, signal_topics, effective_coefficients]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_missing_is_named(function, groups):
    def refused(found, **options):
        with pytest.raises(pt.TraceError) as caught:
            function(found, **options)
        (line,) = str(caught.value).splitlines()
        return line

    assert refused(groups, chain=5) == "the trace has no chain 5; it has 0, 1"
    assert "whole number" in refused(groups, chain=0.5)
    for wrong in (0, 1, 90, True, "0.9", np.nan):
        assert "between 0 and 1" in refused(groups, probability=wrong)
    bare = {**groups, "posterior": groups["posterior"].drop_vars("eta")}
    assert "no coefficients" in refused(bare)
    lda = pt.load_spec("lda").to_yaml()
    assert "model 'lda' has no response" in refused(
        {**bare, "posterior": bare["posterior"].assign_attrs(model_yaml=lda)}
    )
    medlda = pt.load_spec("medlda").to_yaml()
    supervised = {**bare, "posterior": bare["posterior"].assign_attrs(model_yaml=medlda)}
    assert "run the model with record eta: all" in refused(supervised)
    assert "phi_mean" in refused({"posterior": groups["posterior"]})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"response": "lout"}, "no response 'lout'; did you mean 'loud'"),
        ({"top": 0}, "top: must be a whole number"),
        ({"n_words": 0}, "at least 1"),
        ({"n_words": 1.5}, "n_words: must be a whole number"),
    ],
)
def test_wrong_names_and_numbers(groups, call, words):
    with pytest.raises(pt.TraceError, match=words):
        coefficient_table(groups, **call)


def test_zeros_in_phi():
    density = np.array([[0.1, 0.2, 0.3], [0.4, 0.4, 0.4]])
    statistics = xr.Dataset({"density_phi": (("chain", "draw"), density)}, {"chain": [0, 3], "draw": np.arange(3)})
    table = zeros_in_phi({"sample_stats": statistics}, probability=0.5)
    assert table["chain"].tolist() == [0, 3]
    np.testing.assert_allclose(table[["zeros", "low", "high"]], [[0.8, 0.75, 0.85], [0.6, 0.6, 0.6]])
    apart = statistics.expand_dims({"response": ["a", "b"]})
    table = zeros_in_phi({"sample_stats": apart})
    assert table[["chain", "response"]].values.tolist() == [[0, "a"], [0, "b"], [3, "a"], [3, "b"]]
    posterior = xr.Dataset({"phi": (("chain", "draw"), density)}, {"chain": [0, 3]})
    assert reading_summary({"posterior": posterior, "sample_stats": apart}) == {
        "zeros_in_phi": pytest.approx([0.8, 0.6])
    }
    with pytest.raises(pt.TraceError, match="only spike_slab topics have zeros"):
        zeros_in_phi({})


def test_methods_of_a_fit_and_the_summary():
    texts = ["goal match goal team", "team match goal", "vote law vote", "law vote election"] * 5
    corpus = pt.Corpus.from_texts(texts, labels=["sport", "sport", "politics", "politics"] * 5)
    fit = pt.sample("slda_logistic", corpus, topics=2, draws=20, warmup=30, chains=2, seed=1, progress=False)
    for found, expected in (
        (fit.coefficients("sport", chain=1), coefficient_table(fit.groups, response="sport", chain=1)),
        (fit.topic_relevance(probability=0.5), topic_relevance(fit.groups, probability=0.5)),
        (fit.signal_topics(n_words=1), signal_topics(fit.groups, n_words=1)),
        (fit.effective_coefficients(), effective_coefficients(fit.groups)),
    ):
        pd.testing.assert_frame_equal(found, expected)
        assert found.attrs == expected.attrs
    with pytest.raises(pt.TraceError, match="spike_slab"):
        fit.zeros_in_phi()
    what = summary(fit.groups)
    assert what["topics_with_coefficients"] == 2
    assert what["signal_topics"] == [int(fit.signal_topics(chain=chain)["signal"].sum()) for chain in (0, 1)]
    effective = [fit.effective_coefficients(chain=chain)["effective"].sum() for chain in (0, 1)]
    assert what["effective_coefficients"] == pytest.approx(effective)
    assert what["slopes"] == 2
    unsupervised = pt.sample("lda", corpus, topics=2, draws=3, warmup=1, chains=1, seed=1, progress=False)
    assert "signal_topics" not in summary(unsupervised.groups)
