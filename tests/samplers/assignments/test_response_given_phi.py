"""Kernels of z with a response, given phi, and the light kernel without: tiny documents by enumeration.

A corpus holds thousands of copies of two documents, so that one call of a compiled sweep gives as many independent
draws. The statistical tests have a false-alarm rate of 1e-6 over seeds, and reject planted bugs.
"""

import itertools
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.core.keys import Key
from ppl_topics.core.proposal import TableInputs
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.engine.bind import bind, bind_tokens, index_tokens
from ppl_topics.engine.executor import Executor
from ppl_topics.samplers.assignments.given_phi import AllGivenPhi
from ppl_topics.samplers.assignments.light_collapsed import AllGivenCounts, compile_light_collapsed_sweep
from ppl_topics.samplers.assignments.light_partially_collapsed import compile_light_sweep
from ppl_topics.samplers.assignments.likely_topics import list_likely_topics
from ppl_topics.samplers.assignments.partially_collapsed import sweep_partially_collapsed
from ppl_topics.samplers.assignments.sparse_partially_collapsed import sweep_sparse_partially_collapsed
from ppl_topics.samplers.proposals.composition import Composition, flat, forms_of
from ppl_topics.samplers.responses.response_term import new_term
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec

FALSE_ALARM = 1e-6
ALPHA = np.array([0.6, 1.0, 0.3])
SHARED = np.empty(0, np.int64)  # documents have the same alpha
BETA = np.array([0.5, 0.8, 0.3])
# The second word is likely in one topic only, so that it has a list of its own.
PHI = np.array([[0.5, 0.2, 0.4], [0.3, 1e-5, 1e-5], [0.2, 0.8, 0.6]], dtype=np.float32)
DOCUMENTS = [(0, 1, 2, 0), (2, 0, 2)]
COPIES = 10_000
RESPONSES = [1, 3]
DOC_WORD, ALL, EXP = {"doc": 1, "word": 1}, {"doc": 1, "word": 1, "exp": 1}, {"exp": 1}
KERNELS = {
    "partially_collapsed": None,
    "sparse_partially_collapsed": None,
    "light": DOC_WORD,
    "light, mixture": ALL,
    "light, exp": EXP,
}


class Labels(NamedTuple):
    """Fixed coefficients and, for each document, the quadratic form of its responses.

    Attributes
    ----------
    eta : ndarray of shape (C, K)
    b, omega, fixed : ndarray of shape (2, C)
        `fixed` is what features other than topics add to the linear predictors.
    """

    eta: np.ndarray
    b: np.ndarray
    omega: np.ndarray
    fixed: np.ndarray


def labels_of(n_responses):
    generator = np.random.default_rng(n_responses)
    shape = (len(DOCUMENTS), n_responses)
    eta = np.array([[2.5, -1.0, -3.0], [1.0, 2.0, -1.5], [-2.0, 1.5, 0.5]])[:n_responses]
    return Labels(eta, generator.normal(0, 1.5, shape), generator.gamma(4, 0.5, shape), generator.normal(0, 0.5, shape))


def quadratic(shares, labels, number):
    """Log density of a document's responses for shares of topics of shape (..., K), up to a constant."""
    s = shares @ labels.eta.T + labels.fixed[number]
    return (labels.b[number] * s - labels.omega[number] * s**2 / 2).sum(axis=-1)


def states_of(size):
    return np.array(list(itertools.product(range(3), repeat=size)))


def normalised(log_density):
    return np.exp(log_density - np.logaddexp.reduce(log_density))


def distribution_of(number, labels):
    """Distribution of all assignments of a document, by enumeration."""
    words = np.array(DOCUMENTS[number])
    states = states_of(len(words))
    counts = np.eye(3)[states].sum(axis=1)
    value = gammaln(counts + ALPHA).sum(axis=1) + np.log(PHI[words, states].astype(float)).sum(axis=1)
    return normalised(value + quadratic(counts / len(words), labels, number))


def draw_states(number, labels, copies, generator):
    distribution = distribution_of(number, labels)
    return states_of(len(DOCUMENTS[number]))[generator.choice(len(distribution), copies, p=distribution)]


def p_value(drawn, labels):
    """The lesser of both documents' p-values, doubled."""
    values = []
    for number, z in enumerate(drawn):
        distribution = distribution_of(number, labels)
        cells = z.astype(np.int64) @ 3 ** np.arange(z.shape[1])[::-1]
        values.append(chi_square(np.bincount(cells, minlength=len(distribution)), distribution))
    return min(1.0, 2 * min(values))


