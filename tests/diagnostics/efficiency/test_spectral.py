"""The effective sample size of R's coda, against an independent solution and against theory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_toeplitz
from scipy.signal import lfilter

from ppl_topics.diagnostics.efficiency import ess, inefficiency


def coda(chain):
    """effectiveSize of one chain, each order's Yule-Walker equations solved afresh."""
    n = chain.size
    largest = min(n - 1, int(10 * np.log10(n)))
    centred = chain - chain.mean()
    covariances = np.array([centred[: n - lag] @ centred[lag:] / n for lag in range(largest + 1)])
    fits = []
    for order in range(largest + 1):
        coefficients = solve_toeplitz(covariances[:order], covariances[1 : order + 1]) if order else np.empty(0)
        innovation = covariances[0] - coefficients @ covariances[1 : order + 1]
        spectrum = innovation * n / (n - order - 1) / (1 - coefficients.sum()) ** 2
        fits.append((n * np.log(innovation) + 2 * order, spectrum))
    return n * chain.var(ddof=1) / min(fits)[1]


@pytest.mark.parametrize("coefficients", [[0.0], [0.8], [-0.6], [0.5, 0.3], [0.4, -0.5, 0.2]])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_equals_the_independent_solution(coefficients, scale):
    noise = np.random.default_rng(5).normal(size=(3, 240))
    draws = scale * lfilter([1.0], [1.0, *(-c for c in coefficients)], noise, axis=1)
    np.testing.assert_allclose(ess(draws, "spectral"), sum(map(coda, draws)), rtol=1e-8)


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.9, -0.5])
def test_an_autoregression_has_its_theoretical_inefficiency(coefficient):
    noise = np.random.default_rng(6).normal(size=(4, 25_000))
    draws = lfilter([1.0], [1.0, -coefficient], noise, axis=1)
    theory = (1 + coefficient) / (1 - coefficient)
    np.testing.assert_allclose(inefficiency(draws, "spectral"), theory, rtol=0.1)
    np.testing.assert_allclose(inefficiency(draws, "mean"), theory, rtol=0.1)


def test_constant_and_linear_chains_count_nothing():
    line = np.arange(50.0)
    draws = np.stack([np.stack([line, line]), np.full((2, 50), 7.0), np.full((2, 50), 0.1)], axis=-1)
    np.testing.assert_array_equal(ess(draws, "spectral"), [0.0, 0.0, 0.0])
    assert inefficiency(draws, "spectral")[1] == np.inf


def test_one_linear_chain_leaves_the_others():
    noise = np.random.default_rng(7).normal(size=100)
    np.testing.assert_allclose(ess(np.stack([noise, np.arange(100.0)]), "spectral"), coda(noise))
