"""Kernels of scales against their exact conditional distributions, by quadrature.

Each test begins chains in draws from the distribution, and compares their last states with it by Kolmogorov-Smirnov: a
right kernel is refused with probability 1e-6, seeds are fixed, and each planted bug is shown to be refused.
"""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics._util.compiled import compiled
from ppl_topics._util.threads import using_threads
from ppl_topics.core.keys import Key
from ppl_topics.samplers.shrinkage import (
    inverse_gamma_lambda,
    inverse_gamma_tau,
    scale_mixtures,
    slice_lambda,
    slice_regularised_lambda,
    slice_regularised_tau,
    slice_slab,
    slice_tau,
)
from ppl_topics.samplers.shrinkage.scales import Horseshoe
from ppl_topics.samplers.variates.streams import open_stream
from ppl_topics.samplers.variates.truncated_gamma import truncated_exponential, truncated_gamma

FALSE_ALARM = 1e-6
CHAINS, SWEEPS = 20_000, 3
GRID = np.linspace(-60.0, 60.0, 40_001)
"""Of the logarithm of a scale."""


class Distribution:
    """Of the logarithm of a scale, from its log density up to a constant."""

    def __init__(self, log_density):
        values = log_density(GRID)
        density = np.exp(values - values.max())
        cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        self.cumulated = cumulated / cumulated[-1]

    def draw(self, size, seed=1):
        return np.exp(np.interp(np.random.default_rng(seed).random(size), self.cumulated, GRID))

    def p_value(self, scales):
        return stats.kstest(np.interp(np.log(scales), GRID, self.cumulated), "uniform").pvalue


def half_cauchy(x, scale=1.0):
    """Log density of the logarithm of a scale that is half-Cauchy, up to a constant."""
    return x - np.log1p(np.exp(2 * x) / scale**2)


def normal(eta, precision):
    """Log density of coefficients, up to a constant, summed over the last axis."""
    return (0.5 * np.log(precision) - 0.5 * eta**2 * precision).sum(axis=-1)


def p_value(distribution, step):
    """Of chains that begin in the distribution: of the scale of each response, or of its only slope."""
    scales = distribution.draw(CHAINS)[:, None]
    for sweep in range(SWEEPS):
        step(Key(1, 0, sweep, 1), scales)
    return distribution.p_value(scales[:, 0])


def horseshoe(eta, tau=1.0, lambdas=1.0, slab=np.inf, **constants):
    """A horseshoe of these coefficients, the last of which is an intercept; scales are the same in each chain."""
    n, size = len(eta), eta.shape[1] - 1
    shapes = ((tau, n), (lambdas, (n, size)), (slab, n))
    return Horseshoe(
        eta, *(np.array(np.broadcast_to(value, shape), float, order="C") for value, shape in shapes), **constants
    )


def coefficients(*values, intercept=55.0):
    """The same ones in each chain, with an intercept that nothing may depend on."""
    return np.repeat(np.array([[*values, intercept]]), CHAINS, axis=0)


LOCAL, GLOBAL = (slice_lambda, inverse_gamma_lambda), (slice_tau, inverse_gamma_tau)
LOCALS = [(1e-6, 0.1), (0.01, 2.0), (1.0, 0.1), (1.0, 2.0), (30.0, 0.1)]


def local_distribution(eta, tau):
    return Distribution(lambda x: half_cauchy(x) + normal(eta, np.exp(-2 * x)[:, None] / tau**2))


@pytest.mark.parametrize("kernel", LOCAL)
@pytest.mark.parametrize(("eta", "tau"), LOCALS)
def test_local_scales(kernel, eta, tau):
    def step(*args):
        kernel.draw_scales(horseshoe(coefficients(eta), tau), *args)

    assert p_value(local_distribution(eta, tau), step) > FALSE_ALARM


MIXTURES = {
    "laplace": (scale_mixtures.draw_laplace, lambda x: 2 * x - np.exp(2 * x) / 2),
    "student": (scale_mixtures.draw_student, lambda x: -3.0 * x - 1.5 * np.exp(-2 * x)),
}
"""The log density of the logarithm of a scale; Student variates have 3 degrees of freedom."""


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize(("eta", "scale"), [*LOCALS, (0.0, 1.0)])
def test_scales_of_mixtures(name, eta, scale):
    draw, log_prior = MIXTURES[name]

    def p(factor=1.0):
        slopes = scale_mixtures.Slopes(coefficients(factor * eta), scale, 3.0)
        return p_value(distribution, lambda *args: draw(slopes, *args))

    distribution = Distribution(lambda x: log_prior(x) + normal(eta, np.exp(-2 * x)[:, None] / scale**2))
    assert p() > FALSE_ALARM
    if eta > scale:
        assert p(1.5) < FALSE_ALARM


