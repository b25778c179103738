"""Our posteriors are those that an outside program finds: NumPyro's NUTS, all discrete variables summed out.

Means and second moments of functions are compared, with Monte Carlo errors from ArviZ's effective sample sizes on both
sides. The planted bugs are parameters that our side alone takes.
"""

import subprocess
import sys
from pathlib import Path

import arviz as az
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_diabetes

import ppl_topics as pt

FALSE_ALARMS = 1e-4
"""Probability that a right sampler is refused, all comparisons of a model together."""

SMALLEST_SIZE = 1000
"""Effective samples of each function: enough for an estimate of its Monte Carlo error."""

SCRIPT = Path(__file__).with_name("nuts.py")
COUNTS = np.array([[3, 2, 0, 0], [0, 1, 3, 1], [2, 0, 0, 3], [0, 3, 2, 0], [1, 1, 1, 2], [4, 0, 1, 0], [0, 0, 1, 4]])
LABELS = np.array([0, 1, 1, 0, 1, 0, 1])


def diabetes():
    """Standardised covariates and target."""
    x, y = load_diabetes(return_X_y=True)
    return {"x": (x - x.mean(axis=0)) / x.std(axis=0), "y": (y - y.mean()) / y.std()}


def nuts(folder, model, data):
    """Draws by name, shape (chains, draws, ...), of a process of its own, for JAX has threads."""
    np.savez(folder / "data.npz", **data)
    command = [sys.executable, str(SCRIPT), model, "data.npz", "draws.npz"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if "No module named" in done.stderr:
        pytest.fail(f"{done.stderr.splitlines()[-1]}; `pip install -e '.[slow]'`, or `make test-slow`, installs it")
    assert done.returncode == 0, done.stderr
    with np.load(folder / "draws.npz") as file:
        draws = {name: file[name] for name in file.files}
    assert not draws.pop("diverged").any()
    return draws


def sample(model, corpus, draws, **how):
    """Draws by name, shape (chains, draws, ...)."""
    how |= {"chains": 4, "warmup": 500, "draws": draws, "seed": 1, "threads": 1, "progress": False}
    fit = pt.sample(model, corpus, **how)
    return {str(name): values.transpose("chain", "draw", ...).values for name, values in fit.posterior.items()}


def lda(**parameters):
    how = {"record": {"phi": "all", "theta": "all"}, "topics": len(parameters["alpha"])}
    return sample("lda", pt.Corpus.from_matrix(COUNTS), 5000, **how, **parameters)


def slda_logistic(**parameters):
    how = {"record": {"phi": "all", "theta": "all"}, "topics": len(parameters["alpha"]), "start": "uniform"}
    corpus = pt.Corpus.from_matrix(COUNTS, labels=[f"class {label}" for label in LABELS])
    return sample("slda_logistic", corpus, 8000, **how, **parameters)


def regression(*, shape, rate, **prior):
    """Regression on the covariates, in a topic model that it has no part of."""
    data = diabetes()
    model = {
        "name": "regression",
        "extends": "slda_gaussian",
        "parameters": {"variance": None, "error_shape": shape, "error_rate": rate},
        "blocks": {
            "x": {"block": "covariates", "observed": "covariates"},
            "eta": {"block": "regularised_horseshoe", "per": "response", **prior},
            "y": {"features": ["z", "x"], "supervised_topics": 0, "intercept": True, "standardise": False},
        },
    }
    documents = np.ones((len(data["y"]), 1), dtype=int)
    corpus = pt.Corpus.from_matrix(documents, labels=data["y"], label_kind="real", covariates=data["x"])
    return sample(model, corpus, 6000, topics=2)


def functions_of_topics(draws):
    """Each document's log likelihood, mean shares of the topics, sums of squares; shape (chains, draws, functions)."""
    theta, phi = draws["theta"].astype(float), draws["phi"].astype(float)
    of_words = (COUNTS * np.log(theta @ phi)).sum(axis=-1)
    squares = [(value**2).sum(axis=(-2, -1))[..., None] for value in (theta, phi)]
    return np.concatenate([of_words, theta.mean(axis=-2), *squares], axis=-1)


def functions_of_labels(draws):
    """Those, each document's linear predictor, and the coefficients in order of size."""
    eta = draws["eta"].reshape(*draws["theta"].shape[:2], -1)
    predictors = np.einsum("...dk,...k->...d", draws["theta"], eta)
    return np.concatenate([functions_of_topics(draws), predictors, np.sort(eta)], axis=-1)


def functions_of_regression(draws):
    """Coefficients, and functions of the scales without heavy tails."""
    flat = {name: value.reshape(*value.shape[:2], -1) for name, value in draws.items()}
    bounded = [flat[name] / (1.0 + flat[name]) for name in ("lambda", "slab")]
    return np.concatenate([flat["eta"], np.log(flat["sigma2"]), np.log(flat["tau"]), *bounded], axis=-1)


def differences(ours, theirs):
    """Differences, in standard errors, of the means, and of the second moments about the same centre."""
    centre = theirs.mean(axis=(0, 1))
    found = []
    for power in (1, 2):
        values = [(draws - centre) ** power for draws in (ours, theirs)]
        sizes = [[float(az.ess(value[..., i], method="mean")) for i in range(value.shape[-1])] for value in values]
        assert np.min(sizes) > SMALLEST_SIZE, sizes
        error = sum(value.var(axis=(0, 1)) / size for value, size in zip(values, sizes, strict=True))
        found.append(np.diff([value.mean(axis=(0, 1)) for value in values], axis=0)[0] / np.sqrt(error))
    return np.abs(found)


WEIGHTS = {"alpha": [0.5, 0.8, 1.1], "beta": 0.9}

# Of each of NumPyro's models: our draws, the data that it observes, the functions, the parameters, and a planted bug.
CASES = {
    "lda": (lda, {"counts": COUNTS}, functions_of_topics, WEIGHTS, {"alpha": [0.65, 1.04, 1.43]}),
    "slda_logistic": (
        slda_logistic,
        {"counts": COUNTS, "y": LABELS},
        functions_of_labels,
        {**WEIGHTS, "variance": 2.0, "c": 3.0},
        {"variance": 4.0},
    ),
    "regularised_horseshoe": (
        regression,
        diabetes(),
        functions_of_regression,
        {"scale": 0.1, "slab_scale": 0.3, "slab_df": 4.0, "intercept_variance": 100.0, "shape": 1.5, "rate": 0.5},
        {"slab_scale": 0.6},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", CASES)
def test_agreement_with_nuts(model, tmp_path):
    ours, observed, functions, parameters, bug = CASES[model]
    theirs = functions(nuts(tmp_path, model, observed | parameters))
    right = differences(functions(ours(**parameters)), theirs)
    wrong = differences(functions(ours(**parameters | bug)), theirs)
    limit = norm.isf(FALSE_ALARMS / 2 / right.size)
    print(f"{right.size} comparisons: at most {right.max():.1f} standard errors; with the bug {wrong.max():.1f}")
    assert right.max() < limit < wrong.max()
