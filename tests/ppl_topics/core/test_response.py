"""What every response keeps to: missing targets, draws of the augmentation and of targets, sums, losses."""

import numpy as np
import pytest
from homes import kinds_of
from scipy import stats

from ppl_topics.core.response import Response
from ppl_topics.errors import SpecError
from ppl_topics.models.epsilon_insensitive import EpsilonInsensitive
from ppl_topics.models.gaussian import Gaussian
from ppl_topics.models.hinge import Hinge
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.negative_binomial import NegativeBinomial
from ppl_topics.models.quantile import Quantile
from ppl_topics.models.student_t import StudentT

KEYS = {"coefficients": "eta", "features": ["z"]}
SCORES = np.array([[-6.13], [-2.57], [-1.21], [-0.36], [0.0], [0.23], [0.9], [1.71], [4.13], [11.3]])
BOUND = stats.norm.isf(1e-9)

# Of levels there is one column of targets, whatever their number: `test_ordinal_probit.py`.
SEVERAL = [block for block in kinds_of(Response).values() if not block.ordered]
REGISTERED = [block(**KEYS, **block.tiny_parameters) for block in SEVERAL]
GENERATIVE = [block(**KEYS, **block.generative_parameters) for block in SEVERAL]


def kind(block):
    return block.kind


@pytest.mark.parametrize("block", REGISTERED, ids=kind)
def test_missing_targets(block):
    y = np.array([[np.nan, 1.0], [1.0, np.nan]])
    held = np.ones([2 for _ in block.augmentation_dims])
    for part in block.potential(y, 3.0 * held):
        assert part.shape == y.shape
        assert (part[np.isnan(y)] == 0).all()
        assert (part[~np.isnan(y)] != 0).all()
    np.testing.assert_array_equal(block.log_likelihood(y, np.full((2, 2), -9.0), held) == 0, np.isnan(y))
    if "doc" in block.augmentation_dims:
        drawn = block.draw_augmentation(y, np.full((2, 2), 0.3), np.random.default_rng(1))
        assert drawn.shape == held.shape
        np.testing.assert_array_equal((drawn == 1).reshape(2, 2, -1).all(axis=2), np.isnan(y))
    assert np.isnan(block.loss(np.full((2, 2), np.nan), y))
    assert np.isfinite(block.loss(y, np.ones((2, 2))))


@pytest.mark.parametrize(
    ("block", "absent"),
    [
        (Hinge(**KEYS), -1.0),
        (Logistic(**KEYS), 0.0),
        (EpsilonInsensitive(**KEYS), 0.0),
        (NegativeBinomial(**KEYS), 0.0),
    ],
)
def test_evidence_is_the_sum_over_documents(block, absent):
    """Missing targets add nothing."""
    y, scores = np.array([[1.0, np.nan], [absent, 1.0]]), np.array([[0.1, 0.0], [-0.2, 1.0]])
    cells = block.log_likelihood(y, scores, np.ones(1))
    assert cells[0, 1] == 0.0
    assert block.log_joint(y, scores, np.ones(y.shape)) == pytest.approx(cells.sum())
    np.testing.assert_allclose(block.log_evidence(y, scores[None]), cells.sum(axis=0)[None])


