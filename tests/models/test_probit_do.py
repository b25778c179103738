"""The diagonal orthant probit: the quadratic form given the augmentation, its distribution, and class probabilities.

With a cut to the label's side of zero and base(a) the standard normal density, the integral of
base(a) exp(b(a) s - omega(a) s^2 / 2) must be the likelihood Phi(y s). Statistical tests have a false-alarm rate of
1e-6 over fixed seeds, and reject planted bugs.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import erfcx, logsumexp, ndtr

import ppl_topics as pt
from ppl_topics.core.response import Potential, Response
from ppl_topics.corpus.labels import Labels
from ppl_topics.engine.bind import bind
from ppl_topics.errors import CorpusError
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.probit_do import ProbitDo
from ppl_topics.schedule import make_plan

KEYS = {"coefficients": "eta", "features": ["z"]}
BLOCK = ProbitDo(**KEYS)
SCORES = np.array([-6.13, -2.57, -0.36, 0.0, 0.23, 1.71, 4.13])
CLOSE, FAR = 1e-9, 1e-2
STEP = 1e-3
GRID = np.arange(STEP / 2, 30.0, STEP)
FALSE_ALARM = 1e-6
MODEL = {
    "extends": "lda",
    "name": "dolda_normal_here",
    "parameters": {"topics": 4},
    "blocks": {
        "eta": {"block": "normal", "per": "response"},
        "y": {"block": "probit_do", **KEYS, "observed": "labels"},
    },
}


def log_integrand(block, y, s):
    """Log of base(a) exp(b(a) s - omega(a) s^2 / 2) on the grid, with the step."""
    a = y * GRID[:, None]
    b, omega = block.potential(np.full(a.shape, y), a)
    return stats.norm.logpdf(a[:, 0]) + b[:, 0] * s - omega[:, 0] * s**2 / 2 + np.log(STEP)


def deviation(block, y):
    """How far the integral is from the likelihood, in logarithms: also by a constant."""
    integral = np.array([logsumexp(log_integrand(block, y, s)) for s in SCORES])
    value = block.log_likelihood(np.full((len(SCORES), 1), y), SCORES[:, None], np.ones(1))[:, 0]
    return float(np.abs(integral - value).max())


class WrongSign(ProbitDo):
    def potential(self, targets, augmentation):
        return Potential(-augmentation, np.ones_like(augmentation))


class SignForA(ProbitDo):
    def potential(self, targets, augmentation):
        return Potential(targets, np.ones_like(augmentation))


class VarianceTwo(ProbitDo):
    def potential(self, targets, augmentation):
        return Potential(augmentation / 2, np.full_like(augmentation, 0.5))


class NoCurvature(ProbitDo):
    def potential(self, targets, augmentation):
        return Potential(augmentation, np.zeros_like(augmentation))


class Normalised(ProbitDo):
    """Of one class against the rest, as if it were the distribution of a class among two."""

    def log_likelihood(self, targets, scores, augmentation):
        return super().log_likelihood(targets, scores, augmentation) + np.log1p(ndtr(scores))


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_quadratic_form(y):
    assert deviation(BLOCK, y) < 1e-5


@pytest.mark.parametrize("kind", [WrongSign, SignForA, VarianceTwo, NoCurvature, Normalised])
def test_planted_bugs_of_quadratic_forms(kind):
    assert deviation(kind(**KEYS), 1.0) > FAR


def distribution_distance(block, y, s):
    """Total variation between the distribution of the augmentation a block declares, and the normalised integrand."""
    sign, mean = (float(array[0, 0]) for array in block.augmentation_arguments(np.array([[y]]), np.array([[s]])))
    log_density = log_integrand(BLOCK, y, s)
    declared = stats.norm.logpdf(sign * GRID, mean)
    expected, declared = (np.exp(value - logsumexp(value)) for value in (log_density, declared))
    return 0.5 * np.abs(expected - declared).sum()


class OtherSide(ProbitDo):
    def augmentation_arguments(self, targets, scores):
        return -targets, scores


class MeanForgotten(ProbitDo):
    def augmentation_arguments(self, targets, scores):
        return targets, 0 * scores


class MeanTowardsTheLabel(ProbitDo):
    def augmentation_arguments(self, targets, scores):
        return targets, targets * np.abs(scores)


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_distribution_of_the_augmentation(y):
    for s in (-2.5, 0.2, 1.7):
        assert distribution_distance(BLOCK, y, s) < CLOSE
    for kind in (OtherSide, MeanForgotten, MeanTowardsTheLabel):
        assert max(distribution_distance(kind(**KEYS), y, s) for s in (-2.5, 0.2, 1.7)) > FAR


@pytest.mark.parametrize("mean", [-30.0, -2.0, 0.0, 1.5, 30.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_draws_of_the_augmentation(y, mean):
    size = 20_000
    drawn = BLOCK.draw_augmentation(np.full((size, 1), y), np.full((size, 1), mean), np.random.default_rng(3))[:, 0]
    assert (y * drawn > 0).all()
    # Of a variate cut to (0, inf), with the label's side turned to be that one.
    inside = y * mean
    if inside < -5:
        survival = erfcx((y * drawn - inside) / math.sqrt(2)) / erfcx(-inside / math.sqrt(2))
        survival *= np.exp(y * drawn * inside - drawn**2 / 2)
    else:
        survival = ndtr(inside - y * drawn) / ndtr(inside)
    assert stats.kstest(survival, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(np.clip(survival, 0, 1) ** 1.2, "uniform").pvalue < FALSE_ALARM


def test_tails_of_the_likelihood():
    """To 40 standard deviations and beyond, where Phi itself is zero."""
    for s in (-40.0, -300.0):
        expected = np.log(0.5 * erfcx(-s / math.sqrt(2))) - s**2 / 2
        for y in (-1.0, 1.0):
            value = BLOCK.log_likelihood(np.array([[y]]), np.array([[y * s]]), np.ones(1))
            np.testing.assert_allclose(value, expected, rtol=1e-13)
    assert BLOCK.log_likelihood(np.array([[1.0]]), np.array([[40.0]]), np.ones(1)) == pytest.approx(0, abs=1e-300)


def test_missing_targets():
    y = np.array([[np.nan, 1.0], [-1.0, np.nan]])
    missing = np.isnan(y)
    a = np.full((2, 2), 0.4)
    for part in BLOCK.potential(y, a):
        np.testing.assert_array_equal(part == 0, missing)
    np.testing.assert_array_equal(BLOCK.log_likelihood(y, a, a) == 0, missing)
    np.testing.assert_array_equal(BLOCK.draw_augmentation(y, a, np.random.default_rng(1)) == 1, missing)
    np.testing.assert_array_equal(BLOCK.augmentation_arguments(y, a)[0] == 0, missing)
    assert np.isnan(BLOCK.loss(np.full((2, 2), np.nan), a))
    assert BLOCK.loss(y, a) == 0.5


def corpus_of(values, classes):
    names = [f"c{number}" for number in range(classes)]
    return pt.Corpus.from_texts(
        ["aa bb", "bb cc", "aa", "cc cc"], labels=Labels("class", np.array(values), np.array(names))
    )


def test_first_state_is_inside_the_support():
    bound = bind(make_plan(pt.load_spec(MODEL)), corpus_of([0, 2, -1, 1], 3))
    state = bound.initial_state(seed=1, chain=0)
    expected = [[1, -1, -1], [-1, -1, 1], [1, 1, 1], [-1, 1, -1]]
    np.testing.assert_array_equal(state.arrays["a"], expected)


def test_two_classes_make_one_response():
    targets, names = BLOCK.encode(corpus_of([0, 1, 1, -1], 2).labels)
    np.testing.assert_array_equal(targets[:, 0], [-1, 1, 1, np.nan])
    assert names == ["c1"]
    with pytest.raises(CorpusError, match="it needs classes, but these labels are of kind"):
        BLOCK.encode(Labels("real", np.ones((3, 1)), np.array(["p"])))


def test_drawn_targets_have_the_expectation():
    # Five standard errors: false alarms below 1e-6 each.
    scores = np.array([-1.0, 0.3, 1.2])
    drawn = BLOCK.draw_targets(np.broadcast_to(scores, (40_000, 3)), np.ones(1), np.random.default_rng(1))
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    share, error = (drawn > 0).mean(axis=0), 0.5 / 200
    assert (np.abs(share - BLOCK.expectation(scores)) < 5 * error).all()
    assert (np.abs(share - BLOCK.expectation(scores + 0.2)) > 5 * error).any()


def class_distribution(scores):
    """Phi(s_j) times the others' Phi(-s_l), normalised, by logarithms."""
    each = np.array([stats.norm.logcdf(s) + sum(stats.norm.logcdf(-scores)) - stats.norm.logcdf(-s) for s in scores])
    return np.exp(each - logsumexp(each))


