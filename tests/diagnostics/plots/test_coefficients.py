"""Plots of coefficients and relevance: what is drawn where."""

import sys

import numpy as np
import pytest
import xarray as xr
from plot_helpers import labels_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_coefficients, plot_relevance
from ppl_topics.diagnostics.tables import coefficient_table, topic_relevance

NAMES = ["topic 0", "topic 1", "topic 2", "age", "intercept"]


def made(draws=20, apart=False):
    """One chain of two responses, three topics, a covariate and an intercept."""
    rng = np.random.default_rng(1)
    eta = rng.normal([0.1, -3.0, 1.0, 5.0, 9.0], 0.3, size=(1, draws, 2, 5)) * np.array([1.0, -1.0])[:, None]
    phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.5, 0.0, 0.5]], dtype=np.float32)
    own = ("response",) if apart else ()
    shape = (1, 2, 3, 3) if apart else (1, 3, 3)
    responses = ["calm", "loud"]
    posterior = xr.Dataset(
        {
            "eta": (("chain", "draw", "response", "coefficient"), eta),
            "topic_share": (("chain", "draw", *own, "topic"), np.full((1, draws, *shape[1:-1]), 1 / 3)),
        },
        {"chain": [0], "draw": np.arange(draws), "response": responses, "coefficient": NAMES, "topic": np.arange(3)},
    )
    constants = xr.Dataset(
        {"phi_mean": (("chain", *own, "topic", "word"), np.broadcast_to(phi, shape))},
        {"chain": [0], "topic": np.arange(3), "word": ["$5", "ball", "law_1"]}
        | ({"response": responses} if apart else {}),
    )
    return {"posterior": posterior, "constant_data": constants}


def points_of(panel):
    (points,) = (c for c in panel.collections if type(c).__name__ == "PathCollection")
    return np.asarray(points.get_offsets())


def intervals_of(panel):
    (lines,) = (c for c in panel.collections if type(c).__name__ == "LineCollection")
    return np.array([segment[:, 0] for segment in lines.get_segments()]), lines.get_colors()


def test_a_panel_for_each_response_with_words_as_labels():
    groups = made()
    axes = plot_coefficients(groups, probability=0.8, n_words=2)
    assert axes.shape == (2,)
    assert [panel.get_title() for panel in axes] == ["calm", "loud"]
    assert labels_of(axes[0]) == [
        "age",
        r"ball law_1  (topic 1)",
        r"\$5 law_1  (topic 2)",
        r"\$5 ball  (topic 0)",
        "intercept",
    ]
    table = coefficient_table(groups, response="calm", probability=0.8)
    points = points_of(axes[0])
    np.testing.assert_allclose(points[:, 0], table["mean"])
    # From the top down, the intercept a little apart.
    np.testing.assert_allclose(np.diff(points[:, 1]), [-1, -1, -1, -1.5])
    ends, colours = intervals_of(axes[0])
    np.testing.assert_allclose(ends, table[["low", "high"]])
    dark = (colours == colours[0]).all(axis=1)
    assert dark.tolist() == table["excludes_0"].tolist()
    assert not dark.all()
    assert "80% interval" in axes[0].get_xlabel()
    axes[0].figure.canvas.draw()


