"""The kernel of z that draws from the full conditional with a response, against enumeration of tiny documents.

A corpus holds thousands of copies of two documents, so that one call gives as many independent draws. Statistical tests
have a false-alarm rate of 1e-6 over seeds, and reject planted bugs.
"""

import itertools

import numba
import numpy as np
import pytest
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.core.alpha import Alpha
from ppl_topics.core.keys import Key
from ppl_topics.corpus.labels import Labels
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.engine.bind import bind, index_tokens
from ppl_topics.engine.executor import Executor
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi
from ppl_topics.samplers.assignments.gram_partially_collapsed import sweep_gram_partially_collapsed
from ppl_topics.samplers.responses.curvature import curvature_of, shared_factors
from ppl_topics.samplers.responses.response_term import new_term
from ppl_topics.samplers.variates.simd_categorical import new_sums
from ppl_topics.samplers.variates.simd_exponential_weights import LARGEST_EXPONENT, running_sums_of_exponentials
from ppl_topics.schedule import make_plan

FALSE_ALARM = 1e-6
COPIES = 20_000
DOCUMENTS = [(0, 1, 0), (2, 2)]
TOPICS = [1, 3, 11]
"""Below eight, and above with a rest."""

OMEGAS = {
    "by document": [[0.7] * 3, [1.9] * 3],
    "by class": [[0.5, 1.0, 2.5], [0.5, 1.0, 2.5]],
    "none": [[0.5, 1.0, 2.5], [0.0] * 3],
    "some missing": [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]],
    "one missing, by class": [[0.5, 0.0, 2.5], [0.5, 1.0, 2.5]],
}
SPREADS = [0.7, 4.0, 40.0]
"""Of coefficients: of the last, exponents are too large for float32."""

BUGS = ["no square", "not the other tokens", "the token itself twice", "N_d for its square", "wrong sign"]


def make_distribution(n_topics, omegas, spread=0.7):
    """Prior, topics, coefficients, b, omega and what fixed features add."""
    rng = np.random.default_rng(n_topics)
    alpha, phi = rng.gamma(2.0, 0.3, n_topics), rng.dirichlet(np.ones(n_topics), 3).astype(np.float32)
    # Large coefficients leave a single state likely, unless they are nearly equal, or their sums are.
    eta = spread * (1.0 + rng.normal(0.0, min(1.0, 1.0 / spread**1.5), (3, n_topics)))
    omega = np.array(OMEGAS[omegas])
    fixed = rng.normal(0.0, 0.5, (2, 3))
    b = np.where(omega > 0, omega * (spread + rng.normal(0.0, 1.0, (2, 3))), 0.0)
    return alpha, phi, eta, b, omega, fixed


def states_of(n_topics, size):
    return np.array(list(itertools.product(range(n_topics), repeat=size)))


def distribution_of(number, distribution):
    """Probabilities of all assignments of a document."""
    alpha, phi, eta, b, omega, fixed = distribution
    words = np.array(DOCUMENTS[number])
    states = states_of(len(alpha), len(words))
    counts = np.eye(len(alpha))[states].sum(axis=1)
    s = counts @ eta.T / len(words) + fixed[number]
    value = gammaln(counts + alpha).sum(axis=1) + np.log(phi[words, states].astype(float)).sum(axis=1)
    value += (b[number] * s - omega[number] * s**2 / 2).sum(axis=1)
    return states, np.exp(value - np.logaddexp.reduce(value))


def sweep(distribution, n_sweeps, seed=1, bug=""):
    """Sweep from draws of the distribution, and return the topics of the copies of both documents."""
    alpha, phi, eta, b, omega, fixed = distribution
    rng = np.random.default_rng(seed)
    lengths = [len(words) for words in DOCUMENTS]
    tokens = index_tokens(
        np.concatenate([[0], np.cumsum(lengths * COPIES)]), np.array(sum(DOCUMENTS, ()) * COPIES, np.uint32), 3
    )
    drawn = []
    for number in range(2):
        states, probability = distribution_of(number, distribution)
        drawn.append(states[rng.choice(len(states), COPIES, p=probability)])
    z = np.concatenate(drawn, axis=1).ravel().astype(np.uint8)
    all_b, all_omega, all_fixed = (np.tile(values, (COPIES, 1)) for values in (b, omega, fixed))
    for number in range(n_sweeps):
        counts = [np.eye(len(alpha))[part].mean(axis=1) for part in split(z)]
        fitted = np.stack([c @ eta.T for c in counts], axis=1).reshape(-1, 3)
        fitted += all_fixed
        if bug == "not the other tokens":
            fitted = all_fixed
        if bug == "wrong sign":
            fitted = -fitted
        if bug == "the token itself twice":
            fitted = fitted + np.repeat([1 / 3, 1 / 2], 3).reshape(2, 3)[np.arange(2 * COPIES) % 2] * eta.mean(axis=1)
        term = new_term(eta, all_b, all_omega, fitted, tokens.doc_lengths)
        curvature = curvature_of(term.eta, all_omega, tokens.doc_lengths)
        if bug == "no square":
            curvature.scale[:] = 0.0
        if bug == "N_d for its square":
            curvature.scale[:] *= tokens.doc_lengths
        by_document = tokens.by_document(np.ones(3, bool))
        sweep_gram_partially_collapsed(
            by_document, z, AllGivenPhi.of(Alpha.shared(alpha), phi), curvature, term, Key(seed, 0, number)
        )
    return split(z), curvature


