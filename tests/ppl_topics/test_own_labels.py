"""Labels of any density: blocks that derive from Block alone, with kernels of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from own_labels import COUNTS, LEVELS, SIZES, Y, register_levels, register_page

import ppl_topics as pt
from ppl_topics.core import registry
from ppl_topics.core.registry import blocks, kernels
from ppl_topics.errors import ScheduleError, SpecError, TraceError
from ppl_topics.schedule.assign import admissible
from ppl_topics.spec import Model, load_spec

TEXTS = ["good fine good", "bad poor", "fine fine", "poor bad bad"] * 5
HOW: dict[str, Any] = {"topics": 2, "draws": 20, "warmup": 60, "seed": 1, "progress": False}


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_registry", registry._Registry(blocks(), kernels(), loaded=True))
        register_page()
        register_levels()
        yield


@pytest.fixture(scope="module")
def corpus() -> pt.Corpus:
    return pt.Corpus.from_texts(TEXTS, labels=[9, 1, 8, 0] * 4 + [9, None, 8, 0], label_kind="count")


@pytest.fixture(scope="module")
def fit(corpus: pt.Corpus) -> pt.Fit:
    return pt.sample(COUNTS, corpus, chains=2, **HOW)


def test_only_kernels_that_handle_it_are_admitted() -> None:
    model = Model.of(load_spec(COUNTS))
    for name, own in (("z", "my_counts_z"), ("eta", "my_counts_eta")):
        steps, refused = admissible(model.variables[name], model)
        assert {step.kernel.name.removesuffix("_without_token").removesuffix("_without_prior") for step in steps} == {
            own
        }
        of_project = "collapsed_gibbs" if name == "z" else "joint_normal"
        assert f"does not handle the factor 'y' (my_counts) that touches {name}" in refused[of_project]
    plan = pt.plan(COUNTS)
    assert plan.exact
    assert "z: my_counts_z" in str(plan)


def test_a_kernel_that_leaves_the_labels_out_is_refused_by_name() -> None:
    schedule = {"cycle": [{"eta": "my_counts_eta"}, {"z": "collapsed_gibbs"}, {"phi": "dirichlet_rows"}]}
    with pytest.raises(
        ScheduleError, match=r"'collapsed_gibbs' does not handle the factor 'y' \(my_counts\).*my_counts_z"
    ):
        pt.plan(COUNTS | {"schedule": schedule})


def test_trace(fit: pt.Fit) -> None:
    assert fit.posterior["eta"].dims == ("chain", "draw", "response", "coefficient")
    assert fit.posterior["coefficient"].values.tolist() == ["topic 0", "topic 1"]
    statistics, eta = fit.groups["sample_stats"], fit.posterior["eta"]
    prior = -0.5 * (eta**2 + np.log(2 * np.pi)).sum(("response", "coefficient"))
    parts = statistics["log_marginal"] + statistics["log_likelihood_y"] + prior
    np.testing.assert_allclose(statistics["lp"], parts)
    assert fit.coefficients().shape[0] == 2
    assert fit.groups["observed_data"]["labels"].attrs["kind"] == "count"


def test_predictions(fit: pt.Fit, corpus: pt.Corpus) -> None:
    good, bad, empty = fit.predict(["fine good", "poor bad", ""])
    assert good > 4 > bad
    # Without topics the linear predictor is 0.
    assert empty == 1.0
    np.testing.assert_array_equal(fit.predict(corpus, threads=2), fit.predict(corpus, threads=1))
    for what in (fit.decision_function, fit.predictive, fit.predict_proba):
        with pytest.raises(TraceError, match=r"'my_counts' is no pt\.Response, so there are no linear predictors"):
            what(["good"])
    with pytest.raises(TraceError, match=r"is no pt\.Response"):
        fit.metrics(["good"], labels=[3])
    assert set(fit.prior_predictive(draws=2)) == {"words", "labels"}


def test_predictions_are_means_over_draws_of_the_coefficients(fit: pt.Fit) -> None:
    # A topic that is certain: linear predictors are its coefficients.
    word = fit.groups["constant_data"]["phi_mean"].sel(word="good").argmax("topic").values
    eta = fit.posterior["eta"].values[:, :, 0]
    mean = np.mean([np.exp(eta[chain, :, topic]).mean() for chain, topic in enumerate(word)])
    np.testing.assert_allclose(fit.predict(["good"], draws=2000), mean, rtol=0.1)


def test_simulation(corpus: pt.Corpus) -> None:
    simulation = pt.simulate(COUNTS, documents=4000, lengths=5, words=6, topics=2, given={"eta": [[0.0, 2.0]]}, seed=1)
    labels = simulation.corpus.labels
    assert labels is not None
    z = simulation.values["z"].values.reshape(-1, 5)
    found = [labels.values[z.sum(axis=1) == n].mean() for n in (0, 5)]
    # Standard errors of 0.5 % and 1.5 %: a false alarm in 10,000.
    np.testing.assert_allclose(found, np.exp([0.0, 2.0]), rtol=0.1)
    assert set(pt.simulate(LEVELS, documents=5, words=5, topics=2, seed=1).values) == {"theta", "phi", "z", "level"}


def test_variables_of_its_own_and_no_coefficients() -> None:
    corpus = pt.Corpus.from_texts(TEXTS[:8], labels=[2.0, -1.0, 1.5, -2.0] * 2, label_kind="real")
    fit = pt.sample(LEVELS, corpus, **HOW | {"draws": 5, "warmup": 5})
    assert fit.posterior["level"].dims == ("chain", "draw", "response")
    with pytest.raises(SpecError, match=r"'levels' predicts nothing .* it has no method `expected_targets`"):
        fit.predict(["good"])


def test_covariates_are_features() -> None:
    size = np.arange(len(TEXTS)) % 3.0
    frame = [{"size": value} for value in size]
    corpus = pt.Corpus.from_texts(TEXTS, labels=size.tolist(), label_kind="real", covariates=frame)
    fit = pt.sample(SIZES, corpus, **HOW | {"draws": 2, "warmup": 2})
    np.testing.assert_allclose(fit.predict(corpus), (size - size.mean()) / size.std(), rtol=1e-6)
    unused = LEVELS | {"blocks": {**SIZES["blocks"], "y": LEVELS["blocks"]["y"]}}
    with pytest.raises(SpecError, match=r"'x' \(covariates\): no block uses these features; add 'x' to .* of 'y'"):
        pt.plan(unused)


@pytest.mark.parametrize(
    ("model", "kernel"),
    [(COUNTS, "my_counts_eta_without_prior"), (LEVELS, "level_without_prior")],
    ids=["eta", "level"],
)
def test_a_planted_bug_is_refused(model: dict[str, Any], kernel: str) -> None:
    found = pt.verify(model, kernel=kernel, replicates=100, long_run=200)
    assert found.certificates[0].refused_by == "alone"


def test_what_cannot_be_drawn_cannot_be_verified() -> None:
    @pt.block("mute")
    class Mute(blocks()["my_counts"]):  # type: ignore[misc]
        __annotations__ = {"block": str}
        block = "mute"
        simulate = pt.Block.simulate

    model = COUNTS | {"blocks": {"y": Y | {"block": "mute"}}}
    for what in (pt.verify, pt.simulate):
        with pytest.raises(SpecError, match=r"'y' \(mute\) cannot be simulated: it has no method `simulate`"):
            what(model)


@pytest.mark.slow
@pytest.mark.parametrize("model", [COUNTS, LEVELS], ids=["counts", "levels"])
def test_certified(model: dict[str, Any]) -> None:
    found = {each.kernel: each for each in pt.verify(model, replicates=400, long_run=8000).certificates}
    own = {name: each for name, each in found.items() if "my_counts" in name or "level" in name}
    assert {name for name, each in own.items() if not each.certified} == {name for name in own if "without" in name}
    assert found["schedule"].certified
