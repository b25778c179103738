"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects a planted bug."""

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.categorical import categorical, categorical_cumulated, find_cumulated
from ppl_topics.samplers.variates.streams import open_stream

FALSE_ALARM = 1e-6
WEIGHTS = np.array([0.0, 0.5, 2.0, 0.0, 1e-3, 0.7, 0.0])


@numba.njit
def count(stream, weights, n_draws):
    out = np.zeros(weights.size, dtype=np.int64)
    for _ in range(n_draws):
        out[categorical(stream, weights)] += 1
    return out


@numba.njit
def count_cumulated(stream, weights, n_draws):
    out = np.zeros(weights.size, dtype=np.int64)
    cumulated = np.cumsum(weights)
    for _ in range(n_draws):
        out[categorical_cumulated(stream, cumulated, weights.size)] += 1
    return out


def p_value(counts, weights):
    positive = weights > 0.0
    assert not counts[~positive].any()
    expected = weights[positive].astype(float)
    expected *= counts.sum() / expected.sum()
    return stats.chisquare(counts[positive], expected).pvalue


@pytest.mark.parametrize("counter", [count, count_cumulated])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distribution(counter, dtype):
    weights = WEIGHTS.astype(dtype)
    assert p_value(counter(open_stream(seed=41), weights, 200_000), weights) > FALSE_ALARM
    wrong = weights * np.array([1, 1.05, 1, 1, 1, 1, 1], dtype=dtype)
    assert p_value(counter(open_stream(seed=41), wrong, 200_000), weights) < FALSE_ALARM


@pytest.mark.parametrize("weights", [WEIGHTS, np.array([0.1] * 10 + [0.0]), np.array([0.0, 3e-320, 0.0])])
def test_the_last_uniform_number_does_not_reach_zero_weights(weights):
    last = int(np.flatnonzero(weights)[-1])
    stream = open_stream(seed=42)
    stream[6:14] = 2**64 - 1
    stream[14] = 0
    assert categorical(stream, weights) == last
    assert categorical_cumulated(stream, np.cumsum(weights), weights.size) == last


def test_search_finds_the_first_running_sum_above_the_target():
    cumulated = np.array([0.0, 0.0, 1.0, 1.0, 3.0, 3.0])
    found = [find_cumulated(cumulated, 6, target) for target in (0.0, 0.99, 1.0, 2.9, 3.0, 9.0)]
    assert found == [2, 2, 4, 4, 4, 4]
    assert find_cumulated(cumulated, 4, 2.0) == 2
    assert find_cumulated(np.array([0.4]), 1, 0.1) == 0
