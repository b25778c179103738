"""Labels: kinds, missing values, alignment with the classes of a training corpus."""

import numpy as np
import pandas as pd
import pytest

from ppl_topics.corpus import Labels
from ppl_topics.errors import CorpusError

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "kind", "expected", "classes"),
    [
        (["b", "a", None, "", "b"], "class", [1, 0, -1, -1, 1], ["a", "b"]),
        ([10, 9, None, NAN], "class", [1, 0, -1, -1], ["9", "10"]),
        ([-1.0, 1.0, 1.0], "class", [0, 1, 1], ["-1", "1"]),
        ([True, False], "class", [1, 0], ["False", "True"]),
        (np.array([2, 1], dtype=np.uint8), "class", [1, 0], ["1", "2"]),
        (np.array(["b", "a"]), "class", [1, 0], ["a", "b"]),
        (pd.Series(["b", None, "a"]), "class", [1, -1, 0], ["a", "b"]),
        (pd.Series(["b", pd.NA, "a"], dtype="category"), "class", [1, -1, 0], ["a", "b"]),
        (pd.Series([3, None], dtype="Int64"), "class", [0, -1], ["3"]),
        (pd.DataFrame({"y": ["b", "a"]}), "class", [1, 0], ["a", "b"]),
        ([0.5, 2, None], "real", [0.5, 2.0, NAN], []),
        (np.array([0.5, NAN]), "real", [0.5, NAN], []),
        ([["a", "b"], [], None, ("b",)], "multi_label", [[1, 1], [0, 0], [-1, -1], [0, 1]], ["a", "b"]),
        ([{"b"}, {"a", "c"}], "multi_label", [[0, 1, 0], [1, 0, 1]], ["a", "b", "c"]),
        (np.array([[0, 1], [1, NAN]]), "multi_label", [[0, 1], [1, -1]], ["0", "1"]),
        (pd.DataFrame({"p": [0, 1], "q": [True, False]}), "multi_label", [[0, 1], [1, 0]], ["p", "q"]),
        (pd.DataFrame({"p": [0.5, 1], "q": [2, NAN]}), "real", [[0.5, 2], [1, NAN]], ["p", "q"]),
    ],
)
def test_kinds_are_inferred(values, kind, expected, classes):
    labels = Labels.infer(values)
    assert labels.kind == kind
    np.testing.assert_array_equal(labels.values, expected)
    assert labels.classes.tolist() == classes
    assert all(type(name) is str for name in labels.classes)
    assert not labels.values.flags.writeable


@pytest.mark.parametrize(
    ("values", "kind", "expected", "classes"),
    [
        ([1, 2, None], "real", [1.0, 2.0, NAN], []),
        (["1.5", "", "-2"], "real", [1.5, NAN, -2.0], []),
        ([3, "4", 5.0, None], "count", [3, 4, 5, -1], []),
        (["9007199254740993"], "count", [2**53 + 1], []),
        (["a", None], "multi_label", [[1], [-1]], ["a"]),
        ([[1, 2], [2]], "multi_label", [[1, 1], [0, 1]], ["1", "2"]),
        (np.array([[0, 1], [1, 2]]), "count", [[0, 1], [1, 2]], ["0", "1"]),
        (np.array([[0, 1], [1, 0]]), "real", [[0.0, 1.0], [1.0, 0.0]], ["0", "1"]),
        ([None, None], "class", [-1, -1], []),
        ([None, None], "real", [NAN, NAN], []),
    ],
)
def test_kinds_may_be_given(values, kind, expected, classes):
    labels = Labels.infer(values, kind)
    assert labels.kind == kind
    np.testing.assert_array_equal(labels.values, expected)
    assert labels.classes.tolist() == classes


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (
            [1, -2],
            "count",
            r"the label of document 1 \(id 'q'\) is -2; a label of kind 'count' is a whole number",
        ),
        ([1, 2.5], "count", "document 1 .* is 2.5"),
        ([1, 1e300], "count", "document 1 .* is 1e[+]300"),
        (
            [1.0, "high"],
            "real",
            r"document 1 \(id 'q'\) is 'high'; a label of kind 'real' is a finite number",
        ),
        ([1.0, float("inf")], "real", "document 1 .* is inf"),
        ([1.0, "inf"], "real", "document 1 .* is 'inf'"),
        ([1.0, "1_0"], "real", "document 1 .* is '1_0'"),
        ([["a"], 3], "multi_label", "document 1 .* is 3; a label of kind 'multi_label'"),
        ([["a"], [0.5]], "multi_label", "document 1 "),
        (np.array([[0, 1], [2, 0]]), "multi_label", "document 1 .* is 2"),
        (["a", 0.5], "class", "document 1 .* is 0.5; a label of kind 'class' is"),
        (["a", ["b"]], "class", "document 1 "),
        (np.ones((2, 2)), "class", "2 columns; labels of kind 'class' have one"),
        (["a", 1], None, "document 1 .* is 1, a number, but that of document 0 .* is text"),
        (["a", ["b"]], None, "document 1 .* a list of labels, but that of document 0 .* is text"),
        ([object(), None], None, "of type object; expected strings"),
        ([None, ""], None, "all labels are missing"),
        (["a", "b"], "ordinal", "the label kind is 'ordinal'; expected one of 'class', 'multi_label'"),
        ("ab", None, "one label per document, got the single string"),
        (np.ones((1, 1, 1)), None, "3 dimensions"),
    ],
)
def test_wrong_labels_are_named_with_their_document(values, kind, message):
    ids = np.array(["p", "q"], dtype=object)
    with pytest.raises(CorpusError, match=message):
        Labels.infer(values, kind, doc_ids=ids)


