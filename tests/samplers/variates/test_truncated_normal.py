"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects planted bugs.

The distribution is that of `scipy.stats.truncnorm`; in the tail by scaled error functions, which lose no digits there.
"""

import math

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import erfcx, log_ndtr

from ppl_topics.samplers.variates.streams import exponential, normal, open_stream
from ppl_topics.samplers.variates.truncated_normal import NARROW, TAIL_FROM, normal_between, truncated_normal

FALSE_ALARM = 1e-6
DRAWS = 100_000
MEANS = [-1e8, -1e3, -40.0, -20.0, -8.0, -3.0, -1.0, -TAIL_FROM - 1e-9, -TAIL_FROM + 1e-9, 0.0, 0.7, 3.0, 40.0]
BUGS = ["wrong side", "no truncation", "no rejection", "rate of the mean", "variance 2", "mean forgotten"]


@numba.njit(error_model="numpy")
def fill(stream, mean, sign, out):
    for index in range(out.size):
        out[index] = truncated_normal(stream, mean, sign)


@numba.njit(error_model="numpy")
def fill_with_bug(stream, mean, bug, out):
    scale = 2.0 / (math.hypot(mean, 2.0) - mean)
    for index in range(out.size):
        if bug == 0:
            out[index] = -truncated_normal(stream, -mean, 1.0)
        elif bug == 1:
            out[index] = mean + normal(stream)
        elif bug == 2:
            out[index] = scale * exponential(stream)
        elif bug == 3:
            # Rejection by a rate whose proposals it does not correct.
            x = exponential(stream) / abs(mean)
            while 2.0 * exponential(stream) < (x - scale) ** 2:
                x = exponential(stream) / abs(mean)
            out[index] = x
        elif bug == 4:
            out[index] = math.sqrt(2.0) * truncated_normal(stream, mean / math.sqrt(2.0), 1.0)
        else:
            out[index] = truncated_normal(stream, 0.0, 1.0)


def log_survival(mean, x):
    """Log of P(variate > x), given that it is positive."""
    if mean > -5.0:
        return log_ndtr(mean - x) - log_ndtr(mean)
    far = np.log(erfcx((x - mean) / math.sqrt(2.0))) - math.log(erfcx(-mean / math.sqrt(2.0)))
    return far + x * mean - 0.5 * x * x


def p_value(draws, mean):
    if draws.min() <= 0.0:
        return 0.0
    return stats.kstest(np.exp(log_survival(mean, draws)), "uniform").pvalue


def draw(mean, sign=1.0, seed=91, size=DRAWS):
    draws = np.empty(size)
    fill(open_stream(seed), mean, sign, draws)
    assert np.isfinite(draws).all()
    assert (sign * draws > 0.0).all()
    return draws


@pytest.mark.parametrize("mean", MEANS)
def test_distribution(mean):
    assert p_value(draw(mean), mean) > FALSE_ALARM


@pytest.mark.parametrize("mean", [-40.0, -1.0, 0.3, 40.0])
def test_distribution_on_the_other_side(mean):
    assert p_value(-draw(-mean, sign=-1.0, seed=92), mean) > FALSE_ALARM


@pytest.mark.parametrize("mean", [-30.0, -4.0, -0.3, 0.0, 2.0])
def test_distribution_of_scipy(mean):
    distribution = stats.truncnorm(-mean, np.inf, loc=mean)
    draws = draw(mean, seed=93)
    points = np.quantile(draws, [0.001, 0.1, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(distribution.logsf(points), log_survival(mean, points), rtol=1e-6)
    counts = np.histogram(draws, bins=[0.0, *distribution.ppf(np.arange(1, 50) / 50), np.inf])[0]
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert abs(draws.mean() - distribution.mean()) < stats.norm.isf(FALSE_ALARM / 2) * distribution.std() / math.sqrt(
        DRAWS
    )


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("mean", [-2.0, -0.7])
def test_planted_bugs(mean, bug):
    draws = np.empty(DRAWS)
    fill_with_bug(open_stream(94), mean, BUGS.index(bug), draws)
    assert p_value(draws, mean) < FALSE_ALARM


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("mean", [0.0, 1e-300, 1e-8, 1e17, 1e160, 1.7e308])
def test_extreme_arguments(mean, sign):
    """The variate is finite, never zero, and of the right side, and its mean is 1 / abs(mean) far out."""
    far = draw(-sign * mean, sign, size=5000)
    if 1.0 < mean < 1e300:
        assert stats.kstest(sign * far * mean, "expon").pvalue > FALSE_ALARM
        assert (draw(sign * mean, sign, size=5000) == sign * mean).all()


@pytest.mark.parametrize("mean", [math.nan, math.inf, -math.inf])
def test_what_is_no_distribution_gives_not_a_number(mean):
    assert math.isnan(truncated_normal(open_stream(95), mean, 1.0))


@pytest.mark.parametrize("mean", [-3.0, 0.5])
def test_same_draws_from_python_and_from_compiled_code(mean):
    stream = open_stream(96)
    assert draw(mean, seed=96)[:50].tolist() == [truncated_normal(stream, mean, 1.0) for _ in range(50)]


INTERVALS = {
    "narrow around the mean": (0.2, -0.4, 1.0),
    "as wide as is narrow": (0.0, -NARROW / 2, NARROW / 2),
    "wide around the mean": (-0.3, -1.5, 2.0),
    "from minus infinity": (0.4, -np.inf, 0.9),
    "to infinity": (0.4, 0.9, np.inf),
    "the whole line": (2.0, -np.inf, np.inf),
    "above, narrow": (-1.0, 1.0, 1.4),
    "above, wide": (-1.0, 1.0, 5.0),
    "below, wide": (6.0, -4.0, 2.5),
    "far above, narrow": (-30.0, 2.0, 2.003),
    "far below": (25.0, -8.0, 1.0),
}
BUGS_BETWEEN = ["bounds forgotten", "uniform", "mean forgotten", "the other side of the mean"]


@numba.njit(error_model="numpy")
def fill_between(stream, mean, low, high, out):
    for index in range(out.size):
        out[index] = normal_between(stream, mean, low, high)


def draw_between(mean, low, high, seed=97):
    draws = np.empty(DRAWS)
    fill_between(open_stream(seed), mean, low, high, draws)
    return draws


def p_value_between(draws, mean, low, high):
    if not ((draws >= low) & (draws <= high)).all():
        return 0.0
    # On the side where the distribution function is small, and loses no digits.
    sign = 1.0 if low + high > 2.0 * mean or high == np.inf else -1.0
    below, above = sorted((sign * (mean - low), sign * (mean - high)))
    larger = log_ndtr(above)
    p = (np.exp(log_ndtr(sign * (mean - draws)) - larger) - np.exp(log_ndtr(below) - larger)) / -np.expm1(
        log_ndtr(below) - larger
    )
    return stats.kstest(p, "uniform").pvalue


@pytest.mark.parametrize("interval", INTERVALS.values(), ids=INTERVALS)
def test_distribution_between_bounds(interval):
    assert p_value_between(draw_between(*interval), *interval) > FALSE_ALARM


@pytest.mark.parametrize("bug", BUGS_BETWEEN)
@pytest.mark.parametrize("interval", ["wide around the mean", "above, wide"])
def test_planted_bugs_between_bounds(interval, bug):
    mean, low, high = INTERVALS[interval]
    rng = np.random.default_rng(3)
    draws = {
        "bounds forgotten": lambda: rng.normal(mean, 1.0, DRAWS),
        "uniform": lambda: rng.uniform(low, high, DRAWS),
        "mean forgotten": lambda: draw_between(0.0, low, high),
        "the other side of the mean": lambda: draw_between(-mean, low, high),
    }[bug]()
    assert p_value_between(draws, mean, low, high) < FALSE_ALARM


@pytest.mark.parametrize(
    "arguments", [(math.nan, 0.0, 1.0), (math.inf, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, math.nan, 1.0), (0.0, 2.0, 1.0)]
)
def test_what_is_no_interval_gives_not_a_number(arguments):
    assert math.isnan(normal_between(open_stream(98), *arguments))


@pytest.mark.parametrize("mean", [-1e8, -1e160, 1e8, 1e300])
def test_a_mean_far_outside_gives_the_nearer_bound(mean):
    draws = draw_between(mean, -1.0, 2.0)
    np.testing.assert_allclose(draws, -1.0 if mean < 0.0 else 2.0, atol=1e-6)
