"""Posterior predictive checks: information by hand, p-values on data of the model, planted violations."""

import math
from collections import Counter

import numba
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import ppl_topics as pt
from ppl_topics.diagnostics.predictive_checks import predictive_checks
from ppl_topics.diagnostics.word_information import polya_urn
from ppl_topics.samplers.variates.streams import open_stream

BETA = 0.1
SLIPS = 1e-4
"""Probability that a statistical test here fails although all is right; with fixed seeds it does so always or never."""


def traced(words, z, lengths, topics, n_words, model="lda"):
    """Groups of a trace with these tokens, and the concentration BETA."""
    words, z = np.asarray(words), np.asarray(z)
    counts = np.full((topics, n_words), BETA)
    np.add.at(counts, (z, words), 1)
    constants = xr.Dataset(
        {
            "phi_mean": (("chain", "topic", "word"), (counts / counts.sum(axis=1, keepdims=True))[None]),
            "doc_length": ("doc", lengths),
            "z_last": (("chain", "token"), z[None]),
            "beta": ("word", np.full(n_words, BETA)),
        },
        {"chain": [0], "topic": np.arange(topics), "word": [f"w{v}" for v in range(n_words)]},
    )
    posterior = xr.Dataset(attrs={"model_yaml": pt.load_spec(model).to_yaml(), "seed": 5})
    return {
        "constant_data": constants,
        "observed_data": xr.Dataset({"words": ("token", words)}),
        "posterior": posterior,
    }


