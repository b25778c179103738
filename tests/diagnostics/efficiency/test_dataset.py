"""Arrays, Datasets, and what the statistics must notice."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.special import ndtri
from scipy.stats import rankdata

from ppl_topics.diagnostics.efficiency import (
    STATISTICS,
    all_statistics,
    efficiency_table,
    ess,
    inefficiency,
    mcse,
    rhat,
)


@pytest.fixture
def draws():
    return np.random.default_rng(3).gamma(2.0, size=(3, 40, 7, 50))


def split_rhat(draws):
    """Rank-normalised split R-hat of draws of shape (chain, draw), written out."""
    half = draws.shape[1] // 2
    split = np.vstack([draws[:, :half], draws[:, -half:]])
    values = []
    for side in (split, abs(split - np.median(split))):
        z = ndtri((rankdata(side).reshape(side.shape) - 0.375) / (side.size + 0.25))
        within = z.var(axis=1, ddof=1).mean()
        values.append(np.sqrt((half - 1) / half + z.mean(axis=1).var(ddof=1) / within))
    return max(values)


def test_every_scalar_is_computed_by_itself(draws):
    together = all_statistics(draws)
    assert list(together) == list(STATISTICS)
    for k, v in [(0, 0), (3, 17), (6, 49)]:
        alone = all_statistics(np.ascontiguousarray(draws[:, :, k, v]))
        for name in STATISTICS:
            assert together[name].shape == (7, 50)
            assert alone[name].shape == ()
            assert together[name][k, v] == alone[name]


def test_each_statistic_is_the_same_alone(draws):
    together = all_statistics(draws)
    for name in STATISTICS:
        np.testing.assert_array_equal(all_statistics(draws, [name])[name], together[name])


def test_layout_and_type_do_not_matter(draws):
    single = draws.astype(np.float32)
    expected = all_statistics(single.astype(np.float64))
    integers = (1000 * draws).astype(np.int64)
    expected_integers = all_statistics(integers.astype(np.float64))
    for name in STATISTICS:
        np.testing.assert_array_equal(all_statistics(single)[name], expected[name])
        np.testing.assert_array_equal(all_statistics(np.asfortranarray(single))[name], expected[name])
        np.testing.assert_array_equal(all_statistics(integers)[name], expected_integers[name])


def test_threads_do_not_matter(draws):
    numba.set_num_threads(1)
    one = all_statistics(draws)
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    all_threads = all_statistics(draws)
    for name in STATISTICS:
        np.testing.assert_array_equal(one[name], all_threads[name])


def test_the_bulk_does_not_depend_on_the_scale(draws):
    np.testing.assert_array_equal(ess(draws), ess(np.log(draws)))
    np.testing.assert_array_equal(ess(draws, "tail"), ess(draws**3, "tail"))
    np.testing.assert_array_equal(ess(draws, "mean"), ess(1024 * draws, "mean"))
    np.testing.assert_array_equal(mcse(draws) * 1024, mcse(1024 * draws))


@pytest.mark.parametrize("shape", [(1, 40), (1, 41), (2, 9)])
def test_rhat_of_few_chains_compares_their_halves(shape):
    chains = np.random.default_rng(4).normal(size=shape)
    np.testing.assert_allclose(rhat(chains), split_rhat(chains), rtol=1e-12)


def test_a_drift_common_to_all_chains_is_seen_because_chains_are_split():
    chains = np.random.default_rng(8).normal(size=(4, 400)) + np.linspace(-1, 1, 400)
    assert rhat(chains) > 1.1
    assert ess(chains) < 100


def test_a_difference_in_scale_alone_is_seen_because_draws_are_folded():
    chains = np.random.default_rng(9).normal(size=(4, 400)) * np.array([[1.0], [1.0], [1.0], [4.0]])
    assert rhat(chains) > 1.1
    assert rhat(chains / np.array([[1.0], [1.0], [1.0], [4.0]])) < 1.01


def test_a_sticky_tail_lowers_the_tail_size_most():
    rng = np.random.default_rng(10)
    chains = rng.normal(size=(4, 1000))
    chains[0, 500:560] = 3.0 + 0.01 * rng.random(60)
    assert ess(chains, "tail") < 0.5 * ess(chains, "bulk")


def test_the_inefficiency_is_draws_over_effective_draws(draws):
    np.testing.assert_array_equal(inefficiency(draws), 120 / ess(draws, "mean"))
    np.testing.assert_array_equal(inefficiency(draws, "tail"), 120 / ess(draws, "tail"))


@pytest.mark.parametrize("shape", [(2, 3, 5), (0, 10, 5), (2, 0, 5)])
def test_too_few_draws_give_nan(shape):
    for values in all_statistics(np.ones(shape)).values():
        np.testing.assert_array_equal(values, np.full(5, np.nan))


def test_no_scalars_give_no_values():
    assert rhat(np.ones((2, 10, 0, 4))).shape == (0, 4)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"unknown ess method 'bulky'; known: bulk, tail"):
        ess(np.ones((2, 5)), "bulky")
    with pytest.raises(ValueError, match=r"unknown mcse method"):
        mcse(np.ones((2, 5)), "median")
    with pytest.raises(ValueError, match=r"unknown statistic 'r_hat'"):
        all_statistics(np.ones((2, 5)), ["r_hat"])
    with pytest.raises(ValueError, match=r"shape \(chain, draw"):
        rhat(np.ones(5))
    with pytest.raises(TypeError, match="real numbers"):
        rhat(np.full((2, 5), "a"))
    with pytest.raises(ValueError, match="has no dimension chain"):
        rhat(xr.DataArray(np.ones((5, 2)), dims=("draw", "topic"), name="phi"))


@pytest.fixture
def posterior(draws):
    return xr.Dataset(
        {
            "phi": (("topic", "draw", "word", "chain"), draws.transpose(2, 1, 3, 0)),
            "alpha": (("chain", "draw"), draws[:, :, 0, 0]),
        },
        coords={"topic": list("abcdefg"), "draw": np.arange(40), "label": ("topic", range(7))},
        attrs={"seed": 1},
    )


def test_datasets_keep_their_names_and_coordinates(posterior, draws):
    sizes = ess(posterior)
    assert sizes["phi"].dims == ("topic", "word")
    assert set(sizes.coords) == {"topic", "label"}
    assert sizes.attrs == {"seed": 1}
    np.testing.assert_array_equal(sizes["phi"], ess(draws))
    assert sizes["alpha"].shape == ()
    factors = inefficiency(posterior)
    xr.testing.assert_identical(factors["phi"], inefficiency(posterior["phi"]))
    assert factors.attrs == {"seed": 1}


def test_the_table_has_a_row_for_each_variable(posterior, draws):
    posterior["fixed"] = xr.ones_like(posterior["phi"])
    table = efficiency_table(posterior)
    assert list(table.index) == ["phi", "alpha", "fixed"]
    row = table.loc["phi"]
    assert (row["scalars"], row["undefined"]) == (350, 0)
    assert row["ess_bulk_median"] == np.median(ess(draws))
    assert row["ess_tail_min"] == ess(draws, "tail").min()
    assert row["ess_bulk_q05"] == np.quantile(ess(draws), 0.05)
    assert row["inefficiency_max"] == inefficiency(draws).max()
    assert row["rhat_max"] == rhat(draws).max()
    assert row["rhat_q95"] == np.sort(rhat(draws).ravel())[int(np.ceil(0.95 * 349))]
    assert row["rhat_above"] == (rhat(draws) > 1.01).mean()
    assert table.loc["fixed", "undefined"] == 350
    assert np.isnan(table.loc["fixed", "rhat_max"])
    assert table.loc["fixed", "inefficiency_max"] == 1.0


def test_the_table_takes_names_and_survives_short_chains(posterior):
    table = efficiency_table(posterior.isel(draw=slice(3)), ["alpha"])
    assert list(table.index) == ["alpha"]
    assert table.loc["alpha", "undefined"] == 1
    assert table.drop(columns=["scalars", "undefined"]).isna().all(axis=None)
    assert isinstance(efficiency_table(posterior, []), pd.DataFrame)
    with pytest.raises(KeyError, match="no variable 'theta'"):
        efficiency_table(posterior, ["theta"])
