"""Label switching within a chain is found at its draw, and drift is not taken for it."""

import numpy as np
import pytest
import xarray as xr
from topic_traces import C, K, T, V, base, exchanged, renumbered

from ppl_topics.diagnostics.alignment import align, aligned
from ppl_topics.diagnostics.efficiency import rhat


@pytest.mark.parametrize("draw", [1, 17, 40, T - 1])
@pytest.mark.parametrize(("topics", "numbers"), [((1, 3), (3, 1)), ((0, 2, 4), (2, 4, 0))])
def test_a_switch_is_found_at_its_draw_and_undone(draw, topics, numbers):
    groups = base()
    given = exchanged(groups, 1, draw, topics, numbers)
    (switch,) = align(given).switches
    assert (switch.chain, switch.draw, switch.response) == (1, draw, None)
    assert dict(zip(switch.topics, switch.numbers, strict=True)) == dict(zip(topics, numbers, strict=True))
    found, reference = aligned(given), align(given).reference
    for key in groups["posterior"].data_vars:
        # By the numbers of the reference, which are those of its draws before the switch, or after it where most are.
        order = np.arange(K)
        if reference == 1 and draw < T / 2:
            order[list(topics)] = numbers
        expected = renumbered(groups, [order] * C)["posterior"][key]
        np.testing.assert_array_equal(found["posterior"][key].values, expected.values)
    expected = renumbered(groups, [order] * C)["constant_data"]
    np.testing.assert_array_equal(found["constant_data"]["z_last"], expected["z_last"])
    np.testing.assert_allclose(found["constant_data"]["phi_mean"], expected["phi_mean"], atol=1e-6)


def test_several_switches_in_several_chains():
    given = exchanged(exchanged(base(), 0, 10, (0, 1), (1, 0)), 0, 25, (1, 2), (2, 1))
    given = exchanged(given, 2, 30, (3, 4), (4, 3))
    found = [(each.chain, each.draw, set(each.topics)) for each in align(given).switches]
    assert found == [(0, 10, {0, 1}), (0, 25, {1, 2}), (2, 30, {3, 4})]
    # The same topic of all chains: R-hat of everything is near 1, where before it was not.
    before, after = (float(np.nanmax(rhat(each["posterior"]["phi"]))) for each in (given, aligned(given)))
    assert before > 1.5
    assert after < 1.2


def test_words_without_draws_keep_the_mean_of_the_number():
    groups = base()
    given = exchanged(groups, 1, 40, (1, 3), (3, 1))
    given["posterior"] = given["posterior"].isel(word=slice(V - 5))
    (switch,) = align(given).switches
    assert switch.draw == 40
    found = aligned(given)["constant_data"]["phi_mean"]
    np.testing.assert_allclose(found.sum("word"), 1.0, rtol=1e-5)
    np.testing.assert_allclose(found[..., : V - 5], groups["constant_data"]["phi_mean"][..., : V - 5], atol=1e-5)


def test_drift_is_no_switch():
    """Topics that turn into others altogether, slowly or at once, keep their numbers: nobody takes their places."""
    rng = np.random.default_rng(3)
    groups = base(draws=200, chains=2)
    phi = groups["posterior"]["phi"].values
    elsewhere = rng.dirichlet(np.full(V, 0.1), size=2).astype(np.float32)
    weight = np.linspace(0.0, 1.0, 200, dtype=np.float32)[:, None]
    phi[0, :, 0] = (1 - weight) * phi[0, :, 0] + weight * elsewhere[0]
    phi[1, 100:, 1] = 0.1 * phi[1, 100:, 1] + 0.9 * elsewhere[1]
    # One odd draw, under other numbers, is not a switch either.
    phi[1, 150, [2, 3]] = phi[1, 150, [3, 2]]
    assert align(groups).switches == ()


def test_without_phi_a_switch_shows_in_shares_and_coefficients():
    groups = base(draws=100)
    given = exchanged(groups, 1, 70, (0, 4), (4, 0))
    given["posterior"] = given["posterior"].drop_vars(["phi", "included"])
    (switch,) = align(given).switches
    assert (switch.chain, switch.draw, set(switch.topics)) == (1, 70, {0, 4})
    np.testing.assert_array_equal(aligned(given)["posterior"]["theta"], groups["posterior"]["theta"])
    # Shares that wander, and cross, within the chain: no false alarm, as a rate of less than one in 20 chains.
    rng = np.random.default_rng(4)
    walks = np.abs(0.1 + np.cumsum(rng.normal(0, 0.004, size=(20, 300, K)), axis=1))
    wandering = xr.Dataset(
        {"topic_share": (("chain", "draw", "topic"), walks)}, {"chain": np.arange(20), "draw": np.arange(300)}
    )
    constants = xr.Dataset({"phi_mean": (("chain", "topic", "word"), np.tile(np.eye(K), (20, 1, 1)))})
    constants = constants.assign_coords(chain=np.arange(20), word=np.arange(K))
    assert align({"posterior": wandering, "constant_data": constants}).switches == ()
