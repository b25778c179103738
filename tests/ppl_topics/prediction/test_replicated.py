"""Replicated words and labels of training documents, before and after a model has seen them."""

import numpy as np
import pytest
from enumerated_topics import assignments
from scipy.special import expit

import ppl_topics as pt
from ppl_topics.engine.available_memory import Available
from ppl_topics.prediction import replicated
from ppl_topics.results.arviz_compat import _arviz

TEXTS = ["goal match goal team", "team match", "", "vote law vote", "law goal"]
HOW = {"topics": 2, "draws": 6, "warmup": 10, "chains": 2, "seed": 1, "progress": False, "record": {"phi": "all"}}


@pytest.fixture(scope="module")
def corpus():
    return pt.Corpus.from_texts(TEXTS).with_labels(["a", "b", None, "b", "a"])


@pytest.fixture(scope="module")
def fit(corpus):
    how = HOW | {"draws": 400, "c": 1.0, "alpha": 0.5, "beta": 0.3, "variance": 25.0}
    return pt.sample("slda_logistic", corpus, **how)


def documents(corpus):
    return [corpus.words[a:b] for a, b in zip(corpus.doc_ptr[:-1], corpus.doc_ptr[1:], strict=True)]


def counts(corpus, words):
    """Counts of words by document, of replicated words."""
    result = np.zeros((*words.shape[:-1], corpus.n_docs, corpus.n_words))
    for doc, (a, b) in enumerate(zip(corpus.doc_ptr[:-1], corpus.doc_ptr[1:], strict=True)):
        for token in range(a, b):
            np.add.at(result[..., doc, :], (*np.indices(words.shape[:-1]), words[..., token]), 1)
    return result


def expected(fit, corpus, informed=1.0):
    """Means of counts of words, and of labels, by draw: theta_d and z_d summed over, given the words alone."""
    words, labels = np.zeros((2, 400, 5, corpus.n_words)), np.zeros((2, 400, 5))
    alpha = fit.groups["constant_data"]["alpha"].values
    phis, etas = fit.posterior["phi"].values, fit.posterior["eta"].values
    for chain, draw in np.ndindex(2, 400):
        for doc, tokens in enumerate(documents(corpus)):
            n, p = map(np.array, zip(*assignments(tokens, phis[chain, draw], alpha), strict=True))
            theta = (p / p.sum()) @ ((informed * n + alpha) / (informed * len(tokens) + alpha.sum()))
            words[chain, draw, doc] = len(tokens) * theta @ phis[chain, draw]
            scores = informed * n / max(1, len(tokens)) @ etas[chain, draw, 0]
            labels[chain, draw, doc] = (p / p.sum()) @ expit(scores)
    return words, labels


def deviations(difference):
    """Means over chains and draws, in standard errors; 0 where nothing varies."""
    flat = difference.reshape(800, -1)
    error = flat.std(axis=0) / np.sqrt(800)
    return np.divide(flat.mean(axis=0), error, out=np.zeros_like(error), where=error > 1e-12)


def test_means_are_those_of_the_enumerated_assignments(fit, corpus):
    """30 means within 5 standard errors: a false alarm in 58,000 seeds."""
    found = fit.posterior_predictive(draws=400, seed=3)
    of_words, of_labels = expected(fit, corpus)
    replicated_words = counts(corpus, found["words"].values)
    assert abs(deviations(replicated_words - of_words)).max() < 5
    assert abs(deviations(found["labels"].values - of_labels)).max() < 5
    # The planted bug: documents that forget their words.
    wrong_words, wrong_labels = expected(fit, corpus, informed=0.0)
    assert abs(deviations(replicated_words - wrong_words)).max() > 5
    assert abs(deviations(found["labels"].values - wrong_labels)).max() > 5


def test_they_have_the_form_of_the_data(fit, corpus):
    observed, found = fit.groups["observed_data"], fit.posterior_predictive(draws=3)
    for name in ("words", "labels"):
        assert found[name].dims == ("chain", "draw", *observed[name].dims)
        assert found[name].shape == (2, 3, *observed[name].shape)
        # Those that ArviZ takes.
        assert found[name].dtype.kind == "i"
    assert found["draw"].values.tolist() == [0, 200, 399]
    assert found["doc"].values.tolist() == observed["doc"].values.tolist()
    words = found["words"].values
    for a, b in zip(corpus.doc_ptr[:-1], corpus.doc_ptr[1:], strict=True):
        assert (np.diff(words[..., a:b], axis=-1) >= 0).all()


def test_threads_do_not_matter(fit):
    one, two = (fit.posterior_predictive(draws=3, threads=threads) for threads in (1, 2))
    assert one.identical(two)


