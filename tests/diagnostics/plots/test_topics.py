"""Plots of topics, their correlations, coefficients and documents: what is drawn where."""

import sys
import warnings

import numpy as np
import pytest
import xarray as xr

import ppl_topics as pt
from ppl_topics.diagnostics.plots import plot_document, plot_eta, plot_topic_correlations, plot_topics
from ppl_topics.results.arviz_compat import from_groups

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

FAST = {"draws": 8, "warmup": 5, "seed": 1, "threads": 1, "progress": False}


def corpus(n_docs=24, labels=True):
    rng = np.random.default_rng(1)
    words = [["$cost", "ball", "team", "goal"], ["law", "vote", "court", "judge"], ["sea", "ship", "wind", "sail"]]
    tokens = [rng.choice(words[d % 3], 5 + d % 4).tolist() for d in range(n_docs)]
    tokens[-1] = [] if n_docs > 2 else tokens[-1]
    names = [["sport", "law", "sea"][d % 3] for d in range(n_docs)]
    ids = [f"d{d}" for d in range(n_docs)]
    return pt.Corpus.from_tokens(tokens, doc_ids=ids, labels=names if labels else None)


@pytest.fixture(scope="module")
def plain():
    """LDA with all recorded."""
    record = {"theta": "all", "phi": "all", "z": "all"}
    return pt.sample("lda", corpus(), topics=4, chains=2, record=record, **FAST)


@pytest.fixture(scope="module")
def bare():
    """LDA of which nothing by document or word was recorded."""
    record = {"theta": "none", "phi": "none"}
    return pt.sample("lda", corpus(), topics=4, chains=1, record=record, **FAST)


@pytest.fixture(scope="module")
def supervised():
    return pt.sample("slda_logistic", corpus(), topics=4, chains=2, **FAST)


@pytest.fixture(scope="module")
def apart():
    return pt.sample("slda_logistic_one_vs_all", corpus(), topics=2, chains=1, **FAST)


@pytest.fixture(autouse=True)
def closed():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def labels_of(panel):
    return [label.get_text() for label in panel.get_yticklabels()]


def bars_of(panel):
    return [bar.get_width() for bar in panel.patches]


def intervals_of(panel):
    (lines,) = panel.collections
    return np.array([segment[:, 0] for segment in lines.get_segments()]).reshape(-1, 2)


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
    # All panels of a figure have one scale, which holds all bars.
    assert len({panel.get_xlim() for panel in axes}) == 1
    assert axes[0].get_xlim()[1] > max(max(bars_of(panel)) for panel in axes)
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
    fit = pt.sample("lda_spike_slab", corpus(), topics=3, chains=1, inclusion=0.2, **FAST)
    phi = fit.groups["constant_data"]["phi_mean"].values[0]
    assert (phi == 0).any()
    for panel, mean in zip(fit.plot_topics([0, 1, 2], n_words=12), phi, strict=True):
        np.testing.assert_allclose(bars_of(panel), np.sort(mean[mean > 0])[::-1])


def values_of(panel):
    """The cells of the heat map, and the numbers of the topics of its columns."""
    (image,) = panel.images
    numbers = [int(label.get_text()) for label in panel.get_xticklabels()]
    return np.ma.filled(image.get_array().astype(float), np.nan), numbers


