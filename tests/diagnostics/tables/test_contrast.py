"""Two topics word by word."""

import numpy as np
import pytest
from topic_traces import base

from ppl_topics.diagnostics.tables import contrast
from ppl_topics.errors import TraceError


def of(groups, posterior):
    """The trace with another posterior."""
    return {**groups, "posterior": posterior}


def test_words_are_those_that_differ_most_with_quantiles_over_draws():
    groups = base()
    table = contrast(groups, 3, 1, chain=2, n_words=4, probability=0.8)
    mean = groups["constant_data"]["phi_mean"].sel(chain=2).values.astype(float)
    difference = mean[3] - mean[1]
    order = np.argsort(-difference)
    chosen = [*order[:4], *order[-4:]]
    assert list(table["word"]) == [f"w{v}" for v in chosen]
    np.testing.assert_allclose(table["difference"], difference[chosen])
    np.testing.assert_allclose(table[["probability_a", "probability_b"]], mean[[3, 1]][:, chosen].T)
    draws = groups["posterior"]["phi"].sel(chain=2).values.astype(float)
    ends = np.quantile(draws[:, 3] - draws[:, 1], [0.1, 0.9], axis=0)[:, chosen]
    np.testing.assert_allclose(table[["low", "high"]], ends.T)
    assert (table["low"] < table["difference"]).all()
    assert table.attrs == {"chain": 2, "topics": (3, 1), "probability": 0.8}


def test_the_other_way_round_and_all_words():
    groups = base()
    table, other = contrast(groups, 0, 4, n_words=None), contrast(groups, 4, 0, n_words=None)
    assert list(other["word"]) == list(table["word"])[::-1]
    np.testing.assert_allclose(other["difference"], -table["difference"][::-1])
    np.testing.assert_allclose(other["low"], -table["high"][::-1])
    assert len(table) == 40
    # Probabilities add up to 1 in both topics.
    assert table["difference"].sum() == pytest.approx(0.0, abs=1e-6)


def test_words_that_do_not_differ_have_no_row():
    groups = base()
    phi = groups["constant_data"]["phi_mean"]
    phi.loc[{"topic": 1}] = phi.sel(topic=0).values
    assert len(contrast(groups, 0, 1)) == 0
    # One word of topic 1 has what two words lose.
    values = phi.sel(chain=0, topic=0).values.copy()
    values[[5, 6, 7]] += np.array([-0.5, -0.5, 1.0]) * values[[5, 6]].min()
    phi.loc[{"topic": 1, "chain": 0}] = values
    table = contrast(groups, 0, 1)
    assert set(table["word"][:2]) == {"w5", "w6"}
    assert list(table["word"][2:]) == ["w7"]


def test_intervals_are_of_recorded_words_only():
    groups = base()
    kept = [30, 2, 17, 5]
    some = contrast(of(groups, groups["posterior"].isel(word=kept)), 0, 1, n_words=None)
    every = contrast(groups, 0, 1, n_words=None)
    known = some["word"].isin([f"w{v}" for v in kept])
    assert known.sum() == 4
    np.testing.assert_array_equal(some["low"][known], every["low"][known])
    assert some.loc[~known, ["low", "high"]].isna().all(axis=None)
    for posterior in (groups["posterior"].isel(draw=[3]), groups["posterior"].drop_vars("phi")):
        table = contrast(of(groups, posterior), 0, 1)
        assert table[["low", "high"]].isna().all(axis=None)
        np.testing.assert_array_equal(table["difference"], contrast(groups, 0, 1)["difference"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"a": 5}, "a: the trace has no topic 5; it has 0 to 4"),
        ({"b": True}, "b: the trace has no topic True"),
        ({"b": 1.0}, "b: the trace has no topic 1.0"),
        ({"b": 0}, "b: is topic 0, as a is; name two different topics"),
        ({"n_words": 0}, "n_words: must be a whole number of at least 1, or None"),
        ({"probability": 1}, "probability: must be a number between 0 and 1"),
        ({"chain": 3}, "no chain 3"),
        ({"response": "law"}, "share the topics"),
    ],
)
def test_what_there_is_not_is_refused(given, words):
    with pytest.raises(TraceError, match=words):
        contrast(base(), **{"a": 0, "b": 1, **given})


def test_a_trace_without_mean_topics_is_refused():
    with pytest.raises(TraceError, match="no `phi_mean`"):
        contrast({"posterior": base()["posterior"]}, 0, 1)
