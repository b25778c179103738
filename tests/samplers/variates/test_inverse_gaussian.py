"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects planted bugs."""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.inverse_gaussian import inverse_gaussian
from ppl_topics.samplers.variates.streams import normal, open_stream, uniform_open

FALSE_ALARM = 1e-6
DRAWS = 200_000
DISTRIBUTIONS = [
    (1e-6, 1.0),
    (0.02, 1.0),
    (1.0, 1.0),
    (3.0, 0.5),
    (40.0, 1.0),
    (1e4, 1.0),
    (1e4, 1e-8),
    (1e12, 1.0),
    (1e300, 1.0),
    (math.inf, 1.0),
    (math.inf, 1e-20),
]


@numba.njit(error_model="numpy")
def fill(stream, mean, shape, out):
    for index in range(out.size):
        out[index] = inverse_gaussian(stream, mean, shape)


@numba.njit(error_model="numpy")
def fill_as_printed(stream, mean, shape, second_root, out):
    """Michael, Schucany, Haas (1976) as printed; or without the second root."""
    for index in range(out.size):
        y = normal(stream) ** 2
        x = mean + 0.5 * mean**2 * y / shape
        x -= 0.5 * mean / shape * math.sqrt(4.0 * mean * shape * y + (mean * y) ** 2)
        other = uniform_open(stream) > mean / (mean + x)
        out[index] = mean**2 / x if other and second_root else x


def cdf(mean, shape):
    # Beyond 1e8, the two distributions differ by less than 1e-4.
    if mean / shape > 1e8:
        return stats.levy(scale=shape).cdf
    return stats.invgauss(mean / shape, scale=shape).cdf


def p_value(draws, mean, shape):
    """Of the distribution; of NaN, none."""
    return stats.kstest(draws, cdf(mean, shape)).pvalue if np.isfinite(draws).all() else 0.0


def draw(mean, shape, seed=71):
    draws = np.empty(DRAWS)
    fill(open_stream(seed), mean, shape, draws)
    assert np.isfinite(draws).all()
    assert draws.min() > 0.0
    return draws


@pytest.mark.parametrize(("mean", "shape"), DISTRIBUTIONS)
def test_distribution(mean, shape):
    assert p_value(draw(mean, shape), mean, shape) > FALSE_ALARM


@pytest.mark.parametrize(("mean", "shape"), [(0.02, 1.0), (1.0, 1.0), (3.0, 0.5), (3.0, 50.0)])
def test_mean_and_variance(mean, shape):
    """The variance by the delta method: the fourth cumulant is 15 mean^7 / shape^3."""
    draws, variance = draw(mean, shape, seed=72), mean**3 / shape
    bound = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(draws.mean() - mean) < bound * math.sqrt(variance / DRAWS)
    spread = math.sqrt((2.0 + 15.0 * mean / shape) / DRAWS)
    assert abs(draws.var() / variance - 1.0) < bound * spread


@pytest.mark.parametrize("mean", [0.02, 3.0, 40.0])
def test_planted_bugs(mean):
    draws = np.empty(DRAWS)
    fill_as_printed(open_stream(73), mean, 1.0, True, draws)
    assert p_value(draws, mean, 1.0) > FALSE_ALARM
    fill_as_printed(open_stream(74), mean, 1.0, False, draws)
    assert p_value(draws, mean, 1.0) < FALSE_ALARM
    assert p_value(draw(1.0, mean), mean, 1.0) < FALSE_ALARM
    assert p_value(draw(mean, 1.1), mean, 1.0) < FALSE_ALARM


def test_the_printed_formula_fails_where_the_mean_is_large():
    draws = np.empty(DRAWS)
    fill_as_printed(open_stream(75), 1e12, 1.0, True, draws)
    assert p_value(draws, 1e12, 1.0) < FALSE_ALARM


def test_an_infinite_mean_is_the_limit_of_large_ones():
    """Same stream, same normal deviates: the smaller root converges."""
    assert np.array_equal(draw(math.inf, 1.0), draw(1e290, 1.0))
    assert np.allclose(draw(math.inf, 1.0), draw(1e30, 1.0), rtol=1e-6)


@pytest.mark.parametrize("shape", [1e-250, 1e-10, 1.0, 1e10, 1e250])
@pytest.mark.parametrize("mean", [1e-300, 1e-150, 1e-20, 1.0, 1e20, 1e150, 1e290, math.inf])
def test_extreme_arguments(mean, shape):
    draws = draw(mean, shape)
    if mean / shape < 1e-9:
        deviates = (draws / mean - 1.0) / math.sqrt(max(mean / shape, 1e-300))
        assert np.abs(draws / mean - 1.0).max() < 1e-3
        assert mean / shape < 1e-24 or stats.kstest(deviates, "norm").pvalue > FALSE_ALARM


def test_same_draws_from_python_and_from_compiled_code():
    stream = open_stream(76)
    assert draw(2.0, 1.0, seed=76)[:50].tolist() == [inverse_gaussian(stream, 2.0, 1.0) for _ in range(50)]


def test_not_a_number():
    assert math.isnan(inverse_gaussian(open_stream(77), math.nan, 1.0))
