"""Predictions of new documents: exact where topics and coefficients are known, errors, and fits that were loaded.

In the traces made here each word belongs to one topic, so the shares of topics are those of words, without noise.
"""

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, logsumexp, softmax
from scipy.stats import nbinom, norm

import ppl_topics as pt
from ppl_topics.errors import CorpusError, PplTopicsError, SpecError, TraceError

WORDS = ["red", "green", "blue"]
DRAWS = 4
FEW = {"warmup": 0, "draws": 2}
ETA = np.random.default_rng(1).normal(0, 2, (2, DRAWS, 3, 4))
RESPONSES = {
    "hinge": {"block": "hinge"},
    "logistic": {"block": "logistic"},
    "gaussian": {"block": "gaussian"},
    "probit": {"block": "probit_do"},
    "sticks": {"block": "stick_breaking_logistic"},
    "counts": {"block": "negative_binomial", "dispersion": 3.0},
    "regression": {"block": "epsilon_insensitive"},
}


def make_fit(response, labels, intercept=False, apart=False, **posterior):
    """A fit with one word a topic in each of two chains, the chains numbering them differently."""
    block = RESPONSES[response] | {"coefficients": "eta", "features": ["z"], "observed": "labels"}
    model = {
        "name": "made",
        "parameters": {"topics": 3, "alpha": 0.5, "beta": 0.1},
        "blocks": {
            "theta": {"block": "dirichlet", "over": "topic", "per": "doc", "concentration": "$alpha"},
            "phi": {"block": "dirichlet", "over": "word", "per": "topic", "concentration": "$beta"},
            "z": {"block": "assignments", "prior": "theta"},
            "w": {"block": "words", "topics": "phi", "assignments": "z", "observed": "words"},
            "eta": {"block": "normal", "per": "response", "variance": 1.0},
            "y": block | ({"intercept": True} if intercept else {}),
        },
    }
    labels = pt.Labels.infer(labels)
    names = labels.classes if len(labels.classes) else np.array(["y"], object)
    if labels.kind == "class":
        names = names[1:] if len(names) == 2 else names[: 2 if response == "sticks" else None]
    eta = ETA[:, :, : len(names), : 4 if intercept else 3]
    phi = np.stack([np.eye(3), np.eye(3)[::-1]])
    phi_dims = ("chain", "topic", "word")
    if apart:
        phi, phi_dims = np.stack([phi] * len(names), axis=1), ("chain", "response", "topic", "word")
    coefficients = ["topic 0", "topic 1", "topic 2", *(["intercept"] if intercept else [])]
    coords = {"chain": [0, 1], "draw": np.arange(DRAWS)}
    extra = {name: (("chain", "draw", "response"), value) for name, value in posterior.items()}
    observed = {"labels": (("doc",) if labels.values.ndim == 1 else ("doc", "response"), labels.values)}
    observed_coords = {}
    if len(labels.classes):
        observed_coords["class" if labels.values.ndim == 1 else "response"] = labels.classes
    groups = {
        "posterior": xr.Dataset(
            {"eta": (("chain", "draw", "response", "coefficient"), eta), **extra},
            coords | {"response": names, "coefficient": coefficients},
            {"model_yaml": pt.load_spec(model).to_yaml(), "model_name": "made"},
        ),
        "observed_data": xr.Dataset(observed, observed_coords),
        "constant_data": xr.Dataset(
            {"phi_mean": (phi_dims, phi.astype(np.float32)), "alpha": ("topic", np.full(3, 0.5))},
            {"chain": [0, 1], "topic": np.arange(3), "word": np.array(WORDS, object)}
            | ({"response": names} if apart else {}),
        ),
    }
    groups["observed_data"]["labels"].attrs["kind"] = labels.kind
    return pt.Fit(groups)


NEW = ["red red green unknown", "blue", "", "green green green red"]
SHARES = np.array([[2 / 3, 1 / 3, 0], [0, 0, 1], [0, 0, 0], [1 / 4, 3 / 4, 0]])


