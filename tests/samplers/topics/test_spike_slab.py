"""Indicators, topics and probabilities of inclusion: the statistical tests have a false-alarm rate of 1e-6."""

import itertools
import math

import numba
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from ppl_topics.core.keys import Key
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.samplers.topics.beta_inclusion import count_by_topic, count_by_word, draw_pi
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi
from ppl_topics.samplers.topics.included_rows import draw_included_phi, included_mass
from ppl_topics.samplers.topics.inclusion_ratio import log_inclusion_ratio
from ppl_topics.samplers.topics.indicator_scan import ScanGiven, log_odds, scan_indicators
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes

FALSE_ALARM = 1e-6
REPLICATES = 40_000
COUNTS = (3, 1, 0, 0, 0, 0, 0, 0)


def exact_distribution(counts, beta, pi):
    """All sets of words that a topic may include, as rows of indicators, and their probabilities given the counts."""
    counts, beta = np.array(counts), np.array(beta, dtype=float)
    sets = np.array([s for s in itertools.product([0, 1], repeat=len(counts)) if any(s)])
    sets = sets[(sets[:, counts > 0] == 1).all(axis=1)]
    mass = sets @ beta
    with np.errstate(divide="ignore"):
        prior = np.where(sets == 1, np.log(pi), np.log1p(-np.asarray(pi, dtype=float))).sum(axis=1)
    weight = prior + gammaln(mass) - gammaln(mass + counts.sum())
    probability = np.exp(weight - weight.max())
    return sets, probability / probability.sum()


def scan(counts, beta, pi, sweeps, seed=1, topics=REPLICATES):
    """Scan the same topic many times; the columns are independent, and start from all words included."""
    n_wk = np.repeat(np.array(counts, dtype=np.int32)[:, None], topics, axis=1)
    beta = np.broadcast_to(np.asarray(beta, dtype=float), len(counts)).copy()
    pi = np.asarray(pi, dtype=float)
    odds = log_odds(pi[:, None] if pi.ndim else pi, *n_wk.shape)
    included = np.ones(n_wk.shape, np.uint8)
    for step in range(sweeps):
        given = ScanGiven(n_wk.sum(axis=0, dtype=np.int64), beta, *odds)
        scan_indicators(n_wk, given, Key(seed, 0, step), included)
    return included


def p_value(included, sets, probability):
    code = 1 << np.arange(len(included))
    numbers = {int(row @ code): number for number, row in enumerate(sets)}
    # A set that cannot be is a cell of its own.
    drawn = np.array([numbers.get(int(value), len(sets)) for value in code @ included.astype(np.int64)])
    return chi_square(np.bincount(drawn, minlength=len(sets) + 1), np.append(probability, 0.0))


@pytest.mark.parametrize(
    ("counts", "beta", "pi"),
    [
        (COUNTS, 1.0, 0.5),
        (COUNTS, 0.01, 0.1),
        ((30, 90, 2, 0, 0, 0, 0), 0.7, 0.8),
        ((0, 0, 0, 0), 0.3, 0.2),
        ((5, 0, 0, 0, 0), 1e-6, 0.5),
        ((5, 0, 0, 0, 0), 1e6, 0.5),
        ((3, 0, 0, 1, 0, 0), 0.5, (0.3, 0.9, 0.1, 0.4, 1.0, 0.6)),
        ((3, 0, 0, 1, 0, 0), (0.5, 2.0, 0.1, 0.4, 1.5, 0.6), 0.4),
        ((40, 0, 0, 1, 0, 0), (0.5, 2.0, 0.1, 130.0, 1e-6, 0.6), (0.3, 0.9, 0.1, 0.4, 0.5, 0.6)),
        ((0, 0, 0, 0), (1e6, 2.0, 1e-6, 0.3), (0.1, 0.2, 0.3, 0.4)),
        ((1, 0, 0, 0), (1e-6, 1e6, 1e-6, 0.3), 0.5),
    ],
)
def test_scan_has_the_enumerated_distribution(counts, beta, pi):
    beta = np.broadcast_to(beta, len(counts))
    included = scan(counts, beta, pi, sweeps=30)
    sets, probability = exact_distribution(counts, beta, pi)
    assert included[np.array(counts) > 0].all()
    assert included.any(axis=0).all()
    assert p_value(included, sets, probability) > FALSE_ALARM


