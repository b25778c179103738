"""Expected shares of topics by CVB0, against its equations in plain NumPy and the exact expectations."""

import itertools

import numba
import numpy as np
import pytest
from scipy.special import gammaln

from ppl_topics.core.alpha import Alpha
from ppl_topics.engine.bind import index_tokens
from ppl_topics.prediction.infer import NewTopics
from ppl_topics.samplers.held_out.cvb0 import Bags, expected_shares


def corpus(lengths, words, n_words, whole=False):
    return index_tokens(np.concatenate([[0], np.cumsum(lengths)]), np.array(words, np.uint32), n_words, whole=whole)


def drawn(n_topics, n_docs=20, n_words=40, seed=3):
    """Documents, topics, and concentrations of which each document has one of two rows."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_words, 0.2), size=n_topics).T.astype(np.float32).copy()
    lengths = rng.integers(0, 40, n_docs)
    tokens = corpus(lengths, rng.integers(0, n_words, lengths.sum()), n_words)
    rows = rng.uniform(0.05, 2.0, (2, n_topics))
    return tokens, phi, Alpha(rows, rng.integers(0, 2, n_docs), rows[0])


def plain(words, alpha, phi, steps=200):
    """The fixed point for one document, in float64."""
    words, counts = np.unique(words, return_counts=True)
    gamma = np.zeros((len(words), len(alpha)))
    for _ in range(steps):
        for row, word in enumerate(words):
            expected = counts @ gamma
            new = (np.maximum(expected - gamma[row], 0.0) + alpha) * phi[word]
            gamma[row] = new / new.sum()
    return counts @ gamma / counts.sum()


@pytest.mark.parametrize("n_topics", [2, 3, 8, 13, 50])
def test_shares_are_those_of_the_equations(n_topics):
    tokens, phi, alpha = drawn(n_topics)
    shares = expected_shares(tokens, Bags.of(tokens), alpha, phi)
    for doc, row in enumerate(alpha.by_doc):
        words = tokens.words[tokens.doc_ptr[doc] : tokens.doc_ptr[doc + 1]]
        wanted = plain(words, row, phi.astype(np.float64)) if len(words) else np.zeros(n_topics)
        # A step that moves less than a thousandth of the tokens is the last: what is left may be a few times that.
        np.testing.assert_allclose(shares[doc], wanted, atol=0.02)
    lengths = tokens.doc_lengths
    np.testing.assert_allclose(shares[lengths > 0].sum(axis=1), 1.0, rtol=1e-12)
    assert not shares[lengths == 0].any()


def test_a_token_that_is_counted_among_the_others_would_be_noticed():
    # The planted bug: gamma_dwk is not taken out of the expected counts.
    words, alpha, phi = [0, 0, 1], np.array([0.3, 0.3]), np.array([[0.7, 0.2], [0.2, 0.6]], np.float32)
    counts, gamma = np.array([2, 1]), np.zeros((2, 2))
    for _ in range(1_000):
        for row in range(2):
            new = (counts @ gamma + alpha) * phi[row]
            gamma[row] = new / new.sum()
    tokens = corpus([3], words, 2)
    found = expected_shares(tokens, Bags.of(tokens), Alpha.shared(alpha), phi)[0]
    np.testing.assert_allclose(found, plain(words, alpha, phi), atol=5e-3)
    assert abs(found - counts @ gamma / 3).max() > 0.02


def test_of_one_token_they_are_exact_and_of_few_near_the_exact_ones():
    alpha, phi = np.array([0.6, 0.9, 1.2]), np.array([[0.5, 0.2, 0.3], [0.3, 0.3, 0.2], [0.2, 0.5, 0.5]], np.float32)
    tokens = corpus([1, 4], [2, 0, 0, 1, 2], 3)
    one, several = expected_shares(tokens, Bags.of(tokens), Alpha.shared(alpha), phi)
    np.testing.assert_allclose(one, alpha * phi[2] / (alpha @ phi[2]), rtol=1e-5)
    weights, exact = 0.0, np.zeros(3)
    for z in itertools.product(range(3), repeat=4):
        counts = np.bincount(z, minlength=3)
        weight = np.exp(gammaln(counts + alpha).sum()) * phi[[0, 0, 1, 2], list(z)].prod()
        weights, exact = weights + weight, exact + weight * counts / 4
    np.testing.assert_allclose(several, exact / weights, atol=0.03)


def test_bits_depend_neither_on_threads_nor_on_the_documents_beside():
    tokens, phi, alpha = drawn(20)
    found = []
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        found.append(expected_shares(tokens, Bags.of(tokens), alpha, phi))
    assert np.array_equal(*found)
    doc = int(np.argmax(tokens.doc_lengths))
    words = tokens.words[tokens.doc_ptr[doc] : tokens.doc_ptr[doc + 1]]
    alone = NewTopics(corpus([len(words)], words, 40), alpha.of(doc, doc + 1), 0, 0).expected_shares(phi)
    assert np.array_equal(alone[0], found[0][doc])


@pytest.mark.parametrize("n_topics", [3, 12])
def test_tiny_concentrations_and_words_that_no_topic_has(n_topics):
    phi = np.full((3, n_topics), 0.0, np.float32)
    phi[0, 0], phi[1, 1] = 1.0, 1e-30
    tokens = corpus([1, 2, 2, 1], [0, 1, 1, 0, 2, 2], 3)
    alpha = Alpha.shared(np.full(n_topics, 1e-100))
    shares = NewTopics(tokens, alpha, 0, 0).expected_shares(phi)
    np.testing.assert_allclose(shares[:3, :2], [[1, 0], [0, 1], [1, 0]], atol=1e-6)
    # A word that tells nothing leaves the prior.
    np.testing.assert_allclose(shares[3], 1 / n_topics, rtol=1e-5)


def test_documents_of_one_topic_have_its_probabilities():
    alpha, phi = np.array([1.0, 2.0]), np.array([[0.7, 0.2], [0.3, 0.8]], np.float32)
    tokens = corpus([2, 0, 1], [0, 1, 1], 2, whole=True)
    shares = NewTopics(tokens, Alpha.shared(alpha), 0, 0).expected_shares(phi)
    wanted = alpha * np.array([phi[0] * phi[1], phi[1]], np.float64)
    np.testing.assert_allclose(shares[[0, 2]], wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-6)
    assert not shares[1].any()
