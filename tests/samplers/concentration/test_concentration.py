"""Concentrations: statistics, log probabilities, and slice sampling (false-alarm rate 1e-6 over seeds)."""

import math

import numpy as np
import pytest
from corpus_arrays import fixed
from scipy import stats
from scipy.special import gammaln

from ppl_topics.samplers.concentration.histograms import alpha_statistics, beta_statistics, tally
from ppl_topics.samplers.concentration.log_pochhammer import log_pochhammer
from ppl_topics.samplers.concentration.slice_alpha import draw_alpha, log_p_z
from ppl_topics.samplers.concentration.slice_beta import draw_beta, log_p_w
from ppl_topics.samplers.concentration.slice_concentration import Gamma
from ppl_topics.samplers.variates.streams import open_stream

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("a", [1e-300, 1e-18, 1e-6, 0.01, 0.7, 5.0, 99.9, 100.0, 3e4, 1e10, 1e15])
@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 500, 20_000])
def test_log_pochhammer(a, n):
    exact = math.fsum(math.log(a + factor) for factor in range(n))
    assert log_pochhammer(a, n) == pytest.approx(exact, rel=1e-13, abs=1e-10 if a > 0.5 else 0.0)


def make_counts(seed=1, n_docs=30, n_topics=4, n_words=6):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, 12, n_docs)
    lengths[0] = 0
    doc_ptr = fixed(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    z = generator.integers(0, n_topics, doc_ptr[-1]).astype(np.uint8)
    words = generator.integers(0, n_words, doc_ptr[-1])
    n_dk = np.zeros((n_docs, n_topics), dtype=int)
    np.add.at(n_dk, (np.repeat(np.arange(n_docs), lengths), z), 1)
    n_wk = np.zeros((n_words, n_topics), dtype=np.int32)
    np.add.at(n_wk, (words, z), 1)
    return doc_ptr, z, n_dk, n_wk


def dirichlet_multinomial(counts, concentration):
    """Log probability of sequences with these counts in the rows, by SciPy."""
    total = concentration.sum()
    cells = (gammaln(counts + concentration) - gammaln(concentration)).sum()
    return cells - (gammaln(counts.sum(axis=1) + total) - gammaln(total)).sum()


def test_tally():
    group_ptr, distinct, times = tally(np.array([2, 0, 2, 2, 0]), np.array([5, 1, 3, 5, 1]), 4)
    assert group_ptr.tolist() == [0, 1, 1, 3, 3]
    assert distinct.tolist() == [1, 3, 5]
    assert times.tolist() == [2, 1, 2]


def test_log_p_z():
    doc_ptr, z, n_dk, _ = make_counts()
    alpha = np.array([0.3, 1e-8, 2.0, 40.0])
    exact = dirichlet_multinomial(n_dk, alpha)
    assert log_p_z(alpha, alpha_statistics(doc_ptr, z, 4, False)) == pytest.approx(exact, rel=1e-12)
    symmetric = np.full(4, 0.37)
    exact = dirichlet_multinomial(n_dk, symmetric)
    for pooled in (True, False):
        assert log_p_z(symmetric, alpha_statistics(doc_ptr, z, 4, pooled)) == pytest.approx(exact, rel=1e-12)


def test_log_p_w():
    *_, n_wk = make_counts()
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    beta = np.array([0.3, 1e-8, 2.0, 40.0, 0.1, 0.2])
    exact = dirichlet_multinomial(n_wk.T, beta)
    assert log_p_w(beta, beta_statistics(n_wk, n_k, False)) == pytest.approx(exact, rel=1e-12)
    exact = dirichlet_multinomial(n_wk.T, np.full(6, 0.37))
    assert log_p_w(np.full(6, 0.37), beta_statistics(n_wk, n_k, True)) == pytest.approx(exact, rel=1e-12)


def test_statistics_of_no_tokens():
    empty = alpha_statistics(np.zeros(3, dtype=np.int64), np.zeros(0, dtype=np.uint8), 2, False)
    assert log_p_z(np.array([0.1, 0.2]), empty) == 0.0


def posterior_cdf(log_likelihood, prior_shape, prior_rate):
    """Distribution function of log a under the likelihood and a Gamma prior, by quadrature."""
    grid = np.linspace(-14.0, 8.0, 20_001)
    values = np.exp(grid)
    log_density = np.array([log_likelihood(value) for value in values]) + prior_shape * grid - prior_rate * values
    cumulated = np.cumsum(np.exp(log_density - log_density.max()))
    return lambda value: np.interp(value, grid, cumulated / cumulated[-1])


def thinned_chain(update, start, n_draws=1500, thin=8):
    states, value = [], start
    for _ in range(n_draws):
        for _ in range(thin):
            value = update(value)
        states.append(math.log(value))
    return np.array(states)


def test_symmetric_alpha():
    doc_ptr, z, n_dk, _ = make_counts()
    statistics, stream = alpha_statistics(doc_ptr, z, 4, True), open_stream(seed=71)
    chain = thinned_chain(lambda a: draw_alpha(np.full(4, a), statistics, Gamma(2.0, 1.0), stream)[0], 1.0)

    def cdf(prior_shape):
        return posterior_cdf(lambda a: dirichlet_multinomial(n_dk, np.full(4, a)), prior_shape, 1.0)

    assert stats.kstest(chain, cdf(2.0)).pvalue > FALSE_ALARM
    assert stats.kstest(chain, cdf(1.0)).pvalue < FALSE_ALARM  # the Jacobian of the log scale forgotten


def test_one_asymmetric_alpha():
    """With two topics, and a prior that pins the second, the first follows its own conditional distribution."""
    doc_ptr, z, n_dk, _ = make_counts(n_topics=2)
    statistics, stream = alpha_statistics(doc_ptr, z, 2, False), open_stream(seed=72)
    chain = thinned_chain(lambda a: draw_alpha(np.array([a, 0.8]), statistics, Gamma(2.0, 1.0), stream)[0], 1.0)
    cdf = posterior_cdf(lambda a: dirichlet_multinomial(n_dk, np.array([a, 0.8])), 2.0, 1.0)
    assert stats.kstest(chain, cdf).pvalue > FALSE_ALARM
    wrong = posterior_cdf(lambda a: dirichlet_multinomial(n_dk, np.array([a, 1.6])), 2.0, 1.0)
    assert stats.kstest(chain, wrong).pvalue < FALSE_ALARM


def test_symmetric_beta():
    *_, n_wk = make_counts()
    statistics, stream = beta_statistics(n_wk, n_wk.sum(axis=0, dtype=np.int64), True), open_stream(seed=73)
    chain = thinned_chain(lambda b: draw_beta(b, 6, statistics, Gamma(1.5, 0.1), stream), 1.0)
    cdf = posterior_cdf(lambda b: dirichlet_multinomial(n_wk.T, np.full(6, b)), 1.5, 0.1)
    assert stats.kstest(chain, cdf).pvalue > FALSE_ALARM
    wrong = posterior_cdf(lambda b: dirichlet_multinomial(n_wk.T, np.full(6, b)), 0.5, 0.1)
    assert stats.kstest(chain, wrong).pvalue < FALSE_ALARM


def test_alpha_is_not_changed_in_place():
    doc_ptr, z, *_ = make_counts()
    alpha = np.full(4, 0.5)
    drawn = draw_alpha(alpha, alpha_statistics(doc_ptr, z, 4, False), Gamma(1.0, 1.0), open_stream(seed=1))
    assert alpha.tolist() == [0.5] * 4
    assert np.unique(drawn).size == 4
