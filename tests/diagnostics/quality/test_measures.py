"""Coherence and document entropy, against sums written out and at their limits."""

import itertools
import math

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.quality import document_entropy, umass_coherence

DOCUMENTS = [["a", "b", "b"], ["a", "c"], ["b", "c", "d"], ["d"], [], ["a", "b", "c"]]


def by_hand(words):
    held = [set(document) for document in DOCUMENTS]

    def count(*given):
        return sum(set(given) <= document for document in held)

    pairs = itertools.combinations(words, 2)
    return sum(math.log((count(first, later) + 1) / count(first)) for first, later in pairs if count(first))


@pytest.mark.parametrize("words", ["abc", "cba", "dab", "ad", "b", "zab"])
def test_coherence(words):
    corpus = pt.Corpus.from_tokens(DOCUMENTS, vocabulary=["a", "b", "c", "d", "z"])
    ids = [corpus.vocabulary.tolist().index(word) for word in words]
    assert umass_coherence([ids], corpus)[0] == pytest.approx(by_hand(words), abs=1e-12)
    assert umass_coherence([ids, ids], corpus).shape == (2,)


def test_coherence_depends_on_the_order_of_words():
    assert by_hand("ad") != by_hand("da")


def test_entropy():
    assert document_entropy(np.ones((8, 1)))[0] == pytest.approx(math.log(8))
    assert document_entropy([[5, 0], [0, 0]]).tolist() == [0.0, 0.0]
    assert document_entropy([[3], [1]])[0] == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