@pytest.mark.parametrize(("eta", "tau"), LOCALS)
@pytest.mark.parametrize("slab", [0.3, 5.0])
def test_local_scales_of_the_regularised_horseshoe(eta, tau, slab):
    distribution = Distribution(lambda x: half_cauchy(x) + normal(eta, np.exp(-2 * x)[:, None] / tau**2 + slab**-2.0))

    def step(*args):
        slice_regularised_lambda.draw_scales(horseshoe(coefficients(eta), tau, slab=slab), *args)

    assert p_value(distribution, step) > FALSE_ALARM


ETA = np.array([0.3, -0.01, 2.0, 0.6, -0.2, 0.08, 1.1])
LAMBDA = np.array([1.0, 0.03, 4.0, 0.5, 1.5, 0.2, 0.9])
SIZES = [1, 2, 7]
SCALES = 0.6


def global_distribution(eta, scales):
    return Distribution(lambda x: half_cauchy(x, SCALES) + normal(eta, np.exp(-2 * x)[:, None] / scales**2))


@pytest.mark.parametrize("kernel", GLOBAL)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("factor", [1e-4, 1.0, 100.0])
def test_global_scales(kernel, size, factor):
    eta, scales = factor * ETA[:size], LAMBDA[:size]

    def step(*args):
        kernel.draw_scales(horseshoe(coefficients(*eta), lambdas=scales, scale=SCALES), *args)

    assert p_value(global_distribution(eta, scales), step) > FALSE_ALARM


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("factor", [1e-4, 1.0, 100.0])
def test_global_scales_and_slabs_of_the_regularised_horseshoe(size, factor):
    eta, scales = factor * ETA[:size], LAMBDA[:size]
    given, df, slab_scale = 0.8, 3.0, 1.4
    distribution = Distribution(
        lambda x: half_cauchy(x, SCALES) + normal(eta, np.exp(-2 * x)[:, None] / scales**2 + given**-2.0)
    )

    def step(*args):
        prior = horseshoe(coefficients(*eta), lambdas=scales, slab=given, scale=SCALES)
        slice_regularised_tau.draw_scales(prior, *args)

    assert p_value(distribution, step) > FALSE_ALARM

    def log_slab(x):
        # slab^2 is inverse gamma; of its logarithm, twice that of the slab.
        prior = -df * x - 0.5 * df * slab_scale**2 * np.exp(-2 * x)
        return prior + normal(eta, np.exp(-2 * x)[:, None] + (given * scales) ** -2.0)

    def step_slab(*args):
        prior = horseshoe(coefficients(*eta), given, scales, slab_scale=slab_scale, slab_df=df)
        slice_slab.draw_scales(prior, *args)

    assert p_value(Distribution(log_slab), step_slab) > FALSE_ALARM


def printed_lambda(bug):
    """The slice sampler in NumPy, with an error."""

    def step(eta, tau, key, scales):
        rng = np.random.default_rng([key.seed, key.sweep])
        g = scales[:, 0] ** -2.0
        within = 1 / (1 + np.sqrt(g)) if bug == "bound of 1 / lambda" else 1 / (1 + g)
        u = rng.random(len(g)) * within
        rate = (eta[:, 0] / tau) ** 2 * (1.0 if bug == "rate not halved" else 0.5)
        if bug == "rate without tau":
            rate = 0.5 * eta[:, 0] ** 2
        mass = 1.0 if bug == "not truncated" else -np.expm1(-rate * (1 - u) / u)
        scales[:, 0] = (-np.log1p(-rng.random(len(g)) * mass) / rate) ** -0.5

    return step


@pytest.mark.parametrize("bug", ["bound of 1 / lambda", "rate not halved", "rate without tau", "not truncated", ""])
def test_planted_bugs_of_local_scales_are_refused(bug):
    draw = printed_lambda(bug)

    def step(*args):
        draw(coefficients(0.5), np.full(CHAINS, 0.7), *args)

    assert (p_value(local_distribution(0.5, 0.7), step) > FALSE_ALARM) == (bug == "")


@pytest.mark.parametrize("bug", ["intercept is shrunk", "another scale"])
def test_planted_bugs_of_global_scales_are_refused(bug):
    prior = horseshoe(coefficients(*ETA, intercept=1.0), lambdas=LAMBDA, scale=SCALES)
    if bug == "intercept is shrunk":
        prior = prior._replace(lambdas=np.hstack([prior.lambdas, np.ones((CHAINS, 1))]))
    else:
        prior = prior._replace(scale=1.0)

    def step(*args):
        slice_tau.draw_scales(prior, *args)

    assert p_value(global_distribution(ETA, LAMBDA), step) < FALSE_ALARM


