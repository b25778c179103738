"""NUTS of PyMC on `to_pymc` finds the posteriors that our kernels do: it knows no topic of a token, nor our scales.

Means and second moments of functions that do not depend on the numbers of topics are compared, with Monte Carlo errors
from ArviZ's effective sample sizes on both sides.
"""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import ppl_topics as pt

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PyTensor could not link:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:pymc"),
]

FALSE_ALARMS = 1e-4
"""Probability that a right sampler is refused, all comparisons of a model together."""

SMALLEST_SIZE = 300
"""Effective samples of each function, on both sides."""

FIXED = {"topics": 2, "alpha": 1.0, "beta": 1.0}
HORSESHOE = {
    "name": "shrunk",
    "extends": "slda_gaussian",
    "parameters": {"variance": None},
    "blocks": {"eta": {"block": "horseshoe", "per": "response", "scale": 0.7}},
}
MODELS = {
    "lda": ("lda", {}),
    "slda_gaussian": ("slda_gaussian", {"standardise": False, "error_shape": 3.0}),
    "slda_logistic": ("slda_logistic", {"c": 1.0, "variance": 4.0}),
    "horseshoe": (HORSESHOE, {"standardise": False, "error_shape": 3.0}),
}
OTHER = {
    "lda": {"beta": 0.6},
    "slda_gaussian": {"error_shape": 8.0},
    "slda_logistic": {"variance": 1.0},
    "horseshoe": {"error_shape": 8.0},
}
"""Planted bugs: parameters that our side alone takes."""


def functions(draws):
    """Functions of draws that are the same whatever the numbers of topics, shape (chain, draw)."""
    phi, theta = draws["phi"], draws["theta"]
    found = {
        "sum of squares of phi": (phi**2).sum(["topic", "word"]),
        "entropy of theta": -(theta * np.log(theta + 1e-300)).sum(["doc", "topic"]),
        "theta of two documents": (theta.isel(doc=0) * theta.isel(doc=1)).sum("topic"),
    }
    if "eta" in draws:
        eta = draws["eta"].isel(response=0, coefficient=slice(0, 2)).rename(coefficient="topic")
        eta = eta.assign_coords(topic=theta["topic"].values)
        # Bounded, for a horseshoe's coefficients have no moments by the prior.
        found["spread of eta"] = np.tanh(np.abs(eta.isel(topic=0) - eta.isel(topic=1)))
        found["linear predictor"] = np.tanh((eta * theta.isel(doc=0)).sum("topic"))
    if "sigma2" in draws:
        found["log sigma2"] = np.log(draws["sigma2"]).sum("response")
    if "tau" in draws:
        found["log tau"] = np.log(draws["tau"]).sum("response")
        found["log lambda"] = np.log(draws["lambda"]).sum(["response", "slope"])
    return xr.Dataset({name: values.reset_coords(drop=True) for name, values in found.items()})


def ours(name, corpus, **changes):
    model, parameters = MODELS[name]
    how = {"draws": 20_000, "warmup": 500, "chains": 4, "seed": 1, "threads": 1, "progress": False}
    record = {"phi": "all", "theta": "all"}
    fit = pt.sample(model, corpus, **how, record=record, **{**FIXED, **parameters, **changes})
    return functions(fit.posterior)


def moments(sample):
    """Mean and Monte Carlo error of each function and of its square."""
    result = {}
    for name, values in sample.items():
        for power in (1, 2):
            raised = values.transpose("chain", "draw").values ** power
            size = float(az.ess(raised))
            assert size > SMALLEST_SIZE, f"{name} has {size:.0f} effective draws"
            result[name, power] = raised.mean(), raised.std() / np.sqrt(size)
    return result


def differences(first, second):
    """Return the differences of means in standard errors, by function and power."""
    a, b = moments(first), moments(second)
    return {key: (a[key][0] - b[key][0]) / np.hypot(a[key][1], b[key][1]) for key in a}


@pytest.mark.parametrize("name", MODELS)
def test_nuts_agrees(name):
    pm = pytest.importorskip("pymc")
    model, parameters = MODELS[name]
    # Of the same labels, with normal coefficients where heavy tails would give targets that no model is made for.
    simulated = model if isinstance(model, str) else model["extends"]
    corpus = pt.simulate(simulated, documents=8, lengths=6, words=5, seed=4, **FIXED, **parameters).corpus
    with pt.to_pymc(model, corpus, **FIXED, **parameters):
        how = {"tune": 1500, "chains": 2, "cores": 2, "random_seed": 3, "progressbar": False}
        trace = pm.sample(2000, target_accept=0.97, **how)
    theirs = functions(trace.posterior)
    limit = norm.isf(FALSE_ALARMS / 2 / (2 * len(theirs)))
    found = differences(ours(name, corpus), theirs)
    assert max(map(abs, found.values())) < limit, found
    planted = differences(ours(name, corpus, **OTHER[name]), theirs)
    assert max(map(abs, planted.values())) > limit, planted
