"""Training documents in groups: by what a trace holds, and by given values."""

import numpy as np
import pandas as pd
import pytest
from document_traces import LENGTHS, PARTY, YEAR, D, trace

import ppl_topics as pt
from ppl_topics.results.document_groups import document_groups, stored_labels
from ppl_topics.results.validation import check_groups

GROUPS = trace()


def held(made):
    """Return the documents of each group by its value."""
    rows = made.member.toarray()
    return {value: np.flatnonzero(row).tolist() for value, row in zip(made.values.tolist(), rows, strict=True)}


def by_hand(values):
    """Return the documents of each value; document 2 has no token."""
    return {value: [d for d in range(D) if values[d] == value and LENGTHS[d]] for value in values}


def test_by_covariates_and_labels_of_the_trace():
    made = document_groups(GROUPS, "party")
    # The category without a column of its own is one too.
    assert made.values.tolist() == ["left", "right", "centre"]
    assert held(made) == by_hand(PARTY)
    assert made.documents.tolist() == [3, 3, 2]
    assert not made.ordered
    made = document_groups(GROUPS, "year")
    assert (made.values.tolist(), made.values.dtype, made.ordered) == ([1990, 1991, 1992], np.int64, True)
    assert held(made) == by_hand(YEAR)
    assert held(document_groups(GROUPS, "labels")) == {"no": [0, 3, 6, 7], "yes": [1, 5, 8]}
    assert document_groups(GROUPS, "labels").codes().tolist() == [0, 1, -1, 0, -1, 1, 0, 0, 1]
    tags = document_groups(GROUPS, "tags")
    assert held(tags) == {"new": [0, 5, 8], "old": [0, 1, 6, 8]}
    with pytest.raises(pt.TraceError, match="'tags': a document may have several"):
        tags.codes()
    rating = document_groups(GROUPS, "rating")
    assert rating.values.tolist() == [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 8.0]
    assert held(rating)[2.5] == [4]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (PARTY, ["centre", "left", "right"]),
        (np.array(PARTY), ["centre", "left", "right"]),
        (pd.Series(PARTY, index=range(9, 18), dtype="string"), ["centre", "left", "right"]),
        (pd.Categorical(PARTY, ["right", "left", "centre", "none"]), ["right", "left", "centre"]),
        (YEAR, [1990, 1991, 1992]),
        (pd.Series(YEAR, dtype="Int64"), [1990, 1991, 1992]),
        (np.array(YEAR, dtype=object), [1990, 1991, 1992]),
        (np.array(YEAR) / 4, [497.5, 497.75, 498.0]),
        (pd.Categorical(YEAR), ["1990", "1991", "1992"]),
    ],
)
def test_by_given_values(values, expected):
    made = document_groups(GROUPS, values)
    assert made.values.tolist() == expected
    assert made.name == "group"
    given = [str(value) for value in values]
    for value, docs in held(made).items():
        assert docs == [d for d in range(D) if given[d] == str(value) and LENGTHS[d]]


def test_missing_values_are_in_no_group():
    for gone in (None, np.nan, ""):
        values = ["a", "b", "a", gone, "b", gone, "a", "b", "b"]
        assert held(document_groups(GROUPS, values)) == {"a": [0, 6], "b": [1, 4, 7, 8]}
    numbers = pd.Series([1, 2, 1, None, 2, None, 1, 2, 2], dtype="Int64", name="score")
    for values in (numbers, numbers.astype(object), numbers.astype(float)):
        made = document_groups(GROUPS, values)
        assert (held(made), made.name) == ({1: [0, 6], 2: [1, 4, 7, 8]}, "score")
    assert held(document_groups(GROUPS, [True, False, None, None, True, False, None, None, True])) == {
        "False": [1, 5],
        "True": [0, 4, 8],
    }


