"""Gamma variates of counts that are mostly zero: false-alarm rate 1e-6, and planted bugs that are rejected."""

import math

import numba
import numpy as np
import pytest
from scipy import special, stats

from ppl_topics.core.keys import Key
from ppl_topics.samplers.topics.sparse_gammas import (
    CUTOFF,
    GammaShapes,
    draw_exceeding,
    draw_gammas,
    exceeding_probability,
)
from ppl_topics.samplers.variates.gamma import gamma
from ppl_topics.samplers.variates.streams import open_stream, uniform

FALSE_ALARM = 1e-6
SHAPES = [1e-9, 1e-4, 0.003, 0.01, 0.025, 0.026, 0.1, 0.49]


def draw(counts, beta, seed=1):
    gammas = np.full(counts.shape, np.nan, dtype=np.float32)
    total = np.zeros(counts.shape[1])
    every_word = np.zeros((0, 0), np.uint8)
    shapes = GammaShapes(counts, np.full(counts.shape[0], beta), every_word)
    draw_gammas(0, counts.shape[0], shapes, Key(seed, 0, 0), gammas, total)
    assert np.allclose(total, gammas.sum(axis=0, dtype=float), rtol=1e-6)
    return gammas


def exact_probability(shape):
    return -math.expm1(shape * math.log(CUTOFF) - special.gammaln(shape + 1.0))


def conditional_p_value(values, shape):
    """Kolmogorov-Smirnov against the gamma distribution above the cutoff."""
    probability = exact_probability(shape)

    def cdf(value):
        # P(CUTOFF < G <= value): near the cutoff by x^shape, elsewhere by the upper tail.
        ratio = np.expm1(shape * (np.log(value) - math.log(CUTOFF)))
        near = math.exp(shape * math.log(CUTOFF) - special.gammaln(shape + 1.0)) * ratio
        return np.where(value < 1e-9, near, probability - special.gammaincc(shape, value)) / probability

    return stats.kstest(values, cdf).pvalue


@numba.njit
def fill_exceeding(stream, shape, out):
    for index in range(out.size):
        out[index] = draw_exceeding(stream, shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_probability_of_exceeding(shape):
    assert exceeding_probability(shape) == pytest.approx(exact_probability(shape), rel=1e-10)
    if shape >= 0.003:
        assert exceeding_probability(shape) == pytest.approx(special.gammaincc(shape, CUTOFF), rel=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_distribution_above_the_cutoff(shape):
    draws = np.empty(100_000)
    fill_exceeding(open_stream(seed=31), shape, draws)
    assert draws.min() >= CUTOFF * (1.0 - 1e-12)
    assert conditional_p_value(draws, shape) > FALSE_ALARM


@pytest.mark.parametrize("shape", [1e-4, 0.003, 0.01, 0.025, 0.026, 0.1, 0.49])
@pytest.mark.parametrize("n_topics", [1, 20, 64, 100, 200])
def test_distribution_of_cells_without_tokens(shape, n_topics):
    gammas = draw(np.zeros((400_000 // n_topics, n_topics), dtype=np.int32), shape)
    exceeding = gammas > 0.0
    probability = exact_probability(shape)
    assert stats.binomtest(int(exceeding.sum()), gammas.size, probability).pvalue > FALSE_ALARM
    assert n_topics == 1 or stats.chisquare(exceeding.sum(axis=0)).pvalue > FALSE_ALARM
    assert conditional_p_value(gammas[exceeding].astype(float), shape) > FALSE_ALARM


@pytest.mark.parametrize(("beta", "n_topics"), [(0.01, 100), (0.1, 20), (0.7, 20), (2.0, 9)])
def test_distribution_among_cells_with_tokens(beta, n_topics):
    """Each cell has the distribution of its own count, wherever it stands; neighbours are independent."""
    generator = np.random.default_rng(3)
    counts = np.repeat(generator.choice([0, 0, 0, 1, 2, 7, 300], n_topics)[None].astype(np.int32), 5000, axis=0)
    gammas = draw(counts, beta).astype(float)
    for topic, count in enumerate(counts[0]):
        distribution = stats.gamma(count + beta)
        column = gammas[:, topic]
        if count == 0 and beta < 0.5:
            assert stats.binomtest(int((column > 0).sum()), column.size, distribution.sf(CUTOFF)).pvalue > FALSE_ALARM
            assert conditional_p_value(column[column > 0], beta) > FALSE_ALARM
        else:
            assert stats.kstest(column, distribution.cdf).pvalue > FALSE_ALARM
            assert stats.kstest(column, stats.gamma((count + beta) * 1.25 + 0.2).cdf).pvalue < FALSE_ALARM
    ranks = stats.rankdata(gammas, axis=0)
    correlation = np.corrcoef(ranks.T)[np.triu_indices(n_topics, 1)]
    bound = stats.norm.isf(FALSE_ALARM / correlation.size / 2) / math.sqrt(len(gammas))
    assert np.abs(correlation).max() < bound


@numba.njit
def fill_with_bug(stream, shape, probability, conditional, out):
    for index in range(out.size):
        out[index] = 0.0
        if uniform(stream) < probability:
            out[index] = draw_exceeding(stream, shape) if conditional else gamma(stream, shape)


@pytest.mark.parametrize("bug", ["none", "forgets that it exceeds", "eight bits without the rest"])
def test_planted_bugs_of_the_skip(bug):
    """What the tests above would say of these draws."""
    shape = 0.01
    probability = exact_probability(shape)
    used = math.floor(256 * probability) / 256 if bug == "eight bits without the rest" else probability
    draws = np.empty(400_000)
    fill_with_bug(open_stream(seed=32), shape, used, bug != "forgets that it exceeds", draws)
    exceeding = draws > 0.0
    number = stats.binomtest(int(exceeding.sum()), draws.size, probability).pvalue
    distribution = conditional_p_value(draws[exceeding], shape)
    assert (min(number, distribution) < FALSE_ALARM) == (bug != "none")


def test_tail_beyond_one():
    """Variates that only the second piece of the envelope proposes."""
    gammas = draw(np.zeros((5000, 200), dtype=np.int32), 0.01)
    tail = gammas[gammas > 1.0].astype(float)
    distribution = stats.gamma(0.01)
    assert stats.binomtest(tail.size, gammas.size, distribution.sf(1.0)).pvalue > FALSE_ALARM
    assert stats.kstest(tail, lambda x: 1.0 - distribution.sf(x) / distribution.sf(1.0)).pvalue > FALSE_ALARM
    assert stats.kstest(tail, lambda x: 1.0 - np.exp(1.0 - x)).pvalue < FALSE_ALARM
