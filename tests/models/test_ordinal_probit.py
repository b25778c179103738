"""The ordinal probit: a distribution of levels in order, and what of it is refused."""

import numba
import numpy as np
import pytest
from scipy import integrate, stats

import ppl_topics as pt
from ppl_topics.corpus.labels import Labels
from ppl_topics.models.ordinal_probit import OrdinalProbit
from ppl_topics.samplers.numbers.slice_cutpoints import log_between, sum_of_log_between

KEYS = {"coefficients": "eta", "features": ["z"]}
CUTS = [0.7, 2.1]
BLOCK = OrdinalProbit(**KEYS, cutpoints=CUTS)
LEVELS = ["1", "2", "3", "4"]
TARGETS, RESPONSES = BLOCK.encode(Labels("class", [0, 1, 2, 3, -1], LEVELS))
SCORES = np.array([[0.3], [-1.2], [40.0], [-40.0], [0.0]])
HOW = {"topics": 2, "draws": 60, "warmup": 60, "chains": 1, "seed": 1, "progress": False}


def probabilities(scores, cuts=CUTS):
    ends = np.array([-np.inf, 0.0, *cuts, np.inf])
    return np.diff(stats.norm.cdf(ends[None, :] - scores), axis=1)


def test_levels_have_the_probabilities_between_cut_points():
    assert RESPONSES == ["level"]
    np.testing.assert_allclose(BLOCK.class_probabilities(SCORES), probabilities(SCORES), atol=1e-12)
    each = [BLOCK.log_likelihood(np.full((5, 1), level), SCORES, np.ones(1))[:, 0] for level in range(4)]
    np.testing.assert_allclose(BLOCK.log_class_probabilities(SCORES).T, each)
    np.testing.assert_allclose(np.exp(each).sum(axis=0), 1.0)
    # The cut points of another model are noticed.
    assert np.abs(BLOCK.class_probabilities(SCORES) - probabilities(SCORES, [0.9, 2.1])).max() > 0.01


def test_far_out_the_logarithm_is_exact():
    """p(lowest | s) = Phi(-s), whose logarithm is -s^2 / 2 - log s - log(2 pi) / 2 to a part in s^2."""
    found = BLOCK.log_class_probabilities(np.array([[300.0]]))[0, 0]
    assert found == pytest.approx(-0.5 * 300.0**2 - np.log(300.0) - 0.5 * np.log(2.0 * np.pi), abs=1e-4)
    assert BLOCK.log_class_probabilities(np.array([[-300.0]]))[0, 0] == 0.0


@pytest.mark.parametrize("level", range(4))
def test_the_augmentation_sums_to_the_likelihood(level):
    """The integral of exp(a s - s^2 / 2) with the density of a at s = 0, over the interval of the level."""
    ends = [-15.0, 0.0, *CUTS, 15.0]

    def integral(s):
        b, omega = BLOCK.potential(np.array([[float(level)]]), np.array([[1.0]]))
        assert (b, omega) == (1.0, 1.0)
        return integrate.quad(lambda a: stats.norm.pdf(a) * np.exp(a * s - s**2 / 2), ends[level], ends[level + 1])[0]

    for s in (-1.3, 0.4, 2.0):
        found = BLOCK.log_likelihood(np.array([[float(level)]]), np.array([[s]]), np.ones(1))
        assert found[0, 0] == pytest.approx(np.log(integral(s)), abs=1e-6)


def test_missing_levels_say_nothing():
    b, omega = BLOCK.potential(TARGETS, np.full((5, 1), 0.7))
    assert (b[4], omega[4]) == (0.0, 0.0)
    assert BLOCK.log_likelihood(TARGETS, SCORES, np.ones(1))[4] == 0.0
    np.testing.assert_array_equal(BLOCK.indicators(TARGETS), np.vstack([np.eye(4), np.full((1, 4), np.nan)]))


def test_cut_points_of_several_draws_stand_beside_their_predictors():
    draws = np.array([CUTS, [0.2, 0.4], [1.0, 5.0]])
    several = BLOCK.model_copy(update={"cutpoints": draws[:, None, :]})
    scores = np.random.default_rng(1).normal(size=(3, 5, 1))
    likelihood, probability = several.log_likelihood(TARGETS, scores, np.ones(1)), several.class_probabilities(scores)
    for place, cuts in enumerate(draws):
        alone = BLOCK.model_copy(update={"cutpoints": cuts})
        np.testing.assert_array_equal(likelihood[place], alone.log_likelihood(TARGETS, scores[place], np.ones(1)))
        np.testing.assert_array_equal(probability[place], alone.class_probabilities(scores[place]))


