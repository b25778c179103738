"""Every kernel of shrinkage priors is certified, with each response; what `verify` holds chains to is tested as well.

`verify` refuses a right schedule with probability at most 1e-5. That it refuses wrong ones is shown in
`test_planted_bugs.py`.
"""

import itertools

import numpy as np
import pytest
from homes import augmentations, exact_kernels, scale_kernels, supervised_models
from scipy import integrate, stats

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.geweke import GewekeTest
from ppl_topics.diagnostics.exactness.prior_nodes import NODES
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec, with_a_distribution
from ppl_topics.engine.simulation import drawing_order
from ppl_topics.schedule.plan import make_plan

SMALL = {"replicates": 300, "long_run": 2000}
LONG = {"replicates": 500, "long_run": 10_000}
MODELS, AUGMENTATION = supervised_models(), augmentations()
SLICE = {"lambda": "slice_lambda", "tau": "slice_tau"}
INVERSE_GAMMA = {"lambda": "inverse_gamma_lambda", "tau": "inverse_gamma_tau"}
SLABS = {"lambda": "slice_regularised_lambda", "tau": "slice_regularised_tau", "slab": "slice_slab"}
PRIOR = {"slice": "horseshoe", "inverse_gamma": "horseshoe", "slab": "regularised_horseshoe"}
KERNELS = {"slice": SLICE, "inverse_gamma": INVERSE_GAMMA, "slab": SLABS}
# What the registry has beside these, by the names of the kernels.
for prior, found in scale_kernels():
    if found not in KERNELS.values():
        KERNELS[" ".join(found.values())], PRIOR[" ".join(found.values())] = found, prior


def model(base, prior, intercept=False):
    given = MODELS[base] if isinstance(MODELS[base], dict) else {"extends": base, "blocks": {"y": {}}}
    y = {**given["blocks"]["y"], "intercept": intercept}
    return {"extends": given["extends"], "name": f"{base}_{prior}", "blocks": {"eta": {"block": prior}, "y": y}}


def scales(kind):
    return [pt.step(name, kernel) for name, kernel in KERNELS[kind].items()]


def whole(base, kind, eta="joint_normal"):
    """A schedule of everything."""
    rest = pt.step("eta", eta), pt.step("z", "block_collapsed"), pt.step("phi", "dirichlet_rows")
    return pt.cycle(*scales(kind), pt.step(*AUGMENTATION[base]), *rest)


def certified(spec, **options):
    result = pt.verify(spec, **options)
    assert all(certificate.certified for certificate in result.certificates), str(result)
    return bool(result.certificates)


def test_every_kernel_of_scales_is_covered():
    updated = {role for _, found in scale_kernels() for role in found}
    assert updated >= {"tau", "lambda", "slab"}
    ours = {name for name, kernel in exact_kernels().items() if updated & set(kernel.updates)}
    assert ours == {kernel for kernels in KERNELS.values() for kernel in kernels.values()}


