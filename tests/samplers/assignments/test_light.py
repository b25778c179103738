"""The light kernels: distributions by exact transition matrices, compositions, bits.

The statistical tests have a false-alarm rate of 1e-6 over seeds, and reject a planted bug.
"""

import itertools

import numba
import numpy as np
import pytest
from light_kernels import MODELS, QUICK, bound_kernel
from scipy.special import gammaln

import ppl_topics as pt
from ppl_topics.diagnostics.exactness.goodness import chi_square
from ppl_topics.diagnostics.exactness.tiny import ALPHA, BETA, TINY_DOCUMENTS, TinyModel, tiny_spec
from ppl_topics.engine.executor import Executor
from ppl_topics.schedule.plan import make_plan
from ppl_topics.spec import load_spec

FALSE_ALARM = 1e-6
KERNELS = list(MODELS)
COMPOSITIONS = [
    {},
    {"compose": "mixture", "steps": 3},
    {"proposals": {"doc": 1}, "steps": 1},
    {"proposals": {"word": 2, "doc": 1}, "steps": 1},
]


class MetropolisDistribution:
    """The distribution of all assignments after a sweep of Metropolis-Hastings steps, by enumeration.

    Parameters
    ----------
    documents : sequence of sequence of int
    alpha, beta : ndarray
    phi : ndarray of shape (V, K), optional
        Topics that are given; else they are integrated out, and word tables are those of the sweep's start.
    """

    def __init__(self, documents, alpha, beta, phi=None):
        self.words = np.array([word for words in documents for word in words])
        self.docs = np.repeat(np.arange(len(documents)), [len(words) for words in documents])
        self.alpha, self.beta, self.phi = np.asarray(alpha), np.asarray(beta), phi
        self.topics, self.size = len(alpha), len(self.words)
        self.states = np.array(list(itertools.product(range(self.topics), repeat=self.size)))
        self.one_hot = np.eye(self.topics)[self.states]
        self.n_wk = self._count(self.words, range(len(beta)))
        parts = [self._document(token) for token in range(self.size)]
        self.in_doc = [in_doc for in_doc, _ in parts]
        self.target = [in_doc * of_word for in_doc, of_word in parts]

    def _count(self, labels, values, without=None):
        kept = np.arange(self.size) != without
        return np.stack([self.one_hot[:, (labels == v) & kept].sum(axis=1) for v in values], axis=1)

    def _document(self, token):
        """Both factors of a token's full conditional given all others, of shape (S, K)."""
        in_doc = self._count(self.docs, [self.docs[token]], token)[:, 0] + self.alpha
        word = self.words[token]
        if self.phi is not None:
            return in_doc, np.broadcast_to(self.phi[word], in_doc.shape)
        n_wk = self._count(self.words, range(len(self.beta)), token)
        return in_doc, (n_wk[:, word] + self.beta[word]) / (n_wk.sum(axis=1) + self.beta.sum())

    @property
    def posterior(self):
        n_dk = self._count(self.docs, np.unique(self.docs))
        value = (gammaln(n_dk + self.alpha) - gammaln(self.alpha)).sum(axis=(1, 2))
        if self.phi is not None:
            value += np.log(self.phi[self.words, self.states]).sum(axis=1)
        else:
            n_kw, beta = self.n_wk.transpose(0, 2, 1), self.beta
            value += (gammaln(n_kw + beta) - gammaln(beta)).sum(axis=(1, 2))
            value -= gammaln(n_kw.sum(axis=2) + beta.sum()).sum(axis=1)
        return np.exp(value - np.logaddexp.reduce(value))

    def table(self, start):
        """What word tables are built from in the state of the given number, of shape (V, K)."""
        if self.phi is not None:
            return self.phi
        return (self.n_wk[start] + self.beta[:, None]) / (self.n_wk[start].sum(axis=0) + self.beta.sum())

    def after_sweep(self, start, compose="cycle", proposals=None, steps=2, sweep=0):
        """Return the probability of each state after a sweep from the state of number `start`."""
        proposals = proposals or {"doc": 1, "word": 1}
        turn = [name for name, times in proposals.items() for _ in range(times)]
        table = self.table(start)
        distribution = np.zeros(len(self.states))
        distribution[start] = 1.0
        for token in range(self.size):
            matrices = {}
            for name in proposals:
                distribution_of_word = np.broadcast_to(table[self.words[token]], self.target[token].shape)
                q = self.in_doc[token] if name == "doc" else distribution_of_word
                matrices[name] = metropolis(self.target[token], q)
            at = (sweep + token) * steps
            for number in range(steps):
                chosen = [turn[(at + number) % len(turn)]] if compose == "cycle" else turn
                distribution = np.mean([self._move(distribution, token, matrices[name]) for name in chosen], axis=0)
        return distribution

    def _move(self, distribution, token, matrices):
        """Apply the matrices, one for each state of the other tokens, to one token's topic."""
        stride = self.topics ** (self.size - 1 - token)
        base = np.arange(len(distribution)) - self.states[:, token] * stride
        moved = np.zeros_like(distribution)
        for new in range(self.topics):
            np.add.at(
                moved,
                base + new * stride,
                distribution * matrices[np.arange(len(distribution)), self.states[:, token], new],
            )
        return moved

    def distance(self, **options):
        """Total variation between the stationary distribution of a sweep and the posterior."""
        matrix = np.stack([self.after_sweep(start, **options) for start in range(len(self.states))])
        return total_variation(stationary(matrix), self.posterior)


