"""What all plots share: given axes, forms of a trace, odd words, and an error without matplotlib."""

import sys
import warnings

import pytest
from plot_helpers import FAST, bars_of, corpus, labels_of, words_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import (
    plot_contrast,
    plot_document,
    plot_eta,
    plot_hierarchy,
    plot_topic_correlations,
    plot_topic_graph,
    plot_topics,
)
from ppl_topics.results.arviz_compat import from_groups


def test_one_topic_one_document_one_draw():
    fit = pt.sample("lda", corpus(1, labels=False), topics=1, chains=1, **{**FAST, "draws": 1})
    (panel,) = fit.plot_topics()
    assert panel.get_title() == "topic 0 (100.0% of tokens)"
    bars, _ = fit.plot_document(0)
    assert bars_of(bars) == [pytest.approx(1.0)]
    with pytest.raises(pt.TraceError, match="two documents"):
        fit.plot_topic_correlations()
    # log p(w, z) of one topic never changes.
    assert len(fit.plot_trace("lp")) == 1


def test_axes_that_are_given_and_other_forms_of_a_trace(plain, supervised):
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    one, two = Figure().subplots(), Figure().subplots(2)
    idata = from_groups(supervised.groups)
    assert plot_eta(idata, ax=one) is one
    assert plot_topic_correlations(idata, ax=Figure().subplots()).images
    for plot in (plot_contrast, plot_hierarchy, plot_topic_graph):
        one = Figure().subplots()
        assert plot(idata, *((0, 1) if plot is plot_contrast else ()), ax=one) is one
    assert plot_topics(idata, [1, 2], axes=two)[1] is two[1]
    assert plot_document(plain, 3, axes=Figure().subplots(2))[1].texts
    assert pyplot.get_fignums() == []
    with pytest.raises(pt.TraceError, match="2 were given for 1"):
        plot_topics(idata, 1, axes=two)
    with pytest.raises(pt.TraceError, match="1 were given for 2 panels"):
        plot_document(plain, 3, axes=one)


def test_words_that_are_long_or_hold_odd_characters():
    words = ["$" * 3, "tab\there", "line\nbreak", "x" * 300, "日本語", "\u200b"]
    odd = pt.Corpus.from_tokens([words[:5], words[2:] * 2], doc_ids=["a\tb", "$"])
    fit = pt.sample("lda", odd, topics=2, chains=1, **FAST)
    # Fonts that lack a character make matplotlib warn, which is no matter of ours.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        for panel in (
            *fit.plot_topics(),
            *fit.plot_document("$"),
            *fit.plot_document("a\tb"),
            fit.plot_topic_correlations(),
            fit.plot_contrast(0, 1),
            fit.plot_hierarchy(),
            fit.plot_topic_graph(),
        ):
            lines = [line for text in (panel.get_title(), *words_of(panel)) for line in text.split("\n")]
            key = panel.get_legend()
            names = [text.get_text() for text in key.get_texts()] if key is not None else []
            texts = [*labels_of(panel), *lines, *names]
            assert all(text.isprintable() and len(text) < 120 for text in texts)
            assert not any("$" in text.replace(r"\$", "") for text in texts)
            panel.figure.canvas.draw()


def test_without_matplotlib_one_clear_error(supervised, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (
        supervised.plot_trace,
        supervised.plot_rank,
        supervised.plot_ess,
        supervised.plot_topics,
        lambda: supervised.plot_contrast(0, 1),
        supervised.plot_hierarchy,
        supervised.plot_topic_correlations,
        supervised.plot_topic_graph,
        supervised.plot_eta,
        lambda: supervised.plot_document(0),
        lambda: supervised.plot_drift({}),
    ):
        with pytest.raises(pt.PplTopicsError, match=r"pip install 'ppl-topics\[plots\]'"):
            plot()
