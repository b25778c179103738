"""The block of spike-and-slab topics: its checks, its distribution, what a fit records, and predictions."""

import itertools

import numpy as np
import pytest
from scipy import stats

import ppl_topics as pt
from ppl_topics.core.alpha import Alpha
from ppl_topics.diagnostics.exactness.tiny import TinyModel, tiny_spec
from ppl_topics.engine.bind import index_tokens
from ppl_topics.engine.log_joint import log_marginal, log_theta_part, phi_terms
from ppl_topics.prediction.infer import NewTopics
from ppl_topics.samplers.topics.included_rows import included_mass
from ppl_topics.schedule.assign import admissible
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import Model, load_spec

WORDS = 30


def with_prior(per=None, a=1.5, b=2.5, **more):
    beta = {"block": "beta", "a": a, "b": b, "per": per}
    return {"extends": "lda_spike_slab", "name": "prior", "blocks": {"pi": beta, "phi": {"inclusion": "pi"}}, **more}


@pytest.fixture(scope="module")
def corpus():
    """Two kinds of documents with labels; the last words of the vocabulary never occur."""
    rng = np.random.default_rng(3)
    half = WORDS // 2 - 2
    texts = [" ".join(f"w{w:02}" for w in rng.integers(0, half, 12) + half * (d % 2)) for d in range(60)]
    vocabulary = [f"w{w:02}" for w in range(WORDS)]
    return pt.Corpus.from_texts(texts, labels=["ab"[d % 2] for d in range(60)], vocabulary=vocabulary)


def state_of(model, seed=1):
    tiny = TinyModel(make_plan(tiny_spec(load_spec(model))))
    return tiny, tiny.bound.initial_state(seed, 0)


@pytest.mark.parametrize("value", [0, 0.0, -0.1, 1.5, [0.5, 0.0], float("nan")])
def test_impossible_inclusion(value):
    with pytest.raises(
        pt.SpecError, match=r"inclusion.*: expected a probability above 0 \(each topic needs a word\)|must"
    ):
        load_spec("lda_spike_slab", {"inclusion": value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inclusion": "p"}, "'p' is not a block of this model; add a block of kind beta"),
        ({"concentration": "alpha"}, "concentration: expected a number"),
        ({"over": "topic"}, "over: expected 'word'"),
        ({"integrate_out": True}, "unknown key 'integrate_out'"),
    ],
)
def test_wrong_keys(changes, message):
    with pytest.raises(pt.SpecError, match=message):
        Model.of(load_spec({"extends": "lda_spike_slab", "name": "wrong", "blocks": {"phi": changes}}))


def test_lengths(corpus):
    with pytest.raises(pt.SpecError, match=r"^argument inclusion: .* inclusion has 2 values, but there are 30 words"):
        pt.sample("lda_spike_slab", corpus, inclusion=[0.2, 0.3], warmup=1, draws=1)
    with pytest.raises(pt.SpecError, match=r"^block 'pi': there are as many topics as words, 30"):
        pt.sample(with_prior("topic"), corpus, topics=WORDS, warmup=1, draws=1)


def test_kernels_that_sum_over_phi_are_refused():
    model = Model.of(load_spec("lda_spike_slab"))
    fitting, refused = admissible(model.variables["z"], model)
    given_phi = {"partially_collapsed", "sparse_partially_collapsed", "light_partially_collapsed"}
    assert given_phi <= {step.kernel.name for step in fitting}
    for name in (
        "collapsed_gibbs",
        "sparse_collapsed",
        "block_collapsed",
        "light_collapsed",
        "semi_collapsed",
        "ad_lda",
    ):
        assert (
            "does not handle the factor 'phi' (spike_slab) that touches phi, which it integrates out" in refused[name]
        )
        assert refused[name].endswith("; use `partially_collapsed` here")
    _, refused = admissible(model.variables["phi"], model)
    assert refused["dirichlet_rows"].endswith("; use `included_rows` here")
    learned = {
        "extends": "lda_spike_slab",
        "name": "learned",
        "blocks": {"beta": {"block": "gamma", "shape": 1.0, "rate": 1.0}, "phi": {"concentration": "beta"}},
    }
    with pytest.raises(pt.SpecError, match="concentration: expected a number"):
        load_spec(learned)


