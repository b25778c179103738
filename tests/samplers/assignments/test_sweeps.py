"""The compiled sweeps: one-step distributions against enumeration, invariants, threads, and degenerate corpora.

The statistical tests have a false-alarm rate of 1e-6 over seeds, and reject a planted bug.
"""

import itertools
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from corpus_arrays import fixed
from scipy import stats

from ppl_topics.core.keys import Key
from ppl_topics.core.tokens import TokensByDocument
from ppl_topics.samplers.assignments.collapsed_gibbs import Priors, sweep_collapsed
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi
from ppl_topics.samplers.assignments.likely_topics import eight_at_least, list_likely_topics
from ppl_topics.samplers.assignments.partially_collapsed import sweep_partially_collapsed
from ppl_topics.samplers.assignments.sparse_partially_collapsed import sweep_sparse_partially_collapsed
from ppl_topics.samplers.counts import Counts, count_words, make_chunks, point_to_words, sort_by_word
from ppl_topics.samplers.responses.response_term import NO_RESPONSE

FALSE_ALARM = 1e-6
SHARED = np.empty(0, np.int64)  # documents have the same alpha
KERNELS = ["collapsed", "partially_collapsed", "sparse_partially_collapsed"]


def make_state(documents, n_words, n_topics, seed=1, dtype=np.uint8):
    generator = np.random.default_rng(seed)
    state = SimpleNamespace(n_topics=n_topics)
    state.doc_ptr = fixed(np.concatenate([[0], np.cumsum([len(words) for words in documents])]).astype(np.int64))
    state.words = fixed(np.array([word for words in documents for word in words], dtype=np.uint32))
    state.z = generator.integers(0, n_topics, state.words.size).astype(dtype)
    state.selected = np.ones(n_words, dtype=bool)
    state.alpha = 0.1 + generator.random(n_topics)
    state.beta = 0.05 + generator.random(n_words)
    state.phi = generator.dirichlet(np.full(n_words, 0.5), size=n_topics).T.astype(np.float32).copy()
    state.word_ptr = point_to_words(state.words, n_words)
    state.by_word = sort_by_word(state.words, state.word_ptr)
    state.n_wk = np.empty((n_words, n_topics), dtype=np.int32)
    state.n_k = np.empty(n_topics, dtype=np.int64)
    recount(state)
    return state


def recount(state):
    count_words(state.z, state.word_ptr, state.by_word, state.n_wk, state.n_k)


def sweep(kernel, state, seed=1, n_chunks=5, number=0):
    key = Key(seed, 0, number)
    tokens = TokensByDocument(make_chunks(state.doc_ptr, n_chunks), state.doc_ptr, state.words, state.selected)
    if kernel == "collapsed":
        counts, priors = Counts(state.n_wk, state.n_k), Priors(state.alpha[None], SHARED, state.beta, state.beta.sum())
        sweep_collapsed(tokens, state.z, counts, priors, NO_RESPONSE, key)
        return
    given = AllGivenPhi(state.alpha[None], SHARED, state.phi)
    if kernel == "partially_collapsed":
        sweep_partially_collapsed(tokens, state.z, given, (), NO_RESPONSE, key)
    else:
        likely = list_likely_topics(state.word_ptr, state.selected, state.phi)
        sweep_sparse_partially_collapsed(tokens, state.z, given, likely, NO_RESPONSE, key)
    recount(state)


def assert_counts(state):
    n_wk = np.zeros_like(state.n_wk)
    np.add.at(n_wk, (state.words, state.z), 1)
    assert np.array_equal(state.n_wk, n_wk)
    assert np.array_equal(state.n_k, n_wk.sum(axis=0))


