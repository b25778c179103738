"""Tables are checked by the distribution that they imply; the draws by a test of false-alarm rate 1e-6."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ppl_topics.samplers.variates.alias import build_alias, draw_alias
from ppl_topics.samplers.variates.streams import open_stream

FALSE_ALARM = 1e-6


@numba.njit
def count(stream, probability, alias, n_draws):
    out = np.zeros(probability.size, dtype=np.int64)
    for _ in range(n_draws):
        out[draw_alias(stream, probability, alias)] += 1
    return out


def table(weights, dtype=np.float32):
    probability = np.empty(weights.size, dtype=dtype)
    alias = np.empty(weights.size, dtype=np.uint16)
    total = build_alias(weights, probability, alias, np.empty(weights.size, dtype=np.uint32))
    return total, probability, alias


def implied(probability, alias):
    kept = np.minimum(probability.astype(float), 1.0)
    distribution = kept.copy()
    np.add.at(distribution, alias, 1.0 - kept)
    return distribution / distribution.size


def assert_distribution(weights, dtype, rounding):
    total, probability, alias = table(weights, dtype)
    assert total == pytest.approx(weights.sum(), rel=1e-12)
    distribution = implied(probability, alias)
    exact = weights / weights.sum()
    assert np.abs(distribution - exact).max() <= rounding * max(exact.max(), 1.0 / exact.size)
    assert np.all(distribution[weights == 0.0] == 0.0)


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float32, 3e-7), (np.float64, 1e-11)])
@pytest.mark.parametrize("size", [1, 2, 3, 100, 5000])
def test_implied_distribution(dtype, rounding, size):
    generator = np.random.default_rng(5)
    for weights in (
        np.ones(size),
        generator.random(size),
        generator.gamma(0.05, size=size) + 1e-30,
        1e-40 * generator.random(size),
        np.where(np.arange(size) == size - 1, 1.0, 0.0),
    ):
        assert_distribution(weights, dtype, rounding)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=40).filter(lambda values: sum(values) > 1e-200))
def test_implied_distribution_of_any_weights(values):
    assert_distribution(np.array(values), np.float32, 3e-7)


def test_small_weights_are_exact_to_their_own_rounding():
    weights = 10.0 ** -np.arange(30.0)
    _, probability, alias = table(weights)
    assert np.allclose(implied(probability, alias), weights / weights.sum(), rtol=1e-7, atol=0.0)


def test_no_mass_keeps_every_cell_to_itself():
    total, probability, alias = table(np.zeros(3))
    assert total == 0.0
    assert probability.tolist() == [1.0, 1.0, 1.0]
    assert alias.tolist() == [0, 1, 2]


def test_draws():
    weights = np.array([0.0, 3.0, 0.5, 1.0, 0.0, 0.01, 9.0])
    _, probability, alias = table(weights)
    counts = count(open_stream(seed=51), probability, alias, 200_000)
    positive = weights > 0.0
    expected = weights[positive] / weights.sum() * counts.sum()
    assert not counts[~positive].any()
    assert stats.chisquare(counts[positive], expected).pvalue > FALSE_ALARM
    swapped = count(open_stream(seed=51), 1.0 - probability, alias, 200_000)
    assert stats.chisquare(swapped[positive] + 1, expected / expected.sum() * (swapped[positive] + 1).sum()).pvalue < (
        FALSE_ALARM
    )
