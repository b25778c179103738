"""The ways to make a corpus, and the input that they refuse."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ppl_topics.corpus import Corpus, CorpusBuilder, DroppedWords
from ppl_topics.errors import CorpusError

TEXTS = ["The cat sat on the mat.", "", "Dogs & cats: the CAT barked!", "über straße"]


def test_from_texts():
    corpus = Corpus.from_texts(TEXTS, doc_ids=["a", "b", "c", "d"], labels=[1, 2, 1, 2], name="pets")
    assert corpus.document(0) == {"cat": 1, "mat": 1, "on": 1, "sat": 1, "the": 2}
    assert corpus.document(3) == {"straße": 1, "über": 1}
    assert corpus.n_empty_docs == 1
    assert corpus.vocabulary.tolist() == sorted(corpus.vocabulary)
    assert corpus.name == "pets"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stop_words": "english"}, {"barked": 1, "cat": 1, "cats": 1, "dogs": 1}),
        ({"stop_words": ["cat", "the"]}, {"barked": 1, "cats": 1, "dogs": 1}),
        ({"lowercase": False}, {"CAT": 1, "Dogs": 1, "barked": 1, "cats": 1, "the": 1}),
        ({"token_pattern": r"[a-z]{5,}"}, {"barked": 1}),
        ({"min_count": 2}, {"cat": 1, "the": 1}),
        ({"vocabulary": ["the", "dogs"]}, {"the": 1, "dogs": 1}),
    ],
)
def test_text_options(options, expected):
    assert Corpus.from_texts(iter(TEXTS), **options).document(2) == expected


def test_new_texts_in_the_words_of_the_training_corpus():
    train = Corpus.from_texts(TEXTS)
    new = Corpus.from_texts(["the elephant", "elephants"], vocabulary=train)
    assert new.dropped == DroppedWords(tokens=2, types=2, documents_emptied=1)
    assert new.n_words == train.n_words


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("one text", {}, "expected a list of texts"),
        (["a text", None], {}, "document 1 is None, of type NoneType; expected a text"),
        (["a text", float("nan")], {"doc_ids": ["x", "y"]}, r"document 1 \(id 'y'\) is nan, of type float"),
        (["a", ""], {}, "all 2 documents are empty"),
        ([], {}, "the corpus has no documents"),
        (["a text"], {"stop_words": "klingon"}, "stop_words is 'klingon'"),
        (["a text"], {"token_pattern": "("}, "is not a regular expression"),
        (["a text"], {"doc_ids": ["x", "y"]}, "2 document ids for 1 documents"),
        (["a text", "b text"], {"doc_ids": ["x", "x"]}, "id 'x' is used twice"),
    ],
)
def test_from_texts_refuses(texts, options, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_texts(texts, **options)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "body": ["good film", "bad film", "film"],
            "stars": [4.5, 1.0, 3.0],
            "fun": [1, 0, 1],
            "sad": [0, 1, 1],
            "source": ["A", "B", "A"],
            "key": ["x", "y", "z"],
        },
        index=[7, 7, 9],
    )


def test_from_frame(frame):
    corpus = Corpus.from_frame(frame, text_column="body", label_column="stars", covariates=["source"], id_column="key")
    assert corpus.labels.kind == "real"
    assert corpus.labels.values.tolist() == [4.5, 1.0, 3.0]
    assert corpus.doc_ids.tolist() == ["x", "y", "z"]
    assert corpus.covariates.names.tolist() == ["source[A]", "source[B]"]
    several = Corpus.from_frame(frame, text_column="body", label_column=["fun", "sad"])
    assert several.labels.kind == "multi_label"
    assert several.labels.classes.tolist() == ["fun", "sad"]
    plain = Corpus.from_frame(frame, text_column="body", label_column="fun", label_kind="count")
    assert (plain.labels.kind, plain.covariates, plain.doc_ids.tolist()) == ("count", None, ["0", "1", "2"])


class ArrowOnly:
    """A data frame of another library, of which only this is known."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_from_frame_takes_what_speaks_arrow(frame):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(frame.astype({"source": "category"}), preserve_index=False)
    how = {"text_column": "body", "label_column": "stars", "covariates": ["source"], "id_column": "key"}
    expected = Corpus.from_frame(frame, **how)
    for other in (table, ArrowOnly(table)):
        corpus = Corpus.from_frame(other, **how)
        assert corpus.fingerprint == expected.fingerprint
        assert corpus.doc_ids.tolist() == ["x", "y", "z"]
        assert corpus.labels.values.tolist() == [4.5, 1.0, 3.0]
        assert corpus.covariates.names.tolist() == ["source[A]", "source[B]"]
        with pytest.raises(CorpusError, match="no column 'text'; its columns are 'body'"):
            Corpus.from_frame(other)
    given = expected.with_covariates(ArrowOnly(table.select(["fun", "source"])))
    assert given.covariates.names.tolist() == ["fun", "source[A]", "source[B]"]


