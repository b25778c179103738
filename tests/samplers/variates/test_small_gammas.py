"""Gamma variates of small shapes: each statistical test has a false-alarm rate of 1e-6, and rejects a planted bug."""

import math

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.samplers.variates.gamma import gamma_below_one
from ppl_topics.samplers.variates.small_gammas import accepted, new_proposals, propose, set_shape
from ppl_topics.samplers.variates.streams import open_stream

FALSE_ALARM = 1e-6
SIZE, ROUNDS = 37, 3000
LEAST = 1e-200
"""Variates below this are only counted."""


@numba.njit
def set_all(shape, width, proposals):
    for index in range(SIZE):
        set_shape(proposals, index, shape, width)


@numba.njit
def fill(stream, shape, check, proposals, out):
    set_all(shape, 1.0, proposals)
    for begin in range(0, out.size, SIZE):
        propose(stream, SIZE, proposals)
        for index in range(SIZE):
            drawn = accepted(stream, index, shape, 1.0, proposals) if check else proposals.value[index]
            out[begin + index] = drawn if drawn > 0.0 else gamma_below_one(stream, shape)


def draw(shape, check=True):
    draws = np.empty(SIZE * ROUNDS)
    fill(open_stream(seed=41), shape, check, new_proposals(SIZE), draws)
    return draws


def p_value(draws, shape):
    """How many are too small to tell from zero, and the distribution of the others."""
    distribution = stats.gamma(shape)
    below = distribution.cdf(LEAST)
    number = stats.binomtest(int((draws < LEAST).sum()), draws.size, below).pvalue
    others = draws[draws >= LEAST]
    return min(number, stats.kstest(others, lambda x: (distribution.cdf(x) - below) / (1.0 - below)).pvalue)


@pytest.mark.parametrize("shape", [1e-3, 0.01, 0.1, 0.5, 0.99])
def test_distribution(shape):
    assert p_value(draw(shape), shape) > FALSE_ALARM / 2


# Of smaller shapes, too few variates are large enough to be rejected.
@pytest.mark.parametrize("shape", [0.1, 0.5, 0.99])
def test_to_accept_all_that_is_proposed_is_noticed(shape):
    assert p_value(draw(shape, check=False), shape) < FALSE_ALARM


@pytest.mark.parametrize("shape", [1e-300, 1e-12, 1e-3, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("cutoff", [0.0, 2.0**-40])
def test_proposals_are_powers(shape, cutoff):
    width = 1.0 if cutoff == 0.0 else -math.expm1(shape * math.log(cutoff))
    proposals, stream, errors = new_proposals(SIZE), open_stream(seed=42), []
    set_all(shape, width, proposals)
    for _ in range(100):
        propose(stream, SIZE, proposals)
        inside = proposals.point[:SIZE] < width
        logarithm = np.log1p(-proposals.point[:SIZE][inside]) / shape
        value = proposals.value[:SIZE][inside]
        seen = logarithm > -690.0
        errors.extend(np.log(value[seen]) - logarithm[seen])
        assert ((value[~seen] > 0.0) & (value[~seen] < 1e-299)).all()
        assert (value >= cutoff * (1.0 - 1e-12)).all()
    assert np.abs(errors).max() < 3e-13 if errors else shape < 1e-3
