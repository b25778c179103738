"""Which topics are matched, which of them agree, and what cannot be aligned."""

import numpy as np
import pytest
import xarray as xr
from topic_traces import ORDERS, C, K, V, base, renumbered, same

from ppl_topics.diagnostics.alignment import agreement_table, align, aligned
from ppl_topics.errors import TraceError


def test_only_exchangeable_topics_change_places():
    groups = base()
    # Topic 0 is told apart by its concentration, topics 3 and 4 by having no coefficients.
    groups["constant_data"]["alpha"] = ("topic", [0.5, 0.1, 0.1, 0.1, 0.1])
    few = ["topic 0", "topic 1", "topic 2", "intercept"]
    posterior = groups["posterior"].drop_vars(["lambda", "slope"]).isel(coefficient=slice(4))
    groups["posterior"] = posterior.assign_coords(coefficient=few)
    assert align(groups).exchangeable.tolist() == [2, 1, 1, 0, 0]
    allowed = [[0, 2, 1, 4, 3], [0, 1, 2, 4, 3], [0, 1, 2, 3, 4]]
    fixed = groups["posterior"].drop_vars("eta")
    given = renumbered({**groups, "posterior": fixed}, allowed)
    order = np.array([[0, 2, 1], [0, 1, 2], [0, 1, 2]])
    eta = groups["posterior"]["eta"].copy(deep=True)
    for c in range(C):
        eta.values[c][..., order[c]] = groups["posterior"]["eta"].values[c][..., :3]
    given["posterior"]["eta"] = eta
    found = align(given)
    assert found.agrees.all()
    result = aligned(given, found)["posterior"]
    unchanged = renumbered({"posterior": fixed}, [allowed[found.reference]] * C)["posterior"]
    np.testing.assert_array_equal(result["phi"], unchanged["phi"])
    expected = groups["posterior"]["eta"].values.copy()
    expected[..., order[found.reference]] = groups["posterior"]["eta"].values[..., :3]
    np.testing.assert_array_equal(result["eta"], expected)
    # A permutation that would cross the classes is not followed, however alike the topics are.
    crossed = align(renumbered(groups | {"posterior": fixed}, [[1, 0, 2, 3, 4], *allowed[2:] * 2]))
    assert crossed.permutation[:, 0].tolist() == [0, 0, 0]
    assert not crossed.agrees[0]
    # Where each topic has a concentration of its own nothing is renumbered.
    groups["constant_data"]["alpha"] = ("topic", np.arange(1.0, K + 1))
    assert (align(renumbered(groups | {"posterior": fixed}, ORDERS)).permutation == np.arange(K)).all()


def test_topics_that_only_some_chains_have_are_named():
    groups = base()
    other = np.random.default_rng(9).dirichlet(np.full(V, 0.1)).astype(np.float32)
    for array in (groups["posterior"]["phi"], groups["constant_data"]["phi_mean"]):
        array.values[2][..., 4, :] = other
    given = renumbered(groups, ORDERS)
    found = align(given)
    # The two chains that have all topics are closest to each other: one of them is the reference.
    assert found.reference in (0, 1)
    number = ORDERS[found.reference][4]
    assert np.flatnonzero(~found.agrees).tolist() == [number]
    assert found.agrees_in.sum() == C * K - 1
    table = agreement_table(given, n_words=4)
    assert table.attrs == {"reference": found.reference}
    row = table.set_index("topic").loc[number]
    assert not row["agrees"]
    assert row["similarity"] == pytest.approx(found.similarity[2, number])
    assert row["similarity"] < 0.5
    assert row["rhat"] > 1.5
    assert len(row["words"].split()) == 4
    rest = table[table["agrees"]]
    assert (rest["rhat"] < 1.15).all()
    # The planted bug, no alignment: the same numbers are other topics.
    assert (rest["rhat_before"] > 1.5).all()
    assert table["share"].is_monotonic_decreasing


