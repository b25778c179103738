"""Cholesky factorisation of upper triangles, against NumPy."""

import numpy as np
import pytest

from ppl_topics.samplers.coefficients.cholesky import factorise


@pytest.mark.parametrize("size", [1, 2, 5, 31, 32, 33, 70, 131])
def test_factorisation(size):
    generator = np.random.default_rng(size)
    x = generator.normal(size=(size + 3, size))
    matrix = np.corrcoef(x.T).reshape(size, size)
    upper = np.triu(matrix) + np.tril(np.full((size, size), np.nan), -1)
    assert factorise(upper) == -1
    assert np.allclose(np.triu(upper), np.linalg.cholesky(matrix).T, rtol=1e-9, atol=1e-9)


def test_factorisation_names_the_row_that_fails():
    matrix = np.eye(50)
    matrix[40, 45] = 1.0
    assert factorise(matrix) == 45
