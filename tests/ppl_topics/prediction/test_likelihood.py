"""The likelihood of new documents from a fit: averages over chains and draws, its error, its edges."""

import itertools
import math

import numpy as np
import pytest
import xarray as xr
from held_out_cases import FALSE_ALARM
from scipy import stats

import ppl_topics as pt
from ppl_topics.errors import CorpusError, PplTopicsError, TraceError
from ppl_topics.prediction import likelihood
from ppl_topics.prediction.likelihood_errors import of_replicates, ratio_error
from ppl_topics.samplers.held_out.completion import split_tokens
from ppl_topics.samplers.held_out.replicates import REPLICATES

FAST = {"topics": 3, "draws": 6, "warmup": 10, "chains": 2, "seed": 1, "threads": 1, "progress": False}

TEXTS = ["red orange yellow red", "blue green teal blue", "red blue", "orange yellow", "teal green blue"] * 4


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS, labels=["warm", "cold", "both", "warm", "cold"] * 4)


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda", corpus, record={"phi": "all"}, **FAST)


NEW = ["red red yellow blue", "teal", "", "green violet green teal orange"]


def test_a_result(fit):
    found = fit.held_out(NEW, seed=1)
    assert found.tokens.tolist() == [4, 1, 0, 4]
    assert (found.unknown_tokens, found.empty_documents, found.averaged) == (1, 1, 2)
    assert found.values[2] == 0.0
    assert (found.values[[0, 1, 3]] < 0.0).all()
    assert found.log_likelihood == found.values.sum()
    assert found.error == pytest.approx(np.sqrt(np.sum(found.errors**2)))
    assert found.bias == pytest.approx(np.sum(found.biases))
    assert found.perplexity == pytest.approx(np.exp(-found.values.sum() / 9))
    frame = found.to_frame()
    assert list(frame) == ["id", "tokens", "log_likelihood", "error"]
    assert frame["id"].tolist() == ["0", "1", "2", "3"]
    assert found.summary()["perplexity"] == found.perplexity
    assert "perplexity" in repr(found)


def test_chains_are_averaged_in_likelihood(fit):
    # Of a document with one word nothing is estimated: p(w) = sum_k phi_kw alpha_k / sum of alpha.
    found = fit.held_out(["teal"])
    phi = fit.groups["constant_data"]["phi_mean"].sel(word="teal").values
    alpha = fit.groups["constant_data"]["alpha"].values
    assert found.values[0] == pytest.approx(np.log((phi @ alpha / alpha.sum()).mean()), rel=1e-5)
    assert found.errors[0] == pytest.approx(0.0, abs=1e-6)
    same = fit.held_out(["teal"], method="document_completion")
    assert same.values[0] == pytest.approx(found.values[0], rel=1e-5)


def test_draws_are_averaged_in_likelihood(fit):
    found = fit.held_out(["teal"], phi="draws", draws=100)
    assert found.averaged == 12
    phi = fit.posterior["phi"].sel(word="teal").values
    alpha = fit.groups["constant_data"]["alpha"].values
    assert found.values[0] == pytest.approx(np.log((phi @ alpha / alpha.sum()).mean()), rel=1e-5)
    few = fit.held_out(["teal"], phi="draws", draws=2)
    assert few.averaged == 4
    expected = (phi[:, [0, 5]] @ alpha / alpha.sum()).mean()
    assert few.values[0] == pytest.approx(np.log(expected), rel=1e-5)


def test_a_sampled_alpha_goes_with_its_draw(corpus):
    fit = pt.sample("lda_learned", corpus, record={"phi": "all"}, **FAST)
    phi = fit.posterior["phi"].sel(word="teal").values
    alpha = np.broadcast_to(fit.posterior["alpha"].values.reshape(2, 6, -1), phi.shape)
    share = alpha / alpha.sum(axis=-1, keepdims=True)
    found = fit.held_out(["teal"], phi="draws", draws=6)
    assert found.values[0] == pytest.approx(np.log((phi * share).sum(axis=-1).mean()), rel=1e-5)


@pytest.mark.parametrize("method", ["left_to_right", "document_completion"])
def test_the_same_bits_at_any_number_of_threads(fit, corpus, method):
    one = fit.held_out(corpus, method=method, seed=5, threads=1)
    two = fit.held_out(corpus, method=method, seed=5, threads=2)
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.errors, two.errors)
    assert (fit.held_out(corpus, method=method, seed=6, threads=2).values != one.values).any()


def of_stated_errors(fit, corpus, seeds=60, **options):
    """p value of the spread of the log likelihood over seeds against the stated errors."""
    found = [fit.held_out(corpus, seed=seed, **options) for seed in range(seeds)]
    spread = np.std([one.log_likelihood for one in found], ddof=1)
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    # (n - 1) times the ratio squared is chi-square with n - 1 degrees of freedom, where the stated error is right.
    ratio = (seeds - 1) * (spread / stated) ** 2
    return 2 * min(stats.chi2.cdf(ratio, seeds - 1), stats.chi2.sf(ratio, seeds - 1))


def test_stated_errors_are_those_of_repetitions(fit, corpus):
    assert of_stated_errors(fit, corpus, seeds=30, particles=20) > FALSE_ALARM


@pytest.mark.parametrize("options", [{}, {"particles": 40}, {"phi": "draws", "draws": 2}])
def test_stated_errors_of_document_completion_are_those_of_repetitions(options, fit, corpus):
    assert of_stated_errors(fit, corpus, method="document_completion", **options) > FALSE_ALARM


