"""Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects a planted bug."""

import numba
import numpy as np
import pytest
from scipy import stats

from ppl_topics.core.keys import Key
from ppl_topics.samplers.variates.philox import multiply
from ppl_topics.samplers.variates.streams import (
    exponential,
    integer,
    new_stream,
    normal,
    open_stream,
    start,
    uint64,
    uniform,
    uniform_open,
)
from ppl_topics.samplers.variates.ziggurat import TAIL_START

FALSE_ALARM = 1e-6


@numba.njit
def fill_uniform(stream, out):
    for index in range(out.size):
        out[index] = uniform(stream)


@numba.njit
def fill_integer(stream, n, out):
    for index in range(out.size):
        out[index] = integer(stream, n)


@numba.njit
def fill_integer_with_bias(stream, n, out):
    for index in range(out.size):
        out[index] = multiply(uint64(stream), np.uint64(n))[0]


@numba.njit
def fill_normal(stream, out):
    for index in range(out.size):
        out[index] = normal(stream)


@numba.njit
def fill_exponential(stream, out):
    for index in range(out.size):
        out[index] = exponential(stream)


@numba.njit(parallel=True)
def fill_by_unit(key, out):
    for unit in numba.prange(out.shape[0]):
        stream = new_stream()
        start(stream, key, unit)
        for index in range(out.shape[1]):
            out[unit, index] = uniform(stream)


@pytest.mark.parametrize("keys", [(0, 0, 0, 0, 0), (1, 2, 3, 4, 5), (2**64 - 1, 7, 2**40, 1, 2**63)])
def test_bits_are_those_of_numpy(keys):
    seed, chain, sweep, kernel, unit = keys
    counter, key = (np.array(words, dtype=np.uint64) for words in ([0, unit, sweep, kernel], [seed, chain]))
    generator = np.random.Philox(counter=counter, key=key)
    stream = open_stream(*keys)
    assert [int(uint64(stream)) for _ in range(41)] == [int(word) for word in generator.random_raw(41)]


def test_start_moves_an_open_stream():
    stream = open_stream(seed=1, unit=5)
    first = [uniform(stream) for _ in range(3)]
    start(stream, Key(1, 0, 0), 5)
    assert [uniform(stream) for _ in range(3)] == first
    start(stream, Key(1, 0, 0), 6)
    assert [uniform(stream) for _ in range(3)] != first


def test_draws_in_parallel_loops_do_not_depend_on_threads():
    results = []
    for n_threads in {1, numba.config.NUMBA_NUM_THREADS}:
        numba.set_num_threads(n_threads)
        out = np.empty((50, 9))
        fill_by_unit(Key(3, 1, 2, 3), out)
        results.append(out)
    assert all(np.array_equal(out, results[0]) for out in results)
    alone = open_stream(3, 1, 2, 3, 17)
    assert results[0][17].tolist() == [uniform(alone) for _ in range(9)]


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_extreme_bits_stay_within_bounds(word):
    stream = open_stream(seed=1)
    stream[6:14] = word
    stream[14] = 0
    assert 0.0 <= uniform(stream) < 1.0
    assert 0.0 < uniform_open(stream) < 1.0
    assert 0 <= integer(stream, 3) < 3
    assert np.isfinite(exponential(stream))


def test_uniform_distribution():
    draws = np.empty(200_000)
    fill_uniform(open_stream(seed=11), draws)
    assert stats.kstest(draws, "uniform").pvalue > FALSE_ALARM
    assert stats.kstest(draws**1.05, "uniform").pvalue < FALSE_ALARM
    pairs = np.histogram2d(draws[::2], draws[1::2], bins=10)[0].ravel()
    assert stats.chisquare(pairs).pvalue > FALSE_ALARM


def test_integer_is_unbiased():
    """For n = 3 * 2^61, without rejection, residues mod 3 would occur as 3 : 3 : 2."""
    draws = np.empty(30_000, dtype=np.int64)
    n = 3 * 2**61
    fill_integer(open_stream(seed=12), n, draws)
    assert draws.min() >= 0
    assert draws.max() < n
    assert stats.chisquare(np.bincount(draws % 3)).pvalue > FALSE_ALARM
    fill_integer_with_bias(open_stream(seed=12), n, draws)
    assert stats.chisquare(np.bincount(draws % 3)).pvalue < FALSE_ALARM
    fill_integer(open_stream(seed=13), 7, draws)
    assert stats.chisquare(np.bincount(draws, minlength=7)).pvalue > FALSE_ALARM
    fill_integer(open_stream(seed=13), 1, draws)
    assert not draws.any()


def test_normal_distribution():
    draws = np.empty(2_000_000)
    fill_normal(open_stream(seed=14), draws)
    assert stats.kstest(draws[:500_000], "norm").pvalue > FALSE_ALARM
    assert stats.kstest(1.03 * draws[:500_000], "norm").pvalue < FALSE_ALARM
    edges = np.concatenate([[-np.inf], np.linspace(-4.0, 4.0, 161), [np.inf]])
    expected = np.diff(stats.norm.cdf(edges)) * draws.size
    assert stats.chisquare(np.histogram(draws, edges)[0], expected).pvalue > FALSE_ALARM


def test_normal_tail():
    draws = np.empty(2_000_000)
    fill_normal(open_stream(seed=15), draws)
    beyond = np.abs(draws[np.abs(draws) > TAIL_START])
    share = 2.0 * stats.norm.sf(TAIL_START)
    assert stats.binomtest(beyond.size, draws.size, share).pvalue > FALSE_ALARM
    distribution = stats.truncnorm(TAIL_START, np.inf)
    assert stats.kstest(beyond, distribution.cdf).pvalue > FALSE_ALARM
    exponential_tail = TAIL_START + stats.expon(scale=0.5 / TAIL_START).rvs(beyond.size, random_state=1)
    assert stats.kstest(exponential_tail, distribution.cdf).pvalue < FALSE_ALARM


def test_exponential_distribution():
    draws = np.empty(200_000)
    fill_exponential(open_stream(seed=16), draws)
    assert stats.kstest(draws, "expon").pvalue > FALSE_ALARM
    assert stats.kstest(1.05 * draws, "expon").pvalue < FALSE_ALARM