def scores_by_draw(columns, intercept=False):
    """What the linear predictors of NEW must be, of shape (chain, draw, doc, response)."""
    features = [SHARES, SHARES[:, ::-1]]
    if intercept:
        features = [np.hstack([f, np.ones((4, 1))]) for f in features]
    eta = ETA[:, :, :columns, : features[0].shape[1]]
    return np.stack([np.einsum("df,mcf->mdc", features[c], eta[c]) for c in range(2)])


def test_two_classes():
    for response in ("hinge", "logistic"):
        fit = make_fit(response, ["no", "yes", "no"])
        scores = scores_by_draw(1)[..., 0]
        np.testing.assert_allclose(fit.decision_function(NEW, **FEW), scores.mean(axis=(0, 1)), atol=1e-12)
        np.testing.assert_allclose(fit.decision_function(NEW, eta=2, **FEW), scores[:, 2].mean(axis=0), atol=1e-12)
        last = fit.decision_function(NEW, eta="last", **FEW)
        np.testing.assert_array_equal(last, fit.decision_function(NEW, eta=3, **FEW))
        np.testing.assert_allclose(fit.decision_function(NEW, eta="draws", **FEW), scores.mean(axis=(0, 1)), atol=1e-12)
        assert fit.classes == ["no", "yes"]
    probability = fit.predict_proba(NEW, eta="draws", **FEW)
    np.testing.assert_allclose(probability[:, 1], expit(scores).mean(axis=(0, 1)))
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    at_the_mean = expit(scores.mean(axis=1)).mean(axis=0)
    np.testing.assert_array_equal(fit.predict_proba(NEW, **FEW), probability)
    np.testing.assert_allclose(fit.predict_proba(NEW, eta="mean", **FEW)[:, 1], at_the_mean)
    assert fit.predict(NEW, eta="mean", **FEW).tolist() == ["yes" if p > 0.5 else "no" for p in at_the_mean]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_several_classes(intercept, apart):
    labels = ["a", "b", "c"]
    hinge = make_fit("hinge", labels, intercept, apart)
    scores = scores_by_draw(3, intercept)
    mean = scores.mean(axis=(0, 1))
    for eta in ("mean", "draws"):
        np.testing.assert_allclose(hinge.decision_function(NEW, eta=eta, **FEW), mean, atol=1e-12)
        assert hinge.predict(NEW, eta=eta, **FEW).tolist() == [labels[c] for c in mean.argmax(axis=1)]
    logistic = make_fit("logistic", labels, intercept, apart)
    probability = softmax(scores, axis=-1).mean(axis=(0, 1))
    np.testing.assert_allclose(logistic.predict_proba(NEW, eta="draws", **FEW), probability)
    assert logistic.predict(NEW, eta="draws", **FEW).tolist() == [labels[c] for c in probability.argmax(axis=1)]
    # The metrics leave out what is missing or unknown.
    truth = [labels[probability[0].argmax()], None, "z", labels[probability[3].argmin()]]
    found = logistic.metrics(NEW, truth, eta="draws", **FEW)
    assert (found["accuracy"], found["f1_micro"], found["scored"]) == (0.5, 0.5, 2)
    assert (found["missing"], found["unknown"]) == (1, 1)
    expected = np.log([probability[0].max(), probability[3].min()]).mean()
    assert found["log_score"] == pytest.approx(expected)
    assert logistic.score(NEW, truth, eta="draws", **FEW) == 0.5


def test_several_labels():
    fit = make_fit("logistic", [["u"], ["v", "w"], []])
    probability = expit(scores_by_draw(3)).mean(axis=(0, 1))
    np.testing.assert_allclose(fit.predict_proba(NEW, eta="draws", **FEW), probability)
    chosen = fit.predict(NEW, eta="draws", **FEW)
    np.testing.assert_array_equal(chosen, probability > 0.5)
    truth = chosen.copy()
    truth[1, 0] = 1 - truth[1, 0]
    truth[3] = -1
    truth[0, 1] = -1
    found = fit.metrics(NEW, pt.Labels("multi_label", truth, np.array(["u", "v", "w"], object)), eta="draws", **FEW)
    assert (found["accuracy"], found["scored"], found["missing"]) == (pytest.approx(2 / 3), 8, 4)
    known = truth >= 0
    hits = (truth[known] & chosen[known]).sum()
    assert found["f1_micro"] == pytest.approx(2 * hits / (truth[known].sum() + chosen[known].sum()))
    cells = np.where(truth == 1, probability, 1 - probability)[known]
    assert found["log_score"] == pytest.approx(np.log(cells).mean())
    sign = (scores_by_draw(3).mean(axis=(0, 1)) > 0).astype(int)
    np.testing.assert_array_equal(make_fit("hinge", [["u"], ["v", "w"], []]).predict(NEW, **FEW), sign)


