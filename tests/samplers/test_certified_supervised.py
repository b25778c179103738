"""Every exact kernel of supervised models is certified: z, augmentation and coefficients, on every response.

`verify` tests three responses and one, some labels missing, and refuses a right schedule with probability at most
1e-5. That it refuses wrong ones is shown in `test_planted_bugs.py`. The distribution that it holds chains to is tested
here against sums of another kind.
"""

import itertools

import numpy as np
import pytest
from homes import admits, augmentations, exact_kernels, supervised_models
from scipy.special import logsumexp

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec
from ppl_topics.schedule.plan import make_plan

TOLERANCE = 0.015
SMALL = {"replicates": 300, "long_run": 2000}
MODELS = supervised_models()
INTERCEPT = {"extends": "slda_logistic", "name": "logistic_intercept", "blocks": {"y": {"intercept": True}}}

# Of z and of the coefficients: each kernel once, and so each of the augmentation, in turn with each response.
AT_HOME = [
    ("medlda", "collapsed_gibbs", "low_rank_normal"),
    ("medlda", "light_partially_collapsed", "joint_normal"),
    ("medlda_regression", "semi_collapsed", "coordinate_normal"),
    ("slda_logistic", "partially_collapsed", "joint_normal"),
    ("slda_gaussian", "block_collapsed", "joint_normal"),
    ("slda_counts", "sparse_collapsed", "coordinate_normal"),
    ("slda_counts", "sparse_partially_collapsed", "joint_normal"),
    ("probit_do", "gram_partially_collapsed", "coordinate_normal"),
]
OF_Z = [name for name, kernel in exact_kernels().items() if kernel.updates == ("z",)]
OF_ETA = [name for name, kernel in exact_kernels().items() if kernel.updates == ("eta",)]
AUGMENTATION = augmentations()


def of_name(model):
    return MODELS.get(model, model) if isinstance(model, str) else model


def certified(model, **options):
    """Whether all that is tested is certified; what was not, where it is not."""
    result = pt.verify(of_name(model), **options)
    assert all(certificate.certified for certificate in result.certificates), str(result)
    return bool(result.certificates)


def composed(model, *steps):
    """A schedule of these steps, with those that any of them needs."""
    redraw = pt.step("phi", "dirichlet_rows")
    return pt.cycle(*itertools.chain(*((step, redraw) for step in steps)), pt.step(*AUGMENTATION[model]))


def admitted(model, z="partially_collapsed", eta="joint_normal"):
    """Whether the model admits these kernels of z and of the coefficients."""
    return admits(of_name(model), composed(model, pt.step("z", z), pt.step("eta", eta)))


def everything():
    """`AT_HOME`, with what the registry has beside it: each new response, and new kernels in the first model."""
    cases = list(AT_HOME)
    named = {kernel for case in cases for kernel in case[1:]}
    cases += [(model, "partially_collapsed", "joint_normal") for model in MODELS if model not in {c[0] for c in cases}]
    new = [("z", name) for name in OF_Z if name not in named] + [("eta", name) for name in OF_ETA if name not in named]
    for variable, name in new:
        chosen = {"z": "partially_collapsed", "eta": "joint_normal"} | {variable: name}
        model = next((model for model in MODELS if admitted(model, **chosen)), None)
        cases += [] if model is None else [(model, chosen["z"], chosen["eta"])]
    return cases


def test_every_kernel_and_every_response_is_covered():
    updated = {"z", "eta", "augmentation"}
    handled = {
        name
        for name, kernel in exact_kernels().items()
        # Those of sparse topics and of whole documents are in `test_sparse_topics.py` and `test_one_topic.py`.
        if updated & set(kernel.updates) and not {"listed_words", "document_assignments"} & set(kernel.handles)
    }
    assert {kernel for model, *kernels in everything() for kernel in (*kernels, AUGMENTATION[model][1])} == handled
    assert {model for model, *_ in everything()} == set(MODELS)


LEFT = {"medlda_regression", "quantile", "slda_logistic", "stick_breaking_logistic", "student_t"}
"""Responses that are not certified quickly: the full test has all, and digests of their draws show any change."""
# Quickly certified without a response, in `test_certified.py`.
LEFT_KERNELS = {
    "alias_partially_collapsed",
    "full_collapsed_gibbs",
    "full_partially_collapsed",
    "light_partially_collapsed",
    "sparse_partially_collapsed",
}


