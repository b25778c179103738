"""Alignment of topics: permuted traces are put back exactly, switches are found and undone, drift is none."""

import numpy as np
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.alignment import agreement_table, align, aligned
from ppl_topics.diagnostics.efficiency import rhat
from ppl_topics.errors import TraceError

C, T, K, V, D = 3, 60, 5, 40, 7
COEFFICIENTS = [*(f"topic {k}" for k in range(K)), "age", "intercept"]
FAST = {"topics": 3, "draws": 30, "warmup": 50, "chains": 2, "seed": 1, "threads": 1, "progress": False}


def base(seed=1, chains=C, draws=T, topics=K, responses=("a", "b")):
    """Return a trace of chains that number their topics alike, with a chain's phi_mean the mean of its draws."""
    rng = np.random.default_rng(seed)
    mean = rng.dirichlet(np.full(V, 0.1), size=topics)
    phi = rng.dirichlet(np.full(V, 1.0), size=(chains, draws, topics)) * 0.1 + 0.9 * mean
    share = rng.dirichlet(50.0 * (np.arange(topics) + 1), size=(chains, draws))
    z = rng.integers(topics, size=(chains, draws, 30)).astype(np.uint8)
    names = [*(f"topic {k}" for k in range(topics)), "age", "intercept"]
    eta = rng.normal(size=(chains, draws, len(responses), len(names))) + np.arange(len(names))
    posterior = xr.Dataset(
        {
            "phi": (("chain", "draw", "topic", "word"), phi.astype(np.float32)),
            "theta": (("chain", "draw", "doc", "topic"), rng.dirichlet(np.ones(topics), size=(chains, draws, D))),
            "topic_share": (("chain", "draw", "topic"), share),
            "alpha": (("chain", "draw", "topic"), rng.gamma(2.0, size=(chains, draws, topics))),
            "beta": (("chain", "draw"), rng.gamma(2.0, size=(chains, draws))),
            "z": (("chain", "draw", "token"), z),
            "eta": (("chain", "draw", "response", "coefficient"), eta),
            "lambda": (("chain", "draw", "response", "slope"), np.exp(eta[..., :-1])),
            "included": (("chain", "draw", "topic", "word"), (phi > 0.01).astype(np.uint8)),
        },
        {
            "chain": np.arange(chains),
            "draw": np.arange(draws),
            "word": [f"w{v}" for v in range(V)],
            "topic": np.arange(topics),
            "response": list(responses),
            "coefficient": names,
            "slope": names[:-1],
        },
    )
    warmup = xr.Dataset(
        {"topic_share": (("chain", "draw", "topic"), share[:, :1])}, {"chain": np.arange(chains), "draw": [0]}
    )
    constants = xr.Dataset(
        {
            "phi_mean": (("chain", "topic", "word"), phi.mean(axis=1).astype(np.float32)),
            "z_last": (("chain", "token"), z[:, -1]),
            "alpha": ("topic", np.full(topics, 0.1)),
        },
        {"chain": np.arange(chains), "word": posterior["word"].values, "topic": np.arange(topics)},
    )
    lp = xr.Dataset({"lp": (("chain", "draw"), rng.normal(size=(chains, draws)))}, {"chain": np.arange(chains)})
    return {"posterior": posterior, "sample_stats": lp, "warmup_posterior": warmup, "constant_data": constants}


def renumbered(groups, orders):
    """Return a trace whose chain c calls `orders[c][k]` what was its topic k: what alignment is to undo."""
    result = {}
    for name, dataset in groups.items():
        dataset = dataset.copy(deep=True)
        for key, array in dataset.data_vars.items():
            if "chain" not in array.dims:
                continue
            old = array.values
            new = old.copy()
            for c, order in enumerate(orders):
                if "topic" in array.dims:
                    axis = array.dims.index("topic") - 1
                    for k, number in enumerate(order):
                        new[c].swapaxes(0, axis)[number] = old[c].swapaxes(0, axis)[k]
                elif {"coefficient", "slope"} & set(array.dims):
                    for k, number in enumerate(order):
                        new[c][..., number] = old[c][..., k]
                elif "token" in array.dims:
                    new[c] = np.asarray(order)[old[c]]
            dataset[key] = (array.dims, new)
        result[name] = dataset
    return result


def exchanged(groups, chain, draw, topics, numbers):
    """Return a trace whose topics have other numbers from a draw on; `phi_mean` is taken anew, over all draws."""
    after = np.arange(groups["posterior"].sizes["topic"])
    after[list(topics)] = numbers
    orders = [after if c == chain else np.arange(len(after)) for c in groups["posterior"]["chain"].values]
    moved = renumbered(groups, orders)
    late = groups["posterior"]["draw"].values >= draw
    posterior = groups["posterior"].copy(deep=True)
    for key, array in posterior.data_vars.items():
        array.values[:, late] = moved["posterior"][key].values[:, late]
    constants = groups["constant_data"].copy(deep=True)
    constants["z_last"] = moved["constant_data"]["z_last"]
    constants["phi_mean"] = posterior["phi"].mean("draw")
    return {**groups, "posterior": posterior, "constant_data": constants}


