"""The priors of coefficients that have scales: precisions, draws and densities against their definitions.

Seeds are fixed; each Kolmogorov-Smirnov test refuses a right program with probability 1e-4.
"""

import dataclasses

import numpy as np
import pytest
from scipy import integrate, stats

import ppl_topics as pt
from ppl_topics.core.state import ChainState
from ppl_topics.core.tokens import Sizes
from ppl_topics.models.horseshoe import Horseshoe
from ppl_topics.models.regularised_horseshoe import RegularisedHorseshoe

LEVEL = 1e-4
INTERCEPT = Sizes(docs=4, words=5, topics=3, tokens=9, responses=2, coefficients=4, slopes=3, supervised=3)


def state_with(sizes=INTERCEPT, **arrays):
    counts = np.zeros((sizes.words, sizes.topics), np.int32), np.zeros(sizes.topics, np.int64)
    return ChainState(None, sizes, np.zeros(sizes.tokens, np.uint8), *counts, dict(arrays))


SCALES = {
    "tau": np.array([0.4, 2.5]),
    "lambda": np.array([[0.3, 1.0, 7.0], [2.0, 0.01, 0.6]]),
    "slab": np.array([1.5, 0.2]),
}


def variance(block, c, j):
    """By the words of the definition."""
    tau, local, slab = (SCALES[role][c] for role in ("tau", "lambda", "slab"))
    if block.kind == "horseshoe":
        return tau**2 * local[j] ** 2
    regularised = slab**2 * local[j] ** 2 / (slab**2 + tau**2 * local[j] ** 2)
    return tau**2 * regularised


BLOCKS = [
    Horseshoe(scale=0.7, intercept_variance=9.0),
    RegularisedHorseshoe(scale=0.7, slab_scale=1.3, slab_df=3.0, intercept_variance=9.0),
]


@pytest.mark.parametrize("block", BLOCKS)
def test_precision(block):
    precision = block.precision(state_with(**SCALES))
    expected = [[variance(block, c, j) for j in range(3)] + [9.0] for c in range(2)]
    np.testing.assert_allclose(1 / precision, expected, rtol=1e-12)
    without = dataclasses.replace(state_with(**SCALES), sizes=INTERCEPT._replace(coefficients=3))
    np.testing.assert_array_equal(block.precision(without), precision[:, :3])


@pytest.mark.parametrize("block", BLOCKS)
def test_density_of_coefficients_and_scales_together(block):
    eta = np.array([[0.2, -1.0, 0.5, 3.0], [1.5, 0.003, -0.2, -7.0]])
    value = stats.norm.logpdf(eta[:, 3], scale=3.0).sum()
    for c in range(2):
        value += sum(stats.norm.logpdf(eta[c, j], scale=np.sqrt(variance(block, c, j))) for j in range(3))
    value += stats.halfcauchy.logpdf(SCALES["tau"], scale=0.7).sum() + stats.halfcauchy.logpdf(SCALES["lambda"]).sum()
    if "slab" in block.auxiliaries():
        # The distribution is of the square.
        square = stats.invgamma(1.5, scale=1.5 * 1.3**2)
        value += (square.logpdf(SCALES["slab"] ** 2) + np.log(2 * SCALES["slab"])).sum()
    assert block.log_density(eta, state_with(**SCALES)) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("block", BLOCKS)
def test_scales_have_the_density_that_their_quantiles_say(block):
    for role, _ in block.auxiliaries().values():
        ends = block.quantile(role, np.array([0.1, 0.6]))
        mass, _ = integrate.quad(lambda x, role=role: np.exp(block.log_prior(role, np.array([x]))), *ends)
        assert mass == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("block", BLOCKS)
def test_draws(block):
    state, rng = state_with(INTERCEPT._replace(responses=4000)), np.random.default_rng(1)
    values = {}
    for role, dims in block.auxiliaries().values():
        values[role] = block.simulate(role, values, state, rng)
        assert values[role].shape == tuple(state.sizes.of(dim) for dim in dims)
    eta = block.simulate("eta", values, state, rng)
    distributions = [
        (values["tau"], stats.halfcauchy(scale=0.7)),
        (values["lambda"].ravel(), stats.halfcauchy()),
        (eta[:, 3], stats.norm(scale=3.0)),
        ((eta[:, :3] * np.sqrt(block.slope_precision(values))).ravel(), stats.norm()),
    ]
    if "slab" in values:
        distributions.append((values["slab"] ** 2, stats.invgamma(1.5, scale=1.5 * 1.3**2)))
    for draws, distribution in distributions:
        assert stats.kstest(draws, distribution.cdf).pvalue > LEVEL


@pytest.mark.parametrize("block", BLOCKS)
def test_starting_values(block):
    state = state_with()
    for role, dims in block.auxiliaries().values():
        np.testing.assert_array_equal(block.init(role, state), np.ones([state.sizes.of(dim) for dim in dims]))
    np.testing.assert_array_equal(block.init("eta", state), np.zeros((2, 4)))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("probability", [0.0, 1e-300, 1.0 - 2.0**-53, 1.0])
def test_extreme_scales_stay_within_floating_point(block, probability):
    scales = {
        role: block.quantile(role, np.full([INTERCEPT.of(dim) for dim in dims], probability))
        for role, dims in block.auxiliaries().values()
    }
    state = state_with(**scales)
    precision = block.precision(state)
    assert np.isfinite(precision).all()
    assert (precision > 0).all()
    assert np.isfinite(block.log_density(np.zeros((2, 4)), state))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [("horseshoe", "scale", 0.0), ("regularised_horseshoe", "slab_df", 0.5), ("horseshoe", "slab_scale", 1.0)],
)
def test_wrong_fields_are_refused_by_name(kind, field, value):
    model = {"extends": "slda_gaussian", "name": "wrong", "blocks": {"eta": {"block": kind, field: value}}}
    with pytest.raises(pt.SpecError, match=field):
        pt.load_spec(model)


@pytest.mark.parametrize("base", ["medlda", "medlda_regression", "slda_logistic", "slda_gaussian", "slda_counts"])
@pytest.mark.parametrize("kind", ["horseshoe", "regularised_horseshoe"])
def test_each_response_takes_each_prior(base, kind):
    model = {"extends": base, "name": "shrunk", "blocks": {"eta": {"block": kind}}}
    names = pt.plan(model).model.names
    assert names["tau"] == "tau"
    assert names["lambda"] == "lambda"
    assert ("slab" in names) == (kind == "regularised_horseshoe")