def test_runs_of_tokens_are_words_too():
    corpus = Corpus.from_texts(["New York is big", "new big york"], stop_words=["is"], ngrams=2)
    assert list(corpus.vocabulary) == ["big", "big_york", "new", "new_big", "new_york", "york", "york_big"]
    longest = Corpus.from_tokens([["a", "b", "c", "a_b", "b_c", "a_b_c"]])
    assert Corpus.from_texts(["a b c"], token_pattern=r"\w", ngrams=3).fingerprint == longest.fingerprint


def test_a_tokenizer_of_ones_own():
    corpus = Corpus.from_texts(["Cats-dogs", "DOGS-the"], tokenizer=lambda text: text.split("-"), stop_words=["the"])
    assert list(corpus.vocabulary) == ["cats", "dogs"]
    cased = Corpus.from_texts(["Cats-dogs"], tokenizer=lambda text: text.split("-"), lowercase=False)
    assert list(cased.vocabulary) == ["Cats", "dogs"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenizer": 3}, "tokenizer is 3; expected a function"),
        ({"tokenizer": str.split, "token_pattern": "x+"}, "both say what a token is; give one"),
        ({"tokenizer": lambda text: text}, "expected a list of tokens from tokenizer, got the single string 'a text'"),
        ({"tokenizer": lambda text: [3]}, "document 0"),
        ({"ngrams": 0}, "ngrams is 0; expected how many tokens a run may have, 1 to 5"),
        ({"ngrams": 2.5}, "ngrams is 2.5"),
    ],
)
def test_from_texts_refuses_wrong_tokens(options, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_texts(["a text"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the data frame has no column 'text'; its columns are 'body', 'stars'"),
        ({"text_column": "body", "label_column": "genre"}, "no column 'genre'"),
        ({"text_column": "body", "covariates": ["year"]}, "no column 'year'"),
        (
            {"text_column": "body", "covariates": "source"},
            r"covariates must be a list of columns, such as \['source'\]",
        ),
        ({"text_column": "stars"}, "document 0 is 4.5, of type float"),
    ],
)
def test_from_frame_refuses(frame, options, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_frame(frame, **options)


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (None, {}, "expected a list of texts, one per document, got 'None', of type NoneType"),
        (np.array(3), {}, "expected a list of texts"),
        ({"a": "a text"}, {}, "expected a list of texts, one per document, got .*, of type dict"),
        (pd.DataFrame({"text": ["a text"]}), {}, "expected a list of texts.*of type DataFrame"),
        (["a text"], {"doc_ids": 3}, "expected one id per document, got '3'"),
        (["a text"], {"doc_ids": ["a\0"]}, r"the id of document 0, 'a\\x00', contains a NUL character"),
        (["a text"], {"doc_ids": ["\udcff"]}, "the id of document 0, .* contains half a surrogate pair"),
        (["a text"], {"labels": 3}, "expected one label per document, got '3'"),
        (["a text"], {"labels": {}}, "expected one label per document, got '{}', of type dict"),
        (["a text"], {"vocabulary": 3}, "expected a list of word names, got '3'"),
        (["a text"], {"vocabulary": [""]}, "word 0, '', is empty"),
        (["a text"], {"stop_words": 3}, "a list of words as stop_words, got '3'"),
        (["a text"], {"token_pattern": 3}, "token_pattern 3 is not a string"),
        (["a text"], {"token_pattern": "(a)(b)"}, "has 2 groups"),
        (["a text"], {"token_pattern": "x*"}, "matches the empty string"),
    ],
)
def test_from_texts_refuses_wrong_types(texts, options, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_texts(texts, **options)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (None, "expected a list of lists of words, got 'None'"),
        ([3], "expected document 0 to be a list of words, got '3'"),
        ([["a", ""]], "document 0 has the token '', which is empty"),
        ([["a", "\ud800"]], "which contains half a surrogate pair"),
    ],
)
def test_from_tokens_refuses(documents, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_tokens(documents)


def test_from_frame_and_from_matrix_refuse_other_types(frame):
    with pytest.raises(CorpusError, match=r"expected a data frame, of pandas or one that speaks Arrow, .*of type list"):
        Corpus.from_frame([])
    with pytest.raises(CorpusError, match="several columns 'body'"):
        Corpus.from_frame(pd.concat([frame, frame], axis=1), text_column="body")
    with pytest.raises(CorpusError, match="the rows of the matrix differ in length"):
        Corpus.from_matrix([[1], [2, 3]])


def test_counts_and_tokens_and_matrix_agree():
    matrix = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])
    names = ["a", "b", "c"]
    builder = CorpusBuilder(names)
    builder.add_counts([2, 0, 0, 1], [1, 1, 1, 0])
    builder.add_tokens([])
    builder.add_tokens(["b", "b", "b"])
    made = [
        Corpus.from_matrix(matrix, vocabulary=names),
        Corpus.from_matrix(sparse.csr_matrix(matrix), vocabulary=np.array(names)),
        Corpus.from_tokens([["a", "c", "a"], [], ["b"] * 3]),
        Corpus.from_counts([0, 2, 2, 3], [2, 0, 1], [1, 2, 3], vocabulary=names),
        Corpus.from_arrays([0, 3, 3, 6], [2, 0, 0, 1, 1, 1], names),
        builder.build(),
    ]
    assert len({corpus.fingerprint for corpus in made}) == 1


