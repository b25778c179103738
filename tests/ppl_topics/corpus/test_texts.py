"""Texts and data frames."""

import numpy as np
import pandas as pd
import pytest

from ppl_topics.corpus import Corpus, DroppedWords
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
def test_options(options, expected):
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
    corpus = Corpus.from_frame(frame, text="body", label="stars", covariates=["source"], id="key")
    assert corpus.labels.kind == "real"
    assert corpus.labels.values.tolist() == [4.5, 1.0, 3.0]
    assert corpus.doc_ids.tolist() == ["x", "y", "z"]
    assert corpus.covariates.names.tolist() == ["source[A]", "source[B]"]
    several = Corpus.from_frame(frame, text="body", label=["fun", "sad"])
    assert several.labels.kind == "multi_label"
    assert several.labels.classes.tolist() == ["fun", "sad"]
    plain = Corpus.from_frame(frame, text="body", label="fun", label_kind="count")
    assert (plain.labels.kind, plain.covariates, plain.doc_ids.tolist()) == ("count", None, ["0", "1", "2"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "the data frame has no column 'text'; its columns are 'body', 'stars'"),
        ({"text": "body", "label": "genre"}, "no column 'genre'"),
        ({"text": "body", "covariates": ["year"]}, "no column 'year'"),
        (
            {"text": "body", "covariates": "source"},
            r"covariates must be a list of columns, such as \['source'\]",
        ),
        ({"text": "stars"}, "document 0 is 4.5, of type float"),
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
def test_wrong_types(texts, options, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_texts(texts, **options)


def test_wrong_types_of_other_constructors(frame):
    for documents, message in (
        (None, "expected a list of lists of words, got 'None'"),
        ([3], "expected document 0 to be a list of words, got '3'"),
        ([["a", ""]], "document 0 has the token '', which is empty"),
        ([["a", "\ud800"]], "which contains half a surrogate pair"),
    ):
        with pytest.raises(CorpusError, match=message):
            Corpus.from_tokens(documents)
    with pytest.raises(CorpusError, match=r"expected a pandas\.DataFrame, got .*, of type list"):
        Corpus.from_frame([])
    with pytest.raises(CorpusError, match="several columns 'body'"):
        Corpus.from_frame(pd.concat([frame, frame], axis=1), text="body")
    with pytest.raises(CorpusError, match="the rows of the matrix differ in length"):
        Corpus.from_matrix([[1], [2, 3]])
