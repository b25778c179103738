"""Shares of topics at values of a covariate, and in groups of documents, as figures."""

import numpy as np
import pandas as pd
import pytest
from document_traces import PARTY, YEAR, trace, without_theta

import ppl_topics as pt
from ppl_topics.fit import Fit


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
    with pytest.raises(pt.TraceError, match="probability: must be a number between 0 and 1"):
        fit.plot_prevalence("page", probability=90)
    with pytest.raises(pt.TraceError, match="no covariate of the model"):
        fit.plot_prevalence("pages")


def ends_of(lines):
    return np.array([line.vertices[:, 1] for line in lines.get_paths()])


def test_groups_of_documents_by_category():
    fit = Fit(trace())
    panel = fit.plot_prevalence_over("party", [2, 0], chain=1, probability=0.8)
    assert [label.get_text() for label in panel.get_xticklabels()] == ["left", "right", "centre"]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("party", "mean share, 80% interval")
    shares = fit.prevalence_over("party").sel(chain=1)
    for place, topic in enumerate([2, 0]):
        lines, points = panel.collections[2 * place : 2 * place + 2]
        np.testing.assert_allclose(points.get_offsets()[:, 1], shares.sel(topic=topic).mean("draw"))
        np.testing.assert_allclose(ends_of(lines), shares.sel(topic=topic).quantile([0.1, 0.9], "draw").T)
    # Places of the topics of a category do not overlap, nor reach the next category.
    x = np.array([points.get_offsets()[:, 0] for points in panel.collections[1::2]])
    np.testing.assert_allclose(x, [[-0.15, 0.85, 1.85], [0.15, 1.15, 2.15]])


def test_groups_of_documents_by_number():
    fit = Fit(trace())
    panel = fit.plot_prevalence_over("year", top=2)
    shares = fit.prevalence_over("year").sel(chain=0)
    order = np.argsort(-np.ptp(shares.mean("draw").values, axis=0))
    for line, band, topic in zip(panel.lines, panel.collections, order[:2], strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [1990, 1991, 1992])
        np.testing.assert_allclose(line.get_ydata(), shares.sel(topic=topic).mean("draw"))
        (corners,) = (path.vertices for path in band.get_paths())
        for year in (1990, 1991, 1992):
            at = corners[corners[:, 0] == year, 1]
            ends = shares.sel(topic=topic, year=year).quantile([0.05, 0.95], "draw")
            np.testing.assert_allclose([at.min(), at.max()], ends)
    binned = fit.plot_prevalence_over(pd.Series(YEAR, name="$ year"), 0, bins=2)
    assert binned.get_xlabel() == r"\$ year"
    np.testing.assert_allclose(
        binned.lines[0].get_xdata(), fit.prevalence_over(YEAR, bins=2)["group"].values.astype(float)
    )


def test_the_last_state_has_no_intervals():
    fit = Fit(without_theta(trace()))
    panel = fit.plot_prevalence_over(PARTY, 1, estimate="z_last")
    assert panel.get_ylabel() == "mean share, last state"
    lines, points = panel.collections
    assert np.isnan(ends_of(lines)).all() or not len(ends_of(lines))
    shares = fit.prevalence_over(PARTY, estimate="z_last").sel(chain=0, topic=1)
    np.testing.assert_allclose(points.get_offsets()[:, 1], shares)
    panel = fit.plot_prevalence_over("year", 1, estimate="z_last")
    np.testing.assert_allclose(panel.lines[0].get_ydata(), fit.prevalence_over("year", estimate="z_last")[0, :, 1])
    with pytest.raises(pt.TraceError, match="run the model with record="):
        fit.plot_prevalence_over("year")
    with pytest.raises(pt.TraceError, match="there is no topic 3; they are 0 to 2"):
        fit.plot_prevalence_over("year", 3, estimate="z_last")


def test_many_names_are_turned():
    long = [f"a group with a long name {value}" for value in PARTY]
    panel = Fit(trace()).plot_prevalence_over(long)
    assert {label.get_rotation() for label in panel.get_xticklabels()} == {40.0}
    panel = Fit(trace()).plot_prevalence_over(PARTY)
    assert {label.get_rotation() for label in panel.get_xticklabels()} == {0.0}
