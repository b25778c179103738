"""Quantities are what a run records of the same draws, and do not depend on the numbers of topics."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.calibration import Quantities
from ppl_topics.spec import Model

SIZES = {"topics": 3, "documents": 6, "lengths": [5, 0, 7, 3, 8, 4], "words": 7, "seed": 4}
MODELS = {
    "lda_learned": {},
    "lda_spike_slab": {"inclusion": 0.6},
    "dmr": {"covariates": 2},
    "slda_gaussian": {"standardise": False, "responses": 2},
    "slda_covariates": {"covariates": 2, "responses": 2},
    "dolda": {"responses": 3},
}
ALL = {"phi": "all", "theta": "all", "z": "all"}


def quantities(model, simulation, own=None):
    settings = {k: v for k, v in MODELS[model].items() if k not in ("responses", "covariates")}
    return Quantities(Model.of(pt.load_spec(model, {"topics": 3, **settings})), simulation.corpus, own or {})


@pytest.mark.parametrize("model", MODELS)
def test_log_densities_are_those_of_the_trace(model):
    simulation = pt.simulate(model, **SIZES, **MODELS[model])
    settings = {k: v for k, v in MODELS[model].items() if k not in ("responses", "covariates")}
    record = ALL | ({"included": "all"} if "included" in simulation.values else {})
    how = {"draws": 5, "warmup": 2, "chains": 2, "seed": 1, "progress": False, "record": record}
    fit = pt.sample(model, simulation.corpus, topics=3, **settings, **how)
    names = ["log p(w, z)", "log posterior"]
    found = quantities(model, simulation).of_draws(fit.posterior, names)
    stats = fit.groups["sample_stats"]
    np.testing.assert_allclose(found[..., 0], stats["log_marginal"], rtol=1e-9)
    np.testing.assert_allclose(found[..., 1], stats["lp"], rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_numbers_of_topics_make_no_difference(model):
    simulation = pt.simulate(model, **SIZES, **MODELS[model])
    values, order = simulation.values, np.array([2, 0, 1])
    moved = values.copy(deep=True)
    for name, array in values.items():
        if "topic" in array.dims:
            moved[name].values[:] = array.isel(topic=order).values
    moved["z"].values[:] = np.argsort(order)[values["z"].values]
    for name in {"eta", "lambda"} & set(values):
        moved[name].values[..., :3] = values[name].values[..., :3][..., order]
    made = quantities(model, simulation)
    found = made.of(values)
    assert made.of(moved) == pytest.approx(found, rel=1e-12)
    assert all(np.isfinite(list(found.values())))
    # Not all by default: each depends on something.
    other = made.of(pt.simulate(model, **SIZES | {"seed": 5}, **MODELS[model]).values)
    assert all(other[name] != found[name] for name in found if name not in ("words included", "sum of squares of n_k"))


def test_names():
    simulation = pt.simulate("dolda", **SIZES, responses=3)
    assert list(quantities("dolda", simulation).of(simulation.values)) == [
        "log p(w, z)",
        "log p(w | theta, phi)",
        "p(first word) in the first document",
        "sum of squares of n_k",
        "sum of squares of phi",
        "entropy of theta, mean",
        "entropy of theta, first document",
        "tau, first",
        "mean of log lambda",
        "norm of eta",
        "eta[y0, intercept]",
        "eta zbar, first document",
        "eta zbar, mean",
        "log p(y)",
        "log posterior",
    ]
