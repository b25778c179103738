"""Thresholds that choose words."""

import pytest

from ppl_topics.corpus import Corpus, DroppedWords
from ppl_topics.errors import CorpusError


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
