"""Scaling of covariates: numbers are standardised, categories and what does not vary are not."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ppl_topics.corpus import Covariates
from ppl_topics.corpus.scaling import standardising


def test_numbers_are_standardised_and_categories_left():
    frame = pd.DataFrame({"year": [1999.0, 2004.0, 2006.0], "source": ["a", "b", "a"], "flag": [True, False, True]})
    covariates = Covariates.from_frame(frame)
    matrix = standardising(covariates).apply(covariates.matrix)
    assert np.allclose(matrix[:, [0, 3]].mean(axis=0), 0.0)
    assert np.allclose(matrix[:, [0, 3]].std(axis=0), 1.0)
    assert np.array_equal(matrix[:, 1:3], covariates.matrix[:, 1:3])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_standardisation_of_any_scale(scale):
    values = scale * np.random.default_rng(1).normal(3.0, 1.0, (50, 1))
    matrix = standardising(Covariates.from_matrix(values)).apply(values)
    assert np.isclose(matrix.std(), 1.0)
    assert abs(matrix.mean()) < 1e-9


@pytest.mark.parametrize("value", [0.0, 0.1, -7e300])
def test_constant_columns_become_zeros(value):
    values = np.full((1000, 1), value)
    scaling = standardising(Covariates.from_matrix(values))
    assert scaling.scale[0] == 0.0
    assert not scaling.apply(values).any()
    assert not scaling.apply(np.array([[5.0]])).any()


def test_sparse_columns_are_scaled_and_stay_sparse():
    rng = np.random.default_rng(2)
    dense = np.where(rng.random((200, 300)) < 0.02, rng.normal(5.0, 1.0, (200, 300)), 0.0)
    dense[:, 7] = rng.normal(2000.0, 5.0, 200)
    covariates = Covariates.from_matrix(sparse.csr_array(dense))
    scaling = standardising(covariates)
    matrix = scaling.apply(covariates.matrix)
    assert sparse.issparse(matrix)
    assert matrix.nnz == np.count_nonzero(dense)
    found = matrix.toarray()
    assert found[:, 7].mean() == pytest.approx(0.0, abs=1e-9)
    others = np.delete(np.arange(300), 7)
    used = others[dense[:, others].any(axis=0)]
    assert np.allclose(found[:, used], dense[:, used] / dense[:, used].std(axis=0))
