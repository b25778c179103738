"""The kernels of augmentation variables: the distribution of every cell, given features computed apart.

Each statistical test has a false-alarm rate of 1e-6 over seeds, and rejects planted bugs.
"""

import math

import numba
import numpy as np
import polyagamma
import pytest
from scipy import stats
from scipy.special import log_ndtr

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.core.registry import kernels
from ppl_topics.corpus.labels import Labels
from ppl_topics.engine.bind import bind
from ppl_topics.samplers.augmentation.inverse_gamma import draw_inverse_gammas
from ppl_topics.schedule import make_plan

FALSE_ALARM = 1e-6
DOCS, TOPICS, WORDS = 3000, 4, 6
EMPTY, UNKNOWN = 7, slice(20, 40)
RESPONSES = {
    "hinge": {"cost": 1.5, "margin": 2.0},
    "epsilon_insensitive": {"cost": 0.7, "epsilon": 0.4},
    "logistic": {"c": 25.0, "intercept": True},
    "negative_binomial": {"dispersion": 2.5},
    "gaussian": {"shape": 2.0, "rate": 0.5},
    "ordinal_probit": {"intercept": True, "cutpoints": [1.1, 3.0]},
    "probit_do": {"intercept": True},
    "quantile": {"quantile": 0.7, "sigma": 0.8},
    "student_t": {"df": 3.0, "sigma": 0.6},
}
KERNELS = {
    "hinge": "inverse_gaussian",
    "epsilon_insensitive": "inverse_gaussian",
    "logistic": "polya_gamma",
    "negative_binomial": "polya_gamma",
    "gaussian": "inverse_gamma",
    "ordinal_probit": "normal_between",
    "probit_do": "truncated_normal",
    "quantile": "inverse_gaussian",
    "student_t": "gamma_weights",
}


def labels_of(kind, generator):
    """Three classes, four levels, two targets, or two counts, some of them missing."""
    if kind == "ordinal_probit":
        values = generator.integers(0, 4, DOCS)
        values[UNKNOWN] = -1
        return Labels("class", values, ["1", "2", "3", "4"])
    if kind in ("hinge", "logistic", "probit_do"):
        values = generator.integers(0, 3, DOCS)
        values[UNKNOWN] = -1
        return Labels("class", values, ["a", "b", "c"])
    if kind == "negative_binomial":
        values = generator.poisson(4.0, (DOCS, 2))
        values[UNKNOWN, 1] = -1
        return Labels("count", values, ["p", "q"])
    values = generator.normal(size=(DOCS, 2))
    values[UNKNOWN, 1] = np.nan
    return Labels("real", values, ["p", "q"])


def make_state(kind, **changes):
    generator = np.random.default_rng(5)
    words = np.array([f"w{index}" for index in range(WORDS)])
    texts = [" ".join(generator.choice(words, 0 if doc == EMPTY else generator.integers(1, 9))) for doc in range(DOCS)]
    corpus = pt.Corpus.from_texts(texts, labels=labels_of(kind, generator))
    blocks = {
        "theta": {"block": "dirichlet", "over": "topic", "per": "doc", "concentration": 0.5, "integrate_out": True},
        "phi": {"block": "dirichlet", "over": "word", "per": "topic", "concentration": 0.1},
        "z": {"block": "assignments", "prior": "theta"},
        "w": {"block": "words", "topics": "phi", "assignments": "z", "observed": "words"},
        "eta": {"block": "normal", "per": "response"},
        "y": {"block": kind, "coefficients": "eta", "features": ["z"], "observed": "labels"},
    }
    blocks["y"] |= RESPONSES[kind] | changes
    model = {"name": f"augmented_{kind}", "parameters": {"topics": TOPICS}, "blocks": blocks}
    bound = bind(make_plan(pt.load_spec(model)), corpus)
    state = bound.initial_state(seed=1, chain=0)
    state.arrays["eta"][:] = generator.normal(0.0, 3.0, state.arrays["eta"].shape)
    return bound, state


STATES = {}


