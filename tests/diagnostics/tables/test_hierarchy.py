"""A tree of topics, and the draws that agree."""

from itertools import combinations

import numpy as np
import pytest
from topic_traces import base

from ppl_topics.diagnostics.tables import topic_hierarchy
from ppl_topics.errors import TraceError


def hellinger(phi):
    """Distances between all topics, as the length of the difference of the roots."""
    return np.array([[np.sqrt(0.5 * np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)) for q in phi] for p in phi])


def average_linkage(distance):
    """The sets of topics that are merged, and at which distance, straight from the definition."""
    clusters, merges = [frozenset([k]) for k in range(len(distance))], []
    while len(clusters) > 1:
        near = {
            (one, two): np.mean([distance[i, j] for i in one for j in two]) for one, two in combinations(clusters, 2)
        }
        one, two = min(near, key=near.get)
        clusters = [each for each in clusters if each not in (one, two)] + [one | two]
        merges.append((one | two, near[one, two]))
    return merges


def lumped(phi, kept):
    return np.column_stack([phi[:, kept], 1.0 - phi[:, kept].sum(axis=1)])


@pytest.fixture(scope="module")
def unsure():
    """A trace of six topics whose draws have different trees."""
    groups = base(seed=3, chains=2, draws=15, topics=6)
    rng = np.random.default_rng(4)
    phi = 0.7 * groups["posterior"]["phi"].values + 0.3 * rng.dirichlet(np.full(40, 0.3), size=(2, 15, 6))
    groups["posterior"]["phi"].values[:] = phi / phi.sum(axis=-1, keepdims=True)
    groups["constant_data"]["phi_mean"] = groups["posterior"]["phi"].mean("draw")
    return groups


def check(table, draws):
    """The tree is that of the mean distances of the draws, and support is the share of their trees with each merge."""
    distances = [hellinger(phi) for phi in draws]
    expected, trees = average_linkage(np.mean(distances, axis=0)), [average_linkage(each) for each in distances]
    assert [frozenset(left + right) for left, right in zip(table["left"], table["right"], strict=True)] == [
        topics for topics, _ in expected
    ]
    np.testing.assert_allclose(table["distance"], [distance for _, distance in expected], rtol=1e-5)
    support = [np.mean([topics in [own for own, _ in tree] for tree in trees]) for topics, _ in expected]
    np.testing.assert_allclose(table["support"], support)


@pytest.mark.parametrize("chain", [0, 1])
def test_merges_and_support_by_hand(unsure, chain):
    phi = unsure["posterior"]["phi"].sel(chain=chain).values.astype(float)
    table = topic_hierarchy(unsure, chain=chain)
    check(table, phi)
    # Some draws have other trees, but all have a root.
    assert ((table["support"] > 0) & (table["support"] < 1)).any()
    assert table["support"].iloc[-1] == 1.0
    assert table.attrs == {"chain": chain, "draws": 15, "words": 40, "vocabulary": 40}


def test_words_that_were_not_recorded_count_as_one(unsure):
    kept = np.array([31, 2, 17, 5, 8, 20])
    table = topic_hierarchy({**unsure, "posterior": unsure["posterior"].isel(word=kept)})
    phi = unsure["posterior"]["phi"].sel(chain=0).values.astype(float)
    check(table, [lumped(draw, kept) for draw in phi])
    assert table.attrs == {"chain": 0, "draws": 15, "words": 6, "vocabulary": 40}
    assert table["distance"].iloc[-1] < topic_hierarchy(unsure)["distance"].iloc[-1]


def test_without_draws_there_is_no_support(unsure):
    posterior = unsure["posterior"]
    expected = average_linkage(hellinger(unsure["constant_data"]["phi_mean"].values[0].astype(float)))
    for other in (posterior.drop_vars("phi"), posterior.isel(draw=[2], word=[0, 1, 2])):
        table = topic_hierarchy({**unsure, "posterior": other})
        assert table["support"].isna().all()
        np.testing.assert_allclose(table["distance"], [distance for _, distance in expected], rtol=1e-6)
        assert table.attrs == {"chain": 0, "draws": 0, "words": 40, "vocabulary": 40}


def test_alike_topics_are_merged_first_and_stand_side_by_side():
    groups = base(seed=5, topics=4)
    phi = groups["posterior"]["phi"].values
    # 0 and 2 are alike, and 1 and 3.
    phi[:, :, 2:] = 0.98 * phi[:, :, :2] + 0.02 * phi[:, :, 2:]
    groups["constant_data"]["phi_mean"] = groups["posterior"]["phi"].mean("draw")
    table = topic_hierarchy(groups)
    assert {frozenset(table["left"][i] + table["right"][i]) for i in (0, 1)} == {frozenset([0, 2]), frozenset([1, 3])}
    assert (table["support"] == 1.0).all()
    order = table["left"][2] + table["right"][2]
    assert abs(order.index(0) - order.index(2)) == 1
    assert abs(order.index(1) - order.index(3)) == 1


def test_topics_without_tokens_are_alike():
    groups = base(topics=3)
    groups["constant_data"]["phi_mean"].values[:, 1:] = 1.0 / 40
    table = topic_hierarchy({**groups, "posterior": groups["posterior"].drop_vars("phi")})
    assert set(table["left"][0] + table["right"][0]) == {1, 2}
    assert table["distance"][0] == pytest.approx(0.0, abs=1e-7)


def test_what_there_is_not_is_refused():
    with pytest.raises(TraceError, match="at least two"):
        topic_hierarchy(base(topics=1))
    with pytest.raises(TraceError, match="no chain 3"):
        topic_hierarchy(base(), chain=3)
    with pytest.raises(TraceError, match="no `phi_mean`"):
        topic_hierarchy({"posterior": base()["posterior"]})
