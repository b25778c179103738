"""What a sweep on a device draws: the very topics of a sweep in float64, and by lists the same distribution."""

import numpy as np
import pytest
from device_reference import bound_to, on_device, swept
from scipy.stats import chisquare

from ppl_topics.core.alpha import Alpha
from ppl_topics.core.kernel import WordSelection
from ppl_topics.core.keys import Key
from ppl_topics.cuda import given_phi, steps
from ppl_topics.cuda.warp import LANES
from ppl_topics.errors import RunError
from ppl_topics.samplers.responses.response_term import ResponseTerm

KEY = Key(2**40 + 3, 1, 5, 2)
DOCUMENTS = [[0, 0, 1, 2, 0, 3, 4], [5, 1, 1], [], [2], [3, 3, 0, 5, 4, 4, 1, 0, 2]]
SIZES = (1, 2, 3, 4 * LANES, 4 * LANES + 1, 10 * LANES)


def prepared(topics, seed=1, documents=DOCUMENTS):
    """Return a model of some documents, and a first state with random topics phi."""
    bound = bound_to(documents, 6, topics=topics)
    state = bound.initial_state(seed, 0)
    rng = np.random.default_rng(seed)
    state.concentrations = {**state.concentrations, "alpha": rng.gamma(1.0, size=topics) + 0.01}
    phi = rng.dirichlet(np.full(6, 0.3), size=topics).T.astype(np.float32)
    # One topic far less likely than the others.
    phi[:, 0] *= np.float32(1e-20)
    state.arrays["phi"] = np.ascontiguousarray(phi)
    return bound, state


def differs(topics, **changes):
    """Return whether a sweep on the device draws other topics than one in float64."""
    bound, state = prepared(topics)
    for name, value in changes.items():
        setattr(state, name, value)
    expected, _ = swept(state, state.arrays["phi"], KEY)
    on_device(bound, state, KEY)
    state.check()
    return not np.array_equal(state.z, expected)


@pytest.mark.parametrize("topics", SIZES)
def test_the_topics_of_float64(topics):
    assert not differs(topics)


def forget_nothing(topic, change, alpha, weight):
    """Leave the token that is drawn in its topic."""


def next_part(point, first, second, third, fourth, reached):
    chosen, part, left, mass, found = find_part(point, first, second, third, fourth, reached)
    return chosen, max(part - 1, 0), left, mass, found


def last_alpha(z, first, length, alpha, weight, lane):
    return begin_document(z, first, length, alpha[::-1], weight, lane)


find_part, begin_document = given_phi.find_part, given_phi.begin_document
BUGS = {"count": forget_nothing, "find_part": next_part, "begin_document": last_alpha}


@pytest.mark.skipif("not __import__('numba').config.ENABLE_CUDASIM", reason="compiled functions cannot be replaced")
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_shows(name, monkeypatch):
    monkeypatch.setattr(given_phi, name, BUGS[name])
    assert any(differs(topics) for topics in (3, 40))


@pytest.mark.parametrize("topics", [3, 40])
def test_float32_that_settles_nothing(topics, monkeypatch):
    # With a tolerance of 1 no draw is settled in float32: all are found in float64, and are the same.
    monkeypatch.setattr(steps, "tolerance", lambda topics: np.float32(1.0))
    assert not differs(topics)


def test_selected_words():
    bound, state = prepared(5)
    words = WordSelection(min_count=3, max_count=4)
    selected = words.mask(bound.tokens.word_counts)
    assert 0 < selected.sum() < 6
    expected, _ = swept(state, state.arrays["phi"], KEY, selected)
    before = state.z.copy()
    on_device(bound, state, KEY, words=words)
    state.check()
    assert np.array_equal(state.z, expected)
    assert np.array_equal(state.z[~selected[bound.tokens.words]], before[~selected[bound.tokens.words]])


def test_concentrations_by_document():
    bound, state = prepared(7)
    rows = np.random.default_rng(3).gamma(1.0, size=(3, 7)) + 0.01
    alpha = Alpha(rows, np.array([2, 0, 1, 0, 2]), rows[0])
    state.concentrations = {**state.concentrations, "alpha": alpha}
    expected, _ = swept(state, state.arrays["phi"], KEY)
    on_device(bound, state, KEY)
    assert np.array_equal(state.z, expected)