def metropolis(target, q):
    """Transition matrices of shape (S, K, K) of one step, for targets and proposals of shape (S, K)."""
    q = q / q.sum(axis=1, keepdims=True)
    ratio = target[:, None, :] * q[:, :, None] / (target[:, :, None] * q[:, None, :])
    matrices = q[:, None, :] * np.minimum(1.0, ratio)
    return complete(matrices)


def complete(matrices):
    """Set the diagonals such that rows sum to one."""
    eye = np.eye(matrices.shape[-1])
    matrices = matrices * (1 - eye)
    return matrices + eye * (1 - matrices.sum(axis=-1, keepdims=True))


def stationary(matrix):
    size = len(matrix)
    system = matrix.T - np.eye(size)
    system[-1] = 1.0
    return np.linalg.solve(system, np.eye(size)[-1])


def total_variation(one, other):
    return 0.5 * np.abs(one - other).sum()


def random_documents(n_docs=60, n_words=12, seed=2):
    generator = np.random.default_rng(seed)
    documents = [generator.integers(0, n_words, generator.integers(0, 30)).tolist() for _ in range(n_docs)]
    documents[0] = documents[n_docs // 2] = []
    documents[1] = [3]
    return documents


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", COMPOSITIONS, ids=str)
def test_one_sweep(kernel, options):
    """The compiled sweep has the enumerated distribution, and not that of another number of steps."""
    n_sweeps, start = 2500, 100
    spec = tiny_spec(load_spec(MODELS[kernel])).with_schedule(pt.step("z", kernel, **options), "test")
    bound = TinyModel(make_plan(spec, partial=True)).bound
    executor, state = Executor(bound), bound.initial_state(1, 0)
    phi = None
    if "phi" in state.arrays:
        state.arrays["phi"][...] = np.random.default_rng(5).dirichlet(BETA, size=3).T + 0.05
        phi = state.arrays["phi"].astype(float)
    distribution = MetropolisDistribution(TINY_DOCUMENTS, ALPHA, BETA, phi)
    counts = np.zeros(len(distribution.states), dtype=np.int64)
    digits = 3 ** np.arange(distribution.size)[::-1]
    for sweep in range(n_sweeps):
        state.set_z(distribution.states[start])
        # The turn of the cycle depends on the sweep's number; a multiple of every turn leaves it as it is.
        executor.sweep(state, executor.memories(state), 1, 0, 6 * sweep)
        counts[state.z @ digits] += 1
    assert chi_square(counts, distribution.after_sweep(start, **options)) > FALSE_ALARM
    wrong = {**options, "steps": 1 if options.get("steps", 2) > 1 else 3}
    assert chi_square(counts, distribution.after_sweep(start, **wrong)) < FALSE_ALARM


@pytest.mark.parametrize("options", COMPOSITIONS[:3], ids=str)
def test_the_distribution_given_phi_is_invariant(options):
    phi = np.random.default_rng(4).dirichlet(BETA, size=3).T
    distribution = MetropolisDistribution([(0, 0, 1), (2,)], ALPHA, BETA, phi)
    assert distribution.distance(**options) < 1e-12


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 0.0745),
        ({"compose": "mixture"}, 0.0830),
        ({"steps": 4}, 0.0253),
        ({"proposals": {"word": 1}}, 0.1925),
        ({"proposals": {"doc": 1}}, 0.0),
    ],
    ids=str,
)
def test_distance_of_light_collapsed(options, expected):
    """The figures of docs/exactness.md: stationary distribution against posterior, tables rebuilt in every sweep."""
    distribution = MetropolisDistribution(TINY_DOCUMENTS, ALPHA, BETA)
    assert distribution.distance(**options) == pytest.approx(expected, abs=5e-5 if expected else 1e-12)


