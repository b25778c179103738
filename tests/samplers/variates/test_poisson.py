"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects a planted bug."""

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.poisson import poisson, positive_poisson
from ppl_topics.samplers.variates.streams import open_stream

FALSE_ALARM = 1e-6
SIZE = 200_000


@numba.njit
def fill(stream, mean, positive, out):
    for index in range(out.size):
        out[index] = positive_poisson(stream, mean) if positive else poisson(stream, mean)


def draws(mean, positive=False):
    out = np.empty(SIZE, np.int64)
    fill(open_stream(3), mean, positive, out)
    return out


def p_value(numbers, mean, least=0):
    """Of a chi-square test of the numbers from `least` on, in cells of at least ten expected."""
    found = stats.poisson(mean)
    edges = np.unique(np.linspace(found.ppf(1e-3), found.ppf(1 - 1e-3), 20).astype(int))
    edges = edges[edges >= least]
    below = (np.append(found.cdf(edges), 1.0) - found.cdf(least - 1)) / found.sf(least - 1)
    expected = SIZE * np.diff(below, prepend=0.0)
    observed = np.histogram(numbers, [least - 0.5, *(edges + 0.5), np.inf])[0]
    many = expected >= 10
    observed, expected = observed[many], expected[many]
    rest = SIZE - expected.sum()
    if rest >= 10:
        observed, expected = np.append(observed, SIZE - observed.sum()), np.append(expected, rest)
    return stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), max(1, len(expected) - 1))


@pytest.mark.parametrize("mean", [0.01, 0.5, 3.0, 9.99, 10.0, 25.0, 1e3, 1e5])
def test_distribution(mean):
    numbers = draws(mean)
    assert p_value(numbers, mean) > FALSE_ALARM
    # The planted bug: a mean that is 2% too large, or for small means a fifth.
    assert p_value(numbers, mean * (1.2 if mean < 1 else 1.02)) < FALSE_ALARM


@pytest.mark.parametrize("mean", [0.01, 0.5, 3.0])
def test_distribution_of_what_is_not_zero(mean):
    numbers = draws(mean, positive=True)
    assert numbers.min() == 1
    assert p_value(numbers, mean, least=1) > FALSE_ALARM
    assert p_value(np.maximum(1, draws(mean)), mean, least=1) < FALSE_ALARM
