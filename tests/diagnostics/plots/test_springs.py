"""Places for nodes, and boxes that do not overlap."""

import numpy as np
import pytest

from ppl_topics.diagnostics.plots.springs import apart, springs


def overlaps(centres, boxes):
    """The pairs of boxes that overlap."""
    edges = [(*(c - b / 2), *(c + b / 2)) for c, b in zip(centres, boxes, strict=True)]
    return [
        (i, j)
        for i, one in enumerate(edges)
        for j, two in enumerate(edges[:i])
        if min(one[2], two[2]) - max(one[0], two[0]) > 1e-6 and min(one[3], two[3]) - max(one[1], two[1]) > 1e-6
    ]


def test_what_is_joined_is_near():
    pull = np.zeros((9, 9))
    # Three triangles, whose nodes stand apart in the first order.
    for node in range(9):
        pull[node, [(node + 3) % 9, (node + 6) % 9]] = 1.0
    places = springs(pull, np.arange(9))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distance, np.nan)
    assert np.nanmax(distance[pull > 0]) < np.nanmin(distance[pull == 0])
    np.testing.assert_allclose([places.min(axis=0), places.max(axis=0)], [[0, 0], [1, 1]])
    np.testing.assert_array_equal(places, springs(pull, np.arange(9)))


def test_one_node_is_in_the_middle_and_nodes_without_edges_stay_apart():
    np.testing.assert_array_equal(springs(np.zeros((1, 1)), np.array([0])), [[0.5, 0.5]])
    places = springs(np.zeros((12, 12)), np.arange(12))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2) + 9.0 * np.eye(12)
    assert distance.min() > 0.15


@pytest.mark.parametrize("seed", range(5))
def test_boxes_do_not_overlap_and_stay_inside(seed):
    rng = np.random.default_rng(seed)
    boxes = rng.uniform([0.3, 0.2], [1.8, 0.7], size=(25, 2))
    area = (8.0, 5.5)
    centres = 0.5 * boxes + rng.random((25, 2)) * (np.asarray(area) - boxes)
    assert overlaps(centres, boxes)
    moved = apart(centres, boxes, area)
    assert overlaps(moved, boxes) == []
    assert (moved - boxes / 2 > -1e-9).all()
    assert (moved + boxes / 2 < np.asarray(area) + 1e-9).all()


def test_boxes_with_one_centre_and_boxes_without_space():
    boxes = np.full((4, 2), 0.5)
    assert overlaps(apart(np.full((4, 2), 1.0), boxes, (3.0, 3.0)), boxes) == []
    there = np.array([[0.3, 0.3], [1.0, 1.0]])
    np.testing.assert_array_equal(apart(there, np.full((2, 2), 0.5), (2.0, 2.0)), there)
    # Nine boxes do not fit, and none leaves the area.
    moved = apart(np.random.default_rng(1).random((9, 2)), np.full((9, 2), 0.5), (1.0, 1.0))
    assert ((moved >= 0.25) & (moved <= 0.75)).all()
