"""Coefficients drawn by a matrix of documents: the distribution against dense NumPy, false-alarm rate 1e-6 a test."""

import numba
import numpy as np
import pytest
from coefficient_problems import FALSE_ALARM, KEY, distribution_p_value, documents

import ppl_topics as pt
from ppl_topics.core.observed import Design
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal
from ppl_topics.samplers.coefficients.document_matrices import FREE
from ppl_topics.samplers.coefficients.joint_normal import draw_jointly
from ppl_topics.samplers.coefficients.low_rank_normal import draw_low_rank
from ppl_topics.samplers.responses.features import features_of, without_topics
from ppl_topics.schedule.costs import CorpusSizes

TOPICS, WIDTH = 5, 19
F = TOPICS + WIDTH


class Wide:
    """More coefficients than documents; covariates that few, or all, documents have; a last column of ones.

    Three responses: all targets known, some, and none; each has `replicates` columns.
    """

    def __init__(self, replicates=1, spread=0.5, seed=5):
        generator = np.random.default_rng(seed)
        self.tokens, self.z = documents([0, 4, 9, 1, 30, 6, 12, 3, 7, 0, 5], TOPICS)
        n_docs = len(self.tokens.doc_lengths)
        held = generator.random((n_docs, WIDTH)) < np.linspace(0.1, 1.0, WIDTH)
        fixed = np.where(held, generator.normal(size=held.shape), 0.0)
        fixed[:, -1] = 1.0
        self.features = features_of(self.tokens, self.z, TOPICS, Design.of(fixed))
        shares = np.zeros((n_docs, TOPICS))
        np.add.at(shares, (self.tokens.docs, self.z), 1.0)
        self.dense = np.hstack([shares / np.maximum(self.tokens.doc_lengths, 1)[:, None], fixed])
        known = np.ones((n_docs, 3), bool)
        known[::2, 1] = known[:, 2] = False
        self.omega = np.where(known, generator.gamma(1.0, 1.0, (n_docs, 3)), 0.0)
        self.b = np.where(known, generator.normal(1.0, 1.0, (n_docs, 3)), 0.0)
        self.precision = 10.0 ** generator.uniform(-spread, spread, (3, F))
        self.replicates = replicates

    def distribution(self, c):
        """Mean and precision of the coefficients of a response."""
        matrix = np.diag(self.precision[c]) + (self.omega[:, c, None] * self.dense).T @ self.dense
        return np.linalg.solve(matrix, self.dense.T @ self.b[:, c]), matrix

    def repeated(self):
        n = self.replicates
        b, omega, precision = np.tile(self.b, (1, n)), np.tile(self.omega, (1, n)), np.tile(self.precision, (n, 1))
        return ConditionalNormal(self.features, b, omega, precision)


def mean_of(given, draw=draw_low_rank):
    """The mean of the distribution, exactly: the noise is the same whatever the slopes."""
    return draw(given, KEY) - draw(given._replace(b=0.0 * given.b), KEY)


# With free coefficients, and without.
@pytest.mark.parametrize("spread", [0.5, 7.0])
def test_distribution_of_low_rank_draws(spread):
    problem = Wide(replicates=3000, spread=spread)
    draws = draw_low_rank(problem.repeated(), KEY).reshape(-1, 3, F)
    strength = (problem.omega.T @ problem.dense**2) / problem.precision
    assert (strength > FREE).any() == (spread == 7.0)
    for c in range(3):
        assert distribution_p_value(draws[:, c], *problem.distribution(c)) > FALSE_ALARM


@pytest.mark.parametrize("bug", ["forgets the noise of documents", "prior twice", "sign of b", "transposed solve"])
def test_planted_bugs(bug):
    """What the test above would say of the algorithm with each bug, in plain NumPy."""
    problem, n = Wide(), 3000
    generator = np.random.default_rng(3)
    x = np.sqrt(problem.omega[:, 0, None]) * problem.dense
    known = problem.omega[:, 0] > 0
    variance = 1.0 / problem.precision[0]
    prior = np.sqrt(variance) * generator.normal(size=(n, F))
    if bug == "prior twice":
        prior = variance * generator.normal(size=(n, F))
    errors = 0.0 if bug == "forgets the noise of documents" else generator.normal(size=(n, len(x)))
    targets = np.divide(problem.b[:, 0], np.sqrt(problem.omega[:, 0]), out=np.zeros(len(x)), where=known)
    targets = -targets if bug == "sign of b" else targets
    matrix = np.eye(len(x)) + (x * variance) @ x.T
    left = targets - prior @ x.T - errors
    if bug == "transposed solve":
        lower = np.linalg.cholesky(matrix)
        weights = np.linalg.solve(lower, np.linalg.solve(lower, left.T)).T
    else:
        weights = np.linalg.solve(matrix, left.T).T
    draws = prior + weights @ (x * variance)
    assert distribution_p_value(draws, *problem.distribution(0)) < FALSE_ALARM


def test_mean_is_that_of_joint_draws():
    problem = Wide()
    assert np.allclose(mean_of(problem.repeated()), mean_of(problem.repeated(), draw_jointly), rtol=1e-9, atol=1e-9)


