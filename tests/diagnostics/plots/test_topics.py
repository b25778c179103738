"""Topics as bars of their words."""

import numpy as np
import pytest
from plot_helpers import FAST, bars_of, corpus, intervals_of, labels_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_topics


def test_topics_are_bars_of_their_words_with_intervals(plain):
    share = plain.posterior["topic_share"].sel(chain=1).mean("draw").values
    axes = plain.plot_topics(chain=1, n_words=3, probability=0.5)
    order = np.argsort(-share, kind="stable")
    assert [panel.get_title().split(" (")[0] for panel in axes] == [f"topic {k}" for k in order]
    assert axes[0].get_title() == f"topic {order[0]} ({100 * share[order[0]]:.1f}% of tokens)"
    phi = plain.groups["constant_data"]["phi_mean"].sel(chain=1, topic=order[0])
    best = np.argsort(-phi.values, kind="stable")[:3]
    np.testing.assert_allclose(bars_of(axes[0]), phi.values[best])
    assert labels_of(axes[0]) == [str(word).replace("$", r"\$") for word in phi["word"].values[best]]
    draws = plain.posterior["phi"].sel(chain=1, topic=order[0]).values[:, best].astype(float)
    np.testing.assert_allclose(intervals_of(axes[0]), np.quantile(draws, [0.25, 0.75], axis=0).T, rtol=1e-6)
    # Each panel is as wide as its own bars and intervals.
    for panel in axes:
        reach = max(max(bars_of(panel)), np.max(intervals_of(panel)))
        np.testing.assert_allclose(panel.get_xlim(), (0.0, 1.04 * reach))
    axes[0].figure.canvas.draw()


def test_some_topics_and_what_is_missing(plain, bare, apart):
    assert len(plain.plot_topics(2)) == 1
    assert [panel.get_title()[:7] for panel in plain.plot_topics([3, 0])] == ["topic 3", "topic 0"]
    # Nothing recorded: bars without intervals.
    (panel,) = bare.plot_topics(0)
    assert len(intervals_of(panel)) == 0
    for call, words in (
        (lambda: plain.plot_topics([4]), "no topic 4; it has 0 to 3"),
        (lambda: plain.plot_topics([]), "name at least one"),
        (lambda: plain.plot_topics(0, n_words=0), "n_words"),
        (lambda: plain.plot_topics(0, probability=3), "between 0 and 1"),
        (lambda: plain.plot_topics(0, chain=7), "no chain 7"),
        (lambda: plain.plot_topics(0, response="law"), "share the topics"),
        (lambda: plain.plot_topics([0] * 51), "51 topics, too many"),
        (lambda: apart.plot_topics(), "its own topics"),
        (lambda: apart.plot_topics(response="lav"), "did you mean 'law'"),
        (lambda: plot_topics({"posterior": plain.posterior}), "no `phi_mean`"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            call()
    phi = apart.groups["constant_data"]["phi_mean"].sel(chain=0, response="law", topic=1)
    (panel,) = apart.plot_topics(1, response="law", n_words=2)
    np.testing.assert_allclose(bars_of(panel), np.sort(phi.values)[::-1][:2])


def test_words_that_a_topic_excludes_have_no_bar():
    fit = pt.sample("lda_spike_slab", corpus(), topics=3, chains=1, inclusion=0.05, **FAST)
    phi = fit.groups["constant_data"]["phi_mean"].values[0]
    assert (phi == 0).any()
    for panel, mean in zip(fit.plot_topics([0, 1, 2], n_words=12), phi, strict=True):
        np.testing.assert_allclose(bars_of(panel), np.sort(mean[mean > 0])[::-1])
