"""Topics and proportions: the statistical tests have a false-alarm rate of 1e-6, and reject a planted bug."""

import numba
import numpy as np
import pytest
from corpus_arrays import fixed
from scipy import stats

from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.samplers.topics.dirichlet_rows import draw_phi, draw_phi_of, draw_theta

FALSE_ALARM = 1e-6


def phi_of(n_wk, beta, seed=1):
    phi = np.full(n_wk.shape, np.nan, dtype=np.float32)
    draw_phi(n_wk, n_wk.sum(axis=0, dtype=np.int64), beta, Key(seed, 0, 0), phi)
    return phi


def smallest_p_value(columns, concentration):
    """Columns are independent draws of one Dirichlet distribution; its marginals are Beta."""
    total = concentration.sum()
    values = [
        stats.kstest(columns[word], stats.beta(value, total - value).cdf).pvalue
        for word, value in enumerate(concentration)
    ]
    return min(values) * len(values)


@pytest.mark.parametrize(
    ("counts", "beta"),
    [
        ([60, 0, 7, 0], [0.5, 0.9, 0.3, 0.4]),
        ([60, 0, 0, 40], [1.0, 1.5, 0.9, 1.0]),
        ([3, 0, 1, 0], [0.5, 0.2, 0.3, 0.4]),
        ([0, 0, 0, 0], [0.5, 0.2, 0.3, 0.4]),
    ],
)
def test_distribution_of_phi(counts, beta):
    """Dense topics (concentrations summing to 32 or more) and sparse ones, drawn in log space."""
    n_wk = np.repeat(np.array(counts, dtype=np.int32)[:, None], 5000, axis=1)
    phi = phi_of(n_wk, np.array(beta)).astype(float)
    concentration = np.array(counts) + np.array(beta)
    assert np.allclose(phi.sum(axis=0), 1.0, atol=1e-6)
    assert smallest_p_value(phi, concentration) > FALSE_ALARM
    assert smallest_p_value(phi, concentration[[1, 0, 2, 3]]) < FALSE_ALARM


@pytest.mark.parametrize("counts", [[60, 0, 7, 3], [3, 0, 1, 0]])
def test_some_words_have_the_distribution_that_they_have_among_all(counts):
    n_wk = np.repeat(np.array(counts, dtype=np.int32)[:, None], 5000, axis=1)
    n_k, beta, some = n_wk.sum(axis=0, dtype=np.int64), np.array([0.5, 0.9, 0.3, 0.4]), np.array([0, 2])
    phi = draw_phi_of(some, n_wk, n_k, beta, Key(1, 0, 0)).astype(float)
    assert phi.shape == (2, 5000)
    drawn = np.vstack([phi, 1.0 - phi.sum(axis=0)])
    concentration = np.array(counts) + beta
    of_others = concentration[[1, 3]].sum()
    assert smallest_p_value(drawn, np.append(concentration[some], of_others)) > FALSE_ALARM
    # Others that have no concentration but their tokens.
    assert smallest_p_value(drawn, np.append(concentration[some], of_others - 1.3)) < FALSE_ALARM


def test_some_words_beside_others_of_next_to_no_concentration():
    n_wk, beta = np.zeros((3, 1000), dtype=np.int32), np.array([1.0, 1e-30, 1e-30])
    phi = draw_phi_of(np.array([0]), n_wk, n_wk.sum(axis=0, dtype=np.int64), beta, Key(1, 0, 0))
    assert np.array_equal(phi, np.ones((1, 1000)))


def test_some_words_among_too_many_tokens_for_one_word():
    """Where the others have more tokens than a count can hold, all words are drawn, and the bits are theirs."""
    n_wk = np.full((4, 3), 2**30, dtype=np.int32)
    n_k, beta, whole = n_wk.sum(axis=0, dtype=np.int64), np.full(4, 0.1), phi_of(n_wk, np.full(4, 0.1))
    two, three = np.array([1, 3]), np.array([0, 1, 3])
    assert np.array_equal(draw_phi_of(two, n_wk, n_k, beta, Key(1, 0, 0)), whole[two])
    assert not np.array_equal(draw_phi_of(three, n_wk, n_k, beta, Key(1, 0, 0)), whole[three])


@pytest.mark.parametrize("beta", [0.01, 0.1])
def test_distribution_of_tiny_gammas_in_dense_topics(beta):
    """The logarithm of the share of an unseen word, down to that of a 2^-40th of a token."""
    counts = np.array([200, 0], dtype=np.int32)
    phi = phi_of(np.repeat(counts[:, None], 20_000, axis=1), np.full(2, beta))[1].astype(float)
    distribution = stats.beta(beta, 200 + beta)
    edges = np.array([-1.0, *(10.0 ** np.arange(-14.0, 0.0, 2.0)), 1.0])
    observed = np.histogram(phi, edges)[0]

    def p_value(concentration):
        expected = np.diff(np.concatenate([[0.0], stats.beta(concentration, 200 + beta).cdf(edges[1:])]))
        keep = expected * phi.size > 5
        kept = np.append(observed[keep], observed[~keep].sum())
        wanted = np.append(expected[keep], expected[~keep].sum()) * phi.size
        return stats.chisquare(kept[wanted > 0], wanted[wanted > 0] * kept.sum() / wanted.sum()).pvalue

    assert distribution.cdf(1e-14) > 0.0
    assert p_value(beta) > FALSE_ALARM
    assert p_value(1.1 * beta) < FALSE_ALARM


