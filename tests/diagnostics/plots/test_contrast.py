"""Two topics as bars to either side."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from plot_helpers import bars_of, intervals_of, labels_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots.canvas import COLOURS, UNSURE


def test_bars_are_differences_with_intervals(plain):
    panel = plain.plot_contrast(3, 1, chain=0, n_words=4, probability=0.5)
    phi = plain.groups["constant_data"]["phi_mean"].sel(chain=0).values.astype(float)
    difference = phi[3] - phi[1]
    order = np.argsort(-difference, kind="stable")
    best = [*order[:4][difference[order[:4]] > 0], *order[-4:][difference[order[-4:]] < 0]]
    np.testing.assert_allclose(bars_of(panel), difference[best])
    vocabulary = plain.groups["constant_data"]["word"].values
    assert labels_of(panel) == [str(word).replace("$", r"\$") for word in vocabulary[best]]
    draws = plain.posterior["phi"].sel(chain=0).values.astype(float)
    low, high = np.quantile(draws[:, 3] - draws[:, 1], [0.25, 0.75], axis=0)[:, best]
    np.testing.assert_allclose(intervals_of(panel), np.column_stack([low, high]))
    side = np.where(difference[best] > 0, COLOURS[0], COLOURS[1])
    expected = np.where((low <= 0) & (high >= 0), UNSURE, side)
    assert [to_hex(bar.get_facecolor()) for bar in panel.patches] == expected.tolist()
    right, left = (text.get_text() for text in panel.get_legend().get_texts())
    assert right.startswith("to the right: ")
    assert right.endswith("(topic 3)")
    assert left.startswith("to the left: ")
    assert left.endswith("(topic 1)")
    assert panel.get_xlabel() == "difference of probabilities, 50% interval"


def test_an_interval_that_includes_0_is_grey(plain):
    words = 12
    found = [to_hex(bar.get_facecolor()) for bar in plain.plot_contrast(0, 1, n_words=words, probability=0.99).patches]
    table = plain.contrast(0, 1, n_words=words, probability=0.99)
    assert [colour == UNSURE for colour in found] == ((table["low"] <= 0) & (table["high"] >= 0)).tolist()
    assert 0 < found.count(UNSURE) < len(found)


def test_without_draws_and_of_one_response(bare, apart):
    panel = bare.plot_contrast(0, 1)
    assert len(intervals_of(panel)) == 0
    assert panel.get_xlabel() == "difference of probabilities"
    panel = apart.plot_contrast(0, 1, response="law", n_words=2)
    phi = apart.groups["constant_data"]["phi_mean"].sel(chain=0, response="law").values.astype(float)
    difference = np.sort(phi[0] - phi[1])[::-1]
    np.testing.assert_allclose(bars_of(panel), difference[[0, 1, -2, -1]])
    draws = apart.posterior["phi"].sel(chain=0, response="law").values.astype(float)
    ends = np.quantile(draws[:, 0] - draws[:, 1], [0.05, 0.95], axis=0).T
    vocabulary = [str(word).replace("$", r"\$") for word in apart.groups["constant_data"]["word"].values]
    np.testing.assert_allclose(intervals_of(panel), ends[[vocabulary.index(word) for word in labels_of(panel)]])
    with pytest.raises(pt.TraceError, match="its own topics"):
        apart.plot_contrast(0, 1)


def test_topics_without_a_difference_and_wrong_numbers_are_refused(plain):
    constants = plain.groups["constant_data"].copy(deep=True)
    constants["phi_mean"].loc[{"topic": 1}] = constants["phi_mean"].sel(topic=0).values
    with pytest.raises(pt.TraceError, match="topics 0 and 1 give all words the same probability"):
        pt.Fit({**plain.groups, "constant_data": constants}).plot_contrast(0, 1)
    with pytest.raises(pt.TraceError, match="n_words"):
        plain.plot_contrast(0, 1, n_words=None)
    with pytest.raises(pt.TraceError, match="a: the trace has no topic 4; it has 0 to 3"):
        plain.plot_contrast(4, 1)
