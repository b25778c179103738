"""Covariates beside topics: coefficients, predictions, what degenerate columns do, and the command line."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import ppl_topics as pt
from ppl_topics.cli import main
from ppl_topics.engine.bind import bind
from ppl_topics.errors import CorpusError, SpecError
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes
from ppl_topics.spec import load_spec

COVARIATES = {
    "x": {"block": "covariates", "observed": "covariates"},
    "y": {"features": ["z", "x"], "intercept": True},
}
GAUSSIAN = {
    "extends": "slda_gaussian",
    "name": "gaussian_covariates",
    "blocks": {**COVARIATES, "y": {**COVARIATES["y"], "standardise": False}},
}
QUICK = {"topics": 2, "chains": 1, "seed": 3, "progress": False, "threads": 1}
FEW = {"warmup": 10, "draws": 20, "threads": 1}
WORDS = (["goal", "team", "match", "score"], ["vote", "law", "party", "court"])


def model_with(**changes):
    return {**GAUSSIAN, "blocks": {**GAUSSIAN["blocks"], "y": {**GAUSSIAN["blocks"]["y"], **changes}}}


def simulated(n_docs=400, seed=0):
    """Texts on two subjects, an age and a region, and a linear predictor of all three."""
    rng = np.random.default_rng(seed)
    share = rng.random(n_docs)
    texts = [" ".join(rng.choice(WORDS[int(rng.random() > s)]) for _ in range(15)) for s in share]
    frame = pd.DataFrame(
        {"age": rng.normal(40.0, 12.0, n_docs), "region": rng.choice(["east", "north", "west"], n_docs)}
    )
    effect = 1.5 * (frame.age - frame.age.mean()) / frame.age.std(ddof=0)
    effect += frame.region.map({"east": 1.0, "north": -1.0, "west": 0.0}) + 2.0 * (share - 0.5)
    return texts, frame, effect.to_numpy(), rng


def corpus_of(texts, labels, frame):
    return pt.Corpus.from_texts(texts, labels=labels, covariates=frame)


@pytest.fixture(scope="module")
def gaussian():
    texts, frame, effect, rng = simulated()
    corpus = corpus_of(texts, (effect + 0.5 * rng.normal(size=len(effect))).tolist(), frame)
    return corpus, pt.sample(GAUSSIAN, corpus, draws=150, warmup=100, **QUICK)


def means(fit):
    return fit.posterior["eta"].mean(("chain", "draw")).isel(response=0).to_series()


def test_gaussian_coefficients_are_recovered(gaussian):
    corpus, fit = gaussian
    assert fit.posterior["coefficient"].values.tolist() == [
        *("topic 0", "topic 1", "age", "region[east]", "region[north]", "region[west]", "intercept"),
    ]
    found = means(fit)
    # Errors are 0.5 / sqrt(400) at most where columns are balanced: five of them.
    assert found["age"] == pytest.approx(1.5, abs=0.15)
    assert found["region[east]"] - found["region[west]"] == pytest.approx(1.0, abs=0.35)
    assert found["region[north]"] - found["region[west]"] == pytest.approx(-1.0, abs=0.35)
    assert abs(found["topic 0"] - found["topic 1"]) > 1.0
    assert fit.score(corpus, **FEW) > 0.85


@pytest.mark.filterwarnings("ignore::ppl_topics.OverfitWarning")
def test_logistic_coefficients_are_recovered():
    texts, frame, effect, rng = simulated(900)
    labels = np.where(rng.random(900) < 1.0 / (1.0 + np.exp(-effect)), "yes", "no").tolist()
    corpus = corpus_of(texts, labels, frame)
    fit = pt.sample("slda_covariates", corpus, draws=150, warmup=100, **QUICK)
    found = means(fit)
    assert found["age"] == pytest.approx(1.5, abs=0.5)
    assert found["region[east]"] - found["region[north]"] == pytest.approx(2.0, abs=0.8)
    # Against the same model without covariates.
    bare = pt.Corpus.from_texts(texts, labels=labels)
    without = pt.sample("slda_logistic", bare, draws=20, warmup=20, **QUICK)
    assert fit.score(corpus, **FEW) > without.score(bare, **FEW) + 0.1


def test_supervised_topics_have_coefficients_and_the_others_none():
    texts, frame, effect, _ = simulated(60)
    corpus = corpus_of(texts, effect.tolist(), frame)
    options = {**QUICK, "topics": 5}
    fit = pt.sample(model_with(supervised_topics=2), corpus, draws=5, warmup=5, debug=True, **options)
    assert fit.posterior["coefficient"].values.tolist()[:3] == ["topic 0", "topic 1", "age"]
    assert fit.posterior["topic_share"].sizes["topic"] == 5
    assert np.isfinite(fit.predict(corpus, **FEW)).all()
    assert np.isfinite(fit.predictive(corpus, **FEW)["score"]).all()
    none = pt.sample(model_with(supervised_topics=0), corpus, draws=40, warmup=20, **options)
    assert none.posterior["coefficient"].values.tolist()[0] == "age"
    # A plain regression: its mean is that of ridge regression, whatever the topics.
    assert np.corrcoef(none.predict(corpus, **FEW), effect)[0, 1] > 0.9
    with pytest.raises(SpecError, match="supervised_topics: there are 5 topics, got 6"):
        pt.sample(model_with(supervised_topics=6), corpus, **options)


def test_neither_topics_nor_covariates():
    texts, _, effect, _ = simulated(30)
    corpus = pt.Corpus.from_texts(texts, labels=effect.tolist())
    alone = {
        "extends": "slda_gaussian",
        "name": "alone",
        "blocks": {"y": {"supervised_topics": 0, "standardise": False}},
    }
    fit = pt.sample(alone, corpus, draws=4, warmup=2, **QUICK)
    assert fit.posterior["eta"].shape == (1, 4, 1, 0)
    assert np.array_equal(fit.predict(corpus, **FEW), np.zeros(30))


def test_labels_start_in_supervised_topics_only():
    corpus = pt.Corpus.from_texts(["aa bb cc dd ee ff gg hh"] * 800, labels=["x", "y"] * 400)
    model = {"extends": "slda_logistic", "name": "some", "blocks": {"y": {"supervised_topics": 2}}}
    bound = bind(make_plan(load_spec(model, {"topics": 6})), corpus)
    state = bound.initial_state(1, 0)
    share = state.n_k / state.n_k.sum()
    # 0.9 x 2 / 6 of the tokens start in the two topics, the others uniformly: five standard deviations.
    expected = np.where(np.arange(6) < 2, 0.15, 0.0) + 0.7 / 6
    assert (np.abs(share - expected) < 5 * np.sqrt(0.25 / 6400)).all()


@pytest.mark.filterwarnings("ignore::ppl_topics.OverfitWarning")
@pytest.mark.parametrize("base", ["medlda", "medlda_one_vs_all"])
def test_dolda_like_classes_with_covariates(base):
    """Every response takes covariates: here the hinge, one class against all, and the default schedule."""
    texts, frame, effect, _ = simulated(90)
    corpus = corpus_of(texts, np.digitize(effect, [-0.7, 0.7]).astype(str).tolist(), frame)
    model = {"blocks": COVARIATES, "extends": base, "name": f"{base}_x"}
    fit = pt.sample(model, corpus, draws=10, warmup=10, **QUICK)
    assert fit.score(corpus, **FEW) > 0.5


def test_standardise_false_leaves_numbers():
    texts, frame, effect, _ = simulated(40)
    corpus = corpus_of(texts, effect.tolist(), frame)
    raw = {**GAUSSIAN, "blocks": {**GAUSSIAN["blocks"], "x": {"block": "covariates", "standardise": False}}}
    observed = bind(make_plan(load_spec(raw, {"topics": 2})), corpus).observed
    assert np.array_equal(observed.design.toarray()[:, 0], frame.age)


# What is wrong with a corpus or a model


def test_covariates_are_asked_for(gaussian):
    corpus, fit = gaussian
    bare = corpus.with_covariates(None)
    with pytest.raises(CorpusError, match=r"block 'x' \(covariates\) of model .* the corpus has none; name their col"):
        pt.sample(GAUSSIAN, bare, **QUICK)
    with pytest.raises(CorpusError, match="no covariates, and the model has coefficients for age, region; give them"):
        fit.predict(bare, **FEW)
    # Unused covariates are no mistake.
    with pytest.warns(pt.CovariateWarning, match="does not use"):
        pt.sample("slda_gaussian", corpus, draws=2, warmup=1, **QUICK)


@pytest.mark.parametrize("name", ["intercept", "topic 1"])
def test_names_of_other_coefficients_are_refused(name):
    texts, frame, effect, _ = simulated(20)
    corpus = corpus_of(texts, effect.tolist(), frame.rename(columns={"age": name}))
    with pytest.raises(CorpusError, match=f"covariate '{name}' has the name of another coefficient"):
        pt.sample(GAUSSIAN, corpus, **QUICK)


def test_a_block_of_covariates_must_be_used():
    with pytest.raises(SpecError, match="no block uses these features; add 'x' to the features of 'y'"):
        pt.Model.of(load_spec(model_with(features=["z"])))
    with pytest.raises(
        SpecError, match="no block uses these features; give topics a prior of the kind dirichlet_regression"
    ):
        pt.Model.of(load_spec({"extends": "lda", "name": "m", "blocks": {"x": {"block": "covariates"}}}))


@pytest.mark.parametrize("model", ["dolda", "slda_logistic"])
def test_covariates_that_the_model_does_not_use_are_named(model):
    texts, frame, effect, _ = simulated(30)
    labels = ["high" if value > 0 else "low" for value in effect]
    corpus = corpus_of(texts, labels, frame[["age"]].assign(**{f"x{number}": 1.0 for number in range(9)}))
    with pytest.warns(pt.CovariateWarning) as caught:
        pt.sample(model, corpus, draws=1, warmup=0, **QUICK)
    (message,) = [str(each.message) for each in caught]
    assert message == (
        f"model '{model}' does not use covariates 'age', 'x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6' and 2 more of the "
        "corpus; use a model with the block 'covariates', such as slda_covariates or dmr, or leave out covariates"
    )
    extended = {"name": "m", "extends": model, "blocks": {"x": {"block": "covariates"}, "y": {"features": ["z", "x"]}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pt.sample(extended, corpus_of(texts, labels, frame[["age"]]), draws=1, warmup=0, **QUICK)


def test_constant_and_duplicate_columns():
    texts, frame, effect, _ = simulated(200)
    frame = frame.assign(seven=7.0, again=frame.age)[["age", "again", "seven"]]
    corpus = corpus_of(texts, effect.tolist(), frame)
    with pytest.warns(pt.CovariateWarning, match="covariate 'seven' is constant; its coefficient follows its prior"):
        fit = pt.sample(GAUSSIAN, corpus, draws=300, warmup=50, **QUICK)
    eta = fit.posterior["eta"].isel(chain=0, response=0)
    # Of two equal columns the sum is known, and the difference has the distribution of the prior: sd sqrt(2).
    assert (eta.sel(coefficient="age") + eta.sel(coefficient="again")).mean() == pytest.approx(1.5, abs=0.2)
    difference = eta.sel(coefficient="age") - eta.sel(coefficient="again")
    assert float(difference.std()) == pytest.approx(np.sqrt(2.0), rel=0.25)
    # Independent draws: 300 of them give the standard deviation within a fifth, four times its error.
    assert float(eta.sel(coefficient="seven").std()) == pytest.approx(1.0, rel=0.2)
    assert np.isfinite(fit.predict(corpus, **FEW)).all()


def test_no_columns_at_all():
    texts, _, effect, _ = simulated(30)
    corpus = corpus_of(texts, effect.tolist(), np.zeros((30, 0)))
    fit = pt.sample(GAUSSIAN, corpus, draws=3, warmup=2, **QUICK)
    assert fit.posterior["coefficient"].values.tolist() == ["topic 0", "topic 1", "intercept"]
    assert np.isfinite(fit.predict(corpus, **FEW)).all()


@pytest.mark.slow
def test_thousands_of_categories(tmp_path):
    """5,000 one-hot columns of 500 documents: the kernel for few documents, and predictions after reading back."""
    rng = np.random.default_rng(4)
    texts, frame, effect, _ = simulated(500)
    frame = frame.assign(author=[f"a{number}" for number in range(500)])
    authors = pd.get_dummies(pd.Categorical(rng.integers(0, 5000, 500), range(5000)), dtype=float)
    wide = pt.Covariates.from_matrix(sparse.csr_array(authors.to_numpy()), [f"w{number}" for number in range(5000)])
    corpus = corpus_of(texts, effect.tolist(), wide)
    plan = pt.plan(GAUSSIAN, corpus, topics=2)
    assert "low_rank_normal" in str(plan)
    assert plan.forecast.sizes["F"] == 5002
    with warnings.catch_warnings():
        # Of 5,000 columns most are constant.
        warnings.simplefilter("ignore", pt.CovariateWarning)
        fit = pt.sample(GAUSSIAN, corpus, draws=4, warmup=2, **QUICK)
    fit.save(tmp_path / "wide.nc")
    assert np.array_equal(pt.load_fit(tmp_path / "wide.nc").predict(corpus, **FEW), fit.predict(corpus, **FEW))
    by_author = corpus_of(texts, effect.tolist(), frame)
    assert by_author.covariates.is_sparse
    fit = pt.sample(GAUSSIAN, by_author, draws=4, warmup=2, **QUICK)
    fit.save(tmp_path / "authors.nc")
    assert np.array_equal(pt.load_fit(tmp_path / "authors.nc").predict(by_author, **FEW), fit.predict(by_author, **FEW))


def test_sizes_count_covariates_where_the_model_has_them(gaussian):
    corpus, _ = gaussian
    sizes = CorpusSizes.of(corpus)
    used = sizes.for_model(pt.Model.of(load_spec(GAUSSIAN, {"topics": 7}))).formula_sizes(7)
    unused = sizes.for_model(pt.Model.of(load_spec("slda_gaussian", {"topics": 7}))).formula_sizes(7)
    some = sizes.for_model(pt.Model.of(load_spec(model_with(supervised_topics=3), {"topics": 7}))).formula_sizes(7)
    assert (used["F"], unused["F"], some["F"]) == (11, 7, 7)
    assert used["F_d"] == pytest.approx(unused["F_d"] + 4)


# Prediction


def test_new_documents_are_encoded_as_in_training(gaussian, tmp_path):
    fit = gaussian[1]
    texts, frame, effect, _ = simulated(50, seed=9)
    fit.save(tmp_path / "run.nc")
    loaded = pt.load_fit(tmp_path / "run.nc")
    new = corpus_of(texts, effect.tolist(), frame)
    expected = fit.predict(new, **FEW)
    assert fit.score(new, **FEW) > 0.8
    assert np.array_equal(loaded.predict(new, **FEW), expected)
    assert np.array_equal(loaded.predict(texts, covariates=frame, **FEW), expected)
    # Columns in another order, others beside them.
    shuffled = frame[["region", "age"]].assign(other=1.0)
    assert np.array_equal(loaded.predict(texts, covariates=shuffled, **FEW), expected)
    # Rows that lack a category: of empty documents, for their predictions do not depend on the others.
    part = np.flatnonzero(frame.region != "east")
    of_all = loaded.predict([""] * 50, covariates=frame, **FEW)
    assert np.array_equal(loaded.predict([""] * len(part), covariates=frame.iloc[part], **FEW), of_all[part])
    by_draw = loaded.predictive(texts, covariates=frame, **FEW)["score"]
    assert by_draw.shape == (1, 150, 50, 1)
    assert np.corrcoef(by_draw.mean(("chain", "draw")).values[:, 0], expected)[0, 1] > 0.95


def test_predictions_follow_the_coefficients(gaussian):
    _, fit = gaussian
    eta = means(fit)
    scaling = fit.groups["constant_data"][["covariate_mean", "covariate_scale"]].sel(covariate="age")
    rows = pd.DataFrame({"age": [30.0, 50.0], "region": ["north", "east"]})
    # Without words there is nothing else.
    found = fit.predict(["", ""], covariates=rows, **FEW)
    expected = eta["age"] * (rows.age - float(scaling["covariate_mean"])) / float(scaling["covariate_scale"])
    expected += eta["intercept"] + np.array([eta["region[north]"], eta["region[east]"]])
    assert np.allclose(found, expected)


def test_an_unseen_category_counts_as_none(gaussian):
    _, fit = gaussian
    rows = pd.DataFrame({"age": [40.0, 40.0], "region": ["south", "west"]})
    with pytest.warns(pt.CovariateWarning, match="'region': categories that training lacks, in 1 of 2 documents"):
        found = fit.predict(["", ""], covariates=rows, **FEW)
    assert found[1] - found[0] == pytest.approx(means(fit)["region[west]"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"age": [40.0]}, "have no column 'region', which the model was trained with; expected 'age', 'region'"),
        ({"age": ["old"], "region": ["west"]}, "covariate 'age' of document .* is 'old'; expected a finite number"),
        ({"age": [np.nan], "region": ["west"]}, "covariate 'age' .* is missing"),
    ],
)
def test_wrong_covariates_of_new_documents(gaussian, rows, message):
    _, fit = gaussian
    with pytest.raises(CorpusError, match=message):
        fit.predict(["goal"], covariates=pd.DataFrame(rows), **FEW)


# Command line


def test_covariates_on_the_command_line(tmp_path, capsys):
    for name, seed in (("train", 0), ("test", 5)):
        texts, frame, effect, _ = simulated(120, seed=seed)
        if name == "test":
            frame.loc[:1, "region"] = "south"
        table = frame.assign(text=texts, outcome=np.where(effect > 0, "high", "low"), year=2000)
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        table.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    quiet = ["--label-column", "outcome", "--threads", "1", "--json"]
    run = ["run", "slda_covariates", *quiet, "--data", str(tmp_path / "train.csv"), "--no-progress", "--seed", "1"]
    run += ["--set", "topics=2", "--draws", "30", "--warmup", "30", "--chains", "1"]
    columns = ["--covariates", "age,region", "--covariates", "year"]
    out = str(tmp_path / "run.nc")
    assert main([*run, *columns, "--test", str(tmp_path / "test.csv"), "--out", out]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["accuracy"] > 0.75
    assert "covariate 'year' is constant" in printed.err
    assert "'region': categories that training lacks, in 2 of 120 documents" in printed.err
    new = ["predict", out, *quiet, "--data", str(tmp_path / "test.jsonl")]
    assert main([*new, *columns]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.75
    assert main(new) == 2
    assert "no covariates, and the model has coefficients for age, region, year" in capsys.readouterr().err
    assert main([*run, "--out", str(tmp_path / "other.nc")]) == 2
    assert "needs covariates, and the corpus has none; name their columns" in capsys.readouterr().err
