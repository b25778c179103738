"""A tree of topics."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from plot_helpers import labels_of, words_of
from topic_traces import base

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_hierarchy
from ppl_topics.diagnostics.plots.canvas import SURE, UNSURE
from ppl_topics.diagnostics.tables import topic_hierarchy


def numbers_of(panel):
    return [int(label.split("(topic ")[1][:-1]) for label in labels_of(panel)]


def test_brackets_join_the_topics_at_their_distances(plain):
    panel, table = plain.plot_hierarchy(chain=1), plain.topic_hierarchy(chain=1)
    order = numbers_of(panel)
    assert sorted(order) == [0, 1, 2, 3]
    assert tuple(order) == table["left"][2] + table["right"][2]
    # Rows from the top.
    np.testing.assert_array_equal(panel.get_yticks(), [0, -1, -2, -3])
    places = {(number,): -row for row, number in enumerate(order)}
    ends = dict.fromkeys(places, panel.get_xlim()[0])
    for line, left, right, distance in zip(panel.lines, table["left"], table["right"], table["distance"], strict=True):
        np.testing.assert_allclose(line.get_xdata(), [ends[left], distance, distance, ends[right]])
        np.testing.assert_allclose(line.get_ydata(), np.repeat([places[left], places[right]], 2))
        places[left + right], ends[left + right] = (places[left] + places[right]) / 2, distance
    assert words_of(panel) == [f"{100 * share:.0f}" for share in table["support"][:-1]]
    colours = [SURE if share >= 0.5 else UNSURE for share in table["support"]]
    assert [to_hex(line.get_color()) for line in panel.lines] == colours
    assert "8 draws" in panel.get_title(loc="right")
    assert panel.get_xlabel() == "Hellinger distance"
    assert panel.get_xlim()[1] > table["distance"].max()


def test_merges_that_most_draws_lack_are_grey():
    groups = base(seed=3, chains=1, draws=15, topics=6)
    noise = np.random.default_rng(4).dirichlet(np.full(40, 0.3), size=(1, 15, 6))
    groups["posterior"]["phi"].values[:] = 0.5 * groups["posterior"]["phi"].values + 0.5 * noise
    panel, support = plot_hierarchy(groups), topic_hierarchy(groups)["support"]
    assert [to_hex(line.get_color()) == UNSURE for line in panel.lines] == (support < 0.5).tolist()
    assert 0 < (support < 0.5).sum() < 5
    assert words_of(panel) == [f"{100 * share:.0f}" for share in support[:-1]]


def test_without_draws_of_some_words_and_of_one_response(plain, bare, apart):
    panel = bare.plot_hierarchy()
    assert words_of(panel) == []
    assert panel.get_title(loc="right") == ""
    assert {to_hex(line.get_color()) for line in panel.lines} == {SURE}
    some = pt.Fit({**plain.groups, "posterior": plain.posterior.isel(word=[1, 2, 3])})
    assert some.plot_hierarchy().get_xlabel() == "Hellinger distance (3 words and the rest)"
    panel = apart.plot_hierarchy(response="law")
    assert sorted(numbers_of(panel)) == [0, 1]
    # Two topics have one merge, drawn from 0.
    assert panel.get_xlim()[0] == 0.0
    assert len(panel.lines) == 1
    assert panel.get_title(loc="right") == ""
    with pytest.raises(pt.TraceError, match="its own topics"):
        apart.plot_hierarchy()


def test_many_topics_have_numbers():
    panel = plot_hierarchy(base(chains=1, draws=2, topics=130))
    assert len(panel.lines) == 129
    # Every second one.
    assert len(labels_of(panel)) == 65
    assert all(label.isdigit() for label in labels_of(panel))
    assert words_of(panel) == []
    assert panel.get_title(loc="right") == "grey: less than half of 2 draws"
    panel.figure.canvas.draw()