@pytest.mark.parametrize("model", ["lda_learned", "slda_multinomial", "slda_gaussian"])
def test_those_of_the_prior_are_simulations(model, corpus):
    """Of the same sizes, to the bit; targets in the units of the training targets."""
    labels = {"slda_multinomial": ["a", "b", "c", "b", "a"], "slda_gaussian": [3.0, 5.0, 9.0, -2.0, 4.0]}.get(model)
    kind = "real" if model == "slda_gaussian" else None
    fit = pt.sample(model, corpus.with_labels(labels, kind=kind), **HOW)
    found = fit.prior_predictive(draws=3, seed=5)
    sizes = {"responses": 2} if model == "slda_multinomial" else {}
    lengths = np.diff(corpus.doc_ptr)
    simulated = pt.simulate(
        model, topics=2, documents=5, lengths=lengths, words=corpus.vocabulary.tolist(), seed=5, **sizes
    ).corpus
    np.testing.assert_array_equal(found["words"].values[0, 0], simulated.words)
    assert (found["words"].values[0, 1] != simulated.words).any()
    if labels:
        constants = fit.groups["constant_data"]
        scale, mean = (float(constants[name].item()) if name in constants else default for name, default in UNITS)
        np.testing.assert_allclose(found["labels"].values[0, 0], simulated.labels.values * scale + mean)


UNITS = (("target_scale", 1.0), ("target_mean", 0.0))


def test_labels_of_several_kinds(corpus):
    """Real and several labels, covariates, each response its own topics, and a loss, which replicates words alone."""
    numbers = corpus.with_labels([100.0, 120.0, np.nan, 90.0, 110.0], kind="real").with_covariates(np.eye(5)[:, :2])
    found = pt.sample("slda_covariates", corpus.with_covariates(np.eye(5)[:, :2]), **HOW).posterior_predictive(draws=2)
    assert found["labels"].shape == (2, 2, 5)
    found = pt.sample("slda_gaussian", numbers.with_covariates(None), **HOW).posterior_predictive(draws=6)
    assert abs(found["labels"].mean() - 105.0) < 50.0
    several = corpus.with_labels([["a"], ["b", "a"], [], ["b"], ["c"]], kind="multi_label")
    found = pt.sample("slda_logistic", several, **HOW).posterior_predictive(draws=2)
    assert found["labels"].shape == (2, 2, 5, 3)
    assert set(np.unique(found["labels"])) <= {0, 1}
    own = pt.sample("slda_logistic_one_vs_all", corpus.with_labels(list("abcab")), **HOW).posterior_predictive(draws=2)
    assert list(own) == ["labels"]
    medlda = pt.sample("medlda", corpus, **HOW)
    assert list(medlda.posterior_predictive(draws=2)) == ["words"]
    with pytest.raises(pt.SpecError, match=r"block 'y' \(hinge\) cannot be simulated: it is a pseudo-likelihood"):
        medlda.prior_predictive()
    apart = pt.sample("medlda_one_vs_all", corpus.with_labels(list("abcab")), **HOW)
    with pytest.raises(pt.TraceError, match="neither words nor labels can be replicated"):
        apart.posterior_predictive()


# ArviZ 1.x advises another plot for two classes.
@pytest.mark.filterwarnings("ignore:Variables labels in:UserWarning")
def test_arviz_draws_them(fit):
    whole = fit.with_groups(posterior_predictive=fit.posterior_predictive(), prior_predictive=fit.prior_predictive())
    arviz = _arviz()
    if hasattr(arviz, "plot_ppc"):
        arviz.plot_ppc(whole.idata, var_names=["labels"], num_pp_samples=5)
        arviz.plot_ppc(whole.idata, group="prior", var_names=["words"], num_pp_samples=5)
    else:
        arviz.plot_ppc_dist(whole.idata, var_names=["labels"], num_samples=5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"draws": 0}, "draws: must be a whole number"),
        ({"seed": -1}, "seed: must be a whole number"),
        ({"threads": 0}, "threads"),
    ],
)
def test_errors(fit, wrong, message):
    with pytest.raises(pt.PplTopicsError, match=message):
        fit.posterior_predictive(**wrong)
    if "threads" not in wrong:
        with pytest.raises(pt.PplTopicsError, match=message):
            fit.prior_predictive(**wrong)


def test_what_does_not_fit_into_memory_is_refused(fit, monkeypatch):
    monkeypatch.setattr(replicated, "available_memory", lambda: Available(100.0, "a limit"))
    for method in (fit.posterior_predictive, fit.prior_predictive):
        with pytest.raises(pt.PplTopicsError, match=r"and a limit leaves .* take fewer"):
            method(draws=20)