def split(z):
    by_copy = z.reshape(COPIES, -1)
    return by_copy[:, : len(DOCUMENTS[0])], by_copy[:, len(DOCUMENTS[0]) :]


def p_value(drawn, distribution):
    """The lesser of both documents' p-values, doubled."""
    values = []
    for number, z in enumerate(drawn):
        states, probability = distribution_of(number, distribution)
        cells = z.astype(np.int64) @ len(distribution[0]) ** np.arange(z.shape[1])[::-1]
        values.append(chi_square(np.bincount(cells, minlength=len(states)), probability))
    return min(1.0, 2 * min(values))


@pytest.mark.parametrize("omegas", OMEGAS)
@pytest.mark.parametrize("n_topics", TOPICS)
def test_the_distribution_is_invariant(n_topics, omegas):
    distribution = make_distribution(n_topics, omegas)
    drawn, curvature = sweep(distribution, 3)
    assert p_value(drawn, distribution) > FALSE_ALARM
    assert np.isnan(curvature.scale).any() == ("missing" in omegas)


@pytest.mark.parametrize("spread", SPREADS[1:])
@pytest.mark.parametrize("n_topics", TOPICS[1:])
def test_the_distribution_is_invariant_at_large_coefficients(n_topics, spread):
    distribution = make_distribution(n_topics, "by document", spread)
    # Several states are likely, or it would be no test.
    assert all(
        probability.max() < 0.9 for _, probability in (distribution_of(number, distribution) for number in range(2))
    )
    drawn, curvature = sweep(distribution, 3)
    assert p_value(drawn, distribution) > FALSE_ALARM
    assert (curvature.scale.max() * curvature.gram.max() > 32.0) == (spread == SPREADS[2])


@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.parametrize("n_topics", TOPICS[1:])
def test_planted_bugs(n_topics, bug):
    distribution = make_distribution(n_topics, "by document", 2.0)
    assert p_value(sweep(distribution, 3)[0], distribution) > FALSE_ALARM
    assert p_value(sweep(distribution, 3, bug=bug)[0], distribution) < FALSE_ALARM


def plain_sweeps(distribution, n_sweeps, bug="", seed=1):
    """The full conditional in plain NumPy, over all copies of each document from draws of the distribution."""
    alpha, phi, eta, b, omega, fixed = distribution
    rng, drawn = np.random.default_rng(seed), []
    for number, words in enumerate(DOCUMENTS):
        states, probability = distribution_of(number, distribution)
        z, size, rows = states[rng.choice(len(states), COPIES, p=probability)], len(words), np.arange(COPIES)
        for _ in range(n_sweeps):
            m = eta.T[z].sum(axis=1) + size * fixed[number]
            for token, word in enumerate(words):
                old = z[:, token].copy()
                counts = np.eye(len(alpha))[z].sum(axis=1)
                counts[rows, old] -= 1
                others = m - eta.T[old]
                gain = b[number] @ eta / size - (omega[number] @ eta**2 + 2 * (omega[number] * others) @ eta) / (
                    2 * size**2
                )
                weights = np.log(counts + alpha) + np.log(phi[word].astype(float)) + gain
                sums = np.exp(weights - weights.max(axis=1, keepdims=True)).cumsum(axis=1)
                z[:, token] = (sums < rng.random(COPIES)[:, None] * sums[:, -1:]).sum(axis=1)
                if bug != "G n stays":
                    m += eta.T[z[:, token]] - eta.T[old]
        drawn.append(z)
    return drawn