def test_numbers_in_bins():
    # An interval holds its lower end; those of bins=3 are the quantiles 1.5, 2.5, 3.5 and 8.
    made = document_groups(GROUPS, "rating", bins=[1.5, 3, 4, 8])
    assert held(made) == {2.0: [0, 1, 4], 3.25: [5, 6], 6.0: [7, 8]}
    made = document_groups(GROUPS, "rating", bins=3)
    np.testing.assert_allclose(made.values, [np.mean([1.5, 2]), np.mean([2.5, 3]), np.mean([3.5, 4, 8])])
    assert list(held(made).values()) == [[0, 1], [4, 5], [6, 7, 8]]
    # Outside of the intervals is in no group; an interval without documents is none.
    assert held(document_groups(GROUPS, "rating", bins=[0, 1, 2, 4])) == {1.5: [0], 3.0: [1, 4, 5, 6, 7]}
    assert document_groups(GROUPS, [7] * D, bins=4).values.tolist() == [7]
    assert document_groups(GROUPS, "year", bins=1).documents.tolist() == [8]


@pytest.mark.parametrize(
    ("by", "bins", "says"),
    [
        ("partei", None, "holds no covariate or labels 'partei'; did you mean 'party'"),
        ("q", None, "valid: labels, party, rating, tags, year; or give a value for each document"),
        (PARTY[:4], None, "a number or text for each of 9 documents, got 4"),
        (3, None, "for each of 9 documents, got 1"),
        (np.zeros((9, 2)), None, "for each of 9 documents, got ndarray"),
        (pd.DataFrame({"a": YEAR}), None, "for each of 9 documents, got DataFrame"),
        (dict.fromkeys(range(9), "a"), None, "for each of 9 documents, got dict"),
        ([["a"], ["b"]] + [["a"]] * 7, None, "got values of type mixed"),
        (pd.Series(pd.date_range("2020", periods=9), name="day"), None, "'day' has dates; give their years"),
        ([np.inf, *YEAR[1:]], None, "a number that is not finite"),
        ([None] * 9, None, "no document with tokens has a value"),
        ([None, None, "a", *[None] * 6], None, "no document with tokens has a value"),
        ([9, "9", *PARTY[2:]], None, "written alike"),
        ("party", 3, "bins: are of numbers, and 'party' has categories"),
        ("year", 0, "bins: must be at least 1"),
        ("year", "3", "bins: expected a whole number, or at least two numbers in increasing order, got '3'"),
        ("year", [1990, 1990], "in increasing order"),
        ("year", [1990], "at least two numbers"),
        ("year", ["a", "b"], "bins: expected"),
    ],
)
def test_what_is_no_group_is_refused(by, bins, says):
    with pytest.raises(pt.TraceError, match=says):
        document_groups(GROUPS, by, bins)


def test_several_numbers_for_each_document_are_refused():
    labels = GROUPS["observed_data"]["labels_tags"].astype(float).assign_attrs(kind="real")
    groups = {**GROUPS, "observed_data": GROUPS["observed_data"].assign(labels_tags=labels)}
    with pytest.raises(pt.TraceError, match="'tags' has several numbers for each document"):
        document_groups(groups, "tags")
    one = groups["observed_data"].isel(response_tags=[1])
    assert document_groups({**groups, "observed_data": one}, "tags").values.tolist() == [-1, 0, 1]
    assert stored_labels({"observed_data": groups["observed_data"].drop_attrs()}) is None


def test_a_trace_says_what_its_covariates_are_whatever_the_model():
    rows = [{"page": ("sport", "law")[i % 2], "year": 1990 + i % 3} for i in range(12)]
    labels = [("a", "b", "c")[i % 3] for i in range(12)]
    corpus = pt.Corpus.from_texts(["goal team", "vote law"] * 6, covariates=rows, labels=labels)
    with pytest.warns(pt.CovariateWarning, match="does not use covariates"):
        fit = pt.sample("lda", corpus, topics=2, draws=2, warmup=1, chains=1, seed=1, progress=False)
    check_groups(fit.groups, "run.nc")
    for name, values in (("page", ["law", "sport"]), ("year", [1990, 1991, 1992]), ("labels", ["a", "b", "c"])):
        made = document_groups(fit.groups, name)
        assert made.values.tolist() == values
        own = labels if name == "labels" else [row[name] for row in rows]
        assert held(made) == {value: [d for d in range(12) if own[d] == value] for value in values}
