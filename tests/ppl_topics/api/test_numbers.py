"""Numbers that have priors, from the model to the trace and back."""

import numpy as np
import pydantic
import pytest
from scipy import stats

import ppl_topics as pt
from ppl_topics.core.registry import _registry, unregister_kernel

GAMMA = {"block": "gamma", "shape": 6.0, "rate": 3.0}
INVERSE_GAMMA = {"block": "inverse_gamma", "shape": 3.0, "rate": 2.0}
MODEL = {
    "extends": "slda_counts",
    "name": "learned",
    "blocks": {"eta": {"variance": INVERSE_GAMMA}, "y": {"dispersion": "r"}, "r": GAMMA},
}
RUN = {"topics": 2, "draws": 12, "warmup": 5, "chains": 2, "seed": 3, "progress": False}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["red", "green", "blue", "grey"], 6)) for _ in range(30)]
    return pt.Corpus.from_texts(texts, labels=rng.poisson(3.0, 30).tolist(), label_kind="count")


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample(MODEL, corpus, **RUN)


def test_a_block_in_the_place_of_its_name_is_called_after_the_place():
    spec = pt.load_spec(MODEL)
    assert spec.blocks["eta"].variance == "eta_variance"
    assert spec.blocks["eta_variance"].shape == 3.0
    assert pt.load_spec(spec.to_yaml()).blocks == spec.blocks
    named = {**MODEL, "blocks": {**MODEL["blocks"], "eta": {"variance": "eta_variance"}, "eta_variance": INVERSE_GAMMA}}
    assert pt.Model.of(pt.load_spec(named)).variables == pt.Model.of(spec).variables
    learned = {"extends": "lda", "name": "learned", "blocks": {"theta": {"concentration": GAMMA}}}
    assert pt.Model.of(pt.load_spec(learned)).names["alpha"] == "theta_concentration"


MISTAKES = {
    "{block: beta, a: 1.0, b: 1.0}": "variance: 'eta_variance' is of kind 'beta', which cannot serve as variance",
    "sigma": "variance: 'sigma' is not a block of this model; add a block of kind gamma, half_cauchy, inverse_gamma",
    "-1.0": r"variance: must be greater than 0, got -1.0",
    "[1.0]": r"variance: expected a number or a string, got \[1.0\]",
    "{block: gamma, shape: 1.0, rate: 1.0, per: topic}": "the variance is one number; drop `per: topic`",
    "{block: inverse_gama, shape: 1.0, rate: 1.0}": "unknown block 'inverse_gama'; did you mean 'inverse_gamma'",
}


@pytest.mark.parametrize("value", MISTAKES)
def test_mistakes_name_their_place(value):
    text = f"extends: slda_gaussian\nblocks:\n  eta:\n    variance: {value}\n"
    with pytest.raises(pt.SpecError, match=rf"^<text>:4:\d+: .*{MISTAKES[value]}"):
        pt.Model.of(pt.load_spec(text))


def test_a_name_that_is_taken_is_refused():
    taken = {**MODEL, "blocks": {**MODEL["blocks"], "eta_variance": GAMMA}}
    with pytest.raises(pt.SpecError, match="the block under variance would be called 'eta_variance', as another block"):
        pt.load_spec(taken)


def test_a_number_without_a_kernel_is_refused_and_a_kernel_that_takes_it_for_fixed_too():
    @pt.block("planted_normal")
    class Planted(pt.CoefficientPrior):
        block: str = "planted_normal"
        references = {"spread": "positive"}  # noqa: RUF012
        spread: pt.PositiveNumber = pydantic.Field(default=1.0)

        def precision(self, state):
            raise NotImplementedError

    @pt.kernel("planted", updates="eta", reads=("z", "augmentation"), handles=("quadratic_response", "planted_normal"),
               exact=True)  # fmt: skip
    def planted(binding):
        raise NotImplementedError

    model = {"extends": "slda_gaussian", "name": "m", "blocks": {"eta": {"block": "planted_normal", "spread": GAMMA}}}
    try:
        with pytest.raises(pt.ScheduleError, match="no exact kernel can be chosen for eta_spread"):
            pt.plan(model)
        with pytest.raises(pt.ScheduleError, match=r"what it does with eta_spread.*'spread' under `reads`"):
            pt.plan({**model, "schedule": {"cycle": [{"eta": "planted"}]}})
    finally:
        unregister_kernel("planted")
        del _registry.blocks["planted_normal"]