def test_published_program_is_refused():
    """Its S sums over the excluded words: 2 words are included 0.076 of the time, where it should be 0.137."""
    sets, probability = exact_distribution(COUNTS, np.ones(8), 0.5)
    assert probability[sets.sum(axis=1) == 2].sum() == pytest.approx(0.137, abs=5e-4)
    rng = np.random.default_rng(1)
    included = np.ones((8, REPLICATES), np.uint8)
    for word in list(range(2, 8)) * 60:
        s = 8.0 - included.sum(axis=0)
        # G(s + 1) G(s + 4) / (G(s) G(s + 5)), for beta = 1 and 4 tokens.
        ratio = s / (s + 4)
        included[word] = rng.random(REPLICATES) < ratio / (1 + ratio)
    assert np.mean(included.sum(axis=0) == 2) == pytest.approx(0.076, abs=0.005)
    assert p_value(included, sets, probability) < FALSE_ALARM
    share = np.mean(scan(COUNTS, 1.0, 0.5, sweeps=30).sum(axis=0) == 2)
    assert share == pytest.approx(0.137, abs=0.01)


def test_ratio_where_it_is_hard():
    """Against the product, or the difference of log gamma functions where that is accurate."""
    for others, beta, tokens in itertools.product(
        [1e-100, 1e-6, 0.3, 40.0, 99.9, 100.1, 1e4, 1e9], [1e-6, 0.01, 1.0, 77.0, 1e6], [0, 1, 15, 16, 90, 120, 3000]
    ):
        j = np.arange(tokens)
        exact = -math.fsum(np.log1p(beta / (others + j)))
        assert log_inclusion_ratio(others, beta, tokens) == pytest.approx(exact, rel=1e-9, abs=3e-9)
    # The sum of -b / (S + j) over j < n, by Euler and Maclaurin.
    expected = -1e-6 * (math.log(2e6 + 1) + 1 / 2e3)
    assert log_inclusion_ratio(1e3, 1e-6, 2_000_000_000) == pytest.approx(expected, rel=1e-7)


def test_prior_certain_is_plain_dirichlet():
    rng = np.random.default_rng(3)
    n_wk = rng.poisson(0.4, (300, 21)).astype(np.int32)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    for beta in (np.full(300, 0.02), np.full(300, 1e6), rng.gamma(0.5, size=300)):
        included = np.zeros(n_wk.shape, np.uint8)
        scan_indicators(n_wk, ScanGiven(n_k, beta, *log_odds(np.array(1.0), *n_wk.shape)), Key(1, 0, 0), included)
        assert included.all()
        plain, slab = np.empty(n_wk.shape, np.float32), np.empty(n_wk.shape, np.float32)
        draw_phi(n_wk, n_k, beta, Key(5, 1, 2, 3), plain)
        draw_included_phi(GammaShapes(n_wk, beta, included), n_k, Key(5, 1, 2, 3), slab)
        assert np.array_equal(plain, slab)


