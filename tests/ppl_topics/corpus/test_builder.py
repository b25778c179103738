"""Ways to make a corpus from numbers and lists of words, and what they refuse."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ppl_topics.corpus import Corpus, CorpusBuilder, DroppedWords
from ppl_topics.errors import CorpusError


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
        (lambda: Corpus.from_tokens("text"), "got a single string"),
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
        (lambda: Corpus.from_counts([1, 2], [1], [1]), "begins with 0"),
        (lambda: Corpus.from_counts([0, 1], [1], [1, 1]), "2 counts for 1 word ids"),
        (lambda: Corpus.from_counts([0, 1], [1], ["1"]), "expected whole numbers"),
        (lambda: Corpus.from_tokens([["a"]], doc_ids=["x", "y"]), "2 document ids for 1 documents"),
        (lambda: Corpus.from_tokens([["a"], ["b"]], doc_ids=["x"]), "document 1 has no id, but"),
        (lambda: Corpus.from_tokens([["a"], ["b"]], labels=["x"]), "labels for 1 documents, but the corpus has 2"),
        (lambda: Corpus.from_arrays([0, 1], [0], ["a", "a"]), "word 'a' occurs twice"),
    ],
)
def test_it_refuses(make, message):
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


@pytest.mark.parametrize(
    ("thresholds", "kept"),
    [
        ({}, ["a", "b", "c", "d"]),
        ({"min_count": 2}, ["a", "b", "c"]),
        ({"min_count": 3}, ["a", "c"]),
        ({"min_df": 2}, ["a", "b"]),
        ({"min_df": 0.5}, ["a", "b"]),
        ({"min_df": 1.0}, ["a"]),
        ({"max_df": 1}, ["c", "d"]),
        ({"max_df": 0.5}, ["b", "c", "d"]),
        ({"max_vocabulary": 2}, ["a", "c"]),
        ({"max_vocabulary": 3}, ["a", "b", "c"]),
        ({"max_vocabulary": 3, "max_df": 0.5}, ["b", "c", "d"]),
        ({"max_vocabulary": 9, "min_count": 2}, ["a", "b", "c"]),
    ],
)
def test_pruning(thresholds, kept):
    docs = [["d", "c", "c", "c", "a"], ["b", "a"], ["a", "b"], ["a"]]
    corpus = Corpus.from_tokens(docs, **thresholds)
    assert corpus.vocabulary.tolist() == kept
    for i, doc in enumerate(docs):
        assert corpus.document(i) == {w: doc.count(w) for w in sorted(set(doc)) if w in kept}
    assert corpus.n_docs == 4
    assert corpus.dropped == DroppedWords()


def test_shares_are_not_spoilt_by_rounding():
    docs = [["w", "rare"]] * 3 + [["w"]] * 27
    assert "rare" in Corpus.from_tokens(docs, min_df=0.1).vocabulary  # 0.1 * 30 > 3 in floating point


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({"min_count": 0}, "min_count is 0; expected a whole number, 1 or more"),
        ({"min_count": 1.5}, "min_count is 1.5"),
        ({"max_vocabulary": 0}, "max_vocabulary is 0"),
        ({"min_df": 0}, "min_df is 0"),
        ({"max_df": 1.5}, "max_df is 1.5; expected a share"),
        ({"min_df": True}, "min_df is True"),
        ({"min_count": 9}, "none of the 2 words passes min_count=9"),
        ({"min_count": 2, "vocabulary": ["a"]}, "use one or the other"),
    ],
)
def test_pruning_refuses(thresholds, message):
    with pytest.raises(CorpusError, match=message):
        Corpus.from_tokens([["a", "b"]], **thresholds)


class TestBuilder:
    def test_blocks_and_single_documents_agree(self):
        one, many = CorpusBuilder(), CorpusBuilder()
        one.add_counts([3, 1], [2, 1], doc_id="p", label=1, covariates={"x": 1.0})
        one.add_counts([], doc_id="q", label=None, covariates={"x": 2.0})
        one.add_counts([0, 0], doc_id="r", label=2, covariates={"x": 3.0})
        many.add_block(
            [0, 2, 2, 4],
            [3, 1, 0, 0],
            [2, 1, 1, 1],
            doc_ids=["p", "q", "r"],
            labels=[1, None, 2],
            covariates=[{"x": 1.0}, {"x": 2.0}, {"x": 3.0}],
        )
        assert (many.n_docs, many.n_tokens) == (one.n_docs, one.n_tokens) == (3, 5)
        a, b = one.build(name="one"), many.build()
        assert a.fingerprint == b.fingerprint
        assert a.doc_ids.tolist() == b.doc_ids.tolist() == ["p", "q", "r"]
        assert a.labels.values.tolist() == [0, -1, 1]
        assert a.name == "one"

    @given(st.lists(st.lists(st.sampled_from("zyxw"), max_size=6), min_size=1, max_size=8).filter(any))
    @settings(deadline=None, max_examples=50)
    def test_collected_words_are_sorted(self, docs):
        corpus = Corpus.from_tokens(docs)
        assert corpus.vocabulary.tolist() == sorted({w for doc in docs for w in doc})
        for i, doc in enumerate(docs):
            assert corpus.document(i) == {w: doc.count(w) for w in sorted(set(doc))}

    def test_labels_may_come_late(self):
        builder = CorpusBuilder()
        builder.add_tokens(["a"])
        builder.add_tokens(["a"], label="x")
        builder.add_tokens(["a"])
        assert builder.build().labels.values.tolist() == [-1, 0, -1]

    def test_labels_of_all_documents_win(self):
        builder = CorpusBuilder()
        builder.add_tokens(["a"], label="x")
        assert builder.build(labels=[2.0], label_kind="real").labels.values.tolist() == [2.0]

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            (
                {"doc_id": None, "covariates": {"x": 1}},
                "document 1 has no id, but the documents before it had one",
            ),
            ({"doc_id": "b"}, "document 1 has no row of covariates, but"),
        ],
    )
    def test_ids_and_covariates_are_for_all_or_none(self, second, message):
        builder = CorpusBuilder()
        builder.add_tokens(["a"], doc_id="a", covariates={"x": 0})
        with pytest.raises(CorpusError, match=message):
            builder.add_tokens(["a"], **second)
        builder.add_tokens(["b"], doc_id="b", covariates={"x": 1})  # the refused document left no trace
        assert builder.build().n_docs == 2

    def test_words_and_ids_do_not_mix(self):
        words, ids = CorpusBuilder(), CorpusBuilder()
        words.add_tokens(["a"])
        with pytest.raises(CorpusError, match="word ids cannot follow"):
            words.add_counts([0])
        ids.add_counts([0])
        with pytest.raises(CorpusError, match="words cannot follow"):
            ids.add_tokens(["a"])
        with pytest.raises(CorpusError, match="build takes a vocabulary only"):
            words.build(vocabulary=["a"])

    def test_a_given_vocabulary_bounds_the_ids(self):
        builder = CorpusBuilder(["a", "b"])
        with pytest.raises(CorpusError, match=r"document 0 \(id 'x'\) has word id 2; expected ids from 0 to 1"):
            builder.add_counts([2], doc_id="x")

    def test_block_lengths(self):
        with pytest.raises(CorpusError, match="the block has 1 documents, but 2 labels"):
            CorpusBuilder().add_block([0, 1], [0], labels=["a", "b"])

    def test_it_builds_once(self):
        builder = CorpusBuilder()
        builder.add_tokens(["a"])
        builder.build()
        with pytest.raises(CorpusError, match="the corpus is built already"):
            builder.add_tokens(["a"])
        with pytest.raises(CorpusError, match="the corpus is built already"):
            builder.build()

    def test_a_refused_build_can_be_mended(self):
        builder = CorpusBuilder()
        builder.add_counts([5])
        with pytest.raises(CorpusError, match="but the vocabulary has 1 words"):
            builder.build(vocabulary=["a"])
        assert builder.build(n_words=6).n_words == 6

    def test_it_needs_little_more_than_four_bytes_a_token(self):
        rng = np.random.default_rng(0)
        ptr = np.arange(0, 50_001, 50)
        blocks = [rng.integers(0, 1000, 50_000) for _ in range(8)]
        ones = np.full(50_000, 15)
        tracemalloc.start()
        try:
            builder = CorpusBuilder()
            for block in blocks:
                builder.add_block(ptr, block, ones)
            corpus = builder.build()
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert corpus.n_tokens == 6_000_000
        assert held < 4.2 * corpus.n_tokens
        assert peak < 4 * corpus.n_tokens * 9 / 8 + 30e6
