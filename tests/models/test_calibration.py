"""Intervals hold what they promise, and predicted probabilities come true: fits of corpora from the model itself.

Two of the five responses of the script behind docs/exactness.md, with 40 and 100 of its 200 corpora, and 5 to 7
functions of their parameters. In one of ten choices of the seeds, which are fixed, right samplers would be 3 standard
errors off in one of the comparisons.
"""

import numpy as np
import pytest
from calibration import CASES, bins, calibrate, coverage_error, slope
from scipy.special import expit

LIMIT = 3.0
CORPORA = {"gaussian": 40, "stick_breaking_logistic": 100}


def slope_error(predicted, holds):
    estimate, error = slope(predicted, holds)
    return (estimate - 1.0) / error


@pytest.mark.slow
@pytest.mark.parametrize("response", CORPORA)
def test_coverage_and_calibration(response):
    result = calibrate(response, corpora=CORPORA[response])
    errors = {name: coverage_error(covered) for name, covered in result.covered.items()}
    assert np.abs(list(errors.values())).max() < LIMIT, errors
    if CASES[response].kind != "class":
        return
    for how in ("topics of each draw", "default"):
        assert abs(slope_error(result.predicted[how], result.holds)) < LIMIT
        for predicted, share, error in bins(result.predicted[how], result.holds):
            assert abs(share - predicted) < LIMIT * error
    # The planted bug: a mean predictor has no spread, so its probabilities are too extreme.
    assert slope_error(result.predicted["plug-in"], result.holds) < -LIMIT


@pytest.mark.slow
def test_errors_of_another_size_are_noticed():
    """The planted bug: targets whose errors have twice the stated spread."""
    result = calibrate("gaussian", corpora=30, errors=2.0)
    assert min(map(coverage_error, result.covered.values())) < -LIMIT


def test_slope_is_one_where_probabilities_are_right_and_half_where_their_logits_are_doubled():
    """Both within 4 standard errors, which fails with probability 1e-4."""
    rng = np.random.default_rng(1)
    score = rng.normal(size=(200, 25)) + rng.normal(size=(200, 1))
    second = rng.random(score.shape) < expit(score)
    true = np.stack([~second, second], axis=-1)
    for factor in (1.0, 2.0):
        estimate, error = slope(np.stack([expit(-factor * score), expit(factor * score)], axis=-1), true)
        assert abs(estimate - 1.0 / factor) < 4.0 * error < 0.3
