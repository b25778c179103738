"""Probabilities of new documents, on data drawn from the model itself: averaged over draws they are calibrated.

The slope of a logistic regression of the labels on the log odds of their probabilities is 1 if these are calibrated,
and less if they are too near 0 and 1. Its standard error is of the spread between data sets (the jackknife), so a right
predictor fails one time in 370 over seeds; these are fixed. The plug-in of mean coefficients and mean topics is the
planted bug.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

import ppl_topics as pt

TOPICS, WORDS, TOKENS, TRAINING, NEW = 4, 40, 5, 60, 200
PRIOR = {"alpha": 0.25, "beta": 0.1, "variance": 64.0}
VOCABULARY = [f"w{word}" for word in range(WORDS)]


def simulated(seed):
    """Training documents and new ones with two classes, everything drawn from `slda_logistic` at c = 1."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(WORDS, PRIOR["beta"]), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, PRIOR["alpha"]), TRAINING + NEW)
    eta = rng.normal(0.0, np.sqrt(PRIOR["variance"]), TOPICS)
    z = np.stack([rng.choice(TOPICS, TOKENS, p=shares) for shares in theta])
    texts = [[VOCABULARY[rng.choice(WORDS, p=phi[topic])] for topic in row] for row in z]
    classes = (rng.random(len(z)) < expit(eta[z].mean(axis=1))).astype(int)
    if len(set(classes[:TRAINING])) < 2:
        # Nothing to learn from: the model is not fitted to such data.
        return None
    corpus = pt.Corpus.from_tokens(texts, vocabulary=VOCABULARY).with_labels(pt.Labels("class", classes, ["no", "yes"]))
    return corpus.select(range(TRAINING)), corpus.select(range(TRAINING, len(z)))


def predicted(data_sets, *ways, **options):
    """Probabilities of the second class, in each way, and the classes, by data set."""
    probability, truth = [], []
    for seed in range(data_sets):
        if (data := simulated(seed)) is not None:
            run = {"topics": TOPICS, "c": 1.0, **PRIOR, "draws": 300, "warmup": 200, "chains": 1, "progress": False}
            fit = pt.sample("slda_logistic", data[0], seed=seed + 1, threads=1, **run, **options)
            probability.append([fit.predict_proba(data[1], threads=1, **way)[:, 1] for way in ways])
            truth.append(data[1].labels.values)
    return np.stack(probability, axis=1), np.array(truth)


def slope(probability, truth):
    """The slope of the regression, and its standard error."""

    def of(p, y):
        x = logit(np.clip(p, 1e-6, 1.0 - 1e-6)).ravel()
        log_loss = lambda b: np.logaddexp(0.0, (1 - 2 * y.ravel()) * (b[0] + b[1] * x)).sum()  # noqa: E731
        return minimize(log_loss, [0.0, 1.0]).x[1]

    n = len(truth)
    without = np.array([of(np.delete(probability, i, axis=0), np.delete(truth, i, axis=0)) for i in range(n)])
    return of(probability, truth), np.sqrt((n - 1) * without.var())


def test_averaged_probabilities_are_calibrated_and_plugged_in_ones_are_not():
    (averaged, plugged), truth = predicted(6, {}, {"eta": "mean"})
    value, error = slope(averaged, truth)
    assert abs(value - 1.0) < 3 * error < 0.5
    value, error = slope(plugged, truth)
    assert value < 1.0 - 5 * error


@pytest.mark.slow
def test_a_larger_one():
    """With the topics of each draw too: the mean topics of a small corpus are a plug-in as well, if a mild one.

    It prints the figures of docs/prediction.md (``-s``).
    """
    ways = {"topics of each draw": {"phi": "draws"}, "averaged": {}, "plugged in": {"eta": "mean"}}
    probability, truth = predicted(100, *ways.values(), record={"phi": "all"})
    found = {way: slope(p, truth) for way, p in zip(ways, probability, strict=True)}
    print({way: f"{value:.2f} +- {error:.2f}" for way, (value, error) in found.items()})
    value, error = found["topics of each draw"]
    assert abs(value - 1.0) < 3 * error < 0.1
    assert abs(found["averaged"][0] - 1.0) < 0.1
    assert found["plugged in"][0] < 0.7