def test_verify_sees_that_light_collapsed_is_inexact():
    (result,) = pt.verify("lda_collapsed", kernel="light_collapsed", **QUICK).certificates
    assert not result.declared_exact
    assert result.refused_by == "alone"
    assert 0.06 < result.total_variation < 0.0745 + 2 * result.noise


def doc_proposal_matrix(alpha, phi, as_printed):
    """Transition matrix of a sweep of doc-proposals over one document, drawn from the others or as printed."""
    topics, size = len(alpha), len(phi)
    states = list(itertools.product(range(topics), repeat=size))
    sweep = np.eye(len(states))
    for token in range(size):
        matrix = np.zeros_like(sweep)
        for number, z in enumerate(states):
            others = np.bincount(z[:token] + z[token + 1 :], minlength=topics) + alpha
            q = others + as_printed * (np.arange(topics) == z[token])
            for new in range(topics):
                target = others[new] * phi[token][new] / (others[z[token]] * phi[token][z[token]])
                moved = states.index((*z[:token], new, *z[token + 1 :]))
                matrix[number, moved] = q[new] / q.sum() * min(1.0, target * q[z[token]] / q[new])
        sweep = sweep @ complete(matrix)
    return sweep


def test_the_doc_proposal_as_printed_has_another_distribution():
    """One document of three tokens of a word of which the topics give 0.5, 0.3 and 0.2, with alpha = 0.02."""
    alpha, phi = np.full(3, 0.02), np.array([[0.5, 0.3, 0.2]])
    posterior = MetropolisDistribution([(0, 0, 0)], alpha, np.ones(1), phi).posterior
    printed, corrected = (
        total_variation(stationary(doc_proposal_matrix(alpha, phi.repeat(3, axis=0), as_printed)), posterior)
        for as_printed in (True, False)
    )
    assert printed == pytest.approx(0.353, abs=5e-4)
    assert corrected < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("options", [COMPOSITIONS[1], COMPOSITIONS[3]], ids=str)
def test_compositions_are_certified(options):
    redraw = pt.step("phi", "dirichlet_rows")
    schedule = pt.cycle(pt.step("z", "light_partially_collapsed", **options), redraw)
    result = pt.verify("lda", schedule=schedule, **QUICK)
    assert result.passed, str(result)


@pytest.mark.slow
def test_words_may_be_shared_out():
    redraw = pt.step("phi", "dirichlet_rows")
    rare = pt.step("z", "light_partially_collapsed", words={"max_count": 1}, compose="mixture")
    schedule = pt.cycle(rare, pt.step("z", "sparse_partially_collapsed", words={"min_count": 2}), redraw)
    assert pt.verify("lda", schedule=schedule, **QUICK).passed


@pytest.mark.parametrize("kernel", KERNELS)
def test_only_selected_words_move(kernel):
    documents = random_documents()
    counts = np.bincount(np.concatenate(documents).astype(int), minlength=12)
    least = int(np.sort(counts)[6])
    executor, state = bound_kernel(kernel, documents, 12, 5, words={"min_count": least})
    before, memories = state.z.copy(), executor.memories(state)
    for sweep in range(3):
        executor.sweep(state, memories, 1, 0, sweep)
    moved = counts[state.tokens.words[before != state.z]]
    assert moved.size
    assert moved.min() >= least


