"""The normal response: its quadratic form, the distribution of its error variance, and its evidence, by SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from ppl_topics.models.gaussian import Gaussian

KEYS = {"coefficients": "eta", "features": ["z"]}
FAR = 1e-2
"""A deviation of log densities that a wrong formula exceeds."""

TARGETS = np.array([[0.4, np.nan], [-1.0, np.nan], [np.nan, 7.0], [2.5, np.nan]])
FITTED = np.array([[0.1, 0.0], [-0.2, 1.0], [3.0, 6.0], [2.0, 0.0]])
SHAPE_AND_RATE = pytest.mark.parametrize("prior", [{"shape": 1.0, "rate": 1.0}, {"shape": 2.3, "rate": 0.4}])


@pytest.mark.parametrize("sigma2", [(0.3, 2.0), (1e-3, 40.0)])
def test_quadratic_form(sigma2):
    block, y, scores = Gaussian(**KEYS), np.array([[-0.4, 3.0]]), np.linspace(-6.1, 11.3, 10)[:, None]
    b, omega = block.potential(y, np.array(sigma2))
    value = stats.norm.logpdf(y, scores, np.sqrt(sigma2))
    np.testing.assert_allclose(block.log_likelihood(y, scores, np.array(sigma2)), value, rtol=1e-12)
    assert np.ptp(b * scores - omega * scores**2 / 2 - value, axis=0) == pytest.approx(0, abs=1e-8)


def variance_distribution(block):
    """Shape and rate on a fine grid of log sigma2: prior times likelihood, and its log integral, for each response."""
    grid = np.linspace(-12.0, 40.0, 20_001)
    step, values = grid[1] - grid[0], np.exp(grid)
    distributions = []
    for c in range(2):
        known = ~np.isnan(TARGETS[:, c])
        log_density = stats.invgamma.logpdf(values, block.shape, scale=block.rate) + grid + np.log(step)
        gaps = (TARGETS[known, c] - FITTED[known, c])[:, None]
        log_density += stats.norm.logpdf(gaps, scale=np.sqrt(values)).sum(axis=0)
        distributions.append((values, log_density - grid - np.log(step), logsumexp(log_density)))
    return distributions


class HalvedShape(Gaussian):
    def augmentation_arguments(self, targets, scores):
        shape, rate = super().augmentation_arguments(targets, scores)
        return shape + 0.5, rate


class SquaresNotHalved(Gaussian):
    def augmentation_arguments(self, targets, scores):
        shape, rate = super().augmentation_arguments(targets, scores)
        return shape, 2 * rate - self.rate


class MissingCounted(Gaussian):
    def augmentation_arguments(self, targets, scores):
        _, rate = super().augmentation_arguments(targets, scores)
        return np.full(rate.shape, self.shape + len(targets) / 2), rate


@SHAPE_AND_RATE
@pytest.mark.parametrize("kind", [Gaussian, HalvedShape, SquaresNotHalved, MissingCounted])
def test_distribution_of_the_error_variance(kind, prior):
    block = kind(**KEYS, **prior)
    shape, rate = block.augmentation_arguments(TARGETS, FITTED)
    worst = 0.0
    for c, (values, log_density, total) in enumerate(variance_distribution(block)):
        distribution = stats.invgamma.logpdf(values, shape[c], scale=rate[c])
        likely = log_density - total > -40
        worst = max(worst, np.abs(distribution - log_density + total)[likely].max())
    assert worst < 1e-6 if kind is Gaussian else worst > FAR


@SHAPE_AND_RATE
def test_evidence(prior):
    """The error variance summed over, with its constants; a scale of scores of any shape before (D, C)."""
    block = Gaussian(**KEYS, **prior)
    expected = [total for _, _, total in variance_distribution(block)]
    np.testing.assert_allclose(block.log_evidence(TARGETS, FITTED), expected, rtol=1e-7)
    several = block.log_evidence(TARGETS, np.stack([FITTED, FITTED + 1.0, FITTED])[:, None])
    assert several.shape == (3, 1, 2)
    np.testing.assert_allclose(several[::2, 0], [expected] * 2, rtol=1e-7)
    assert (np.abs(several[1, 0] - expected) > FAR).all()


def test_joint_density():
    block, sigma2 = Gaussian(**KEYS, shape=2.3, rate=0.4), np.array([0.7, 1.9])
    prior = stats.invgamma.logpdf(sigma2, 2.3, scale=0.4).sum()
    total = np.nansum(stats.norm.logpdf(TARGETS, FITTED, np.sqrt(sigma2)))
    assert block.log_joint(TARGETS, FITTED, sigma2) == pytest.approx(prior + total, rel=1e-12)


@pytest.mark.parametrize(("factor", "agrees"), [(1.0, True), (1.1, False)])
def test_draws_of_the_error_variance_have_the_right_mean(factor, agrees):
    block, rng = Gaussian(**KEYS, shape=3.0), np.random.default_rng(4)
    y, scores = np.ones((40, 1)), np.full((40, 1), 0.9)
    draws = factor * np.array([block.draw_augmentation(y, scores, rng) for _ in range(4000)])
    distribution = stats.invgamma(23.0, scale=1.0 + 40 * 0.1**2 / 2)
    bound = stats.norm.isf(1e-9) * distribution.std() / np.sqrt(4000)
    assert (abs(draws.mean() - distribution.mean()) < bound) == agrees