@pytest.mark.parametrize(
    "scores", [[0.3, -1.0, 2.0], [-30.0, -31.0, -40.0], [9.0, 9.5, 8.0], [50.0, 50.01, -3.0], [0.0] * 4]
)
def test_probabilities_of_classes(scores):
    scores = np.array(scores)
    np.testing.assert_allclose(
        BLOCK.class_probabilities(scores[None])[0], class_distribution(scores), rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize(
    ("values", "wrong"), [([[0.3, -1.0, 2.0]], False), ([[9.0, 9.5, 8.0]], True), ([[-50.0, -50.01, -60.0]], True)]
)
def test_probabilities_from_rounded_expectations_are_wrong_in_the_tails(values, wrong):
    class Clipped(ProbitDo):
        log_odds = Response.log_odds

    scores = np.array(values)
    difference = np.abs(Clipped(**KEYS).class_probabilities(scores) - BLOCK.class_probabilities(scores)).max()
    assert (difference > FAR) == wrong


def test_probabilities_of_two_classes():
    np.testing.assert_allclose(BLOCK.class_probabilities(np.array([[-1.3]])), [[ndtr(1.3), ndtr(-1.3)]], rtol=1e-12)


def test_odds_of_the_logistic_response_are_its_linear_predictors():
    scores = np.array([[-800.0, 2.0, 3.0, 4.0], [800.0, 801.0, 0.0, 799.0]])
    expected = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    np.testing.assert_allclose(Logistic(**KEYS).class_probabilities(scores), expected, rtol=1e-12)


def test_predictions_add_up_to_one():
    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=60)
    texts = [" ".join(f"w{rng.integers(4) + 5 * label}" for _ in range(20)) for label in labels]
    corpus = pt.Corpus.from_texts(texts, labels=[f"class {label}" for label in labels])
    fit = pt.sample(MODEL, corpus, chains=1, warmup=20, draws=20, seed=1, progress=False)
    probability = fit.predict_proba(corpus)
    np.testing.assert_allclose(np.asarray(probability).sum(axis=1), 1, rtol=1e-12)
    assert (np.asarray(probability).argmax(axis=1) == labels).mean() > 0.9