def test_numbers():
    sigma2 = np.random.default_rng(2).uniform(0.5, 2, (2, DRAWS, 1))
    fit = make_fit("gaussian", [0.5, 1.5, np.nan], sigma2=sigma2)
    scores = scores_by_draw(1)[..., 0]
    mean = scores.mean(axis=(0, 1))
    np.testing.assert_allclose(fit.predict(NEW, **FEW), mean, atol=1e-12)
    truth = np.array([1.0, -0.5, np.nan, 2.0])
    known = [0, 1, 3]
    found = fit.metrics(NEW, truth, eta="draws", **FEW)
    errors, spread = ((truth - mean)[known] ** 2).sum(), ((truth[known] - truth[known].mean()) ** 2).sum()
    assert found["r2"] == fit.score(NEW, truth, **FEW) == pytest.approx(1 - errors / spread)
    density = norm.logpdf(truth[known], scores[..., known], np.sqrt(sigma2))
    expected = (logsumexp(density, axis=(0, 1)) - np.log(2 * DRAWS)).mean()
    assert found["log_score"] == pytest.approx(expected)
    assert (found["scored"], found["missing"]) == (3, 1)
    assert "accuracy" not in found
    assert "log_score" not in make_fit("gaussian", [0.5, 1.5]).metrics(NEW, truth, **FEW)
    loss = make_fit("regression", [0.5, 1.5])
    np.testing.assert_allclose(loss.predict(NEW, **FEW), mean, atol=1e-12)
    assert "log_score" not in loss.metrics(NEW, truth, **FEW)
    assert np.isnan(loss.score(NEW, [3.5, None, None, 3.5], **FEW))


def test_counts():
    labels = pt.Labels("count", np.array([0, 3, 2]))
    fit = make_fit("counts", labels)
    scores = scores_by_draw(1)[..., 0]
    np.testing.assert_allclose(fit.predict(NEW, eta="draws", **FEW), 3 * np.exp(scores).mean(axis=(0, 1)))
    truth = np.array([2, 0, 1, 5])
    density = nbinom.logpmf(truth, 3, expit(-scores))
    expected = (logsumexp(density, axis=(0, 1)) - np.log(2 * DRAWS)).mean()
    # Whole numbers are read as counts, for those of training were.
    assert fit.metrics(NEW, truth.tolist(), eta="draws", **FEW)["log_score"] == pytest.approx(expected)


def test_several_numbers():
    fit = make_fit("gaussian", np.array([[0.5, 1], [2, 3.5]]), sigma2=np.ones((2, DRAWS, 2)))
    mean = scores_by_draw(2).mean(axis=(0, 1))
    np.testing.assert_allclose(fit.predict(NEW, **FEW), mean, atol=1e-12)
    np.testing.assert_allclose(fit.decision_function(NEW, **FEW), mean, atol=1e-12)
    truth = mean + np.array([0.5, -0.25])
    spread = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    expected = 1 - np.array([4 * 0.25, 4 * 0.0625]) / spread
    assert fit.score(NEW, truth, **FEW) == pytest.approx(expected.mean())


