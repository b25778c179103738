"""Topics from a Polya urn: the statistical tests have a false-alarm rate of 1e-6, and reject a planted bug."""

import numpy as np
import pytest
from scipy import stats

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.samplers.topics.polya_urn_rows import draw_urns
from ppl_topics.samplers.topics.sparse_gammas import GammaShapes

FALSE_ALARM = 1e-6
SIZE = 5000


def phi_of(counts, beta, seed=1):
    """Independent draws of one topic, by word."""
    n_wk = np.repeat(np.array(counts, dtype=np.int32)[:, None], SIZE, axis=1)
    phi = np.full(n_wk.shape, np.nan, dtype=np.float32)
    draw_urns(GammaShapes(n_wk, np.array(beta), np.empty((0, 0), np.uint8)), Key(seed, 0, 0), phi)
    return phi


def smallest_p_value(phi, means):
    """Of comparisons with rows of NumPy's Poisson variates, normalised, word by word."""
    urns = np.random.default_rng(8).poisson(means, (SIZE, len(means))).T
    expected = (urns / urns.sum(axis=0)).astype(np.float32)
    return min(stats.ks_2samp(one, other).pvalue for one, other in zip(phi, expected, strict=True)) * len(means)


@pytest.mark.parametrize(
    ("counts", "beta"),
    [
        ([60, 0, 7, 0], [0.5, 0.9, 0.3, 0.4]),
        ([20, 1, 0, 4], [1.0, 1.5, 0.9, 1.0]),
        ([900, 3, 0, 0], [0.01, 0.1, 5.0, 2.0]),
    ],
)
def test_distribution(counts, beta):
    phi, means = phi_of(counts, beta), np.array(counts) + np.array(beta)
    assert np.allclose(phi.sum(axis=0), 1.0, atol=1e-6)
    assert smallest_p_value(phi, means) > FALSE_ALARM
    assert smallest_p_value(phi, means[[1, 0, 2, 3]]) < FALSE_ALARM


@pytest.mark.parametrize("beta", [0.01, 0.3])
def test_words_without_tokens_are_mostly_zero(beta):
    """Cells are skipped, not drawn one by one: how many are left has a binomial distribution."""
    positive = int((phi_of([500, 0, 0], [beta] * 3)[1:] > 0).sum())
    assert stats.binomtest(positive, 2 * SIZE, -np.expm1(-beta)).pvalue > FALSE_ALARM
    assert stats.binomtest(positive, 2 * SIZE, -np.expm1(-2 * beta)).pvalue < FALSE_ALARM


def test_a_topic_without_tokens_has_a_distribution():
    """All variates are zero in two thirds of such topics: these are drawn from their Dirichlet distribution."""
    phi = phi_of([0, 0, 0], [0.2, 0.1, 0.1])
    assert np.allclose(phi.sum(axis=0), 1.0, atol=1e-6)
    fractional = ((phi > 0) & (phi < 1)).any(axis=0)
    assert fractional.mean() > 0.5


def test_verify_sees_that_it_is_inexact():
    result = pt.verify("lda", kernel="polya_urn_rows", replicates=200, long_run=200)
    (certificate,) = result.certificates
    assert not certificate.declared_exact
    assert certificate.refused_by == "alone"
    assert result.passed


def test_distance_from_the_posterior():
    """As docs/exactness.md has it; noise is 0.02."""
    schedule = pt.cycle(pt.step("z", "partially_collapsed"), pt.step("phi", "polya_urn_rows"))
    (certificate,) = pt.verify("lda", schedule=schedule, replicates=50, long_run=100_000).certificates
    assert abs(certificate.total_variation - 0.226) < 2 * certificate.noise
