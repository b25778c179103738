"""Relevance of words."""

import math

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.quality import (
    relevance,
    relevance_terms,
)


def test_relevance_by_hand():
    phi, share = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]), np.array([3, 3, 4])
    found = relevance(phi, share, weight=0.3)
    p = share / 10
    for k, v in np.ndindex(phi.shape):
        expected = 0.3 * math.log(phi[k, v]) + 0.7 * math.log(phi[k, v] / p[v]) if phi[k, v] else -np.inf
        assert found[k, v] == pytest.approx(expected)
    assert relevance(phi, [1, 0, 1], weight=0.0)[:, 1].tolist() == [-np.inf, -np.inf]
    for wrong, words in (
        ({"weight": -1}, "weight"),
        ({"share": [1, 2]}, "3 shares"),
        ({"share": [0, 0, 0]}, "not all"),
    ):
        with pytest.raises(pt.PplTopicsError, match=words):
            relevance(phi, **{"share": share, **wrong})


def test_relevance_terms(fits):
    groups = fits["lda"].groups
    terms = relevance_terms(groups, n_words=4, weight=0.0)
    assert list(terms.columns) == ["topic", "word", "relevance", "probability", "lift"]
    assert terms["topic"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    np.testing.assert_allclose(terms["relevance"], np.log(terms["lift"]))
    by_probability = relevance_terms(groups, n_words=4, weight=1.0)
    words = by_probability.groupby("topic")["word"].apply(" ".join)
    assert words.to_dict() == fits["lda"].topics(4).set_index("topic")["words"].to_dict()
