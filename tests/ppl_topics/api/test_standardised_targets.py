"""Real targets are modelled in standard deviations of their own, and predicted in their units."""

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.results.mean_topics import mean_topics
from ppl_topics.results.validation import check_groups

MODELS = pytest.mark.parametrize("model", ["slda_gaussian", "medlda_regression"])
HOW = {"topics": 3, "warmup": 10, "draws": 12, "chains": 2, "seed": 5, "threads": 1, "progress": False}
FEW = {"warmup": 3, "draws": 12, "threads": 1}
A, B = 250.0, -1000.0


def documents(rng, number=60):
    """Words of one of two topics, and targets that follow their share."""
    share = rng.beta(0.5, 0.5, number)
    texts = [[f"{'ab'[int(rng.random() > s)]}{rng.integers(8)}" for _ in range(12)] for s in share]
    return texts, 2.0 * share + rng.normal(0.0, 0.2, number)


def corpora(change=lambda y: y):
    """Training documents, three of them without a target, and others, with the targets changed."""
    rng = np.random.default_rng(3)
    (texts, y), (new, truth) = documents(rng), documents(rng, 20)
    y[[2, 7, 30]] = np.nan
    return [pt.Corpus.from_tokens(words, labels=change(t)) for words, t in ((texts, y), (new, truth))]


def known(corpus):
    values = corpus.labels.values
    return values[~np.isnan(values)]


@MODELS
def test_units_change_predictions_and_nothing_else(model):
    train, new = corpora()
    scaled, scaled_new = corpora(lambda y: A * y + B)
    one, other = pt.sample(model, train, **HOW), pt.sample(model, scaled, **HOW)
    np.testing.assert_array_equal(one.groups["constant_data"]["z_last"], other.groups["constant_data"]["z_last"])
    np.testing.assert_allclose(other.posterior["eta"], one.posterior["eta"], rtol=1e-6, atol=1e-9)
    for method in ("predict", "decision_function"):
        here, there = (getattr(fit, method)(new, **FEW) for fit in (one, other))
        np.testing.assert_allclose(there, A * here + B, rtol=1e-6)
    drawn, elsewhere = one.predictive(new, **FEW), other.predictive(new, **FEW)
    assert set(drawn) == ({"score"} if model == "medlda_regression" else {"score", "expectation", "target"})
    for name in drawn:
        np.testing.assert_allclose(elsewhere[name], A * drawn[name] + B, rtol=1e-6)
    found, there = one.metrics(new, **FEW), other.metrics(scaled_new, **FEW)
    assert there["r2"] == pytest.approx(found["r2"], abs=1e-8)
    assert found["r2"] > 0.5
    if "log_score" in found:
        assert there["log_score"] == pytest.approx(found["log_score"] - np.log(A), abs=1e-8)
    loss, other_loss = (fit.groups["sample_stats"]["training_loss"] for fit in (one, other))
    np.testing.assert_allclose(other_loss, A**2 * loss, rtol=1e-4)
    tables = [fit.effective_coefficients() for fit in (one, other)]
    np.testing.assert_allclose(tables[1]["effective"], tables[0]["effective"], rtol=1e-5)


