"""Features of documents and linear predictors, against dense arrays."""

import numba
import numpy as np
import pytest
from coefficient_problems import dense, documents, fixed_columns

from ppl_topics.samplers.responses.features import features_of, features_of_each, scores, scores_of_each


def listed(features, n_topics):
    shares = np.zeros((len(features.ptr) - 1, n_topics))
    shares[np.repeat(np.arange(len(shares)), np.diff(features.ptr)), features.topics] = features.shares
    return np.hstack([shares, features.design.toarray()])


# Short and long documents, and empty ones in the middle and at the ends.
LENGTHS = [0, 1, 5, 0, 0, 300, 2, 40, 7, 0]


@pytest.mark.parametrize("n_topics", [1, 2, 13, 256, 300])
@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_features(n_topics, n_columns):
    tokens, z = documents(LENGTHS, n_topics)
    design = fixed_columns(len(LENGTHS), n_columns)
    features = features_of(tokens, z, n_topics, design)
    assert [array.dtype for array in features[:3]] == [np.int64, np.uint16, np.float64]
    for doc in range(len(LENGTHS)):
        topics = features.topics[features.ptr[doc] : features.ptr[doc + 1]]
        assert np.array_equal(topics, np.unique(z[tokens.doc_ptr[doc] : tokens.doc_ptr[doc + 1]]))
    assert np.array_equal(listed(features, n_topics), dense(tokens, z, n_topics, design))


@pytest.mark.parametrize("n_classes", [1, 3, 20])
@pytest.mark.parametrize("n_columns", [0, 2])
def test_scores(n_classes, n_columns):
    tokens, z = documents(LENGTHS * 20, 13)
    design = fixed_columns(len(LENGTHS) * 20, n_columns)
    eta = np.random.default_rng(3).normal(size=(n_classes, 13 + n_columns))
    fitted = scores(features_of(tokens, z, 13, design), eta)
    assert fitted.flags.c_contiguous
    assert np.allclose(fitted, dense(tokens, z, 13, design) @ eta.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("numbers", [[0], [2], [0, 1, 2], [0, 0, 1, 2, 2]])
def test_several_assignments_are_those_one_after_another(numbers):
    tokens, z = documents(LENGTHS, 13)
    several = np.random.default_rng(2).permuted(np.stack([z, z, z]), axis=1)
    design = fixed_columns(len(LENGTHS), 2)
    features = features_of_each(tokens, several, 13, design)
    apart = [features_of(tokens, each, 13, design) for each in several]
    for number, each in enumerate(apart):
        assert all(np.array_equal(*pair) for pair in zip(features.given(number)[:3], each[:3], strict=True))
    etas = np.random.default_rng(3).normal(size=(len(numbers), 4, 15))
    expected = [scores(apart[number], eta) for number, eta in zip(numbers, etas, strict=True)]
    assert np.array_equal(scores_of_each(features, numbers, list(etas)), expected)


def test_empty_documents_have_the_scores_of_their_columns():
    tokens, z = documents([0, 0, 3], 4)
    design = fixed_columns(3, 1)
    features = features_of(tokens, z, 4, design)
    assert features.ptr[2] == 0
    assert np.array_equal(scores(features, np.full((2, 5), 1e6))[:2], 1e6 * np.repeat(design.toarray()[:2], 2, axis=1))


def test_no_documents():
    tokens, z = documents([], 4)
    features = features_of(tokens, z, 4, fixed_columns(0, 1))
    assert len(features.topics) == 0
    assert scores(features, np.ones((2, 5))).shape == (0, 2)


def test_topics_beyond_the_first_ones_seen_do_not_leak_between_documents():
    """Each document is listed by sorting or by looking at all topics; both leave nothing behind for the next."""
    tokens, z = documents([2, 200, 2, 200, 2] * 30, 60)
    shuffled = features_of(tokens, z, 60, fixed_columns(150, 0))
    assert np.array_equal(listed(shuffled, 60), dense(tokens, z, 60, fixed_columns(150, 0)))
    present = np.diff(shuffled.ptr)
    assert (present**2 <= 60).any()
    assert (present**2 > 60).any()


def test_bits_do_not_depend_on_threads():
    tokens, z = documents(LENGTHS * 20, 13)
    design = fixed_columns(len(LENGTHS) * 20, 2)
    eta = np.random.default_rng(3).normal(size=(5, 15))
    results = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        features = features_of(tokens, z, 13, design)
        results.append((*features[:3], scores(features, eta)))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