@pytest.mark.parametrize(
    ("model", "z", "eta"), [case for case in everything() if case[0] not in LEFT and case[1] not in LEFT_KERNELS]
)
def test_kernels_are_certified(model, z, eta):
    assert certified(model, schedule=composed(model, pt.step("z", z), pt.step("eta", eta)), **SMALL)


def test_an_intercept_is_certified():
    assert certified(INTERCEPT, kernel="coordinate_normal", **SMALL)


def with_covariates(model, **changes):
    blocks = {
        "x": {"block": "covariates", "observed": "covariates"},
        "y": {"features": ["z", "x"], "intercept": True, **changes},
    }
    return {"extends": model, "name": f"{model}_with_covariates", "blocks": blocks}


@pytest.mark.slow
def test_covariates_and_some_topics_are_certified():
    model = with_covariates("slda_gaussian", supervised_topics=2)
    assert certified(model, kernel=["sparse_partially_collapsed", "low_rank_normal"], **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kernels", "supervised_topics"),
    [
        ("slda_logistic", ["collapsed_gibbs", "low_rank_normal"], 0),
        ("slda_gaussian", ["block_collapsed", "joint_normal"], 2),
        ("medlda", ["partially_collapsed", "coordinate_normal"], None),
    ],
)
def test_covariates_are_certified_by_the_full_test(model, kernels, supervised_topics):
    assert certified(with_covariates(model, supervised_topics=supervised_topics), kernel=kernels)


@pytest.mark.slow
def test_a_model_for_each_class_is_certified():
    assert certified("medlda_one_vs_all", kernel="block_collapsed")


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
    "full conditional of z, a mixture": (
        "probit_do",
        composed(
            "probit_do",
            pt.mixture(pt.step("z", "gram_partially_collapsed"), pt.step("z", "partially_collapsed")),
            pt.step("eta", "joint_normal"),
        ),
    ),
    "rare words by the full conditional, frequent ones collapsed": (
        "probit_do",
        composed(
            "probit_do",
            pt.step("z", "gram_partially_collapsed", words={"max_count": 1}),
            pt.step("z", "block_collapsed", words={"min_count": 2}),
            pt.step("eta", "coordinate_normal"),
        ),
    ),
    "full conditional of z, all else given": ("probit_do", pt.cycle(pt.step("z", "gram_partially_collapsed"))),
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


@pytest.mark.parametrize("name", ["all but z given", "full conditional of z, all else given"])
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
    tiny_model = TinyModel(make_plan(tiny_spec(pt.load_spec(of_name(model)))))
    distribution = StationaryTest(tiny_model, seed=1, sweeps=1).response
    rng = np.random.default_rng(3)
    n_dk = np.stack([rng.multinomial(n, np.ones(3) / 3, size=4) for n in (3, 2, 0, 1)], axis=1)
    expected = np.array([brute_force(tiny_model, counts).sum() for counts in n_dk])
    error = distribution.log_evidence(n_dk) - expected
    assert np.ptp(error) < TOLERANCE
    assert np.ptp(expected) > 20 * TOLERANCE


def with_a_response():
    """Each kernel with one of the responses that admit it: one that has the fewest kernels so far.

    A kernel knows a response by its term in the log density alone, which each response has tests of, so that all pairs,
    eight times as many, would test the same code again.
    """
    kernels, pairs = [("z", name) for name in OF_Z] + [("eta", name) for name in OF_ETA], []
    homes = {name: [model for model in MODELS if admitted(model, **{of: name})] for of, name in kernels}
    # Those with the least choice come first.
    for kernel in sorted(filter(homes.get, homes), key=lambda name: len(homes[name])):
        used = [model for model, _ in pairs]
        pairs.append((min(homes[kernel], key=used.count), kernel))
    return pairs


def test_the_full_test_is_of_every_response():
    assert {model for model, _ in with_a_response()} == set(MODELS)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_kernels_are_certified_by_the_full_test(model):
    """Those that have this response, and its augmentation: they share the exact draws of the model."""
    kernels = [kernel for name, kernel in with_a_response() if name == model]
    assert certified(model, kernel=[*kernels, AUGMENTATION[model][1]])


@pytest.mark.parametrize("model", ["medlda", "slda_logistic", "slda_counts"])
def test_other_curvatures_are_refused(model):
    with pytest.raises(pt.ScheduleError, match="'gram_partially_collapsed' does not handle the factor 'y'"):
        pt.verify(model, kernel="gram_partially_collapsed")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSED)
def test_all_compositions_are_certified(name):
    model, schedule = COMPOSED[name]
    assert certified(model, schedule=schedule, **SMALL)