class Copies:
    """Copies of both documents in turn, as compiled sweeps take them."""

    def __init__(self, labels, copies=COPIES):
        self.labels = labels
        flat = [word for words in DOCUMENTS for word in words]
        lengths = [len(words) for words in DOCUMENTS]
        doc_ptr = np.concatenate([[0], np.cumsum(lengths * copies)])
        self.tokens = index_tokens(doc_ptr, np.array(flat * copies, dtype=np.uint32), 3)
        self.selected = np.ones(3, dtype=bool)
        self.first = lengths[0]
        self.z = np.zeros(len(flat) * copies, dtype=np.uint8)

    def set(self, drawn):
        self.z[:] = np.concatenate(drawn, axis=1).ravel()

    def get(self):
        z = self.z.reshape(-1, sum(map(len, DOCUMENTS)))
        return [z[:, : self.first], z[:, self.first :]]

    def by_document(self, values):
        return np.tile(values, (len(self.z) // sum(map(len, DOCUMENTS)), 1))

    @property
    def fitted(self):
        parts = [np.eye(3)[z].mean(axis=1) @ self.labels.eta.T for z in self.get()]
        return np.stack(parts, axis=1).reshape(-1, len(self.labels.eta)) + self.by_document(self.labels.fixed)

    def term(self, fitted, *, shorter=0):
        b, omega = self.by_document(self.labels.b), self.by_document(self.labels.omega)
        return new_term(self.labels.eta, b, omega, fitted, self.tokens.doc_lengths - shorter)

    def inputs(self, fitted):
        tokens = self.tokens
        return TableInputs(PHI, ALPHA, tokens.word_ptr, self.selected, tokens.chunk_ptr, lambda: self.term(fitted)[:3])

    def sweep(self, kernel, n_sweeps, seed, term, frozen=None):
        """Sweep several times; the exp-proposal takes linear predictors from ``frozen()``."""
        tokens, given = self.tokens.by_document(self.selected), AllGivenPhi(ALPHA[None], SHARED, PHI)
        if kernel == "partially_collapsed":
            for sweep in range(n_sweeps):
                sweep_partially_collapsed(tokens, self.z, given, (), term, Key(seed, 0, sweep))
            return
        if kernel == "sparse_partially_collapsed":
            likely = list_likely_topics(self.tokens.word_ptr, self.selected, PHI)
            assert np.diff(likely.pointer).tolist() == [0, 1, 0]
            for sweep in range(n_sweeps):
                sweep_sparse_partially_collapsed(tokens, self.z, given, likely, term, Key(seed, 0, sweep))
            return
        composition = Composition.of(KERNELS[kernel], "mixture" if "mixture" in kernel else "cycle", 2)
        tables = ()
        expected = self.labels.eta @ ALPHA / ALPHA.sum() + self.by_document(self.labels.fixed)
        for sweep in range(n_sweeps):
            if frozen is not None or not tables:
                tables = composition.build(self.inputs(expected if frozen is None else frozen()), tables)
            move = compile_light_sweep(composition.specs, forms_of(tables))
            moves = composition.moves(self.tokens.chunk_ptr.size - 1, sweep)
            move(tokens, self.z, given, flat(moves, tables), term, Key(seed, 0, sweep))


def from_distribution(labels, seed=1):
    """Copies that stand in draws from their distribution."""
    copies, generator = Copies(labels), np.random.default_rng(seed)
    copies.set([draw_states(number, labels, COPIES, generator) for number in range(len(DOCUMENTS))])
    return copies


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_responses", RESPONSES)
def test_the_distribution_is_invariant_and_the_start_forgotten(kernel, n_responses):
    labels = labels_of(n_responses)
    starts = [(from_distribution(labels), 8)]
    # Alone, exp-proposals take hundreds of sweeps to forget the start.
    if kernel != "light, exp":
        starts.append((Copies(labels), 60))
    for copies, n_sweeps in starts:
        term = copies.term(copies.fitted)
        copies.sweep(kernel, n_sweeps, 2, term)
        assert p_value(copies.get(), labels) > FALSE_ALARM
        assert np.allclose(term.slope, copies.term(copies.fitted).slope, atol=1e-10)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel != "light, exp"])
@pytest.mark.parametrize("bug", ["sign of m", "no curvature", "curvature by N_d", "N_d - 1"])
def test_wrong_terms_are_refused(kernel, bug):
    labels = labels_of(3)
    copies = from_distribution(labels)
    for sweep in range(8):
        term = copies.term(copies.fitted * (-1 if bug == "sign of m" else 1), shorter=bug == "N_d - 1")
        if bug == "no curvature":
            term.curvature[:] = 0.0
        if bug == "curvature by N_d":
            term.curvature[:] *= copies.tokens.doc_lengths[:, None]
        copies.sweep(kernel, 1, 3 + sweep, term)
    assert p_value(copies.get(), labels) < FALSE_ALARM


