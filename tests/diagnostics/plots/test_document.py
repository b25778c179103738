"""A document: its topics, and its words in their colours."""

import numpy as np
import pytest
import xarray as xr
from plot_helpers import bars_of, intervals_of, labels_of, words_of

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_document


def test_a_document_with_its_words_in_the_colours_of_its_topics(plain):
    bars, text = plain.plot_document("d7", chain=1, probability=0.5, n_words=2)
    theta = plain.posterior["theta"].sel(chain=1, doc="d7").values.astype(float)
    numbers = [int(label.split("(topic ")[1][:-1]) for label in labels_of(bars)]
    np.testing.assert_allclose(bars_of(bars), theta.mean(axis=0)[numbers], rtol=1e-6)
    assert (np.diff(bars_of(bars)) <= 0).all()
    np.testing.assert_allclose(intervals_of(bars), np.quantile(theta, [0.25, 0.75], axis=0).T[numbers], rtol=1e-6)
    assert bars.get_title() == "document d7 (8 tokens)"
    # z was recorded: each token has the topic that most draws gave it.
    observed, lengths = (
        plain.groups["observed_data"]["words"].values,
        plain.groups["constant_data"]["doc_length"].values,
    )
    tokens = slice(lengths[:7].sum(), lengths[:8].sum())
    drawn = plain.posterior["z"].sel(chain=1).values[:, tokens]
    topics = [np.bincount(column, minlength=4).argmax() for column in drawn.T]
    vocabulary = plain.groups["constant_data"]["word"].values
    expected = {}
    for word, topic in zip(observed[tokens], topics, strict=True):
        expected[str(vocabulary[word]), topic] = expected.get((str(vocabulary[word]), topic), 0) + 1
    colour_of = {k: bar.get_facecolor()[:3] for k, bar in zip(numbers, bars.patches, strict=True)}
    found = {}
    for written, box in zip(words_of(text), text.patches, strict=True):
        word, _, count = written.replace(r"\$", "$").partition(" ×")
        (topic,) = (k for k, colour in colour_of.items() if colour == box.get_facecolor()[:3])
        found[word, topic] = int(count or 1)
    assert found == expected
    assert text.get_xlabel() == "most frequent topic of each word over 8 draws"
    bars.figure.canvas.draw()


def test_documents_by_position_few_words_no_words(plain, bare):
    bars, text = bare.plot_document(7, max_tokens=1)
    assert bars.get_title() == "document d7 (8 tokens)"
    assert len(intervals_of(bars)) == 0
    assert "last state" in bars.get_xlabel()
    assert "last state" in text.get_xlabel()
    first, rest = words_of(text)
    assert rest == f"and {8 - int(first.partition(' ×')[2] or 1)} more tokens"
    bars, text = plain.plot_document(23)
    assert bars.get_title() == "document d23 (0 tokens)"
    assert words_of(text) == ["the document has no tokens"]
    # Topics beyond those with a bar are grey.
    bars, text = bare.plot_document(7, top=1)
    assert len(bars.patches) == 1
    for call, words in (
        (lambda: bare.plot_document("d77"), "no document 'd77'; did you mean 'd7"),
        (lambda: bare.plot_document(24), "a position from 0 to 23"),
        (lambda: bare.plot_document(-1), "a position from 0 to 23"),
        (lambda: bare.plot_document(1.5), "a position from 0 to 23"),
        (lambda: bare.plot_document(0, top=0), "top"),
        (lambda: bare.plot_document(0, max_tokens=0), "max_tokens"),
        (lambda: plot_document({**bare.groups, "observed_data": xr.Dataset()}, 0), "no `words`"),
        (lambda: plot_document({"posterior": bare.posterior}, 0), "no `doc_length`"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            call()


def test_a_document_of_a_response_with_topics_of_its_own(apart):
    bars, _ = apart.plot_document(0, response="sea")
    theta = apart.posterior["theta"].sel(chain=0, response="sea").isel(doc=0).mean("draw").values
    np.testing.assert_allclose(sorted(bars_of(bars)), sorted(theta), rtol=1e-5)
    assert apart.plot_topic_correlations(response="sea").images[0].get_array().shape == (2, 2)


def test_words_fit_into_narrow_axes(plain):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3, 4), layout="constrained")
    bars, text = plain.plot_document(7, axes=figure.subplots(2))
    figure.canvas.draw()
    edge = bars.figure.bbox.x1
    assert words_of(text)
    for written, box in zip(text.texts, text.patches, strict=True):
        inside = box.get_window_extent()
        assert written.get_window_extent().x1 <= inside.x1 + 1
        assert inside.x1 <= edge