@pytest.mark.parametrize("kernel", LOCAL)
def test_coefficients_of_zero_or_nearly(kernel):
    eta = np.array([[0.0, 5e-324, 1e-200, 1e-30, 1e200, 0.0]])
    scales = np.array([[1.0, 1e-50, 1e50, 1.0, 1.0]])
    for sweep in range(2000):
        tau = [1e-50, 1.0, 1e50][sweep % 3]
        kernel.draw_scales(horseshoe(eta, tau), Key(1, 0, sweep, 1), scales)
        assert np.isfinite(scales).all()
        assert ((scales > 0.9e-50) & (scales < 1.1e50)).all()


@pytest.mark.parametrize("kernel", GLOBAL)
@pytest.mark.parametrize("value", [0.0, 1e-200, 1.0, 1e100])
def test_global_scales_stay_within_floating_point(kernel, value):
    eta, tau = np.full((3, 8), value), np.array([[1e-50], [1.0], [1e50]])
    prior = horseshoe(eta, lambdas=tau, scale=SCALES)
    for sweep in range(500):
        kernel.draw_scales(prior, Key(1, 0, sweep, 1), tau)
        assert np.isfinite(tau).all()
        assert ((tau > 0.9e-50) & (tau < 1.1e50)).all()


def test_regularised_scales_stay_within_floating_point():
    eta, ends = np.array([[0.0, 1e-200, 3.0, 1e30, 0.0]]).repeat(3, axis=0), np.array([1e-50, 1.0, 1e50])
    prior = horseshoe(eta, ends, ends[[1, 2, 0]][:, None], ends[::-1], scale=SCALES, slab_scale=1.4, slab_df=3.0)
    for sweep in range(300):
        slice_regularised_lambda.draw_scales(prior, Key(1, 0, sweep, 1), prior.lambdas)
        slice_regularised_tau.draw_scales(prior, Key(1, 0, sweep, 2), prior.tau[:, None])
        slice_slab.draw_scales(prior, Key(1, 0, sweep, 3), prior.slab[:, None])
        for scales in (prior.tau, prior.slab, prior.lambdas):
            assert np.isfinite(scales).all()
            assert ((scales > 0.9e-50) & (scales < 1.1e50)).all()


@pytest.mark.parametrize("kernel", LOCAL)
def test_draws_do_not_depend_on_the_number_of_threads(kernel):
    rng = np.random.default_rng(5)
    eta, results = rng.normal(size=(50, 30)), []
    for threads in (1, 2):
        scales = np.ones((50, 29))
        with using_threads(min(threads, numba.config.NUMBA_NUM_THREADS)):
            kernel.draw_scales(horseshoe(eta), Key(9, 0, 4, 1), scales)
        results.append(scales)
    np.testing.assert_array_equal(*results)
    # A response's draws are its own.
    alone = np.ones((1, 29))
    kernel.draw_scales(horseshoe(eta[:1].copy()), Key(9, 0, 4, 1), alone)
    np.testing.assert_array_equal(alone[0], results[0][0])


@compiled
def fill_gammas(stream, shape, bound, out):
    for i in range(out.size):
        out[i] = truncated_gamma(stream, shape, bound)


@compiled
def fill_exponentials(stream, rate, bound, out):
    for i in range(out.size):
        out[i] = truncated_exponential(stream, rate, bound)


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.5, 4.0, 60.5, 1500.0])
@pytest.mark.parametrize("ratio", [0.0, 1e-300, 1e-3, 0.5, 0.97, 1.0, 1.03, 3.0])
def test_truncated_gamma(shape, ratio):
    """However little of the distribution lies below the bound: a gamma of shape 1500 at half its mean has 1e-126."""
    shares, bound = np.empty(10_000), shape * ratio
    fill_gammas(open_stream(seed=7), shape, bound, shares)
    assert ((shares >= 0) & (shares <= 1)).all()
    t = np.linspace(0.0, 60.0 / max(shape - bound, 0.4 * math.sqrt(shape)), 200_001)
    log_density = -shape * t - bound * np.exp(-t)
    density = np.exp(log_density - log_density.max())
    cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    ranks = np.interp(-np.log(np.maximum(shares, 1e-300)), t, cumulated / cumulated[-1])
    assert stats.kstest(ranks, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("rate", [0.0, 1e-300, 0.3, 40.0, 1e6, 1e300])
@pytest.mark.parametrize("bound", [1e-8, 1.0, 1e100])
def test_truncated_exponential(rate, bound):
    values = np.empty(10_000)
    fill_exponentials(open_stream(seed=7), rate, bound, values)
    assert ((values >= 0) & (values <= bound)).all()
    size = rate * bound
    ranks = values / bound if size < 1e-9 else np.expm1(-rate * values) / np.expm1(-size)
    assert stats.kstest(ranks, "uniform").pvalue > FALSE_ALARM