def test_some_responses_on_axes_that_are_given():
    from matplotlib import pyplot

    groups = made()
    _, panel = pyplot.subplots()
    (drawn,) = plot_coefficients(groups, response="loud", top=1, axes=panel)
    assert drawn is panel
    assert labels_of(panel) == ["age", "intercept"]
    assert len(plot_coefficients(groups, response=["loud"])) == 1
    for options, words in (
        ({"axes": panel}, "1 were given for 2 responses"),
        ({"response": []}, "name at least one"),
        ({"response": "lout"}, "did you mean 'loud'"),
        ({"response": 0}, "no response 0"),
        ({"chain": 3}, "no chain 3"),
        ({"probability": 2}, "between 0 and 1"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            plot_coefficients(groups, **options)


def test_relevance_of_topics():
    groups = made()
    panel = plot_relevance(groups, n_words=1)
    assert labels_of(panel) == ["ball  (topic 1)", r"\$5  (topic 2)", r"\$5  (topic 0)"]
    table = topic_relevance(groups)
    np.testing.assert_allclose(points_of(panel)[:, 0], table["relevance"])
    np.testing.assert_allclose(intervals_of(panel)[0], table[["low", "high"]])
    assert len(labels_of(plot_relevance(groups, top=2, ax=panel))) == 2
    with pytest.raises(pt.TraceError, match="share the topics"):
        plot_relevance(groups, response="loud")


def test_nothing_to_plot():
    groups = made()
    some = dict(groups, posterior=groups["posterior"].isel(coefficient=[3, 4]))
    assert labels_of(plot_coefficients(some)[0]) == ["age", "intercept"]
    with pytest.raises(pt.TraceError, match="no topic of the model has coefficients"):
        plot_relevance(some)
    with pytest.raises(pt.TraceError, match="the model has no coefficients"):
        plot_coefficients(dict(groups, posterior=groups["posterior"].isel(coefficient=[])))


def test_relevance_of_topics_of_their_own():
    groups = made(apart=True)
    panel = plot_relevance(groups, response="loud")
    table = topic_relevance(groups)
    np.testing.assert_allclose(points_of(panel)[:, 0], table.loc[table["response"] == "loud", "relevance"])
    for response, words in ((None, "its own topics"), ("lout", "did you mean 'loud'")):
        with pytest.raises(pt.TraceError, match=words):
            plot_relevance(groups, response=response)


def test_one_draw_is_points_without_intervals():
    panel = plot_coefficients(made(draws=1), response="calm")[0]
    assert len(points_of(panel)) == 5
    assert len(intervals_of(panel)[0]) == 0
    assert len(points_of(plot_relevance(made(draws=1)))) == 3


def test_too_many_responses_for_a_figure():
    eta = np.zeros((1, 3, 51, 1))
    groups = made()
    posterior = groups["posterior"].drop_vars("eta").drop_dims(["response", "coefficient"])
    posterior["eta"] = (("chain", "draw", "response", "coefficient"), np.resize(eta, (1, 20, 51, 1)))
    posterior = posterior.assign_coords(response=[f"c{c}" for c in range(51)], coefficient=["topic 0"])
    with pytest.raises(pt.TraceError, match="51 responses"):
        plot_coefficients({**groups, "posterior": posterior})
    assert len(plot_coefficients({**groups, "posterior": posterior}, response=["c0", "c7"])) == 2


@pytest.mark.parametrize(("responses", "columns"), [(4, 1), (5, 2), (12, 2), (13, 3)])
def test_many_responses_are_in_columns(responses, columns):
    groups = made()
    posterior = groups["posterior"].drop_vars("eta").drop_dims(["response", "coefficient"])
    eta = np.random.default_rng(2).normal(size=(1, 20, responses, 2))
    posterior["eta"] = (("chain", "draw", "response", "coefficient"), eta)
    posterior = posterior.assign_coords(
        response=[f"c{c}" for c in range(responses)], coefficient=["topic 0", "topic 1"]
    )
    axes = plot_coefficients({**groups, "posterior": posterior})
    assert [panel.get_title() for panel in axes] == [f"c{c}" for c in range(responses)]
    cells = [panel.get_subplotspec() for panel in axes]
    assert {cell.get_gridspec().ncols for cell in cells} == {columns}
    assert [cell.colspan.start for cell in cells] == [c % columns for c in range(responses)]
    width, height = axes[0].figure.get_size_inches()
    rows = -(-responses // columns)
    assert (width, height) == (pytest.approx(7.5 * columns), pytest.approx(rows * (0.28 * 2 + 1.1)))


def test_a_row_of_panels_is_as_high_as_its_longest_needs():
    groups = made()
    names = ["calm", "loud", "calm", "loud", "calm"]
    heights = plot_coefficients(groups, names, top=3)[0].get_subplotspec().get_gridspec().get_height_ratios()
    assert heights == pytest.approx([0.28 * 4 + 1.1] * 3)


def test_methods_of_a_fit(monkeypatch):
    fit = pt.Fit(made())
    assert labels_of(fit.plot_coefficients("calm", top=1)[0]) == ["age", "intercept"]
    assert len(labels_of(fit.plot_relevance(top=2))) == 2
    # Without matplotlib, one clear error.
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (fit.plot_coefficients, fit.plot_relevance):
        with pytest.raises(pt.PplTopicsError, match=r"pip install 'ppl-topics\[plots\]'"):
            plot()
