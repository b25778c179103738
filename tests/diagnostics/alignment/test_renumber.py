"""Renumbering: permuted chains are restored exactly, and switches are undone."""

import numpy as np
import pytest
import xarray as xr
from topic_traces import ORDERS, C, K, base, renumbered, same

import ppl_topics as pt
from ppl_topics.diagnostics.alignment import agreement_table, align, aligned


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


SLOW = [pytest.param(model, marks=pytest.mark.slow) for model in ("lda_collapsed", "medlda", "dolda_spike_slab")]
FAST = {"topics": 3, "draws": 30, "warmup": 50, "chains": 2, "seed": 1, "threads": 1, "progress": False}


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
