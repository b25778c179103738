"""Topics that share a background."""

import numpy as np
import pytest
from stop_words import STOP, stop_words_corpus

import ppl_topics as pt
from ppl_topics.engine.bind import bind
from ppl_topics.schedule import make_plan

HOW = {"topics": 2, "a": 300.0, "b": 300.0, "draws": 40, "warmup": 200, "chains": 1, "seed": 1, "progress": False}


@pytest.fixture(scope="module")
def fit():
    return pt.sample("background_lda", stop_words_corpus(), record={"phi": "all"}, debug=True, **HOW)


def test_stop_words_are_in_the_background(fit):
    background, share = fit.posterior["background"].mean(("chain", "draw")), fit.posterior["background_share"]
    assert set(background["word"].values[np.argsort(-background.values)[:3]]) == set(STOP)
    assert background.sel(word=STOP).sum() > 0.9
    np.testing.assert_allclose(share.mean(), 0.5, atol=0.1)


def test_by_a_share_of_little_weight_topics_keep_their_stop_words():
    """The prior of the shares says how large the background is."""
    fit = pt.sample("background_lda", stop_words_corpus(), **HOW | {"a": 0.1, "b": 1000.0})
    assert fit.posterior["background_share"].mean() < 0.01


def test_phi_is_the_mixture(fit):
    draws = fit.posterior
    np.testing.assert_allclose(draws["phi"].sum("word"), 1.0, atol=1e-5)
    np.testing.assert_allclose(draws["background"].sum("word"), 1.0)
    part = draws["background"] * draws["background_share"]
    assert (part.values <= draws["phi"].transpose(*part.dims).values * (1 + 1e-5) + 1e-12).all()


def test_words_of_the_background_are_kept_as_those_of_phi():
    fit = pt.sample(
        "background_lda", stop_words_corpus(), record={"phi": {"top_words": 5}}, **HOW | {"draws": 2, "warmup": 0}
    )
    assert fit.posterior["background"].sizes["word"] == fit.posterior["phi"].sizes["word"] == 5


def test_kernels_that_sum_over_phi_are_refused():
    schedule = pt.cycle(pt.step("z", "collapsed_gibbs"), pt.step("phi", "background_rows"))
    with pytest.raises(pt.ScheduleError, match="'collapsed_gibbs' does not handle the factor 'phi'"):
        pt.plan("background_lda", schedule=schedule)


def test_the_kernel_that_draws_three_variables_stands_once_in_the_plan():
    assert str(pt.plan("background_lda")).count("background_rows") == 1


@pytest.mark.parametrize("role", ["background_share", "phi"])
def test_draws_from_the_prior_have_its_moments(role):
    """Means within 4 standard errors: false alarms once in 1,000 runs; an a of 2 in place of 3 is noticed."""
    model = bind(make_plan(pt.load_spec("background_lda", {"topics": 3})), stop_words_corpus(8))
    block, state = model.block("phi").model_copy(update={"a": 3.0, "b": 2.0}), model.initial_state(1, 0)
    rng, draws, values = np.random.default_rng(1), [], {"beta": state.beta}
    for _ in range(2000):
        for each in ("background", "background_share", "phi"):
            values[each] = block.simulate(each, values, state, rng)
        np.testing.assert_allclose(values["phi"].sum(axis=0), 1.0)
        # The part that the background has of all three topics, or their likeness, in which it shows.
        phi = values["phi"]
        draws.append(values["background_share"] if role == "background_share" else [(phi[:, 0] * phi[:, 1]).sum()])
    words = state.sizes.words
    alone = 1 / words
    together = (block.background_concentration + 1) / (words * block.background_concentration + 1)
    expected = {a: a / (a + 2.0) if role == "background_share" else alone + (a / (a + 2.0)) ** 2 * (together - alone)
                for a in (2.0, 3.0)}  # fmt: skip

    def off(a):
        return np.abs((np.mean(draws, axis=0) - expected[a]) / (np.std(draws, axis=0) / np.sqrt(len(draws))))

    assert off(3.0).max() < 4.0
    assert off(2.0).max() > 4.0


def test_it_has_covariates_above_and_labels_below():
    made = stop_words_corpus(20).with_labels([number % 2 for number in range(20)], kind="class")
    made = made.with_covariates([{"even": number % 2} for number in range(20)])
    model = {"extends": "dmr_supervised", "name": "all", "blocks": {"phi": {
        "block": "background", "over": "word", "per": "topic", "concentration": 0.1}}}  # fmt: skip
    how = {name: value for name, value in HOW.items() if name not in ("a", "b")}
    fit = pt.sample(model, made, **how | {"draws": 3, "warmup": 2})
    assert {"background", "background_share", "gamma", "eta"} <= set(fit.posterior)


def test_other_values_are_refused():
    with pytest.raises(pt.SpecError, match=r"a: must be greater than 0, got 0\.0"):
        pt.load_spec("background_lda", {"a": 0.0})