def same(found, expected, **tolerance):
    for name, dataset in expected.items():
        for key, array in dataset.data_vars.items():
            assert found[name][key].dims == array.dims
            assert found[name][key].dtype == array.dtype
            np.testing.assert_allclose(found[name][key].values, array.values, err_msg=f"{name} {key}", **tolerance)


ORDERS = [[2, 0, 1, 4, 3], [4, 3, 2, 1, 0], [1, 2, 3, 4, 0]]


@pytest.mark.parametrize("by", ["phi", "counts"])
def test_permuted_chains_are_put_back_exactly(by):
    groups = base()
    if by == "counts":
        # The words of the tokens follow the topics, as they would.
        z = np.repeat(np.arange(K), 6).astype(np.uint8)
        groups["constant_data"]["z_last"] = (("chain", "token"), np.tile(z, (C, 1)))
        groups["observed_data"] = xr.Dataset({"words": ("token", np.repeat(np.arange(K) * 3, 6).astype(np.uint32))})
    given = renumbered(groups, ORDERS)
    found = align(given, by=by)
    order = ORDERS[found.reference]
    for c in range(C):
        assert [found.permutation[c][order[k]] for k in range(K)] == ORDERS[c]
    assert found.agrees.all()
    assert found.switches == ()
    # All chains by the numbers of the reference.
    same(aligned(given, found), renumbered(groups, [order] * C), rtol=0)
    assert aligned(given, found)["posterior"].attrs["aligned_to_chain"] == found.reference
    # What was aligned stays as it is, and is shared.
    again = aligned(aligned(given, found))
    same(again, aligned(given, found), rtol=0)
    assert aligned(groups)["posterior"]["phi"].values is groups["posterior"]["phi"].values


def test_the_order_of_dims_does_not_matter():
    groups = base()
    given = renumbered(groups, ORDERS)
    turned = {name: dataset.transpose(..., "draw", "chain", missing_dims="ignore") for name, dataset in given.items()}
    turned["constant_data"] = given["constant_data"].transpose("word", "topic", "token", "chain")
    found = aligned(turned)
    expected = renumbered(groups, [ORDERS[align(turned).reference]] * C)
    for key, array in expected["posterior"].data_vars.items():
        np.testing.assert_array_equal(found["posterior"][key].transpose(*array.dims).values, array.values)
    assert found["posterior"]["phi"].dims == turned["posterior"]["phi"].dims


def test_topics_of_each_response_are_aligned_apart():
    parts = [base(seed) for seed in (1, 2)]
    orders = [ORDERS, ORDERS[::-1]]

    def join(each):
        joined = {}
        for name in ("posterior", "sample_stats", "warmup_posterior", "constant_data"):
            columns = []
            for part in each:
                dataset = part[name].drop_vars(["z_last", "alpha"], errors="ignore")
                columns.append(dataset.isel(response=0, drop=True) if "response" in dataset.dims else dataset)
            joined[name] = xr.concat(columns, "response").assign_coords(response=["a", "b"])
        joined["posterior"] = joined["posterior"].transpose("chain", "draw", "response", ...)
        z = xr.concat([part["constant_data"]["z_last"] for part in each], "response").assign_coords(response=["a", "b"])
        joined["constant_data"]["z_last"] = z
        return joined

    given = join([renumbered(part, order) for part, order in zip(parts, orders, strict=True)])
    found = align(given)
    assert found.responses == ["a", "b"]
    assert found.permutation.shape == (C, 2, K)
    assert found.agrees.shape == (2, K)
    r = found.reference
    expected = join([renumbered(part, [order[r]] * C) for part, order in zip(parts, orders, strict=True)])
    same(aligned(given, found), expected, rtol=0)
    table = agreement_table(given)
    assert table["response"].tolist() == ["a"] * K + ["b"] * K
    assert (table["rhat"] < 1.2).all()


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


@pytest.mark.parametrize("draw", [1, 17, 40, T - 1])
@pytest.mark.parametrize(("topics", "numbers"), [((1, 3), (3, 1)), ((0, 2, 4), (2, 4, 0))])
def test_a_switch_is_found_at_its_draw_and_undone(draw, topics, numbers):
    groups = base()
    given = exchanged(groups, 1, draw, topics, numbers)
    (switch,) = align(given).switches
    assert (switch.chain, switch.draw, switch.response) == (1, draw, None)
    assert dict(zip(switch.topics, switch.numbers, strict=True)) == dict(zip(topics, numbers, strict=True))
    found, reference = aligned(given), align(given).reference
    for key in groups["posterior"].data_vars:
        # By the numbers of the reference, which are those of its draws before the switch, or after it where most are.
        order = np.arange(K)
        if reference == 1 and draw < T / 2:
            order[list(topics)] = numbers
        expected = renumbered(groups, [order] * C)["posterior"][key]
        np.testing.assert_array_equal(found["posterior"][key].values, expected.values)
    expected = renumbered(groups, [order] * C)["constant_data"]
    np.testing.assert_array_equal(found["constant_data"]["z_last"], expected["z_last"])
    np.testing.assert_allclose(found["constant_data"]["phi_mean"], expected["phi_mean"], atol=1e-6)


