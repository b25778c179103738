"""Coefficients through a QR factorisation: their distribution, where that of the Gram matrix is lost in rounding.

Means and spreads are compared with exact ones by tests whose false-alarm rate is 1e-6; seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from ppl_topics.core.keys import Key
from ppl_topics.core.observed import Design
from ppl_topics.engine.bind import index_tokens
from ppl_topics.errors import RunError
from ppl_topics.samplers.coefficients.conditional_normal import ConditionalNormal, ResponseNormal
from ppl_topics.samplers.coefficients.joint_normal import draw_jointly
from ppl_topics.samplers.coefficients.reflections import draw_by_reflections
from ppl_topics.samplers.responses.features import Rows, features_of

FALSE_ALARM = 1e-6
DOCS = 600
BOUND = stats.norm.isf(FALSE_ALARM / 2)


def problem(duplicate):
    """Three columns, and one of them again where asked for; a document that says nothing."""
    rng = np.random.default_rng(1)
    matrix = rng.random((DOCS, 4))
    matrix[matrix < 0.2] = 0.0
    if duplicate:
        matrix[:, 3] = matrix[:, 0]
    omega, b = rng.random(DOCS), rng.normal(size=DOCS)
    omega[5] = b[5] = 0.0
    return matrix, omega, b


def rows_of_matrix(matrix):
    return Rows(*Design.of(matrix)[:3])


def draws(matrix, omega, b, precision, size=4000):
    rows, given = rows_of_matrix(matrix), ResponseNormal(b, omega, precision)
    result = [draw_by_reflections(rows, given, Key(1, 0, sweep, 0), 0) for sweep in range(size)]
    assert {failed for _, failed in result} == {-1}
    return np.stack([eta for eta, _ in result])


def agrees(values, mean, variance):
    z = (values.mean() - mean) / np.sqrt(variance / len(values))
    spread = (values.var(ddof=1) / variance - 1) * np.sqrt(len(values) / 2)
    return abs(z) < BOUND and abs(spread) < BOUND


def test_distribution():
    matrix, omega, b = problem(duplicate=False)
    precision = np.array([0.3, 2.0, 1e12, 0.7])
    inverse = np.linalg.inv(np.diag(precision) + (matrix * omega[:, None]).T @ matrix)
    values = draws(matrix, omega, b, precision)
    mean = inverse @ matrix.T @ b
    for direction in np.eye(4):
        assert agrees(values @ direction, direction @ mean, direction @ inverse @ direction)
    white = (values - mean) @ np.linalg.cholesky(np.linalg.inv(inverse))
    assert stats.kstest(white.ravel(), "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("width", [1e-2, 1e-14, 1e-22])
def test_distribution_of_duplicate_columns(width):
    """The difference of their coefficients has its prior's distribution, the sum that of a single column."""
    matrix, omega, b = problem(duplicate=True)
    precision = np.full(4, width)
    values = draws(matrix, omega, b, precision)
    assert agrees(values[:, 0] - values[:, 3], 0.0, 2.0 / width)
    single = np.diag(precision[:3] * [0.5, 1.0, 1.0]) + (matrix[:, :3] * omega[:, None]).T @ matrix[:, :3]
    inverse = np.linalg.inv(single)
    mean = inverse @ matrix[:, :3].T @ b
    # Rounding of coefficients that are large and nearly cancel is no error of their distribution.
    if width > 1e-15:
        assert agrees(values[:, 0] + values[:, 3], mean[0], inverse[0, 0])
    assert agrees(values[:, 1], mean[1], inverse[1, 1])


def test_a_prior_that_is_lost_in_rounding_is_not_drawn_from():
    matrix, omega, b = problem(duplicate=True)
    _, failed = draw_by_reflections(
        rows_of_matrix(matrix), ResponseNormal(b, omega, np.full(4, 1e-40)), Key(1, 0, 0, 0), 0
    )
    assert failed == 3


def test_joint_draws_take_to_reflections():
    """Two fixed columns that are the same, under a wide prior; beyond all bounds there is an error that says so."""
    n_docs = 40
    tokens = index_tokens(np.arange(n_docs + 1), np.zeros(n_docs, np.uint32), 1)
    design = Design.of(np.ones((n_docs, 2)))
    features = features_of(tokens, (np.arange(n_docs) % 2).astype(np.uint8), 2, design)
    omega, b = np.ones((n_docs, 2)), np.ones((n_docs, 2))
    precision = np.ones((2, 4))
    precision[1, 2:] = 1e-16
    given = ConditionalNormal(features, b, omega, precision)
    eta = draw_jointly(given, Key(1, 0, 0, 0))
    assert np.abs(eta[0]).max() < 10
    assert np.abs(eta[1, 2:]).max() > 1e6
    assert abs(eta[1, 2:].sum()) < 10
    with pytest.raises(RunError, match=r"response 2 of 2, with 4 coefficients: .* not positive definite"):
        draw_jointly(given._replace(precision=np.where(precision < 1, 1e-60, 1.0)), Key(1, 0, 0, 0))
