"""The choice of test documents."""

import numpy as np
import pytest

from ppl_topics.corpus import Corpus
from ppl_topics.errors import CorpusError


@pytest.fixture
def many():
    labels = (["a"] * 60 + ["b"] * 30 + [None] * 10) * 2
    return Corpus.from_tokens([["w", f"u{i % 7}"] for i in range(200)], labels=labels)


def test_parts_are_disjoint_and_in_order(many):
    train, test = many.split(0.25, seed=3)
    assert (len(train), len(test)) == (150, 50)
    ids = [int(i) for part in (train, test) for i in part.doc_ids]
    assert sorted(ids) == list(range(200))
    assert ids[:150] == sorted(ids[:150])
    assert train.vocabulary.tolist() == test.vocabulary.tolist()


def test_each_class_has_its_share(many):
    _, test = many.split(50)
    assert np.bincount(test.labels.values + 1).tolist() == [5, 30, 15]
    _, loose = many.split(50, stratify=False, seed=1)
    assert len(loose) == 50


def test_it_can_be_repeated(many):
    first, again, other = (many.split(0.2, seed=seed)[1].doc_ids.tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_it_stays_from_one_version_to_the_next():
    corpus = Corpus.from_tokens([["w"]] * 10)
    assert corpus.split(3, seed=0)[1].doc_ids.tolist() == ["1", "2", "3"]


def test_every_document_has_the_same_chance():
    corpus = Corpus.from_tokens([["w"]] * 8)
    chosen = np.zeros(8)
    for seed in range(400):
        chosen[[int(i) for i in corpus.split(2, seed=seed)[1].doc_ids]] += 1
    assert np.all(np.abs(chosen - 100) < 5 * np.sqrt(400 * 0.25 * 0.75))


@pytest.mark.parametrize(
    ("test", "kwargs", "message"),
    [
        (0, {}, "leaves one part empty"),
        (200, {}, "leaves one part empty"),
        (0.0, {}, "a share lies strictly between 0 and 1"),
        (1.5, {}, "a share lies strictly between 0 and 1"),
        (True, {}, "expected a share"),
        ("half", {}, "expected a share"),
        (3, {"seed": -1}, "non-negative integer"),
    ],
)
def test_it_refuses(many, test, kwargs, message):
    with pytest.raises(CorpusError, match=message):
        many.split(test, **kwargs)


def test_stratify_needs_classes():
    with pytest.raises(CorpusError, match="needs class labels"):
        Corpus.from_tokens([["a"]] * 4, labels=[0.5, 1.5, 2.0, 3.0]).split(1, stratify=True)


def test_a_single_document_cannot_be_split():
    with pytest.raises(CorpusError, match="leaves one part empty"):
        Corpus.from_tokens([["a"]]).split(0.5)


def test_folds_part_the_documents(many):
    folds = many.folds(7, seed=3)
    held_out = [test.doc_ids.tolist() for _, test in folds]
    assert sorted(int(i) for ids in held_out for i in ids) == list(range(200))
    for train, test in folds:
        assert len(test) in (28, 29)
        ids = [[int(i) for i in part.doc_ids] for part in (train, test)]
        assert sorted(ids[0] + ids[1]) == list(range(200))
        assert ids == [sorted(ids[0]), sorted(ids[1])]
        # 20 of no class, 120 and 60 of a class.
        counts = np.bincount(test.labels.values + 1, minlength=3)
        assert np.abs(counts - np.array([20, 120, 60]) / 7).max() < 1.0
    assert held_out == [test.doc_ids.tolist() for _, test in many.folds(7, seed=3)]
    assert held_out != [test.doc_ids.tolist() for _, test in many.folds(7, seed=4)]


def test_folds_stay_from_one_version_to_the_next():
    corpus = Corpus.from_tokens([["w"]] * 6)
    assert [test.doc_ids.tolist() for _, test in corpus.folds(3, seed=0)] == [["0", "3"], ["2", "4"], ["1", "5"]]


@pytest.mark.parametrize("folds", [0, 1, 201, 2.0, True, "five"])
def test_wrong_numbers_of_folds_are_refused(many, folds):
    with pytest.raises(CorpusError, match=r"folds is .*; expected a whole number from 2 to 200"):
        many.folds(folds)
