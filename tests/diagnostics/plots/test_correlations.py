"""Correlations of topics as a heat map."""

import numpy as np
import pytest
import xarray as xr
from plot_helpers import labels_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_topic_correlations


def values_of(panel):
    """The cells of the heat map, and the numbers of the topics of its columns."""
    (image,) = panel.images
    numbers = [int(label.get_text()) for label in panel.get_xticklabels()]
    return np.ma.filled(image.get_array().astype(float), np.nan), numbers


def test_correlations_over_draws_are_means_of_each(plain):
    panel = plain.plot_topic_correlations(chain=1)
    found, order = values_of(panel)
    full = plain.groups["constant_data"]["doc_length"].values > 0
    theta = plain.posterior["theta"].sel(chain=1).values[:, full].astype(float)
    expected = np.mean([np.corrcoef(draw.T) for draw in theta], axis=0)[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert sorted(order) == [0, 1, 2, 3]
    assert [label.split("(topic ")[1] for label in labels_of(panel)] == [f"{k})" for k in order]
    assert "mean over draws" in panel.get_title()


def test_correlations_at_the_last_state(bare):
    panel = bare.plot_topic_correlations()
    found, order = values_of(panel)
    constants = bare.groups["constant_data"]
    lengths = constants["doc_length"].values
    docs = np.repeat(np.arange(len(lengths)), lengths)
    n_dk = np.zeros((len(lengths), 4))
    np.add.at(n_dk, (docs, constants["z_last"].values[0]), 1)
    zbar = n_dk[lengths > 0] / lengths[lengths > 0, None]
    expected = np.corrcoef(zbar.T)[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(pt.TraceError, match="does not hold draws of theta"):
        bare.plot_topic_correlations(estimate="draws")
    with pytest.raises(pt.TraceError, match="estimate: expected one of"):
        bare.plot_topic_correlations(estimate="mean")


def by_hand(theta):
    """A trace of one draw of shares of topics (D, K)."""
    n_docs, n_topics = theta.shape
    coords = {"chain": [0], "draw": [0], "doc": [f"d{d}" for d in range(n_docs)], "topic": np.arange(n_topics)}
    return {
        "posterior": xr.Dataset({"theta": (("chain", "draw", "doc", "topic"), theta[None, None])}, coords),
        "constant_data": xr.Dataset({"doc_length": ("doc", np.full(n_docs, 9))}, {"chain": [0], "doc": coords["doc"]}),
    }


def test_correlations_of_topics_that_do_not_vary_of_one_and_of_hundreds():
    rng = np.random.default_rng(2)
    theta = np.column_stack([rng.random(9) / 2, np.full(9, 0.25), np.zeros(9)])
    theta[:, 2] = 0.75 - theta[:, 0]
    panel = plot_topic_correlations(by_hand(theta))
    found, order = values_of(panel)
    assert order[-1] == 1
    np.testing.assert_allclose(found[:2, :2], [[np.nan, -1], [-1, np.nan]])
    assert np.isnan(found[2]).all()
    assert labels_of(panel) == [f"topic {k}" for k in order]
    assert np.isnan(values_of(plot_topic_correlations(by_hand(np.ones((4, 1)))))[0]).all()
    panel = plot_topic_correlations(by_hand(rng.dirichlet(np.ones(300), 20)))
    assert panel.images[0].get_array().shape == (300, 300)
    assert len(labels_of(panel)) <= 120
    panel.figure.canvas.draw()
    with pytest.raises(pt.TraceError, match="two documents"):
        plot_topic_correlations(by_hand(np.ones((1, 2)) / 2))
