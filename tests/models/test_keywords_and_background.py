"""Topics with keywords that share a background."""

import numpy as np
import pytest
from stop_words import STOP, stop_words_corpus

import ppl_topics as pt
from ppl_topics.engine.bind import bind
from ppl_topics.schedule import make_plan

HOW = {"topics": 3, "draws": 40, "warmup": 200, "chains": 1, "seed": 1, "progress": False}
MODEL = {
    "extends": "lda",
    "name": "both",
    "blocks": {
        "phi": {
            "block": "keywords_and_background",
            "over": "word",
            "per": "topic",
            "concentration": "$beta",
            "keywords": {"second": ["b1", "b2"], "first": ["a0", "a9*"]},
            "background_a": 600.0,
            "background_b": 600.0,
        }
    },
}


@pytest.fixture(scope="module")
def fit():
    return pt.sample(MODEL, stop_words_corpus(), record={"phi": "all"}, debug=True, **HOW)


def test_stop_words_are_in_the_background_and_topics_are_those_of_their_keywords(fit):
    background = fit.posterior["background"].mean(("chain", "draw"))
    assert set(background["word"].values[np.argsort(-background.values)[:3]]) == set(STOP)
    topics = fit.topics(10)
    words = dict(zip(topics["name"], topics["words"], strict=True))
    for name, letter in (("first", "a"), ("second", "b")):
        assert {word[0] for word in words[name].split() if word not in STOP} == {letter}


def test_phi_is_the_mixture_of_its_parts(fit):
    """Each part is no more than phi, and own words are what is left."""
    draws = fit.posterior
    share, weight = draws["background_share"], draws["keyword_weight"]
    background = (draws["background"] * share).transpose("chain", "draw", "topic", "word")
    phi = draws["phi"].transpose(*background.dims)
    own = (phi - background).values
    for place, keyword in enumerate(weight["keyword"].values):
        topic, word = keyword.split(": ")
        k = ["second", "first"].index(topic)
        w = list(phi["word"].values).index(word)
        own[..., k, w] -= ((1.0 - share.isel(topic=k)) * weight.isel(keyword=place)).values
    assert own.min() > -1e-7
    of_keywords = np.stack(
        [weight.isel(keyword=slice(2)).sum("keyword"), weight.isel(keyword=slice(2, 4)).sum("keyword")], -1
    )
    p = np.concatenate([of_keywords, np.zeros_like(of_keywords[..., :1])], -1)
    np.testing.assert_allclose(own.sum(-1), (1.0 - share.values) * (1.0 - p), atol=1e-5)


def test_draws_from_the_prior_have_its_moments():
    """Means within 4 standard errors: false alarms once in 500 runs; the keywords' prior for the background's shows."""
    model = bind(make_plan(pt.load_spec(MODEL, {"topics": 3})), stop_words_corpus())
    update = {"a": 3.0, "b": 2.0, "background_a": 1.0, "background_b": 3.0}
    block, state = model.block("phi").model_copy(update=update), model.initial_state(1, 0)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(2000):
        values = {"beta": state.beta}
        for role in ("keyword_weight", "background", "background_share", "phi"):
            values[role] = block.simulate(role, values, state, rng)
        np.testing.assert_allclose(values["phi"].sum(axis=0), 1.0)
        draws.append(values["phi"][block.cells.words, block.cells.topics])
    words = state.sizes.words

    def off(share, p):
        expected = (1 - share) * (p / 2 + (1 - p) / words) + share / words
        return np.abs(np.mean(draws, axis=0) - expected).max() / (np.std(draws) / np.sqrt(len(draws)))

    assert off(0.25, 0.6) < 4.0
    assert off(0.6, 0.25) > 4.0


def test_kernels_that_draw_only_a_part_are_refused():
    schedule = pt.cycle(pt.step("z", "partially_collapsed"), pt.step("phi", "keyword_rows"))
    with pytest.raises(pt.ScheduleError, match="'keyword_rows' does not handle the factor 'phi'"):
        pt.plan(MODEL, schedule=schedule)


def test_topics_of_a_fit_can_be_given(fit):
    given = {
        name: fit.posterior[name].isel(chain=0, draw=-1)
        for name in ("phi", "keyword_weight", "background", "background_share")
    }
    found = pt.sample(MODEL, stop_words_corpus(20), given=given, **HOW | {"draws": 3, "warmup": 0})
    assert "background" not in found.posterior or np.ptp(found.posterior["background"], axis=1).max() == 0.0