def step(kind, seed=1, bug=None):
    """Run the kernel on a copy of a state: its names, the state, and the array that was drawn."""
    if kind not in STATES:
        STATES[kind] = make_state(kind)
    bound, state = STATES[kind][0], STATES[kind][1].copy()
    name = bound.model.names["augmentation"]
    functions = kernels()[KERNELS[kind]].build(bound.binding(name))
    if bug == "coefficients of another response":
        # Of another topic, where there is one response.
        state.arrays["eta"][:] = np.roll(state.arrays["eta"], 1, axis=int(len(state.arrays["eta"]) == 1))
    elif bug == "halved scores":
        state.arrays["eta"] *= 0.5
    held, eta = state.arrays[name], state.arrays["eta"].copy()
    held[:] = np.nan
    assert functions.step(state, functions.init(state), Key(seed, 0, 3, 1)) is None
    assert state.arrays[name] is held
    assert held.dtype == np.float64
    assert np.array_equal(state.arrays["eta"], eta)
    state.check()
    return STATES[kind][1], held


def slow_scores(state):
    """Linear predictors by their definition."""
    n_dk = state.n_dk.astype(float)
    shares = n_dk / np.maximum(n_dk.sum(axis=1, keepdims=True), 1.0)
    return np.hstack([shares, state.observed.design.toarray()]) @ state.arrays["eta"].T


def probabilities(kind, state, drawn):
    """Distribution functions at the draws of the cells whose target is known: uniform if all is right."""
    y, s, given = state.observed.targets, slow_scores(state), RESPONSES[kind]
    known = ~np.isnan(y)
    if kind == "hinge":
        means = 1.0 / (given["cost"] * np.abs(given["margin"] - y * s))
        return stats.invgauss.cdf(drawn[known], means[known])
    if kind == "epsilon_insensitive":
        gaps = np.stack([y - s - given["epsilon"], s - y - given["epsilon"]], axis=2)
        return stats.invgauss.cdf(drawn[known].ravel(), 1.0 / (given["cost"] * np.abs(gaps[known].ravel())))
    if kind == "quantile":
        return stats.invgauss.cdf(drawn[known], 2.0 * given["sigma"] / np.abs(y - s)[known])
    if kind == "student_t":
        rates = (given["df"] + ((y - s)[known] / given["sigma"]) ** 2) / 2.0
        return stats.gamma.cdf(drawn[known] * rates, (given["df"] + 1.0) / 2.0)
    if kind == "ordinal_probit":
        level, ends = y[known].astype(int), np.array([-np.inf, 0.0, *given["cutpoints"], np.inf])
        low, high = ends[level] - s[known], ends[level + 1] - s[known]
        return stats.truncnorm.cdf(drawn[known] - s[known], low, high)
    if kind == "probit_do":
        # On the wrong side of zero, the distribution function is not between 0 and 1.
        inside, distance = (y * s)[known], (y * drawn)[known]
        return 1.0 - np.exp(log_ndtr(inside - distance) - log_ndtr(inside))
    shapes = y[known] + given["dispersion"] if kind == "negative_binomial" else np.full(known.sum(), given["c"])
    return polyagamma.polyagamma_cdf(drawn[known], h=shapes, z=s[known])


CELLS = [kind for kind in RESPONSES if kind != "gaussian"]