def test_weights_that_underflow_float32_and_float64():
    bound, state = prepared(5)
    state.concentrations = {**state.concentrations, "alpha": np.full(5, 1e-300)}
    state.arrays["phi"][...] = np.random.default_rng(2).integers(1, 9, size=(6, 5)).astype(np.float32) * 1e-45
    expected, _ = swept(state, state.arrays["phi"], KEY)
    on_device(bound, state, KEY)
    assert np.array_equal(state.z, expected)


@pytest.mark.parametrize("kernel", ["partially_collapsed", "sparse_partially_collapsed"])
def test_a_word_that_no_topic_has_keeps_its_topics(kernel):
    bound, state = prepared(5)
    state.arrays["phi"][2] = 0.0
    before = state.z.copy()
    on_device(bound, state, KEY, kernel)
    state.check()
    of_word = bound.tokens.words == 2
    assert np.array_equal(state.z[of_word], before[of_word])


def test_too_large_a_concentration_is_refused():
    bound, state = prepared(3)
    state.concentrations = {**state.concentrations, "alpha": np.array([1.0, 5e6, 1.0])}
    with pytest.raises(RunError, match="a concentration and the tokens of a document come to 5,000,009"):
        on_device(bound, state, KEY)


def test_responses(monkeypatch):
    bound, state = prepared(6)
    rng = np.random.default_rng(4)
    term = ResponseTerm(
        rng.normal(size=(6, 8)), rng.normal(size=(5, 8)), rng.gamma(1.0, size=(5, 8)), np.zeros(5, np.int32)
    )
    monkeypatch.setattr(steps, "term_of", lambda binding: lambda state: term)
    monkeypatch.setattr(steps, "has_responses", lambda binding: True)
    expected, rejected = swept(state, state.arrays["phi"], KEY, term=term)
    assert 0 < rejected.sum() < len(state.z)
    assert on_device(bound, state, KEY) == {"acceptance_rate": pytest.approx(1 - rejected.sum() / len(state.z))}
    assert np.array_equal(state.z, expected)


CELLS = 24


def listed(monkeypatch, documents=240):
    """Draw the topic of a token of each document, of a word likely in 6 of 24 topics; return counts and shares."""
    bound = bound_to([[0]] * documents, 2, topics=CELLS)
    state = bound.initial_state(1, 0)
    phi = np.full((2, CELLS), 1e-5, np.float32)
    phi[0, 3::4] = [0.2, 0.05, 0.3, 0.1, 0.02, 0.15]
    # Others that together are not rare.
    alpha = np.where(phi[0] > 1e-4, 0.3, 900.0)
    state.concentrations = {**state.concentrations, "alpha": alpha}
    state.arrays["phi"] = phi
    found = []
    monkeypatch.setattr(steps, "no_lists", lambda: found.append(1))
    on_device(bound, state, Key(11, 0, 1, 1), "sparse_partially_collapsed")
    assert not found, "no list was made"
    weights = (alpha * phi[0].astype(float))[[*range(3, CELLS, 4), *np.flatnonzero(phi[0] < 1e-4)]]
    counts = np.bincount(state.z, minlength=CELLS)[[*range(3, CELLS, 4), *np.flatnonzero(phi[0] < 1e-4)]]
    weights = np.append(weights[:6], weights[6:].reshape(3, 6).sum(axis=1))
    counts = np.append(counts[:6], counts[6:].reshape(3, 6).sum(axis=1))
    return counts, documents * weights / weights.sum()


@pytest.mark.slow
def test_lists_leave_the_distribution_as_it_is(monkeypatch):
    counts, expected = listed(monkeypatch)
    assert counts[6:].sum() > 40
    # A fixed seed; a correct kernel would fail for one seed in 10,000.
    assert chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.skipif("not __import__('numba').config.ENABLE_CUDASIM", reason="compiled functions cannot be replaced")
def test_others_that_are_left_out_show(monkeypatch):
    monkeypatch.setattr(given_phi, "other_cell", lambda *given: 0.0)
    counts, expected = listed(monkeypatch)
    assert chisquare(counts, expected).pvalue < 1e-4


@pytest.mark.slow
@pytest.mark.skipif("not __import__('numba').config.ENABLE_CUDASIM", reason="compiled functions cannot be replaced")
def test_a_list_that_is_misread_shows(monkeypatch):
    monkeypatch.setattr(given_phi, "find_part", next_part)
    counts, expected = listed(monkeypatch)
    assert chisquare(counts, expected).pvalue < 1e-4
