"""Sums over documents of sparse features, against dense arrays."""

import numpy as np
import pytest
from coefficient_problems import dense, documents, fixed_columns

from ppl_topics.core.observed import Design
from ppl_topics.samplers.coefficients.gram import columns_of, gram, rows_of, shared_weights, weighted_sums
from ppl_topics.samplers.responses.features import features_of


@pytest.mark.parametrize("n_classes", [1, 3, 4, 21])
@pytest.mark.parametrize("n_columns", [0, 3])
def test_sums_over_documents(n_classes, n_columns):
    generator = np.random.default_rng(4)
    tokens, z = documents([0, 1, 5, 60, 0, 17] * 12, 30)
    columns = fixed_columns(72, n_columns).toarray()
    columns[::3, 1:] = 0.0
    design = Design.of(columns)
    x, size = dense(tokens, z, 31, design), 31 + n_columns
    rows = rows_of(features_of(tokens, z, 31, design), size)
    columns = columns_of(rows, size)
    assert len(rows.values) == np.count_nonzero(x)
    omega, b = generator.gamma(1.0, 1.0, (72, n_classes)), generator.normal(size=(72, n_classes))
    total = gram(rows, columns, omega)
    expected = np.einsum("dc,di,dj->ijc", omega, x, x)[np.triu_indices(size)]
    assert np.allclose(total[:, :n_classes], expected, rtol=1e-12, atol=1e-14)
    assert not total[:, n_classes:].any()
    assert np.allclose(weighted_sums(columns, b), x.T @ b, rtol=1e-12, atol=1e-12)


def test_weights_that_classes_share():
    generator = np.random.default_rng(4)
    omega = generator.gamma(1.0, 1.0, (7, 3))
    assert shared_weights(omega) is None
    by_class = np.repeat(omega[:1], 7, axis=0)
    with_missing = np.array(by_class)
    with_missing[[0, 4]] = 0.0
    alike = np.repeat(omega[:, :1], 3, axis=1)
    for weights in (by_class, with_missing, alike, np.zeros((7, 3)), omega[:, :1].copy()):
        split = shared_weights(weights)
        assert split is not None
        assert np.array_equal(split[0] * split[1], weights)
    with_missing[2, 1] = 0.0
    assert shared_weights(with_missing) is None