def random_documents(n_docs, n_words, seed=2):
    generator = np.random.default_rng(seed)
    documents = [generator.integers(0, n_words, generator.integers(0, 30)).tolist() for _ in range(n_docs)]
    documents[0] = documents[n_docs // 2] = documents[-1] = []
    documents[1] = [3]
    return documents


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n_topics", "dtype"), [(1, np.uint8), (4, np.uint8), (300, np.uint16)])
def test_counts_are_those_of_z(kernel, n_topics, dtype):
    state = make_state(random_documents(40, 12), 15, n_topics, dtype=dtype)
    before = state.z.copy()
    for seed in range(5):
        sweep(kernel, state, seed)
        assert state.z.max() < n_topics
        assert_counts(state)
    assert n_topics == 1 or np.mean(before != state.z) > 0.2


@pytest.mark.parametrize("kernel", KERNELS)
def test_only_selected_words_move(kernel):
    state = make_state(random_documents(40, 12), 12, 6)
    state.selected[::2] = False
    before = state.z.copy()
    for seed in range(3):
        sweep(kernel, state, seed)
    moved = before != state.z
    assert moved.any()
    assert state.selected[state.words[moved]].all()
    assert_counts(state)


@pytest.mark.parametrize("kernel", KERNELS)
def test_bits_do_not_depend_on_threads_or_chunks(kernel):
    results = []
    for n_threads, n_chunks in [(1, 1), (numba.config.NUMBA_NUM_THREADS, 7), (1, 100)]:
        state = make_state(random_documents(60, 12), 12, 9)
        numba.set_num_threads(n_threads)
        for seed in range(3):
            sweep(kernel, state, seed, n_chunks)
        results.append(state.z)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("documents", [[], [[]], [[], [0], []]])
def test_degenerate_corpora(kernel, documents):
    state = make_state(documents, 2, 3)
    sweep(kernel, state)
    assert_counts(state)


@pytest.mark.parametrize("kernel", ["partially_collapsed", "sparse_partially_collapsed"])
def test_no_mass_keeps_the_topic(kernel):
    state = make_state([[0, 0, 1], [0]], 2, 5)
    state.phi[0] = 0.0
    before = state.z.copy()
    sweep(kernel, state)
    assert np.array_equal(state.z[state.words == 0], before[state.words == 0])


@pytest.mark.parametrize("kernel", ["partially_collapsed", "sparse_partially_collapsed"])
def test_topics_of_probability_zero_are_never_drawn(kernel):
    state = make_state([[0, 1, 1, 0, 0]] * 50, 2, 4)
    state.phi[0, 1:3] = 0.0
    for seed in range(20):
        sweep(kernel, state, seed)
        assert not np.isin(state.z[state.words == 0], [1, 2]).any()


def one_sweep_distribution(words, start, conditional):
    """Distribution of the topics of one document after a sweep from `start`, by enumeration."""
    n_topics = conditional(0, list(start)).size
    distribution = {}
    for end in itertools.product(range(n_topics), repeat=len(words)):
        probability = 1.0
        current = list(start)
        for place, topic in enumerate(end):
            weights = conditional(place, current)
            probability *= weights[topic] / weights.sum()
            current[place] = topic
        distribution[end] = probability
    return np.array(list(distribution.values())), list(distribution)


def others(current, place, n_topics):
    rest = current[:place] + current[place + 1 :]
    return np.bincount(np.array(rest, dtype=int), minlength=n_topics)


@pytest.mark.parametrize("kernel", ["partially_collapsed", "sparse_partially_collapsed"])
@pytest.mark.parametrize("words", [[0], [0, 2], [1, 1, 0]])
def test_one_sweep_given_phi(kernel, words):
    n_docs, n_topics = 40_000, 3
    state = make_state([words] * n_docs, 3, n_topics)
    start = [0, 2, 0][: len(words)]
    state.z[:] = np.tile(start, n_docs)
    sweep(kernel, state)

    def distribution_with(alpha):
        def conditional(place, current):
            return (others(current, place, n_topics) + alpha) * state.phi[words[place]].astype(float)

        return one_sweep_distribution(words, start, conditional)

    distribution, outcomes = distribution_with(state.alpha)
    codes = {outcome: index for index, outcome in enumerate(outcomes)}
    drawn = [codes[tuple(row)] for row in state.z.reshape(n_docs, -1).tolist()]
    counts = np.bincount(drawn, minlength=distribution.size)
    assert stats.chisquare(counts, distribution * n_docs).pvalue > FALSE_ALARM
    wrong, _ = distribution_with(state.alpha * np.array([1.0, 1.2, 1.0]))
    assert stats.chisquare(counts, wrong * n_docs).pvalue < FALSE_ALARM


def many_topics(n_docs, seed=7):
    """Documents of three words and 40 topics: word 0 is listed in 3, word 1 in 6, word 2 likely in too many."""
    n_topics = 40
    state = make_state([[0, 1, 0, 2]] * n_docs, 3, n_topics)
    generator = np.random.default_rng(seed)
    state.alpha = np.full(n_topics, 0.5)
    state.phi[:] = generator.uniform(2e-5, 5e-5, (3, n_topics))
    state.phi[0, [3, 17, 39]] = [1.0, 0.01, 0.002]
    state.phi[1, ::7] = 1.0
    state.phi[2] = generator.random(n_topics)
    state.z[:] = np.tile(np.array([5, 6, 8, 30], dtype=np.uint8), n_docs)
    return state


def test_lists_hold_the_likely_topics():
    state = many_topics(1)
    lists = list_likely_topics(state.word_ptr, state.selected, state.phi)
    assert np.diff(lists.pointer).tolist() == [3, 6, 0]
    assert lists.topics[: lists.pointer[-1]].tolist() == [3, 17, 39, 0, 7, 14, 21, 28, 35]
    assert np.array_equal(lists.values[:3], state.phi[0, [3, 17, 39]])
    for word in (0, 1):
        unlisted = state.phi[word] < lists.level[word]
        assert unlisted.sum() == 40 - np.diff(lists.pointer)[word]
        others = state.phi[word, unlisted].sum(dtype=float)
        assert others < lists.rest[word] < 1.011 * others
    state.selected[0] = False
    assert np.diff(list_likely_topics(state.word_ptr, state.selected, state.phi).pointer).tolist() == [0, 6, 0]


@numba.njit
def masks(matrix, level):
    return [eight_at_least(matrix, 1, begin, level) for begin in range(matrix.shape[1] - 7)]


def test_comparison_of_eight_cells_at_once():
    matrix = np.random.default_rng(3).random((3, 30), dtype=np.float32)
    matrix[1, 5] = level = np.float32(0.4)
    plain = [sum(1 << lane for lane in range(8) if matrix[1, begin + lane] >= level) for begin in range(23)]
    assert masks(matrix, level) == plain


def first_token_p_value(state, drawn, distribution):
    """Chi-square of the first token's topic, the topics outside its word's list lumped by fours."""
    likely = state.phi[0] > 1e-4
    groups = np.where(likely, np.arange(40) + 40, np.arange(40) // 4)
    expected = np.bincount(groups, distribution / distribution.sum() * drawn.size, minlength=80)
    observed = np.bincount(groups[drawn], minlength=80)
    used = expected > 0.0
    return stats.chisquare(observed[used], expected[used]).pvalue


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e-36])
def test_topics_outside_the_list(scale):
    """The first token of each document, whose others are in topics that its word is unlikely in.

    They are so many that topics which are not listed have a tenth of the mass.
    """
    n_docs, heavy = 20_000, 2000
    state = many_topics(1)
    documents = [[0] + [2] * heavy]
    topics = np.array([5, *[6] * (heavy // 2), *[30] * (heavy // 2)], dtype=np.uint8)
    drawn = np.empty(n_docs, dtype=np.int64)
    phi, alpha = state.phi, state.alpha
    state = make_state(documents, 3, 40)
    state.phi, state.alpha = (phi * np.float32(scale)).astype(np.float32), alpha
    state.selected[2] = False
    for doc in range(n_docs):
        state.z[:] = topics
        sweep("sparse_partially_collapsed", state, 11, 1, doc)
        drawn[doc] = state.z[0]
    n_dk = np.bincount(topics[1:], minlength=40)
    distribution = (n_dk + alpha) * state.phi[0].astype(float)
    assert 0.05 < distribution[phi[0] < 1e-4].sum() / distribution.sum() < 0.4
    state.phi = phi
    assert first_token_p_value(state, drawn, distribution) > FALSE_ALARM
    forgotten = np.where(phi[0] < 1e-4, 0.8, 1.0) * distribution
    assert first_token_p_value(state, drawn, forgotten) < FALSE_ALARM


@pytest.mark.parametrize("kernel", ["partially_collapsed", "sparse_partially_collapsed"])
@pytest.mark.parametrize("n_topics", [3, 12])
def test_weights_that_underflow(kernel, n_topics):
    """Documents of one token with tiny alpha: float32 has none of their weights."""
    n_docs = 40_000
    state = make_state([[0]] * n_docs, 2, n_topics)
    state.alpha = 1e-200 * state.alpha
    sweep(kernel, state)
    distribution = state.alpha * state.phi[0]
    counts = np.bincount(state.z, minlength=n_topics)
    assert stats.chisquare(counts, distribution / distribution.sum() * n_docs).pvalue > FALSE_ALARM
    unweighted = np.full(n_topics, n_docs / n_topics)
    assert stats.chisquare(counts, unweighted).pvalue < FALSE_ALARM


def test_one_collapsed_sweep():
    words, start, n_topics, n_sweeps = [0, 1, 0], [0, 1, 1], 2, 20_000
    state = make_state([words], 2, n_topics)

    def distribution_with(beta):
        def conditional(place, current):
            n_dk = others(current, place, n_topics)
            n_wk = np.zeros((2, n_topics))
            for other, topic in enumerate(current):
                n_wk[words[other], topic] += other != place
            word_factor = (n_wk[words[place]] + beta[words[place]]) / (n_wk.sum(axis=0) + beta.sum())
            return (n_dk + state.alpha) * word_factor

        return one_sweep_distribution(words, start, conditional)

    distribution, outcomes = distribution_with(state.beta)
    counts = np.zeros(distribution.size)
    for seed in range(n_sweeps):
        state.z[:] = start
        recount(state)
        sweep("collapsed", state, seed)
        counts[outcomes.index(tuple(state.z.tolist()))] += 1
    assert stats.chisquare(counts, distribution * n_sweeps).pvalue > FALSE_ALARM
    wrong, _ = distribution_with(state.beta * np.array([1.3, 1.0]))
    assert stats.chisquare(counts, wrong * n_sweeps).pvalue < FALSE_ALARM


def test_word_index_and_chunks():
    words = np.array([2, 0, 2, 4, 0], dtype=np.uint32)
    word_ptr = point_to_words(words, 6)
    by_word = sort_by_word(words, word_ptr)
    assert word_ptr.tolist() == [0, 2, 2, 4, 4, 5, 5]
    assert by_word.tolist() == [1, 4, 0, 2, 3]
    pointer = np.concatenate([[0], np.cumsum(np.random.default_rng(1).integers(0, 50, 200))])
    for n_chunks in (1, 3, 64, 500):
        chunk_ptr = make_chunks(pointer, n_chunks)
        assert chunk_ptr[0] == 0
        assert chunk_ptr[-1] == 200
        assert (np.diff(chunk_ptr) >= 0).all()
    assert np.diff(pointer[make_chunks(pointer, 4)]).max() < 1.2 * pointer[-1] / 4
