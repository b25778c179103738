"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects a planted bug."""

import math

import numba
import numpy as np
import pytest
from scipy import special, stats

from ppl_topics.samplers.variates.gamma import gamma, gamma_above_one, log_gamma
from ppl_topics.samplers.variates.streams import normal, open_stream, uniform_open

FALSE_ALARM = 1e-6
SHAPES = [1e-6, 1e-3, 0.01, 0.3, 0.999, 1.0, 1.5, 30.0, 1e6]


@numba.njit
def fill_gamma(stream, shape, out):
    for index in range(out.size):
        out[index] = gamma(stream, shape)


@numba.njit
def fill_log_gamma(stream, shape, out):
    for index in range(out.size):
        out[index] = log_gamma(stream, shape)


@numba.njit
def fill_with_wrong_boost(stream, shape, out):
    for index in range(out.size):
        boosted = math.log(gamma_above_one(stream, shape + 1.0))
        out[index] = boosted + math.log(uniform_open(stream)) / (shape + 0.05 * shape)


@numba.njit
def fill_without_rejection(stream, shape, out):
    d = shape - 1.0 / 3.0
    for index in range(out.size):
        out[index] = d * (1.0 + normal(stream) / math.sqrt(9.0 * d)) ** 3


def cdf_of_log(shape):
    """Distribution of log G, also where G itself is below the smallest float."""

    def cdf(value):
        small = np.exp(shape * np.minimum(value, -50.0) - special.gammaln(shape + 1.0))
        return np.where(value < -50.0, small, special.gammainc(shape, np.exp(np.maximum(value, -50.0))))

    return cdf


@pytest.mark.parametrize("shape", SHAPES)
def test_distribution(shape):
    draws = np.empty(100_000)
    fill_gamma(open_stream(seed=21), shape, draws)
    positive = draws > 0.0
    if positive.all():
        assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > FALSE_ALARM
    else:
        underflow = float(cdf_of_log(shape)(np.array(math.log(5e-324))))
        assert stats.binomtest(int((~positive).sum()), draws.size, underflow).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", SHAPES)
def test_distribution_of_logarithm(shape):
    draws = np.empty(100_000)
    fill_log_gamma(open_stream(seed=22), shape, draws)
    assert np.isfinite(draws).all()
    assert stats.kstest(draws, cdf_of_log(shape)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [1e-6, 1e-3, 0.3])
def test_wrong_exponent_of_the_boost_is_rejected(shape):
    draws = np.empty(100_000)
    fill_with_wrong_boost(open_stream(seed=23), shape, draws)
    assert stats.kstest(draws, cdf_of_log(shape)).pvalue < FALSE_ALARM


def test_missing_rejection_is_rejected():
    draws = np.empty(100_000)
    fill_without_rejection(open_stream(seed=24), 1.2, draws)
    assert stats.kstest(draws, stats.gamma(1.2).cdf).pvalue < FALSE_ALARM


def test_logarithm_is_finite_for_the_smallest_shapes():
    stream = open_stream(seed=25)
    draws = np.array([log_gamma(stream, 1e-300) for _ in range(1000)])
    assert np.isfinite(draws).all()
    assert stats.kstest(-draws * 1e-300, "expon").pvalue > FALSE_ALARM


def test_same_draws_from_python_and_from_compiled_code():
    compiled = np.empty(5)
    fill_gamma(open_stream(seed=26), 0.7, compiled)
    stream = open_stream(seed=26)
    assert compiled.tolist() == [gamma(stream, 0.7) for _ in range(5)]
