"""Shares of topics at values of a covariate, as a figure."""

import numpy as np
import pytest

import ppl_topics as pt


@pytest.fixture(scope="module")
def fit():
    texts = ["goal match goal team", "vote law vote", "team goal law"] * 8
    rows = [{"page": ("sport", "politics", "both")[i % 3], "year": 1990 + i} for i in range(24)]
    how = {"topics": 3, "draws": 20, "warmup": 20, "chains": 2, "seed": 1, "progress": False}
    return pt.sample("dmr", pt.Corpus.from_texts(texts, covariates=rows), **how)


def test_categories_have_intervals_side_by_side(fit):
    panel = fit.plot_prevalence("page", [2, 0], chain=1, n_words=1)
    assert [label.get_text() for label in panel.get_xticklabels()] == ["both", "politics", "sport"]
    shares = fit.prevalence("page").sel(chain=1)
    for topic, points in zip([2, 0], panel.collections[1::2], strict=True):
        np.testing.assert_allclose(points.get_offsets()[:, 1], shares.sel(topic=topic).mean("draw"))
    lines = np.array([line.vertices for line in panel.collections[0].get_paths()])
    expected = shares.sel(topic=2).quantile([0.05, 0.95], "draw").values.T
    np.testing.assert_allclose(lines[:, :, 1], expected)
    assert [text.get_text().split("(")[1] for text in panel.get_legend().get_texts()] == ["topic 2)", "topic 0)"]


def test_numbers_have_bands(fit):
    panel = fit.plot_prevalence("year", top=2)
    assert len(panel.lines) == 2
    shares = fit.prevalence("year").sel(chain=0).mean("draw")
    ranges = np.ptp(shares.transpose("topic", "year").values, axis=1)
    first = int(np.argmax(ranges))
    np.testing.assert_allclose(panel.lines[0].get_xdata(), np.linspace(1990, 2013, 9))
    np.testing.assert_allclose(panel.lines[0].get_ydata(), shares.sel(topic=first))
    same = fit.plot_prevalence("year", 1, values=[2000, 2005], ax=panel)
    assert same is panel
    assert panel.get_xlabel() == "year"


def test_what_there_is_not_is_refused(fit):
    with pytest.raises(pt.TraceError, match="there is no topic 3; they are 0 to 2"):
        fit.plot_prevalence("page", [3])
    with pytest.raises(pt.TraceError, match="probability: must lie between 0 and 1"):
        fit.plot_prevalence("page", probability=90)
    with pytest.raises(pt.TraceError, match="no covariate of the model"):
        fit.plot_prevalence("pages")