@pytest.mark.parametrize(("response", "probability"), [("logistic", expit), ("probit", norm.cdf)])
def test_predictive_draws_of_labels(response, probability):
    """Each label for itself; a logistic one is not drawn as a probit would be."""
    drawn = make_fit(response, [["a"], ["b", "c"], []]).predictive(NEW, **FEW)
    np.testing.assert_allclose(drawn["expectation"], probability(scores_by_draw(3)))
    assert drawn["target"].dims == ("chain", "draw", "doc", "response")
    assert set(np.unique(drawn["target"])) == {0.0, 1.0}


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("response", ["logistic", "probit", "sticks"])
def test_predictive_draws_of_classes(response, labels):
    """One for each document: shares of many draws are probabilities, to five standard errors (1e-6 false alarms)."""
    fit = make_fit(response, labels)
    fit = pt.Fit({**fit.groups, "posterior": fit.posterior.isel(draw=[0, 1] * 2000).assign_coords(draw=range(4000))})
    drawn = fit.predictive(NEW, **FEW | {"draws": 4000})
    assert drawn["probability"].dims == ("chain", "draw", "doc", "class")
    assert drawn["class"].values.tolist() == labels
    np.testing.assert_allclose(drawn["probability"].mean(("chain", "draw")), fit.predict_proba(NEW, **FEW))
    shares = np.stack([(drawn["target"] == c).mean("draw") for c in range(len(labels))], axis=-1)
    mean = drawn["probability"].mean("draw").values
    assert (np.abs(shares - mean) <= 5 * np.sqrt(mean * (1 - mean) / 4000) + 1e-9).all()
    assert (np.abs(shares[..., ::-1] - mean) > 5 * np.sqrt(mean * (1 - mean) / 4000)).any()


def test_predictive_draws_and_transform():
    fit = make_fit("logistic", ["a", "b", "c"])
    drawn = fit.predictive(NEW, **FEW)
    scores = scores_by_draw(3)
    assert drawn["score"].dims == ("chain", "draw", "doc", "response")
    np.testing.assert_allclose(drawn["score"], scores, atol=1e-12)
    xr.testing.assert_identical(drawn, fit.predictive(NEW, **FEW))
    assert drawn.attrs == {"dropped_tokens": 1, "empty_documents": 1}
    assert drawn["response"].values.tolist() == ["a", "b", "c"]
    theta = fit.transform(NEW, **FEW)
    lengths = np.array([3, 1, 0, 4])[:, None]
    np.testing.assert_allclose(theta, (lengths * SHARES + 0.5) / (lengths + 1.5))
    np.testing.assert_allclose(fit.transform(NEW, chain=1, **FEW), theta[:, ::-1])


