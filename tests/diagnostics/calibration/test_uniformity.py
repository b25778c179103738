"""The test of uniformity has the level that it states, and the band is where it refuses."""

import itertools

import numpy as np
import pytest
from scipy import stats

from ppl_topics.diagnostics.calibration.uniformity import points, simultaneous_band, uniform_p_value


def test_p_values_of_two_numbers():
    """Up to 1/2 there are 0, 1 or 2 of them, with probabilities 1/4, 1/2, 1/4; 0 and 2 have the smallest tail."""
    assert points(2).tolist() == [0.5]
    assert uniform_p_value(np.array([0.1, 0.9])) == pytest.approx(1.0)
    assert uniform_p_value(np.array([0.1, 0.2])) == pytest.approx(0.5)
    assert uniform_p_value(np.array([0.7, 0.6])) == pytest.approx(0.5)


def test_p_values_by_enumeration():
    """All ways to put five numbers into the five cells between the points, equally likely."""
    cells = np.array(list(itertools.product(range(5), repeat=5)))
    values = (cells + 0.5) / 5
    found = {key: uniform_p_value(np.array(key)) for key in {tuple(np.sort(row)) for row in values}}
    p = np.array([found[tuple(np.sort(row))] for row in values])
    for level in sorted(set(found.values())):
        assert (p <= level + 1e-9).mean() == pytest.approx(level, abs=1e-9)


def test_p_values_are_uniform():
    rng = np.random.default_rng(1)
    p = np.array([uniform_p_value(rng.random(30)) for _ in range(500)])
    for level in (0.05, 0.2, 0.5):
        assert stats.binomtest(int((p <= level).sum()), len(p), level).pvalue > 1e-4


@pytest.mark.parametrize("shape", [(2.0, 2.0), (0.5, 0.5), (1.5, 1.0)])
def test_other_distributions_are_refused(shape):
    assert uniform_p_value(np.random.default_rng(2).beta(*shape, size=400)) < 1e-4


def test_the_band_is_left_where_the_p_value_is_small():
    rng, size, level = np.random.default_rng(3), 40, 0.3
    low, high = simultaneous_band(size, level)
    z = points(size)
    left = 0
    for _ in range(200):
        values = rng.random(size)
        share = np.searchsorted(np.sort(values), z, side="right") / size
        outside = bool(((share < low - 1e-12) | (share > high + 1e-12)).any())
        assert outside == (uniform_p_value(values) <= level)
        left += outside
    assert 30 < left < 90
