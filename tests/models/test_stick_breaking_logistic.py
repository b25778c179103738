"""The stick-breaking distribution of classes: its sum, and its factors by the formulas of Linderman et al. (2015)."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.logistic import Logistic
from ppl_topics.models.stick_breaking_logistic import StickBreakingLogistic

KEYS = {"coefficients": "eta", "features": ["z"]}
BLOCK, ONES = StickBreakingLogistic(**KEYS), np.ones(1)
NAMES = ["a", "b", "c", "d"]
TARGETS, RESPONSES = BLOCK.encode(Labels("class", [0, 1, 2, 3, -1], NAMES))
SCORES = np.array([[0.3, -1.2, 2.0], [40.0, -40.0, 0.5], [-800.0, -300.0, 5.0], [0.0, 0.0, 0.0]])


def by_formula():
    """Whether b and the shapes of omega are 1[y = j] - 1[y >= j] / 2 and 1[y >= j], 0 where the class is missing."""
    y, j = np.arange(4)[:, None], np.arange(3)
    reached = np.vstack([y >= j, np.zeros((1, 3))])
    slope = np.vstack([y == j, np.zeros((1, 3))]) - reached / 2.0
    b, omega = BLOCK.potential(TARGETS, np.full(TARGETS.shape, 0.7))
    shape, _ = BLOCK.augmentation_arguments(TARGETS, TARGETS)
    return [np.array_equal(b, slope), np.array_equal(omega, 0.7 * reached), np.array_equal(shape, reached)]


def test_factors_are_those_of_the_paper():
    assert RESPONSES == ["a", "b", "c"]
    assert all(by_formula())


BUGS = {
    # One class against the rest, each.
    "sticks behind count as passed": lambda targets: np.maximum(targets, 0.0),
    "no factor where a document passes on": lambda targets: np.where(targets == 1.0, 1.0, -1.0),
}


@pytest.fixture(params=BUGS)
def bug(request, monkeypatch):
    for name in ("potential", "augmentation_arguments", "log_likelihood"):
        method = getattr(StickBreakingLogistic, name)
        monkeypatch.setattr(
            StickBreakingLogistic,
            name,
            lambda self, targets, *rest, method=method: method(self, BUGS[request.param](targets), *rest),
        )


def test_planted_bugs_differ_in_factors_and_in_the_sum(bug):
    assert not all(by_formula())
    assert np.abs(totals() - 1.0).max() > 1e-2


@pytest.mark.slow
def test_planted_bugs_are_refused(bug):
    """By Geweke's test of the coefficients, which they move alone: the classes are drawn from the distribution."""
    assert not pt.verify("slda_multinomial", kernel="joint_normal", long_run=2000).passed


def totals():
    """Sums of the likelihood over the four classes, at each row of scores."""
    each = [BLOCK.log_likelihood(np.broadcast_to(row, SCORES.shape), SCORES, ONES).sum(axis=1) for row in TARGETS[:4]]
    return np.exp(each).sum(axis=0)


def test_it_is_a_distribution():
    """The likelihood sums to 1 over classes, without a normaliser, and is what predictions use, far out too."""
    np.testing.assert_allclose(totals(), 1.0, rtol=1e-12)
    probability = BLOCK.class_probabilities(SCORES)
    each = [BLOCK.log_likelihood(np.broadcast_to(row, SCORES.shape), SCORES, ONES).sum(axis=1) for row in TARGETS[:4]]
    np.testing.assert_allclose(probability.T, np.exp(each), rtol=1e-12)
    assert (BLOCK.log_likelihood(TARGETS[4:], SCORES[:1], ONES) == 0.0).all()


def test_drawn_classes_have_their_probabilities():
    """Five standard errors: false alarms below 1e-6 each."""
    drawn = BLOCK.draw_targets(np.broadcast_to(SCORES[0], (40_000, 3)), ONES, np.random.default_rng(1))
    share, p = BLOCK.indicators(drawn).mean(axis=0), BLOCK.class_probabilities(SCORES[0])
    assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / 40_000)).all()
    assert (np.abs(share - p[::-1]) > 5 * np.sqrt(p * (1 - p) / 40_000)).any()


def test_indicators_are_the_classes():
    np.testing.assert_array_equal(BLOCK.indicators(TARGETS), np.vstack([np.eye(4), np.full((1, 4), np.nan)]))


def test_loss_where_no_document_reaches_a_stick():
    """As in documents of the first class alone; the loss of metrics looks at one stick after another."""
    targets, _ = BLOCK.encode(Labels("class", [0, 0], NAMES))
    assert BLOCK.loss(targets[:, 1], np.ones(2)) == 0.0
    assert BLOCK.loss(targets[:, 0], np.array([1.0, -1.0])) == 0.5


def test_two_classes_are_the_logistic_model():
    labels, logistic = Labels("class", [1, 0, -1], NAMES[:2]), Logistic(**KEYS)
    targets, names = BLOCK.encode(labels)
    expected = logistic.encode(labels)
    np.testing.assert_array_equal(targets, expected[0])
    assert names == expected[1] == ["b"]
    scores = np.array([[0.4], [-2.0], [1.0]])
    np.testing.assert_array_equal(BLOCK.potential(targets, scores), logistic.potential(targets, scores))
    np.testing.assert_array_equal(BLOCK.class_probabilities(scores), logistic.class_probabilities(scores))
    np.testing.assert_array_equal(BLOCK.indicators(targets), targets)


def test_several_labels_a_document_are_refused():
    with pytest.raises(pt.CorpusError, match=r"needs exclusive classes.*'logistic', which at c: 1"):
        BLOCK.encode(Labels("multi_label", [[1, 0, 1]], NAMES[:3]))


def test_it_composes():
    """With covariates, missing labels and a horseshoe: recovers classes that depend on a word and on a covariate."""
    rng = np.random.default_rng(3)
    topic, number = rng.integers(0, 2, 150), rng.normal(size=150)
    texts = [" ".join(rng.choice(["aa", "bb", "cc"] if t else ["xx", "yy", "zz"], 12)) for t in topic]
    classes = np.where(topic, "first", np.where(number > 0, "second", "third")).astype(object)
    classes[rng.random(150) < 0.2] = None
    corpus = pt.Corpus.from_texts(texts, labels=list(classes), covariates=[{"number": float(x)} for x in number])
    blocks = {
        "x": {"block": "covariates", "observed": "covariates"},
        "eta": {"block": "horseshoe", "per": "response"},
        "y": {"features": ["z", "x"]},
    }
    model = {"extends": "slda_multinomial", "name": "composed", "blocks": blocks}
    fit = pt.sample(model, corpus, topics=2, draws=60, warmup=40, chains=1, seed=1, progress=False)
    assert fit.posterior.sizes["response"] == 2
    statistics = fit.groups["sample_stats"]
    np.testing.assert_allclose(statistics["log_likelihood_class"], statistics["log_likelihood_y"])
    found = fit.predict_proba(corpus)
    assert found.shape == (150, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert fit.score(corpus) > 0.9
