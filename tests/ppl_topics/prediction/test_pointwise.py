"""The log likelihood of each training document in each draw, and what ArviZ makes of it."""

import itertools

import numpy as np
import pytest
from enumerated_topics import assignments
from scipy.stats import norm

import ppl_topics as pt
from ppl_topics.results.arviz_compat import _arviz

HOW = {"topics": 2, "draws": 6, "warmup": 10, "chains": 2, "seed": 1, "progress": False, "record": {"phi": "all"}}


@pytest.fixture(scope="module")
def corpus():
    texts = ["goal match goal team", "team match", "", "vote law vote", "law goal"]
    return pt.Corpus.from_texts(texts)


@pytest.fixture(scope="module")
def fit(corpus):
    return pt.sample("lda_learned", corpus, **HOW)


def exact(words, phi, alpha):
    """Return log p(w_d | phi, alpha)."""
    return np.log(sum(p for _, p in assignments(words, phi, alpha)))


def expected(fit, corpus, wrong_alpha=1.0):
    result = np.empty((2, 6, 4))
    for chain, draw in itertools.product(range(2), range(6)):
        state = fit.posterior.isel(chain=chain, draw=draw)
        docs = [corpus.words[a:b] for a, b in itertools.pairwise(corpus.doc_ptr) if b > a]
        alpha = wrong_alpha * state["alpha"].values
        result[chain, draw] = [exact(words, state["phi"].values, alpha) for words in docs]
    return result


def test_it_is_that_of_the_enumerated_assignments(fit, corpus):
    """Within 6 standard errors of 48 values with 4,000 particles: a false alarm in ten million.

    The errors have three degrees of freedom each, so their root mean square stands for them.
    """
    found = fit.log_likelihood(particles=4_000, seed=2)
    assert found["words"].dims == ("chain", "draw", "doc")
    assert found["doc"].values.tolist() == [corpus.doc_ids[d] for d in (0, 1, 3, 4)]
    difference = abs(found["words"].values - expected(fit, corpus))
    assert difference.max() < 6 * found.attrs["error"] + 1e-6
    # The planted bug: concentrations 2% too large.
    wrong = abs(found["words"].values - expected(fit, corpus, 1.02))
    assert wrong.max() > 6 * found.attrs["error"] + 1e-6


def of_two(label, s, _):
    return -np.logaddexp(0.0, -s[0] if label else s[0])


def of_sticks(label, s, _):
    stops = -np.logaddexp(0.0, -s[label]) if label < len(s) else 0.0
    return stops - np.logaddexp(0.0, s[:label]).sum()


def of_number(label, s, given):
    return norm.logpdf(label, given["mean"] + given["scale"] * s, given["scale"] * np.sqrt(given["sigma2"])).sum()


LABELS = {
    "slda_logistic": (["a", "b", None, "b", "a"], of_two),
    "slda_multinomial": (["a", "b", None, "c", "a"], of_sticks),
    "slda_gaussian": ([1.0, 12.0, np.nan, 3.0, -4.0], of_number),
}


def expected_of_labels(fit, corpus, of, larger_eta=1.0):
    """log p(y_d | w_d, phi, alpha, eta) by enumeration."""
    result = np.empty((2, 6, 4))
    constants = fit.groups["constant_data"]
    known = [d for d in range(5) if not np.ravel(corpus.labels.missing)[d]]
    for chain, draw in itertools.product(range(2), range(6)):
        state = fit.posterior.isel(chain=chain, draw=draw)
        given = {"mean": 0.0, "scale": 1.0, "sigma2": np.asarray(state.get("sigma2", 1.0)).item()}
        if "target_mean" in constants:
            given |= {"mean": constants["target_mean"].item(), "scale": constants["target_scale"].item()}
        eta, alpha = larger_eta * state["eta"].values, constants["alpha"].values
        for place, d in enumerate(known):
            words, joint, total = corpus.words[corpus.doc_ptr[d] : corpus.doc_ptr[d + 1]], 0.0, 0.0
            for n, p in assignments(words, state["phi"].values, alpha):
                features = n / max(1, len(words))
                features = np.append(features, np.ones(eta.shape[1] - len(features)))
                joint += p * np.exp(of(corpus.labels.values[d], eta @ features, given))
                total += p
            result[chain, draw, place] = np.log(joint / total)
    return result


