"""Topics that depend on covariates: what is found, predicted, stored and refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import ppl_topics as pt
from ppl_topics.cli.entry import main
from ppl_topics.engine.bind import bind
from ppl_topics.errors import CorpusError, SpecError, TraceError
from ppl_topics.results.documents import document_topics
from ppl_topics.schedule import make_plan
from ppl_topics.schedule.costs import CorpusSizes

# Some of the new documents have no word that was seen in training.
pytestmark = pytest.mark.filterwarnings("ignore::ppl_topics.UnknownWordsWarning")

HOW = {"topics": 2, "beta": 0.1, "draws": 60, "warmup": 60, "chains": 1, "seed": 1, "progress": False}


def pages(documents=60, **labels):
    """Pages of two kinds, of which one is about sport in three of four words; their age says nothing."""
    rng = np.random.default_rng(1)
    sport = np.arange(documents) % 2 == 0
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 5, 8) + 5 * (rng.random(8) < 0.25 + 0.5 * s)) for s in sport]
    frame = pd.DataFrame({"page": np.where(sport, "sport", "politics"), "age": rng.normal(40.0, 10.0, documents)})
    return pt.Corpus.from_texts(texts, covariates=frame, **labels)


@pytest.fixture(scope="module")
def fit():
    return pt.sample("dmr", pages(), **HOW, debug=True)


def of_sport(fit):
    """The number of the topic of words from w5 on."""
    return int(fit.groups["constant_data"]["phi_mean"][0].sel(word=["w7", "w8"]).sum("word").values.argmax())


def test_the_covariate_that_matters_is_found(fit):
    gamma = fit.posterior["gamma"][0].sel(topic=of_sport(fit)) - fit.posterior["gamma"][0].sel(topic=1 - of_sport(fit))
    assert gamma.dims == ("draw", "prevalence")
    assert gamma["prevalence"].values.tolist() == ["page[politics]", "page[sport]", "age", "intercept"]
    difference = gamma.sel(prevalence="page[sport]") - gamma.sel(prevalence="page[politics]")
    assert (difference > 0.0).mean() > 0.99
    low, high = gamma.sel(prevalence="age").quantile([0.01, 0.99])
    assert low < 0.0 < high


def test_a_table_of_the_shares(fit):
    draws, topic = fit.prevalence("page").isel(chain=0), of_sport(fit)
    table = fit.prevalence_table("page", probability=0.8)
    assert table.columns.tolist() == ["topic", "value", "share", "low", "high", "words"]
    assert table["value"].tolist() == ["politics", "sport"] * 2
    row = table[(table["topic"] == topic) & (table["value"] == "sport")].iloc[0]
    of_row = draws.sel(page="sport", topic=topic)
    assert (row["share"], row["low"], row["high"]) == pytest.approx(
        (of_row.mean().item(), *of_row.quantile([0.1, 0.9]).values)
    )
    changes = fit.prevalence_table("page", ["politics", "sport"], difference=True)
    assert changes["topic"].tolist() == [topic, 1 - topic]
    between = draws.sel(page="sport", topic=topic) - draws.sel(page="politics", topic=topic)
    assert changes["difference"].values == pytest.approx([between.mean().item(), -between.mean().item()])
    assert changes["low"].iloc[0] > 0.0
    with pytest.raises(TraceError, match="difference: needs two values of 'age', and there are 9; name two"):
        fit.prevalence_table("age", difference=True)


def test_shares_far_from_the_data_are_finite(fit):
    shares = fit.prevalence("age", [-1e6, 1e6])
    np.testing.assert_allclose(shares.sum("topic"), 1.0)
    for values in ([], "30"):
        with pytest.raises(TraceError, match="values: expected a list of values of 'age'"):
            fit.prevalence("age", values)


def test_the_command_prints_the_table_and_writes_the_figure(fit, tmp_path, capsys):
    fit.save(tmp_path / "a.nc")
    run, figure = str(tmp_path / "a.nc"), tmp_path / "a.svg"
    assert main(["prevalence", run, "page", "--plot", str(figure)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("page: expected shares, chain 0, 95% intervals\n")
    assert figure.is_file()
    assert main(["prevalence", run, "age", "--values", "30, 50", "--difference", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["topics"]) == 2
    assert main(["prevalence", run, "pagee"]) == 2
    assert "'pagee' is no covariate of the model; did you mean 'page'?" in capsys.readouterr().err


def test_shares_at_values_of_a_covariate(fit):
    shares = fit.prevalence("page").isel(chain=0).sel(topic=of_sport(fit))
    assert abs(float(shares.sel(page="sport").mean()) - 0.75) < 0.1
    assert abs(float(shares.sel(page="politics").mean()) - 0.25) < 0.1
    by_age = fit.prevalence("age", [30, 50])
    assert (by_age.dims, by_age.shape) == (("chain", "draw", "age", "topic"), (1, 60, 2, 2))
    np.testing.assert_allclose(by_age.sum("topic"), 1.0)
    assert len(fit.prevalence("age")["age"]) == 9
    # By hand, of the first draw: each document with its own age, and the page that is asked for.
    features = features_of(pages())
    features[:, :2] = [0.0, 1.0]
    alpha = np.exp(features @ fit.posterior["gamma"][0, 0].values.T)
    np.testing.assert_allclose(
        fit.prevalence("page", ["sport"])[0, 0, 0], (alpha / alpha.sum(axis=1, keepdims=True)).mean(axis=0)
    )


def test_new_documents_have_the_topics_that_their_covariates_say(fit):
    page = [{"page": "sport", "age": 40.0}, {"page": "politics", "age": 40.0}]
    theta = fit.transform(["unseen words", "unseen words"], covariates=page)
    assert theta[0, of_sport(fit)] > 0.6 > 0.4 > theta[1, of_sport(fit)]
    new = pages(20)
    right, wrong = (fit.held_out(each, seed=1).log_likelihood for each in (new, new.with_covariates(page[::-1] * 10)))
    assert right > wrong
    with pytest.raises(CorpusError, match="no covariates, and the model has coefficients for page, age"):
        fit.transform(["unseen words"])


def features_of(corpus):
    """The covariates as the model has them: the column of numbers standardised, and a 1."""
    frame = corpus.covariates.toarray().copy()
    frame[:, 2] = (frame[:, 2] - frame[:, 2].mean()) / frame[:, 2].std()
    return np.column_stack([frame, np.ones(len(frame))])


def test_what_a_fit_says_of_its_own_documents(tmp_path):
    corpus = pages(20)
    fit = pt.sample("dmr", corpus, **HOW | {"record": {"phi": "all", "theta": "none"}})
    alpha = np.exp(features_of(corpus) @ fit.posterior["gamma"][0, -1].values.T)
    z = fit.groups["constant_data"]["z_last"][0].values.reshape(20, 8)
    n_dk = np.stack([np.bincount(row, minlength=2) for row in z])
    expected = (n_dk + alpha) / (8 + alpha.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(document_topics(fit.groups, estimate="z_last").theta, expected)
    assert np.isfinite(fit.log_likelihood(draws=5)["words"]).all()
    assert set(fit.posterior_predictive(draws=3)) == set(fit.prior_predictive(draws=3)) == {"words"}
    fit.report(tmp_path / "page.html")
    fit.plot_topic_correlations()


def test_covariates_above_and_labels_below():
    corpus = pages(labels=["a", "b"] * 30)
    spec = {
        "name": "both_sides",
        "extends": "dmr_supervised",
        "blocks": {"y": {"features": ["z", "x"]}},
    }
    for model in ("dmr_supervised", spec):
        fit = pt.sample(model, corpus, **HOW, debug=True)
        assert fit.metrics(corpus)["accuracy"] > 0.8
        assert fit.prevalence("page").sizes["page"] == 2
    assert "page[sport]" in fit.coefficients()["coefficient"].tolist()


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"gamma": {"per": "response"}}, "as the prior of the coefficients of concentrations, it must be `per: topic`"),
        ({"gamma": {"variance": {"block": "half_cauchy"}}}, "the variance of the coefficients of concentrations must"),
        ({"gamma": {"block": "horseshoe"}}, "it must be `per: topic`"),
        ({"theta": {"features": []}}, "at least 1"),
    ],
)
def test_models_that_make_no_sense_are_refused(blocks, message):
    with pytest.raises(SpecError, match=message):
        pt.plan({"name": "m", "extends": "dmr", "blocks": blocks}, pages())


def test_a_response_with_coefficients_of_topics_is_refused():
    with pytest.raises(SpecError, match="as the prior of the coefficients of responses, it must be `per: response`"):
        pt.plan({"name": "m", "extends": "slda_gaussian", "blocks": {"eta": {"per": "topic"}}})


def test_what_needs_one_concentration_for_all_documents_says_so(fit, tmp_path):
    with pytest.raises(TraceError, match="MALLET's state has one for all"):
        fit.export("state", tmp_path / "state.gz")
    fit.export("json", tmp_path / "model.json")
    with pytest.raises(TraceError, match="'pages' is no covariate of the model; did you mean 'page'"):
        fit.prevalence("pages")
    with pytest.raises(TraceError, match="'sports' is no category of 'page'; did you mean 'sport'"):
        fit.prevalence("page", ["sports"])
    with pytest.raises(TraceError, match="'age' has numbers"):
        fit.prevalence("age", ["old"])
    plain = pt.sample("lda", pages().with_covariates(None), **HOW | {"draws": 2, "warmup": 1})
    with pytest.raises(TraceError, match="the topics of model 'lda' do not depend on covariates"):
        plain.prevalence("page")


def test_a_corpus_without_covariates_is_refused():
    with pytest.raises(CorpusError, match=r"block 'x' \(covariates\) of model 'dmr' needs covariates"):
        pt.sample("dmr", pt.Corpus.from_texts(["red green", "blue"]), **HOW)


def test_topics_over_time():
    """Sport grows from year to year."""
    rng = np.random.default_rng(2)
    year = np.repeat(np.arange(8), 12)
    share = np.linspace(0.1, 0.9, 8)[year]
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 5, 8) + 5 * (rng.random(8) < s)) for s in share]
    rows = [{"year": str(2000 + y)} for y in year]
    fit = pt.sample("dmr_time", pt.Corpus.from_texts(texts, covariates=rows), **HOW)
    shares = fit.prevalence("year").isel(chain=0).sel(topic=of_sport(fit)).mean("draw")
    assert shares["year"].values.tolist() == [str(2000 + y) for y in range(8)]
    assert np.abs(shares - np.linspace(0.1, 0.9, 8)).max() < 0.15
    assert float(shares.diff("year").min()) > -0.1


def test_a_walk_needs_categories():
    with pytest.raises(SpecError, match=r"block 'gamma' \(random_walk\): over: 'age' is a column of numbers"):
        pt.sample("dmr_time", pages(), over="age", **HOW)
    with pytest.raises(SpecError, match="as the prior of the coefficients of responses"):
        pt.plan({"name": "m", "extends": "slda_gaussian", "blocks": {"eta": {"block": "random_walk", "over": "year"}}})


def test_the_density_of_a_walk_is_that_of_its_steps():
    corpus = pages()
    spec = pt.load_spec("dmr_time", {"over": "page", "topics": 2, "step_variance": 0.3, "variance": 2.0})
    bound = bind(make_plan(spec), corpus)
    state, block = bound.initial_state(1, 0), spec.blocks["gamma"]
    gamma = np.array([[0.5, 1.5, -1.0, 2.0], [0.0, -0.4, 0.3, 1.0]])
    expected = 0.0
    for first, second, age, intercept in gamma:
        steps = [(first, 2.0), (second - first, 0.3), (age, 2.0), (intercept, 10.0)]
        expected += sum(norm.logpdf(value, scale=np.sqrt(variance)) for value, variance in steps)
    assert block.log_density(gamma, state) == pytest.approx(expected)
    draws = block.scaled(np.random.default_rng(1).normal(size=(100_000, 2, 4)), state)
    variances = [2.0, 2.3, 2.0, 10.0]
    np.testing.assert_allclose(draws.var(axis=0), [variances] * 2, rtol=0.03)
    np.testing.assert_allclose(np.cov(draws[:, 0, 0], draws[:, 0, 1])[0, 1], 2.0, rtol=0.03)


def test_held_out_documents_on_the_command_line_need_the_covariates(tmp_path, capsys):
    corpus, run = pages(40), str(tmp_path / "run.nc")
    fit = pt.sample("dmr", corpus, **HOW)
    fit.save(run)
    # Categories in another order, and a number less than standardised: encoded as in training.
    rows = [{"text": "w7 w8 w9", "page": "sport", "age": 40.0}, {"text": "w1 w2", "page": "politics", "age": 50.0}]
    pd.DataFrame(rows).to_csv(tmp_path / "new.csv", index=False)
    command = ["held-out", run, "--data", str(tmp_path / "new.csv"), "--seed", "1", "--json"]
    assert main([*command, "--covariates", "age,page"]) == 0
    covariates = [{key: row[key] for key in ("page", "age")} for row in rows]
    new = pt.Corpus.from_texts([row["text"] for row in rows], covariates=covariates)
    assert json.loads(capsys.readouterr().out)["log_likelihood"] == fit.held_out(new, seed=1).log_likelihood
    assert main(command) == 2
    assert "new.csv: the documents have no covariates" in capsys.readouterr().err


OF_FORMULA = "page * poly(age, 2)"


@pytest.fixture(scope="module")
def of_formula():
    return pt.sample("dmr", pages(), prevalence=OF_FORMULA, **HOW)


def test_a_formula_of_columns_draws_what_the_columns_draw():
    corpus = pages().with_covariates(pd.DataFrame(pages().covariates.toarray()[:, 1:], columns=["a", "b"]))
    columns, formula = (pt.sample("dmr", corpus, **HOW | given) for given in ({}, {"prevalence": "a + b"}))
    np.testing.assert_array_equal(columns.posterior["gamma"], formula.posterior["gamma"])


def test_a_formula_names_its_coefficients_and_serves_new_documents(of_formula, tmp_path):
    interaction = [f"page[T.sport]:poly(age, 2)[{i}]" for i in (1, 2)]
    names = ["page[T.sport]", "poly(age, 2)[1]", "poly(age, 2)[2]", *interaction, "intercept"]
    assert of_formula.posterior["prevalence"].values.tolist() == names
    topic = of_sport(of_formula)
    shares = of_formula.prevalence("page").isel(chain=0).sel(topic=topic).mean("draw")
    assert shares.sel(page="sport") > 0.6 > 0.4 > shares.sel(page="politics")
    page = [{"page": "sport", "age": 40.0}, {"page": "politics", "age": 40.0}]
    theta = of_formula.transform(["unseen words"] * 2, covariates=page)
    assert theta[0, topic] > 0.6 > 0.4 > theta[1, topic]
    # What a formula takes from data is that of training, in a file too, whatever the new documents are.
    of_formula.save(tmp_path / "a.nc")
    loaded = pt.load_fit(tmp_path / "a.nc")
    np.testing.assert_array_equal(loaded.transform(["unseen words"] * 2, covariates=page), theta)
    np.testing.assert_allclose(loaded.prevalence("age", [35, 45]), of_formula.prevalence("age", [35, 45]))
    with pytest.raises(CorpusError, match="the covariates have no column 'age'"):
        loaded.transform(["unseen words"], covariates=[{"page": "sport"}])


def test_what_a_fit_with_a_formula_says_of_its_own_documents(of_formula):
    corpus = pages()
    design = bind(make_plan(pt.load_spec("dmr", {"topics": 2, "prevalence": OF_FORMULA})), corpus).prevalence.design
    gamma = of_formula.posterior["gamma"][0, -1].values
    z = of_formula.groups["constant_data"]["z_last"][0].values.reshape(60, 8)
    n_dk = np.stack([np.bincount(row, minlength=2) for row in z])
    alpha = np.exp(design.toarray() @ gamma.T)
    theta = document_topics(of_formula.groups, estimate="z_last").theta
    np.testing.assert_allclose(theta, (n_dk + alpha) / (8 + alpha.sum(axis=1, keepdims=True)), rtol=1e-5)


def test_formulas_are_refused_where_they_stand(tmp_path):
    for text, message in (
        ("page * agee", "formula 'page * agee': the covariates have no column 'agee'; did you mean 'age'?"),
        ("poly(page, 2)", "poly(page, 2) needs numbers, and 'page' is a column of categories"),
    ):
        with pytest.raises(CorpusError) as caught:
            pt.sample("dmr", pages(), **HOW, prevalence=text)
        assert message in str(caught.value)
    with pytest.raises(SpecError, match=r"argument prevalence: block 'x' \(covariates\): formula: 'exit' in a formula"):
        pt.sample("dmr", pages(), **HOW, prevalence="{exit()}")
    of_age = pt.sample("dmr", pages(), **HOW | {"draws": 2, "warmup": 2}, prevalence="age")
    with pytest.raises(TraceError, match="'page' is no covariate of the model"):
        of_age.prevalence("page")


def test_a_formula_in_a_model_and_its_memory():
    model = {
        "extends": "slda_gaussian",
        "name": "both",
        "blocks": {
            "x": {"block": "covariates", "formula": "bs(age, 4)"},
            "y": {"features": ["z", "x"], "intercept": True},
        },
    }
    corpus = pages(label_kind="real", labels=np.arange(60.0))
    fit = pt.sample(model, corpus, **HOW)
    assert fit.posterior["coefficient"].values.tolist()[2:] == [*(f"bs(age, 4)[{i}]" for i in range(1, 5)), "intercept"]
    assert fit.predict(corpus).shape == (60,)
    plan = make_plan(pt.load_spec(model, {"topics": 2}), CorpusSizes.of(corpus))
    assert CorpusSizes.of(corpus).for_model(plan.model).coefficients(2) == 2 + 4


def test_numbers_that_are_categories_walk_in_their_order():
    """Years as numbers, by a formula, draw what the same categories draw."""
    years = np.arange(60) % 4 * 10 + 1980
    how = HOW | {"draws": 5, "warmup": 5}
    of_text = pt.sample("dmr_time", pages().with_covariates(pd.DataFrame({"year": years.astype(str)})), **how)
    of_numbers = pages().with_covariates(pd.DataFrame({"year": years}))
    fit = pt.sample("dmr_time", of_numbers, prevalence="0 + C(year)", over="C(year)", **how)
    assert fit.posterior["prevalence"].values.tolist()[:2] == ["C(year)[1980]", "C(year)[1990]"]
    np.testing.assert_array_equal(fit.posterior["gamma"], of_text.posterior["gamma"])
    assert fit.prevalence("year", [1980, 2010]).shape == (1, 5, 2, 2)
    with pytest.raises(SpecError, match=r"over: 'year' is a column of numbers; make categories of them .*C\(year\)"):
        pt.sample("dmr_time", of_numbers, **how)


def test_interactions_with_categories_do_not_walk():
    walk = pt.blocks()["random_walk"](per="topic", over="page")
    names = ("page[a]", "page[b]", "age", "page[a]:age", "age:page[b]", "intercept")
    assert walk._categories(names).tolist() == [0, 1]