def test_drawn_levels_have_their_probabilities():
    """Five standard errors: false alarms below 1e-6 each."""
    drawn = BLOCK.draw_targets(np.full((40_000, 1), 0.8), np.ones(1), np.random.default_rng(1))
    share, p = BLOCK.indicators(drawn).mean(axis=0), probabilities(np.array([[0.8]]))[0]
    assert (np.abs(share - p) < 5 * np.sqrt(p * (1 - p) / 40_000)).all()
    assert (np.abs(share - p[::-1]) > 5 * np.sqrt(p * (1 - p) / 40_000)).any()


@pytest.mark.parametrize(
    ("low", "high", "tolerance"),
    [
        (-1.0, 2.0, 1e-12),
        (-np.inf, 0.3, 1e-12),
        (0.3, np.inf, 1e-12),
        (5.0, 5.5, 1e-12),
        (-30.0, -29.0, 1e-9),
        (35.0, 60.0, 1e-9),
        (0.0, 1e-9, 1e-6),
    ],
)
def test_compiled_log_probability(low, high, tolerance):
    """Against an integral of the density, relative to that at the end where it is largest."""
    start, stop = (-high, -low) if low > 0.0 else (low, high)
    peak = min(max(0.0, start), stop)

    def relative(x):
        return np.exp(-0.5 * (x - peak) * (x + peak))

    total, _ = integrate.quad(relative, max(start, peak - 10.0), min(stop, peak + 10.0), epsabs=0.0, epsrel=1e-13)
    expected = np.log(total) - 0.5 * peak**2 - 0.5 * np.log(2.0 * np.pi)
    assert log_between(low, high) == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_sums_of_few_and_of_many_documents_agree():
    scores = np.random.default_rng(1).normal(size=25_000)
    few = sum(sum_of_log_between(-0.3, 1.0, part) for part in np.array_split(scores, 5))
    assert sum_of_log_between(-0.3, 1.0, scores) == pytest.approx(few, rel=1e-12)


def test_sums_do_not_depend_on_threads():
    found = set()
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        found.add(tuple(sum_of_log_between(-0.3, high, np.linspace(-2.0, 2.0, 25_000)) for high in np.arange(20.0)))
    assert len(found) == 1


def test_order_of_levels():
    assert list(BLOCK.arranged(Labels("class", [0, 1, 2], ["1", "10", "9"])).classes) == ["1", "9", "10"]
    named = BLOCK.model_copy(update={"levels": ["bad", "fair", "good", "superb"]})
    arranged = named.arranged(Labels("class", [1, 0, -1], ["bad", "good"]))
    assert list(arranged.classes) == ["bad", "fair", "good", "superb"]
    assert arranged.values.tolist() == [2, 0, -1]


@pytest.mark.parametrize(
    ("labels", "levels", "message"),
    [
        (["bad", "good", "fair"], [], r"block 'y' \(ordinal_probit\): the levels 'bad', 'fair', 'good' are no numbers"),
        (["bad", "good", "fair"], ["bad", "good"], "documents of level 'fair', which `levels` does not list"),
        (["1", "2", "1"], [], "needs three levels at least, and there are 2; for two take the block 'probit_do'"),
        ([0.5, 1.5, 2.5], [], "these labels are of kind 'real'; give label_kind='class'"),
    ],
)
def test_labels_that_are_no_levels_are_refused(labels, levels, message):
    corpus = pt.Corpus.from_texts(["aa bb", "bb cc", "cc aa"], labels=labels)
    with pytest.raises(pt.CorpusError, match=message):
        pt.sample("slda_ordinal", corpus, levels=levels, **HOW)


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([2.0, 1.0], "cut points have to be above 0 and in ascending order"),
        ([-1.0, 1.0], "cut points have to be above 0"),
        ([1.0], "there are 4 levels, so 2 cut points follow the first, which is 0, and the model has 1"),
    ],
)
def test_cut_points_that_do_not_fit_are_refused(cuts, message):
    model = {"extends": "slda_ordinal", "name": "fixed", "blocks": {"y": {"cutpoints": cuts}}}
    corpus = pt.Corpus.from_texts(["aa bb", "bb cc", "cc aa", "aa aa"], labels=["1", "2", "3", "4"])
    with pytest.raises(pt.PplTopicsError, match=message):
        pt.sample(model, corpus, **HOW)


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(3)
    share = rng.random(150)
    texts = [
        " ".join(np.where(rng.random(20) < s, rng.choice(["aa", "bb", "cc"], 20), rng.choice(["xx", "yy", "zz"], 20)))
        for s in share
    ]
    latent = 4.0 * share + 0.3 * rng.normal(size=150)
    return pt.Corpus.from_texts(
        texts, labels=[str(1 + int(level)) for level in np.searchsorted([1.0, 2.0, 3.0], latent)]
    )


