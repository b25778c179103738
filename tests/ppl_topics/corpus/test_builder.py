"""Building a corpus document by document."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppl_topics.corpus import Corpus, CorpusBuilder
from ppl_topics.errors import CorpusError


def test_blocks_and_single_documents_agree():
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
def test_collected_words_are_sorted(docs):
    corpus = Corpus.from_tokens(docs)
    assert corpus.vocabulary.tolist() == sorted({w for doc in docs for w in doc})
    for i, doc in enumerate(docs):
        assert corpus.document(i) == {w: doc.count(w) for w in sorted(set(doc))}


def test_labels_may_come_late():
    builder = CorpusBuilder()
    builder.add_tokens(["a"])
    builder.add_tokens(["a"], label="x")
    builder.add_tokens(["a"])
    assert builder.build().labels.values.tolist() == [-1, 0, -1]


def test_labels_of_all_documents_win():
    builder = CorpusBuilder()
    builder.add_tokens(["a"], label="x")
    assert builder.build(labels=[2.0], label_kind="real").labels.values.tolist() == [2.0]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            {"doc_id": None, "covariates": {"x": 1}},
            "document 1 does not have an id, unlike the documents before it",
        ),
        ({"doc_id": "b"}, "document 1 does not have covariates, unlike"),
    ],
)
def test_ids_and_covariates_are_for_all_or_none(second, message):
    builder = CorpusBuilder()
    builder.add_tokens(["a"], doc_id="a", covariates={"x": 0})
    with pytest.raises(CorpusError, match=message):
        builder.add_tokens(["a"], **second)
    builder.add_tokens(["b"], doc_id="b", covariates={"x": 1})  # the refused document left no trace
    assert builder.build().n_docs == 2


def test_words_and_ids_do_not_mix():
    words, ids = CorpusBuilder(), CorpusBuilder()
    words.add_tokens(["a"])
    with pytest.raises(CorpusError, match="word ids cannot follow"):
        words.add_counts([0])
    ids.add_counts([0])
    with pytest.raises(CorpusError, match="words cannot follow"):
        ids.add_tokens(["a"])
    with pytest.raises(CorpusError, match="build takes a vocabulary only"):
        words.build(vocabulary=["a"])


def test_a_given_vocabulary_bounds_the_ids():
    builder = CorpusBuilder(["a", "b"])
    with pytest.raises(CorpusError, match=r"document 0 \(id 'x'\) has word id 2; expected ids from 0 to 1"):
        builder.add_counts([2], doc_id="x")


def test_block_lengths():
    with pytest.raises(CorpusError, match="the block has 1 documents, but 2 labels"):
        CorpusBuilder().add_block([0, 1], [0], labels=["a", "b"])


def test_it_builds_once():
    builder = CorpusBuilder()
    builder.add_tokens(["a"])
    builder.build()
    with pytest.raises(CorpusError, match="the corpus is already built"):
        builder.add_tokens(["a"])
    with pytest.raises(CorpusError, match="the corpus is already built"):
        builder.build()


def test_build_may_be_called_again_after_it_refused():
    builder = CorpusBuilder()
    builder.add_counts([5])
    with pytest.raises(CorpusError, match="but the vocabulary has 1 words"):
        builder.build(vocabulary=["a"])
    assert builder.build(n_words=6).n_words == 6


def test_it_needs_little_more_than_four_bytes_a_token():
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
