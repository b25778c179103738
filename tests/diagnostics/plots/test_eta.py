"""Coefficients of topics as a heat map."""

import numpy as np
import pytest
from plot_helpers import labels_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_eta


def values_of(panel):
    """The cells of the heat map, and the numbers of the topics of its columns."""
    (image,) = panel.images
    numbers = [int(label.get_text()) for label in panel.get_xticklabels()]
    return np.ma.filled(image.get_array().astype(float), np.nan), numbers


def test_coefficients_are_a_heat_map_near_a_diagonal(supervised):
    panel = supervised.plot_eta(chain=1, probability=0.5)
    (image,) = panel.images
    eta = supervised.posterior["eta"].sel(chain=1).values[:, :, :4]
    mean = eta.mean(axis=0).T
    order = [int(label.split("(topic ")[1][:-1]) for label in labels_of(panel)]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(image.get_array(), mean[order])
    assert (np.diff(mean[order].argmax(axis=1)) >= 0).all()
    assert image.get_clim() == (-np.abs(mean).max(), np.abs(mean).max())
    low, high = np.quantile(eta, [0.25, 0.75], axis=0)
    excludes = ((low > 0) | (high < 0)).T[order]
    (dots,) = (c for c in panel.collections if type(c).__name__ == "PathCollection")
    assert {tuple(at) for at in np.asarray(dots.get_offsets()).astype(int).tolist()} == {
        (column, row) for row, column in np.argwhere(excludes)
    }
    names = [label.get_text() for label in panel.get_xticklabels()]
    assert names == supervised.posterior["response"].values.tolist()
    panel.figure.canvas.draw()


def test_some_coefficients_and_what_is_missing(supervised, plain, apart):
    panel = supervised.plot_eta(["sea", "law"], top=2)
    assert panel.images[0].get_array().shape == (2, 2)
    assert [label.get_text() for label in panel.get_xticklabels()] == ["sea", "law"]
    assert supervised.plot_eta("sea").images[0].get_array().shape == (4, 1)
    # With one draw there are no intervals.
    one = {**supervised.groups, "posterior": supervised.posterior.isel(draw=[0])}
    panel = plot_eta(one)
    assert not [c for c in panel.collections if type(c).__name__ == "PathCollection"]
    assert panel.get_title("right") == ""
    none = supervised.posterior.isel(coefficient=slice(4, None))
    for call, words in (
        (lambda: plain.plot_eta(), "has no response"),
        (lambda: apart.plot_eta(), "its own topics"),
        (lambda: supervised.plot_eta("see"), "did you mean 'sea'"),
        (lambda: supervised.plot_eta([]), "name at least one"),
        (lambda: supervised.plot_eta(top=0), "top: must be a whole number"),
        (lambda: supervised.plot_eta(chain=3), "no chain 3"),
        (lambda: plot_eta({**supervised.groups, "posterior": none}), "no topic of the model has coefficients"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            call()