@pytest.mark.parametrize(
    ("other", "tokens", "limit"),
    [
        # Far from any other topic: only chains of one mode agree.
        (0.0, None, 0.98),
        # At distance d from another topic, the match may be at d / 2: a similarity of 1 - (1 - 0.94) / 4.
        (0.94, None, 0.985),
        # As many tokens as no draw is 0.98 alike for: two words, and n tokens in the topic, 1 - (2 - 1) / (8 n).
        (0.0, 8, 1 - 1 / 32),
    ],
)
def test_thresholds_of_agreement(other, tokens, limit):
    p = np.array([0.5, 0.5, 0.0, 0.0])
    q = np.array([other**2 / 2, other**2 / 2, 1 - other**2, 0.0])
    for similarity, agrees in ((limit + 0.001, True), (limit - 0.001, False)):
        near = np.array([similarity**2 / 2, similarity**2 / 2, 0.0, 1 - similarity**2])
        constants = xr.Dataset(
            {"phi_mean": (("chain", "topic", "word"), np.stack([[p, q], [near, q]]))},
            {"chain": [0, 1], "word": np.arange(4)},
        )
        if tokens is not None:
            constants["doc_length"] = ("doc", [tokens])
        shares = np.full((2, 3, 2), 0.5)
        posterior = xr.Dataset(
            {"topic_share": (("chain", "draw", "topic"), shares)}, {"chain": [0, 1], "draw": np.arange(3)}
        )
        found = align({"posterior": posterior, "constant_data": constants})
        assert found.similarity[1, 0] == pytest.approx(similarity)
        assert found.agrees.tolist() == [agrees, True]


def test_one_chain_one_draw_one_topic_and_empty_topics():
    one = base(chains=1, draws=1)
    found = align(one)
    assert (found.reference, found.permutation.tolist(), found.agrees.all()) == (0, [list(range(K))], True)
    same(aligned(one), one, rtol=0)
    assert agreement_table(one)["rhat"].isna().all()
    single = base(topics=1)
    assert align(single).agrees.tolist() == [True]
    assert align(single).nearest.tolist() == [0.0]
    assert len(agreement_table(single)) == 1
    # Two topics without tokens have the mean of the prior in all chains: they are alike, and agree.
    empty = base()
    empty["constant_data"]["phi_mean"][:, 3:] = np.float32(1 / V)
    assert align(renumbered(empty, ORDERS)).agrees.all()
    # By counts they have no words.
    empty["constant_data"]["z_last"][:] = 0
    empty["observed_data"] = xr.Dataset({"words": ("token", np.zeros(30, dtype=np.uint32))})
    assert np.isfinite(align(empty, by="counts").similarity).all()


def test_what_cannot_be_aligned_is_refused():
    groups = base()
    with pytest.raises(TraceError, match="expected 'phi' or 'counts', got 'theta'"):
        align(groups, by="theta")
    with pytest.raises(TraceError, match="lacks `z_last` in `constant_data` or `words`"):
        align(groups, by="counts")
    bare = {"posterior": groups["posterior"].drop_vars(["phi", "included"])}
    with pytest.raises(TraceError, match="neither `phi_mean` in `constant_data` nor draws of `phi`"):
        align(bare)
    # By draws of phi where the means lack.
    assert align({"posterior": renumbered(groups, ORDERS)["posterior"]}).agrees.all()
    with pytest.raises(TraceError, match="the alignment belongs to another trace"):
        aligned(groups, align(base(chains=2)))
    with pytest.raises(TraceError, match="no topics to align"):
        align({"posterior": groups["posterior"][["beta"]].drop_vars("topic", errors="ignore")})
    with pytest.raises(TraceError, match="lacks the dimensions chain and draw"):
        align({"posterior": xr.Dataset()})
    with pytest.raises(TraceError, match="n_words"):
        agreement_table(groups, n_words=0)