@pytest.mark.parametrize("compose", ["cycle", "mixture"])
def test_bits_do_not_depend_on_threads(compose):
    results = []
    for n_threads in (1, numba.config.NUMBA_NUM_THREADS):
        executor, state = bound_kernel("light_partially_collapsed", random_documents(), 12, 9, compose=compose)
        numba.set_num_threads(n_threads)
        memories = executor.memories(state)
        records = [executor.sweep(state, memories, 1, 0, sweep).statistics for sweep in range(3)]
        results.append((state.z.tolist(), [record["acceptance_rate_doc"].tolist() for record in records]))
    assert results[0] == results[1]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("documents", [[[]], [[], [0], []]])
@pytest.mark.parametrize("topics", [1, 3])
def test_degenerate_corpora(kernel, documents, topics):
    executor, state = bound_kernel(kernel, documents, 2, topics)
    record = executor.sweep(state, executor.memories(state), 1, 0, 0)
    assert np.isfinite(record.statistics["acceptance_rate"]).all()


def test_without_mass_topics_stay_and_topics_of_probability_zero_are_left():
    executor, state = bound_kernel("light_partially_collapsed", [[0, 0, 1, 2]] * 20, 3, 4)
    phi, words = state.arrays["phi"], state.tokens.words
    phi[0] = 0.0
    phi[1, 1:3] = 0.0
    before, memories = state.z.copy(), executor.memories(state)
    for sweep in range(20):
        executor.sweep(state, memories, 1, 0, sweep)
        if sweep >= 10:
            assert not np.isin(state.z[words == 1], [1, 2]).any()
    assert np.array_equal(state.z[words == 0], before[words == 0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_acceptance_rates_are_recorded(kernel):
    corpus = pt.Corpus.from_texts(["chain sampler posterior", "bread butter bread", "sampler chain draw"] * 4)
    schedule = pt.cycle(pt.step("z", kernel, proposals={"doc": 1, "word": 3}, steps=4))
    if kernel == "light_partially_collapsed":
        schedule["cycle"].append(pt.step("phi", "dirichlet_rows"))
    options = {"topics": 2, "schedule": schedule, "draws": 4, "warmup": 1, "seed": 1, "progress": False}
    if kernel == "light_collapsed":
        with pytest.warns(pt.InexactKernelWarning):
            fit = pt.sample(MODELS[kernel], corpus, **options)
    else:
        fit = pt.sample(MODELS[kernel], corpus, **options)
    statistics = fit.idata["sample_stats"]
    rates = {
        name: np.asarray(statistics[name])[..., 0]
        for name in ("acceptance_rate", "acceptance_rate_doc", "acceptance_rate_word")
    }
    for rate in rates.values():
        assert ((rate > 0) & (rate <= 1)).all()
    mean = (rates["acceptance_rate_doc"] + 3 * rates["acceptance_rate_word"]) / 4
    assert np.allclose(rates["acceptance_rate"], mean)


def test_doc_proposals_are_all_accepted_where_words_tell_nothing():
    executor, state = bound_kernel("light_partially_collapsed", random_documents(), 12, 4, proposals={"doc": 1})
    state.arrays["phi"][...] = 1 / 12
    record = executor.sweep(state, executor.memories(state), 1, 0, 0)
    assert record.statistics["acceptance_rate_doc"].tolist() == [1.0]


def test_tables_are_rebuilt_every_so_many_sweeps():
    executor, state = bound_kernel("light_collapsed", random_documents(), 12, 4, rebuild=3)
    memories = executor.memories(state)
    seen = []
    for sweep in range(7):
        executor.sweep(state, memories, 1, 0, sweep)
        seen.append(memories[0].phi.copy())
    changed = [not np.array_equal(one, other) for one, other in itertools.pairwise(seen)]
    assert changed == [False, False, True, False, False, True]
