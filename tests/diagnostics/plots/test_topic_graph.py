"""Topics that occur together, as a graph."""

import itertools

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from plot_helpers import words_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_topic_graph


def by_hand(theta, words=()):
    """A trace of draws of shares of topics (M, D, K), each of whose topics has some words."""
    n_draws, n_docs, n_topics = theta.shape
    docs, topics = [f"d{d}" for d in range(n_docs)], np.arange(n_topics)
    posterior = xr.Dataset(
        {
            "theta": (("chain", "draw", "doc", "topic"), theta[None]),
            "topic_share": (("chain", "draw", "topic"), theta.mean(axis=1)[None]),
        },
        {"chain": [0], "draw": np.arange(n_draws), "doc": docs, "topic": topics},
    )
    constants = xr.Dataset({"doc_length": ("doc", np.full(n_docs, 9))}, {"chain": [0], "doc": docs, "topic": topics})
    if words:
        phi = np.random.default_rng(1).dirichlet(np.full(len(words), 0.1), size=(1, n_topics)).astype(np.float32)
        constants = constants.assign(phi_mean=(("chain", "topic", "word"), phi)).assign_coords(word=list(words))
    return {"posterior": posterior, "constant_data": constants}


def drawn(n_draws=12, n_docs=40, n_topics=8, noise=0.5, seed=2):
    """Draws of shares in which topics of three groups go together."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=(n_docs, 3)) @ np.eye(3)[:, np.arange(n_topics) % 3]
    scores = loads + rng.normal(size=(n_docs, n_topics)) + noise * rng.normal(size=(n_draws, n_docs, n_topics))
    return np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)


def edges_of(panel):
    """The edges as pairs of nodes, with their widths, and the places of the nodes."""
    (nodes,) = (each for each in panel.collections if isinstance(each, PathCollection))
    (lines,) = (each for each in panel.collections if isinstance(each, LineCollection))
    places = np.asarray(nodes.get_offsets())
    found = {}
    for segment, width in zip(lines.get_segments(), lines.get_linewidths(), strict=False):
        ends = [int(np.flatnonzero((places == end).all(axis=1))[0]) for end in segment]
        found[tuple(sorted(ends))] = width
    return found, nodes


def test_edges_are_correlations_whose_interval_is_above_0():
    theta = drawn()
    found, nodes = edges_of(plot_topic_graph(by_hand(theta), probability=0.8))
    correlations = np.array([np.corrcoef(draw.T) for draw in theta])
    low = np.quantile(correlations, 0.1, axis=0)
    pairs = list(itertools.combinations(range(8), 2))
    expected = {pair for pair in pairs if low[pair] > 0}
    assert set(found) == expected
    # Not all pairs with a positive mean have an edge.
    assert 0 < len(expected) < sum(correlations.mean(axis=0)[pair] > 0 for pair in pairs)
    mean = np.array([correlations.mean(axis=0)[pair] for pair in found])
    widths = np.array(list(found.values()))
    assert np.corrcoef(mean, widths)[0, 1] == pytest.approx(1.0)
    assert widths[mean.argmax()] == pytest.approx(5.0)
    share = theta.mean(axis=(0, 1))
    np.testing.assert_allclose(nodes.get_sizes() / nodes.get_sizes().max(), share / share.max())


def test_least_leaves_out_weaker_edges():
    theta = drawn()
    low = np.quantile([np.corrcoef(draw.T) for draw in theta], 0.05, axis=0)
    every, _ = edges_of(plot_topic_graph(by_hand(theta)))
    found, _ = edges_of(plot_topic_graph(by_hand(theta), least=0.05))
    assert set(found) == {pair for pair in every if low[pair] > 0.05}
    assert 0 < len(found) < len(every)


def test_without_draws_edges_are_those_above_a_bound(bare):
    theta = drawn(n_draws=1)
    correlation = np.corrcoef(theta[0].T)
    pairs = list(itertools.combinations(range(8), 2))
    panel = plot_topic_graph(by_hand(theta))
    assert set(edges_of(panel)[0]) == {pair for pair in pairs if correlation[pair] > 0.1}
    assert any(0 < correlation[pair] <= 0.1 for pair in pairs)
    assert "above 0.1 in one state" in panel.get_title()
    assert set(edges_of(plot_topic_graph(by_hand(theta), least=0.4))[0]) == {p for p in pairs if correlation[p] > 0.4}
    assert "in one state" in bare.plot_topic_graph().get_title()


def test_labels_of_a_fit_and_of_one_response(plain, apart):
    panel = plain.plot_topic_graph(chain=1, n_words=2)
    labels = [" ".join(text.split()) for text in words_of(panel)]
    phi = plain.groups["constant_data"]["phi_mean"].sel(chain=1)
    for topic, label in enumerate(labels):
        best = phi["word"].values[np.argsort(-phi.values[topic], kind="stable")[:2]]
        assert label == f"{' '.join(best)} (topic {topic})".replace("$", r"\$")
    assert len(labels) == 4
    assert "90% interval above 0" in panel.get_title()
    assert len(words_of(apart.plot_topic_graph(response="sea"))) == 2
    with pytest.raises(pt.TraceError, match="its own topics"):
        apart.plot_topic_graph()


@pytest.mark.parametrize(("n_topics", "ax"), [(5, False), (30, False), (60, False), (12, True)])
def test_labels_do_not_overlap_and_calls_repeat_themselves(n_topics, ax):
    words = ["regression", "estimator", "variance", "graph", "distribution", "sample", "matrix", "axis", "frame", "of"]
    groups = by_hand(drawn(n_topics=n_topics), words)
    panel, again = (plot_topic_graph(groups, ax=Figure(figsize=(8, 6)).subplots() if ax else None) for _ in range(2))
    panel.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in panel.texts]
    assert len(boxes) == n_topics
    assert not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))
    figure = panel.figure.bbox
    assert all(box.x0 >= figure.x0 and box.x1 <= figure.x1 and box.y0 >= figure.y0 for box in boxes)
    np.testing.assert_array_equal(edges_of(panel)[1].get_offsets(), edges_of(again)[1].get_offsets())


def test_topics_that_do_not_vary_many_topics_and_one():
    theta = drawn(n_topics=4)
    theta[..., 1] = 0.25
    found, _ = edges_of(plot_topic_graph(by_hand(theta)))
    assert not any(1 in pair for pair in found)
    panel = plot_topic_graph(by_hand(np.random.default_rng(3).dirichlet(np.ones(80), (3, 20))))
    assert words_of(panel) == [str(number) for number in range(80)]
    panel.figure.canvas.draw()
    panel = plot_topic_graph(by_hand(np.ones((3, 4, 1))))
    assert edges_of(panel)[0] == {}
    assert "no correlation" in panel.get_legend().get_title().get_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"least": -0.1}, "least: must be a number from 0 to 1, such as 0.1, or None, got -0.1"),
        ({"least": True}, "least: must be a number"),
        ({"least": "0.1"}, "least: must be a number"),
        ({"probability": 90}, "probability: must be a number between 0 and 1"),
        ({"estimate": "mean"}, "estimate: expected one of"),
        ({"chain": 2}, "no chain 2"),
        ({"n_words": 0}, "n_words"),
    ],
)
def test_what_there_is_not_is_refused(given, words):
    with pytest.raises(pt.TraceError, match=words):
        plot_topic_graph(by_hand(drawn(n_draws=2, n_docs=4)), **given)