@MODELS
def test_it_is_the_model_of_targets_that_were_standardised(model):
    train, _ = corpora()
    mean, scale = known(train).mean(), known(train).std()
    by_hand, new = corpora(lambda y: (y - mean) / scale)
    whole, plain = pt.sample(model, train, **HOW), pt.sample(model, by_hand, standardise=False, **HOW)
    constants = whole.groups["constant_data"]
    np.testing.assert_allclose([constants["target_mean"], constants["target_scale"]], [[mean], [scale]])
    assert "target_scale" not in plain.groups["constant_data"]
    np.testing.assert_allclose(whole.posterior["eta"], plain.posterior["eta"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(whole.predict(new, **FEW), mean + scale * plain.predict(new, **FEW), rtol=1e-6)


def test_each_column_by_itself():
    """One with missing values, a constant one, and one that no document has."""

    def columns(y):
        return np.column_stack([y, np.full(len(y), 7.5), np.full(len(y), np.nan)])

    train, new = corpora(columns)
    fit = pt.sample("slda_gaussian", train, **HOW)
    first = train.labels.values[:, 0]
    constants = fit.groups["constant_data"]
    np.testing.assert_allclose(constants["target_mean"], [np.nanmean(first), 7.5, 0.0])
    np.testing.assert_allclose(constants["target_scale"], [np.nanstd(first), 1.0, 1.0])
    assert constants["target_scale"]["response"].values.tolist() == fit.posterior["response"].values.tolist()
    assert np.corrcoef(fit.predict(new, **FEW)[:, 0], new.labels.values[:, 0])[0, 1] > 0.6
    np.testing.assert_allclose(fit.predict(new, **FEW)[:, 1], 7.5, atol=1.0)


def test_scales_by_response_beside_sparse_topics(tmp_path):
    """Where the mean topics of chains are lists, the dim of the scales is not taken for one of theirs."""
    slab = {"block": "spike_slab", "over": "word", "per": "topic", "concentration": "$beta", "inclusion": 0.4}
    model = {"name": "s", "extends": "slda_gaussian", "blocks": {"phi": {**slab, "storage": "sparse"}}}
    train, new = corpora(lambda y: np.column_stack([y, A * y + B]))
    fit = pt.sample(model, train, **HOW)
    np.testing.assert_array_equal(mean_topics(fit.groups, 1), mean_topics(fit.groups).sel(chain=1))
    fit.save(tmp_path / "run.nc")
    predicted = pt.load_fit(tmp_path / "run.nc").predict(new, **FEW)
    assert np.corrcoef(predicted[:, 1], A * predicted[:, 0] + B)[0, 1] > 0.9
    assert fit.score(new, **FEW) > 0.4


def test_a_document_without_words_has_the_mean():
    train, _ = corpora(lambda y: A * y + B)
    predicted = pt.sample("medlda_regression", train, **HOW).predict([""], **FEW)
    np.testing.assert_allclose(predicted, known(train).mean())


@MODELS
def test_stored_runs_predict_the_same(model, tmp_path):
    train, new = corpora(lambda y: A * y + B)
    whole = pt.sample(model, train, **HOW)
    pt.sample(model, train, out=tmp_path / "run", **{**HOW, "draws": 5})
    resumed = pt.resume(tmp_path / "run", draws=12, threads=1, progress=False)
    whole.save(tmp_path / "run.nc")
    expected, measured = whole.predict(new, **FEW), whole.metrics(new, **FEW)
    for fit in (resumed, pt.load_fit(tmp_path / "run"), pt.load_fit(tmp_path / "run.nc")):
        np.testing.assert_array_equal(fit.predict(new, **FEW), expected)
        assert fit.metrics(new, **FEW) == measured


def test_a_run_from_before_predicts_as_it_did():
    """Its model does not say whether targets are standardised, and its trace has no scales: they were not."""
    train, new = corpora()
    fit = pt.sample("slda_gaussian", train, **HOW)
    constants = fit.groups["constant_data"]
    before = pt.Fit({**fit.groups, "constant_data": constants.drop_vars(["target_mean", "target_scale", "response"])})
    check_groups(before.groups, "run.nc")
    mean, scale = float(constants["target_mean"][0]), float(constants["target_scale"][0])
    np.testing.assert_allclose(before.predict(new, **FEW), (fit.predict(new, **FEW) - mean) / scale)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.drop_vars("target_mean"), "lacks some of target_mean, target_scale"),
        (lambda data: data.assign(target_scale=0.0 * data["target_scale"]), "constant_data/target_scale is not above"),
        (lambda data: data.assign_coords(response=["other"]), "do not have the same responses"),
        (lambda data: data.assign(target_mean=data["target_mean"].isel(response=0)), "target_mean has the dims"),
    ],
)
def test_scales_that_cannot_be(change, message):
    groups = pt.sample("slda_gaussian", corpora()[0], **HOW).groups
    check_groups(groups, "run.nc")
    with pytest.raises(pt.TraceError, match=message):
        check_groups({**groups, "constant_data": change(groups["constant_data"])}, "run.nc")
