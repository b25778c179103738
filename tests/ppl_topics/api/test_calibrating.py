"""Right runs are calibrated; bugs that are planted in a prior, a start, a warm-up or a kernel are seen.

A right model is refused with probability 0.01 at most, by its seed here never.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from shipped_calibration import LENGTH, LONGER, MODELS, SIZES, arguments, calibrate

import ppl_topics as pt
from ppl_topics.api import calibrating
from ppl_topics.api.calibrating import ranks_of
from ppl_topics.core import registry
from ppl_topics.engine.bind import BoundModel
from ppl_topics.errors import StoppedError
from ppl_topics.models.dirichlet import Dirichlet

LDA = SIZES
FAST = {"replicates": 60, "draws": 60, "warmup": 40, "seed": 1, "progress": False}


@pytest.fixture
def own_registry(monkeypatch):
    known = registry._Registry(pt.blocks(), pt.kernels(), loaded=True)
    monkeypatch.setattr(registry, "_registry", known)


@pytest.mark.parametrize("model", ["lda", "slda_multinomial"])
def test_right_models_pass(model):
    result = pt.calibrate(model, **arguments(model), **FAST)
    assert result.passed, str(result)
    assert result.values["kept"].median() > 10
    assert ((result.values["rank"] >= 0) & (result.values["rank"] <= result.values["kept"])).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", [model for model in MODELS if model not in LONGER])
def test_models_pass_at_length(model):
    """With a third of the replicates of the table in docs/simulation.md."""
    result = calibrate(model, replicates=50)
    assert result.passed, str(result)


def planted_prior():
    @pt.block("planted_dirichlet")
    class Planted(Dirichlet):
        """Simulated with a concentration that is four times what kernels take it for."""

        handled_as = frozenset({"dirichlet"})
        block: Literal["planted_dirichlet"] = "planted_dirichlet"

        def simulate(self, role, values, state, rng):
            return super().simulate(role, {name: 4.0 * value for name, value in values.items()}, state, rng)

    theta = {
        "block": "planted_dirichlet",
        "over": "topic",
        "per": "doc",
        "concentration": "$alpha",
        "integrate_out": True,
    }
    return {"name": "planted", "extends": "lda", "blocks": {"theta": theta}}


def test_a_wrong_prior_is_seen(own_registry):
    result = pt.calibrate(planted_prior(), **LDA, **FAST)
    assert "entropy of theta, mean" in result.refused
    assert result.table()["reading"]["entropy of theta, mean"] == "draws too small"


def planted_kernel(factor):
    """Return a kernel that is collapsed Gibbs sampling with an alpha that is too large."""
    right = pt.kernels()["collapsed_gibbs"]

    @pt.kernel(
        "planted_gibbs",
        updates="z",
        integrates_out=("theta", "phi"),
        reads=("alpha", "beta"),
        handles=("dirichlet", "assignments", "words"),
        exact=True,
    )
    def planted(binding):
        functions = right.build(binding, **dict(right.options()))

        def step(state, memory, key):
            wrong = replace(state, concentrations={**state.concentrations, "alpha": factor * state.alpha})
            return functions.step(wrong, memory, key)

        return functions._replace(step=step)

    return pt.cycle(pt.step("z", "planted_gibbs"), pt.step("phi", "dirichlet_rows"))


@pytest.mark.parametrize(("factor", "passed"), [(1.0, True), (4.0, False)])
def test_a_wrong_kernel_is_seen(own_registry, factor, passed):
    result = pt.calibrate("lda", **LDA, **FAST, schedule=planted_kernel(factor))
    assert result.passed == passed, str(result)


@pytest.mark.slow
def test_a_kernel_that_is_a_little_wrong_is_seen(own_registry):
    result = pt.calibrate("lda", **LDA, **LENGTH, schedule=planted_kernel(1.5))
    assert not result.passed


@pytest.mark.parametrize(("warmup", "passed"), [(0, False), (100, True)])
def test_a_wrong_start_is_seen_if_the_warmup_is_too_short(monkeypatch, warmup, passed):
    initial = BoundModel.initial_state

    def planted(self, seed, chain, values):
        state = initial(self, seed, chain, values)
        state.set_z(np.zeros_like(state.z))
        self.fill(state)
        return state

    monkeypatch.setattr(BoundModel, "initial_state", planted)
    sizes = LDA | {"topics": 4, "documents": 10, "lengths": 20, "words": 15, "alpha": 0.3, "beta": 0.1}
    result = pt.calibrate("lda", **sizes, **FAST | {"draws": 4 if warmup == 0 else 40, "warmup": warmup})
    assert result.passed == passed, str(result)


def test_own_quantities_and_inexact_kernels():
    schedule = pt.cycle(pt.step("z", "ad_lda", shards=2), pt.step("phi", "dirichlet_rows"))
    own = {
        "largest phi": lambda values, corpus: float(values["phi"].max()),
        "tokens": lambda _, corpus: corpus.n_tokens,
    }
    with pytest.warns(pt.InexactKernelWarning, match="ad_lda does not leave the posterior invariant: ranks show"):
        result = pt.calibrate("lda", **LDA, **FAST | {"replicates": 10}, schedule=schedule, quantities=own)
    assert "NOT exact: ad_lda" in str(result)
    assert {"largest phi", "tokens"} < set(result.table().index)
    # A constant is tied with all draws, so its ranks are random.
    ranks = result.values["rank"].sel(quantity="tokens").values
    assert len(set(ranks.tolist())) > 3
    with pytest.raises(pt.RunError, match="replicate 0 of seed 1: the quantity 'x' is not a number"):
        pt.calibrate("lda", **LDA, **FAST, quantities={"x": lambda values, corpus: np.nan})


@pytest.mark.parametrize("done", [0, 11])
def test_what_is_done_is_kept(monkeypatch, done):
    run, runs = calibrating.run_in_memory, []

    def stopped(*arguments):
        runs.append(arguments)
        if len(runs) > done:
            raise StoppedError("stopped after 2 sweeps of warmup")
        return run(*arguments)

    monkeypatch.setattr(calibrating, "run_in_memory", stopped)
    if done == 0:
        with pytest.raises(pt.RunError, match="stopped before the first replicate was done"):
            pt.calibrate("lda", **LDA, **FAST)
        return
    result = pt.calibrate("lda", **LDA, **FAST | {"draws": 8})
    assert result.replicates == 11
    assert "stopped after 11 of 60 replicates" in str(result)


def test_processes_make_no_difference():
    how = FAST | {"replicates": 10, "draws": 10}
    one, two = (pt.calibrate("lda", **LDA, **how, processes=processes) for processes in (1, 2))
    assert one.values.identical(two.values)


def test_ranks_are_uniform_whatever_the_ties_and_the_dependence():
    rng, rows = np.random.default_rng(1), []
    for number in range(400):
        noise = rng.normal(size=(1, 201, 2))
        for draw in range(1, 201):
            noise[:, draw] = 0.7 * noise[:, draw - 1] + np.sqrt(1 - 0.49) * noise[:, draw]
        # Sums in another order differ by rounding, all draws from the true value in the same direction.
        noise[..., 1] = np.round(noise[..., 1])
        place = rng.integers(201)
        noise[0, place, 1] *= 1 + rng.choice([-1e-15, 1e-15])
        rows.append(ranks_of(noise[0, place], np.delete(noise, place, axis=1), np.random.default_rng(number)))
    pit = np.array([row["pit"] for row in rows])
    assert np.abs(pit.mean(axis=0) - 0.5).max() < 4 / np.sqrt(12 * 400)
    assert np.abs((pit < 0.1).mean(axis=0) - 0.1).max() < 4 * np.sqrt(0.09 / 400)
    assert 15 < np.median([row["kept"] for row in rows]) < 100


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        ("lda", {"replicates": 9}, "replicates: must be a whole number at least 10, got 9"),
        ("lda", {"draws": 3}, "draws: must be a whole number at least 4"),
        ("lda", {"false_alarm": 0}, "false_alarm: expected a probability above 0 and below 1, got 0"),
        ("lda", {"processes": 0}, "processes: must be a whole number"),
        ("lda", {"quantities": {"x": 1}}, "quantities: 'x': expected a function, got 1"),
        ("lda", {"lengths": 0}, "lengths: all documents would be empty"),
        ("lda", {"schedule": {"cycle": []}}, "schedule"),
        ("lda", {"topic": 2}, "no parameter 'topic'"),
        ("medlda", {}, "block 'y' .hinge. cannot be simulated"),
        ("slda_gaussian", {}, "block 'y' .gaussian. standardises the targets, .*; set standardise: false"),
    ],
)
def test_wrong_arguments(model, given, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.calibrate(model, **{"progress": False, "documents": 3, "words": 4} | given)
