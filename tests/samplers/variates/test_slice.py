"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects a planted bug."""

import math

import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.slice import slice_sample
from ppl_topics.samplers.variates.streams import open_stream

FALSE_ALARM = 1e-6


def one_step_from_stationarity(log_density, start, **options):
    """States one step after exact draws of the target: independent, and of the same distribution if it is invariant."""
    stream = open_stream(seed=61)
    return np.array([slice_sample(log_density, x0, 1.0, stream, **options) for x0 in start])


def log_gamma_density(value):
    return 2.0 * math.log(value) - value


def two_bumps(value):
    return math.log(math.exp(-0.5 * (value + 2.0) ** 2) + 2.0 * math.exp(-2.0 * (value - 2.0) ** 2))


def test_gamma_stays_gamma():
    distribution = stats.gamma(3.0)
    start = distribution.rvs(10_000, random_state=1)
    assert (
        stats.kstest(one_step_from_stationarity(log_gamma_density, start, lower=0.0), distribution.cdf).pvalue
        > FALSE_ALARM
    )
    wrong = one_step_from_stationarity(lambda value: log_gamma_density(value) - math.log(value), start, lower=0.0)
    assert stats.kstest(wrong, distribution.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("max_steps_out", [1, 3, 50])
def test_two_bumps_stay_two_bumps(max_steps_out):
    """The second bump has half the width and twice the height: both have the same mass."""
    generator = np.random.default_rng(2)
    right = generator.random(10_000) < 0.5
    start = np.where(right, generator.normal(2.0, 0.5, right.size), generator.normal(-2.0, 1.0, right.size))
    states = one_step_from_stationarity(two_bumps, start, max_steps_out=max_steps_out)

    def cdf(value):
        return 0.5 * stats.norm.cdf(value, -2.0, 1.0) + 0.5 * stats.norm.cdf(value, 2.0, 0.5)

    assert stats.kstest(states, cdf).pvalue > FALSE_ALARM


def test_bounds_hold():
    start = np.full(500, 0.5)
    states = one_step_from_stationarity(lambda value: 0.0, start, lower=0.0, upper=1.0)
    assert (states > 0.0).all()
    assert (states < 1.0).all()
    assert stats.kstest(states, "uniform").pvalue > FALSE_ALARM


def test_a_start_outside_the_support_is_an_error():
    with pytest.raises(ValueError, match="must be finite"):
        slice_sample(lambda value: -math.inf, 0.0, 1.0, open_stream(seed=1))