@pytest.mark.parametrize("kind", CELLS)
def test_distribution_of_the_cells(kind):
    state, drawn = step(kind)
    assert stats.kstest(probabilities(kind, state, drawn), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize("bug", ["coefficients of another response", "halved scores"])
@pytest.mark.parametrize("kind", CELLS)
def test_planted_bugs(kind, bug):
    state, drawn = step(kind, bug=bug)
    assert stats.kstest(probabilities(kind, state, drawn), "uniform").pvalue < FALSE_ALARM


@pytest.mark.parametrize("kind", CELLS)
def test_cells_are_independent(kind):
    """Of one another, within a document and between neighbours."""
    state, drawn = step(kind)
    ranks = np.full(drawn.shape, np.nan)
    ranks[~np.isnan(state.observed.targets)] = probabilities(kind, state, drawn).reshape(-1, *drawn.shape[2:])
    ranks = ranks.reshape(DOCS, -1)[UNKNOWN.stop :]
    table = np.hstack([ranks[:-1], ranks[1:]])
    correlation = np.corrcoef(table.T)[np.triu_indices(table.shape[1], 1)]
    assert np.abs(correlation).max() < stats.norm.isf(FALSE_ALARM / correlation.size / 2) / math.sqrt(len(table))


@pytest.mark.parametrize("kind", CELLS)
def test_cells_without_a_target_are_one(kind):
    state, drawn = step(kind)
    missing = np.isnan(state.observed.targets)
    assert missing.any()
    assert (drawn[missing] == 1.0).all()
    assert (drawn[~missing] != 1.0).all()


@pytest.mark.parametrize("kind", RESPONSES)
def test_bits_do_not_depend_on_threads(kind):
    drawn = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        drawn.append(step(kind)[1])
    assert np.array_equal(*drawn)
    assert not np.array_equal(drawn[0], step(kind, seed=2)[1])


def test_distribution_of_variances():
    """Over seeds, with the distribution by its definition; a rate without the prior's is rejected."""
    state, _ = step("gaussian")
    y, given = state.observed.targets, RESPONSES["gaussian"]
    squares = np.nansum((y - slow_scores(state)) ** 2, axis=0)
    shapes = given["shape"] + 0.5 * (~np.isnan(y)).sum(axis=0)
    draws = np.array([step("gaussian", seed)[1] for seed in range(60)])
    for column in range(2):
        distribution = stats.invgamma(shapes[column], scale=given["rate"] + 0.5 * squares[column])
        assert stats.kstest(draws[:, column], distribution.cdf).pvalue > FALSE_ALARM
        wrong = stats.invgamma(shapes[column], scale=given["rate"] + squares[column])
        assert stats.kstest(draws[:, column], wrong.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize(("shape", "rate"), [(0.3, 2.0), (1.0, 1e-200), (5.0, 1e200), (2000.0, 3.0)])
def test_distribution_of_inverse_gammas(shape, rate):
    draws = np.empty(100_000)
    draw_inverse_gammas(np.full(draws.size, shape), np.full(draws.size, rate), Key(1, 0, 0, 0), draws)
    assert stats.kstest(draws / rate, stats.invgamma(shape).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(draws / rate, stats.invgamma(shape * 1.1).cdf).pvalue < FALSE_ALARM


def test_inverse_gammas_that_would_overflow_are_cut():
    draws = np.empty(1000)
    draw_inverse_gammas(np.full(draws.size, 1e-4), np.ones(draws.size), Key(1, 0, 0, 0), draws)
    assert np.isfinite(draws).all()
    assert draws.max() == pytest.approx(1e300, rel=1e-10)


def extreme(kind, targets, eta, **changes):
    """Draw with other targets and coefficients: of no interest but that it is finite."""
    bound, state = make_state(kind, **changes)
    name = bound.model.names["augmentation"]
    observed = state.observed
    changed = np.array(observed.targets)
    changed[~np.isnan(changed)] = targets
    state.observed = type(observed)(changed, observed.design, observed.responses, observed.columns)
    state.arrays["eta"][:] = eta
    functions = kernels()[KERNELS[kind]].build(bound.binding(name))
    functions.step(state, functions.init(state), Key(1, 0, 0, 0))
    state.check()
    return state.arrays[name]


@pytest.mark.parametrize(
    ("kind", "targets", "eta"),
    [
        ("hinge", 1.0, 1e6),
        ("hinge", 1.0, 2.0),
        ("epsilon_insensitive", 0.4, 0.0),
        ("epsilon_insensitive", 1e9, -1e6),
        ("quantile", 0.0, 0.0),
        ("quantile", 1e9, -1e6),
        ("student_t", 0.0, 0.0),
        ("student_t", 1e9, -1e6),
        ("logistic", 1.0, 1e6),
        ("negative_binomial", 1e9, -1e6),
        ("negative_binomial", 1e9, 0.0),
        ("probit_do", 1.0, -1e6),
        ("probit_do", 1.0, 1e6),
        ("gaussian", 1e9, 1e6),
        ("gaussian", 0.0, 0.0),
    ],
)
def test_extreme_targets_and_coefficients(kind, targets, eta):
    """Also where the argument of the inverse Gaussian is exactly zero, and its mean infinite."""
    assert (extreme(kind, targets, eta) > 0.0).all()


def test_cost_zero():
    """All means are infinite; nothing depends on the variables, but they are held, so they must be finite."""
    assert (extreme("hinge", 1.0, 1.0, cost=0.0) > 0.0).all()
