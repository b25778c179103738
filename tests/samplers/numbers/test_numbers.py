"""Kernels of numbers that have priors, against their exact conditional distributions, by quadrature.

Each test begins chains in draws from the distribution, and compares their next states with it by Kolmogorov-Smirnov: a
right kernel is refused with probability 1e-6, seeds are fixed, and each planted bug is shown to be refused.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.models.gamma import Gamma
from ppl_topics.models.half_cauchy import HalfCauchy
from ppl_topics.models.inverse_gamma import InverseGamma
from ppl_topics.samplers.numbers import slice_dispersion, slice_scale_of_tau
from ppl_topics.samplers.numbers.slice_positive import slice_positive

FALSE_ALARM = 1e-6
CHAINS = 2000
GRID = np.linspace(-40.0, 40.0, 20_001)
"""Of the logarithm of a number."""

PRIORS = {
    "inverse_gamma": (InverseGamma(shape=2.6, rate=1.9), stats.invgamma(2.6, scale=1.9)),
    "gamma": (Gamma(shape=1.7, rate=2.4), stats.gamma(1.7, scale=1 / 2.4)),
    "half_cauchy": (HalfCauchy(scale=0.7), stats.halfcauchy(scale=0.7)),
}


@pytest.mark.parametrize("kind", PRIORS)
def test_priors_are_those_of_scipy(kind):
    block, expected = PRIORS[kind]
    values = np.array([1e-3, 0.4, 1.0, 30.0])
    np.testing.assert_allclose([block.log_prior(value) for value in values], expected.logpdf(values), rtol=1e-12)
    probability = np.array([0.01, 0.3, 0.9])
    np.testing.assert_allclose(block.quantile(probability), expected.ppf(probability), rtol=1e-9)
    assert block.log_density(np.array(0.4), None) == pytest.approx(expected.logpdf(0.4), rel=1e-12)
    assert block.log_density(np.array(-0.4), None) == -np.inf
    rng = np.random.default_rng(1)
    draws = [float(block.simulate("variance", {}, SimpleNamespace(sizes=None), rng)) for _ in range(CHAINS)]
    assert stats.kstest(draws, expected.cdf).pvalue > FALSE_ALARM


def test_extreme_priors_stay_in_floating_point():
    state, rng = SimpleNamespace(sizes=None), np.random.default_rng(1)
    for block in (InverseGamma(shape=1e-3, rate=1e-3), Gamma(shape=1e-3, rate=1e-3), HalfCauchy(scale=1e20)):
        assert 1e-6 <= block.init("variance", state) <= 1e6
        draws = [block.simulate("variance", {}, state, rng) for _ in range(100)]
        assert np.isfinite(draws).all()
        assert np.min(draws) > 0.0


def p_value(prior, log_likelihood, step):
    """Of chains of a number that begin in its distribution, each after one ``step(state, key)``."""
    log_density = PRIORS[prior][1].logpdf(np.exp(GRID)) + log_likelihood(np.exp(GRID)) + GRID
    density = np.exp(log_density - log_density.max())
    cumulated = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    cumulated /= cumulated[-1]
    logs, state = np.interp(np.random.default_rng(1).random(CHAINS), cumulated, GRID), SimpleNamespace(arrays={})
    for chain, x in enumerate(logs):
        state.arrays = {"eta": ETA, "tau": TAU, "number": np.array(np.exp(x))}
        step(state, Key(1, chain, 0, 1))
        logs[chain] = np.log(state.arrays["number"])
    return stats.kstest(np.interp(logs, GRID, cumulated), "uniform").pvalue


ETA = np.array([[0.3, -0.9, 2.0, 55.0], [0.6, -0.2, 0.8, -55.0]])
"""Coefficients of two responses; those of the intercept have a variance of their own."""
TAU = np.array([0.3, 1.7, 0.2, 6.0])


def binding(prior, role):
    sizes = SimpleNamespace(responses=2, slopes=3, coefficients=4)
    names = {role: "number", "eta": "eta", "tau": "tau"}
    return SimpleNamespace(target="number", names=names, blocks={"number": PRIORS[prior][0]}, sizes=sizes)


def kernel(name, prior, role):
    functions = pt.kernels()[name].build(binding(prior, role))
    return lambda state, key: functions.step(state, None, key)


def of_variance(values, half=3.0, squares=None):
    squares = (ETA[:, :3] ** 2).sum() if squares is None else squares
    return -half * np.log(values) - squares / 2 / values


def of_scale(values):
    return stats.halfcauchy.logpdf(TAU[:, None], scale=values).sum(axis=0)


KERNELS = [
    ("inverse_gamma_variance", "inverse_gamma", "variance", of_variance),
    *(("slice_variance", prior, "variance", of_variance) for prior in PRIORS),
    *(("slice_scale_of_tau", prior, "scale", of_scale) for prior in PRIORS),
]


@pytest.mark.parametrize(("name", "prior", "role", "log_likelihood"), KERNELS)
def test_conditional_distributions(name, prior, role, log_likelihood):
    assert p_value(prior, log_likelihood, kernel(name, prior, role)) > FALSE_ALARM


BUGS = {
    "count of one response": lambda v: of_variance(v, half=1.5),
    "exponent p for p / 2": lambda v: of_variance(v, half=6.0),
    "intercepts counted": lambda v: of_variance(v, half=4.0, squares=(ETA**2).sum()),
    "squares not halved": lambda v: of_variance(v, squares=2 * (ETA[:, :3] ** 2).sum()),
    "Jacobian forgotten": lambda v: of_variance(v) - np.log(v),
}


@pytest.mark.parametrize(("bug", "name"), list(itertools.product(BUGS, ["inverse_gamma_variance", "slice_variance"])))
def test_wrong_distributions_of_the_variance_are_told_apart(bug, name):
    """What a kernel with the bug would leave invariant is not what ours does."""
    assert p_value("inverse_gamma", BUGS[bug], kernel(name, "inverse_gamma", "variance")) < FALSE_ALARM


Y = np.array([[2.0, 0.0, np.nan], [0.0, 30.0, 1.0], [1.0, 1.0, 0.0], [7.0, 0.0, 2.0]])
SCORES = np.random.default_rng(3).normal(size=Y.shape)


def of_dispersion(values):
    known = ~np.isnan(Y)
    return stats.nbinom.logpmf(Y[known], values[:, None], 1 / (1 + np.exp(SCORES[known]))).sum(axis=1)


def test_the_likelihood_of_the_dispersion_is_that_of_scipy_however_documents_are_grouped():
    values = np.array([1e-3, 0.2, 1.0, 8.0, 300.0])
    whole = slice_dispersion.Counts.of(Y, SCORES)
    parts = [slice_dispersion.Counts.of(Y[rows], SCORES[rows]) for rows in (slice(0, 1), slice(1, 1), slice(1, 4))]
    for counts in (whole, slice_dispersion.added_up(parts)):
        found = np.array([slice_dispersion.log_likelihood(value, counts) for value in values])
        np.testing.assert_allclose(np.diff(found), np.diff(of_dispersion(values)), rtol=1e-10)


def dispersion(state, key):
    counts = slice_dispersion.Counts.of(Y, SCORES)
    update = slice_positive(binding("gamma", "dispersion"), "dispersion")
    update(state, key, lambda value: slice_dispersion.log_likelihood(value, counts))


def test_conditional_distribution_of_the_dispersion():
    assert p_value("gamma", of_dispersion, dispersion) > FALSE_ALARM
    assert p_value("gamma", lambda r: of_dispersion(r) - np.log(r), dispersion) < FALSE_ALARM


def test_extreme_dispersions_stay_finite():
    empty = slice_dispersion.Counts.of(np.full((2, 1), np.nan), np.zeros((2, 1)))
    zeros = slice_dispersion.Counts.of(np.zeros((3, 1)), np.full((3, 1), -40.0))
    large = slice_dispersion.Counts.of(np.array([[1e15], [3.0]]), np.full((2, 1), 700.0))
    for counts in (empty, zeros, large):
        for value in (1e-100, 1.0, slice_dispersion.LARGEST):
            assert np.isfinite(slice_dispersion.log_likelihood(value, counts))


def test_the_scale_of_tau_at_the_ends_of_its_range():
    tau = np.array([1e-50, 1e50])
    for scale in (1e-20, 1e20):
        assert np.isfinite(slice_scale_of_tau.log_likelihood(scale, tau))


def test_a_number_without_such_a_prior_is_refused():
    with pytest.raises(pt.RunError, match="the model has no dispersion with a prior of a positive number"):
        slice_positive(binding("gamma", "variance"), "dispersion")
