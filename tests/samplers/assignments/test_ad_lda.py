"""AD-LDA: what it shares with collapsed Gibbs sampling, and how far from the posterior it is.

The distribution of one sweep on the tiny corpus is enumerated here, in plain Python, from the algorithm's description;
its stationary distribution needs no long run, and a run of the kernel must agree with it.
"""

import itertools

import numba
import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.enumeration import enumerate_posterior
from ppl_topics.diagnostics.exactness.goodness import expected_total_variation, total_variation
from ppl_topics.diagnostics.exactness.tiny import TINY_DOCUMENTS, TinyModel, tiny_spec
from ppl_topics.engine.bind import bind_tokens, index_tokens
from ppl_topics.engine.executor import Executor
from ppl_topics.samplers.assignments.ad_lda import deal_documents, make_shards
from ppl_topics.schedule import make_plan


def documents(n_docs=60, n_words=12, seed=2):
    generator = np.random.default_rng(seed)
    result = [generator.integers(0, n_words, generator.integers(0, 30)).tolist() for _ in range(n_docs)]
    result[0] = result[n_docs // 2] = result[-1] = []
    return result


def bound(kernel, texts, n_words=12, topics=5, **options):
    """The kernel on documents of word ids."""
    doc_ptr = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    words = np.array([word for text in texts for word in text], dtype=np.uint32)
    spec = pt.load_spec("lda_collapsed", {"topics": topics}).with_schedule(pt.step("z", kernel, **options), "test")
    return bind_tokens(make_plan(spec, partial=True), index_tokens(doc_ptr, words, n_words), n_words)


def after(model, sweeps=4, debug=False):
    """The state after some sweeps."""
    executor, state = Executor(model, debug), model.initial_state(1, 0)
    memories = executor.memories(state)
    for sweep in range(sweeps):
        executor.sweep(state, memories, 1, 0, sweep)
    return state


@pytest.mark.parametrize("options", [{}, {"words": {"max_count": 4}}])
def test_one_shard_is_collapsed_gibbs(options):
    texts = [*documents(), [12, 13, 13]]
    one = after(bound("ad_lda", texts, n_words=14, shards=1, **options))
    collapsed = after(bound("collapsed_gibbs", texts, n_words=14, **options))
    assert np.array_equal(one.z, collapsed.z)
    assert np.array_equal(one.n_wk, collapsed.n_wk)


def test_more_shards_are_not_collapsed_gibbs():
    z = [after(bound("ad_lda", documents(), shards=shards)).z for shards in (1, 2, 8)]
    assert not np.array_equal(z[0], z[1])
    assert not np.array_equal(z[1], z[2])


@pytest.mark.parametrize("shards", [2, 7, 100])
def test_bits_do_not_depend_on_threads(shards):
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        results.append(after(bound("ad_lda", documents(), shards=shards)).z)
    assert np.array_equal(*results)


@pytest.mark.parametrize("shards", [1, 3, 8, 10**12])
@pytest.mark.parametrize("texts", [[[]], [[], [0], []], [[3, 3, 1]], documents(9)], ids=str)
def test_counts_are_those_of_z(texts, shards):
    after(bound("ad_lda", texts, shards=shards), debug=True)


def test_only_selected_words_move():
    texts = [*documents(), [12, 13, 13] * 2]
    model = bound("ad_lda", texts, n_words=14, shards=3, words={"max_count": 4})
    before, state = model.initial_state(1, 0).z, after(model, debug=True)
    moved = before != state.z
    assert moved.any()
    assert set(state.tokens.words[moved]) <= {12, 13}


def test_documents_are_dealt_evenly_and_once():
    lengths = np.random.default_rng(1).integers(0, 50, 400)
    doc_ptr = np.concatenate([[0], np.cumsum(lengths)])
    docs, shard_ptr = deal_documents(doc_ptr, 7)
    assert np.array_equal(np.sort(docs), np.arange(400))
    shards = [docs[first:last] for first, last in itertools.pairwise(shard_ptr)]
    masses = [lengths[shard].sum() + len(shard) for shard in shards]
    assert max(masses) - min(masses) <= 51
    assert all((np.diff(shard) > 0).all() for shard in shards)


def test_a_copy_holds_the_words_of_its_shard_alone():
    model = bound("ad_lda", documents(), shards=20)
    tokens = model.tokens
    shards = make_shards(tokens.doc_ptr, tokens.words, 12, 20)
    for shard in range(20):
        dealt = np.isin(tokens.docs, shards.docs[shards.ptr[shard] : shards.ptr[shard + 1]])
        held = shards.row_words[shards.row_ptr[shard] : shards.row_ptr[shard + 1]]
        assert np.array_equal(held, np.unique(tokens.words[dealt]))
        assert np.array_equal(shards.rows[shard, held], np.arange(len(held)))
    (memory,) = Executor(model).memories(model.initial_state(1, 0))
    assert memory.n_wk.shape == (len(shards.row_words), 5)


@pytest.mark.parametrize("shards", [0, -3, 2.5, "two", True])
def test_a_wrong_number_of_shards_is_one_line(shards):
    with pytest.raises(pt.PplTopicsError, match="shards") as error:
        pt.plan("lda_collapsed", topics=3, schedule=pt.step("z", "ad_lda", shards=shards))
    assert "\n" not in str(error.value)


def test_plan_and_sample_say_that_it_is_not_exact():
    schedule = pt.cycle(pt.step("z", "ad_lda", shards=2))
    assert "NOT exact: ad_lda" in str(pt.plan("lda_collapsed", topics=2, schedule=schedule)).splitlines()
    corpus = pt.Corpus.from_texts(["red green red", "green blue", "blue blue red"])
    with pytest.warns(pt.InexactKernelWarning, match="ad_lda"):
        fit = pt.sample("lda_collapsed", corpus, topics=2, schedule=schedule, draws=5, warmup=0, seed=1, progress=False)
    assert not fit.exact


def test_no_model_chooses_it():
    corpus = pt.Corpus.from_texts(["red green red", "green blue"])
    assert "ad_lda" not in str(pt.plan("lda_collapsed", corpus, topics=1000))


def tiny(shards, texts=TINY_DOCUMENTS):
    """The kernel on the corpus of `verify`, with a state and the enumerated posterior."""
    spec = tiny_spec(pt.load_spec("lda_collapsed")).with_schedule(pt.step("z", "ad_lda", shards=shards), "test")
    model = TinyModel(make_plan(spec), texts).bound
    state = model.initial_state(1, 0)
    return model, state, enumerate_posterior(state)


def shard_distribution(start, own, state):
    """Distribution of the topics of a shard's tokens after its sweep: all assignments, with their probabilities."""
    docs, words, alpha, beta = state.tokens.docs, state.tokens.words, state.alpha, state.beta
    paths = [(list(start), 1.0)]
    for token in own:
        others = np.delete(np.arange(len(start)), token)
        same_doc, same_word = docs[others] == docs[token], words[others] == words[token]
        longer = []
        for z, probability in paths:
            one_hot = np.eye(len(alpha))[np.array(z)[others]]
            weights = (same_doc @ one_hot + alpha) * (same_word @ one_hot + beta[words[token]])
            weights /= one_hot.sum(axis=0) + beta.sum()
            for topic, weight in enumerate(weights / weights.sum()):
                longer.append(([*z[:token], topic, *z[token + 1 :]], probability * weight))
        paths = longer
    return np.array([z for z, _ in paths]), np.array([probability for _, probability in paths])


def transition_matrix(state, exact, shards):
    """Distribution of the state after one sweep from each state: given it, the shards are independent."""
    n_states, tokens = exact.states.shape
    docs, shard_ptr = deal_documents(state.tokens.doc_ptr, shards)
    dealt = [docs[first:last] for first, last in itertools.pairwise(shard_ptr)]
    place = state.sizes.topics ** np.arange(tokens)[::-1]
    matrix = np.zeros((n_states, n_states))
    for number, start in enumerate(exact.states):
        ends, probability = np.zeros(1, dtype=np.int64), np.ones(1)
        for own_docs in dealt:
            own = np.flatnonzero(np.isin(state.tokens.docs, own_docs))
            paths, distribution = shard_distribution(start.tolist(), own, state)
            ends = np.add.outer(ends, paths[:, own] @ place[own]).ravel()
            probability = np.outer(probability, distribution).ravel()
        np.add.at(matrix[number], ends, probability)
    assert np.allclose(matrix.sum(axis=1), 1.0)
    return matrix


def stationary_distribution(matrix):
    distribution = np.full(len(matrix), 1.0 / len(matrix))
    for _ in range(10):
        matrix = matrix @ matrix
    distribution = distribution @ matrix
    assert np.allclose(distribution @ matrix, distribution, atol=1e-13)
    return distribution


def long_run(model, state, exact, sweeps):
    """How often the kernel itself was in each state."""
    executor = Executor(model)
    memories, visits = executor.memories(state), np.zeros(len(exact.probability), dtype=np.int64)
    for sweep in range(sweeps):
        executor.sweep(state, memories, 1, 0, sweep)
        visits[exact.index(state.z, state.sizes.topics)] += 1
    return visits


def test_total_variation_to_the_posterior_with_two_shards():
    """The figure of docs/exactness.md."""
    model, state, exact = tiny(2)
    distribution = stationary_distribution(transition_matrix(state, exact, 2))
    distance = 0.5 * np.abs(distribution - exact.probability).sum()
    assert distance == pytest.approx(0.172, abs=0.0005)
    visits = long_run(model, state, exact, 20_000)
    noise = expected_total_variation(20_000, distribution)
    assert total_variation(visits, distribution) < 2 * noise
    assert total_variation(visits, exact.probability) > 3 * noise


def test_one_shard_has_the_posterior_for_its_stationary_distribution():
    """The enumeration above is right where the answer is known."""
    _, state, exact = tiny(1, [[0, 0, 1], [0, 1]])
    assert np.allclose(stationary_distribution(transition_matrix(state, exact, 1)), exact.probability, atol=1e-10)


@pytest.mark.parametrize("model", ["lda", "lda_collapsed"])
def test_verify_refuses_it(model):
    result = pt.verify(model, kernel="ad_lda", replicates=1000, long_run=2000)
    (certificate,) = result.certificates
    assert not certificate.declared_exact
    assert not certificate.certified
    assert certificate.refused_by == "alone"
    assert certificate.p_value < 1e-7
    assert "z: ad_lda                        inexact, as declared, run alone" in str(result)


@pytest.mark.slow
def test_verify_does_not_certify_what_it_has_not_tested():
    result = pt.verify("lda_collapsed", replicates=100, long_run=500)
    certificate = next(c for c in result.certificates if c.kernel == "ad_lda")
    assert not certificate.certified
    assert np.isnan(certificate.p_value)
    assert "z: ad_lda                        inexact, as declared, not measured unless named" in str(result)
    assert result.summary.endswith("2 inexact, as declared: ad_lda, light_collapsed")
    assert result.passed