# Counts at large scores have too long a tail for a sum.
@pytest.mark.parametrize(
    ("block", "values", "scores"),
    [(Logistic(**KEYS), 2, SCORES), (NegativeBinomial(**KEYS, dispersion=2.5), 3000, SCORES[SCORES[:, 0] < 3])],
)
def test_likelihoods_are_distributions(block, values, scores):
    targets = np.arange(values, dtype=float)
    distribution = np.exp(block.log_likelihood(targets, scores, np.ones(1)))
    np.testing.assert_allclose(distribution.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(distribution @ targets, block.expectation(scores)[:, 0], rtol=1e-6)


def test_normal_targets_have_the_scores_as_expectation():
    np.testing.assert_array_equal(Gaussian(**KEYS).expectation(SCORES), SCORES)


@pytest.mark.parametrize("block", [Hinge(**KEYS), EpsilonInsensitive(**KEYS)], ids=kind)
def test_a_loss_has_no_expectation(block):
    assert not block.probabilistic
    with pytest.raises(SpecError, match="is a loss, not a distribution of the labels, so it gives no probabilities"):
        block.expectation(SCORES)


def test_a_loss_draws_no_targets():
    with pytest.raises(SpecError, match="is a loss, not a distribution"):
        Hinge(**KEYS).draw_targets(np.zeros(1), np.ones(1), np.random.default_rng(1))


def inverse_gaussian(*gaps):
    """Means and standard deviations at cost 0.7."""
    mean = 1 / (0.7 * np.abs(gaps))
    return mean, mean**1.5


def polya_gamma(shape, s):
    mean = shape * np.tanh(s / 2) / (2 * s)
    return mean, np.sqrt(shape * (np.sinh(s) - s) / (4 * s**3 * np.cosh(s / 2) ** 2))


@pytest.mark.parametrize(
    ("block", "moments"),
    [
        (Hinge(**KEYS, cost=0.7, margin=2.0), inverse_gaussian(2.0 - 0.9)),
        (EpsilonInsensitive(**KEYS, cost=0.7, epsilon=0.4), inverse_gaussian(1 - 0.9 - 0.4, 0.9 - 1 - 0.4)),
        # The mean is 2 sigma / 0.1.
        (Quantile(**KEYS, quantile=0.3, sigma=0.05 / 0.77), inverse_gaussian(1.1)),
        # Shape 2 and rate 1.5 + 0.02, the error being a fifth of sigma.
        (StudentT(**KEYS, df=3.0, sigma=0.5), (2.0 / 1.52, np.sqrt(2.0) / 1.52)),
        (Logistic(**KEYS, c=2.5), polya_gamma(2.5, 0.9)),
        (NegativeBinomial(**KEYS, dispersion=1.5), polya_gamma(2.5, 0.9)),
    ],
)
def test_draws_of_the_augmentation_have_the_right_means(block, moments):
    """At the score 0.9 and the target 1."""
    size, (mean, deviation) = 20_000, moments
    draws = block.draw_augmentation(np.ones((size, 1)), np.full((size, 1), 0.9), np.random.default_rng(4))

    def agrees(sample):
        return (np.abs(sample.mean(axis=0) - mean) < BOUND * deviation / np.sqrt(size)).all()

    assert agrees(draws.reshape(size, -1))
    assert not agrees(1.1 * draws.reshape(size, -1))


@pytest.mark.parametrize("block", [b for b in GENERATIVE if b.generative], ids=kind)
def test_drawn_targets_have_the_expectation(block):
    # Five standard errors: false alarms below 1e-6 each.
    scores = np.array([-1.0, 0.3, 1.2])
    sigma2 = np.array([0.5, 1.0, 2.0])
    drawn = block.draw_targets(np.broadcast_to(scores, (40_000, 3)), sigma2, np.random.default_rng(1))
    error = drawn.std(axis=0) / 200
    # Labels of -1 and 1 have the expectation 2 p - 1. A stick that is not reached has no factor.
    signs = drawn.min() < 0.0 and set(np.unique(drawn)) == {-1.0, 1.0}
    has_factor = block.log_likelihood(drawn, np.broadcast_to(scores, drawn.shape), sigma2) != 0.0
    mean = drawn.mean(axis=0, where=has_factor)
    error *= np.sqrt(len(drawn) / has_factor.sum(axis=0))
    mean = (mean + 1.0) / 2.0 if signs else mean
    assert (np.abs(mean - block.expectation(scores)) < 5 * error).all()
    assert (np.abs(mean - block.expectation(scores + 0.1)) > 5 * error).any()
    if block.kind == "gaussian":
        assert np.allclose(drawn.var(axis=0), sigma2, rtol=0.05)