def test_slopes_without_curvature_shift_the_prior():
    problem = Wide()
    problem.b[problem.omega == 0.0] = 0.7
    found = mean_of(problem.repeated())
    for c in range(3):
        assert np.allclose(found[c], problem.distribution(c)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("low", [-2, -8, -12])
@pytest.mark.parametrize("high", [2, 30, 90])
def test_prior_variances_over_many_orders_of_magnitude(low, high):
    """As horseshoes have them, against the equations of the distribution, scaled so that NumPy can solve them."""
    problem = Wide()
    generator = np.random.default_rng(2)
    precision = 10.0 ** generator.uniform(0, high, (3, F))
    # A few that are all but free: the intercept among them.
    precision[:, [2, 9, F - 1]] = 10.0**low
    found = mean_of(problem.repeated()._replace(precision=precision))
    assert np.isfinite(found).all()
    for c in range(3):
        scale = 1.0 / np.sqrt(precision[c] + problem.omega[:, c] @ problem.dense**2)
        matrix = np.diag(scale**2 * precision[c])
        matrix += scale[:, None] * ((problem.omega[:, c, None] * problem.dense).T @ problem.dense) * scale
        expected = scale * np.linalg.solve(matrix, scale * (problem.dense.T @ problem.b[:, c]))
        sd = scale * np.sqrt(np.diag(np.linalg.inv(matrix)))
        assert np.abs(found[c] - expected).max() < 1e-3 * sd.max()
        assert (np.abs(found[c] - expected) < 1e-3 * np.maximum(sd, 1e-30)).all()


def test_all_coefficients_free():
    problem = Wide()
    precision = np.full((3, F), 1e-10)
    found = mean_of(problem.repeated()._replace(precision=precision))
    x, root = problem.dense, np.sqrt(problem.omega[:, 0])
    # The minimum-norm solution, to the share of the prior in it.
    expected = np.linalg.pinv(root[:, None] * x) @ np.divide(problem.b[:, 0], root, where=root > 0, out=0 * root)
    assert np.allclose(found[0], expected, rtol=1e-6, atol=1e-6)


def test_wide_sparse_covariates_agree_with_joint_draws():
    """500 documents of 5 of 5,000 columns: the mean solves the equations of the distribution."""
    generator = np.random.default_rng(1)
    fixed = np.zeros((500, 5000))
    fixed[np.repeat(np.arange(500), 5), generator.integers(0, 5000, 2500)] = 1.0
    features = without_topics(Design.of(fixed))
    b, omega = generator.normal(size=(500, 2)), generator.gamma(1.0, 1.0, (500, 2))
    precision = generator.gamma(1.0, 1.0, (2, 5000))
    found = mean_of(ConditionalNormal(features, b, omega, precision))
    for c in range(2):
        residual = precision[c] * found[c] + fixed.T @ (omega[:, c] * (fixed @ found[c])) - fixed.T @ b[:, c]
        assert np.abs(residual).max() < 1e-10


@pytest.mark.parametrize(("n_docs", "width"), [(0, 3), (4, 0)])
def test_no_documents_no_coefficients(n_docs, width):
    features, values = without_topics(Design.of(np.zeros((n_docs, width)))), np.ones((n_docs, 1))
    drawn = draw_low_rank(ConditionalNormal(features, values, values, np.full((1, width), 4.0)), KEY)
    assert drawn.shape == (1, width)
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(value):
    problem = Wide()
    problem.b[4, 1] = value
    problem.omega[4, 1] = 1.0
    with pytest.raises(RunError, match=r"response 2 of 3, with 24 coefficients: the distribution .* not finite"):
        draw_low_rank(problem.repeated(), KEY)


def test_bits_do_not_depend_on_threads_or_on_other_responses():
    problem = Wide(replicates=3, spread=7.0)
    results = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        results.append(draw_low_rank(problem.repeated(), KEY))
    assert np.array_equal(*results)
    features, b, omega, precision = problem.repeated()
    alone = draw_low_rank(ConditionalNormal(features, b[:, :1].copy(), omega[:, :1].copy(), precision[:1]), KEY)
    assert np.array_equal(alone[0], results[0][0])


@pytest.mark.parametrize(
    ("docs", "covariates", "cells", "expected"),
    [
        (500, 5000, 5, "low_rank_normal"),
        (500, 5000, 5000, "low_rank_normal"),
        (11_000, 5000, 5, "joint_normal"),
        (11_000, 20, 20, "joint_normal"),
        (500, 0, 0, "joint_normal"),
        (5, 0, 0, "joint_normal"),
    ],
)
def test_the_scheduler_chooses_it_for_many_coefficients_of_few_documents(docs, covariates, cells, expected):
    sizes = CorpusSizes.count(np.full(docs, 100), np.full(2000, docs // 20 + 1), responses=1)
    sizes = type(sizes)(sizes.lengths, sizes.docs, sizes.counts, sizes.words, 1, covariates, docs * cells)
    values = sizes.formula_sizes(20)
    seconds = {name: pt.kernels()[name].seconds(values, 4) for name in ("joint_normal", "low_rank_normal")}
    assert min(seconds, key=seconds.__getitem__) == expected
