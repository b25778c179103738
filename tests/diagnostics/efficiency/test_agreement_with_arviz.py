"""Our statistics equal ArviZ's, 0.x and 1.x alike."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ppl_topics.diagnostics.efficiency import all_statistics, ess, mcse, rhat

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import arviz as az

RNG = np.random.default_rng(20211)
ARVIZ = {"ess_bulk": "bulk", "ess_mean": "mean", "ess_sd": "sd"}


def autoregression(coefficient, shape, rng=RNG):
    noise = rng.normal(size=shape)
    draws = np.empty(shape)
    draws[:, 0] = noise[:, 0] / np.sqrt(1 - coefficient**2)
    for t in range(1, shape[1]):
        draws[:, t] = coefficient * draws[:, t - 1] + noise[:, t]
    return draws


def arviz_ess(draws, method):
    return az.ess(xr.Dataset({"x": (("chain", "draw"), draws)}), method=method)["x"].item()


def reference(statistic, draws):
    """ArviZ's value for draws of shape (chain, draw)."""
    draws = np.asarray(draws, dtype=float)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if statistic == "rhat":
            return az.rhat(xr.Dataset({"x": (("chain", "draw"), draws)}))["x"].item()
        if statistic in ARVIZ:
            return arviz_ess(draws, ARVIZ[statistic])
        if statistic == "ess_tail":
            # as ArviZ 1.x defines it: 0.x interpolates between equal draws with a rounding error
            return min(arviz_ess((draws <= np.quantile(draws, p)) * 1.0, "mean") for p in (0.05, 0.95))
        squares = (draws - draws.mean()) ** 2
        if statistic == "mcse_mean":
            return draws.std(ddof=1) / np.sqrt(arviz_ess(draws, "mean"))
        variance = ((squares**2).mean() - squares.mean() ** 2) / arviz_ess(squares, "mean")
        return np.sqrt(variance / squares.mean() / 4)


def assert_equal(statistic, ours, theirs):
    if statistic == "rhat" and ours > 1e6:
        # constant chains that differ: rounding decides between infinity, a huge number and, in ArviZ, NaN
        assert not theirs < 1e6
    else:
        np.testing.assert_allclose(ours, theirs, rtol=2e-8, err_msg=statistic)


def many_chains():
    tight = 1.0 + 1e-12 * RNG.normal(size=(3, 60))
    tight[1, 7] = -5.0
    return {
        "independent": RNG.normal(size=(4, 100)),
        "autocorrelated": autoregression(0.9, (4, 250)),
        "antithetic": autoregression(-0.7, (2, 300)),
        "random walk": RNG.normal(size=(2, 700)).cumsum(axis=1),
        "stuck apart": np.arange(4.0)[:, None] + 1e-3 * RNG.normal(size=(4, 640)),
        "steps": np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 200, axis=1),
        "one chain, odd": RNG.normal(size=(1, 501)),
        "three chains, odd": autoregression(0.5, (3, 167)),
        "heavy tails": RNG.standard_cauchy(size=(4, 80)),
        "counts": RNG.poisson(2.0, size=(4, 90)),
        "indicators": RNG.random(size=(4, 75)) < 0.1,
        "rare indicators": RNG.random(size=(4, 131)) < 0.01,
        "tiny": 1e-9 * RNG.gamma(0.3, size=(4, 64)),
        "many magnitudes": RNG.gamma(0.01, size=(4, 64)),
        "cluster and outlier": tight,
        "different scales": RNG.normal(size=(4, 66)) * np.array([[1.0], [1.0], [1.0], [3.0]]),
        "infinite": np.where(RNG.random(size=(4, 50)) < 0.1, np.inf, RNG.normal(size=(4, 50))),
        **{f"{n} draws": RNG.normal(size=(3, n)) for n in range(4, 13)},
    }


CHAINS = many_chains()
STATISTICS = ("ess_bulk", "ess_tail", "ess_mean", "ess_sd", "rhat", "mcse_mean", "mcse_sd")


@pytest.mark.parametrize("name", CHAINS)
def test_equals_arviz(name):
    draws = CHAINS[name]
    with np.errstate(invalid="ignore"):
        ours = all_statistics(draws, STATISTICS)
        theirs = {statistic: reference(statistic, draws) for statistic in STATISTICS}
    if len(draws) == 1:
        del theirs["rhat"]
    for statistic, value in theirs.items():
        assert_equal(statistic, ours[statistic], value)


@pytest.mark.skipif(az.__version__.startswith("0."), reason="ArviZ 0.x fails on mcse and ties")
@pytest.mark.parametrize("name", ["autocorrelated", "counts", "three chains, odd", "one chain, odd"])
def test_equals_the_functions_of_arviz_1(name):
    draws = CHAINS[name] * 1.0
    data = xr.Dataset({"x": (("chain", "draw"), draws)})
    np.testing.assert_allclose(ess(draws, "tail"), az.ess(data, method="tail", prob=(0.05, 0.95))["x"], rtol=2e-8)
    np.testing.assert_allclose(mcse(draws), az.mcse(data, method="mean")["x"], rtol=2e-8)
    np.testing.assert_allclose(mcse(draws, "sd"), az.mcse(data, method="sd")["x"], rtol=2e-8)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.tuples(st.integers(2, 3), st.integers(4, 13)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.integers(-2, 2).map(float))
    )
)
def test_equals_arviz_where_ties_abound(draws):
    ours = all_statistics(draws, STATISTICS[:5])
    for statistic in STATISTICS[:5]:
        assert_equal(statistic, ours[statistic], reference(statistic, draws))


def test_a_constant_counts_all_its_draws_and_has_no_rhat():
    draws = np.full((4, 50), 0.3)
    for method in ("bulk", "tail", "mean", "sd"):
        assert ess(draws, method) == arviz_ess(draws, method) == 200
    assert np.isnan(rhat(draws))


def test_a_single_nan_spoils_its_scalar_only():
    draws = RNG.normal(size=(2, 20, 3))
    draws[1, 4, 1] = np.nan
    for values in all_statistics(draws).values():
        np.testing.assert_array_equal(np.isnan(values), [False, True, False])
