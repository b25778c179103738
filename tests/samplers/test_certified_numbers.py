"""Every kernel of numbers that have priors is certified, and those of all other variables in models with such numbers.

`verify` refuses a right schedule with probability at most 1e-5. That it refuses wrong ones is shown in
`test_planted_bugs.py`.
"""

import numpy as np
import pytest
from homes import exact_kernels
from planted_numbers import DISPERSION, GAMMA, INVERSE_GAMMA, LAPLACE, QUANTILE, RATE, SCALE, STUDENT, VARIANCE
from scipy import integrate, stats

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.stationary import StationaryTest
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec
from ppl_topics.schedule.plan import make_plan
from ppl_topics.schedule.tree import steps

SMALL = {"replicates": 300, "long_run": 2000}
HALF_CAUCHY = {"block": "half_cauchy"}
SLICED = {"extends": "slda_logistic", "name": "sliced", "blocks": {"eta": {"variance": HALF_CAUCHY}}}
REGULARISED = {
    "extends": "slda_gaussian",
    "name": "regularised",
    "blocks": {"eta": {"block": "regularised_horseshoe", "scale": HALF_CAUCHY}},
}
BOTH = {
    "extends": "slda_counts",
    "name": "both",
    "blocks": {"eta": {"variance": INVERSE_GAMMA}, "y": {"dispersion": "r"}, "r": GAMMA},
}
STUDENT_SLOPES = {
    "extends": "slda_logistic",
    "name": "student_slopes",
    "blocks": {"eta": {"block": "student_t_coefficients", "scale": HALF_CAUCHY}},
}
ORDINAL = {"extends": "slda_ordinal", "name": "ordinal"}
LOSS = {"extends": "medlda", "name": "loss", "blocks": {"eta": {"variance": INVERSE_GAMMA}}}
CERTIFIED = {
    "inverse_gamma_variance": VARIANCE,
    "slice_variance": SLICED,
    "slice_scale_of_tau": SCALE,
    "slice_scale_of_slopes": LAPLACE,
    "slice_cutpoints": ORDINAL,
    "slice_dispersion": DISPERSION,
    "slice_rate_of_sigma2": RATE,
    "slice_sigma_of_quantile": QUANTILE,
    "slice_sigma_of_student_t": STUDENT,
}


def certified(spec, **options):
    result = pt.verify(spec, **options)
    assert all(certificate.certified for certificate in result.certificates), str(result)
    return bool(result.certificates)


def test_every_kernel_of_numbers_is_covered():
    roles = {"cutpoints", "variance", "scale", "dispersion", "rate", "sigma"}
    assert CERTIFIED.keys() == {name for name, kernel in exact_kernels().items() if roles & set(kernel.updates)}


def test_a_kernel_is_certified():
    assert certified(LOSS, kernel="inverse_gamma_variance", **SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", CERTIFIED)
def test_kernels_are_certified_by_the_full_test(kernel):
    assert certified(CERTIFIED[kernel], kernel=kernel)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [BOTH, LOSS, ORDINAL, REGULARISED, STUDENT_SLOPES], ids=lambda spec: spec["name"])
def test_kernels_that_are_chosen_in_models_with_such_numbers_are_certified_by_the_full_test(spec):
    chosen = [step.kernel.name for step in steps(pt.plan(spec).schedule)]
    assert certified(spec, kernel=chosen, replicates=500, long_run=10_000)


def stationary(spec, *steps):
    plan = make_plan(tiny_spec(pt.load_spec(spec)).with_schedule(pt.cycle(*steps), "test"), partial=True)
    return StationaryTest(TinyModel(plan), seed=1, sweeps=1)


@pytest.mark.slow
def test_the_evidence_sums_over_numbers_that_responses_share():
    """Given the coefficients, against quadrature over the dispersion; the responses are not independent."""
    test = stationary(DISPERSION, pt.step("y_dispersion", "slice_dispersion"), pt.step("omega", "polya_gamma"))
    state, response = test.state, test.response.each[""].response
    prior = stats.gamma(1.7, scale=1 / 2.4)
    n_dk = np.stack([[[3, 0, 0], [0, 2, 0], [0, 0, 0], [1, 0, 0]], [[0, 3, 0], [2, 0, 0], [0, 0, 0], [0, 0, 1]]])
    expected = []
    for counts in n_dk:
        fitted = test.response.each[""].features(counts) @ state.arrays["eta"].T

        def density(r, fitted=fitted):
            return prior.pdf(r) * np.exp(
                response.at({"y_dispersion": r}).log_likelihood(state.observed.targets, fitted, np.ones(1)).sum()
            )

        expected.append(np.log(integrate.quad(density, 0, 30, limit=200)[0]))
    assert np.diff(test.response.each[""].log_evidence(n_dk)) == pytest.approx(np.diff(expected), abs=0.02)
    assert abs(np.diff(expected)) > 0.2


def test_what_a_number_depends_on_must_be_updated_with_it():
    with pytest.raises(pt.SpecError, match="verify cannot sum over eta_scale given tau; let the schedule update tau"):
        stationary(SCALE, pt.step("eta_scale", "slice_scale_of_tau"))