@pytest.mark.parametrize(
    ("kind", "values", "classes", "message"),
    [
        ("class", [0, 2], ["a", "b"], "run from 0 to 2; expected values from -1 .missing. to 1"),
        ("class", [-2], ["a"], "run from -2"),
        ("class", [[0]], ["a"], "cannot have 2 dimensions"),
        ("multi_label", [0], ["a"], "cannot have 1 dimensions"),
        ("multi_label", [[0, 1]], ["a"], "2 columns and 1 names"),
        ("multi_label", [[2]], ["a"], "run from 2 to 2"),
        ("count", [-3], [], "run from -3"),
        ("real", [np.inf], [], "infinite"),
        ("real", [1.0], ["a"], "0 columns and 1 names"),
        ("class", [0, 1], ["a", "a"], "class 'a' occurs twice"),
        ("nominal", [0], ["a"], "the label kind is 'nominal'"),
    ],
)
def test_parts_must_fit_together(kind, values, classes, message):
    with pytest.raises(CorpusError, match=message):
        Labels(kind, np.array(values), classes)


@pytest.mark.parametrize(
    ("values", "text", "n", "missing"),
    [
        (["a", "b", None], "Labels: 3 documents, 2 classes, 1 missing", 2, [False, False, True]),
        ([0.5, NAN], "Labels: 2 documents, real labels, 1 missing", 1, [False, True]),
        ([["a", "b"]], "Labels: 1 documents, 2 labels", 2, [[False, False]]),
        (np.array([[0.5, 1.0]]), "Labels: 1 documents, 2 real responses", 2, [[False, False]]),
    ],
)
def test_description(values, text, n, missing):
    labels = Labels.infer(values)
    assert repr(labels) == text
    assert labels.n_responses == n
    assert labels.missing.tolist() == missing


def test_to_kind():
    stars = Labels.infer([5, 1, None])
    assert stars.to_kind("class") is stars
    np.testing.assert_array_equal(stars.to_kind("real").values, [5.0, 1.0, NAN])
    assert Labels.infer(stars, "count").values.tolist() == [5, 1, -1]
    assert stars.to_kind("count").to_kind("class").classes.tolist() == ["1", "5"]
    assert stars.to_kind("multi_label").values.tolist() == [[0, 1], [1, 0], [-1, -1]]
    table = Labels.infer(pd.DataFrame({"p": [0, 1], "q": [1, NAN]}))
    np.testing.assert_array_equal(table.to_kind("real").values, [[0, 1], [1, NAN]])
    assert table.to_kind("count").classes.tolist() == ["p", "q"]
    with pytest.raises(CorpusError, match="the label of document 0 is 'a'; a label of kind 'real'"):
        Labels.infer(["a"]).to_kind("real")


class TestAlign:
    def test_classes(self):
        train = Labels.infer(["a", "b", "c"])
        test = Labels.infer(["c", None, "b"]).align(train)
        assert test.values.tolist() == [2, -1, 1]
        assert test.classes.tolist() == ["a", "b", "c"]
        assert train.align(["c", "b", "a"]).values.tolist() == [2, 1, 0]

    def test_unknown_class(self):
        test = Labels.infer(["a", "z"])
        ids = np.array(["p", "q"], dtype=object)
        with pytest.raises(CorpusError, match=r"document 1 \(id 'q'\) is of class 'z', .* classes are 'a', 'b'"):
            test.align(["a", "b"], doc_ids=ids)
        assert test.align(["a", "b"], unknown="missing").values.tolist() == [0, -1]
        assert test.select(np.array([0])).align(["a"]).values.tolist() == [0]

    def test_label_sets(self):
        train = Labels.infer([["a", "b", "c"]])
        test = Labels.infer([["c"], None, ["a"], []]).align(train)
        assert test.values.tolist() == [[0, 0, 1], [-1, -1, -1], [1, 0, 0], [0, 0, 0]]
        with pytest.raises(CorpusError, match="label 'z' is not one of the labels of the training corpus"):
            Labels.infer([["z"]]).align(train)
        assert Labels.infer([["a", "z"]]).align(train, unknown="missing").values.tolist() == [[1, 0, 0]]

    def test_real_responses(self):
        test = Labels.infer(pd.DataFrame({"q": [0.5], "p": [1.5]}))
        np.testing.assert_array_equal(test.align(["p", "q", "r"]).values, [[1.5, 0.5, NAN]])
        one = Labels.infer([0.5])
        assert one.align(one) is one

    def test_kinds_must_agree(self):
        with pytest.raises(CorpusError, match=r"of kind 'class', expected 'real'; use Labels\.to_kind"):
            Labels.infer([1, 2]).align(Labels.infer([0.5]))

    def test_many_classes_are_not_all_listed(self):
        with pytest.raises(CorpusError, match=r"\(30 in all\)"):
            Labels.infer(["z"]).align([f"c{i}" for i in range(30)])