@pytest.mark.parametrize("n_responses", RESPONSES)
def test_an_exp_proposal_frozen_at_the_current_m_is_refused(n_responses):
    """As the paper has it: then the proposal depends on the topics to be drawn."""
    labels = labels_of(n_responses)
    copies = from_distribution(labels)
    copies.sweep("light, exp", 8, 2, copies.term(copies.fitted), frozen=lambda: copies.fitted)
    assert p_value(copies.get(), labels) < FALSE_ALARM


BUGS = [
    "sign of m",
    "eta^2 forgotten",
    "the token is counted in m",
    "the token is missing in m",
    "N_d - 1 for N_d",
    "m of the sweep's start",
]


def gain_of_move(labels, number, old, new, m, bug):
    """What a move adds to the log density of the responses, as DESIGN has it, up to the error asked for.

    Parameters
    ----------
    old, new : ndarray of int of shape (R,)
    m : ndarray of shape (R, C)
        Sums of eta over all tokens of the document, and N_d times what the fixed features add.
    """
    size = len(DOCUMENTS[number]) - (bug == "N_d - 1 for N_d")
    e_old, e_new = labels.eta.T[old], labels.eta.T[new]
    others = m - e_old * {"the token is counted in m": 0, "the token is missing in m": 2}.get(bug, 1)
    square = 0.0 if bug == "eta^2 forgotten" else e_new**2 - e_old**2
    sign = -1 if bug == "sign of m" else 1
    b, omega = labels.b[number] / size, labels.omega[number] / (2 * size**2)
    return (b * (e_new - e_old) - omega * (square + 2 * sign * (e_new - e_old) * others)).sum(axis=1)


def draw(weights, generator):
    sums = weights.cumsum(axis=1)
    return (sums < generator.random(len(sums))[:, None] * sums[:, -1:]).sum(axis=1)


def plain_sweep(z, number, labels, generator, bug=""):
    """The draw without the response, accepted with its ratio, in plain NumPy over all copies of a document."""
    phi, rows = PHI.astype(float), np.arange(len(z))
    m = labels.eta.T[z].sum(axis=1) + z.shape[1] * labels.fixed[number]
    for token, word in enumerate(DOCUMENTS[number]):
        old = z[:, token].copy()
        counts = np.eye(3)[z].sum(axis=1)
        counts[rows, old] -= 1
        new = draw((counts + ALPHA) * phi[word], generator)
        accepted = np.log(generator.random(len(z))) < gain_of_move(labels, number, old, new, m, bug)
        z[:, token] = np.where(accepted, new, old)
        if bug != "m of the sweep's start":
            m += labels.eta.T[z[:, token]] - labels.eta.T[old]


def plain_p_value(bug, n_sweeps=8):
    labels, generator = labels_of(3), np.random.default_rng(5)
    drawn = [draw_states(number, labels, COPIES, generator) for number in range(len(DOCUMENTS))]
    for number, z in enumerate(drawn):
        for _ in range(n_sweeps):
            plain_sweep(z, number, labels, generator, bug)
    return p_value(drawn, labels)


def test_the_plain_sampler_is_not_refused():
    assert plain_p_value("") > FALSE_ALARM


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_refused(bug):
    assert plain_p_value(bug) < FALSE_ALARM


def collapsed_distribution(labels):
    """Distribution of the assignments of both documents with the topics integrated out, and their counts by word."""
    words, size = np.concatenate([list(d) for d in DOCUMENTS]), len(DOCUMENTS[0])
    states = states_of(len(words))
    one_hot = np.eye(3)[states]
    n_wk = np.stack([one_hot[:, words == word].sum(axis=1) for word in range(3)], axis=1)
    value = gammaln(n_wk + BETA[:, None]).sum(axis=(1, 2)) - gammaln(n_wk.sum(axis=1) + BETA.sum()).sum(axis=1)
    for number, part in enumerate((one_hot[:, :size], one_hot[:, size:])):
        counts = part.sum(axis=1)
        value += gammaln(counts + ALPHA).sum(axis=1) + quadratic(counts / part.shape[1], labels, number)
    return states, n_wk.astype(np.int32), normalised(value)