FAST = [
    ("probit_do", "inverse_gamma", True, "joint_normal"),
    pytest.param("slda_logistic", "slab", False, "coordinate_normal", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("base", "kind", "intercept", "eta"), FAST)
def test_schedules_are_certified(base, kind, intercept, eta):
    assert certified(model(base, PRIOR[kind], intercept), schedule=whole(base, kind, eta), **SMALL)


PARTS = {
    "scales, all else given": lambda: pt.cycle(*scales("slice")),
    "local scales and coefficients, tau and the augmentation given": lambda: pt.cycle(
        scales("inverse_gamma")[0], pt.step("eta", "joint_normal")
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_a_schedule_leaves_alone_is_given(name):
    assert certified(model("slda_gaussian", "horseshoe"), schedule=PARTS[name](), **SMALL)


def stationary(spec, *steps):
    plan = make_plan(tiny_spec(pt.load_spec(spec)).with_schedule(pt.cycle(*steps), "test"), partial=True)
    return StationaryTest(TinyModel(plan), seed=1, sweeps=1)


def test_scales_given_the_coefficients_have_their_exact_distribution():
    """Of a global scale, with the local ones given; a right sum is refused with probability 1e-6."""
    test = stationary(model("slda_gaussian", "horseshoe"), scales("slice")[1])
    state, rng, prior = test.state, np.random.default_rng(2), test.response.each[""].prior
    draws = np.stack([test.response.each[""].draw(state.n_dk, rng)["tau"] for _ in range(4000)])
    for c in range(state.sizes.responses):
        eta, local = state.arrays["eta"][c], state.arrays["lambda"][c]

        def density(x, eta=eta, local=local):
            distribution = stats.norm.logpdf(eta, scale=np.exp(x) * local).sum()
            return np.exp(distribution + stats.halfcauchy.logpdf(np.exp(x), scale=prior.scale) + x)

        edges = np.log(np.quantile(draws[:, c], [0.2, 0.4, 0.6, 0.8]))
        ends = [-30.0, *edges, 30.0]
        mass = [integrate.quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(ends)]
        # The nodes themselves are NODES draws, evenly spread.
        noise = np.sqrt(0.16 / len(draws) + 0.16 / NODES)
        assert np.abs(np.array(mass) / sum(mass) - 0.2).max() < stats.norm.isf(1e-6 / 30) * noise


def test_evidence_sums_over_the_scales():
    """Against a Monte Carlo sum of draws from the prior."""
    test = stationary(
        model("slda_gaussian", "horseshoe"),
        *scales("slice"),
        pt.step("sigma2", "inverse_gamma"),
        pt.step("eta", "joint_normal"),
    )
    state, rng, response = test.state, np.random.default_rng(3), test.response.each[""].response
    prior, targets = test.response.each[""].prior, state.observed.targets
    n_dk = np.stack([[[3, 0, 0], [0, 2, 0], [0, 0, 0], [1, 0, 0]], [[3, 0, 0], [2, 0, 0], [0, 0, 0], [1, 0, 0]]])
    size = 300_000
    tau, local = prior.quantile("tau", rng.random((size, 1))), prior.quantile("lambda", rng.random((size, 3)))
    eta = tau * local * rng.normal(size=(size, 3))
    expected = []
    for counts in n_dk:
        fitted = eta @ test.response.each[""].features(counts).T
        values = response.log_evidence(targets, np.repeat(fitted[:, :, None], 3, axis=2))
        expected.append(np.log(np.exp(values).mean(axis=0)).sum())
    error = test.response.each[""].log_evidence(n_dk) - np.array(expected)
    assert np.abs(error).max() < 0.05
    assert np.ptp(expected) > 0.5


def test_geweke_draws_each_variable_after_its_parents():
    plan = make_plan(tiny_spec(pt.load_spec(model("slda_gaussian", "regularised_horseshoe", True))))
    order = [role for role, _ in drawing_order(plan.model)]
    assert order == ["alpha", "beta", "tau", "lambda", "slab", "eta", "theta", "phi", "z", "w"][2:]
    test, rng = GewekeTest(TinyModel(plan), seed=1, sweeps=1), np.random.default_rng(1)
    test._simulate(rng)
    before = test.state.observed.targets
    test._simulate(rng)
    after = test.state.observed.targets
    assert (np.isnan(before) == np.isnan(after)).all()
    assert not np.array_equal(before, after, equal_nan=True)


def test_geweke_is_for_responses_that_are_distributions():
    distributions = {
        base: with_a_distribution(make_plan(tiny_spec(pt.load_spec(MODELS[base])))) for base in AUGMENTATION
    }
    assert {base for base, distribution in distributions.items() if distribution is not None} == set(AUGMENTATION) - {
        "medlda",
        "medlda_regression",
    }
    assert distributions["slda_logistic"].model.spec.blocks["y"].c == 1.0


def in_turn():
    """Each set of kernels with a response, and each response with a set, or more."""
    kinds, bases = list(KERNELS), list(AUGMENTATION)
    return [(bases[i % len(bases)], kinds[i % len(kinds)]) for i in range(max(len(kinds), len(bases)))]


@pytest.mark.slow
@pytest.mark.parametrize(("base", "kind"), in_turn())
def test_schedules_are_certified_by_the_full_test(base, kind):
    assert certified(model(base, PRIOR[kind]), schedule=whole(base, kind), **LONG)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KERNELS)
def test_schedules_with_an_intercept_are_certified_by_the_full_test(kind):
    assert certified(model("slda_gaussian", PRIOR[kind], True), schedule=whole("slda_gaussian", kind), **LONG)
