"""DOLDA on simulated documents: it finds the topics that matter, and its intervals hold what they promise."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import ppl_topics as pt
from ppl_topics.corpus import Labels

RECORD = {"phi": "none", "theta": "none"}
PROBABILITY = 0.9


def simulate(rng, eta, intercept, *, docs, length, words, alpha, beta):
    """Documents of LDA, and labels of each response by a probit of the topics' shares; with the topics."""
    n_topics = eta.shape[1]
    phi = rng.dirichlet(np.full(words, beta), n_topics)
    in_topic = np.stack([rng.multinomial(length, rng.dirichlet(np.full(n_topics, alpha))) for _ in range(docs)])
    counts = np.stack([sum(rng.multinomial(n, p) for n, p in zip(row, phi, strict=True)) for row in in_topic])
    scores = in_topic / length @ eta.T + intercept
    holds = rng.normal(size=scores.shape) < scores
    # Given as they are: of a list of names, a label that never holds would be no response.
    names = np.array([f"label {c}" for c in range(len(eta))], dtype=object)
    labels = Labels("multi_label", holds.astype(np.int8), names)
    return dataclasses.replace(pt.Corpus.from_matrix(counts), labels=labels), phi


def aligned(fit, phi):
    """Draws of the slopes, shape (draws, C, K), their topics in the order of those that the documents came from."""
    found = fit.groups["constant_data"]["phi_mean"].isel(chain=0).transpose("topic", "word").values
    topic, truth = linear_sum_assignment(-np.sqrt(found) @ np.sqrt(phi).T)
    eta = fit.posterior["eta"].isel(chain=0).transpose("draw", "response", "coefficient").values
    return eta[:, :, topic[np.argsort(truth)]]


def interval(draws):
    return np.quantile(draws, [(1 - PROBABILITY) / 2, (1 + PROBABILITY) / 2], axis=0)


def excludes_zero(fit, phi):
    low, high = interval(aligned(fit, phi))
    return (low > 0) | (high < 0)


def of_signals(model):
    """Fifty topics, of which ten have a coefficient of 4 or -4 for one of four labels."""
    rng = np.random.default_rng(5)
    eta = np.zeros((4, 50))
    eta[np.arange(10) % 4, rng.choice(50, 10, replace=False)] = rng.choice([-4.0, 4.0], 10)
    sizes = {"docs": 3000, "length": 60, "words": 1000, "alpha": 0.1, "beta": 0.05}
    corpus, phi = simulate(rng, eta, -0.5, **sizes)
    how = {"topics": 50, "alpha": 0.1, "beta": 0.05, "start": "uniform", "warmup": 200, "draws": 200}
    fit = pt.sample(model, corpus, chains=1, seed=1, progress=False, record=RECORD, **how)
    return eta != 0, excludes_zero(fit, phi)


@pytest.mark.slow
def test_signals_are_found_among_noise():
    """All ten topics, and fewer than two others; under a normal prior of large variance more would be let through."""
    true, found = of_signals("dolda")
    assert (found & true).any(axis=0).sum() == 10
    assert (found.any(axis=0) & ~true.any(axis=0)).sum() < 2


COVERAGE = {
    "horseshoe": ({"block": "horseshoe", "scale": 0.2}, {"warmup": 500, "draws": 3000}, 30),
    "normal": ({"block": "normal", "variance": 4.0}, {"warmup": 150, "draws": 400}, 60),
}
"""Priors, sweeps and data sets: large coefficients of a horseshoe, unbounded if classes separate, take long to mix."""


def covered(prior, sweeps, data_sets, shift=0.0):
    """For each data set whose coefficients come from the prior, which of their intervals hold them."""
    model = {"name": "coverage", "extends": "dolda_normal", "parameters": {"variance": None}}
    model["blocks"] = {"eta": {"per": "response", "intercept_variance": 1.0, **prior}}
    sizes = {"docs": 120, "length": 25, "words": 60, "alpha": 0.5, "beta": 0.05}
    result = []
    for number in range(data_sets):
        rng = np.random.default_rng(number)
        if prior["block"] == "normal":
            eta = rng.normal(scale=np.sqrt(prior["variance"]), size=(2, 3))
        else:
            scales = prior["scale"] * np.abs(rng.standard_cauchy((2, 1))) * np.abs(rng.standard_cauchy((2, 3)))
            eta = rng.normal(size=(2, 3)) * scales
        corpus, phi = simulate(rng, eta, rng.normal(size=2), **sizes)
        how = {"topics": 3, "alpha": 0.5, "beta": 0.05, "start": "uniform", **sweeps}
        fit = pt.sample(model, corpus, chains=1, seed=number, threads=1, progress=False, record=RECORD, **how)
        low, high = interval(aligned(fit, phi))
        result.append((low < eta + shift) & (eta + shift < high))
    return np.array(result)


@pytest.mark.slow
@pytest.mark.parametrize("prior", COVERAGE)
def test_coverage_of_intervals(prior):
    """Of 180 or 360 coefficients from the prior, 90% lie in their intervals; sd 2.2% or 1.6% were they independent."""
    assert 0.85 <= covered(*COVERAGE[prior]).mean() <= 0.95


@pytest.mark.slow
def test_coverage_falls_where_intervals_are_off():
    """The planted bug: coefficients that are off by one."""
    prior, sweeps, _ = COVERAGE["normal"]
    assert covered(prior, sweeps, 20, shift=1.0).mean() < 0.85