def test_several_switches_in_several_chains():
    given = exchanged(exchanged(base(), 0, 10, (0, 1), (1, 0)), 0, 25, (1, 2), (2, 1))
    given = exchanged(given, 2, 30, (3, 4), (4, 3))
    found = [(each.chain, each.draw, set(each.topics)) for each in align(given).switches]
    assert found == [(0, 10, {0, 1}), (0, 25, {1, 2}), (2, 30, {3, 4})]
    # The same topic of all chains: R-hat of everything is near 1, where before it was not.
    before, after = (float(np.nanmax(rhat(each["posterior"]["phi"]))) for each in (given, aligned(given)))
    assert before > 1.5
    assert after < 1.2


def test_words_without_draws_keep_the_mean_of_the_number():
    groups = base()
    given = exchanged(groups, 1, 40, (1, 3), (3, 1))
    given["posterior"] = given["posterior"].isel(word=slice(V - 5))
    (switch,) = align(given).switches
    assert switch.draw == 40
    found = aligned(given)["constant_data"]["phi_mean"]
    np.testing.assert_allclose(found.sum("word"), 1.0, rtol=1e-5)
    np.testing.assert_allclose(found[..., : V - 5], groups["constant_data"]["phi_mean"][..., : V - 5], atol=1e-5)


def test_drift_is_no_switch():
    """Topics that turn into others altogether, slowly or at once, keep their numbers: nobody takes their places."""
    rng = np.random.default_rng(3)
    groups = base(draws=200, chains=2)
    phi = groups["posterior"]["phi"].values
    elsewhere = rng.dirichlet(np.full(V, 0.1), size=2).astype(np.float32)
    weight = np.linspace(0.0, 1.0, 200, dtype=np.float32)[:, None]
    phi[0, :, 0] = (1 - weight) * phi[0, :, 0] + weight * elsewhere[0]
    phi[1, 100:, 1] = 0.1 * phi[1, 100:, 1] + 0.9 * elsewhere[1]
    # One odd draw, under other numbers, is not a switch either.
    phi[1, 150, [2, 3]] = phi[1, 150, [3, 2]]
    assert align(groups).switches == ()


def test_without_phi_a_switch_shows_in_shares_and_coefficients():
    groups = base(draws=100)
    given = exchanged(groups, 1, 70, (0, 4), (4, 0))
    given["posterior"] = given["posterior"].drop_vars(["phi", "included"])
    (switch,) = align(given).switches
    assert (switch.chain, switch.draw, set(switch.topics)) == (1, 70, {0, 4})
    np.testing.assert_array_equal(aligned(given)["posterior"]["theta"], groups["posterior"]["theta"])
    # Shares that wander, and cross, within the chain: no false alarm, as a rate of less than one in 20 chains.
    rng = np.random.default_rng(4)
    walks = np.abs(0.1 + np.cumsum(rng.normal(0, 0.004, size=(20, 300, K)), axis=1))
    wandering = xr.Dataset(
        {"topic_share": (("chain", "draw", "topic"), walks)}, {"chain": np.arange(20), "draw": np.arange(300)}
    )
    constants = xr.Dataset({"phi_mean": (("chain", "topic", "word"), np.tile(np.eye(K), (20, 1, 1)))})
    constants = constants.assign_coords(chain=np.arange(20), word=np.arange(K))
    assert align({"posterior": wandering, "constant_data": constants}).switches == ()


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


SLOW = [pytest.param(model, marks=pytest.mark.slow) for model in ("lda_collapsed", "medlda", "dolda_spike_slab")]


@pytest.mark.parametrize("model", ["lda", "medlda_one_vs_all", *SLOW])
def test_sampled_models(model):
    rng = np.random.default_rng(1)
    colours = {"warm": "red orange yellow", "cold": "blue green teal", "dark": "black brown gray"}
    texts = [" ".join(rng.choice(words.split(), 8)) for words in colours.values() for _ in range(10)]
    corpus = pt.Corpus.from_texts(texts, labels=[name for name in colours for _ in range(10)])
    fit = pt.sample(model, corpus, record={"z": "all"}, **FAST)
    found = align(fit.groups)
    assert found.agrees.all()
    after = fit.aligned()
    assert after.posterior.attrs["aligned_to_chain"] == found.reference
    values = after.groups["constant_data"]["z_last"].values
    # Tokens and topics moved together: the counts of each chain by word are those of its mean topics.
    np.testing.assert_array_equal(values, after.posterior["z"].isel(draw=-1).values)
    assert align(after.groups).permutation.reshape(-1, 3).tolist() == [[0, 1, 2]] * (found.permutation.size // 3)
    for chain in (0, 1):
        before, now = (each.topics(3, chain)["words"].tolist() for each in (fit, after))
        assert sorted(before) == sorted(now)