@pytest.mark.parametrize("n_responses", RESPONSES)
def test_light_collapsed_with_doc_and_exp_proposals(n_responses):
    """Without the stale word-proposal the distribution is that of the posterior, and not that of another response."""
    labels, n_draws = labels_of(n_responses), 6000
    states, n_wk, distribution = collapsed_distribution(labels)
    copies = Copies(labels, 1)
    tokens = copies.tokens.by_document(copies.selected)._replace(chunk_ptr=np.array([0, 2]))
    composition = Composition.of({"doc": 1, "exp": 1}, "cycle", 2)
    expected = labels.eta @ ALPHA / ALPHA.sum() + labels.fixed
    tables = composition.build(copies.inputs(expected), ())
    sweep = compile_light_collapsed_sweep(composition.specs, forms_of(tables))
    counts = np.zeros(len(distribution), np.int64)
    for draw_number, start in enumerate(np.random.default_rng(1).choice(len(distribution), n_draws, p=distribution)):
        copies.z[:] = states[start]
        of_word = n_wk[start].copy()
        given = AllGivenCounts(ALPHA[None], SHARED, BETA, BETA.sum(), of_word, of_word.sum(axis=0).astype(np.int64))
        term = copies.term(copies.fitted)
        for number in (2 * draw_number, 2 * draw_number + 1):
            moves = composition.moves(1, number)
            sweep(0, tokens, copies.z, given, flat(moves, tables), term, Key(1, 0, number))
        counts[copies.z.astype(np.int64) @ 3 ** np.arange(states.shape[1])[::-1]] += 1
    assert chi_square(counts, distribution) > FALSE_ALARM
    assert chi_square(counts, collapsed_distribution(labels._replace(omega=0 * labels.omega))[2]) < FALSE_ALARM


@pytest.mark.parametrize("kernel", ["partially_collapsed", "light, mixture"])
def test_bits_do_not_depend_on_threads(kernel):
    results = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(n_threads)
        copies = Copies(labels_of(3), 500)
        term = copies.term(copies.fitted)
        copies.sweep(kernel, 3, 1, term)
        results.append((copies.z.tolist(), term.slope.tolist(), term.rejected.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [0.0, 1e6])
def test_extreme_coefficients(kernel, scale):
    labels = labels_of(3)._replace(eta=scale * labels_of(3).eta)
    copies = Copies(labels, 50)
    term = copies.term(copies.fitted)
    copies.sweep(kernel, 5, 1, term)
    assert np.isfinite(term.slope).all()
    assert copies.z.max() < 3
    assert (copies.z > 0).any()


def supervised(kernel, **options):
    """A kernel of z alone in a model with a response, ready to run, and a starting state."""
    texts = ["chain sampler posterior", "bread butter bread", "sampler chain draw", "butter salt"] * 5
    corpus = pt.Corpus.from_texts(texts, labels=["maths", "food", "maths", "food"] * 5)
    spec = load_spec("medlda", {"topics": 3}).with_schedule(pt.step("z", kernel, **options), "test")
    bound = bind(make_plan(spec, partial=True), corpus)
    state = bound.initial_state(1, 0)
    generator = np.random.default_rng(3)
    state.arrays["phi"][...] = generator.dirichlet(np.ones(bound.sizes.words), size=3).T
    state.arrays["eta"][...] = generator.normal(size=state.arrays["eta"].shape)
    return Executor(bound, debug=True), state


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("partially_collapsed", {}),
        ("sparse_partially_collapsed", {"words": {"min_count": 2}}),
        ("light_partially_collapsed", {"proposals": ALL, "compose": "mixture", "steps": 3}),
    ],
)
def test_a_model_with_a_response(kernel, options):
    executor, state = supervised(kernel, **options)
    memories = executor.memories(state)
    rates = [executor.sweep(state, memories, 1, 0, n).statistics["acceptance_rate"][0] for n in range(3)]
    assert ((np.array(rates) > 0) & (np.array(rates) < 1)).all()


def test_exp_without_a_response_is_an_error():
    spec = load_spec("lda", {"topics": 2})
    spec = spec.with_schedule(pt.step("z", "light_partially_collapsed", proposals={"exp": 1}), "test")
    tokens = index_tokens(np.array([0, 2]), np.array([0, 1], dtype=np.uint32), 2)
    bound = bind_tokens(make_plan(spec, partial=True), tokens, 2)
    executor, state = Executor(bound), bound.initial_state(1, 0)
    with pytest.raises(pt.RunError, match="'exp' proposes by the response, and the model has none; use 'doc' and 'wo"):
        executor.sweep(state, executor.memories(state), 1, 0, 0)