@pytest.mark.parametrize("n_topics", TOPICS[1:])
def test_counts_that_are_not_kept_up_to_date_are_refused(n_topics):
    distribution = make_distribution(n_topics, "by document", 2.0)
    assert p_value(plain_sweeps(distribution, 3), distribution) > FALSE_ALARM
    assert p_value(plain_sweeps(distribution, 3, "G n stays"), distribution) < FALSE_ALARM


def test_bits_do_not_depend_on_threads():
    distribution, drawn = make_distribution(11, "some missing"), []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        drawn.append(np.concatenate(sweep(distribution, 1)[0], axis=1))
    assert np.array_equal(*drawn)


def test_without_a_known_target_it_is_a_plain_topic_model():
    """The same bits of z as without a response."""
    texts = ["aa bb cc aa", "bb", "cc cc aa bb", "aa dd dd"] * 5
    labels = Labels("real", np.full((20, 1), np.nan), np.array(["y"]))
    drawn = []
    for model, given in (("lda", None), ("slda_gaussian", labels)):
        steps = pt.cycle(pt.step("phi", "dirichlet_rows"), pt.step("z", "gram_partially_collapsed"))
        spec = pt.load_spec(model, {"topics": 4, "alpha": 0.3, "beta": 0.2}).with_schedule(steps, "test")
        bound = bind(make_plan(spec, partial=True), pt.Corpus.from_texts(texts, labels=given))
        state, executor = bound.initial_state(3, 0), Executor(bound)
        state.set_z(np.arange(state.z.size) % 4)
        memories = executor.memories(state)
        for number in range(3):
            executor.sweep(state, memories, 3, 0, number)
        drawn.append(state.z)
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize("n_topics", TOPICS[1:])
@pytest.mark.parametrize("spread", [1e6, 1e100, 1e160, np.nan])
def test_huge_coefficients(n_topics, spread):
    """What is not a number moves no token."""
    alpha, phi, eta, b, omega, fixed = make_distribution(n_topics, "by document")
    tokens = index_tokens(np.array([0, 3, 5]), np.array(sum(DOCUMENTS, ()), np.uint32), 3)
    before = np.arange(5, dtype=np.uint8) % n_topics
    z, lengths = before.copy(), tokens.doc_lengths
    with np.errstate(all="ignore"):
        term = new_term(spread * eta, b, omega, spread * fixed, lengths)
        curvature = curvature_of(term.eta, omega, lengths)
    by_document = tokens.by_document(np.ones(3, bool))
    sweep_gram_partially_collapsed(
        by_document, z, AllGivenPhi.of(Alpha.shared(alpha), phi), curvature, term, Key(1, 0, 0)
    )
    assert (z < n_topics).all()
    assert spread < 1e150 or np.array_equal(z, before)


@pytest.mark.parametrize("omegas", OMEGAS)
def test_factors_of_curvatures(omegas):
    omega = np.array(OMEGAS[omegas])
    u, v = shared_factors(omega)
    found = ~np.isnan(u)
    np.testing.assert_array_equal(np.outer(u, v)[found], omega[found])
    assert found.all() == ("missing" not in omegas)


def test_factors_of_no_curvatures():
    u, v = shared_factors(np.zeros((4, 0)))
    assert u.tolist() == [0.0] * 4
    assert len(v) == 0


@numba.njit
def tilted(weight, factors, row, tilt, bends, left, scale, sums):
    return running_sums_of_exponentials(weight, factors, row, tilt, bends, left, scale, sums)


@pytest.mark.parametrize("size", [1, 5, 8, 9, 16, 100])
def test_running_sums(size):
    """Each weight, from the total where the others are zero, is right to a few units in the last place."""
    rng = np.random.default_rng(size)
    factors, bends = rng.random((2, size)).astype(np.float32), rng.normal(size=(size, size)).astype(np.float32)
    tilt = rng.uniform(-80.0, LARGEST_EXPONENT - 10.0, size).astype(np.float32)
    scale, sums = np.float32(1.7), new_sums(size)
    for cell in range(size):
        weight = np.zeros(size, np.float32)
        weight[cell] = rng.random()
        exponent = float(np.float32(tilt[cell] + scale * bends[0, cell]))
        expected = float(weight[cell]) * float(factors[1, cell]) * np.exp(exponent)
        assert tilted(weight, factors, 1, tilt, bends, 0, scale, sums) == pytest.approx(expected, rel=6e-7)
    weight = np.ones(size, np.float32)
    tilt[:] = -1e30
    assert 0.0 <= tilted(weight, factors, 1, tilt, bends, 0, scale, sums) < size * 1e-37
