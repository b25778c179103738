"""The map of topics."""

import numpy as np

from ppl_topics.diagnostics.quality import (
    jensen_shannon,
    topic_map,
)


def test_topic_map():
    # Two topics alike, one apart; JSD of topics without a common word is 1 bit.
    phi = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(jensen_shannon(phi), [[0, 0, 1], [0, 0, 1], [1, 1, 0]], atol=1e-7)
    places = topic_map(phi)
    np.testing.assert_allclose(places, [[-1 / 3, 0], [-1 / 3, 0], [2 / 3, 0]], atol=1e-7)
    assert topic_map(phi[:1]).tolist() == [[0.0, 0.0]]
    np.testing.assert_allclose(topic_map(phi[1:]), [[0.5, 0.0], [-0.5, 0.0]], atol=1e-12)
    assert topic_map(np.ones((4, 5))).tolist() == [[0.0, 0.0]] * 4
    # Three topics make a triangle, whose sides the plane holds.
    three = np.random.default_rng(1).dirichlet(np.ones(6), 3)
    found = topic_map(three)
    sides = np.linalg.norm(found[:, None] - found[None], axis=2)
    np.testing.assert_allclose(sides, jensen_shannon(three), atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)
    # Signs do not depend on the order of the topics.
    np.testing.assert_allclose(topic_map(three[::-1]), found[::-1], atol=1e-10)
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()


def test_jensen_shannon_is_scipys():
    from scipy.spatial import distance

    phi = np.random.default_rng(7).dirichlet(np.full(30, 0.1), 14)
    phi[3] = phi[9]
    expected = [[distance.jensenshannon(p, q, base=2) for q in phi] for p in phi]
    np.testing.assert_allclose(jensen_shannon(phi), expected, atol=1e-7)