def test_words_without_a_name_are_numbered():
    assert Corpus.from_counts([0, 1], [4], None).vocabulary.tolist() == ["0", "1", "2", "3", "4"]
    assert Corpus.from_counts([0, 1], [4], None, n_words=6).n_words == 6
    assert Corpus.from_matrix([[0, 1, 0]]).n_words == 3


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.float32, np.float64])
def test_types_of_counts(dtype):
    matrix = np.array([[1, 0], [1, 1]]).astype(dtype)
    assert Corpus.from_matrix(matrix).n_tokens == 3
    assert Corpus.from_matrix(sparse.csr_array(matrix)).n_tokens == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-1.0, "-1.0"), (0.5, "0.5"), (np.nan, "nan"), (np.inf, "inf"), (1e12, "1000000000000.0")],
)
def test_a_wrong_count_is_named_with_its_document(value, shown):
    matrix = np.ones((4, 3))
    matrix[2, 1] = value
    message = rf"document 2 \(id 'r'\) has count {shown} for word id 1; counts must be whole numbers"
    with pytest.raises(CorpusError, match=message):
        Corpus.from_matrix(matrix, doc_ids=["p", "q", "r", "s"])
    builder = CorpusBuilder()
    builder.add_counts([0], [1])
    with pytest.raises(CorpusError, match=rf"document 1 has count {shown} for word id 7"):
        builder.add_counts([3, 7], [1, value])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Corpus.from_matrix(np.zeros((0, 3))), "the corpus has no documents"),
        (lambda: Corpus.from_matrix(np.zeros((2, 3))), "all 2 documents are empty"),
        (lambda: Corpus.from_matrix([1, 2]), "two dimensions"),
        (lambda: Corpus.from_matrix([["a"]]), "expected a matrix of counts"),
        (
            lambda: Corpus.from_matrix(np.ones((1, 2)), vocabulary=["a"]),
            "2 columns, but the vocabulary has 1 words",
        ),
        (lambda: Corpus.from_tokens([]), "the corpus has no documents"),
        (lambda: Corpus.from_tokens([[], [], []]), "all 3 documents are empty"),
        (lambda: Corpus.from_tokens("text"), "got the single string"),
        (
            lambda: Corpus.from_tokens(["some text"]),
            "document 0 is the single string 'some text'; give its tokens",
        ),
        (lambda: Corpus.from_tokens([["a"], ["b", 3]]), "document 1 has the token 3"),
        (
            lambda: Corpus.from_counts([0, 1], [3], [1], vocabulary=["a", "b"]),
            "document 0 has word id 3, but",
        ),
        (
            lambda: Corpus.from_counts([0, 1, 2], [0, 3], None, vocabulary=["a"], doc_ids=["x", "y"]),
            r"document 1 \(id 'y'\) has word id 3, but the vocabulary has 1 words",
        ),
        (lambda: Corpus.from_counts([0, 1], [-1], [1]), "document 0 has word id -1; expected ids from 0"),
        (lambda: Corpus.from_counts([0, 1], [10**9], [1]), "the largest word id is 1000000000"),
        (
            lambda: Corpus.from_counts([0, 1], [0.0], [1]),
            "word ids must be a one-dimensional array of integers",
        ),
        (lambda: Corpus.from_counts([0, 2], [1], [1]), "doc_ptr ends at 2, but there are 1 word ids"),
        (lambda: Corpus.from_counts([0, 2, 1], [1], [1]), "doc_ptr decreases after document 1"),
        (lambda: Corpus.from_counts([1, 2], [1], [1]), "starts with 0"),
        (lambda: Corpus.from_counts([0, 1], [1], [1, 1]), "2 counts for 1 word ids"),
        (lambda: Corpus.from_counts([0, 1], [1], ["1"]), "expected whole numbers"),
        (lambda: Corpus.from_tokens([["a"]], doc_ids=["x", "y"]), "2 document ids for 1 documents"),
        (lambda: Corpus.from_tokens([["a"], ["b"]], doc_ids=["x"]), "document 1 does not have an id, unlike"),
        (lambda: Corpus.from_tokens([["a"], ["b"]], labels=["x"]), "labels for 1 documents, but the corpus has 2"),
        (lambda: Corpus.from_arrays([0, 1], [0], ["a", "a"]), "word 'a' occurs twice"),
    ],
)
def test_constructors_refuse(make, message):
    with pytest.raises(CorpusError, match=message):
        make()


def test_unknown_words_are_dropped_and_counted():
    train = Corpus.from_tokens([["a", "b"]])
    test = Corpus.from_tokens([["a", "x", "x"], ["y"], [], ["b"]], vocabulary=train)
    assert test.dropped == DroppedWords(tokens=3, types=2, documents_emptied=1)
    assert test.n_empty_docs == 2
    assert test.vocabulary.tolist() == ["a", "b"]
    lost = Corpus.from_tokens([["x"]], vocabulary=["a"])
    assert (lost.n_docs, lost.n_tokens, lost.dropped.documents_emptied) == (1, 0, 1)
    with pytest.raises(CorpusError, match="all 1 documents are empty"):
        Corpus.from_tokens([[]], vocabulary=["a"])
