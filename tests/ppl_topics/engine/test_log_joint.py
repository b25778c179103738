"""The marginal likelihood against SciPy and against a sum over all states; densities; threads."""

import itertools

import numba
import numpy as np
import pytest
from corpus_arrays import fixed
from scipy.special import gammaln

from ppl_topics.core.alpha import Alpha
from ppl_topics.engine.log_joint import density_n_kw, log_marginal, log_phi_part, log_theta_part, theta_terms


def counts_of(doc_ptr, words, z, n_words, n_topics):
    n_dk = np.zeros((doc_ptr.size - 1, n_topics), dtype=np.int64)
    np.add.at(n_dk, (np.repeat(np.arange(doc_ptr.size - 1), np.diff(doc_ptr)), z), 1)
    n_wk = np.zeros((n_words, n_topics), dtype=np.int32)
    np.add.at(n_wk, (words, z), 1)
    return n_dk, n_wk


def dirichlet_multinomial(counts, concentration):
    total = concentration.sum()
    cells = (gammaln(counts + concentration) - gammaln(concentration)).sum()
    return cells - (gammaln(counts.sum(axis=1) + total) - gammaln(total)).sum()


def make_corpus(n_docs=200, n_words=30, n_topics=7, dtype=np.uint8):
    generator = np.random.default_rng(1)
    lengths = generator.integers(0, 40, n_docs)
    lengths[[0, -1]] = 0
    doc_ptr = fixed(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    z = generator.integers(0, n_topics, doc_ptr[-1]).astype(dtype)
    return doc_ptr, generator.integers(0, n_words, z.size), z, n_words, n_topics


@pytest.mark.parametrize(("dtype", "n_topics"), [(np.uint8, 7), (np.uint8, 128), (np.uint8, 129), (np.uint16, 300)])
@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e4])
def test_parts_equal_scipy(dtype, n_topics, scale):
    doc_ptr, words, z, n_words, _ = make_corpus(n_topics=n_topics, dtype=dtype)
    n_dk, n_wk = counts_of(doc_ptr, words, z, n_words, n_topics)
    generator = np.random.default_rng(2)
    alpha, beta = scale * (0.1 + generator.random(n_topics)), scale * (0.1 + generator.random(n_words))
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    theta_part, phi_part = log_theta_part(doc_ptr, z, alpha), log_phi_part(n_wk, n_k, beta)
    assert theta_part == pytest.approx(dirichlet_multinomial(n_dk, alpha), rel=1e-9)
    assert phi_part == pytest.approx(dirichlet_multinomial(n_wk.T, beta), rel=1e-9)
    assert log_marginal(doc_ptr, z, n_wk, n_k, alpha, beta) == theta_part + phi_part


def test_probabilities_of_all_states_sum_to_one():
    doc_ptr = fixed(np.array([0, 2, 2, 4]))
    alpha, beta = np.array([0.3, 1.1]), np.array([0.2, 0.5, 0.9])
    total = 0.0
    for words in itertools.product(range(3), repeat=4):
        for topics in itertools.product(range(2), repeat=4):
            z = np.array(topics, dtype=np.uint8)
            _, n_wk = counts_of(doc_ptr, np.array(words), z, 3, 2)
            total += np.exp(log_marginal(doc_ptr, z, n_wk, n_wk.sum(axis=0, dtype=np.int64), alpha, beta))
    assert total == pytest.approx(1.0, rel=1e-12)


def test_densities():
    doc_ptr, words, z, n_words, n_topics = make_corpus()
    n_dk, n_wk = counts_of(doc_ptr, words, z, n_words, n_topics)
    chunks, alpha = np.array([0, 70, 70, doc_ptr.size - 1]), Alpha.shared(np.full(n_topics, 0.1))
    assert theta_terms(chunks, doc_ptr, z, alpha)[1] == np.count_nonzero(n_dk)
    assert density_n_kw(n_wk) == pytest.approx(np.mean(n_wk > 0), rel=1e-15)
    assert density_n_kw(np.zeros((0, 3), dtype=np.int32)) == 0.0


def test_bits_do_not_depend_on_threads():
    doc_ptr, words, z, n_words, n_topics = make_corpus()
    _, n_wk = counts_of(doc_ptr, words, z, n_words, n_topics)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    values = set()
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        values.add(log_marginal(doc_ptr, z, n_wk, n_k, np.full(n_topics, 0.1), np.full(n_words, 0.01)))
    assert len(values) == 1


def test_no_tokens():
    nothing = np.zeros(0, dtype=np.uint8)
    no_counts = np.zeros((3, 2), dtype=np.int32), np.zeros(2, dtype=np.int64)
    pointer = np.zeros(4, dtype=np.int64)
    assert log_marginal(pointer, nothing, *no_counts, np.array([0.1, 0.1]), np.array([0.1, 0.1, 0.1])) == 0.0