def test_schedules():
    cycle = [{"z": "partially_collapsed"}, {"included": "indicator_scan"}, {"phi": "included_rows"}]
    make_plan(load_spec({"extends": "lda_spike_slab", "name": "s", "schedule": {"cycle": cycle}}))
    late = {"extends": "lda_spike_slab", "name": "late", "schedule": {"cycle": [*cycle[::2], cycle[1]]}}
    with pytest.raises(pt.ScheduleError, match="reads phi, left stale by 'indicator_scan', which integrated it out"):
        make_plan(load_spec(late))
    stale = [*cycle[:2], {"pi": "beta_inclusion"}, cycle[2]]
    with pytest.raises(pt.ScheduleError, match="'beta_inclusion' reads phi, left stale by 'indicator_scan'"):
        make_plan(load_spec(with_prior(schedule={"cycle": stale})))


def test_simulate_rejects_empty_topics():
    tiny, state = state_of("lda_spike_slab")
    block, rng = tiny.bound.block("phi"), np.random.default_rng(1)
    draws = [block.simulate("included", {"pi": np.array(0.3)}, state, rng) for _ in range(4000)]
    kept = np.array([d for d in draws if d is not None])
    assert len(kept) / len(draws) == pytest.approx((1 - 0.7**4) ** 3, abs=0.04)
    assert kept.any(axis=1).all()
    sums = kept[:, :, 0].sum(axis=1)
    distribution = stats.binom(4, 0.3).pmf(np.arange(1, 5))
    observed = np.bincount(sums, minlength=5)[1:]
    assert stats.chisquare(observed, distribution / distribution.sum() * observed.sum()).pvalue > 1e-6
    phi = block.simulate("phi", {"included": kept[0], "beta": state.beta}, state, rng)
    assert np.allclose(phi.sum(axis=0), 1)
    assert np.array_equal(phi > 0, kept[0] > 0)


@pytest.mark.parametrize("per", [None, "topic", "word"])
def test_log_density(per):
    tiny, state = state_of(with_prior(per))
    block, rng = tiny.bound.block("phi"), np.random.default_rng(1)
    pi = state.arrays["pi"]
    pi[...] = rng.random(pi.shape)
    state.arrays["included"][...] = included = rng.random((4, 3)) < 0.5
    by_cell = np.broadcast_to(pi[:, None] if per == "word" else pi, (4, 3))
    expected = np.log(np.where(included, by_cell, 1 - by_cell)).sum()
    assert block.log_density(state.arrays["phi"], state) == pytest.approx(expected, rel=1e-12)
    prior = tiny.bound.block("pi")
    assert prior.log_density(pi, state) == pytest.approx(stats.beta(prior.a, prior.b).logpdf(pi).sum())


def test_start_fits_the_assignments():
    tiny, state = state_of("lda_spike_slab")
    state.arrays["included"][3, :2] = 0
    phi = tiny.bound.block("phi").init("phi", state)
    assert np.allclose(phi.sum(axis=0), 1)
    assert (phi[state.n_wk > 0] > 0).all()
    assert not phi[3, :2].any()


def test_trace(corpus):
    options = {"topics": 4, "warmup": 2, "draws": 5, "seed": 1}
    fit = pt.sample(with_prior("topic", record={"included": "all", "phi": "all"}), corpus, chains=2, **options)
    posterior, statistics = fit.posterior, fit.idata.sample_stats
    assert posterior["included"].dims == ("chain", "draw", "topic", "word")
    assert posterior["pi"].dims == ("chain", "draw", "topic")
    included, phi = posterior["included"].values, posterior["phi"].values
    assert not phi[included == 0].any()
    assert np.allclose(statistics["density_phi"], included.mean(axis=(2, 3)))
    mean = fit.idata.constant_data["phi_mean"].values
    assert np.allclose(mean.sum(axis=2), 1, atol=1e-5)
    never = included.any(axis=1) == 0
    assert np.array_equal(mean == 0, never)
    for other in ({}, {"phi": {"top_words": 7}}, {"phi": "none", "included": "none"}):
        by_word = pt.sample(with_prior("word", record=other), corpus, chains=1, **options)
        size = 7 if other.get("phi") == {"top_words": 7} else WORDS
        assert by_word.posterior["pi"].shape == (1, 5, size)
    with pytest.raises(pt.SpecError, match="keeps words by different rules, 30 of phi, 5 of included"):
        pt.sample("lda_spike_slab", corpus, warmup=1, draws=1, record={"included": {"top_words": 5}})