@pytest.mark.parametrize("model", LABELS)
def test_labels_have_that_of_the_enumerated_assignments(model, corpus):
    """As above: 48 values within 6 standard errors."""
    labels, of = LABELS[model]
    corpus = corpus.with_labels(labels, kind="real" if model == "slda_gaussian" else "class")
    # Topics that overlap: else all errors are those of a few values.
    fit = pt.sample(model, corpus, beta=2.0, alpha=1.0, **HOW, **({"c": 1.0} if model == "slda_logistic" else {}))
    found = fit.log_likelihood("labels", particles=2_000, seed=2)
    assert found["labels"].dims == ("chain", "draw", "doc")
    assert found["doc"].values.tolist() == [corpus.doc_ids[d] for d in (0, 1, 3, 4)]
    difference = abs(found["labels"].values - expected_of_labels(fit, corpus, of))
    assert difference.max() < 6 * found.attrs["error"] + 1e-6
    # The planted bug: coefficients a half too large.
    wrong = abs(found["labels"].values - expected_of_labels(fit, corpus, of, 1.5))
    assert wrong.max() > 6 * found.attrs["error"] + 1e-6


def test_labels_of_several_kinds(corpus):
    """Each its own topics, labels that a document may have at once, and a loss, which has none."""
    classes = corpus.with_labels(["a", "b", "a", "b", "c"])
    own = pt.sample("slda_logistic_one_vs_all", classes, **HOW).log_likelihood("labels")
    assert own["labels"].shape == (2, 6, 5)
    assert (own["labels"] < 0).all()
    several = corpus.with_labels([["a"], ["b", "a"], [], ["b"], ["c"]], kind="multi_label")
    assert (pt.sample("slda_logistic", several, **HOW).log_likelihood("labels")["labels"] < 0).all()
    with pytest.raises(pt.TraceError, match="block 'hinge' is a loss, not a distribution of the labels"):
        pt.sample("medlda", classes, **HOW).log_likelihood("labels")


def test_more_particles_have_less_error_and_bias(fit):
    """By simulation 0.046 for 4 particles, with a standard deviation of 0.004 for eight seeds, and 0.0046 for 400."""
    few = [fit.log_likelihood(particles=4, seed=seed).attrs["error"] for seed in range(8)]
    many = fit.log_likelihood(particles=400)
    assert np.sqrt(np.mean(np.square(few))) > 4 * many.attrs["error"]
    assert abs(many.attrs["bias"]) < 0.01


def test_some_draws_are_those_of_all(fit):
    every, some = fit.log_likelihood(), fit.log_likelihood(draws=3)
    assert some["draw"].values.tolist() == [0, 2, 5]
    np.testing.assert_array_equal(some["words"], every["words"].sel(draw=[0, 2, 5]))


def test_threads_do_not_matter(fit):
    one, two = (fit.log_likelihood(threads=threads)["words"] for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_arviz_compares_models(corpus):
    """LOO of a model of two topics and of one on documents of two kinds; the former predicts better."""
    texts = ["goal match team goal match team"] * 10 + ["vote law state vote law state"] * 10
    corpus, arviz, scores = pt.Corpus.from_texts(texts), _arviz(), {}
    for topics in (1, 2):
        fit = pt.sample("lda", corpus, **HOW | {"draws": 50, "warmup": 50, "topics": topics})
        whole = fit.with_groups(log_likelihood=fit.log_likelihood())
        scores[topics] = arviz.loo(whole.idata, pointwise=True, reff=1.0)
        assert (np.asarray(scores[topics].pareto_k) < 0.7).all()
        elpd = "elpd_loo" if hasattr(scores[topics], "elpd_loo") else "elpd"
    assert getattr(scores[2], elpd) > getattr(scores[1], elpd)


def test_small_variables_and_arviz(fit):
    assert fit.small == ["alpha", "beta", "topic_share"]
    summary = _arviz().summary(fit.idata, var_names=fit.small)
    assert len(summary) == sum(fit.posterior[name][0, 0].size for name in fit.small)


def test_a_group_is_not_replaced(fit):
    with pytest.raises(pt.TraceError, match="the fit has a group 'posterior'; give another name"):
        fit.with_groups(posterior=fit.posterior)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"of": "topics"}, "of: "),
        ({"of": "labels"}, "model 'lda_learned' has no response"),
        ({"draws": 0}, "draws: must be a whole number"),
        ({"particles": 5}, "particles: must be a multiple of 4"),
        ({"threads": 0}, "threads"),
    ],
)
def test_errors(fit, wrong, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        fit.log_likelihood(**wrong)


def test_phi_has_to_be_recorded(corpus):
    fit = pt.sample("lda", corpus, **HOW | {"record": {"phi": "none"}})
    with pytest.raises(pt.TraceError, match="the trace does not hold all of phi in each draw; run the model with"):
        fit.log_likelihood()