def simulated(seed, topics=20, n_words=40, docs=60, length=50, bursts=False):
    """A draw of phi, z and the words from the model; with bursts, topic 0 has but two of its words in a document."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_words, BETA), topics)
    words, tokens = [], []
    for _ in range(docs):
        z = rng.choice(topics, length, p=rng.dirichlet(np.full(topics, 0.3)))
        mine = np.array([rng.choice(n_words, p=phi[k]) for k in z])
        if bursts:
            mine[z == 0] = rng.choice(rng.choice(n_words, 2, p=phi[0]), (z == 0).sum())
        words.append(mine)
        tokens.append(z)
    return traced(np.concatenate(words), np.concatenate(tokens), np.full(docs, length), topics, n_words)


def by_hand(words, docs):
    n, both, by_word, by_doc = len(words), Counter(zip(words, docs, strict=True)), Counter(words), Counter(docs)
    total = sum(c / n * math.log(c * n / (by_word[w] * by_doc[d])) for (w, d), c in both.items())
    entropy = -sum(c / n * math.log(c / n) for c in by_doc.values())
    given = {
        w: -sum(c / by_word[w] * math.log(c / by_word[w]) for (v, _), c in both.items() if v == w) for w in by_word
    }
    return total, entropy, {w: entropy - given[w] for w in by_word}


def test_information_by_hand():
    groups = simulated(3, topics=3, n_words=8, docs=10, length=12)
    words, z = groups["observed_data"]["words"].values, groups["constant_data"]["z_last"].values[0]
    docs = np.repeat(np.arange(10), 12)
    table = predictive_checks(groups, replications=3).set_index("topic")
    rows = predictive_checks(groups, replications=3, by="word", n_words=3)
    assert list(rows.columns) == ["topic", "word", "tokens", "information", "replicated", "sd", "deviation", "p_value"]
    for topic in range(3):
        total, entropy, of_words = by_hand(words[z == topic].tolist(), docs[z == topic].tolist())
        assert table.loc[topic, "information"] == pytest.approx(total, abs=1e-12)
        assert table.loc[topic, "tokens"] == (z == topic).sum()
        for row in rows[rows["topic"] == topic].itertuples():
            word = int(row.word[1:])
            assert row.information == pytest.approx(of_words.get(word, entropy), abs=1e-12)
            assert row.tokens == ((z == topic) & (words == word)).sum()
    # The information of a topic is the mean of that of its words.
    everything = predictive_checks(groups, replications=1, by="word", n_words=8)
    joined = everything[everything["topic"] == 0]
    assert table.loc[0, "information"] == pytest.approx(np.average(joined["information"], weights=joined["tokens"]))


def test_the_urn_draws_words_given_the_data():
    """Its distribution is exactly known for two words: beta-binomial. Chi-squared, false alarms at the rate SLIPS."""
    real, beta = np.array([0, 0, 1, 1, 1], dtype=np.int32), np.array([1.0, 2.0])
    found = np.zeros(6)
    for seed in range(4000):
        words = np.zeros(5, dtype=np.int32)
        polya_urn(open_stream(seed), real, np.cumsum(beta), words)
        found[int(words.sum())] += 1
    counts = np.arange(6)

    def p_value(distribution):
        return stats.chisquare(found, 4000 * distribution).pvalue

    assert p_value(stats.betabinom.pmf(counts, 5, 3 + 2.0, 2 + 1.0)) > SLIPS
    # Planted: an urn that forgets beta, and one that takes phi as known.
    assert p_value(stats.betabinom.pmf(counts, 5, 3, 2)) < SLIPS
    assert p_value(stats.binom.pmf(counts, 5, 5 / 8)) < SLIPS


def p_values(replicate):
    """240 topics of the model, p-values on 1/20, ..., 1."""
    drawn = [predictive_checks(simulated(seed), replications=19, replicate=replicate) for seed in range(12)]
    return pd.concat(drawn)["p_value"]


def cells(p):
    return np.bincount(np.round(p * 20).astype(int) - 1, minlength=20).reshape(10, 2).sum(axis=1)


def test_p_values_of_permutations_are_uniform_on_data_of_the_model():
    """Chi-squared of ten cells, false alarms at the rate SLIPS."""
    p = p_values("permutation")
    assert stats.chisquare(cells(p)).pvalue > SLIPS
    # No more topics are flagged than the rate that the p-values state.
    assert (p <= 0.05).sum() <= stats.binom.isf(SLIPS, len(p), 0.05)


def test_predictive_p_values_are_not_extreme_on_data_of_the_model():
    """Their mean is 1/2 and they vary less than uniform ones, so that p <= x at most at the rate 2 x (Meng 1994)."""
    p = p_values("predictive")
    assert (p <= 0.05).sum() <= stats.binom.isf(SLIPS, len(p), 0.1)
    assert p.var() < 1 / 12
    assert abs(p.mean() - 0.5 * 21 / 20) < -stats.norm.ppf(SLIPS / 2) * np.sqrt(1 / 12 / len(p))


@pytest.mark.parametrize("replicate", ["predictive", "permutation"])
def test_bursts_are_found(replicate):
    groups = simulated(1, bursts=True)
    table = predictive_checks(groups, replications=99, replicate=replicate).set_index("topic")
    assert table.loc[0, "p_value"] == 0.01
    assert table["deviation"].idxmax() == 0
    assert table.loc[0, "deviation"] > 5
    # The others are of the model.
    assert (table.drop(0)["p_value"] <= 0.05).sum() <= stats.binom.isf(SLIPS, 19, 0.1)
    words = predictive_checks(groups, replications=99, replicate=replicate, by="word", n_words=5)
    assert words.loc[words["deviation"].idxmax(), "topic"] == 0


def test_a_fit_of_documents_with_bursts():
    rng = np.random.default_rng(4)
    phi = rng.dirichlet(np.full(60, 0.05), 3)
    texts = []
    for _ in range(60):
        z = rng.choice(3, 40, p=rng.dirichlet(np.full(3, 0.3)))
        words = np.array([rng.choice(60, p=phi[k]) for k in z])
        words[z == 0] = rng.choice(rng.choice(60, 2, p=phi[0]), (z == 0).sum())
        texts.append([f"w{v}" for v in words])
    corpus = pt.Corpus.from_tokens(texts)
    how = {"topics": 3, "draws": 5, "warmup": 40, "chains": 1, "seed": 1, "progress": False, "record": {"z": "all"}}
    fit = pt.sample("lda", corpus, alpha=0.3, beta=0.05, **how)
    table = fit.predictive_checks(draws=3)
    bursting = {f"w{v}" for v in np.argsort(-phi[0])[:3]}
    worst = table.loc[table["deviation"].idxmax()]
    assert bursting & set(worst["words"].split(" ")[:4])
    assert worst["p_value"] == 1 / 301
    assert table.attrs == {"chain": 0, "replications": 100, "draws": 3, "replicate": "predictive", "seed": 1}
    assert fit.predictive_checks(by="word", n_words=2, replications=5)["topic"].tolist() == sorted(
        table["topic"].tolist() * 2, key=table["topic"].tolist().index
    )
    # Words of another seed; the same whatever the number of threads.
    other = fit.predictive_checks(seed=2)
    assert (other["replicated"] != fit.predictive_checks()["replicated"]).all()
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    pd.testing.assert_frame_equal(fit.predictive_checks(seed=2), other)


def test_topics_that_are_not_dirichlet_are_permuted():
    groups = simulated(1, bursts=True)
    groups["posterior"].attrs["model_yaml"] = pt.load_spec("lda_spike_slab").to_yaml()
    table = predictive_checks(groups)
    assert table.attrs["replicate"] == "permutation"
    assert table.loc[table["deviation"].idxmax(), "topic"] == 0
    with pytest.raises(pt.TraceError, match="no Dirichlet prior, so phi cannot be drawn"):
        predictive_checks(groups, replicate="predictive")


def test_sampled_concentrations():
    groups = simulated(6, topics=2, n_words=5, docs=5, length=20)
    posterior = groups["posterior"].assign(beta=(("chain", "draw"), [[9.0, BETA]])).assign_coords(chain=[0])
    posterior.attrs["model_yaml"] = pt.load_spec("lda_learned").to_yaml()
    sampled = {**groups, "posterior": posterior, "constant_data": groups["constant_data"].drop_vars("beta")}
    pd.testing.assert_frame_equal(predictive_checks(sampled), predictive_checks(groups))


def test_topics_of_their_own():
    first, second = (simulated(seed, topics=2, n_words=5, docs=5, length=20) for seed in (7, 8))
    words = first["observed_data"]
    joined = xr.concat(
        [first["constant_data"][["phi_mean", "z_last"]], second["constant_data"][["phi_mean", "z_last"]]], "response"
    ).assign_coords(response=["a", "b"])
    constants = first["constant_data"].drop_vars(["phi_mean", "z_last"]).merge(joined)
    table = predictive_checks({**first, "constant_data": constants}, replicate="permutation")
    alone = predictive_checks(first, replicate="permutation")
    assert table["response"].tolist() == ["a", "a", "b", "b"]
    assert table["information"].tolist()[:2] == alone["information"].tolist()
    assert table["tokens"].tolist()[:2] == alone["tokens"].tolist()
    assert table.groupby("response")["tokens"].sum().tolist() == [words.sizes["token"]] * 2
    rows = predictive_checks({**first, "constant_data": constants}, by="word", replications=2)
    assert list(rows.columns)[:3] == ["response", "topic", "word"]


def test_degenerate_topics():
    """An empty topic, one of a single word, one of a single document."""
    words, z = [0, 0, 1, 1, 2, 3, 4], [0, 0, 1, 1, 2, 2, 2]
    groups = traced(words, z, [1, 3, 3, 0], topics=4, n_words=5)
    for replicate in ("predictive", "permutation"):
        table = predictive_checks(groups, replications=20, replicate=replicate).set_index("topic")
        numbers = table.select_dtypes("number")
        assert np.isfinite(numbers).all().all()
        # Nothing to compare: the empty topic, and the one whose tokens are in one document.
        for topic in (2, 3):
            assert table.loc[topic, ["information", "deviation", "p_value"]].tolist() == [0.0, 0.0, 1.0]
        rows = predictive_checks(groups, by="word", replications=5, replicate=replicate)
        assert np.isfinite(rows.select_dtypes("number")).all().all()
    assert table.loc[1, ["sd", "deviation", "p_value"]].tolist() == [0.0, 0.0, 1.0]


def test_what_is_missing_or_wrong_is_named():
    groups = simulated(2, topics=2, n_words=5, docs=4, length=5)

    def refused(found=groups, error=pt.TraceError, **options):
        with pytest.raises(error) as caught:
            predictive_checks(found, **options)
        (line,) = str(caught.value).splitlines()
        return line

    constants = groups["constant_data"]
    assert "'topic' or 'word'" in refused(by="document")
    assert "'predictive' or 'permutation'" in refused(replicate="bootstrap")
    assert "draws: 3 draws of z must be recorded" in refused(draws=3)
    assert "no `z_last`" in refused({**groups, "constant_data": constants.drop_vars("z_last")}, chain=0)
    assert "no training documents" in refused({**groups, "observed_data": xr.Dataset()})
    for name in ("replications", "draws", "seed"):
        assert f"{name}: must be a whole number" in refused(**{name: -1}, error=pt.PplTopicsError)
    unknown = {**groups, "posterior": xr.Dataset()}
    assert "does not name its model" in refused(unknown, replicate="predictive")
    assert predictive_checks(unknown).attrs["replicate"] == "permutation"
    bare = {**groups, "constant_data": constants.drop_vars("beta")}
    assert "does not hold beta" in refused(bare, replicate="predictive")
