"""Binomial variates have their distribution, one trial by one and by halves."""

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.binomial import FEW, binomial
from ppl_topics.samplers.variates.streams import open_stream

SIZE = 40_000


@numba.njit
def draws(stream, trials, probability, size):
    out = np.empty(size, np.int64)
    for i in range(size):
        out[i] = binomial(stream, trials, probability)
    return out


def p_value(trials, probability, drawn):
    """Chi-square over cells of at least 10 expected draws; tails together."""
    values = np.arange(trials + 1)
    expected = SIZE * stats.binom.pmf(values, trials, probability)
    low, high = values[expected >= 10.0][[0, -1]]
    cells = np.bincount(np.clip(drawn, low, high), minlength=high + 1)[low:]
    wanted = np.array(
        [expected[: low + 1].sum(), *expected[low + 1 : high], expected[high:].sum()] if high > low else [SIZE]
    )
    return stats.chisquare(cells, wanted * cells.sum() / wanted.sum()).pvalue


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.97])
@pytest.mark.parametrize("trials", [1, FEW, FEW + 1, 40, 1000])
def test_distribution(trials, probability):
    """All 20 p-values above 1e-5: false alarms once in 5,000 choices of the seed."""
    drawn = draws(open_stream(7, unit=trials), trials, probability, SIZE)
    assert 0 <= drawn.min() <= drawn.max() <= trials
    assert p_value(trials, probability, drawn) > 1e-5


@pytest.mark.parametrize("trials", [FEW, 40, 1000])
def test_another_probability_is_noticed(trials):
    drawn = draws(open_stream(7, unit=trials), trials, 0.31, SIZE)
    assert p_value(trials, 0.3, drawn) < 1e-5


@pytest.mark.parametrize("trials", [0, 5, 100])
def test_trials_that_are_certain(trials):
    stream = open_stream(1)
    assert (binomial(stream, trials, 0.0), binomial(stream, trials, 1.0)) == (0, trials)


def test_many_trials_take_few_draws():
    mean, size = 2.0**40 * 0.25, 2000
    drawn = draws(open_stream(3), 2**40, 0.25, size)
    assert abs(drawn.mean() - mean) < 5.0 * np.sqrt(mean * 0.75 / size)
    assert drawn.std() == pytest.approx(np.sqrt(mean * 0.75), rel=0.1)
