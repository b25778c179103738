"""Counts of a state, by both ways to count: the same numbers, whatever the threads."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics._util.threads import using_threads
from ppl_topics.core import tokens as core_tokens
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes, Tokens, topic_dtype
from ppl_topics.engine.bind import bind, index_tokens
from ppl_topics.samplers import counts
from ppl_topics.schedule import make_plan
from ppl_topics.spec import load_spec

RNG = np.random.default_rng(0)
WORDS, TOPICS = 30, 5


def state_of(lengths: np.ndarray) -> tuple[Tokens, ChainState]:
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)])
    tokens = index_tokens(doc_ptr, RNG.integers(0, WORDS, doc_ptr[-1]).astype(np.uint32), WORDS)
    z = RNG.integers(0, TOPICS, doc_ptr[-1]).astype(topic_dtype(TOPICS))
    sizes = Sizes(len(lengths), WORDS, TOPICS, len(z))
    # Left over from before, and to be forgotten.
    n_wk, n_k = np.full((WORDS, TOPICS), 7, np.int32), np.full(TOPICS, 7, np.int64)
    return tokens, ChainState(tokens, sizes, z, n_wk, n_k)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("in_tables", [False, True])
@pytest.mark.parametrize("lengths", [RNG.integers(0, 40, 300), np.array([0, 3]), np.array([5000])])
def test_counts_are_those_of_z(
    lengths: np.ndarray, in_tables: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens, state = state_of(lengths)
    monkeypatch.setattr(counts, "TOKENS_PER_CELL", 0 if in_tables else 10**9)
    with using_threads(threads):
        counts.recount(tokens, state)
    expected = np.zeros((WORDS, TOPICS), np.int32)
    np.add.at(expected, (tokens.words, state.z), 1)
    np.testing.assert_array_equal(state.n_wk, expected)
    np.testing.assert_array_equal(state.n_k, expected.sum(axis=0))
    assert ("by_word" in vars(tokens)) != in_tables


def test_a_large_corpus_needs_no_index_by_word() -> None:
    tokens, state = state_of(np.full(100, 100))
    counts.recount(tokens, state)
    assert "by_word" not in vars(tokens)


def test_too_many_tokens_or_occurrences_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = pt.Corpus.from_texts(["red green red", "green blue red"] * 5)
    how = {"topics": 2, "draws": 1, "warmup": 0, "chains": 1, "threads": 1, "progress": False}
    monkeypatch.setattr(core_tokens, "MAX_POSITIONS", 29)
    says = (
        "'block_collapsed'.*30 tokens are more than the 29 that can be indexed; use a kernel given phi with fewer words"
    )
    with pytest.raises(pt.RunError, match=says):
        pt.sample("lda_collapsed", corpus, schedule={"z": "block_collapsed"}, **how)
    given = {"cycle": [{"z": "partially_collapsed"}, {"phi": "dirichlet_rows"}]}
    assert pt.sample("lda", corpus, schedule=given, **how).posterior.sizes["draw"] == 1
    monkeypatch.setattr("ppl_topics.engine.bind.MAX_OCCURRENCES", 14)
    with pytest.raises(pt.RunError, match=r"the word 'red' occurs 15 times, and counts go up to 14; leave it out, as"):
        bind(make_plan(load_spec("lda", {"topics": 2})), corpus)
