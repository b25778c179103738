"""Concentrations under a hierarchical Dirichlet prior: tables, densities, and how many topics a corpus asks for."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.engine.bind import bind
from ppl_topics.models.hierarchical_dirichlet import HierarchicalDirichlet
from ppl_topics.samplers.concentration.dirichlet_tables import count_tables
from ppl_topics.samplers.concentration.histograms import alpha_statistics
from ppl_topics.schedule.plan import make_plan

HOW = {"draws": 20, "warmup": 200, "chains": 1, "seed": 1, "progress": False}
COUNTS = np.array([[7, 2], [1, 0], [3, 0], [7, 5]])
ALPHA = np.array([0.8, 0.3])
SIZE = 20_000


def statistics():
    z = np.concatenate([np.repeat([0, 1], row) for row in COUNTS]).astype(np.uint8)
    return alpha_statistics(np.concatenate([[0], COUNTS.sum(axis=1).cumsum()]), z, 2, False)


def exact_tables(n, alpha):
    """Probabilities of 0, 1, ..., n tables (Antoniak 1974): each token opens one or not."""
    probability = np.zeros(n + 1)
    probability[0] = 1.0
    for others in range(n):
        opens = alpha / (alpha + others)
        probability = np.append(0.0, probability[:-1]) * opens + probability * (1.0 - opens)
    return probability


def p_value(drawn, alpha):
    """Chi-square of the tables of the first topic, those of its documents added up."""
    expected = np.ones(1)
    for n in COUNTS[:, 0]:
        expected = np.convolve(expected, exact_tables(n, alpha))
    counts = np.bincount(drawn, minlength=len(expected))[: len(expected)]
    # The rare ends go with the last cell before them.
    low, high = np.flatnonzero(expected * len(drawn) > 10.0)[[0, -1]]
    edges = [0, *range(low + 1, high + 1)]
    return stats.chisquare(np.add.reduceat(counts, edges), np.add.reduceat(expected, edges) * len(drawn)).pvalue


def test_tables_have_their_distribution():
    """A p-value above 1e-4; that of tables with an alpha 5% too large is below."""
    found = statistics()
    drawn = np.array([count_tables(ALPHA, found, Key(3, 0, sweep)) for sweep in range(SIZE)])
    assert p_value(drawn[:, 0], ALPHA[0]) > 1e-4
    assert p_value(drawn[:, 0], 1.05 * ALPHA[0]) < 1e-4
    assert ((drawn[:, 1] >= 2) & (drawn[:, 1] <= 7)).all()


@pytest.fixture
def state():
    corpus = pt.Corpus.from_texts(["red green blue", "blue black"])
    return bind(make_plan(pt.load_spec("hdp_lda", {"topics": 3})), corpus).initial_state(1, 0)


def test_log_density_is_that_of_the_sum_the_shares_and_g(state):
    block = HierarchicalDirichlet(shape=2.0, rate=0.5, top_shape=3.0, top_rate=1.5)
    state.arrays["top_concentration"][...] = 1.7
    alpha = np.array([0.4, 1.1, 0.2])
    total = alpha.sum()
    expected = stats.gamma.logpdf(total, 2.0, scale=2.0) + stats.gamma.logpdf(1.7, 3.0, scale=1 / 1.5)
    expected += stats.dirichlet.logpdf(alpha / total, np.full(3, 1.7 / 3)) - 2.0 * np.log(total)
    assert block.log_density(alpha, state) == pytest.approx(expected)
    # With g / K = 1 the shares are uniform, and the whole is that of a gamma variate over the simplex.
    state.arrays["top_concentration"][...] = 3.0
    flat = stats.gamma.logpdf(total, 2.0, scale=2.0) + gammaln(3.0) - 2.0 * np.log(total)
    flat += stats.gamma.logpdf(3.0, 3.0, scale=1 / 1.5)
    assert block.log_density(alpha, state) == pytest.approx(flat)


def test_draws_from_the_prior_have_its_moments(state):
    """Means within 4 standard errors, which fails with probability 1e-3; those of another rate are not."""
    block, rng = HierarchicalDirichlet(shape=2.0, rate=0.5, top_shape=3.0, top_rate=1.5), np.random.default_rng(1)
    draws = []
    for _ in range(4000):
        top = block.simulate("top_concentration", {}, state, rng)
        draws.append([*block.simulate("alpha", {"top_concentration": top}, state, rng), top])
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert (np.abs(np.mean(draws, axis=0) - [4 / 3, 4 / 3, 4 / 3, 2.0]) < 4.0 * error).all()
    assert (np.abs(np.mean(draws, axis=0) - [5 / 3, 5 / 3, 5 / 3, 2.5]) > 4.0 * error).all()


def test_it_is_a_prior_of_the_weights_alone():
    beta = {"block": "hierarchical_dirichlet", "shape": 1.0, "rate": 1.0, "top_shape": 1.0, "top_rate": 1.0}
    spec = {"extends": "lda", "name": "wrong", "blocks": {"phi": {"concentration": "beta"}, "beta": beta}}
    with pytest.raises(pt.SpecError, match="it must be the concentration of theta, the weights of topics"):
        pt.plan(spec)


def test_few_topics_are_used_where_there_are_few():
    """Three sets of words that never meet: spare topics go, slowly; plain LDA uses nearly all."""
    rng = np.random.default_rng(2)
    texts = [" ".join(f"{'abc'[i % 3]}{w}" for w in rng.integers(0, 10, 40)) for i in range(60)]
    corpus = pt.Corpus.from_texts(texts)
    used = {
        model: (pt.sample(model, corpus, topics=20, **HOW).posterior["topic_share"] > 0.0).sum("topic").values
        for model in ("hdp_lda", "lda")
    }
    assert used["hdp_lda"].min() >= 3
    assert np.median(used["hdp_lda"]) <= 12
    assert np.median(used["lda"]) >= 15
