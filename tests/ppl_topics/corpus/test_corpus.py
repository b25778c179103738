"""The corpus itself: its parts, its checks, selecting, splitting, changing the vocabulary."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ppl_topics.corpus import Corpus, DroppedWords, as_vocabulary, token_arrays
from ppl_topics.errors import CorpusError

DOCS = [["b", "a", "b"], [], ["c"], ["a", "c", "a", "d"]]

bags = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=12).filter(any)


def corpus_of(lists, **kwargs):
    doc_ptr = np.concatenate([[0], np.cumsum([len(doc) for doc in lists])])
    return Corpus.from_arrays(doc_ptr, np.array([w for doc in lists for w in doc], dtype=np.int64), n_words=7, **kwargs)


@pytest.fixture
def corpus():
    frame = pd.DataFrame({"year": [1.0, 2.0, 3.0, 4.0]})
    return Corpus.from_tokens(DOCS, labels=["x", "y", None, "x"], covariates=frame, name="tiny")


def test_the_parts(corpus):
    assert (corpus.n_docs, corpus.n_words, corpus.n_tokens, len(corpus)) == (4, 4, 8, 4)
    assert corpus.doc_ptr.dtype == np.int64
    assert corpus.words.dtype == np.uint32
    assert corpus.vocabulary.tolist() == ["a", "b", "c", "d"]
    assert corpus.words.tolist() == [0, 1, 1, 2, 0, 0, 2, 3]
    assert corpus.doc_lengths.tolist() == [3, 0, 1, 4]
    assert corpus.n_empty_docs == 1
    assert corpus.word_counts.tolist() == [3, 2, 2, 1]
    assert corpus.doc_ids.tolist() == ["0", "1", "2", "3"]
    assert corpus.document(0) == {"a": 1, "b": 2}
    assert corpus.document(1) == {}
    assert corpus.tokens(-1).tolist() == [0, 0, 2, 3]
    assert corpus.dropped == DroppedWords()
    assert repr(corpus) == (
        "Corpus 'tiny': 4 documents, 8 tokens, 4 words, 1 empty, 2 classes, 1 missing, 1 covariates"
    )


def test_it_never_changes(corpus):
    for array in (corpus.doc_ptr, corpus.words, corpus.vocabulary, corpus.doc_ids, corpus.word_counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    for part in (corpus.labels.values, corpus.labels.classes, corpus.covariates.matrix):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = part[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.name = "other"


def test_the_users_arrays_are_copied():
    words = np.array([1, 0], dtype=np.uint32)
    corpus = Corpus.from_arrays([0, 2], words)
    words[:] = 1
    assert corpus.words.tolist() == [0, 1]


@given(bags)
@settings(deadline=None, max_examples=50)
def test_matrix_round_trip(lists):
    corpus = corpus_of(lists)
    matrix = corpus.to_matrix()
    assert matrix.dtype == np.int64
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32  # all that scikit-learn's linear models take
    expected = np.array([[doc.count(w) for w in range(7)] for doc in lists])
    np.testing.assert_array_equal(matrix.toarray(), expected)
    for form in (
        matrix,
        expected,
        sparse.coo_array(matrix),
        sparse.csc_matrix(matrix),
        expected.astype(float),
    ):
        again = Corpus.from_matrix(form)
        assert again.fingerprint == corpus.fingerprint
    np.testing.assert_array_equal(corpus.word_counts, expected.sum(axis=0))


@pytest.mark.parametrize("chunk", [1, 3, 100])
@given(lists=bags, data=st.data())
@settings(max_examples=30, deadline=None)
def test_work_on_tokens_does_not_depend_on_the_size_of_its_pieces(chunk, lists, data):
    whole = corpus_of(lists)
    order = np.array(data.draw(st.permutations(range(len(lists)))), dtype=np.int64)
    mapping = np.array(data.draw(st.permutations([0, 1, 2, 3, -1, -1, -1])), dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_arrays, "CHUNK", chunk)
        corpus = corpus_of(lists)
        doc_ptr, words = token_arrays.gather(corpus.doc_ptr, corpus.words, order)
        mapped = np.array(corpus.words)
        mapped_ptr = token_arrays.remap(corpus.doc_ptr, mapped, mapping)
        frequency = token_arrays.count_documents(corpus.doc_ptr, corpus.words, 7)
        counts = token_arrays.count_words(corpus.words, 7)
    np.testing.assert_array_equal(corpus.words, whole.words)
    for d, source in enumerate(order):
        assert words[doc_ptr[d] : doc_ptr[d + 1]].tolist() == sorted(lists[source])
    for d, doc in enumerate(lists):
        kept = sorted(int(mapping[w]) for w in doc if mapping[w] >= 0)
        assert mapped[mapped_ptr[d] : mapped_ptr[d + 1]].tolist() == kept
    assert frequency.tolist() == [sum(w in doc for doc in lists) for w in range(7)]
    assert counts.tolist() == [sum(doc.count(w) for doc in lists) for w in range(7)]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([2, 0], [2, 0]),
        ([-1], [3]),
        ([True, False, False, True], [0, 3]),
        (slice(1, 3), [1, 2]),
        (np.array([3], dtype=np.uint8), [3]),
    ],
)
def test_select(corpus, index, expected):
    chosen = corpus.select(index)
    assert chosen.doc_ids.tolist() == [str(i) for i in expected]
    assert [chosen.document(i) for i in range(len(chosen))] == [corpus.document(i) for i in expected]
    assert chosen.labels.values.tolist() == corpus.labels.values[expected].tolist()
    assert chosen.covariates.matrix[:, 0].tolist() == [i + 1.0 for i in expected]
    assert chosen.vocabulary is not None
    assert chosen.select([0]).doc_ids.tolist() == [str(expected[0])]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([], "no document is selected"),
        ([False] * 4, "no document is selected"),
        ([True], "the mask has 1 entries for 4 documents"),
        ([4], "there is no document 4; the corpus has 4 documents"),
        ([-5], "there is no document -5"),
        ([1, -3], "selected more than once"),
        ([0.5], "select documents by a list of positions"),
        ([[0]], "select documents by a list of positions"),
    ],
)
def test_select_refuses(corpus, index, message):
    with pytest.raises(CorpusError, match=message):
        corpus.select(index)


def test_fingerprint_is_of_the_contents(corpus):
    assert len(corpus.fingerprint) == 64
    same = Corpus.from_tokens(
        [list(reversed(doc)) for doc in DOCS],
        labels=["x", "y", None, "x"],
        covariates=pd.DataFrame({"year": [1, 2, 3, 4]}),
        doc_ids=["p", "q", "r", "s"],
    )
    assert same.fingerprint == corpus.fingerprint
    others = [
        corpus.with_labels(["x", "y", None, "y"]),
        corpus.with_labels(["x", "z", None, "x"]),
        corpus.with_labels(None),
        corpus.with_covariates(None),
        corpus.with_covariates(pd.DataFrame({"month": [1, 2, 3, 4]})),
        corpus.with_vocabulary(["a", "b", "c", "e"]),
        corpus.select([0, 1, 3, 2]),
    ]
    assert len({corpus.fingerprint, *(other.fingerprint for other in others)}) == 8


def test_fingerprint_stays_from_one_version_to_the_next():
    corpus = Corpus.from_matrix([[1, 0], [0, 2]], vocabulary=["a", "b"])
    assert corpus.fingerprint == "bbdb532dc080c4c9ea7a7926acaf7ee1d4035bb3f562b28aa2680c63fda72d3c"


def test_with_vocabulary(corpus):
    new = corpus.with_vocabulary(["c", "z", "a"])
    assert new.vocabulary.tolist() == ["c", "z", "a"]
    assert [new.document(i) for i in range(4)] == [{"a": 1}, {}, {"c": 1}, {"c": 1, "a": 2}]
    assert new.words.tolist() == [2, 0, 0, 2, 2]
    assert new.dropped == DroppedWords(tokens=3, types=2, documents_emptied=0)
    assert "3 tokens dropped" in repr(new)
    assert new.labels is corpus.labels
    emptied = corpus.with_vocabulary(Corpus.from_tokens([["d"]]))
    assert emptied.dropped == DroppedWords(tokens=7, types=3, documents_emptied=2)
    assert emptied.n_empty_docs == 3


@given(bags, st.permutations(range(7)))
@settings(deadline=None, max_examples=50)
def test_with_vocabulary_and_back(lists, order):
    corpus = corpus_of(lists)
    there = corpus.with_vocabulary([str(i) for i in order])
    assert there.dropped == DroppedWords()
    assert there.with_vocabulary(corpus).fingerprint == corpus.fingerprint


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (["a", "b", "a"], "word 'a' occurs twice, at positions 0 and 2"),
        (["a", 3], "word 1 is 3, of type int; expected a string"),
        ([], "the vocabulary is empty"),
        ("abc", "got the single string 'abc'"),
    ],
)
def test_vocabulary_is_checked(vocabulary, message):
    with pytest.raises(CorpusError, match=message):
        as_vocabulary(vocabulary)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_ptr": np.zeros(1, dtype=np.int64)}, "the corpus has no documents"),
        ({"doc_ptr": np.array([0, 1, 2, 3, 4])}, "doc_ptr runs from 0 to 4; expected"),
        ({"words": np.zeros(8, dtype=np.int64)}, "words must be a one-dimensional array of uint32"),
        ({"ids": np.arange(3)}, "ids for 3 documents, but the corpus has 4 documents"),
    ],
)
def test_lengths_are_checked(corpus, change, message):
    with pytest.raises(CorpusError, match=message):
        dataclasses.replace(corpus, **change)


@pytest.mark.parametrize("n", [3, 5])
def test_labels_and_covariates_of_another_length(corpus, n):
    with pytest.raises(CorpusError, match=f"labels for {n} documents, but the corpus has 4 documents"):
        corpus.with_labels(["x"] * n)
    with pytest.raises(CorpusError, match=f"covariates for {n} documents, but the corpus has 4 documents"):
        corpus.with_covariates(np.ones((n, 2)))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b", "a", "c"], "id 'a' is used twice, by documents 0 and 2"),
        (np.array([1, 2, 3, 1]), "id '1' is used twice, by documents 0 and 3"),
        ([1, "1", 2, 3], "id '1' is used twice"),
        (["a"], "1 document ids for 4 documents"),
        (["a", None, "b", "c"], "the id of document 1 is None"),
        (["a", 0.5, "b", "c"], "the id of document 1 is 0.5"),
        ("abcd", "one id per document, got the single string"),
    ],
)
def test_ids_are_checked(corpus, ids, message):
    with pytest.raises(CorpusError, match=message):
        corpus.with_doc_ids(ids)


@pytest.mark.parametrize(
    "ids", [["7", "5", "6", "8"], [7, 5, 6, 8], np.array([7, 5, 6, 8]), np.array(["7", "5", "6", "8"])]
)
def test_ids(corpus, ids):
    named = corpus.with_doc_ids(ids)
    assert named.doc_ids.tolist() == ["7", "5", "6", "8"]
    assert named.select([2, 1]).doc_ids.tolist() == ["6", "5"]
    assert named.with_doc_ids(None).doc_ids.tolist() == ["0", "1", "2", "3"]