def test_halves_that_depend_on_the_seed_are_caught(fit, corpus, monkeypatch):
    seeds = itertools.count()

    def cut(doc_ptr, words, key):
        return split_tokens(doc_ptr, words, key._replace(seed=next(seeds)))

    monkeypatch.setattr(likelihood, "split_tokens", cut)
    assert of_stated_errors(fit, corpus, method="document_completion") < FALSE_ALARM


@pytest.mark.slow
def test_stated_errors_of_document_completion_of_a_real_corpus():
    # With 200 seeds, an error that is stated 1.4 times too small or too large is refused with probability 0.97.
    corpus = pt.load_docstrings()
    fit = pt.sample("lda", corpus, **{**FAST, "topics": 20})
    assert of_stated_errors(fit, corpus.select(slice(100)), seeds=200, method="document_completion") > FALSE_ALARM


@pytest.mark.parametrize("sigma", [0.3, 1.5])
def test_error_and_bias_of_noisy_replicates(sigma):
    # Log-normal estimates, whose error and bias are known by simulation.
    rng = np.random.default_rng(1)
    values, errors, biases = of_replicates(rng.normal(-0.5 * sigma**2, sigma, (20_000, REPLICATES)))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.05)
    assert biases.mean() == pytest.approx(values.mean(), abs=0.03 * sigma)


def test_error_and_bias_without_noise():
    values, errors, biases = of_replicates(np.array([[-np.inf] * 4, [-2.0] * 4]))
    np.testing.assert_allclose([values, errors, biases], [[-np.inf, -2.0], [0.0, 0.0], [0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("model", ["lda", "lda_spike_slab", "lda_collapsed"])
def test_words_that_training_has_not_seen_are_dropped(model, corpus):
    wider = corpus.with_vocabulary([*corpus.vocabulary, "violet"])
    found = pt.sample(model, wider, **FAST).held_out(NEW)
    assert found.tokens.tolist() == [4, 1, 0, 4]
    assert found.unknown_tokens == 1
    assert np.isfinite(found.values).all()


def test_one_topic_one_draw_one_document(corpus):
    fit = pt.sample("lda", corpus, **{**FAST, "topics": 1, "draws": 1, "chains": 1})
    found = fit.held_out(["red blue"])
    phi = fit.groups["constant_data"]["phi_mean"].values[0, 0]
    words = [corpus.vocabulary.tolist().index(word) for word in ("red", "blue")]
    assert found.values[0] == pytest.approx(np.log(phi[words]).sum(), rel=1e-5)
    assert np.isnan(found.per_token_spread)
    nothing = fit.held_out([""])
    assert (nothing.log_likelihood, nothing.n_tokens, nothing.empty_documents) == (0.0, 0, 1)
    assert np.isnan(nothing.perplexity)
    completed = fit.held_out(["", "red"], method="document_completion")
    assert completed.tokens.tolist() == [0, 1]
    assert completed.errors.tolist() == [0.0, 0.0]


def test_responses_with_topics_of_their_own_are_named(corpus):
    fit = pt.sample("medlda_one_vs_all", corpus, margin=1.0, **FAST)
    with pytest.raises(TraceError, match=r"each response has its own topics; name one of them .*: both, cold, warm"):
        fit.held_out(NEW)
    values = [fit.held_out(NEW, response=name).log_likelihood for name in ("warm", "cold")]
    assert values[0] != values[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "harmonic_mean"}, "method: expected left_to_right or document_completion, got 'harmonic_mean'"),
        ({"phi": "last"}, "phi: expected mean or draws"),
        ({"particles": 6}, "particles: must be a multiple of 4"),
        ({"particles": 0}, "particles: must be a whole number from 4"),
        ({"moves": -1}, "moves: must be a whole number from 0"),
        ({"draws": 0}, "draws: must be a whole number from 1"),
        ({"seed": 0.5}, "seed"),
        ({"threads": 10**6}, "threads: must be at most"),
    ],
)
def test_wrong_options_are_refused(options, message, fit):
    with pytest.raises(PplTopicsError, match=message):
        fit.held_out(NEW, **options)


def test_wrong_documents_and_traces_are_refused(fit, corpus):
    with pytest.raises(TraceError, match="omit 'warm'"):
        fit.held_out(NEW, response="warm")
    with pytest.raises(CorpusError, match="is a word of the training corpus"):
        fit.held_out(pt.Corpus.from_tokens([["violet"]]))
    bare = pt.sample("lda", corpus, record={"phi": "none"}, **FAST)
    with pytest.raises(TraceError, match="does not hold all of phi in each draw"):
        bare.held_out(NEW, phi="draws")
    groups = {**fit.groups, "constant_data": fit.groups["constant_data"].drop_vars("word_count")}
    with pytest.raises(TraceError, match="lacks `word_count`"):
        pt.Fit(groups).held_out(NEW)
    with pytest.raises(TraceError):
        pt.Fit({"posterior": xr.Dataset()}).held_out(NEW)


def test_error_of_a_ratio_over_documents():
    rng = np.random.default_rng(1)
    tokens = np.array([3, 0, 5, 9, 2])
    values = np.where(tokens > 0, -2.0 * tokens + rng.normal(size=5), 0.0)
    kept = tokens > 0
    ratio = values.sum() / 19
    expected = math.sqrt(4 / 3 * np.sum((values[kept] - ratio * tokens[kept]) ** 2)) / 19
    assert ratio_error(values, tokens) == pytest.approx(expected)
