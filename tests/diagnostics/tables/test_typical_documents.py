"""The documents with the largest share of each topic, and that the report shows the same."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from document_traces import IDS, LENGTHS, D, K, T, first_documents, trace, without_theta

import ppl_topics as pt
from ppl_topics.diagnostics.report import report_html
from ppl_topics.diagnostics.tables.typical_documents import most_about
from ppl_topics.fit import Fit
from ppl_topics.results.documents import DocumentTopics, Part

GROUPS = trace()
FIT = Fit(GROUPS)
FULL = [d for d in range(D) if LENGTHS[d]]


def ranked(share):
    """Return the documents with tokens, the largest share first."""
    return sorted(FULL, key=lambda d: -share[d])


@pytest.mark.parametrize("chain", [0, 1])
def test_shares_and_intervals_are_those_of_the_draws(chain):
    table = FIT.typical_documents(n=2, chain=chain, probability=0.8)
    draws = GROUPS["posterior"]["theta"].values[chain].astype(float)
    mean = draws.mean(axis=0)
    assert list(table.columns) == ["topic", "words", "doc", "tokens", "share", "low", "high"]
    assert table["topic"].tolist() == [0, 0, 1, 1, 2, 2]
    docs = [d for k in range(K) for d in ranked(mean[:, k])[:2]]
    assert table["doc"].tolist() == [IDS[d] for d in docs]
    assert table["tokens"].tolist() == LENGTHS[docs].tolist()
    np.testing.assert_allclose(table["share"], mean[docs, table["topic"]], rtol=1e-5)
    for row, d in zip(table.itertuples(), docs, strict=True):
        low, high = np.sort(draws[:, d, row.topic])[[0, -1]]
        assert low <= row.low < row.share < row.high <= high
        assert np.mean((draws[:, d, row.topic] >= row.low) & (draws[:, d, row.topic] <= row.high)) == pytest.approx(0.8)
    assert table.attrs == {"chain": chain, "estimate": "draws", "probability": 0.8}
    best = FIT.topics(5, chain).set_index("topic")["words"]
    assert table["words"].tolist() == best.loc[table["topic"]].tolist()


def test_without_draws_of_all_documents_they_are_those_of_the_last_state():
    constants = GROUPS["constant_data"]
    docs = np.repeat(np.arange(D), LENGTHS)
    z, alpha = constants["z_last"].values[1], constants["alpha"].values
    counts = np.array([[np.sum((docs == d) & (z == k)) for k in range(K)] for d in range(D)])
    expected = (counts + alpha) / (LENGTHS[:, None] + alpha.sum())
    for groups in (without_theta(GROUPS), first_documents(GROUPS, 4)):
        table = Fit(groups).typical_documents([2, 0], n=20, chain=1)
        assert table["topic"].tolist() == [2] * 8 + [0] * 8
        for k in (0, 2):
            rows = table[table["topic"] == k]
            # Of equal shares, that of the longer document comes first.
            order = sorted(FULL, key=lambda d: (-expected[d, k], -LENGTHS[d], d))
            assert rows["doc"].tolist() == [IDS[d] for d in order]
            np.testing.assert_allclose(rows["share"], expected[order, k])
        assert table[["low", "high"]].isna().all(axis=None)
        assert table.attrs["estimate"] == "z_last"
    first = Fit(first_documents(GROUPS, 4)).typical_documents(0, n=9, estimate="draws")
    assert set(first["doc"]) == {"d0", "d1", "d3"}
    assert first["low"].notna().all()


def test_a_short_document_has_a_smaller_share_than_a_long_one():
    # Both have all of their tokens in topic 0: (2 + 0.1) / (2 + 0.6) and (9 + 0.1) / (9 + 0.6).
    z = np.where(np.repeat(np.arange(D), LENGTHS) % 2 == 1, 0, 1)
    constants = GROUPS["constant_data"].assign(z_last=(("chain", "token"), np.array([z, z], np.uint8)))
    fit = Fit({**without_theta(GROUPS), "constant_data": constants})
    table = fit.typical_documents(0, n=4)
    assert table["doc"].tolist() == ["d3", "d5", "d7", "d1"]
    np.testing.assert_allclose(table["share"], [9.1 / 9.6, 5.1 / 5.6, 3.1 / 3.6, 2.1 / 2.6])
    assert fit.typical_documents(0, n=2, min_tokens=4)["doc"].tolist() == ["d3", "d5"]
    # The others have none of their tokens in it, and the shorter one more of the prior: 0.1 / (4 + 0.6).
    assert fit.typical_documents(0, n=3, min_tokens=4)["doc"].tolist() == ["d3", "d5", "d0"]


def test_ties_documents_without_tokens_and_topics_that_a_document_may_not_have():
    theta = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.9, 0.1], [1.0, 1e-100]])
    shares = DocumentTopics(
        Part(0, None), "z_last", np.array(list("abcde"), object), np.array([3, 7, 3, 0, 2]), np.arange(2), theta
    )
    assert most_about(shares, 0, 9).tolist() == [4, 1, 0, 2]
    assert most_about(shares, 1, 9).tolist() == [1, 0, 2]
    assert most_about(shares, 1, 2).tolist() == [1, 0]
    assert most_about(shares, 0, 2, min_tokens=3).tolist() == [1, 0]
    rng = np.random.default_rng(0)
    many = rng.choice(np.linspace(0.1, 0.9, 9), size=(500, 1))
    lengths = rng.integers(0, 5, 500)
    shares = DocumentTopics(Part(0, None), "z_last", np.arange(500), lengths, np.arange(1), many)
    slowly = sorted(np.flatnonzero(lengths), key=lambda d: (-many[d, 0], -lengths[d], d))
    assert most_about(shares, 0, 30).tolist() == slowly[:30]


def test_texts_are_shown_on_one_line_and_cut():
    texts = [f"the  text\nof {name}, which goes on" for name in IDS]
    expected = [f"the text of {name}, which goes on" for name in FIT.typical_documents()["doc"]]
    by_id = dict(zip(IDS, texts, strict=True))
    for given in (texts, tuple(texts), pd.Series(texts, index=range(9, 18)), iter(texts), by_id):
        assert FIT.typical_documents(texts=given)["text"].tolist() == expected
    cut = FIT.typical_documents(texts=texts, characters=12)["text"]
    assert cut.tolist() == [f"{line[:11]}…" for line in expected]


def test_topics_have_names_if_the_model_has():
    named = GROUPS["constant_data"].assign(topic_name=("topic", np.array(["sport", "", "sea"], object)))
    table = Fit({**GROUPS, "constant_data": named}).typical_documents([2, 1], n=1)
    assert table["name"].tolist() == ["sea", ""]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"topics": 3}, "topics: the trace has no topic 3; it has 0 to 2"),
        ({"topics": "all"}, "topics: the trace has no topic 'all'"),
        ({"topics": []}, "topics: name at least one"),
        ({"n": 0}, "n: must be a whole number of at least 1, got 0"),
        ({"min_tokens": 2.5}, "min_tokens: must be a whole number"),
        ({"characters": 0}, "characters: must be"),
        ({"probability": 90}, "probability: must be a number between 0 and 1"),
        ({"chain": 2}, "no chain 2"),
        ({"response": "a"}, "all responses share the topics"),
        ({"texts": ["a"] * 8}, "texts: expected one for each of 9 training documents, in their order, got 8"),
        ({"texts": "one text"}, "texts: expected a text for each document, got str"),
        ({"texts": [None] * 9}, "texts: expected the text of document 'd\\d', got None"),
        ({"texts": {"d0": "a"}}, "texts: expected the text of document 'd\\d', got None"),
    ],
)
def test_what_there_is_not_is_refused(options, says):
    with pytest.raises(pt.TraceError, match=says):
        FIT.typical_documents(**options)


def test_topics_of_each_response():
    record = {"draws": 3, "warmup": 2, "chains": 1, "seed": 1, "threads": 1, "progress": False}
    corpus = pt.Corpus.from_texts(["goal team goal", "vote law", "sea ship sea"] * 4, labels=["a", "b", "c"] * 4)
    fit = pt.sample("slda_logistic_one_vs_all", corpus, topics=2, **record)
    with pytest.raises(pt.TraceError, match="each response has its own topics"):
        fit.typical_documents()
    table = fit.typical_documents(1, response="b")
    mean = fit.posterior["theta"].sel(chain=0, response="b", topic=1).mean("draw").values
    np.testing.assert_allclose(table["share"], np.sort(mean)[::-1][:3], rtol=1e-5)
    words = fit.topics(5)
    assert set(table["words"]) == set(words[(words["response"] == "b") & (words["topic"] == 1)]["words"])


@pytest.mark.parametrize("groups", [GROUPS, without_theta(GROUPS)], ids=["draws", "z_last"])
def test_the_report_shows_the_same_documents(groups):
    text = report_html(groups, chain=1)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    table = Fit(groups).typical_documents(n=6, chain=1)
    labels = dict(zip(IDS, ["no", "yes", "yes", "no", "", "yes", "no", "no", "yes"], strict=True))
    ids = np.repeat(IDS, LENGTHS)
    z = groups["constant_data"]["z_last"].values[1]
    words = groups["constant_data"]["word"].values[groups["observed_data"]["words"].values]
    for k, topic in enumerate(data["views"][0]["topics"]):
        rows = table[table["topic"] == k]
        assert [each["id"] for each in topic["documents"]] == rows["doc"].tolist()
        np.testing.assert_allclose([each["share"] for each in topic["documents"]], rows["share"], rtol=1e-3)
        for each in topic["documents"]:
            assert each.get("label", "") == labels[each["id"]]
            own = words[(ids == each["id"]) & (z == k)].tolist()
            assert dict(each["topic_words"]) == {word: own.count(word) for word in own}
            assert each["n"] == LENGTHS[IDS.index(each["id"])]


def test_a_trace_of_another_program_has_documents_without_lengths():
    theta = np.random.default_rng(0).dirichlet([1.0] * K, size=(1, T, D))
    phi = xr.Dataset(
        {"phi_mean": (("chain", "topic", "word"), np.full((1, K, 2), 0.5))}, {"chain": [0], "word": ["a", "b"]}
    )
    posterior = xr.Dataset(
        {
            "theta": (("chain", "draw", "doc", "topic"), theta),
            "topic_share": (("chain", "draw", "topic"), theta.mean(2)),
        },
        {"chain": [0]},
    )
    fit = Fit({"posterior": posterior, "constant_data": phi})
    table = fit.typical_documents(1, n=9)
    assert table["doc"].tolist() == [str(d) for d in np.argsort(-theta[0].mean(axis=0)[:, 1])]
    assert table["tokens"].isna().all()
    with pytest.raises(pt.TraceError, match="does not hold the lengths"):
        fit.typical_documents(min_tokens=2)