@pytest.mark.parametrize("beta", [1e-300, 1e-4, 0.01])
def test_empty_topics_are_never_zero(beta):
    phi = phi_of(np.zeros((5, 4000), dtype=np.int32), np.full(5, beta))
    assert np.isfinite(phi).all()
    assert np.allclose(phi.sum(axis=0), 1.0, atol=1e-6)
    assert stats.chisquare(np.bincount(phi.argmax(axis=0), minlength=5)).pvalue > FALSE_ALARM


def test_words_with_tokens_have_positive_probability():
    generator = np.random.default_rng(3)
    n_wk = generator.integers(0, 3, (300, 40)).astype(np.int32)
    n_wk[:, :5] = 0
    n_wk[7, :5] = 1
    n_wk[0] += 10**8
    phi = phi_of(n_wk, np.full(300, 1e-4))
    assert (phi[n_wk > 0] > 0.0).all()


def test_bits_do_not_depend_on_threads():
    generator = np.random.default_rng(4)
    n_wk = generator.poisson(0.3, (500, 30)).astype(np.int32)
    n_wk[:, 3] = 0
    doc_ptr = fixed(np.arange(0, 1001, 10))
    z = generator.integers(0, 30, 1000).astype(np.uint8)
    results = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        theta = np.empty((100, 30), dtype=np.float32)
        draw_theta(doc_ptr, z, Alpha.shared(np.full(30, 0.1)), Key(1, 0, 0), theta)
        results.append((phi_of(n_wk, np.full(500, 0.01)), theta))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


def test_distribution_of_theta():
    n_docs, alpha = 5000, np.array([0.2, 0.7, 0.4])
    doc_ptr = fixed(np.arange(0, 3 * n_docs + 1, 3))
    z = np.tile(np.array([0, 1, 1], dtype=np.uint8), n_docs)
    theta = np.empty((n_docs, 3), dtype=np.float32)
    draw_theta(doc_ptr, z, Alpha.shared(alpha), Key(1, 0, 0), theta)
    columns = theta.T.astype(float)
    assert smallest_p_value(columns, alpha + np.array([1, 2, 0])) > FALSE_ALARM
    assert smallest_p_value(columns, alpha + np.array([0, 1, 1])) < FALSE_ALARM


def test_distribution_of_theta_with_few_of_many_topics():
    """Of topics without tokens, with concentrations far below 1, below 1 and above it."""
    n_docs, alpha = 5000, np.array([0.7, 1e-3, 0.02, 0.1, 0.1, 0.4, 0.9, 1.0, 1.6, 0.2, 0.05])
    z = np.tile(np.array([0, 5, 5, 8], dtype=np.uint8), n_docs)
    theta = np.empty((n_docs, alpha.size), dtype=np.float32)
    draw_theta(fixed(np.arange(0, 4 * n_docs + 1, 4)), z, Alpha.shared(alpha), Key(1, 0, 0), theta)
    # Marginals are Beta; of the smaller concentrations some are zero in float32.
    columns, concentration = theta.T.astype(float), alpha + np.bincount([0, 5, 5, 8], minlength=alpha.size)
    enough = concentration >= 0.1
    columns, shapes = columns[enough], concentration[enough]

    def p_value(shapes):
        laws = [stats.beta(shape, concentration.sum() - shape) for shape in shapes]
        return min(stats.kstest(x, law.cdf).pvalue for x, law in zip(columns, laws, strict=True)) * len(laws)

    assert p_value(shapes) > FALSE_ALARM
    assert p_value(shapes + 0.1 * (shapes == 0.1)) < FALSE_ALARM


def test_proportions_of_empty_documents_and_one_topic():
    theta = np.empty((3, 4), dtype=np.float32)
    draw_theta(
        np.array([0, 0, 2, 2]), np.array([1, 1], dtype=np.uint8), Alpha.shared(np.full(4, 1e-6)), Key(1, 0, 0), theta
    )
    assert np.allclose(theta.sum(axis=1), 1.0)
    single = np.empty((3, 1), dtype=np.float32)
    draw_theta(
        np.array([0, 0, 2, 2]), np.array([0, 0], dtype=np.uint8), Alpha.shared(np.array([0.1])), Key(1, 0, 0), single
    )
    assert single.tolist() == [[1.0], [1.0], [1.0]]