def test_topics_of_each_draw():
    phi = np.stack([np.stack([np.eye(3), np.eye(3)[[1, 2, 0]]] * 2), np.stack([np.eye(3)] * 4)]).astype(np.float32)
    fit = make_fit("hinge", ["a", "b", "c"])
    whole = fit.posterior.assign(phi=(("chain", "draw", "topic", "word"), phi)).assign_coords(word=WORDS)
    fit = pt.Fit({**fit.groups, "posterior": whole})
    found = fit.decision_function(NEW, eta="draws", phi="draws", warmup=0)
    expected = np.mean([SHARES @ phi[c, m].T @ ETA[c, m, :, :3].T for c in range(2) for m in range(DRAWS)], axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    found = fit.decision_function(NEW, eta="draws", phi="draws", method="cvb0")
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("apart", [False, True])
def test_expected_topics_serve_as_those_that_are_drawn(apart):
    # Where a word belongs to one topic, both are the shares of the words.
    for response in ("hinge", "logistic"):
        fit = make_fit(response, ["a", "b", "c"], True, apart)
        for how in ({}, {"eta": "mean"}, {"eta": "last"}):
            wanted = fit.decision_function(NEW, **how, **FEW)
            np.testing.assert_allclose(fit.decision_function(NEW, method="cvb0", **how), wanted, atol=1e-6)
    np.testing.assert_allclose(fit.predict_proba(NEW, method="cvb0"), fit.predict_proba(NEW, **FEW), atol=1e-6)
    which = {"response": "b"} if apart else {}
    theta = fit.transform(NEW, method="cvb0", **which)
    np.testing.assert_allclose(theta, fit.transform(NEW, **which, **FEW), atol=1e-6)
    np.testing.assert_array_equal(fit.predictor().transform(NEW, method="cvb0", threads=1, **which), theta)


def test_what_cannot_be_done_is_said():
    hinge = make_fit("hinge", ["a", "b", "c"])
    lacking = pt.Fit({**hinge.groups, "posterior": hinge.posterior.drop_vars(["eta"])})
    lda = pt.load_spec("lda", {"topics": 3}).to_yaml()
    plain = pt.Fit({**hinge.groups, "posterior": hinge.posterior.assign_attrs(model_yaml=lda)})
    apart = make_fit("hinge", ["a", "b", "c"], apart=True)
    foreign = pt.Fit({"posterior": hinge.posterior})
    np.testing.assert_allclose(plain.transform(NEW, **FEW), hinge.transform(NEW, **FEW))
    np.testing.assert_allclose(apart.transform(NEW, response="b", **FEW), hinge.transform(NEW, **FEW))
    gaussian = make_fit("gaussian", [0.5, 1.5])
    for error, message, call in (
        (SpecError, "is a loss, not a distribution of the labels", lambda: hinge.predict_proba(NEW)),
        (TraceError, "predicts numbers", lambda: gaussian.predict_proba(NEW)),
        (TraceError, "model 'lda' has no response", lambda: plain.predict(NEW)),
        (TraceError, "does not hold the coefficients eta", lambda: lacking.predict(NEW)),
        (TraceError, "not written by ppl-topics", lambda: foreign.transform(NEW)),
        (TraceError, "record=.'phi': 'all'", lambda: hinge.predict(NEW, eta="draws", phi="draws")),
        (TraceError, "no draw 9; it has 0 to 3", lambda: hinge.predict(NEW, eta=9)),
        (TraceError, "no chain 2; it has 0, 1", lambda: hinge.transform(NEW, chain=2)),
        (TraceError, "chain: must be a whole number", lambda: hinge.transform(NEW, chain="0")),
        (TraceError, r"each response has its own topics; name one of them .*: a, b, c", lambda: apart.transform(NEW)),
        (TraceError, "all responses share the topics", lambda: hinge.transform(NEW, response="a")),
        (PplTopicsError, "eta: expected draws, mean, last", lambda: hinge.predict(NEW, eta="median")),
        (PplTopicsError, "phi: expected mean or draws", lambda: hinge.predict(NEW, phi="last")),
        (PplTopicsError, "give eta draws too", lambda: hinge.predict(NEW, eta="mean", phi="draws")),
        (PplTopicsError, "draws: must be a whole number from 1", lambda: hinge.predict(NEW, draws=0)),
        (PplTopicsError, "warmup: must be a whole number from 0", lambda: hinge.predict(NEW, warmup=-1)),
        (PplTopicsError, "seed: must be", lambda: hinge.predict(NEW, seed=0.5)),
        (PplTopicsError, "threads: must be at most", lambda: hinge.predict(NEW, threads=10**6)),
        (PplTopicsError, "did you mean 'draws'", lambda: hinge.predict(NEW, draw=1)),
        (PplTopicsError, "eta: no such option", lambda: hinge.predictive(NEW, eta=1)),
        (PplTopicsError, "method: expected gibbs or cvb0", lambda: hinge.predict(NEW, method="vb")),
        (PplTopicsError, "method: cvb0 draws no topics; leave", lambda: hinge.transform(NEW, method="cvb0", draws=9)),
        (PplTopicsError, "method: no such option", lambda: hinge.predictive(NEW, method="cvb0")),
        (CorpusError, "have no labels", lambda: hinge.metrics(NEW)),
        (CorpusError, "no document has a label.*2 are of classes", lambda: hinge.metrics(NEW, ["y", "z", None, None])),
        (CorpusError, "of kind 'class', in training 'real'", lambda: gaussian.score(NEW, ["a", "b", "c", "d"])),
        (CorpusError, "single string", lambda: hinge.predict("red")),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_loaded_fit_predicts_the_same(tmp_path):
    labels = np.random.default_rng(4).choice(WORDS, 40).tolist()
    others = np.random.default_rng(5).choice(WORDS, 40)
    texts = [f"{colour} " * 6 + other for colour, other in zip(labels, others, strict=True)]
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    options = {"topics": 3, "draws": 10, "warmup": 20, "chains": 2, "seed": 1, "progress": False}
    fit = pt.sample("slda_multinomial", corpus, **options)
    fit.save(tmp_path / "a.nc")
    loaded = pt.load_fit(tmp_path / "a.nc")
    assert loaded.score(corpus) > 0.8
    for name in ("transform", "decision_function", "predict_proba"):
        np.testing.assert_array_equal(getattr(loaded, name)(corpus), getattr(fit, name)(corpus, threads=1))
    assert loaded.predict(corpus).tolist() == fit.predict(corpus).tolist()
    xr.testing.assert_identical(loaded.predictive(NEW), fit.predictive(NEW))
    # Documents are found by the names of their words and classes, whatever their order.
    turned = pt.Corpus.from_matrix(corpus.to_matrix().toarray()[:, ::-1], vocabulary=corpus.vocabulary[::-1])
    np.testing.assert_allclose(fit.transform(turned), fit.transform(corpus), atol=0.5)
    assert fit.score(turned.with_labels(labels)) > 0.8


# Labels, the loss of the best constant, and what to do.
OVERFIT = [
    ("gaussian", np.linspace(-1.0, 1.0, 40), 41 / 117, "lower the prior variance of the coefficients"),
    ("regression", np.linspace(-1.0, 1.0, 40), 41 / 117, "lower cost"),
    ("hinge", ["a", "b"] * 20, 1 / 2, "lower cost"),
    ("logistic", ["a", "b", "c", "b"] * 10, 1 / 3, "lower c "),
    ("counts", pt.Labels("count", np.arange(40)), 1599 / 12, "lower the prior variance of the coefficients"),
]


def with_loss(fit, loss):
    """The fit with a training loss."""
    statistics = xr.Dataset({"training_loss": (("chain", "draw"), np.full((2, DRAWS), loss))})
    return pt.Fit({**fit.groups, "sample_stats": statistics})


@pytest.mark.parametrize(("response", "labels", "constant", "remedy"), OVERFIT)
def test_overfitting_is_said(response, labels, constant, remedy):
    """Of documents that are all alike, so that nothing is better than a constant."""
    fit = with_loss(make_fit(response, labels), 0.009 * constant)
    with pytest.warns(pt.OverfitWarning, match=remedy):
        fit.metrics(["red"] * 40, labels, **FEW)


@pytest.mark.parametrize(("response", "labels", "constant", "remedy"), OVERFIT)
def test_overfitting_is_not_said_of_others(response, labels, constant, remedy):
    """A larger training loss, few documents, a trace without a training loss, and labels that are predicted."""
    fit = make_fit(response, labels)
    first = labels[:8] if isinstance(labels, list | np.ndarray) else labels.values[:8]
    with_loss(fit, 0.011 * constant).metrics(["red"] * 40, labels, **FEW)
    with_loss(fit, 0.009 * constant).metrics(["red"] * 8, list(first), **FEW)
    fit.metrics(["red"] * 40, labels, **FEW)
    if response in ("gaussian", "regression"):
        new = [words for words in ("red", "blue", "green", "red green") for _ in range(10)]
        with_loss(fit, 0.009 * constant).metrics(new, fit.predict(new, **FEW) + 0.01, **FEW)


def test_documents_of_unknown_words_alone_are_told_once_and_count_as_empty():
    fit = make_fit("logistic", ["no", "yes", "no"])
    new = ["red", "pink", "", "mauve pink"]
    says = "^2 of 4 documents have no word of the training vocabulary; they count as empty"
    for given in (new, pt.Corpus.from_texts(new)):
        for method in (fit.predict, fit.predict_proba, fit.decision_function, fit.predictive, fit.transform):
            with pytest.warns(pt.UnknownWordsWarning, match=says) as told:
                found = method(given, **FEW)
            assert len(told) == 1
            assert told[0].filename == __file__
            if isinstance(found, np.ndarray):
                assert np.array_equal(found[1], found[2])
                assert np.array_equal(found[3], found[2])
    with pytest.warns(pt.UnknownWordsWarning, match=says):
        fit.predictor().predict(new, **FEW)
    # Neither a document that was empty before, nor one with a known word, is told of: warnings are errors here.
    fit.predict(["", "red pink"], **FEW)