def test_log_marginal_by_enumeration(corpus):
    """exp(log p(w, z | I)) sums to 1 over all words and topics."""
    pointer, alpha, beta = np.array([0, 2, 3]), np.array([0.3, 0.8]), np.array([0.4, 0.9, 0.2])
    included = np.array([[1, 1], [0, 1], [1, 0]], np.uint8)
    mass = included_mass(beta, included)
    total = 0.0
    for z, words in itertools.product(itertools.product(range(2), repeat=3), itertools.product(range(3), repeat=3)):
        if all(included[w, k] for w, k in zip(words, z, strict=True)):
            n_wk = np.zeros((3, 2), np.int32)
            np.add.at(n_wk, (list(words), list(z)), 1)
            n_k = n_wk.sum(axis=0, dtype=np.int64)
            value = log_theta_part(pointer, np.array(z, np.uint8), alpha)
            total += np.exp(value + phi_terms(n_wk, n_k, beta, mass)[0])
    assert total == pytest.approx(1.0, rel=1e-12)
    everywhere = np.full(2, beta.sum())
    n_wk = np.array([[1, 0], [0, 1], [1, 0]], np.int32)
    whole = log_theta_part(pointer, np.array([0, 1, 0], np.uint8), alpha)
    whole += phi_terms(n_wk, n_wk.sum(axis=0, dtype=np.int64), beta, everywhere)[0]
    plain = log_marginal(pointer, np.array([0, 1, 0], np.uint8), n_wk, n_wk.sum(axis=0, dtype=np.int64), alpha, beta)
    assert plain == pytest.approx(whole, rel=1e-14)


def test_certain_inclusion_is_plain_dirichlet(corpus):
    fit = pt.sample("lda_spike_slab", corpus, inclusion=1.0, topics=4, warmup=2, draws=1, chains=1, seed=4)
    z, n_wk = fit.idata.constant_data["z_last"].values[0], np.zeros((WORDS, 4), np.int32)
    np.add.at(n_wk, (corpus.words, z), 1)
    n_k, alpha, beta = n_wk.sum(axis=0, dtype=np.int64), np.full(4, 0.1), np.full(WORDS, 0.01)
    plain = log_marginal(np.array(corpus.doc_ptr), z, n_wk, n_k, alpha, beta)
    statistics = fit.idata.sample_stats
    assert statistics["density_phi"].item() == 1
    assert statistics["log_marginal"].item() == pytest.approx(plain, rel=1e-12)
    assert statistics["lp"].item() == pytest.approx(plain, rel=1e-12)
    expected = (n_wk + 0.01) / (n_k + 0.01 * WORDS)
    assert np.allclose(fit.idata.constant_data["phi_mean"].values[0].T, expected, rtol=1e-5)


@pytest.mark.parametrize("beta", [1e6, 1e-6, 1e-90])
@pytest.mark.parametrize("inclusion", [1e-12, 0.5, 1.0])
def test_extreme_priors(corpus, beta, inclusion):
    fit = pt.sample(
        "lda_spike_slab", corpus, topics=4, warmup=3, draws=3, chains=1, seed=1, beta=beta, inclusion=inclusion
    )
    statistics = fit.idata.sample_stats
    assert np.isfinite(statistics["lp"]).all()
    assert (statistics["density_phi"] >= statistics["density_n_kw"]).all()
    assert np.allclose(fit.posterior["phi"].sum("word"), 1, atol=1e-5)


def test_with_labels_and_prediction(corpus):
    model = {
        "extends": "medlda",
        "name": "medlda_spike_slab",
        "blocks": {
            "phi": {"block": "spike_slab", "over": "word", "per": "topic", "concentration": 0.1, "inclusion": 0.2}
        },
    }
    fit = pt.sample(model, corpus, topics=4, warmup=10, draws=10, chains=1, seed=1)
    assert fit.score(corpus) == 1.0
    # Words that never occurred in training, alone and beside one that did.
    theta = fit.transform(["w29", "w29 w28 w00", "w00", ""], seed=1)
    assert np.isfinite(theta).all()
    assert np.allclose(theta.sum(axis=1), 1)


def test_words_of_no_topic_follow_the_prior():
    tokens = index_tokens(np.arange(0, 4001, 2), np.tile(np.array([2, 2], np.uint32), 2000), 3)
    phi = np.array([[0.5, 1.0], [0.5, 0.0], [0.0, 0.0]], np.float32)
    topics = NewTopics(tokens, Alpha.shared(np.array([1.0, 3.0])), seed=1, chain=0)
    shares = topics.mean_shares(phi, 5, 20)
    assert shares.mean(axis=0) == pytest.approx([0.25, 0.75], abs=0.02)
    assert not phi[2].any()
