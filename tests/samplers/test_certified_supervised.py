"""Every exact kernel of supervised models is certified: z, augmentation and coefficients, on the five responses.

`verify` tests three responses and one, some labels missing, and refuses a right schedule with probability at most
1e-5. That it refuses wrong ones is shown in `test_planted_bugs.py`. The law that it holds chains to is tested here
against sums of another kind.
"""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec
from ppl_topics.schedule.plan import make_plan

TOLERANCE = 0.015
SMALL = {"replicates": 300, "long_run": 4000}
MODELS = ["medlda", "medlda_regression", "slda_logistic", "slda_gaussian", "slda_counts"]
INTERCEPT = {"extends": "slda_logistic", "name": "logistic_intercept", "blocks": {"y": {"intercept": True}}}

# Each kernel once, in turn with each response. Those that share a line stand in one schedule, which is tested once.
AT_HOME = [
    ("medlda", ["collapsed_gibbs"]),
    ("medlda", ["inverse_gaussian"]),
    ("medlda", ["light_partially_collapsed"]),
    ("slda_gaussian", ["block_collapsed", "inverse_gamma", "joint_normal"]),
    ("slda_logistic", ["partially_collapsed"]),
    ("slda_logistic", ["polya_gamma"]),
    ("slda_counts", ["sparse_collapsed"]),
    ("slda_counts", ["sparse_partially_collapsed"]),
    ("medlda_regression", ["semi_collapsed"]),
    ("medlda_regression", ["coordinate_normal"]),
]
OF_Z = [name for name, kernel in pt.kernels().items() if kernel.exact and kernel.updates == ("z",)]
OF_ETA = [name for name, kernel in pt.kernels().items() if kernel.exact and kernel.updates == ("eta",)]
AUGMENTATION = {
    "medlda": ("xi", "inverse_gaussian"),
    "medlda_regression": ("xi", "inverse_gaussian"),
    "slda_logistic": ("omega", "polya_gamma"),
    "slda_gaussian": ("sigma2", "inverse_gamma"),
    "slda_counts": ("omega", "polya_gamma"),
}


def certified(model, **options):
    """Whether all that is tested is certified; what was not, where it is not."""
    result = pt.verify(model, **options)
    assert all(certificate.certified for certificate in result.certificates), str(result)
    return bool(result.certificates)


def test_every_kernel_and_every_response_is_covered():
    updated = {"z", "eta", "augmentation"}
    handled = {
        name
        for name, kernel in pt.kernels().items()
        if kernel.exact and updated & set(kernel.updates) and kernel.build.__module__.startswith("ppl_topics.")
    }
    assert {kernel for _, kernels in AT_HOME for kernel in kernels} == handled
    assert {model for model, _ in AT_HOME} == set(MODELS)


@pytest.mark.parametrize(("model", "kernels"), AT_HOME)
def test_kernels_are_certified(model, kernels):
    assert certified(model, kernel=kernels, **SMALL)


def test_an_intercept_is_certified():
    assert certified(INTERCEPT, kernel="coordinate_normal", **SMALL)


@pytest.mark.slow
def test_a_model_for_each_class_is_certified():
    assert certified("medlda_one_vs_all", kernel="block_collapsed")


def composed(model, *steps):
    """A schedule of these steps, with those that any of them needs."""
    redraw = pt.step("phi", "dirichlet_rows")
    return pt.cycle(*itertools.chain(*((step, redraw) for step in steps)), pt.step(*AUGMENTATION[model]))


COMPOSED = {
    "several tries a token before the coefficients": (
        "medlda",
        composed("medlda", pt.repeat(3, pt.step("z", "collapsed_gibbs")), pt.step("eta", "joint_normal")),
    ),
    "rare words collapsed, frequent ones given phi": (
        "slda_logistic",
        composed(
            "slda_logistic",
            pt.step("z", "collapsed_gibbs", words={"max_count": 1}),
            pt.step("z", "sparse_partially_collapsed", words={"min_count": 2}),
            pt.step("eta", "coordinate_normal", sweeps=2),
        ),
    ),
    "coefficients given": ("slda_gaussian", composed("slda_gaussian", pt.step("z", "block_collapsed"))),
    "augmentation given": (
        "medlda_regression",
        pt.cycle(pt.step("z", "block_collapsed"), pt.step("phi", "dirichlet_rows"), pt.step("eta", "joint_normal")),
    ),
    "all but z given": ("slda_counts", pt.cycle(pt.step("z", "sparse_partially_collapsed"))),
    "light with the exp-proposal": (
        "medlda",
        composed(
            "medlda",
            pt.step(
                "z", "light_partially_collapsed", compose="mixture", proposals={"doc": 1, "word": 1, "exp": 1}, steps=4
            ),
            pt.step("eta", "joint_normal"),
        ),
    ),
}


@pytest.mark.parametrize("name", ["coefficients given", "all but z given"])
def test_compositions_are_certified(name):
    model, schedule = COMPOSED[name]
    assert certified(model, schedule=schedule, **SMALL)


def brute_force(tiny_model, n_dk, size=61):
    """Log evidence of each response by the trapezoid rule on a grid over the three coefficients."""
    bound = tiny_model.bound
    points = np.linspace(-6, 6, size)
    log_weights = -(points**2) / 2 - np.log(np.sqrt(2 * np.pi)) + np.log(points[1] - points[0])
    grid = np.stack(np.meshgrid(points, points, points, indexing="ij"), axis=-1).reshape(-1, 3)
    total = np.add.outer(np.add.outer(log_weights, log_weights), log_weights).ravel()
    shares = n_dk / np.maximum(n_dk.sum(axis=1, keepdims=True), 1)
    scores = np.sqrt(bound.block(bound.model.names["eta"]).variance) * grid @ shares.T
    evidence = bound.response.log_evidence(bound.observed.targets, scores[..., None])
    return logsumexp(evidence + total[:, None], axis=0)


@pytest.mark.parametrize("model", MODELS)
def test_evidence_given_the_assignments(model):
    """Sums over Sobol nodes against another rule: ratios of probabilities err by about a percent at most."""
    tiny_model = TinyModel(make_plan(tiny_spec(pt.load_spec(model))))
    law = StationaryTest(tiny_model, seed=1, sweeps=1).response
    rng = np.random.default_rng(3)
    n_dk = np.stack([rng.multinomial(n, np.ones(3) / 3, size=4) for n in (3, 2, 0, 1)], axis=1)
    expected = np.array([brute_force(tiny_model, counts).sum() for counts in n_dk])
    error = law.log_evidence(n_dk) - expected
    assert np.ptp(error) < TOLERANCE
    assert np.ptp(expected) > 20 * TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [*OF_Z, *OF_ETA])
@pytest.mark.parametrize("model", MODELS)
def test_kernels_are_certified_by_the_full_test(model, kernel):
    assert certified(model, kernel=kernel)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_augmentation_is_certified_by_the_full_test(model):
    assert certified(model, kernel=AUGMENTATION[model][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSED)
def test_compositions_are_certified_by_the_full_test(name):
    model, schedule = COMPOSED[name]
    assert certified(model, schedule=schedule)
