"""Labels of every kind, encoded by the responses that can have them, and refused by the others."""

import numpy as np
import pytest

from ppl_topics.corpus.labels import Labels
from ppl_topics.errors import CorpusError
from ppl_topics.models.epsilon_insensitive import EpsilonInsensitive
from ppl_topics.models.gaussian import Gaussian
from ppl_topics.models.hinge import Hinge
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.negative_binomial import NegativeBinomial

KEYS = {"coefficients": "eta", "features": ["z"]}
NAMES = np.array(["no", "yes", "maybe"], dtype=object)


@pytest.mark.parametrize(("block", "low"), [(Hinge(**KEYS), -1.0), (Logistic(**KEYS), 0.0)])
def test_classes(block, low):
    two = Labels("class", [1, 0, -1, 1], NAMES[:2])
    three = Labels("class", [2, 0, -1, 1], NAMES)
    targets, names = block.encode(two)
    np.testing.assert_array_equal(targets, [[1], [low], [np.nan], [1]])
    assert names == ["yes"]
    targets, names = block.encode(three)
    np.testing.assert_array_equal(targets, [[low, low, 1], [1, low, low], [np.nan] * 3, [low, 1, low]])
    assert names == list(NAMES)


@pytest.mark.parametrize(("block", "low"), [(Hinge(**KEYS), -1.0), (Logistic(**KEYS), 0.0)])
def test_multi_label(block, low):
    labels = Labels("multi_label", [[1, 0, -1], [0, 0, 0]], NAMES)
    targets, names = block.encode(labels)
    np.testing.assert_array_equal(targets, [[1, low, np.nan], [low] * 3])
    assert names == list(NAMES)


def test_numbers():
    one, two = Labels("real", [0.5, np.nan, -2.0]), Labels("real", [[0.5, 1.0], [np.nan, 2.0]], NAMES[:2])
    counts = Labels("count", [3, -1, 0])
    for block in (Gaussian(**KEYS), EpsilonInsensitive(**KEYS)):
        targets, names = block.encode(one)
        np.testing.assert_array_equal(targets, [[0.5], [np.nan], [-2.0]])
        assert names == ["y"]
        targets, names = block.encode(two)
        np.testing.assert_array_equal(targets, [[0.5, 1.0], [np.nan, 2.0]])
        assert names == ["no", "yes"]
    for block in (Gaussian(**KEYS), EpsilonInsensitive(**KEYS), NegativeBinomial(**KEYS)):
        targets, names = block.encode(counts)
        np.testing.assert_array_equal(targets, [[3.0], [np.nan], [0.0]])
        assert targets.dtype == np.float64
        assert names == ["y"]
    targets, names = NegativeBinomial(**KEYS).encode(Labels("count", [[3, -1], [0, 7]], NAMES[:2]))
    np.testing.assert_array_equal(targets, [[3.0, np.nan], [0.0, 7.0]])
    assert names == ["no", "yes"]


def test_no_documents():
    for labels, blocks in (
        (Labels("class", np.empty(0), NAMES), (Hinge, Logistic)),
        (Labels("multi_label", np.empty((0, 3)), NAMES), (Hinge, Logistic)),
        (Labels("real", np.empty((0, 3)), NAMES), (Gaussian, EpsilonInsensitive)),
        (Labels("count", np.empty((0, 3)), NAMES), (NegativeBinomial,)),
    ):
        for block in blocks:
            assert block(**KEYS).encode(labels)[0].shape == (0, 3)
    for labels, block in ((Labels("real", np.empty(0)), Gaussian), (Labels("count", np.empty(0)), NegativeBinomial)):
        assert block(**KEYS).encode(labels)[0].shape == (0, 1)


CLASSES, ONE, NONE = (Labels("class", values, NAMES[:n]) for values, n in (([0, 1], 2), ([0, 0], 1), ([-1, -1], 0)))
REAL, COUNT, SETS = Labels("real", [0.5, 1.0]), Labels("count", [3, 4]), Labels("multi_label", [[1], [0]], NAMES[:1])


@pytest.mark.parametrize(
    ("block", "labels", "message"),
    [
        (Hinge, REAL, "it needs classes, but these labels are of kind 'real'; give label_kind='class'"),
        (Logistic, COUNT, "it needs classes, but these labels are of kind 'count'"),
        (Hinge, ONE, "needs at least two classes, but all labels are 'no'"),
        (Logistic, NONE, "needs at least two classes, but all labels are missing"),
        (Gaussian, CLASSES, "it needs numbers, but these labels are of kind 'class'; .*label_kind='real'"),
        (EpsilonInsensitive, SETS, "these labels are of kind 'multi_label'"),
        (NegativeBinomial, REAL, "these labels are of kind 'real'; .*label_kind='count'"),
        (Gaussian, Labels("real", [1e200, 1.0]), "a target is larger than 1e\\+100; scale the targets down"),
    ],
)
def test_labels_of_the_wrong_kind(block, labels, message):
    with pytest.raises(CorpusError, match=message):
        block(**KEYS).encode(labels)
