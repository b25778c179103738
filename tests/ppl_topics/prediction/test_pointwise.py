"""The log likelihood of each training document in each draw, and what ArviZ makes of it."""

import itertools

import numpy as np
import pytest

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
    """Return log p(w_d | phi, alpha), summed over all assignments."""
    total = 0.0
    for z in itertools.product(range(len(alpha)), repeat=len(words)):
        n = np.bincount(z, minlength=len(alpha))
        rising = np.prod([np.prod(a + np.arange(k)) for a, k in zip(alpha, n, strict=True)])
        rising /= np.prod(alpha.sum() + np.arange(len(words)))
        total += rising * np.prod([phi[k, w] for k, w in zip(z, words, strict=True)])
    return np.log(total)


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


def test_more_particles_have_less_error_and_bias(fit):
    few, many = (fit.log_likelihood(particles=particles) for particles in (4, 400))
    assert few.attrs["error"] > 4 * many.attrs["error"]
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
        ({"of": "labels"}, "of: "),
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
