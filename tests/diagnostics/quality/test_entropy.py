"""Entropy over documents, and effective numbers of words."""

import math

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.quality import (
    document_entropy,
    effective_words,
    entropy_of_assignments,
)


def test_entropy_of_assignments_is_that_of_counts():
    rng = np.random.default_rng(2)
    doc_ptr = np.array([0, 5, 5, 30, 60])
    z = rng.integers(0, 4, 60).astype(np.uint8)
    n_dk = np.zeros((4, 6))
    np.add.at(n_dk, (np.repeat(np.arange(4), np.diff(doc_ptr)), z), 1)
    np.testing.assert_allclose(entropy_of_assignments(doc_ptr, z, 6), document_entropy(n_dk), atol=1e-12)


def test_effective_words():
    np.testing.assert_allclose(effective_words([[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]]), [4, 1, 2])
    for wrong, words in (
        ([[0, 0]], "topic 0 has no word"),
        ([[-1, 2]], "negative"),
        ([1, 2], "shape"),
        ([[]], "shape"),
    ):
        with pytest.raises(pt.PplTopicsError, match=words):
            effective_words(wrong)


def test_entropy():
    assert document_entropy(np.ones((8, 1)))[0] == pytest.approx(math.log(8))
    assert document_entropy([[5, 0], [0, 0]]).tolist() == [0.0, 0.0]
    assert document_entropy([[3], [1]])[0] == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
