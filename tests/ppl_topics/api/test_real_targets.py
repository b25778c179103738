"""Targets with outliers, and quantiles: simulated, fitted, predicted and calibrated, their scale having a prior."""

import numpy as np
import pytest

import ppl_topics as pt

HALF_CAUCHY = {"block": "half_cauchy", "scale": 1.0}
SHORT = {"draws": 60, "warmup": 60, "chains": 1, "seed": 1, "progress": False}


def model(response, eta="normal", **options):
    eta = {"block": eta, "per": "response"}
    y = {"block": response, "coefficients": "eta", "features": ["z"], "intercept": True, **options}
    return {"name": response, "extends": "lda", "blocks": {"eta": eta, "y": y}}


def corpus(outliers=0):
    """Two kinds of words, with targets of 1 and 3 and errors of 0.1, but for some that are a hundred off."""
    rng, kind = np.random.default_rng(1), np.arange(80) % 2
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 5, 12) + 5 * k) for k in kind]
    targets = 1.0 + 2.0 * kind + 0.1 * rng.normal(size=80)
    targets[: 8 * outliers : 8] += 100.0
    return pt.Corpus.from_texts(texts, labels=targets)


@pytest.mark.parametrize("response", ["student_t", "quantile"])
def test_outliers_do_not_move_predictions(response):
    how = {"topics": 2, "alpha": 0.1, "beta": 0.1, **SHORT}
    options = {"sigma": HALF_CAUCHY, "standardise": False}
    fit = pt.sample(model(response, **options), corpus(outliers=5), **how, debug=True)
    predicted = fit.predict(corpus())
    truth = 1.0 + 2.0 * (np.arange(80) % 2)
    assert np.abs(predicted - truth).max() < 0.3
    # Least squares is moved by what five documents of forty are off.
    squares = pt.sample(model("gaussian", standardise=False), corpus(outliers=5), **how).predict(corpus())
    assert np.abs(squares - truth).max() > 1.0
    assert fit.posterior["y_sigma"].dims == ("chain", "draw")
    assert set(fit.posterior_predictive(draws=3)) == {"words", "labels"}
    assert np.isfinite(fit.log_likelihood("labels")["labels"]).all()
    assert {"log_score", "r2"} <= set(fit.metrics(corpus()))


def test_a_quantile_is_above_as_many_targets_as_it_says():
    rng = np.random.default_rng(2)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 5, 12)) for _ in range(300)]
    skewed = pt.Corpus.from_texts(texts, labels=rng.exponential(size=300))
    how = {"topics": 2, **SHORT}
    for quantile in (0.2, 0.9):
        fit = pt.sample(model("quantile", quantile=quantile, sigma=HALF_CAUCHY), skewed, **how)
        below = (skewed.labels.values < fit.predict(skewed)).mean()
        # Four standard errors of a share of 300.
        assert abs(below - quantile) < 4 * np.sqrt(quantile * (1 - quantile) / 300)


CALIBRATED = {
    "student_t": model("student_t", "laplace", standardise=False, df=4.0),
    "quantile": model("quantile", "student_t_coefficients", standardise=False, quantile=0.7),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_whole_runs_are_calibrated(name):
    """Refused with probability 0.01."""
    prior = {"block": "gamma", "shape": 2.0, "rate": 2.0}
    blocks = CALIBRATED[name]["blocks"]
    spec = {**CALIBRATED[name], "blocks": {"eta": {**blocks["eta"], "scale": prior, "intercept_variance": 1.0}}}
    spec["blocks"]["y"] = {**blocks["y"], "sigma": prior}
    how = {"replicates": 60, "draws": 100, "warmup": 200, "thin": 4, "seed": 1, "progress": False}
    result = pt.calibrate(spec, documents=8, lengths=8, words=6, topics=2, alpha=0.6, beta=0.6, **how)
    assert result.passed, str(result)
    assert {"y_sigma", "eta_scale"} <= set(result.table().index)
