"""In how many chains topics recur, held against similarities that are chosen, and counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from topic_traces import ORDERS, C, K, V, base, renumbered

import ppl_topics as pt
from ppl_topics.diagnostics.alignment import agreement_table, align, topic_agreement
from ppl_topics.diagnostics.alignment.recurrence import RECURS, recurrence, recurs
from ppl_topics.errors import TraceError


def made(similarity, nearest=0.0, agrees=0.99):
    """Return what recurrence reads of an alignment, with the reference first."""
    table = np.vstack([np.ones(len(similarity[0])), similarity])
    near = np.broadcast_to(nearest, table.shape[1:])
    return SimpleNamespace(similarity=table, nearest=near, agrees_in=table >= agrees, chains=list(range(len(table))))


def test_a_topic_recurs_where_it_is_similar_enough_and_nothing_is_more_similar():
    found = recurs(made([[0.86, 0.84, 0.86, 0.995, 0.2]], nearest=[0.1, 0.1, 0.9, 0.999, 0.0]))
    assert found.tolist() == [[True] * 5, [True, False, False, True, False]]
    # What agrees recurs, also a topic of so few tokens that its draws are less alike.
    assert recurs(made([[0.6]], agrees=0.5)).tolist() == [[True], [True]]


@pytest.mark.parametrize(
    ("similarity", "says"),
    [
        ([[0.9, 0.9, 0.1], [0.9, 0.2, 0.1]], "1 of 3 topics recur in all 3 chains, 1 in some, 1 in one only"),
        ([[0.9, 0.9, 0.9]], "3 of 3 topics recur in both chains"),
        ([[0.9, 0.1, 0.2]], "1 of 3 topics recur in both chains, 2 in one only"),
        ([[0.9, 0.1], [0.1, 0.9]], "0 of 2 topics recur in all 3 chains, 2 in some"),
    ],
)
def test_the_sentence_counts_topics(similarity, says):
    head, *tail = says.split(", ")
    assert recurrence(made(similarity)) == ", ".join([f"{head} (similarity at least 0.85)", *tail])


@pytest.fixture(scope="module")
def modes():
    """A trace whose topic 4 is another one in chain 2, and topic 3 a variation of itself in chains 0 and 2."""
    groups = base()
    rng = np.random.default_rng(9)
    other, one, two = rng.dirichlet(np.full(V, 0.1)), *np.exp(rng.normal(0, 0.8, (2, V)))
    for array in (groups["posterior"]["phi"], groups["constant_data"]["phi_mean"]):
        array.values[2][..., 4, :] = other
        array.values[0][..., 3, :] *= one
        array.values[2][..., 3, :] *= two
        array.values[:] /= array.values.sum(axis=-1, keepdims=True)
    return renumbered(groups, ORDERS)


def expected(groups, n_words):
    """Return the rows of the table, by loops over similarities of the mean topics."""
    phi = groups["constant_data"]["phi_mean"].values.astype(np.float64)
    phi /= phi.sum(axis=-1, keepdims=True)
    words = groups["constant_data"]["word"].values
    reference = align(groups).reference
    others = [c for c in range(C) if c != reference]
    rows = {}
    for k in range(K):
        # Chain c calls topic j what the base calls ORDERS[c].index(j).
        own = ORDERS[reference].index(k)
        near = max(np.sqrt(phi[reference, k] * phi[reference, j]).sum() for j in range(K) if j != k)
        top = [words[v] for v in np.argsort(-phi[reference, k])[:n_words]]
        similar, shared, recurring = [], set(top), 0
        for c in others:
            match = phi[c, ORDERS[c][own]]
            similar.append(np.sqrt(phi[reference, k] * match).sum())
            if similar[-1] >= max(0.85, near) or similar[-1] >= 0.99:
                recurring += 1
                shared &= {words[v] for v in np.argsort(-match)[:n_words]}
        text = " ".join(word for word in top if word in shared) if recurring else ""
        rows[k] = (recurring, min(similar), np.mean(similar), " ".join(top), text)
    return rows


def test_the_table_holds_what_loops_over_topics_find(modes):
    table = topic_agreement(modes, n_words=6)
    found = align(modes)
    assert table.attrs == {"reference": found.reference, "others": C - 1, "similarity": RECURS}
    assert table["share"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        recurring, least, mean, words, shared = expected(modes, 6)[row["topic"]]
        assert (row["recurs_in"], row["words"], row["shared"]) == (recurring, words, shared)
        assert row["similarity_min"] == pytest.approx(least, abs=1e-5)
        assert row["similarity_mean"] == pytest.approx(mean, abs=1e-5)
    assert table.set_index("topic")["agrees"].sort_index().tolist() == found.agrees.tolist()
    # The planted faults: the other topic recurs in the one chain that has it, and the variation in all.
    by_topic = table.set_index("topic")
    other, variation = (ORDERS[found.reference][k] for k in (4, 3))
    assert by_topic.loc[other, "recurs_in"] == (1 if found.reference != 2 else 0)
    assert by_topic.loc[variation, "recurs_in"] == 2
    assert not by_topic.loc[variation, "agrees"]
    assert 0.85 < by_topic.loc[variation, "similarity_min"] < 0.98
    counted = agreement_table(modes).set_index("topic")["recurs_in"]
    assert counted.sort_index().tolist() == by_topic["recurs_in"].sort_index().tolist()


def test_words_are_shared_only_with_chains_in_which_the_topic_recurs(modes):
    table = topic_agreement(modes, n_words=6, alignment=align(modes))
    assert (table.loc[table["recurs_in"] > 0, "shared"] != "").all()
    alone = topic_agreement(separate())
    assert alone["recurs_in"].tolist() == [0, 0]
    assert alone["shared"].tolist() == ["", ""]


def separate():
    """A trace of two chains without a common word, and without shares of topics."""
    phi = np.eye(4).reshape(2, 2, 4)
    constants = xr.Dataset(
        {"phi_mean": (("chain", "topic", "word"), phi)}, {"chain": [0, 1], "topic": [0, 1], "word": list("abcd")}
    )
    posterior = xr.Dataset({"beta": (("chain", "draw"), np.ones((2, 3)))}, {"chain": [0, 1], "draw": np.arange(3)})
    return {"posterior": posterior, "constant_data": constants}


def test_shares_that_were_not_recorded_are_missing():
    assert topic_agreement(separate())["share"].isna().all()


def test_one_chain_and_no_words_are_refused():
    with pytest.raises(
        TraceError, match=r"there is one chain, and topics recur in others; run at least two \(chains\)"
    ):
        topic_agreement(base(chains=1))
    with pytest.raises(TraceError, match="n_words: must be a whole number of at least 1, got 0"):
        topic_agreement(base(), n_words=0)


def test_each_response_has_its_own_topics():
    rng = np.random.default_rng(1)
    colours = {"warm": "red orange yellow", "cold": "blue green teal", "dark": "black brown gray"}
    texts = [" ".join(rng.choice(words.split(), 8)) for words in colours.values() for _ in range(10)]
    corpus = pt.Corpus.from_texts(texts, labels=[name for name in colours for _ in range(10)])
    how = {"topics": 3, "warmup": 20, "draws": 20, "chains": 2, "seed": 1, "threads": 1, "progress": False}
    fit = pt.sample("medlda_one_vs_all", corpus, **how)
    table = fit.topic_agreement()
    assert table["response"].tolist() == ["cold"] * 3 + ["dark"] * 3 + ["warm"] * 3
    found = fit.verdict().alignment
    for place, response in enumerate(found.responses):
        own = table[table["response"] == response].sort_values("topic")
        np.testing.assert_allclose(own["similarity_min"], found.similarity[:, place].min(axis=0))
        shares = fit.posterior["topic_share"].sel(response=response).mean("draw").values
        by_number = [np.mean([shares[c][found.permutation[c, place, k]] for c in range(2)]) for k in range(3)]
        np.testing.assert_allclose(own["share"], by_number)