def test_numbers_are_in_the_trace_and_in_the_log_posterior(fit, corpus):
    assert fit.posterior["eta_variance"].dims == fit.posterior["r"].dims == ("chain", "draw")
    assert np.ptp(fit.posterior["r"].values) > 0.0
    draw = fit.posterior.isel(chain=0, draw=-1)
    eta, variance, r = (draw[name].values for name in ("eta", "eta_variance", "r"))
    z = fit.groups["constant_data"]["z_last"].values[0]
    docs = np.repeat(np.arange(corpus.n_docs), np.diff(corpus.doc_ptr))
    counts = np.zeros((corpus.n_docs, 2))
    np.add.at(counts, (docs, z), 1.0)
    s = (counts / counts.sum(axis=1, keepdims=True)) @ eta[0]
    statistics = fit.groups["sample_stats"].isel(chain=0, draw=-1)
    of_labels = stats.nbinom.logpmf(corpus.labels.values, r, 1 / (1 + np.exp(s))).sum()
    assert float(statistics["log_likelihood_y"]) == pytest.approx(of_labels)
    prior = stats.norm.logpdf(eta, scale=np.sqrt(variance)).sum() + stats.gamma.logpdf(r, 6.0, scale=1 / 3.0)
    prior += stats.invgamma.logpdf(variance, 3.0, scale=2.0)
    assert float(statistics["lp"]) == pytest.approx(float(statistics["log_marginal"]) + of_labels + prior)


def test_predictions_use_the_numbers_of_each_draw(fit, corpus):
    predictive = fit.predictive(corpus, seed=1)
    r = fit.posterior["r"].values[:, :, None, None]
    np.testing.assert_allclose(predictive["expectation"], r * np.exp(predictive["score"]), rtol=1e-12)
    assert np.isfinite(fit.predict(corpus)).all()
    assert np.isfinite(fit.log_likelihood("labels", draws=4).to_array()).all()
    with pytest.raises(pt.TraceError, match="the trace does not hold r; run the model with record r: all"):
        pt.sample(MODEL, corpus, record={"r": "none"}, **RUN).predict(corpus)


def test_simulations_draw_numbers_from_their_priors():
    simulation = pt.simulate(MODEL, lengths=[5] * 4, topics=2, seed=1)
    assert {"eta_variance", "r"} <= set(simulation.values)
    draws = [float(pt.simulate(MODEL, lengths=[2], topics=2, seed=s).values["r"]) for s in range(20)]
    assert stats.kstest(draws, stats.gamma(6.0, scale=1 / 3.0).cdf).pvalue > 1e-6


def test_numbers_may_be_given_and_started(corpus):
    fixed = pt.sample(MODEL, corpus, given={"r": 2.5}, init={"eta_variance": 0.7}, **RUN)
    assert (fixed.posterior["r"] == 2.5).all() if "r" in fixed.posterior else True
    assert "slice_dispersion" not in str(fixed.posterior.attrs["schedule"])
    with pytest.raises(pt.PplTopicsError, match="the log posterior density is"):
        pt.sample(MODEL, corpus, init={"eta_variance": -1.0}, **RUN)


def test_the_graph_has_an_edge_from_the_number():
    graph = pt.graph(MODEL)
    parents = {factor.name: factor.parents for factor in graph.factors}
    assert parents["eta"] == ("eta_variance",)
    assert "r" in parents["y"]


def test_a_run_goes_on_with_its_numbers(tmp_path, fit, corpus):
    pt.sample(MODEL, corpus, **{**RUN, "draws": 6}, out=tmp_path / "run").posterior["r"].load()
    resumed = pt.resume(tmp_path / "run", draws=12, progress=False)
    for name in ("r", "eta_variance", "eta"):
        np.testing.assert_array_equal(resumed.posterior[name], fit.posterior[name])