@pytest.mark.parametrize(
    ("counts", "beta"),
    [
        ([60, 0, 7, 0, 0], [0.5, 0.9, 0.3, 0.4, 0.2]),
        ([3, 0, 1, 0, 0], [0.5, 0.2, 0.3, 0.4, 0.6]),
        ([0, 0, 0, 0, 0], [0.5, 0.2, 0.3, 0.4, 0.6]),
    ],
)
def test_distribution_of_phi(counts, beta):
    """Dense topics (concentrations summing to 32 or more) and sparse ones, drawn in log space."""
    counts, beta, allowed = np.array(counts, dtype=np.int32), np.array(beta), np.array([1, 0, 1, 1, 0], np.uint8)
    n_wk, included = (np.repeat(a[:, None], 5000, axis=1) for a in (counts, allowed))
    phi = np.full(n_wk.shape, np.nan, dtype=np.float32)
    draw_included_phi(GammaShapes(n_wk, beta, included), n_wk.sum(axis=0, dtype=np.int64), Key(1, 0, 0), phi)
    assert not phi[allowed == 0].any()
    assert np.allclose(phi.sum(axis=0), 1.0, atol=1e-6)

    def smallest(concentration):
        total = concentration.sum()
        tests = [
            stats.kstest(phi[word].astype(float), stats.beta(c, total - c).cdf).pvalue
            for word, c in enumerate(concentration)
            if c > 0
        ]
        return min(tests) * len(tests)

    right = (counts + beta) * allowed
    assert smallest(right) > FALSE_ALARM
    assert smallest(right[[3, 1, 2, 0, 4]]) < FALSE_ALARM
    # As if all words were included, and then some cut off.
    assert smallest(right + 0.5 * (beta * (1 - allowed)).sum() * (right > 0)) < FALSE_ALARM


def test_no_row_of_phi_is_empty_and_tokens_keep_theirs():
    rng = np.random.default_rng(2)
    n_wk = (rng.random((400, 30)) < 0.05).astype(np.int32)
    n_wk[:, 3] = 0
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    for beta in (1e-100, 1e-6, 1.0, 1e6):
        included = np.ones(n_wk.shape, np.uint8)
        phi = np.empty(n_wk.shape, np.float32)
        for step in range(30):
            odds = log_odds(np.array(0.01), *n_wk.shape)
            scan_indicators(n_wk, ScanGiven(n_k, np.full(400, beta), *odds), Key(1, 0, step), included)
            draw_included_phi(GammaShapes(n_wk, np.full(400, beta), included), n_k, Key(1, 0, step, 1), phi)
            assert np.allclose(phi.sum(axis=0), 1.0, atol=1e-5)
            assert (phi[n_wk > 0] > 0).all()
            assert not phi[included == 0].any()
        assert included[:, 3].sum() >= 1


def test_distribution_of_pi():
    included = (np.random.default_rng(4).random((50, 9)) < 0.3).astype(np.uint8)
    assert np.array_equal(count_by_topic(included), included.sum(axis=0))
    assert np.array_equal(count_by_word(included), included.sum(axis=1))
    assert np.allclose(included_mass(np.full(50, 0.5), included), 0.5 * included.sum(axis=0))
    pi = np.empty(20_000)
    draw_pi(np.full(len(pi), 3), 10, 1.3, 0.4, Key(7, 0, 0), pi)
    assert stats.kstest(pi, stats.beta(4.3, 7.4).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(pi, stats.beta(8.3, 3.4).cdf).pvalue < FALSE_ALARM
    draw_pi(np.full(len(pi), 10), 10, 1e-3, 1e-3, Key(7, 0, 0), pi)
    assert pi.max() < 1.0
    draw_pi(np.full(len(pi), 0), 10, 1e-3, 1e-3, Key(7, 0, 0), pi)
    assert pi.min() > 0.0


def test_same_bits_at_any_number_of_threads():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread only")
    rng = np.random.default_rng(6)
    n_wk = rng.poisson(0.2, (500, 45)).astype(np.int32)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    for beta in (np.full(500, 0.01), rng.gamma(1.0, size=500)):
        results = []
        for threads in (1, 2):
            numba.set_num_threads(threads)
            included, phi = np.ones(n_wk.shape, np.uint8), np.empty(n_wk.shape, np.float32)
            scan_indicators(
                n_wk, ScanGiven(n_k, beta, *log_odds(np.array(0.4), *n_wk.shape)), Key(1, 2, 3, 4), included
            )
            draw_included_phi(GammaShapes(n_wk, beta, included), n_k, Key(1, 2, 3, 5), phi)
            results.append((included, phi))
        assert np.array_equal(results[0][0], results[1][0])
        assert np.array_equal(results[0][1], results[1][1])
        assert 0 < results[0][0].mean() < 1