def test_the_log_likelihood_of_classes_has_their_normaliser():
    """As Magnusson, Jonsson, Villani (2020) monitor it, beside that of the product of probits, at each draw."""
    corpus = corpus_of([0, 2, -1, 1], 3)
    fit = pt.sample(MODEL, corpus, chains=1, warmup=2, draws=5, seed=1, progress=False, record={"z": "all"})
    z, eta, statistics = fit.posterior["z"].values[0], fit.posterior["eta"].values[0], fit.groups["sample_stats"]
    normalised, product = [], []
    for draw in range(5):
        shares = np.stack([np.bincount(z[draw, i:j], minlength=fit.posterior.sizes["topic"]) / (j - i)
                           for i, j in itertools.pairwise(corpus.doc_ptr)])  # fmt: skip
        scores = shares @ eta[draw].T
        known = [(scores[0], 0), (scores[1], 2), (scores[3], 1)]
        normalised.append(sum(np.log(class_distribution(s)[c]) for s, c in known))
        product.append(sum(stats.norm.logcdf(np.where(np.arange(3) == c, s, -s)).sum() for s, c in known))
    np.testing.assert_allclose(statistics["log_likelihood_class"][0], normalised, rtol=1e-9)
    np.testing.assert_allclose(statistics["log_likelihood_y"][0], product, rtol=1e-9)
    labels = pt.Corpus.from_texts(["aa bb", "bb cc"], labels=[["u"], ["u", "v"]])
    fit = pt.sample(MODEL, labels, chains=1, warmup=2, draws=2, seed=1, progress=False)
    assert "log_likelihood_class" not in fit.groups["sample_stats"]
