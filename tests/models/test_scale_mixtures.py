"""Laplace and Student coefficients: mixtures of normal ones, against the distributions that they are.

Seeds are fixed; each Kolmogorov-Smirnov test refuses a right program with probability 1e-4.
"""

import numpy as np
import pytest
from scipy import integrate, stats
from test_horseshoe import INTERCEPT, LEVEL, state_with

from ppl_topics.models.laplace import Laplace
from ppl_topics.models.student_t_coefficients import StudentTCoefficients

BLOCKS = {
    "laplace": (Laplace(scale=0.7, intercept_variance=9.0), stats.laplace(scale=0.7)),
    "student_t": (StudentTCoefficients(scale=0.7, df=3.0, intercept_variance=9.0), stats.t(3.0, scale=0.7)),
}
SLOPES = np.array([[0.2, -1.0, 0.5], [1.5, 0.003, -0.2]])


@pytest.mark.parametrize("name", BLOCKS)
def test_the_mixture_is_the_distribution(name):
    """The joint density, integrated over the scale of one slope at other slopes and scales."""
    block, marginal = BLOCKS[name]
    rest = stats.norm.logpdf(3.0, scale=3.0)

    def joint(local, eta):
        sizes = INTERCEPT._replace(responses=1, coefficients=2, slopes=1)
        state = state_with(sizes, **{"lambda": np.array([[local]])})
        return np.exp(block.log_density(np.array([[eta, 3.0]]), state) - rest)

    for eta in (0.05, -0.8, 4.0):
        value, _ = integrate.quad(joint, 0.0, np.inf, args=(eta,), limit=200)
        assert value == pytest.approx(marginal.pdf(eta), rel=1e-6)
        assert value != pytest.approx(stats.norm.pdf(eta, scale=0.7), rel=1e-2)


@pytest.mark.parametrize("name", BLOCKS)
def test_draws(name):
    block, marginal = BLOCKS[name]
    state, rng = state_with(INTERCEPT._replace(responses=4000)), np.random.default_rng(1)
    values = {"lambda": block.simulate("lambda", {}, state, rng)}
    eta = block.simulate("eta", values, state, rng)
    assert stats.kstest(eta[:, :3].ravel(), marginal.cdf).pvalue > LEVEL
    assert stats.kstest(eta[:, 3], stats.norm(scale=3.0).cdf).pvalue > LEVEL
    assert stats.kstest(1.2 * eta[:, :3].ravel(), marginal.cdf).pvalue < LEVEL


@pytest.mark.parametrize("name", BLOCKS)
def test_scales_have_the_density_that_their_quantiles_say(name):
    block, _ = BLOCKS[name]
    ends = block.quantile("lambda", np.array([0.1, 0.6]))
    mass, _ = integrate.quad(lambda x: np.exp(block.log_prior(np.array([x]))[0]), *ends)
    assert mass == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("name", BLOCKS)
def test_the_likelihood_of_the_scale_is_that_of_the_slopes(name):
    block, _ = BLOCKS[name]
    of = {"laplace": stats.laplace.logpdf, "student_t": lambda x, scale: stats.t.logpdf(x, 3.0, scale=scale)}[name]
    scales = (0.1, 0.7, 5.0)
    expected = np.array([of(SLOPES, scale=scale).sum() for scale in scales])
    found = np.array([block.log_likelihood_of_scale(scale, SLOPES) for scale in scales])
    np.testing.assert_allclose(found - found[0], expected - expected[0])


@pytest.mark.parametrize("name", BLOCKS)
@pytest.mark.parametrize("probability", [0.0, 1e-300, 1.0 - 2.0**-53, 1.0])
def test_extreme_scales_stay_within_floating_point(name, probability):
    block, _ = BLOCKS[name]
    with np.errstate(divide="ignore"):
        state = state_with(**{"lambda": block.quantile("lambda", np.full((2, 3), probability))})
    precision = block.precision(state)
    assert np.isfinite(precision).all()
    assert (precision > 0).all()
    assert np.isfinite(block.log_density(np.zeros((2, 4)), state))
