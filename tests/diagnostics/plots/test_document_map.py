"""A map of documents by their topics."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

import ppl_topics as pt
from ppl_topics.diagnostics.plots.canvas import COLOURS
from ppl_topics.diagnostics.plots.document_map import OTHER, document_places
from ppl_topics.fit import Fit

D, K = 60, 4

KINDS = np.arange(D) % 3
"""Each document is about one of the first three topics; no document is mostly about the last."""


def planted(seed=0):
    rng = np.random.default_rng(seed)
    weights = np.full((D, K), 0.2)
    weights[np.arange(D), KINDS] = 8.0
    return np.array([rng.dirichlet(row) for row in weights])


@pytest.fixture(scope="module")
def fit():
    theta = planted()
    lengths = np.full(D, 8)
    lengths[[5, 7]] = 0
    phi = np.random.default_rng(1).dirichlet([1.0] * 6, size=(1, K))
    ids = [f"d{d}" for d in range(D)]
    posterior = xr.Dataset(
        {"theta": (("chain", "draw", "doc", "topic"), np.array([[theta, theta]]))},
        {"chain": [0], "draw": [0, 1], "doc": ids, "topic": np.arange(K)},
    )
    constants = xr.Dataset(
        {"phi_mean": (("chain", "topic", "word"), phi), "doc_length": ("doc", lengths)},
        {"chain": [0], "topic": np.arange(K), "word": ["goal", "law", "sea", "team", "vote", "$hip"], "doc": ids},
    )
    return Fit({"posterior": posterior, "constant_data": constants})


def points_of(panel):
    """Return the places of the points of each colour."""
    found = {}
    for points in panel.collections:
        if len(points.get_offsets()):
            found.setdefault(to_hex(points.get_facecolor()[0]), []).extend(points.get_offsets().tolist())
    return {colour: np.array(places) for colour, places in found.items()}


def test_neighbours_share_their_topic():
    theta = planted()
    places = document_places(theta, 0)
    assert places.shape == (D, 2)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :5]
    assert (KINDS[nearest] == KINDS[:, None]).mean() > 0.95
    np.testing.assert_array_equal(document_places(theta, 0), places)


def test_colours_are_those_of_the_largest_topic(fit):
    panel = fit.plot_document_map(n_words=1)
    found = points_of(panel)
    full = [d for d in range(D) if d not in (5, 7)]
    largest = planted()[full].argmax(axis=1)
    counts = np.bincount(largest, minlength=K)
    order = sorted(np.flatnonzero(counts), key=lambda topic: -counts[topic])
    assert [len(found[colour]) for colour in COLOURS[: len(order)]] == [counts[topic] for topic in order]
    assert len(found) == len(order)
    places = document_places(planted()[full], 0)
    for colour, topic in zip(COLOURS, order, strict=False):
        np.testing.assert_allclose(found[colour], places[largest == topic])
    legend = [text.get_text() for text in panel.get_legend().get_texts()]
    assert [text.split("(topic ")[1] for text in legend] == [f"{topic})" for topic in order]
    labels = {text.get_text().split(":")[0]: text.get_position() for text in panel.texts}
    assert len(labels) == len(order)
    for topic in order:
        np.testing.assert_allclose(labels[str(topic)], np.median(places[largest == topic], axis=0))
    assert panel.get_title() == "58 documents, neighbours by their topics (t-SNE)"
    assert len(panel.get_xticks()) == len(panel.get_yticks()) == 0


def test_colours_of_groups(fit):
    groups = np.array(["$a", "b", "c"], dtype=object)[KINDS]
    groups[[0, 1, 2]] = None
    panel = fit.plot_document_map(groups, top=2)
    sizes = {"$a": 19, "b": 18, "c": 18}
    assert [text.get_text() for text in panel.get_legend().get_texts()] == [r"\$a", "b", "others (21)"]
    found = points_of(panel)
    assert {colour: len(places) for colour, places in found.items()} == {
        COLOURS[0]: sizes["$a"],
        COLOURS[1]: sizes["b"],
        OTHER: sizes["c"] + 3,
    }
    # All topics have labels, whatever the colours.
    assert [text.get_text()[0] for text in panel.texts] == ["0", "1", "2"]


def test_numbers_have_a_scale_of_colours(fit):
    years = np.arange(D, dtype=float)
    years[9] = np.nan
    panel = fit.plot_document_map(years)
    missing, points = panel.collections[:2]
    assert len(missing.get_offsets()) == 1
    np.testing.assert_array_equal(points.get_array(), [d for d in range(D) if d not in (5, 7, 9)])
    assert panel.get_legend() is None
    figure = panel.figure
    assert [axes.get_ylabel() for axes in figure.axes] == ["", "group"]


def test_more_documents_are_sampled(fit):
    panel = fit.plot_document_map(max_documents=20, seed=3)
    assert panel.get_title() == "20 of 58 documents, at random, neighbours by their topics (t-SNE)"
    assert sum(map(len, points_of(panel).values())) == 20
    again = fit.plot_document_map(max_documents=20, seed=3)
    for colour, places in points_of(panel).items():
        np.testing.assert_array_equal(points_of(again)[colour], places)
    other = fit.plot_document_map(max_documents=20, seed=4)
    assert any(
        len(places) != len(points_of(other).get(colour, ())) or not np.allclose(places, points_of(other)[colour])
        for colour, places in points_of(panel).items()
    )


def test_a_fit_by_its_labels(supervised):
    panel = supervised.plot_document_map("labels", chain=1, estimate="z_last")
    assert {text.get_text() for text in panel.get_legend().get_texts()} == {"sport", "law", "sea"}
    # One of the 24 documents has no token.
    assert sum(map(len, points_of(panel).values())) == 23
    same = supervised.plot_document_map(ax=panel)
    assert same is panel


def test_topics_of_a_response(apart):
    assert apart.plot_document_map(response="law").get_title().startswith("23 documents")
    with pytest.raises(pt.TraceError, match="each response has its own topics"):
        apart.plot_document_map()


def test_what_has_no_map_is_refused(fit):
    for theta, says in (
        (np.full((3, 2), 0.5), "at least 4 documents with tokens, and there are 3"),
        (np.ones((9, 1)), "at least two topics"),
        (np.full((9, 2), 0.5), "all documents have the same shares"),
    ):
        with pytest.raises(pt.TraceError, match=says):
            document_places(theta, 0)
    assert document_places(np.random.default_rng(0).dirichlet([1.0, 1.0], size=4), 0).shape == (4, 2)
    for options, says in (
        ({"max_documents": 0}, "max_documents: must be a whole number"),
        ({"top": 0}, "top: must be"),
        ({"seed": -1}, "seed: must be a whole number from 0"),
        ({"colour": "party"}, "no covariate or labels 'party'"),
        ({"colour": ["a"]}, "for each of 60 documents, got 1"),
    ):
        with pytest.raises(pt.TraceError, match=says):
            fit.plot_document_map(**options)
