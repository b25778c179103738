"""One topic a document: exact in every composition, found again in simulated texts, predicted by sums over topics."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import ppl_topics as pt

SMALL = {"replicates": 300, "long_run": 2000}
SIZES = {"topics": 3, "beta": 0.1}
HOW = {"draws": 40, "warmup": 40, "chains": 1, "seed": 1, "progress": False}


def whole(base, **blocks):
    """A model with one topic a document."""
    return {"name": f"{base}_of_documents", "extends": base, "blocks": {"z": {"per": "doc"}, **blocks}}


@pytest.fixture(scope="module")
def made():
    return pt.simulate("one_topic", documents=80, lengths=12, words=30, seed=2, concentration=3.0, **SIZES)


@pytest.fixture(scope="module")
def fit(made):
    record = {"z": "all", "phi": "all", "theta": "none"}
    return pt.sample("one_topic", made.corpus, **SIZES, **HOW, record=record, debug=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        whole("lda", theta={"integrate_out": False}),
        whole("lda_collapsed"),
        whole("lda_spike_slab"),
        whole("hdp_lda"),
        whole("dmr"),
        whole("labelled_lda"),
        whole("slda_gaussian"),
        whole("slda_multinomial"),
        whole("medlda"),
    ],
    ids=lambda model: model["extends"],
)
def test_kernels_are_certified_in_other_models(model):
    kernels = [name for name, kernel in pt.kernels().items() if "document_assignments" in kernel.handles]
    found = []
    for kernel in kernels:
        try:
            found += pt.verify(model, kernel=kernel, **SMALL).certificates
        except pt.ScheduleError:
            continue
    # Where phi is integrated out only the second, where it has zeros only the first.
    assert {"document_partially_collapsed", "document_collapsed"} & {certificate.kernel for certificate in found}
    assert all(certificate.certified for certificate in found), found


@pytest.mark.parametrize("kernel", ["document_partially_collapsed", "document_collapsed"])
def test_a_response_is_certified(kernel):
    assert pt.verify(whole("slda_gaussian"), kernel=kernel, **SMALL).passed


def test_documents_are_whole_and_topics_found_again(made, fit):
    z, docs = fit.posterior["z"].values[0], np.repeat(np.arange(80), 12)
    assert (z == z[:, ::12][:, docs]).all()
    # Documents of two different topics are together hardly ever, those of one nearly always.
    together = (z[:, ::12][:, :, None] == z[:, ::12][:, None]).mean(axis=0)
    true = made.values["z"].values[::12]
    same = true[:, None] == true
    assert together[same].mean() > 0.95
    assert together[~same].mean() < 0.05


def test_shares_have_their_dirichlet_distribution(made):
    """Given z they are Dirichlet(1 + documents of the topic); four standard errors of 2,000 correlated draws."""
    z = made.values["z"].values
    how = {**HOW, "draws": 2000, "given": {"z": z}, "record": {"theta": "none"}}
    alpha = pt.sample("one_topic", made.corpus, **SIZES, **how).posterior["alpha"].values[0]
    shares, expected = alpha / alpha.sum(axis=1, keepdims=True), 1.0 + np.bincount(z[::12], minlength=3)
    expected = expected / expected.sum()
    assert np.abs(shares.mean(axis=0) - expected).max() < 4 * np.sqrt(expected.max() / 83 / 100)


def log_joint(fit, doc_ptr, words, draw=None):
    """log p(z_d = k, w_d) of each document by the mean topics, or one draw, shape (D, K)."""
    phi = fit.groups["constant_data"]["phi_mean"] if draw is None else fit.posterior["phi"].isel(draw=draw)
    alpha = fit.posterior["alpha"].mean("draw") if draw is None else fit.posterior["alpha"].isel(draw=draw)
    with np.errstate(divide="ignore"):
        log_phi = np.log(phi.isel(chain=0).transpose("word", "topic").values.astype(np.float64))
    log_alpha = np.log(alpha.isel(chain=0).values / alpha.isel(chain=0).values.sum())
    parts = [log_phi[words[begin:end]].sum(axis=0) for begin, end in itertools.pairwise(doc_ptr)]
    return log_alpha + np.array(parts)


def test_new_documents_have_the_probabilities_of_bayes(made, fit):
    corpus = made.corpus
    expected = log_joint(fit, corpus.doc_ptr, corpus.words)
    found = fit.transform(corpus, draws=400)
    error = found - np.exp(expected - logsumexp(expected, axis=1, keepdims=True))
    # Frequencies of 400 independent draws, five standard errors; theta adds the prior's share, which is small.
    assert np.abs(error).max() < 5 * 0.5 / 20


def test_their_likelihood_is_a_sum(made, fit):
    corpus = made.corpus
    held_out = fit.held_out(corpus)
    expected = logsumexp(log_joint(fit, corpus.doc_ptr, corpus.words), axis=1)
    assert held_out.to_frame()["log_likelihood"].to_numpy() == pytest.approx(expected, rel=1e-6)
    assert held_out.error == 0.0
    of_draw = fit.log_likelihood(draws=1)
    expected = logsumexp(log_joint(fit, corpus.doc_ptr, corpus.words, draw=0), axis=1)
    assert of_draw["words"].values[0, 0] == pytest.approx(expected, rel=1e-6)
    assert of_draw.attrs["error"] == 0.0


def test_the_second_half_given_the_first():
    """One document of each of two topics, told apart by its first half."""
    corpus = pt.Corpus.from_texts(["red " * 20, "blue " * 20] * 10)
    fit = pt.sample("one_topic", corpus, topics=2, **HOW)
    completed = fit.held_out(corpus, method="document_completion")
    assert completed.perplexity == pytest.approx(1.0, abs=0.01)


def test_kernels_of_tokens_are_refused():
    with pytest.raises(pt.ScheduleError, match=r"does not handle the factor 'z' \(assignments, per: doc\)"):
        pt.plan("one_topic", schedule=[{"z": "partially_collapsed"}, {"phi": "dirichlet_rows"}])


def test_a_start_of_several_topics_is_refused(made):
    z = made.values["z"].values.copy()
    z[3] = (z[3] + 1) % 3
    with pytest.raises(pt.PplTopicsError, match="document '0' has tokens of several topics"):
        pt.sample("one_topic", made.corpus, **SIZES, **HOW, init={"z": z})


def test_a_state_of_several_topics_is_noticed(made):
    """The planted bug: a kernel that moves a token by itself."""
    chain = pt.Chain("one_topic", made.corpus, **SIZES, seed=1)
    chain.state.check()
    chain.state.z[5] = (chain.state.z[5] + 1) % 3
    with pytest.raises(pt.RunError, match="the tokens of document number 0 have several topics"):
        chain.state.check()


def test_labels_and_covariates_go_along():
    rng = np.random.default_rng(1)
    kind = np.arange(60) % 2
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 5, 6) + 5 * k) for k in kind]
    corpus = pt.Corpus.from_texts(texts, labels=np.where(kind, "a", "b"), covariates={"side": kind})
    fit = pt.sample(whole("dmr_supervised"), corpus, topics=2, **HOW)
    assert (fit.predict(corpus) == np.where(kind, "a", "b")).mean() > 0.95
    shares = fit.prevalence("side").mean(["chain", "draw"])
    assert np.abs(shares.diff("side")).max() > 0.5
