"""The effective number of coefficients: against its definition in plain NumPy, and against what posteriors show."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, log_expit

import ppl_topics as pt
from ppl_topics.diagnostics.tables import effective_coefficients, reading_summary
from ppl_topics.diagnostics.tables.effective_coefficients import mean_curvature

K = 3
HORSESHOE = {"name": "gaussian_horseshoe", "extends": "slda_gaussian", "blocks": {"eta": {"block": "horseshoe"}}}
HOW = {"topics": K, "warmup": 5, "draws": 12, "seed": 1, "threads": 1, "progress": False}
D = 12


def corpus_of(labels, kind=None):
    """Documents of two tokens, but for an empty one, the last."""
    rng = np.random.default_rng(2)
    tokens = [[f"w{i}" for i in rng.integers(0, 6, 2)] for _ in range(D - 1)]
    return pt.Corpus.from_tokens([*tokens, []], labels=pt.Labels.infer(labels, kind))


NUMBERS = np.linspace(-2.0, 3.0, D)
NUMBERS[4] = np.nan
CLASSES = list("abcabcabcabc")


def pure(fit):
    """The groups of a fit, with the documents of the last state each of one topic; and the features, shape (D, K)."""
    topics = np.repeat(np.arange(D - 1) % K, 2)
    constants = fit.groups["constant_data"]
    z = constants["z_last"].copy(data=np.broadcast_to(topics, constants["z_last"].shape))
    shares = np.zeros((D, K))
    shares[np.arange(D - 1), np.arange(D - 1) % K] = 1.0
    return {**fit.groups, "constant_data": constants.assign(z_last=z)}, shares


def expected(shares, curvature, precision, intercept=False):
    """The definition, for one response: curvature (D,), precision (draws, K)."""
    mean = (curvature @ shares) / curvature.sum() if intercept else 0.0
    told = curvature @ (shares - mean) ** 2
    return (1.0 - 1.0 / (1.0 + told / precision)).sum(axis=-1)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_definition_under_a_horseshoe(intercept):
    model = {**HORSESHOE, "blocks": {**HORSESHOE["blocks"], "y": {"intercept": intercept}}}
    groups, shares = pure(pt.sample(model, corpus_of(NUMBERS, "real"), chains=2, **HOW))
    posterior = groups["posterior"].sel(chain=1, response="y")
    curvature = (1.0 / posterior["sigma2"]).mean().item() * ~np.isnan(NUMBERS)
    precision = (posterior["tau"] * posterior["lambda"]).transpose("draw", "slope").values ** -2.0
    number = expected(shares, curvature, precision, intercept)
    (row,) = effective_coefficients(groups, chain=1, probability=0.5).to_dict("records")
    assert (row["response"], row["coefficients"]) == ("y", K)
    np.testing.assert_allclose(row["effective"], number.mean(), rtol=1e-10)
    np.testing.assert_allclose([row["low"], row["high"]], np.quantile(number, [0.25, 0.75]), rtol=1e-10)
    assert row["low"] < row["high"]


def test_without_correlation_it_is_the_trace_of_the_hat_matrix():
    fit = pt.sample("slda_gaussian", corpus_of(NUMBERS, "real"), chains=1, variance=0.7, **HOW)
    groups, shares = pure(fit)
    omega = (1.0 / groups["posterior"]["sigma2"]).mean().item()
    known = shares[~np.isnan(NUMBERS)]
    gram = omega * known.T @ known
    trace = np.trace(np.linalg.solve(gram + np.eye(K) / 0.7, gram))
    (row,) = effective_coefficients(groups).to_dict("records")
    assert row["effective"] == pytest.approx(trace, rel=1e-10)
    # Nothing of it varies from draw to draw under a normal prior.
    assert row["low"] == pytest.approx(row["high"], rel=1e-10)


def test_it_is_what_the_data_take_from_the_prior_variance():
    # Documents of one topic each: coefficients are independent, and their posterior can be drawn from a grid. Then
    # Var(eta_j) = kappa_j v nearly, so sum_j (1 - Var(eta_j) / v) is the effective number.
    rng = np.random.default_rng(4)
    fit = pt.sample("slda_logistic", corpus_of(list("ababbaababab")), chains=1, variance=4.0, c=5.0, **HOW)
    groups, shares = pure(fit)
    y = np.array([name == "b" for name in "ababbaababab"])
    grid = np.linspace(-12, 12, 4001)
    draws = np.empty((HOW["draws"] * 100, K))
    for k in range(K):
        of = y[shares[:, k] > 0]
        log_density = stats.norm.logpdf(grid, scale=2.0) + 5.0 * (
            of.sum() * log_expit(grid) + (~of).sum() * log_expit(-grid)
        )
        weights = np.exp(log_density - log_density.max())
        draws[:, k] = rng.choice(grid, len(draws), p=weights / weights.sum())
    posterior = groups["posterior"].drop_dims("draw")
    posterior["eta"] = (("chain", "draw", "response", "coefficient"), draws[None, :, None])
    posterior = posterior.assign_coords(groups["posterior"][["response", "coefficient"]].coords)
    number = effective_coefficients({**groups, "posterior": posterior})["effective"].item()
    # 50 of the draws are looked at; the standard error of the number over them is about 0.03.
    assert number == pytest.approx((1.0 - draws.var(axis=0) / 4.0).sum(), abs=0.15)


def test_curvature_of_smooth_and_of_kinked_losses():
    rng = np.random.default_rng(5)
    mean, sd = np.array([[0.3, -2.0, 1.5]]), np.array([[1.2, 0.5, 0.8]])
    draws = mean + sd * rng.normal(size=(20_000, 1, 3))

    def logistic(s):
        return 3.0 * log_expit(s)

    at = mean + sd * np.linspace(-8, 8, 4001)[:, None, None]
    weights = stats.norm.pdf(np.linspace(-8, 8, 4001))
    p = expit(at)
    exact = 3.0 * (weights[:, None, None] * p * (1 - p)).sum(axis=0) / weights.sum()
    np.testing.assert_allclose(mean_curvature(logistic, draws), exact, rtol=0.05)

    # The hinge has all its curvature at the margin: 2 cost times the density of s there.
    def hinge(s):
        return -2.0 * 1.5 * np.maximum(0.0, 1.0 - s)

    exact = 3.0 * stats.norm.pdf(1.0, mean, sd)
    np.testing.assert_allclose(mean_curvature(hinge, draws)[:, [0, 2]], exact[:, [0, 2]], rtol=0.05)
    # That of a square is the same everywhere, however few draws; and where they are all equal it is taken there.
    np.testing.assert_allclose(mean_curvature(lambda s: -2.0 * s**2, draws[:2]), 4.0, rtol=1e-6)
    one = mean_curvature(logistic, draws[:1])
    np.testing.assert_allclose(one, 3.0 * expit(draws[0]) * (1 - expit(draws[0])), rtol=1e-3)
    np.testing.assert_allclose(mean_curvature(logistic, [draws[0]] * 5), one, rtol=1e-5)


MODELS = {
    # With a margin that is never reached a hinge has no curvature.
    "medlda": (CLASSES, {"margin": 1.0}),
    "medlda_one_vs_all": (CLASSES, {"margin": 1.0}),
    "medlda_regression": (NUMBERS, {}),
    "slda_counts": (np.arange(D), {}),
    "slda_gaussian": (NUMBERS, {}),
}


@pytest.mark.parametrize("model", MODELS)
def test_every_response_has_a_number_between_none_and_all(model):
    labels, parameters = MODELS[model]
    kind = None if labels is CLASSES else "count" if model == "slda_counts" else "real"
    groups = pt.sample(model, corpus_of(labels, kind), chains=1, **parameters, **HOW).groups
    table = effective_coefficients(groups)
    assert table["response"].tolist() == groups["posterior"]["response"].values.tolist()
    assert ((table["effective"] > 0) & (table["effective"] < K)).all()
    name = table["response"].iloc[-1]
    one = effective_coefficients(groups, response=name)
    assert one.to_dict("records") == [table.to_dict("records")[-1]]
    what = reading_summary(groups)
    assert what["effective_coefficients"] == [pytest.approx(table["effective"].sum())]
    assert what["slopes"] == K * len(table)


def test_each_response_by_its_own_topics():
    fit = pt.sample("medlda_one_vs_all", corpus_of(CLASSES), chains=1, **HOW)
    groups, _ = pure(fit)
    before = effective_coefficients(groups)
    # All tokens of the model of `b` in its topic 0: the data say nothing of its other two.
    constants = groups["constant_data"]
    z = constants["z_last"].copy()
    z.loc[{"response": "b"}] = 0
    after = effective_coefficients({**groups, "constant_data": constants.assign(z_last=z)})
    assert after["effective"].tolist()[::2] == before["effective"].tolist()[::2]
    assert after["effective"][1] < 1


def test_scales_at_their_limits():
    groups = pt.sample(HORSESHOE, corpus_of(NUMBERS, "real"), chains=1, **HOW).groups
    for scale, number in ((1e-50, 0.0), (1e50, 3.0)):
        posterior = groups["posterior"].assign({"tau": groups["posterior"]["tau"] * 0 + scale})
        found = effective_coefficients({**groups, "posterior": posterior})["effective"].item()
        assert found == pytest.approx(number, abs=1e-12)


def test_topics_without_coefficients_are_left_out():
    blocks = {**HORSESHOE["blocks"], "y": {"supervised_topics": 1, "intercept": True}}
    fit = pt.sample({**HORSESHOE, "blocks": blocks}, corpus_of(NUMBERS, "real"), chains=1, **HOW)
    groups, shares = pure(fit)
    posterior = groups["posterior"].sel(chain=0, response="y")
    curvature = (1.0 / posterior["sigma2"]).mean().item() * ~np.isnan(NUMBERS)
    precision = (posterior["tau"] * posterior["lambda"]).transpose("draw", "slope").values ** -2.0
    (row,) = effective_coefficients(groups).to_dict("records")
    assert row["coefficients"] == 1
    assert row["effective"] == pytest.approx(expected(shares[:, :1], curvature, precision, intercept=True).mean())
    assert fit.topic_relevance()["topic"].tolist() == [0]
    assert fit.coefficients()["coefficient"].tolist() == ["topic 0", "intercept"]


@pytest.mark.filterwarnings("ignore:covariate 'flat' is constant")
def test_covariates_count_with_the_scale_that_the_model_gives_them():
    rng = np.random.default_rng(6)
    age, flat = rng.normal(40.0, 10.0, size=D), np.full(D, 7.0)
    corpus = corpus_of(NUMBERS, "real")
    corpus = pt.Corpus(
        corpus.doc_ptr,
        corpus.words,
        corpus.vocabulary,
        labels=corpus.labels,
        covariates=pt.Covariates.from_matrix(np.column_stack([age, flat]), names=["age", "flat"]),
    )
    blocks = {"x": {"block": "covariates", "observed": "covariates"}, "y": {"features": ["z", "x"], "intercept": True}}
    fit = pt.sample({"name": "m", "extends": "slda_gaussian", "blocks": blocks}, corpus, chains=1, variance=0.3, **HOW)
    groups, shares = pure(fit)
    known = ~np.isnan(NUMBERS)
    omega = (1.0 / groups["posterior"]["sigma2"]).mean().item() * known
    features = np.column_stack([shares, (age - age.mean()) / age.std(), np.zeros(D)])
    (row,) = effective_coefficients(groups).to_dict("records")
    assert row["coefficients"] == K + 2
    precision = np.full((1, K + 2), 1.0 / 0.3)
    assert row["effective"] == pytest.approx(expected(features, omega, precision, intercept=True).item(), rel=1e-10)
    # Tables name them, and leave them without words; signal is said of topics alone.
    table = fit.coefficients()
    assert set(table.loc[table["topic"].isna(), "coefficient"]) == {"age", "flat", "intercept"}
    assert len(fit.signal_topics()) == K
    constants = groups["constant_data"].drop_vars("covariates")
    with pytest.raises(pt.TraceError, match="does not hold the covariates"):
        effective_coefficients({**groups, "constant_data": constants})


def test_what_was_not_recorded_is_named():
    groups = pt.sample(HORSESHOE, corpus_of(NUMBERS, "real"), chains=1, **HOW).groups
    for name in ("sigma2", "tau", "lambda"):
        without = {**groups, "posterior": groups["posterior"].drop_vars(name)}
        with pytest.raises(pt.TraceError, match=f"does not hold {name}; run the model with record {name}: all"):
            effective_coefficients(without)
        assert "effective_coefficients" not in reading_summary(without)
        assert "signal_topics" in reading_summary(without)
    for group, name, message in (
        ("constant_data", "z_last", "holds no `z_last`"),
        ("constant_data", "doc_length", "holds no `doc_length`"),
        ("observed_data", "labels", "lacks `labels`"),
    ):
        without = {**groups, group: groups[group].drop_vars(name)}
        with pytest.raises(pt.TraceError, match=message):
            effective_coefficients(without)
    with pytest.raises(pt.TraceError, match="no response 'z'"):
        effective_coefficients(groups, response="z")
