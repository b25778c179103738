"""Covariates: encoding, and encoding new documents with the same columns."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ppl_topics.corpus import Corpus, Covariates
from ppl_topics.corpus.covariates import columns_from_json, columns_to_json
from ppl_topics.errors import CorpusError

IDS = np.array(["p", "q", "r"], dtype=object)


@pytest.fixture
def frame():
    return pd.DataFrame({"year": [1999, 2004, 2001], "source": ["BBC", "AP", "BBC"], "long": [True, False, True]})


def test_columns(frame):
    covariates = Covariates.from_frame(frame)
    assert covariates.names.tolist() == ["year", "source[AP]", "source[BBC]", "long"]
    assert covariates.matrix.dtype == np.float64
    assert covariates.matrix.tolist() == [[1999, 0, 1, 1], [2004, 1, 0, 0], [2001, 0, 1, 1]]
    assert repr(covariates) == "Covariates: 3 documents, 4 columns: year, source[AP], source[BBC], long"
    assert (len(covariates), covariates.n_columns, covariates.is_sparse) == (3, 4, False)
    assert not covariates.matrix.flags.writeable


def test_reference_level(frame):
    covariates = Covariates.from_frame(frame, drop="first")
    assert covariates.names.tolist() == ["year", "source[BBC]", "long"]
    assert covariates.matrix[:, 1].tolist() == [1, 0, 1]
    assert covariates.columns[1].reference == "AP"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"]), ["b", "a"]),
        (pd.array(["b", "a", "b"], dtype="string"), ["a", "b"]),
        (["b", 1, "b"], ["1", "b"]),
    ],
)
def test_categories(values, levels):
    covariates = Covariates.from_frame(pd.DataFrame({"g": values}))
    assert covariates.names.tolist() == [f"g[{level}]" for level in levels]
    assert covariates.matrix.sum(axis=1).tolist() == [1, 1, 1]


@pytest.mark.parametrize("nine", [9, 9.0, "9"])
def test_numbers_as_categories(nine):
    frame = pd.DataFrame({"month": [10, 9, 10], "day": [1, 2, 3]})
    covariates = Covariates.from_frame(frame, categorical=["month"])
    assert covariates.names.tolist() == ["month[9]", "month[10]", "day"]
    assert covariates.encode(pd.DataFrame({"day": [5], "month": [nine]})).matrix.tolist() == [[1, 0, 5]]


def test_booleans_as_categories():
    flags = Covariates.from_frame(pd.DataFrame({"f": [True, False]}), categorical=["f"])
    assert flags.names.tolist() == ["f[False]", "f[True]"]


def test_new_documents_get_the_same_columns(frame):
    covariates = Covariates.from_frame(frame)
    new = pd.DataFrame({"extra": [0], "long": [0], "source": ["AP"], "year": [2020.5]})
    encoded = covariates.encode(new)
    assert encoded.names.tolist() == covariates.names.tolist()
    assert encoded.matrix.tolist() == [[2020.5, 1, 0, 0]]
    np.testing.assert_array_equal(covariates.encode(frame).matrix, covariates.matrix)
    unknown = covariates.encode(new.assign(source="CNN"), allow_unknown=True)
    assert unknown.matrix.tolist() == [[2020.5, 0, 0, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"source": ["AP", "CNN", "AP"]},
            r"'source' of document 1 \(id 'q'\) is 'CNN', an unknown category; the known ones",
        ),
        ({"source": ["AP", None, "AP"]}, r"'source' of document 1 \(id 'q'\) is missing"),
        ({"year": [1, 2, None]}, r"'year' of document 2 \(id 'r'\) is missing"),
        ({"year": [1, 2, np.inf]}, r"'year' of document 2 \(id 'r'\) is 'inf'; expected a finite number"),
        ({"year": [1, "soon", 3]}, r"'year' of document 1 \(id 'q'\) is 'soon'; expected a finite number"),
    ],
)
def test_encoding_refuses(frame, change, message):
    with pytest.raises(CorpusError, match=message):
        Covariates.from_frame(frame).encode(frame.assign(**change), doc_ids=IDS)


def test_encoding_needs_all_columns_once(frame):
    covariates = Covariates.from_frame(frame)
    with pytest.raises(CorpusError, match="have no column 'source'"):
        covariates.encode(frame[["year", "long"]])
    with pytest.raises(CorpusError, match="several columns 'year'"):
        covariates.encode(pd.concat([frame, frame[["year"]]], axis=1))


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({"x": [1.0, np.nan]}, {}, r"'x' of document 1 \(id 'q'\) is missing"),
        ({"x": ["a", None]}, {}, r"'x' of document 1 \(id 'q'\) is missing"),
        ({"x": [1.0, np.inf]}, {}, "expected a finite number"),
        ({"x": [datetime.date(2020, 1, 1)] * 2}, {}, "'x' has values of type 'date'"),
        ({"x": pd.to_datetime(["2020-01-01"] * 2)}, {}, "'x' has values of type 'datetime64'"),
        ({"x": [1, 2]}, {"drop": "last"}, "drop is 'last'"),
        ({"x": [1, 2]}, {"categorical": ["y"]}, "no column 'y' among the covariates"),
        ({"x": [1, 2], "g": ["a", "b"], "g[a]": [1, 2]}, {}, r"covariate 'g\[a\]' occurs twice"),
    ],
)
def test_from_frame_refuses(frame, options, message):
    with pytest.raises(CorpusError, match=message):
        Covariates.from_frame(pd.DataFrame(frame), doc_ids=IDS, **options)


def test_a_repeated_column_is_refused():
    with pytest.raises(CorpusError, match="covariate 'x' occurs twice"):
        Covariates.from_frame(pd.DataFrame([[1, 2]], columns=["x", "x"]))


def test_no_columns():
    assert Covariates.from_frame(pd.DataFrame(index=range(3))).matrix.shape == (3, 0)


def test_wide_covariates_are_sparse():
    levels = [f"s{i:03d}" for i in range(300)]
    frame = pd.DataFrame({"source": levels * 2, "year": np.arange(600.0)})
    covariates = Covariates.from_frame(frame)
    assert covariates.is_sparse
    assert covariates.matrix.nnz == 600 + 599
    assert covariates.toarray()[301].nonzero()[0].tolist() == [1, 300]
    some = covariates.select(np.array([301, 2]))
    np.testing.assert_array_equal(some.toarray(), covariates.toarray()[[301, 2]])
    assert covariates.encode(frame[:3]).is_sparse
    narrow = Covariates.from_frame(frame[["year"]])
    assert narrow.toarray() is narrow.matrix
    with pytest.raises(ValueError, match="read-only"):
        covariates.matrix.data[0] = 5


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix, sparse.coo_array, lambda m: m])
def test_from_matrix(form):
    covariates = Covariates.from_matrix(form([[1, 0], [0, 2]]), ["a", "b"])
    np.testing.assert_array_equal(covariates.toarray(), [[1.0, 0.0], [0.0, 2.0]])
    assert covariates.names.tolist() == ["a", "b"]
    assert Covariates.from_matrix(form([[1, 0], [0, 2]])).names.tolist() == ["0", "1"]


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_from_matrix_refuses_what_is_not_finite(form):
    with pytest.raises(CorpusError, match=r"covariate 'b' of document 1 \(id 'q'\) is missing"):
        Covariates.from_matrix(form([[1.0, 1.0], [1.0, np.nan]]), ["a", "b"], doc_ids=IDS)


@pytest.mark.parametrize(
    ("matrix", "names", "message"),
    [
        ([1, 2], None, "1 dimensions"),
        ([["a"]], None, "not a matrix of numbers"),
        ([[1, 2]], ["a"], "2 columns, but 1 names"),
        ([[1, 2]], ["a", "a"], "covariate 'a' occurs twice"),
    ],
)
def test_from_matrix_refuses(matrix, names, message):
    with pytest.raises(CorpusError, match=message):
        Covariates.from_matrix(matrix, names)


def test_in_a_corpus(frame):
    for given in (frame, Covariates.from_frame(frame), frame[["year", "long"]].to_numpy(dtype=float)):
        corpus = Corpus.from_tokens([["a"], ["b"], ["c"]], covariates=given)
        assert corpus.covariates.matrix[1, 0] == 2004
    with pytest.raises(CorpusError, match=r"document 1 \(id 'q'\) is missing"):
        Corpus.from_tokens([["a"], ["b"], ["c"]], covariates=frame.assign(year=[1, None, 3]), doc_ids=IDS)


def test_columns_as_text():
    frame = pd.DataFrame({"year": [1, 2], "source": ["b", 'a"'], "zip": [9, 10]})
    columns = Covariates.from_frame(frame, drop="first", categorical=["zip"]).columns
    assert columns_from_json(columns_to_json(columns)) == columns
    assert json.loads(columns_to_json(columns))[2] == ["zip", ["9", "10"], "9"]