@pytest.fixture(scope="module")
def fit(ratings):
    return pt.sample("slda_ordinal", ratings, debug=True, **HOW)


def test_a_fit(fit, ratings):
    cuts = fit.posterior["y_cutpoints"]
    assert cuts["cutpoint"].values.tolist() == ["2 | 3", "3 | 4"]
    assert (cuts.diff("cutpoint") > 0.0).all()
    assert (cuts > 0.0).all()
    found = fit.predict_proba(ratings)
    assert found.shape == (150, 4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    metrics = fit.metrics(ratings)
    assert metrics["accuracy"] > 0.5
    assert metrics["levels_off"] < 0.6
    assert metrics["log_score"] > -1.2
    # A rating is nearer to its neighbours: a level far off is less likely than one beside the predicted one.
    lowest = found[found.argmax(axis=1) == 0]
    assert (lowest[:, 1] > lowest[:, 3]).all()


def test_the_posterior_predictive_and_the_log_likelihood(fit, ratings):
    replicated = fit.posterior_predictive()["labels"]
    assert set(np.unique(replicated)) <= {0, 1, 2, 3}
    assert np.isfinite(fit.log_likelihood("labels")["labels"]).all()


def test_cut_points_can_be_given():
    simulation = pt.simulate(
        "slda_ordinal",
        topics=2,
        documents=300,
        lengths=20,
        words=30,
        seed=1,
        given={"y_cutpoints": np.array([9.0, 10.0]), "eta": np.zeros((1, 3))},
        responses=3,
    )
    assert simulation.corpus.labels.classes.tolist() == ["1", "2", "3", "4"]
    assert set(simulation.corpus.labels.values.tolist()) == {0, 1}
    with pytest.raises(pt.SpecError, match="y_cutpoints: expected numbers in ascending order, the first above 0"):
        pt.simulate(
            "slda_ordinal",
            topics=2,
            documents=3,
            lengths=2,
            words=3,
            seed=1,
            given={"y_cutpoints": np.array([2.0, 1.0])},
            responses=3,
        )


def test_beside_another_response(ratings):
    """Cut points are those of its own response."""
    model = {
        "extends": "lda",
        "name": "two",
        "blocks": {
            "eta_stars": {"block": "normal", "per": "response"},
            "stars": {
                "block": "ordinal_probit",
                "coefficients": "eta_stars",
                "features": ["z"],
                "intercept": True,
                "observed": "labels",
                "cutpoints": {"block": "ordered_half_normal", "scale": 2.0},
            },
            "eta_taste": {"block": "normal", "per": "response"},
            "taste": {
                "block": "ordinal_probit",
                "coefficients": "eta_taste",
                "features": ["z"],
                "intercept": True,
                "observed": "taste",
                "cutpoints": {"block": "ordered_half_normal"},
                "levels": ["low", "middle", "high"],
            },
        },
    }
    corpus = ratings.with_labels(["low", "high", "middle"] * 50, name="taste", kind="class")
    fit = pt.sample(model, corpus, **HOW | {"draws": 5, "warmup": 5})
    assert fit.posterior["stars_cutpoints"].shape == (1, 5, 2)
    assert fit.posterior["taste_cutpoints"].shape == (1, 5, 1)
    assert fit.of_response("taste").predict_proba(corpus).shape == (150, 3)