def test_correlations_over_draws_are_means_of_each(plain):
    panel = plain.plot_topic_correlations(chain=1)
    found, order = values_of(panel)
    full = plain.groups["constant_data"]["doc_length"].values > 0
    theta = plain.posterior["theta"].sel(chain=1).values[:, full].astype(float)
    expected = np.mean([np.corrcoef(draw.T) for draw in theta], axis=0)[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert sorted(order) == [0, 1, 2, 3]
    assert [label.split("(topic ")[1] for label in labels_of(panel)] == [f"{k})" for k in order]
    assert "mean over draws" in panel.get_title()


def test_correlations_at_the_last_state(bare):
    panel = bare.plot_topic_correlations()
    found, order = values_of(panel)
    constants = bare.groups["constant_data"]
    lengths = constants["doc_length"].values
    docs = np.repeat(np.arange(len(lengths)), lengths)
    n_dk = np.zeros((len(lengths), 4))
    np.add.at(n_dk, (docs, constants["z_last"].values[0]), 1)
    zbar = n_dk[lengths > 0] / lengths[lengths > 0, None]
    expected = np.corrcoef(zbar.T)[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(pt.TraceError, match="does not hold draws of theta"):
        bare.plot_topic_correlations(estimate="draws")
    with pytest.raises(pt.TraceError, match="estimate: expected one of"):
        bare.plot_topic_correlations(estimate="mean")


def by_hand(theta):
    """A trace of one draw of shares of topics (D, K)."""
    n_docs, n_topics = theta.shape
    coords = {"chain": [0], "draw": [0], "doc": [f"d{d}" for d in range(n_docs)], "topic": np.arange(n_topics)}
    return {
        "posterior": xr.Dataset({"theta": (("chain", "draw", "doc", "topic"), theta[None, None])}, coords),
        "constant_data": xr.Dataset({"doc_length": ("doc", np.full(n_docs, 9))}, {"chain": [0], "doc": coords["doc"]}),
    }


def test_correlations_of_topics_that_do_not_vary_of_one_and_of_hundreds():
    rng = np.random.default_rng(2)
    theta = np.column_stack([rng.random(9) / 2, np.full(9, 0.25), np.zeros(9)])
    theta[:, 2] = 0.75 - theta[:, 0]
    panel = plot_topic_correlations(by_hand(theta))
    found, order = values_of(panel)
    assert order[-1] == 1
    np.testing.assert_allclose(found[:2, :2], [[np.nan, -1], [-1, np.nan]])
    assert np.isnan(found[2]).all()
    assert labels_of(panel) == [f"topic {k}" for k in order]
    assert np.isnan(values_of(plot_topic_correlations(by_hand(np.ones((4, 1)))))[0]).all()
    panel = plot_topic_correlations(by_hand(rng.dirichlet(np.ones(300), 20)))
    assert panel.images[0].get_array().shape == (300, 300)
    assert len(labels_of(panel)) <= 120
    panel.figure.canvas.draw()
    with pytest.raises(pt.TraceError, match="two documents"):
        plot_topic_correlations(by_hand(np.ones((1, 2)) / 2))


def test_coefficients_are_a_heat_map_near_a_diagonal(supervised):
    panel = supervised.plot_eta(chain=1, probability=0.5)
    (image,) = panel.images
    eta = supervised.posterior["eta"].sel(chain=1).values[:, :, :4]
    mean = eta.mean(axis=0).T
    order = [int(label.split("(topic ")[1][:-1]) for label in labels_of(panel)]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(image.get_array(), mean[order])
    assert (np.diff(mean[order].argmax(axis=1)) >= 0).all()
    assert image.get_clim() == (-np.abs(mean).max(), np.abs(mean).max())
    low, high = np.quantile(eta, [0.25, 0.75], axis=0)
    excludes = ((low > 0) | (high < 0)).T[order]
    (dots,) = (c for c in panel.collections if type(c).__name__ == "PathCollection")
    assert {tuple(at) for at in np.asarray(dots.get_offsets()).astype(int).tolist()} == {
        (column, row) for row, column in np.argwhere(excludes)
    }
    names = [label.get_text() for label in panel.get_xticklabels()]
    assert names == supervised.posterior["response"].values.tolist()
    panel.figure.canvas.draw()


def test_some_coefficients_and_what_is_missing(supervised, plain, apart):
    panel = supervised.plot_eta(["sea", "law"], top=2)
    assert panel.images[0].get_array().shape == (2, 2)
    assert [label.get_text() for label in panel.get_xticklabels()] == ["sea", "law"]
    assert supervised.plot_eta("sea").images[0].get_array().shape == (4, 1)
    # With one draw there are no intervals.
    one = {**supervised.groups, "posterior": supervised.posterior.isel(draw=[0])}
    panel = plot_eta(one)
    assert not [c for c in panel.collections if type(c).__name__ == "PathCollection"]
    assert panel.get_title("right") == ""
    none = supervised.posterior.isel(coefficient=slice(4, None))
    for call, words in (
        (lambda: plain.plot_eta(), "has no response"),
        (lambda: apart.plot_eta(), "its own topics"),
        (lambda: supervised.plot_eta("see"), "did you mean 'sea'"),
        (lambda: supervised.plot_eta([]), "name at least one"),
        (lambda: supervised.plot_eta(top=0), "top: must be a whole number"),
        (lambda: supervised.plot_eta(chain=3), "no chain 3"),
        (lambda: plot_eta({**supervised.groups, "posterior": none}), "no topic of the model has coefficients"),
    ):
        with pytest.raises(pt.TraceError, match=words):
            call()


def words_of(panel):
    return [text.get_text() for text in panel.texts]


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
        ):
            texts = [*labels_of(panel), panel.get_title(), *words_of(panel)]
            assert all(text.isprintable() and len(text) < 120 for text in texts)
            assert not any("$" in text.replace(r"\$", "") for text in texts)
            panel.figure.canvas.draw()


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


def test_without_matplotlib_one_clear_error(supervised, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for plot in (
        supervised.plot_trace,
        supervised.plot_rank,
        supervised.plot_ess,
        supervised.plot_topics,
        supervised.plot_topic_correlations,
        supervised.plot_eta,
        lambda: supervised.plot_document(0),
        lambda: supervised.plot_drift({}),
    ):
        with pytest.raises(pt.PplTopicsError, match=r"pip install 'ppl-topics\[plots\]'"):
            plot()


def test_drift_is_drawn_beside_other_runs(plain):
    approximate = {"schedule": pt.cycle(pt.step("z", "ad_lda", shards=3))}
    with pytest.warns(pt.InexactKernelWarning):
        fit = pt.sample("lda_collapsed", corpus(), topics=4, chains=1, **approximate, **FAST)
    axes = fit.plot_drift({"exact": plain}, name="3 shards", skip=0.0)
    assert [line.get_label() for line in axes[1].get_lines() if line.get_label()[0] != "_"] == [
        "3 shards (not exact)",
        "exact",
    ]
