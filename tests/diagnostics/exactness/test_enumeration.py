"""The enumerated posterior against slow programs of our own: exact fractions, and numerical integration."""

import itertools
from fractions import Fraction
from math import gamma as gamma_function

import numpy as np
import pytest
from scipy import integrate, stats

from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.diagnostics.exactness.enumeration import enumerate_posterior
from ppl_topics.engine.bind import index_tokens
from ppl_topics.models.gamma import Gamma

DOCUMENTS = [[0, 0, 1], [1], [], [2, 0]]
ALPHA = [Fraction(1, 5), Fraction(3, 2)]
BETA = [Fraction(2, 5), Fraction(1), Fraction(1, 3), Fraction(1, 2)]


def state_of(documents, alpha, beta):
    lengths = [len(d) for d in documents]
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = np.array([w for d in documents for w in d], dtype=np.uint32)
    sizes = Sizes(len(documents), len(beta), len(alpha), len(words))
    z = np.zeros(len(words), dtype=np.uint8)
    n_wk = np.zeros((len(beta), len(alpha)), dtype=np.int32)
    concentrations = {"alpha": np.array(alpha, dtype=float), "beta": np.array(beta, dtype=float)}
    tokens = index_tokens(doc_ptr, words, len(beta))
    return ChainState(tokens, sizes, z, n_wk, np.zeros(len(alpha), dtype=np.int64), {}, concentrations)


def joint(z, documents, alpha, beta, phi=None):
    """p(w, z) by the chain rule, a token after another (Polya urns), in whatever numbers come in."""
    n_wk = [[0] * len(alpha) for _ in beta]
    value, i = Fraction(1), 0
    for document in documents:
        n_k = [0] * len(alpha)
        for position, word in enumerate(document):
            k = z[i]
            value = value * (n_k[k] + alpha[k]) / (position + sum(alpha))
            if phi is None:
                value = value * (n_wk[word][k] + beta[word]) / (sum(row[k] for row in n_wk) + sum(beta))
            else:
                value = value * phi[word][k]
            n_k[k] += 1
            n_wk[word][k] += 1
            i += 1
    return value


def states(n_topics, n_tokens):
    return list(itertools.product(range(n_topics), repeat=n_tokens))


def test_against_fractions():
    exact = enumerate_posterior(state_of(DOCUMENTS, ALPHA, BETA))
    values = [joint(z, DOCUMENTS, ALPHA, BETA) for z in states(2, 6)]
    expected = [float(v / sum(values)) for v in values]
    np.testing.assert_allclose(exact.probability, expected, rtol=1e-12)
    np.testing.assert_array_equal(exact.states, states(2, 6))
    assert [exact.index(z, 2) for z in exact.states] == list(range(64))


def test_against_fractions_given_phi():
    phi = [[Fraction(1, 2), Fraction(1, 9)], [Fraction(1, 4), Fraction(5, 9)], [Fraction(1, 4), Fraction(3, 9)]]
    exact = enumerate_posterior(state_of(DOCUMENTS, ALPHA, BETA[:3]), phi=np.array(phi, dtype=float))
    values = [joint(z, DOCUMENTS, ALPHA, BETA, phi) for z in states(2, 6)]
    np.testing.assert_allclose(exact.probability, [float(v / sum(values)) for v in values], rtol=1e-12)


def test_an_index_taken_for_another_shows():
    """A planted bug: alpha in the wrong order moves the distribution by far more than rounding."""
    exact = enumerate_posterior(state_of(DOCUMENTS, ALPHA[::-1], BETA))
    values = [joint(z, DOCUMENTS, ALPHA, BETA) for z in states(2, 6)]
    assert np.abs(exact.probability - [float(v / sum(values)) for v in values]).max() > 0.01


@pytest.mark.parametrize("shape", [0.7, 1.7])
def test_quadrature_of_a_shared_concentration(shape):
    """The symmetric beta integrated out, against adaptive integration; so is its distribution given z."""
    documents, prior = [[0, 0], [1]], Gamma(shape=shape, rate=2.4)
    exact = enumerate_posterior(state_of(documents, [0.3, 0.8], [1.0, 1.0, 1.0]), beta_prior=prior)
    distribution = stats.gamma(shape, scale=1 / 2.4)

    def integral(z, weight=lambda b: 1.0):
        def at_quantile(u):
            b = distribution.ppf(u)
            return weight(b) * float(joint(z, documents, [0.3, 0.8], [b] * 3))

        return integrate.quad(at_quantile, 0, 1, epsabs=1e-11, epsrel=1e-9, limit=400)[0]

    values = np.array([integral(z) for z in states(2, 3)])
    np.testing.assert_allclose(exact.probability, values / values.sum(), rtol=1e-5)
    for number in (0, 3):
        z = states(2, 3)[number]
        mean = integral(z, lambda b: b) / integral(z)
        assert exact.beta_given[number] @ exact.beta_nodes[:, 0] == pytest.approx(mean, rel=1e-3)


def test_quadrature_of_two_concentrations():
    """An asymmetric alpha integrated out, against a fine grid on the logarithm."""
    documents, prior = [[0, 0], [1]], Gamma(shape=1.7, rate=2.4, per="topic")
    exact = enumerate_posterior(state_of(documents, [1.0, 1.0], [0.4, 0.9]), alpha_prior=prior)
    grid = np.linspace(-14, 4, 700)
    a, b = np.meshgrid(np.exp(grid), np.exp(grid), indexing="ij")
    density = (a * b) ** 1.7 * np.exp(-2.4 * (a + b)) * 2.4**3.4 / gamma_function(1.7) ** 2
    values = []
    for z in states(2, 3):
        n = [[z[:2].count(k) for k in (0, 1)], [z[2:].count(k) for k in (0, 1)]]
        like = float(joint(z, documents, [1, 1], [0.4, 0.9]) / joint(z, documents, [1, 1], [0.4, 0.9], [[1, 1]] * 2))
        for row in n:
            for value, count in zip((a, b), row, strict=True):
                for i in range(count):
                    like = like * (value + i)
            for i in range(sum(row)):
                like = like / (a + b + i)
        values.append((like * density).sum())
    np.testing.assert_allclose(exact.probability, np.array(values) / sum(values), rtol=1e-4)


def test_too_many_states_are_refused():
    with pytest.raises(ValueError, match="1,048,576 states; use a smaller corpus"):
        enumerate_posterior(state_of([[0] * 20], [0.5, 0.5], [1.0]))


def test_one_topic_and_one_token():
    one = enumerate_posterior(state_of([[0, 1], [1]], [0.5], [0.3, 0.4]))
    assert one.probability.tolist() == [1.0]
    single = enumerate_posterior(state_of([[0]], [0.2, 0.6], [0.3, 0.4]))
    np.testing.assert_allclose(single.probability, [0.25, 0.75])
